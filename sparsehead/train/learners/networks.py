"""Train a torch module in place of the Transformer: same data, same optimiser, same checks.

The module has its own dropout and initialisation; the spec's settings of these are for the Transformer.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from ..._base.arguments import shown
from ..._base.errors import DomainError, LearnerError
from ..._base.rng import stream
from ..._base.types import Array, Shaped
from ...functions.task import Sample
from ...heads.encoding import Encoding
from ...heads.model import Model
from ..data import FreshBatches
from ..footprint import lstm_bytes, plain_bytes
from ..spec import TrainSpec
from ..transformer.engine import NamedEngine, StepEngine
from ..transformer.forward import losses
from ..transformer.torch_engine import Part, optimiser_of, torch_origin, update
from .guard import own_code
from .learner import Learner

Make = Callable[[int], nn.Module]


@dataclass(frozen=True)
class Network:
    """Choose the engine for networks made by `make(T)`; the requested engine is ignored. See `ChooseEngine`.

    Args:
        batch: samples in a step; None takes all.
        optimiser: parameters -> a torch optimiser; None takes that of the spec.
        device: used in place of the requested device.
        fused: whether the spec's optimiser updates all weights in one call, which is faster and rounds differently.
    """

    make: Make
    batch: int | None = None
    optimiser: Callable[[Iterator[nn.Parameter]], torch.optim.Optimizer] | None = None
    device: str | None = None
    fused: bool = False

    def __call__(self, spec: TrainSpec, /, *, engine: str, dtype: str, device: str) -> NamedEngine:
        return NamedEngine(partial(NetworkEngine, self), self.origin)

    def origin(self, spec: TrainSpec, /, *, dtype: str, device: str) -> dict[str, str]:
        """See `DescribeEngine`."""
        return torch_origin(dtype, self.device or device)


class NetworkEngine(StepEngine):
    """One run of a torch module with its own initialisation; see `transformer.engine.Engine`."""

    def __init__(
        self, network: Network, spec: TrainSpec, /, *, dtype: str, device: str, own: Encoding | None
    ) -> None:
        if not hasattr(torch, dtype):
            raise DomainError(f"dtype is float32 or float64, got {dtype!r}.")
        self.spec, self._how = spec, network
        self._here = (network.device or device, getattr(torch, dtype))
        self.made_by = network.origin(spec, dtype=dtype, device=device)

    def start(self, spec: TrainSpec, restart: int, source: Sample | FreshBatches) -> None:
        """Start `spec` from its initialisation number `restart`."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(stream(spec.seed, "init", restart).integers(2**62)))
            network = _made(self._how.make, spec.T).to(*self._here).train()
            self._random = torch.get_rng_state()  # dropout and the like continue from this state
        self._network, self._step = network, 0
        if self._how.optimiser is None:
            sorts = [
                Part(
                    [w for w in network.parameters() if (w.ndim > 1) == matrix], matrix or spec.decay == "all"
                )
                for matrix in (True, False)
            ]
            self._optimiser = optimiser_of(spec, sorts, **({"fused": True} if self._how.fused else {}))
        else:
            self._optimiser = self._how.optimiser(network.parameters())
        self._order = stream(spec.seed, "batch", restart)
        self._begin(source)

    def _take(self, sample: Sample) -> None:
        self._bits, self._labels = (torch.from_numpy(x).to(*self._here) for x in sample)
        self._waiting = torch.arange(0)  # samples that this epoch has not used yet

    def advance(self, n_steps: int) -> list[float]:
        """Train for n_steps; return the loss before each update, up to the first that is not finite."""
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(self._random)
            losses = super().advance(n_steps)
            self._random = torch.get_rng_state()
        return losses

    def _steps(self, n_steps: int) -> list[float]:
        """Make one update, for any n_steps; return a list with the loss before it."""
        bits, labels = self._batch()
        margins = logits(self._network, bits)
        loss = losses(margins, labels).mean()
        self._seen = margins.detach(), labels
        self._optimiser.zero_grad()
        loss.backward()
        self._step += 1
        update(self._optimiser, self._network.parameters(), self.spec, self._step)
        return [loss.item()]

    def _batch(self) -> tuple[Tensor, Tensor]:
        """Return the samples of the next step: all, or the next ones of a random order that is redrawn each epoch."""
        size = self._how.batch
        if size is None or size >= len(self._bits):
            return self._bits, self._labels
        if len(self._waiting) < size:
            order = torch.from_numpy(self._order.permutation(len(self._bits)))
            self._waiting = order.to(self._here[0])
        chosen, self._waiting = self._waiting[:size], self._waiting[size:]
        return self._bits[chosen], self._labels[chosen]

    def train_accuracy(self) -> float:
        """The share of samples of the last step that were classified correctly before its update."""
        margins, labels = self._seen
        return float(((margins > 0) == (labels > 0.5)).double().mean())

    @torch.no_grad()
    def predict(self, bits: Shaped[Array, "n T"]) -> Shaped[Array, " n"]:
        """Return predicted labels (n,) of bits (n, T)."""
        self._network.eval()
        rows_at_once = 512  # inputs that a network gets at a time in a check
        margins = [
            logits(self._network, part) for part in torch.from_numpy(bits).to(*self._here).split(rows_at_once)
        ]
        self._network.train()
        return (torch.cat(margins) > 0).cpu().numpy().astype(np.uint8)

    def model(self, meta: dict[str, object]) -> Model | None:
        """Return None: the network is not an attention model."""
        return None


