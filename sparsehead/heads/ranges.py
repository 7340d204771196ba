"""The range of a head's scalar output over all inputs with the same relevant bits, in float64.

For each bit b_t = 0 or 1, token t has a weight w_t^{b_t} = exp(score) and a value v_t^{b_t}. The head returns

    o(b) = sum_t w_t^{b_t} v_t^{b_t} / sum_t w_t^{b_t}.

If the bits of `support` are fixed, the largest o over the 2^(T-s) settings of the other bits is the zero of

    F(theta) = sum_t max_b w_t^b (v_t^b - theta)

(for t in the support, b is the fixed bit): F is convex and decreasing, and F(theta) > 0 if and only if
o(b) > theta for some b. The zero is found by Newton's (Dinkelbach's) iteration: for every token take the b with the
larger w (v - theta); the ratio of the two sums in o is the next theta. An iteration costs O(T), and fewer than ten are
needed in practice, so that O(2^s T) operations cover 2^T inputs.

The terms w (v - theta) of the two bits are compared directly, each with a relative error of 2^-52. (A common
alternative, comparing the difference of the numerators with theta times the difference of the weights, loses every
weight that is 10^16 times smaller than the other: the range is then wrong if a bit changes a score by more than about
25.) The value returned is attained by an input up to rounding; `certify.brackets` proves bounds.
Paper: exact-certificate
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._base.errors import DomainError
from .._base.types import Array, Bool, Float, Int, Shaped
from ..functions import assignments
from .heads import additions


@dataclass(frozen=True, eq=False)
class Choices:
    """The weight and the value of each token for each bit, (T+1, 2); [CLS] is the last row, with two equal entries.

    Args:
        weights: exp(score), up to a common factor.
        values: the values that the head mixes.
        support: the positions whose bits are fixed.
        heavy: if weights are known only up to rounding, upper bounds on them; `weights` are then lower bounds, and
            extremes are taken over all weights in between.
    """

    weights: Float[Array, "n 2"]
    values: Float[Array, "n 2"]
    support: tuple[int, ...]
    heavy: Float[Array, "n 2"] | None = None

    @classmethod
    def of(
        cls, scores: Float[Array, "n 2"], values: Float[Array, "n 2"], support: tuple[int, ...]
    ) -> "Choices":
        """Make `Choices` from scores, shifted so that the largest weight is 1 (softmax is shift-invariant)."""
        return cls(np.exp(scores - scores.max()), values, support)

    @cached_property
    def others(self) -> Int[Array, " free"]:
        """The indices of the tokens outside the support, including [CLS]."""
        return np.delete(np.arange(len(self.weights)), list(self.support))


def extremes(choices: Choices, *, largest: bool) -> Float[Array, " patterns"]:
    """Return the head's largest (or smallest) output for each pattern of the support's bits, in truth-table order.

    Scores that are not finite, or spread so far that a total weight underflows, are refused.   Paper: exact-certificate
    """
    patterns = assignments(len(choices.support))
    parts = [solve(choices, part, largest=largest) for part in chunks(choices, patterns)]
    underflow = 1e-250  # the smallest total weight, relative to the largest one, that is still divided by
    if not all((total >= underflow).all() for _, _, total in parts):
        raise DomainError(
            "the scores of this head spread over more than 575 = ln(1e250), or are not finite: some inputs' "
            "weights underflow in float64, and their range cannot be computed."
        )
    return np.concatenate([theta for theta, _, _ in parts])


def chunks(choices: Choices, patterns: Shaped[Array, "m s"]) -> list[Shaped[Array, "m s"]]:
    """Return the patterns in parts, so small that an array of a part's patterns x tokens fits into memory."""
    numbers_at_once = 2**22  # patterns x tokens handled at once
    rows = max(1, numbers_at_once // len(choices.weights))
    return [patterns[i : i + rows] for i in range(0, len(patterns), rows)]


def attaining(choices: Choices, pattern: int, *, largest: bool) -> Shaped[Array, " T"]:
    """Return an input with the relevant bits of `pattern` on which the head's output is extreme for this pattern."""
    chosen = assignments(len(choices.support))[pattern : pattern + 1]
    _, picks, _ = solve(choices, chosen, largest=largest)
    bits = np.zeros(len(choices.weights), dtype=np.uint8)
    bits[choices.others] = picks[0]
    bits[list(choices.support)] = chosen[0]
    return bits[:-1]


def resolution(choices: Choices) -> float:
    """Return twice a bound on the rounding error of the head's output, a ratio of two sums; used as a step size."""
    return float((additions(len(choices.weights)) + 8) * 2.0**-51 * np.abs(choices.values).max()) + 1e-300


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def solve(
    choices: Choices, patterns: Shaped[Array, "m s"], *, largest: bool
) -> tuple[Float[Array, " m"], Bool[Array, "m free"], Float[Array, " m"]]:
    """Run Newton's iteration for a batch of patterns; return the final ratio, the tokens with b = 1, and the smallest
    total weight.

    theta is the current ratio. A token with a large weight can keep the ratio so close to its own value that the next
    ratio rounds to theta again, although a much larger ratio is possible. So if the ratio does not increase, bits are
    chosen once more for theta + `resolution`. If the maximum is above theta + `resolution`, the ratio of this choice
    exceeds theta even after rounding.
    """
    sign = 1.0 if largest else -1.0
    light, v = choices.weights, sign * choices.values
    heavy = light if choices.heavy is None else choices.heavy
    free, inside = choices.others, np.array(choices.support, dtype=np.int64)

    theta = np.full(len(patterns), -np.inf)
    ones = np.zeros((len(patterns), len(free)), dtype=bool)
    least = np.full(len(patterns), np.inf)
    step, lift = resolution(choices), 0.0
    rounds = 200  # Newton's iteration converges superlinearly; this many rounds are never needed
    for _ in range(rounds):
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
    """Return the largest attention outside `support`, [CLS] included, over all inputs."""
    outside = np.ones(scores.shape)
    outside[list(support)] = 0.0
    return float(extremes(Choices.of(scores, outside, support), largest=True).max())
