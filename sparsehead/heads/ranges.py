"""The range of a head's scalar output over all inputs that share the relevant bits, to float64's precision.

Token t offers two choices, b_t = 0 or 1, each with a weight w = exp(score) and a value v. The head returns

    o(b) = sum_t w_t^{b_t} v_t^{b_t} / sum_t w_t^{b_t}.

With the bits of `support` fixed, theta is the largest o over all 2^(T-s) completions where

    F(theta) = sum_t max_b w_t^b (v_t^b - theta)

is zero (support: the fixed b): F is convex and decreasing, and o(b) > theta for some b exactly where F(theta) > 0.
Its zero is found by Newton's (Dinkelbach's) iteration: every token takes the b with the larger w (v - theta), and
the ratio of the two sums is the next theta. Each round costs O(T), fewer than ten are needed in practice, so 2^T
inputs are covered in O(2^s T).

The two terms w (v - theta) are compared as they stand, each with a relative error of 2^-52. (Comparing the
difference of the numerators with theta times the difference of the weights, as is often done, drops every weight
that is 10^16 times
smaller than its rival: heads whose scores bits move by more than about 25 then get a wrong range.) What is returned
is attained by an input but may be off by rounding; `certify.brackets` proves bounds.   Paper: exact-certificate
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._base.errors import DomainError
from .._base.types import Array, Bool, Float, Int, Shaped
from ..functions import assignments
from .heads import additions

CHUNK = 2**22  # patterns x tokens handled at once
ROUNDS = 200  # Newton's iteration converges superlinearly; this many rounds are never needed
UNDERFLOW = 1e-250  # the smallest total weight, relative to the largest one, that is still divided by


@dataclass(frozen=True, eq=False)
class Choices:
    """What each token may contribute: weights (T+1, 2) and values (T+1, 2); [CLS], last, has no choice.

    Args:
        weights: exp(score), up to a factor that all share.
        values: what is mixed.
        support: the positions whose bits are fixed.
        heavy: where weights are known up to rounding: upper bounds, while `weights` are lower bounds. The extremes
            are then those over every weight in between.
    """

    weights: Float[Array, "n 2"]
    values: Float[Array, "n 2"]
    support: tuple[int, ...]
    heavy: Float[Array, "n 2"] | None = None

    @classmethod
    def of(
        cls, scores: Float[Array, "n 2"], values: Float[Array, "n 2"], support: tuple[int, ...]
    ) -> "Choices":
        """From scores, shifted so that the largest weight is 1 (softmax does not see a shift)."""
        return cls(np.exp(scores - scores.max()), values, support)

    @cached_property
    def others(self) -> Int[Array, " free"]:
        """The tokens outside the support, [CLS] among them."""
        return np.delete(np.arange(len(self.weights)), list(self.support))


def extremes(choices: Choices, *, largest: bool) -> Float[Array, " patterns"]:
    """The largest (or smallest) o for each pattern of the support's bits, in the order of a truth table.

    Raises:
        DomainError: the scores spread so far that a total weight underflows, or are not finite.
    Paper: exact-certificate
    """
    patterns = assignments(len(choices.support))
    parts = [solve(choices, part, largest=largest) for part in chunks(choices, patterns)]
    if not all((total >= UNDERFLOW).all() for _, _, total in parts):
        raise DomainError(
            "the scores of this head spread over more than 575 = ln(1e250), or are not finite: some inputs' "
            "weights underflow in float64, and their range cannot be computed."
        )
    return np.concatenate([theta for theta, _, _ in parts])


def chunks(choices: Choices, patterns: Shaped[Array, "m s"]) -> list[Shaped[Array, "m s"]]:
    """The patterns in parts small enough to hold patterns x tokens numbers."""
    rows = max(1, CHUNK // len(choices.weights))
    return [patterns[i : i + rows] for i in range(0, len(patterns), rows)]


def attaining(choices: Choices, pattern: int, *, largest: bool) -> Shaped[Array, " T"]:
    """An input b that has the relevant bits of `pattern` and attains its extreme."""
    chosen = assignments(len(choices.support))[pattern : pattern + 1]
    _, picks, _ = solve(choices, chosen, largest=largest)
    bits = np.zeros(len(choices.weights), dtype=np.uint8)
    bits[choices.others] = picks[0]
    bits[list(choices.support)] = chosen[0]
    return bits[:-1]


def resolution(choices: Choices) -> float:
    """Twice the rounding of a ratio of two sums over all tokens; never 0, so that a step of it is seen."""
    return float((additions(len(choices.weights)) + 8) * 2.0**-51 * np.abs(choices.values).max()) + 1e-300


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def solve(
    choices: Choices, patterns: Shaped[Array, "m s"], *, largest: bool
) -> tuple[Float[Array, " m"], Bool[Array, "m free"], Float[Array, " m"]]:
    """Newton's iteration for a batch of patterns: the ratio reached, who took b = 1, the least total weight.

    A heavy token can hold theta so close to its own value that the next ratio rounds to theta again, although without
    that token a far larger one can be reached. So, where no ratio is larger, the choices are made once more for
    theta + `resolution`: if the maximum lies above that, the ratio they give exceeds theta even when rounded.
    """
    sign = 1.0 if largest else -1.0
    light, v = choices.weights, sign * choices.values
    heavy = light if choices.heavy is None else choices.heavy
    free, inside = choices.others, np.array(choices.support, dtype=np.int64)

    theta = np.full(len(patterns), -np.inf)
    ones = np.zeros((len(patterns), len(free)), dtype=bool)
    least = np.full(len(patterns), np.inf)
    step, lift = resolution(choices), 0.0
    for _ in range(ROUNDS):
        at = theta[:, None] + lift
        w0, w1 = (np.where(v[free, b] > at, heavy[free, b], light[free, b]) for b in (0, 1))
        picked = np.zeros_like(ones)
        if np.isfinite(theta).any():
            picked = w1 * (v[free, 1] - at) > w0 * (v[free, 0] - at)
        fixed = v[inside, patterns]
        w_fixed = np.where(fixed > at, heavy[inside, patterns], light[inside, patterns])
        w = np.where(picked, w1, w0)
        total = w.sum(axis=1) + w_fixed.sum(axis=1)
        new = (
            (w * np.where(picked, v[free, 1], v[free, 0])).sum(axis=1) + (w_fixed * fixed).sum(axis=1)
        ) / total
        improved = new > theta
        least = np.minimum(least, total)
        ones[improved], theta = picked[improved], np.where(improved, new, theta)
        if not improved.any() and lift != 0:  # NaN too: every further round would be this one
            break
        lift = 0.0 if improved.any() else step
    return sign * theta, ones, least


def leakage(scores: Float[Array, "n 2"], support: tuple[int, ...]) -> float:
    """The most attention that any input lets fall outside `support`, [CLS] included."""
    outside = np.ones(scores.shape)
    outside[list(support)] = 0.0
    return float(extremes(Choices.of(scores, outside, support), largest=True).max())
