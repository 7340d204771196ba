"""The exact range of a head's scalar output over all inputs that share the relevant bits.

Token t offers two choices, b_t = 0 or 1, each with a weight w = exp(score) and a value v. The head returns

    o(b) = sum_t w_t^{b_t} v_t^{b_t} / sum_t w_t^{b_t}.

With the bits of `support` fixed, the extreme of this ratio over all 2^(T-s) completions is found by Dinkelbach's
iteration: for the current ratio theta let every other token choose the b with the larger w (v - theta); the new
ratio is larger unless theta was the maximum. Each round costs O(T), and fewer than ten are needed in practice, so
2^T inputs are covered in O(2^s T). Nothing here knows how the weights came about.   Paper: exact-certificate
"""

from dataclasses import dataclass

import numpy as np

from .errors import DomainError
from .functions import assignments
from .types import Array, Bool, Float, Int, Shaped

CHUNK = 2**22  # patterns x tokens handled at once
ROUNDS = 100  # Dinkelbach converges superlinearly; this many rounds are never needed
UNDERFLOW = 1e-250  # the smallest total weight, relative to the largest one, that is still divided by


@dataclass(frozen=True, eq=False)
class Choices:
    """What each token may contribute: weights (T+1, 2) and values (T+1, 2); [CLS], last, has no choice."""

    weights: Float[Array, "n 2"]
    values: Float[Array, "n 2"]
    support: tuple[int, ...]

    @classmethod
    def of(
        cls, scores: Float[Array, "n 2"], values: Float[Array, "n 2"], support: tuple[int, ...]
    ) -> "Choices":
        """From scores, shifted so that the largest weight is 1 (softmax does not see a shift)."""
        return cls(np.exp(scores - scores.max()), values, support)

    @property
    def others(self) -> Int[Array, " free"]:
        """The tokens outside the support, [CLS] among them."""
        return np.setdiff1d(np.arange(len(self.weights)), np.array(self.support, dtype=np.int64))


def extremes(choices: Choices, *, largest: bool) -> Float[Array, " patterns"]:
    """The largest (or smallest) o for each pattern of the support's bits, in the order of a truth table.

    Raises:
        DomainError: the scores spread so far that a total weight underflows.
    Paper: exact-certificate
    """
    patterns = assignments(len(choices.support))
    rows = max(1, CHUNK // len(choices.weights))
    parts = [
        _solve(choices, patterns[i : i + rows], largest=largest)[0] for i in range(0, len(patterns), rows)
    ]
    return np.concatenate(parts)


def attaining(choices: Choices, pattern: int, *, largest: bool) -> Shaped[Array, " T"]:
    """An input b that has the relevant bits of `pattern` and attains its extreme."""
    chosen = assignments(len(choices.support))[pattern : pattern + 1]
    _, picks = _solve(choices, chosen, largest=largest)
    bits = np.zeros(len(choices.weights), dtype=np.uint8)
    bits[choices.others] = picks[0]
    bits[list(choices.support)] = chosen[0]
    return bits[:-1]


def _solve(
    choices: Choices, patterns: Shaped[Array, "m s"], *, largest: bool
) -> tuple[Float[Array, " m"], Shaped[Array, "m free"]]:
    """Dinkelbach's iteration for a batch of patterns: the ratio reached, and who chose 1."""
    sign = 1.0 if largest else -1.0
    free = choices.others
    w, wv = choices.weights[free], (choices.weights * choices.values)[free]
    inside = np.array(choices.support, dtype=np.int64)
    fixed = choices.weights[inside, patterns].sum(axis=1)
    fixed_v = (choices.weights * choices.values)[inside, patterns].sum(axis=1)

    ones = np.zeros((len(patterns), len(free)), dtype=bool)
    theta = _ratio(ones, w, wv, fixed, fixed_v)
    for _ in range(ROUNDS):
        gain = sign * ((wv[:, 1] - wv[:, 0]) - theta[:, None] * (w[:, 1] - w[:, 0]))
        better = gain > 0
        new = _ratio(better, w, wv, fixed, fixed_v)
        improved = sign * (new - theta) > 0
        ones[improved], theta = better[improved], np.where(improved, new, theta)
        if not improved.any():
            break
    return theta, ones


def _ratio(
    ones: Bool[Array, "m free"],
    w: Float[Array, "free 2"],
    wv: Float[Array, "free 2"],
    fixed: Float[Array, " m"],
    fixed_v: Float[Array, " m"],
) -> Float[Array, " m"]:
    """o, given who chose 1 and what the support contributes."""
    total = fixed + np.where(ones, w[:, 1], w[:, 0]).sum(axis=1)
    if (total < UNDERFLOW).any():
        raise DomainError(
            "the scores of this head spread over more than 575 = ln(1e250): some inputs' weights "
            "underflow in float64, and no exact range can be computed for them."
        )
    return (fixed_v + np.where(ones, wv[:, 1], wv[:, 0]).sum(axis=1)) / total


def leakage(scores: Float[Array, "n 2"], support: tuple[int, ...]) -> float:
    """The most attention that any input lets fall outside `support`, [CLS] included."""
    outside = np.ones(scores.shape)
    outside[list(support)] = 0.0
    return float(extremes(Choices.of(scores, outside, support), largest=True).max())