def logits(network: nn.Module, bits: Tensor) -> Tensor:
    """Return the logits (n,) of bits (n, T); the network may return them as (n, 1)."""
    found = network(bits)
    if not isinstance(found, Tensor) or found.shape not in ((len(bits),), (len(bits), 1)):
        got = f"a tensor {tuple(found.shape)}" if isinstance(found, Tensor) else type(found).__name__
        raise LearnerError(
            f"the module maps bits {tuple(bits.shape)} to {got}; it should map (n, T) to (n,) or (n, 1)"
        )
    return found.reshape(len(bits))


def first_outputs(make: Make, T: int) -> None:
    """Check the network on two inputs, without changing the state of random generators."""
    with own_code(), torch.random.fork_rng(devices=[]), torch.no_grad():
        network = _made(make, T).eval()
        logits(network, torch.zeros(2, T))
        if not any(weights.requires_grad for weights in network.parameters()):
            raise LearnerError("it has no parameters to train")


def _made(make: Make, T: int) -> nn.Module:
    network = make(T)
    if not isinstance(network, nn.Module):
        raise LearnerError(f"it makes {shown(network)} instead of a torch.nn.Module")
    return network


class Perceptron(nn.Module):
    """Two hidden ReLU layers of 256 units on signs 1 - 2 b."""

    def __init__(self, T: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(T, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1)
        )

    def forward(self, bits: Tensor) -> Tensor:
        """Return margins (m,) of bits (m, T)."""
        margins: Tensor = self.body(1 - 2 * bits)[:, 0]
        return margins


def perceptron_bytes(spec: TrainSpec, T: int, m: int, dtype: str) -> float:
    return plain_bytes(spec, T, m, dtype, weights=float(256) * T)


MLP = Learner(engine=Network(Perceptron), memory=perceptron_bytes)


class Lstm(nn.Module):
    """An LSTM with 64 units that reads the bits from left to right; the margin is linear in the last state."""

    def __init__(self, T: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(2, 64)
        self.body = nn.LSTM(64, 64, batch_first=True)
        self.head = nn.Linear(64, 1)

    def forward(self, bits: Tensor) -> Tensor:
        """Return margins (m,) of bits (m, T)."""
        margins: Tensor = self.head(self.body(self.embed(bits.long()))[0][:, -1])[:, 0]
        return margins


LSTM = Learner(engine=Network(Lstm), memory=lstm_bytes)
