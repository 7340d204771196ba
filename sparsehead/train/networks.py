"""An MLP and an LSTM in the place of the Transformer: same data, same optimiser, same checks."""

import math

import numpy as np
import torch
from torch import Tensor, nn

from ..model import Model
from ..rng import stream
from ..spec import TrainSpec
from ..types import Array, Shaped
from .data import Fresh, Sample
from .plain import losses

WIDTH = 256  # hidden units of the MLP, two layers of them
STATE = 64  # state of the LSTM


class Lstm(nn.Module):
    """Reads the bits from left to right; the last state decides."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(2, STATE)
        self.body = nn.LSTM(STATE, STATE, batch_first=True)
        self.head = nn.Linear(STATE, 1)

    def forward(self, bits: Tensor) -> Tensor:
        """Margins (m,) of bits (m, T)."""
        return self.head(self.body(self.embed(bits.long()))[0][:, -1])[:, 0]


class Perceptron(nn.Module):
    """Two hidden ReLU layers on signs 1 - 2 b."""

    def __init__(self, T: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(T, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 1)
        )

    def forward(self, bits: Tensor) -> Tensor:
        """Margins (m,) of bits (m, T)."""
        return self.body(1 - 2 * bits)[:, 0]


class NetworkSlots:
    """The same interface as `engine.Slots`, for learners made of torch modules. Initialised as torch does."""

    def __init__(self, spec: TrainSpec, n_slots: int, *, dtype: str = "float32", device: str = "cpu") -> None:
        self.spec, self.n_slots, self.device, self.dtype = spec, n_slots, device, getattr(torch, dtype)
        self._networks: list[nn.Module] = [nn.Module()] * n_slots
        self._optimisers: list[torch.optim.Optimizer | None] = [None] * n_slots
        self._samples: list[tuple[Tensor, Tensor] | None] = [None] * n_slots
        self._right = [0.0] * n_slots

    def start(self, slot: int, spec: TrainSpec, restart: int) -> None:
        """Start a run of `spec` in `slot`, from its initialisation number `restart`."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(stream(spec.seed, "init", restart).integers(2**62)))
            network = Lstm() if spec.learner == "lstm" else Perceptron(spec.T)
        network = network.to(self.device, self.dtype)
        matrices = [w for w in network.parameters() if w.ndim > 1]
        others = [w for w in network.parameters() if w.ndim <= 1]
        self._networks[slot] = network
        self._optimisers[slot] = torch.optim.AdamW(
            [
                {"params": matrices, "weight_decay": spec.weight_decay},
                {"params": others, "weight_decay": 0.0},
            ],
            lr=spec.learning_rate,
            betas=(spec.beta_1, spec.beta_2),
        )

    def load_data(self, slot: int, sample: Sample) -> None:
        """Give `slot` its samples: bits (m, T) and labels (m,)."""
        bits, labels = (torch.from_numpy(x).to(self.device, self.dtype) for x in sample)
        self._samples[slot] = bits, labels

    def advance(self, slot: int, n_steps: int, fresh: Fresh | None = None) -> list[float]:
        """Train `slot` for n_steps; the losses before each update, cut after the first that is not finite."""
        network, optimiser = self._networks[slot], self._optimisers[slot]
        assert optimiser is not None
        out: list[float] = []
        for _ in range(n_steps):
            if fresh is not None:
                self.load_data(slot, fresh())
            sample = self._samples[slot]
            assert sample is not None
            margins = network(sample[0])
            loss = losses(margins, sample[1]).mean()
            self._right[slot] = float(((margins > 0) == (sample[1] > 0.5)).double().mean())
            out.append(loss.item())
            if not math.isfinite(out[-1]):
                break
            optimiser.zero_grad()
            loss.backward()
            if self.spec.clip:
                nn.utils.clip_grad_norm_(network.parameters(), self.spec.clip)
            optimiser.step()
        return out

    def train_accuracy(self, slot: int) -> float:
        """Share of the training set that was right at the last step, before its update."""
        return self._right[slot]

    @torch.no_grad()
    def predict(self, slot: int, bits: Shaped[Array, "n T"]) -> Shaped[Array, " n"]:
        """Predicted labels (n,) of bits (n, T)."""
        parts = torch.from_numpy(bits).to(self.device, self.dtype).split(512)
        margins = torch.cat([self._networks[slot](part) for part in parts])
        return (margins > 0).cpu().numpy().astype(np.uint8)

    def model(self, slot: int, meta: dict[str, object]) -> Model | None:
        """None: these are no attention models."""
        return None
