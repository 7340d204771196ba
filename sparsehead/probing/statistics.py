"""Measures of one head: how many positions it attends to, which, and how few of them determine its output.

All measures are averages over query rows and sequences, summed block by block, so that no attention matrix is kept.
For a query row with weights a over the positions that it may attend to:

    effective support   1 / sum a^2, between 1 and the number of positions
    entropy             - sum a ln a, nats
    top mass            the sum of the s largest weights
    sinks               the weight on the first token, on [CLS] and on [SEP]; sink rate: the share of sequences in which
                        the first token gets more than 0.3 on average (Gu et al., threshold as there)
    self, previous, next   the weight on the query's own position and on its neighbours
    same token          the weight on other occurrences of the query's token
    induction           the weight on tokens that follow such occurrences; induction back: on tokens before them
    stability           the Jaccard similarity of the four largest weights' positions between consecutive sequences
    score(s)            1 - (error of the head's output with only the s largest weights kept, renormalised)^2
                            / (variation of the output around its mean), at least 0

The score is the share of the output's variance that s positions reproduce. The error is that of the output after W_O,
which the rest of the network receives. The mean is subtracted, because a constant output carries no information: a
head that always attends to [SEP] has score 0. Rows that may attend to at most s positions would have no error, and are
left out.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from .._base.display import ShortRepr
from .._base.types import Array
from ..heads.torch_activations import TORCH_ACTIVATIONS
from .recompute import Call, row_blocks
from .settings import SIZES

STABLE = 4  # positions compared between sequences


Marks = dict[
    str, Tensor
]  # by the statistic that it defines: positions (T,), or pairs of query and position (T, T)


class Plain(ShortRepr):
    """Base class of dataclasses that can be written as JSON."""

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON values; numeric keys, such as sizes, become texts."""
        return {name: plain(value) for name, value in vars(self).items() if not name.startswith("_")}


def plain(value: Any) -> Any:
    """Convert to JSON values: a dataclass to an object (with its `verdict` first, if any), a tuple to a list."""
    if is_dataclass(value):
        value = {"verdict": value.verdict, **vars(value)} if hasattr(value, "verdict") else vars(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True, repr=False)
class HeadStatistics(Plain):
    """The measures of one head, as defined at the top of this file; None if one cannot be measured.

    top_mass, score, error: by size s, for sizes that can be measured: score needs at least two rows that may attend to
    more than s positions.
    support: the positions before the largest drop in the sorted mean weights, at most 16.
    """

    rows: int
    effective_support: float
    entropy: float
    top_mass: dict[int, float]
    score: dict[int, float]
    error: dict[int, float]
    sink_first: float
    sink_cls: float | None
    sink_sep: float | None
    sink_rate: float
    attends_self: float
    previous: float | None
    next: float | None
    same_token: float | None
    induction: float | None
    induction_back: float | None
    stability: float | None
    support: tuple[int, ...]
    induction_repeated: float | None = None


def marks_of(ids: Array, *, cls: int | None = None, sep: int | None = None) -> Marks:
    """Return masks for one sequence: [CLS], [SEP], other occurrences of each token, and the tokens next to these."""
    x = torch.as_tensor(ids)
    same = (x[:, None] == x[None, :]) & ~torch.eye(len(x), dtype=torch.bool)
    after, before = torch.zeros_like(same), torch.zeros_like(same)
    after[:, 1:], before[:, :-1] = same[:, :-1], same[:, 1:]
    special = {"sink_cls": cls, "sink_sep": sep}
    found = {name: x == token for name, token in special.items() if token is not None and token in ids}
    return found | {"same_token": same, "induction": after, "induction_back": before}


@dataclass(eq=False)
class _Mean:
    total: float = 0.0
    n: int = 0

    def add(self, values: Tensor) -> None:
        self.total += float(values.double().sum())
        self.n += values.numel()

    @property
    def value(self) -> float | None:
        return self.total / self.n if self.n else None


@dataclass(eq=False)
class _Fit:
    """Sums from which score(s) is computed: number of rows, outputs, squared norms and squared errors, after W_O."""

    n: int = 0
    total: Tensor | float = 0.0
    square: float = 0.0
    error: float = 0.0

    def add(self, output: Tensor, error: Tensor, gram: Tensor) -> None:
        self.n += len(output)
        self.total = self.total + output.sum(dim=0)
        self.square += float(((output @ gram) * output).sum())
        self.error += float(((error @ gram) * error).sum())

    def ratio(self, gram: Tensor) -> float | None:
        """Return squared error / squared variation; None if the output does not vary."""
        if self.n < 2 or not isinstance(self.total, Tensor):
            return None
        variation = self.square - float(self.total @ gram @ self.total) / self.n
        # a difference of two sums: what is left of a constant is rounding
        return self.error / variation if variation > 1e-9 * self.square else None


