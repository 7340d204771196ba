"""The engine in torch: any depth, any device; gradients by autograd."""

import math
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ..._base.rng import stream
from ..._base.types import Array, Shaped
from ...functions.task import Sample
from ...heads.encoding import Encoding
from ...heads.model import Model
from ..data import FreshBatches
from ..spec import TrainSpec
from .dropout import Dropout
from .engine import NamedEngine, StepEngine
from .forward import Tensors, losses, margins, table_values
from .layout import layout
from .weights import initial, to_model

CHUNK_NUMBERS = 2**21  # in one array of samples x tokens x width: eight megabytes in float32


class Part(NamedTuple):
    """Weights that are updated in the same way. `decays`: whether they decay; `factor`: the factor of their learning
    rate.
    """

    weights: Sequence[Tensor]
    decays: bool
    factor: float = 1.0


def optimiser_of(spec: TrainSpec, parts: Iterable[Part], **more: Any) -> torch.optim.Optimizer:
    """Return a torch optimiser of these groups of weights; `more` are further arguments of that optimiser."""
    groups = [
        {
            "params": list(part.weights),
            "weight_decay": spec.weight_decay if part.decays else 0.0,
            "lr": spec.learning_rate * part.factor,
            "factor": part.factor,
        }
        for part in parts
    ]
    if spec.optimiser != "sgd":
        more |= {"betas": (spec.beta_1, spec.beta_2), "eps": spec.adam_eps}
    kinds = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam, "sgd": torch.optim.SGD}
    return kinds[spec.optimiser](groups, lr=spec.learning_rate, **more)


def update(optimiser: torch.optim.Optimizer, weights: Iterable[Tensor], spec: TrainSpec, step: int) -> None:
    """Make step number `step`, from 1: clip the gradient; the rate grows linearly over the first `warmup` steps."""
    if spec.clip:
        nn.utils.clip_grad_norm_(weights, spec.clip)
    for group in optimiser.param_groups if spec.warmup else ():
        group["lr"] = spec.learning_rate * group["factor"] * min(1.0, step / spec.warmup)
    optimiser.step()


def torch_origin(dtype: str, device: str) -> dict[str, str]:
    """Return `made_by` of engines in PyTorch; it contains PyTorch's version, since results depend on it."""
    return {"engine": f"torch {version('torch')}", "instructions": "", "dtype": dtype, "device": device}


