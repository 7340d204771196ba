"""`Task`: a function to be learned, the distribution of its inputs, and the rate of wrong labels."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from .._base.arguments import instance, real, several, shown
from .._base.display import Card, ShortRepr, WithCard, clipped
from .._base.errors import DomainError, ShapeError
from .._base.types import Array, Float, Shaped
from . import SparseFunction, as_function, assignments, check_bits, kind
from .explain import explanations
from .inputs import Sampler, p_text, sampler_text
from .tables import ones

__all__ = ["Task", "balancing_p", "bernoulli", "conjunction_p", "explanations"]

CHUNK = 2**24  # random bytes drawn at once while sampling

Sample = tuple[Shaped[Array, "n T"], Shaped[Array, " n"]]  # bits and labels, uint8


@dataclass(frozen=True, repr=False)
class Task(ShortRepr, WithCard):
    """Learn f from independent Bernoulli(p) bits; each label is flipped with probability `noise`.

    Args:
        f: the function to be learned.
        p: probability that a bit is 1, 0 < p < 1 (`Task.balanced` chooses it); or T probabilities from 0 to 1, one for
            each position; None with a sampler.
        noise: the probability that a label is flipped, from 0 to 1/2; at 1/2 labels carry no information.
        feature_noise: the probability, below 1/2, that a bit is flipped before the learner sees it; the label is f of
            the true bits.
        sampler: a function from (n, T, rng) to bits (n, T) of any distribution; all randomness comes from rng.
    Paper: law-and

    >>> import numpy as np
    >>> task = Task.balanced("x2 & x5", T=8)
    >>> bits, labels = task.sample(100, rng=np.random.default_rng(0))
    >>> bits.shape, labels.shape, round(task.p, 3)
    ((100, 8), (100,), 0.707)
    """

    f: SparseFunction
    p: float | Sequence[float] | Shaped[Array, " T"] | None = None
    noise: float = 0.0
    feature_noise: float = 0.0
    sampler: Sampler | None = None

    def __post_init__(self) -> None:
        instance("f", self.f, SparseFunction, "such as sh.parse('x1 & x2', T=8)")
        if (self.p is None) == (self.sampler is None):
            raise DomainError("a task has either p or a sampler; Task.balanced(f) chooses p.")
        if self.sampler is not None and not callable(self.sampler):
            raise DomainError(f"sampler is a function (n, T, rng) -> bits; got {shown(self.sampler)}.")
        if isinstance(self.p, Sequence | np.ndarray) and not isinstance(self.p, str):
            object.__setattr__(self, "p", _each_p(self.p, self.f.T))
        elif self.p is not None and not 0 < real("p", self.p) < 1:
            raise DomainError(f"bits are 1 with a probability strictly between 0 and 1, got p={self.p}.")
        if not 0 <= real("noise", self.noise) <= 0.5:
            raise DomainError(f"labels are flipped with a probability from 0 to 1/2, got noise={self.noise}.")
        if not 0 <= real("feature_noise", self.feature_noise) < 0.5:
            raise DomainError(
                f"bits are flipped with a probability from 0 to below 1/2, got feature_noise={self.feature_noise}."
            )

    def _card(self) -> Card:
        rate = None if self.sampler else self.positive_rate
        facts = {"T": self.f.T, "p": self.shared_p, "share of label 1": rate, "noise": self.noise}
        facts |= {"feature noise": self.feature_noise} if self.feature_noise else {}
        return Card("Task", [f"learn {clipped(str(self.f), 200)}"], facts)

    @classmethod
    def balanced(cls, f: SparseFunction | str, noise: float = 0.0, *, T: int | None = None) -> "Task":
        """Return the task whose p brings the probability of label 1 closest to 1/2; see `balancing_p`.

        f is a function, or an expression together with T.

        >>> round(Task.balanced("x2 & x5 & x11", T=16).p, 4)
        0.7937
        """
        f = as_function(f, T, asker="Task.balanced")
        return cls(f, balancing_p(f), noise)

    @property
    def shared_p(self) -> float | None:
        """The p of all bits, if they are independent with the same p; None for other inputs."""
        return float(self.p) if isinstance(self.p, int | float) else None

    @property
    def inputs(self) -> str | None:
        """The distribution of the inputs as text (see `functions.inputs`); None if all bits share one p."""
        if self.sampler is not None:
            return sampler_text(self.sampler)
        return None if self.shared_p is not None else p_text(tuple(self.p))  # type: ignore[arg-type]

    @property
    def positive_rate(self) -> float:
        """The probability of label 1, label noise included; raises DomainError if the inputs come from a sampler."""
        if self.sampler is not None:
            raise DomainError(
                "the share of label 1 under a sampler is unknown; estimate it from sample(n, rng=..)."
            )
        if self.shared_p is not None:
            clean = float(_rate(_shares(self.f), np.array([self.shared_p]))[0])
        else:
            relevant_p = np.array(self.p)[list(self.f.support)]
            chances = np.where(assignments(self.f.s) == 1, relevant_p, 1 - relevant_p).prod(axis=1)
            clean = float(chances @ self.f.values)
        return clean * (1 - 2 * self.noise) + self.noise

    def sample(self, n: int, *, rng: np.random.Generator) -> Sample:
        """Draw n examples: bits (n, T) and labels (n,), both uint8."""
        bits, clean = self._clean(n, rng)
        return self._seen(bits, rng), self._noisy(clean, rng)

    def training_set(self, m: int, *, rng: np.random.Generator, unique: bool = True) -> Sample:
        """Draw m examples; with `unique`, redraw all of them until only one set of s positions explains them.

        A redrawn set is not an independent sample. A statement that fails with probability delta for an independent
        sample holds for the n-th draw with delta/(n (n+1)) in place of delta; `drawn_training_set` counts the draws.
        Uniqueness is tested on the labels before noise, for conjunctions, disjunctions and parities; for other
        functions the first draw is returned.

        Raises:
            DomainError: 200 draws were all ambiguous, so m is too small; or the test takes too long (`explanations`).
        Paper: law-and
        """
        return self.drawn_training_set(m, rng=rng, unique=unique)[0]

    def drawn_training_set(
        self, m: int, *, rng: np.random.Generator, unique: bool = True
    ) -> tuple[Sample, int | None]:
        """Return `training_set`, and the number of sets drawn (None if uniqueness was not tested)."""
        family = kind(self.f) if unique else None
        most_draws = 200  # training sets drawn in search of an unambiguous one before giving up
        for draws in range(1, most_draws + 1):
            bits, clean = self._clean(m, rng)
            if family is None or len(explanations(bits, clean, self.f.s, family)) == 1:
                return (self._seen(bits, rng), self._noisy(clean, rng)), None if family is None else draws
        raise DomainError(
            f"m={m} samples did not single out the {self.f.s} positions of {self.f} among T={self.f.T} in "
            f"{most_draws} draws; use a larger m (the choice of positions has "
            f"{math.log2(math.comb(self.f.T, self.f.s)):.0f} bits)."
        )

    def _clean(self, n: int, rng: np.random.Generator) -> Sample:
        if n < 0:
            raise DomainError(f"a sample has n >= 0 examples, got {n}.")
        if self.sampler is not None:
            return (bits := self._sampled(n, rng)), self.f(bits).astype(np.uint8)
        bits = np.empty((n, self.f.T), dtype=np.uint8)
        rows = max(1, CHUNK // self.f.T)
        for start in range(0, n, rows):
            shape = bits[start : start + rows].shape
            if self.shared_p is None:
                bits[start : start + rows] = rng.random(shape) < np.array(self.p)
            else:
                bits[start : start + rows] = bernoulli(self.shared_p, shape, rng)
        return bits, self.f(bits).astype(np.uint8)

    def _sampled(self, n: int, rng: np.random.Generator) -> Shaped[Array, "n T"]:
        assert self.sampler is not None
        bits = check_bits(self.sampler(n, self.f.T, rng), self.f.T)
        if bits.shape != (n, self.f.T):
            raise ShapeError(f"a sampler returns bits of shape ({n}, {self.f.T}); got {bits.shape}.")
        return bits.astype(np.uint8)

    def _seen(self, bits: Shaped[Array, "n T"], rng: np.random.Generator) -> Shaped[Array, "n T"]:
        """Return the bits after feature noise; if the task has none, no random number is drawn."""
        return bits ^ bernoulli(self.feature_noise, bits.shape, rng) if self.feature_noise else bits

    def _noisy(self, labels: Shaped[Array, " n"], rng: np.random.Generator) -> Shaped[Array, " n"]:
        return labels ^ (rng.random(len(labels)) < self.noise)


def _each_p(given: Any, T: int) -> tuple[float, ...]:
    """Return `given` as one probability for each of T positions; raise if it is not."""
    p = tuple(real("each p", each) for each in several("p", given, "probabilities"))
    if len(p) != T or not all(0 <= each <= 1 for each in p):
        raise DomainError(
            f"p needs T={T} probabilities, one for each position, each from 0 to 1; got {len(p)}: {shown(p)}."
        )
    return p


def bernoulli(p: float, shape: tuple[int, ...], rng: np.random.Generator) -> Shaped[Array, "..."]:
    """Return Booleans that are true with probability p. One random byte decides each of them, except in one of 256
    cases.
    """
    whole = math.floor(256 * p)
    draws = rng.integers(0, 256, size=shape, dtype=np.uint8)
    bits = draws < whole
    ties = draws == whole
    bits[ties] = rng.random(np.count_nonzero(ties)) < 256 * p - whole
    return bits


def conjunction_p(s: int) -> float:
    """Return p = (1/2)^(1/s), for which a conjunction of s Bernoulli(p) bits is 1 with probability 1/2."""
    return 0.5 ** (1 / s)


def balancing_p(f: SparseFunction) -> float:
    """Return the p for which P(f = 1) under Bernoulli(p) bits is closest to 1/2; of several such p, the one closest to
    1/2.

        conjunction of s    (1/2)^(1/s)
        disjunction of s    1 - (1/2)^(1/s)
        otherwise           the best among 1/2, the p where P(f = 1) = 1/2, and the extrema of P(f = 1)

    P(f = 1) = sum_j share_j C(s, j) p^j (1-p)^(s-j), with share_j the share of inputs with j ones that f maps to 1.
    Constants, parities, and majorities of an odd number of bits get p = 1/2.
    Paper: law-and
    """
    family = kind(f)
    if family == "and":
        return conjunction_p(f.s)
    if family == "or":
        return 1 - conjunction_p(f.s)
    shares = _shares(f)
    slopes = np.diff(shares)  # the derivative in p is s times the polynomial with these shares
    candidates = [0.5, *_crossings(lambda p: _rate(shares, p) - 0.5)]
    if f.s > 0:
        candidates += _crossings(lambda p: _rate(slopes, p))
    gaps = np.abs(_rate(shares, np.array(candidates)) - 0.5)
    # Rounding keeps the last bits of the arithmetic from deciding between p and 1 - p.
    return min(zip(gaps.round(12), np.abs(np.array(candidates) - 0.5).round(12), candidates))[2]


def _shares(f: SparseFunction) -> Float[Array, " n"]:
    """Return for each count j from 0 to s the share of inputs with j ones that f maps to 1."""
    totals = np.array([math.comb(f.s, j) for j in range(f.s + 1)])
    return np.bincount(ones(f.s), weights=f.values, minlength=f.s + 1) / totals


def _rate(shares: Float[Array, " n"], p: Float[Array, " k"]) -> Float[Array, " k"]:
    """Return P(f = 1) at p, the polynomial with Bernstein coefficients `shares`, by de Casteljau's stable recursion."""
    level = [np.full(len(p), share) for share in shares]
    while len(level) > 1:
        level = [low * (1 - p) + high * p for low, high in pairwise(level)]
    return level[0]


def _crossings(value: Callable[[Float[Array, " k"]], Float[Array, " k"]]) -> list[float]:
    """Return the points of (0, 1) where the polynomial `value` changes sign, to the last bit, by bisection."""
    grid = np.arange(1, 1024) / 1024  # fine enough for the roots of a polynomial of degree at most 20
    signs = np.sign(value(grid))
    found = []
    for i in np.flatnonzero(signs[:-1] * signs[1:] < 0):
        low, high = float(grid[i]), float(grid[i + 1])
        while low < (middle := (low + high) / 2) < high:
            if np.sign(value(np.array([middle]))[0]) == signs[i]:
                low = middle
            else:
                high = middle
        found.append(low)
    return found + [float(p) for p in grid[signs == 0]]
