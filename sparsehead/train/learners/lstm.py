"""An LSTM as a learner."""

from torch import Tensor, nn

from ..footprint import lstm_bytes
from .learner import Learner
from .networks import Network


class Lstm(nn.Module):
    """An LSTM with 64 units that reads the bits from left to right; the margin is linear in the last state."""

    def __init__(self, T: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(2, 64)
        self.body = nn.LSTM(64, 64, batch_first=True)
        self.head = nn.Linear(64, 1)

    def forward(self, bits: Tensor) -> Tensor:
        """Margins (m,) of bits (m, T)."""
        margins: Tensor = self.head(self.body(self.embed(bits.long()))[0][:, -1])[:, 0]
        return margins


LSTM = Learner(engine=Network(Lstm), memory=lstm_bytes)
