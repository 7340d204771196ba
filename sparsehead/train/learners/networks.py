"""A torch module in the place of the Transformer: same data, same optimiser, same checks.

Dropout and initialisation are the module's own: the spec's settings of these are for the Transformer.
"""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import nn

from ..._base.rng import stream
from ..._base.types import Array, Shaped
from ...functions.task import Sample
from ...heads.encoding import Encoding
from ...heads.model import Model
from ..data import FreshBatches
from ..spec import TrainSpec
from ..transformer.engine import NamedEngine
from ..transformer.forward import losses
from ..transformer.torch_engine import TORCH_OPTIMISERS, torch_origin, warmed_up
from .learner import ChooseEngine


def network(make: Callable[[int], nn.Module]) -> ChooseEngine:
    """The engine for networks made by `make(T)`, whatever engine is asked for."""

    def origin(spec: TrainSpec, /, *, dtype: str, device: str) -> dict[str, str]:
        return torch_origin(dtype, device)

    named = NamedEngine(partial(NetworkEngine, make), origin)
    return lambda spec, /, **asked: named


class NetworkEngine:
    """One run of a torch module; see `transformer.engine.Engine`. Initialised as torch does."""

    def __init__(
        self, make: Callable[[int], nn.Module], spec: TrainSpec, /, *, dtype: str, device: str, own: Encoding | None
    ) -> None:  # fmt: skip
        self.spec, self._make, self._here = spec, make, (device, getattr(torch, dtype))
        self.made_by = torch_origin(dtype, device)
        self._right, self._steps = 0.0, 0

    def start(self, spec: TrainSpec, restart: int, source: Sample | FreshBatches) -> None:
        """Start `spec` from its initialisation number `restart`."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(stream(spec.seed, "init", restart).integers(2**62)))
            network = self._make(spec.T)
        self._network, self._source, self._steps = network.to(*self._here), source, 0
        sorts = [[w for w in network.parameters() if (w.ndim > 1) == matrix] for matrix in (True, False)]
        decays = (spec.weight_decay, spec.weight_decay if spec.decay == "all" else 0.0)
        groups = [{"params": w, "weight_decay": decay} for w, decay in zip(sorts, decays, strict=True)]
        more = {} if spec.optimiser == "sgd" else {"betas": (spec.beta_1, spec.beta_2), "eps": spec.adam_eps}
        self._optimiser = TORCH_OPTIMISERS[spec.optimiser](groups, lr=spec.learning_rate, **more)

    def advance(self, n_steps: int) -> list[float]:
        """Train for n_steps; the losses before each update, cut after the first that is not finite."""
        out: list[float] = []
        while len(out) < n_steps and (not out or math.isfinite(out[-1])):
            sample = self._source() if isinstance(self._source, FreshBatches) else self._source
            bits, labels = (torch.from_numpy(x).to(*self._here) for x in sample)
            margins = self._network(bits)
            loss = losses(margins, labels).mean()
            self._right = float(((margins > 0) == (labels > 0.5)).double().mean())
            out.append(loss.item())
            self._optimiser.zero_grad()
            loss.backward()
            if self.spec.clip:
                nn.utils.clip_grad_norm_(self._network.parameters(), self.spec.clip)
            self._steps += 1
            if self.spec.warmup:
                for group in self._optimiser.param_groups:
                    group["lr"] = warmed_up(self.spec, self._steps)
            self._optimiser.step()
        return out

    def train_accuracy(self) -> float:
        """Share of the training set that was right at the last step, before its update."""
        return self._right

    @torch.no_grad()
    def predict(self, bits: Shaped[Array, "n T"]) -> Shaped[Array, " n"]:
        """Predicted labels (n,) of bits (n, T)."""
        margins = [self._network(part) for part in torch.from_numpy(bits).to(*self._here).split(512)]
        return (torch.cat(margins) > 0).cpu().numpy().astype(np.uint8)

    def model(self, meta: dict[str, object]) -> Model | None:
        """None: these are no attention models."""
        return None