class TorchEngine(StepEngine):
    """One run of `spec`; see `engine.Engine`."""

    def __init__(self, spec: TrainSpec, /, *, dtype: str, device: str, own: Encoding | None = None) -> None:
        self.spec, self.device, self._own = spec, device, own
        self.dtype = getattr(torch, dtype)
        self.a = spec.architecture
        at = layout(self.a)
        here: dict[str, Any] = {"dtype": self.dtype, "device": device}
        self.flat, self.gradient = (torch.zeros(at.size, **here) for _ in range(2))
        self.p: Tensors = {name: view.detach() for name, view in at.views(self.flat).items()}
        slopes = at.views(self.gradient)
        trained = [s.name for s in at.segments if s.start < at.n_trained]
        self._trained = [(self.p[name].requires_grad_(True), slopes[name]) for name in trained]
        cuts = at.pieces(positions=spec.position_rate, readout=spec.readout_rate)
        self._rows = [self.flat[cut].detach().requires_grad_(True) for cut, _ in cuts]
        self._slopes = [self.gradient[cut] for cut, _ in cuts]
        parts = [
            Part([row], cut.stop <= at.n_matrices or spec.decay == "all", factor)
            for row, (cut, factor) in zip(self._rows, cuts, strict=True)
        ]
        self.optimiser = optimiser_of(spec, parts, fused=True)
        self.bits = torch.zeros(spec.m, spec.T, **here)
        self.labels, self.margins = (torch.zeros(spec.m, **here) for _ in range(2))
        self._seed, self._step = 0, 0
        self.made_by = torch_origin(dtype, device)

    def start(self, spec: TrainSpec, restart: int, source: Sample | FreshBatches) -> None:
        """Start `spec` from its initialisation number `restart`."""
        self._seed = int(stream(spec.seed, "dropout", restart).integers(2**62))
        self.load(initial(spec, restart, self._own))
        self._begin(source)

    def load(self, row: Shaped[Array, " n"]) -> None:
        """Start from these weights with a new optimiser state."""
        self.flat[:] = torch.from_numpy(row).to(self.flat)
        self._step = 0
        for part in self._rows:
            self.optimiser.state.pop(part, None)

    def _take(self, sample: Sample) -> None:
        bits, labels = sample
        self.bits[:], self.labels[:] = torch.from_numpy(bits), torch.from_numpy(labels)

    def _steps(self, n_steps: int) -> list[float]:
        loss = self._backward()
        if math.isfinite(loss):
            self._step += 1
            for row, slope in zip(self._rows, self._slopes, strict=True):
                row.grad = slope
            update(self.optimiser, self._rows, self.spec, self._step)
        return [loss]

    def _backward(self) -> float:
        """Return the mean loss; store its gradient in `gradient` and the margins in `margins`.

        Samples are processed in chunks, so memory does not grow with m; chunk sizes depend only on the shape.
        """
        a, m = self.a, self.spec.m
        mixed, held = None, None
        for weights, _ in self._trained:
            weights.grad = None
        if self.spec.dropout == 0:
            mixed = table_values(self.p, a, self.bits)
            held = None if mixed is None else mixed.detach().requires_grad_(True)
        size = m if held is not None and a.L == 1 else self._chunk()
        for start in range(0, m, size):
            part = slice(start, min(m, start + size))
            drop = Dropout(self.spec.dropout, self._seed, self._step, range(part.start, part.stop))
            found = margins(self.p, a, self.bits[part], mixed=None if held is None else held[part], drop=drop)
            (losses(found, self.labels[part]).sum() / m).backward()
            self.margins[part] = found.detach()
        if mixed is not None and held is not None:
            mixed.backward(held.grad)
        for weights, slope in self._trained:  # no loss depends on the key biases
            slope.zero_() if weights.grad is None else slope.copy_(weights.grad)
        return losses(self.margins, self.labels).mean().item()

    def _chunk(self) -> int:
        """Return the number of samples per chunk: about CHUNK_NUMBERS divided by the numbers that one sample needs."""
        a = self.a
        width = max(a.d, a.mlp if a.L > 1 else 0, a.H * (a.T + 1) if a.L > 1 and self.spec.dropout else 0)
        return max(1, math.ceil(CHUNK_NUMBERS / ((a.T + 1) * width)))

    def train_accuracy(self) -> float:
        """Return the share of the training set that was classified correctly at the last step, before its update."""
        return float(((self.margins > 0) == (self.labels > 0.5)).double().mean())

    @torch.no_grad()
    def predict(self, bits: Shaped[Array, "n T"]) -> Shaped[Array, " n"]:
        """Return predicted labels (n,) of bits (n, T) under the present weights."""
        given = torch.from_numpy(np.ascontiguousarray(bits)).to(self.flat)
        size = max(self.spec.m, 512) if self.a.L == 1 else self._chunk()
        out = [self._margins(part) for part in given.split(size)]
        return (torch.cat(out) > 0).cpu().numpy().astype(np.uint8)

    def _margins(self, bits: Tensor) -> Tensor:
        mixed = table_values(self.p, self.a, bits)
        if mixed is not None:
            return margins(self.p, self.a, bits, mixed=mixed)
        return torch.cat([margins(self.p, self.a, part) for part in bits.split(self._chunk())])

    def model(self, meta: dict[str, object]) -> Model | None:
        """The current weights; None if they are not finite."""
        return to_model(self.a, self.flat.double().cpu().numpy(), meta, self._own)


def origin(spec: TrainSpec, *, dtype: str, device: str) -> dict[str, str]:
    """Return `made_by` of the engine, never a reason for refusal, since this engine can train every spec."""
    return torch_origin(dtype, device)


TORCH = NamedEngine(TorchEngine, origin)
