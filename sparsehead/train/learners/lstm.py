"""An LSTM in the place of the Transformer."""

from torch import Tensor, nn

from ..footprint import lstm_bytes
from .learner import Learner
from .networks import network

STATE = 64


class Lstm(nn.Module):
    """Reads the bits from left to right; the last state decides."""

    def __init__(self, T: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(2, STATE)
        self.body = nn.LSTM(STATE, STATE, batch_first=True)
        self.head = nn.Linear(STATE, 1)

    def forward(self, bits: Tensor) -> Tensor:
        """Margins (m,) of bits (m, T)."""
        margins: Tensor = self.head(self.body(self.embed(bits.long()))[0][:, -1])[:, 0]
        return margins


LSTM = Learner(engine=network(Lstm), memory=lstm_bytes)