@dataclass(eq=False)
class HeadTally:
    """Running sums of one head. For each sequence call `add` with its rows, then `close`; at the end call `result`."""

    gram: Tensor  # W_O W_O^T, float64
    sigma: str = "identity"
    means: defaultdict[str, _Mean] = field(
        default_factory=lambda: defaultdict(_Mean)
    )  # by field of the result
    top_mass: defaultdict[int, _Mean] = field(default_factory=lambda: defaultdict(_Mean))
    fits: dict[int, _Fit] = field(default_factory=lambda: {s: _Fit() for s in SIZES})
    positions: Tensor = field(default_factory=lambda: torch.zeros(0, 2, dtype=torch.float64))
    _first: _Mean = field(default_factory=_Mean)  # the weight on the first token in this sequence
    _top: list[tuple[Tensor, Tensor]] = field(default_factory=list)
    _earlier: dict[int, frozenset[int]] = field(default_factory=dict)

    def add(self, A: Tensor, allowed: Tensor, rows: Tensor, values: Tensor, marks: Marks) -> None:
        """Add query rows: their weights A (R, T), the positions they may attend to, and the values (T, v)."""
        T = A.shape[1]
        self.means["effective_support"].add(1 / (A * A).sum(dim=1))
        self.means["entropy"].add(-torch.xlogy(A, A).sum(dim=1))
        self.means["sink_first"].add(A[:, 0])
        self._first.add(A[:, 0])
        self._add_places(A, allowed, rows, marks)
        top, where = A.topk(min(max(SIZES), T), dim=1)
        kept = torch.cumsum(top, dim=1)
        for s in (s for s in SIZES if s <= kept.shape[1]):
            self.top_mass[s].add(kept[:, s - 1])
        self._add_fits(A, allowed, top, where, values)
        self.positions = pad(self.positions, (0, 0, 0, max(0, T - len(self.positions))))
        self.positions[:T] += torch.stack([A.double().sum(dim=0), torch.full((T,), float(len(A)))], dim=1)
        self._top.append((rows, where[:, :STABLE]))

    def _add_places(self, A: Tensor, allowed: Tensor, rows: Tensor, marks: Marks) -> None:
        place, behind, ahead = torch.arange(len(rows)), rows >= 1, rows < A.shape[1] - 1
        self.means["attends_self"].add(A[place, rows])
        self.means["previous"].add(A[place[behind], rows[behind] - 1])
        self.means["next"].add(A[place[ahead], rows[ahead] + 1])
        for name, mark in marks.items():
            if mark.dim() == 1:
                self.means[name].add((A * mark).sum(dim=1))
            else:  # rows without such a position do not count
                relevant = mark[rows] & allowed
                self.means[name].add((A * relevant).sum(dim=1)[relevant.any(dim=1)])

    def _add_fits(self, A: Tensor, allowed: Tensor, top: Tensor, where: Tensor, values: Tensor) -> None:
        sigma, V, many = TORCH_ACTIVATIONS[self.sigma], values.double(), allowed.sum(dim=1)
        output = sigma(A.double() @ V)
        weighted = torch.cumsum(top.double()[:, :, None] * V[where], dim=1)
        kept = torch.cumsum(top.double(), dim=1)
        for s, fit in self.fits.items():
            use = many > s
            if s <= kept.shape[1] and bool(use.any()):
                few = sigma(weighted[use, s - 1] / kept[use, s - 1 : s])
                fit.add(output[use], output[use] - few, self.gram)

    def close(self) -> None:
        """End a sequence: update the sink rate, compare its most attended positions with the previous sequence's."""
        self.means["sink_rate"].add(torch.tensor([float((self._first.value or 0.0) > 0.3)]))
        self._first = _Mean()
        rows = torch.cat([rows for rows, _ in self._top]).tolist()
        sets = [frozenset(row) for row in torch.cat([where for _, where in self._top]).tolist()]
        now = dict(zip(rows, sets, strict=True))
        both = now.keys() & self._earlier.keys()
        shares = [len(now[i] & self._earlier[i]) / len(now[i] | self._earlier[i]) for i in both]
        self.means["stability"].add(torch.tensor(shares))
        self._top, self._earlier = [], now

    def result(self) -> HeadStatistics:
        ratios = {s: fit.ratio(self.gram) for s, fit in self.fits.items() if fit.n >= 2}
        found: dict[str, Any] = {f.name: None for f in fields(HeadStatistics)}
        found |= {name: mean.value for name, mean in self.means.items()}
        found["rows"] = self.means["entropy"].n
        found["top_mass"] = {s: mean.value for s, mean in self.top_mass.items()}
        found["score"] = {s: 0.0 if r is None else max(0.0, 1 - r) for s, r in ratios.items()}
        found["error"] = {s: float(np.sqrt(r)) for s, r in ratios.items() if r is not None}
        mean_weights = self.positions[:, 0] / self.positions[:, 1].clamp_min(1)
        return HeadStatistics(**found | {"support": support_of(mean_weights.numpy())})


def support_of(mean: Array) -> tuple[int, ...]:
    """Sort weights from high to low; return the positions before the largest drop, at most 16, ascending.

    >>> support_of(np.array([0.01, 0.4, 0.02, 0.39, 0.01, 0.17]))
    (1, 3, 5)
    """
    order = np.argsort(-mean, kind="stable")
    tops = np.maximum(mean[order][: 16 + 1], 1e-12)
    drops = tops[:-1] / tops[1:]
    return tuple(sorted(int(t) for t in order[: int(np.argmax(drops)) + 1])) if len(drops) else (0,)


def new_tallies(weights: Sequence[Any]) -> list[list[HeadTally]]:
    """Return an empty `HeadTally` for every layer and head."""
    return [[HeadTally((W := w.W_O[h].double()) @ W.T, w.sigma) for h in range(w.H)] for w in weights]


def tally_call(
    call: Call, marks: Marks, tallies: Sequence[HeadTally], uniform: Sequence[HeadTally], rows: Tensor | None
) -> None:
    """Add one layer's call to its heads' `tallies`, and uniform attention over the same positions to `uniform`."""
    for h, tally in enumerate(tallies):
        values = call.values(h)
        for block in row_blocks(call.T, rows):
            allowed = call.allowed(h, block)
            tally.add(call.attention(h, block), allowed, block, values, marks)
            if uniform:
                flat = allowed / allowed.sum(dim=1, keepdim=True)
                uniform[h].add(flat, allowed, block, values, marks)
        tally.close()
        if uniform:
            uniform[h].close()
