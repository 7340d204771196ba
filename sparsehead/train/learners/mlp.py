"""A multilayer perceptron with two hidden layers as a learner."""

from torch import Tensor, nn

from ..footprint import plain_bytes
from ..spec import TrainSpec
from .learner import Learner
from .networks import Network

WIDTH = 256  # hidden units, in each of two layers


class Perceptron(nn.Module):
    """Two hidden ReLU layers on signs 1 - 2 b."""

    def __init__(self, T: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(T, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 1)
        )

    def forward(self, bits: Tensor) -> Tensor:
        """Margins (m,) of bits (m, T)."""
        margins: Tensor = self.body(1 - 2 * bits)[:, 0]
        return margins


def memory(spec: TrainSpec, T: int, m: int, dtype: str) -> float:
    return plain_bytes(spec, T, m, dtype, weights=float(WIDTH) * T)


MLP = Learner(engine=Network(Perceptron), memory=memory)
