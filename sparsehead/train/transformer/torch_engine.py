"""The engine in torch: any depth, any device, R runs of one shape advanced together; gradients by autograd.

Advancing runs together pays on a GPU, and on a CPU without a compiled kernel. Sums may then be taken in another order,
so a run's last digits can depend on how many runs it shares a step with.
"""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..._base.rng import stream
from ..._base.types import Array, Shaped
from ...functions.task import Sample
from ...heads.encoding import Encoding
from ...heads.model import Model
from ..data import FreshBatches
from ..origin import torch_origin
from ..spec import TrainSpec
from .dropout import Dropout
from .engine import NamedEngine
from .forward import Tensors, losses, margins, table_values
from .layout import layout
from .weights import initial, to_model

ELEMENTS = 2**21  # numbers in one array of samples x tokens x width: eight megabytes in float32
TORCH_OPTIMISERS = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam, "sgd": torch.optim.SGD}


def warmed_up(spec: TrainSpec, step: int) -> float:
    """The learning rate at a step, counted from 1: it rises in a line over the first `warmup` steps."""
    return spec.learning_rate * min(1.0, step / spec.warmup)


class TorchEngine:
    """R runs of the shape and with the optimiser that `spec` has; see `engines.Engine`."""

    def __init__(
        self, spec: TrainSpec, runs: int = 1, *, dtype: str, device: str, own: Encoding | None = None
    ) -> None:
        self.spec, self.runs, self.device, self._own = spec, runs, device, own
        self.dtype = getattr(torch, dtype)
        self.a = spec.architecture
        at = layout(self.a)
        here: dict[str, Any] = {"dtype": self.dtype, "device": device}
        self.flat, self.gradient = (torch.zeros(runs, at.size, **here) for _ in range(2))
        self.p: Tensors = {name: view.detach() for name, view in at.views(self.flat).items()}
        slopes = at.views(self.gradient)
        trained = [s.name for s in at.segments if s.start < at.n_trained]
        self._trained = [(self.p[name].requires_grad_(True), slopes[name]) for name in trained]
        cuts = (slice(0, at.n_matrices), slice(at.n_matrices, at.n_trained))
        self._rows = [[self.flat[r, cut].detach().requires_grad_(True) for cut in cuts] for r in range(runs)]
        self._slopes = [[self.gradient[r, cut] for cut in cuts] for r in range(runs)]
        self.optimiser = self._optimiser()
        self.bits = torch.zeros(runs, spec.m, spec.T, **here)
        self.labels, self.margins = (torch.zeros(runs, spec.m, **here) for _ in range(2))
        self._sources: list[Sample | FreshBatches | None] = [None] * runs
        self._seeds, self._steps = [0] * runs, [0] * runs
        self.made_by = torch_origin(dtype, device)

    def _optimiser(self) -> torch.optim.Optimizer:
        """torch.optim over two groups per run: the matrices, which always decay, and the rest."""
        s = self.spec
        rest = s.weight_decay if s.decay == "all" else 0.0
        groups = [
            {"params": [row], "weight_decay": decay}
            for rows in self._rows
            for row, decay in zip(rows, (s.weight_decay, rest), strict=True)
        ]
        more = {} if s.optimiser == "sgd" else {"betas": (s.beta_1, s.beta_2), "eps": s.adam_eps}
        return TORCH_OPTIMISERS[s.optimiser](groups, lr=s.learning_rate, fused=True, **more)

    def start(self, spec: TrainSpec, restart: int, source: Sample | FreshBatches, run: int = 0) -> None:
        """Start `spec` from its initialisation number `restart` as run number `run`."""
        self._seeds[run] = int(stream(spec.seed, "dropout", restart).integers(2**62))
        self._steps[run], self._sources[run] = 0, source
        self.load(initial(spec, restart, self._own), run)
        if not isinstance(source, FreshBatches):
            self._take(source, run)

    def load(self, row: Shaped[Array, " n"], run: int = 0) -> None:
        """Put these weights into a run and forget what the optimiser remembers."""
        self.flat[run] = torch.from_numpy(row).to(self.flat)
        for part in self._rows[run]:
            self.optimiser.state.pop(part, None)

    def stop(self, run: int) -> None:
        """Let a run rest: it is not advanced until it is started again."""
        self._sources[run] = None
        self.flat[run].zero_()

    def _take(self, sample: Sample, run: int) -> None:
        bits, labels = sample
        self.bits[run], self.labels[run] = torch.from_numpy(bits), torch.from_numpy(labels)

    def advance(self, n_steps: int) -> list[list[float]]:
        """Train every run for n_steps; the losses before each update, cut after the first that is not finite."""
        out: list[list[float]] = [[] for _ in range(self.runs)]
        for _ in range(n_steps):
            for run, source in enumerate(self._sources):
                if isinstance(source, FreshBatches):
                    self._take(source(), run)
            found = self._backward().tolist()
            on = [s is not None and (not x or math.isfinite(x[-1])) for s, x in zip(self._sources, out)]
            for run in range(self.runs):
                if on[run]:
                    out[run].append(found[run])
            self._update([o and math.isfinite(x) for o, x in zip(on, found)])
        return out

    def _backward(self) -> Tensor:
        """Mean losses (R,); leaves their gradients in `gradient` and the margins in `margins`.

        Samples are walked in chunks, so memory does not grow with m; chunk sizes depend on the shape alone.
        """
        a, m = self.a, self.spec.m
        mixed, held = None, None
        for weights, _ in self._trained:
            weights.grad = None
        if self.spec.dropout == 0:
            mixed = table_values(self.p, a, self.bits)
            held = None if mixed is None else mixed.detach().requires_grad_(True)
        size = m if held is not None and a.L == 1 else self._chunk(self.runs)
        runs = tuple(zip(self._seeds, self._steps, strict=True))
        for start in range(0, m, size):
            part = slice(start, min(m, start + size))
            drop = Dropout(self.spec.dropout, runs, range(part.start, part.stop))
            found = margins(
                self.p, a, self.bits[:, part], mixed=None if held is None else held[:, part], drop=drop
            )
            (losses(found, self.labels[:, part]).sum() / m).backward()
            self.margins[:, part] = found.detach()
        if mixed is not None and held is not None:
            mixed.backward(held.grad)
        for weights, slope in self._trained:  # no loss depends on the key biases
            slope.zero_() if weights.grad is None else slope.copy_(weights.grad)
        return losses(self.margins, self.labels).mean(1)

    def _chunk(self, runs: int) -> int:
        """Samples per chunk where every sample has tokens of its own; full attention has T^2 H weights."""
        a = self.a
        width = max(a.d, a.mlp if a.L > 1 else 0, a.H * (a.T + 1) if a.L > 1 and self.spec.dropout else 0)
        return max(1, math.ceil(ELEMENTS / ((a.T + 1) * width * runs)))

    def _update(self, on: list[bool]) -> None:
        """One step of the optimiser for the runs that are on."""
        s = self.spec
        for run, rows in enumerate(self._rows):
            self._steps[run] += on[run]
            for row, slope in zip(rows, self._slopes[run], strict=True):
                row.grad = slope if on[run] else None
            if on[run] and s.clip:
                nn.utils.clip_grad_norm_(rows, s.clip)
            if s.warmup:
                for group in self.optimiser.param_groups[2 * run : 2 * run + 2]:
                    group["lr"] = warmed_up(s, self._steps[run])
        self.optimiser.step()

    def train_accuracy(self, run: int = 0) -> float:
        """Share of the training set that was right at the last step, before its update."""
        return float(((self.margins[run] > 0) == (self.labels[run] > 0.5)).double().mean())

    @torch.no_grad()
    def predict(self, bits: Shaped[Array, "n T"], run: int = 0) -> Shaped[Array, " n"]:
        """Predicted labels (n,) of bits (n, T) under the run's weights as they are now."""
        p = {name: w[run : run + 1] for name, w in self.p.items()}
        given = torch.from_numpy(np.ascontiguousarray(bits)).to(self.flat)[None]
        size = max(self.spec.m, 512) if self.a.L == 1 else self._chunk(1)
        out = [self._margins(p, part) for part in given.split(size, dim=1)]
        return (torch.cat(out) > 0).cpu().numpy().astype(np.uint8)

    def _margins(self, p: Tensors, bits: Tensor) -> Tensor:
        mixed = table_values(p, self.a, bits)
        if mixed is not None:
            return margins(p, self.a, bits, mixed=mixed)[0]
        return torch.cat([margins(p, self.a, part)[0] for part in bits.split(self._chunk(1), dim=1)])

    def model(self, meta: dict[str, object], run: int = 0) -> Model | None:
        """The run's weights as they are now; None if they are not finite."""
        return to_model(self.a, self.flat[run].double().cpu().numpy(), meta, self._own)


def origin(spec: TrainSpec, *, dtype: str, device: str) -> dict[str, str]:
    """What the engine says of itself; it trains every spec."""
    return torch_origin(dtype, device)


TORCH = NamedEngine(TorchEngine, origin)
