"""Adam and AdamW over the rows of an ensemble, each row with its own step count, clipping and learning rate."""

from typing import Any

import torch
from torch import Tensor

from .parameters import Ensemble


class Adam:
    """The update of Kingma and Ba for every row of `weights`, in place, by torch's fused kernel.

    Weight decay touches matrices only; `decoupled` shrinks the weights themselves (AdamW), otherwise the decay is
    added to the gradient (Adam with an L2 penalty). A row's gradient is first scaled to norm at most `clip`
    (0: never). The learning rate rises linearly over the first `warmup` steps of a row.
    """

    def __init__(
        self,
        weights: Ensemble,
        *,
        learning_rate: float = 1e-3,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        eps: float = 1e-8,
        weight_decay: float = 1e-4,
        decoupled: bool = True,
        clip: float = 1.0,
        warmup: int = 0,
    ) -> None:
        at, flat = weights.layout, weights.flat
        self.learning_rate, self.warmup, self.clip = learning_rate, warmup, clip
        self._update = torch._fused_adamw_ if decoupled else torch._fused_adam_
        self._fixed: dict[str, Any] = {
            "beta1": beta_1,
            "beta2": beta_2,
            "eps": eps,
            "amsgrad": False,
            "maximize": False,
        }
        self._decay = (weight_decay, 0.0)
        self._pieces = [(0, at.n_decayed), (at.n_decayed, at.n_trained)]
        self._n_trained = at.n_trained
        self._flat = flat
        self._first = torch.zeros(flat.shape[0], at.n_trained, dtype=flat.dtype, device=flat.device)
        self._second = torch.zeros_like(self._first)
        self._steps = torch.zeros(flat.shape[0], dtype=torch.float32, device=flat.device)
        self._row_steps = list(self._steps.unbind())
        self._views = [self._split(x) for x in (flat, self._first, self._second)]
        self._gradient_views: tuple[Tensor, list[list[Tensor]]] | None = None

    def _split(self, flat: Tensor) -> list[list[Tensor]]:
        """Views of every row's two pieces, made once: cutting them anew costs as much as the update."""
        return [[row[i:j] for row in flat.unbind()] for i, j in self._pieces]

    def moments(self, row: int) -> tuple[Tensor, Tensor]:
        """First and second moments of a row, for a kernel that updates them itself."""
        return self._first[row], self._second[row]

    def count(self, row: int) -> int:
        """Steps that a row has behind it."""
        return int(self._steps[row])

    def advance(self, row: int, n_steps: int) -> None:
        """Note steps that were taken elsewhere."""
        self._steps[row] += n_steps

    def reset(self, row: int) -> None:
        """Forget a row's history: another run starts there."""
        self._first[row].zero_()
        self._second[row].zero_()
        self._steps[row] = 0

    def step(self, gradient: Ensemble, start: int, stop: int) -> Tensor:
        """Update rows start..stop-1 with `gradient` (stop - start rows); returns gradient norms before clipping."""
        g = gradient.flat[:, : self._n_trained]
        norms = torch.linalg.vector_norm(g, dim=1)
        if self.clip:
            scale = self.clip / (norms + 1e-6)
            if bool((scale < 1).any()):
                g.mul_(scale.clamp_(max=1.0)[:, None])
        self._steps[start:stop] += 1
        if not self.warmup:
            self._rows(gradient, range(start, stop), start, self.learning_rate)
            return norms
        for row in range(start, stop):
            share = min(1.0, float(self._steps[row]) / self.warmup)
            self._rows(gradient, range(row, row + 1), start, self.learning_rate * share)
        return norms

    def _rows(self, gradient: Ensemble, rows: range, start: int, rate: float) -> None:
        if self._gradient_views is None or self._gradient_views[0] is not gradient.flat:
            self._gradient_views = gradient.flat, self._split(gradient.flat)
        here, there = slice(rows.start, rows.stop), slice(rows.start - start, rows.stop - start)
        for piece, decay in enumerate(self._decay):
            weights, first, second = (views[piece][here] for views in self._views)
            g = self._gradient_views[1][piece][there]
            self._update(
                weights,
                g,
                first,
                second,
                [],
                self._row_steps[here],
                lr=rate,
                weight_decay=decay,
                **self._fixed,
            )
