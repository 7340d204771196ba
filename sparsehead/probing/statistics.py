"""What is measured on one head: how many positions it attends to, which, and how few of them make its output.

Everything is an average over query rows and sequences, added up block by block, so that no attention matrix is kept.
For a query row with weights a over the positions that it may attend to:

    effective support   1 / sum a^2, between 1 and the number of positions
    entropy             - sum a ln a, nats
    top mass            the sum of the s largest weights
    sinks               the weight on the first token, on [CLS] and on [SEP]; sink rate: the share of sequences in which
                        the first token gets more than 0.3 on average (Gu et al., threshold as there)
    self, previous, next   the weight on the query's own position and on its neighbours
    same token          the weight on other places where the query's token stands
    induction           the weight on the tokens that follow such places; induction back: that precede them
    stability           the Jaccard similarity of the four largest weights' positions between consecutive sequences
    score(s)            1 - (error of the head's output with only the s largest weights kept, renormalised)^2
                            / (variation of the output around its mean), at least 0

The score is the share of the output's variance that s positions reproduce. The error is taken behind W_O, so it is what
the rest of the network sees, and the mean is taken out, because a constant carries nothing: a head that rests on [SEP]
keeps a constant and has score 0. Rows that may attend to at most s positions would be exact and are left out.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .._base.display import ShortRepr
from .._base.types import Array
from ..heads.torch_activations import TORCH_ACTIVATIONS
from .recompute import Call, row_blocks

SIZES = (1, 2, 4, 8, 16, 32)
STABLE = 4  # positions compared between sequences


@dataclass(frozen=True, repr=False)
class HeadStatistics(ShortRepr):
    """Averages for one head; the file's head says what each is. None where it cannot be measured.

    top_mass, score, error: by size s, without sizes that cannot be measured: score takes two rows that may attend to
    more than s positions.
    support: positions before the largest drop of the mean weights, by index, at most 16.
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

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-able data; sizes as texts."""
        plain = asdict(self)
        for name in ("top_mass", "score", "error"):
            plain[name] = {str(s): value for s, value in plain[name].items()}
        return plain | {"support": list(self.support)}


@dataclass(eq=False)
class Marks:
    """What is known about one sequence: where [CLS] and [SEP] stand, and (T, T) relations of equal tokens."""

    cls: Tensor | None = None
    sep: Tensor | None = None
    same: Tensor | None = None
    after: Tensor | None = None
    before: Tensor | None = None

    @classmethod
    def of(cls, ids: Array, *, cls_id: int | None, sep_id: int | None) -> "Marks":
        x = torch.as_tensor(ids)
        same = (x[:, None] == x[None, :]) & ~torch.eye(len(x), dtype=torch.bool)
        after, before = torch.zeros_like(same), torch.zeros_like(same)
        after[:, 1:], before[:, :-1] = same[:, :-1], same[:, 1:]
        known = [None if token is None else x == token for token in (cls_id, sep_id)]
        return cls(known[0], known[1], same, after, before)


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
    """Sums behind score(s): rows, their outputs, squared lengths and squared errors, all behind W_O."""

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
        """Squared error over squared variation; None where the output does not vary."""
        if self.n < 2 or not isinstance(self.total, Tensor):
            return None
        variation = self.square - float(self.total @ gram @ self.total) / self.n
        # a difference of two sums: what is left of a constant is rounding
        return self.error / variation if variation > 1e-9 * self.square else None


@dataclass(eq=False)
class HeadTally:
    """Running sums of one head; `add` rows of one sequence after another, `close` each sequence, then `result`."""

    gram: Tensor  # W_O W_O^T, float64
    sigma: str = "identity"
    means: dict[str, _Mean] = field(default_factory=dict)
    fits: dict[int, _Fit] = field(default_factory=lambda: {s: _Fit() for s in SIZES})
    positions: Tensor = field(default_factory=lambda: torch.zeros(0, 2, dtype=torch.float64))
    sinks: _Mean = field(default_factory=_Mean)
    _first: _Mean = field(default_factory=_Mean)
    _top: list[tuple[Tensor, Tensor]] = field(default_factory=list)
    _earlier: dict[int, frozenset[int]] = field(default_factory=dict)

    def mean(self, name: str) -> _Mean:
        return self.means.setdefault(name, _Mean())

    def add(self, A: Tensor, allowed: Tensor, rows: Tensor, values: Tensor, marks: Marks) -> None:
        """Weights A (R, T) of query rows, the positions they may attend to, and the values (T, v)."""
        self.mean("effective_support").add(1 / (A * A).sum(dim=1))
        self.mean("entropy").add(-torch.xlogy(A, A).sum(dim=1))
        self.mean("sink_first").add(A[:, 0])
        self._first.add(A[:, 0])
        self._add_places(A, allowed, rows, marks)
        top, where = A.topk(min(max(SIZES), A.shape[1]), dim=1)
        kept = torch.cumsum(top, dim=1)
        for s in (s for s in SIZES if s <= kept.shape[1]):
            self.mean(f"top{s}").add(kept[:, s - 1])
        self._add_fits(A, allowed, top, where, values)
        self._add_positions(A)
        self._top.append((rows, where[:, :STABLE]))

    def _add_places(self, A: Tensor, allowed: Tensor, rows: Tensor, marks: Marks) -> None:
        T, place = A.shape[1], torch.arange(len(rows))
        self.mean("attends_self").add(A[place, rows])
        behind, ahead = rows >= 1, rows < T - 1
        self.mean("previous").add(A[place[behind], rows[behind] - 1])
        self.mean("next").add(A[place[ahead], rows[ahead] + 1])
        for name in ("cls", "sep"):
            mark = getattr(marks, name)
            if mark is not None and bool(mark.any()):
                self.mean(name).add((A * mark).sum(dim=1))
        for name in ("same", "after", "before"):
            mark = getattr(marks, name)
            if mark is not None:
                relevant = mark[rows] & allowed
                found = relevant.any(dim=1)
                self.mean(name).add((A * relevant).sum(dim=1)[found])

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

    def _add_positions(self, A: Tensor) -> None:
        T = A.shape[1]
        if len(self.positions) < T:
            more = torch.zeros(T - len(self.positions), 2, dtype=torch.float64)
            self.positions = torch.cat([self.positions, more])
        self.positions[:T, 0] += A.double().sum(dim=0)
        self.positions[:T, 1] += len(A)

    def close(self) -> None:
        """A sequence is over: count its sink, compare its attended sets with those of the sequence before."""
        first = self._first.value
        self.sinks.add(torch.tensor([float(first is not None and first > 0.3)]))
        self._first = _Mean()
        rows = torch.cat([rows for rows, _ in self._top]).tolist()
        sets = [frozenset(row) for row in torch.cat([where for _, where in self._top]).tolist()]
        now = dict(zip(rows, sets, strict=True))
        both = now.keys() & self._earlier.keys()
        shares = [len(now[i] & self._earlier[i]) / len(now[i] | self._earlier[i]) for i in both]
        self.mean("stability").add(torch.tensor(shares))
        self._top, self._earlier = [], now

    def result(self) -> HeadStatistics:
        ratios = {s: fit.ratio(self.gram) for s, fit in self.fits.items() if fit.n >= 2}

        def known(name: str) -> float:
            return self.mean(name).value or 0.0

        return HeadStatistics(
            rows=self.mean("entropy").n,
            effective_support=known("effective_support"),
            entropy=known("entropy"),
            top_mass={s: known(f"top{s}") for s in SIZES if f"top{s}" in self.means},
            score={s: 0.0 if r is None else max(0.0, 1 - r) for s, r in ratios.items()},
            error={s: float(np.sqrt(r)) for s, r in ratios.items() if r is not None},
            sink_first=known("sink_first"),
            sink_cls=self.mean("cls").value,
            sink_sep=self.mean("sep").value,
            sink_rate=self.sinks.value or 0.0,
            attends_self=known("attends_self"),
            previous=self.mean("previous").value,
            next=self.mean("next").value,
            same_token=self.mean("same").value,
            induction=self.mean("after").value,
            induction_back=self.mean("before").value,
            stability=self.mean("stability").value,
            support=support_of((self.positions[:, 0] / self.positions[:, 1].clamp_min(1)).numpy()),
        )


def support_of(mean: Array) -> tuple[int, ...]:
    """Positions before the largest drop of the sorted mean weights, at most 16; sorted.

    >>> support_of(np.array([0.01, 0.4, 0.02, 0.39, 0.01, 0.17]))
    (1, 3, 5)
    """
    order = np.argsort(-mean, kind="stable")
    tops = np.maximum(mean[order][: 16 + 1], 1e-12)
    drops = tops[:-1] / tops[1:]
    return tuple(sorted(int(t) for t in order[: int(np.argmax(drops)) + 1])) if len(drops) else (0,)


def allowed_of(call: Call, h: int, rows: Tensor) -> Tensor:
    """Which positions each query row may attend to."""
    if call.mask is None:
        return torch.ones(len(rows), call.T, dtype=torch.bool)
    added = (call.mask if call.mask.dim() == 2 else call.mask[h])[rows]
    return added > -1e30


def new_tallies(weights: Sequence[Any]) -> list[list[HeadTally]]:
    """Empty tallies for every layer and head."""
    return [[HeadTally((W := w.W_O[h].double()) @ W.T, w.sigma) for h in range(w.H)] for w in weights]


def tally_call(
    call: Call, marks: Marks, tallies: Sequence[HeadTally], uniform: Sequence[HeadTally], rows: Tensor | None
) -> None:
    """Add one layer's call to its heads' tallies, and what uniform attention would have given to the others."""
    for h, tally in enumerate(tallies):
        values = call.values(h)
        for block in row_blocks(call.T, rows):
            allowed = allowed_of(call, h, block)
            tally.add(call.attention(h, block), allowed, block, values, marks)
            if uniform:
                flat = allowed / allowed.sum(dim=1, keepdim=True)
                uniform[h].add(flat, allowed, block, values, marks)
        tally.close()
        if uniform:
            uniform[h].close()
