"""Proved bounds on the mix o of a head, over all inputs that share the relevant bits.

The mix is o(b) = sum_t w_t v_t / sum_t w_t, where token t has weight w_t^b = exp(score) and value v_t^b if its bit is
b. It never exceeds U, whatever the other (free) bits are, if

    F(U) = sum_t max_b w_t^b (v_t^b - U) <= 0,

because o(b) - U has the sign of sum w (v - U). A candidate for U comes from `ranges`; here it is raised a little
and the inequality is proved in float64:

  * scores and values are balls (`forward.tables`), so each weight lies in an interval; every term takes the weight in
    it that makes the term largest: the upper end where v > U, the lower end where v < U;
  * a computed term has a relative error of at most 2 u, hence so has the larger of two (x -> x + 2u|x| is
    increasing); the sum over n tokens adds gamma_n times the sum of absolute values (and underflow 2^-1021 per
    term), so F(U) <= 0 holds if  computed sum + error < 0;
  * at U = zero of F + delta the sum is -W delta and the error at most gamma_n W max|v - U|, with the same total
    weight W, so delta = gamma_n max|v - U| suffices. If weights underflow (scores that spread over more than 700), the
    inequality may fail for every U but max v, which always bounds o.

The bounds assume exactly normalised weights inside their intervals, so they hold for exact arithmetic; `mixing_error`
adds a bound on the rounding of sum_t a_t v_t in float64.
"""

import numpy as np

from .._base.types import Array, Bool, Float, Shaped
from ..functions import assignments
from ..heads.heads import additions, token_sum
from ..heads.ranges import Choices, chunks, resolution, solve
from .balls import TINY, UNIT, UP, Ball, exponentials

UNDERFLOW = 2.0**-1021  # bounds the effect of underflow on a weight or a product, subnormals flushed or not


def bracket(
    scores: Ball, values: Ball, support: tuple[int, ...]
) -> tuple[Float[Array, " patterns"], Float[Array, " patterns"]]:
    """Return lower and upper bounds of the mix o for each pattern of the support's bits.

    scores and values have shape (n, 2): one row for each token, one column for each value of its bit.
    """
    light, heavy = weight_bounds(scores)
    low = -_upper(Choices(light, -values.low, support, heavy))
    return low, _upper(Choices(light, values.high, support, heavy))


def mixing_error(n: int, sizes: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Return a bound on |float64 mix of n tokens - exact mix with the same scores|, for values of at most these sizes.

    In units of 2^-53, a share a_t = w_t / sum w has a relative rounding error of at most additions(n) + 1, and sum_t
    a_t v_t an additional one of at most additions(n) + 2. The shares add up to about 1. Underflow changes a weight by
    at most 2^-1022, relative to a total of at least 1.
    """
    return ((additions(n) + 4) * UNIT * sizes + n * UNDERFLOW * sizes) * UP + TINY


def weight_bounds(scores: Ball) -> tuple[Float[Array, "n 2"], Float[Array, "n 2"]]:
    """Return lower and upper bounds of exp(score - the largest score)."""
    flat, rho = exponentials(scores.reshape(-1))
    raised = 1 + 16 * UNIT  # exp(rho) and two products round too
    light = np.maximum(flat * np.exp(-rho) / raised - UNDERFLOW, 0.0)
    heavy = flat * np.exp(rho) * raised + UNDERFLOW
    return light.reshape(scores.mid.shape), heavy.reshape(scores.mid.shape)


def _upper(choices: Choices) -> Float[Array, " patterns"]:
    """Return an upper bound U of the mix for every pattern: the first of 8 growing candidates that is proved, else max
    v.

    A candidate U is proved if F(U) <= 0, where F(U) is the sum over tokens of the largest w (v - U).
    """
    parts = []
    for patterns in chunks(choices, assignments(len(choices.support))):
        top = _largest_value(choices, patterns)
        theta, _, _ = solve(choices, patterns, largest=True)
        step = 2 * resolution(choices) + UNIT * np.abs(theta)
        bound, proved = top.copy(), np.zeros(len(patterns), dtype=bool)
        for _ in range(8):
            candidate = np.nextafter(theta + step, np.inf)
            holds = ~proved & never_exceeds(choices, patterns, candidate)
            bound[holds] = np.minimum(candidate, top)[holds]
            proved |= holds
            if proved.all():
                break
            step = 16 * step
        parts.append(bound)
    return np.concatenate(parts)


def _largest_value(choices: Choices, patterns: Shaped[Array, "m s"]) -> Float[Array, " m"]:
    """Return the largest value v of a token that a pattern allows, which no mix exceeds; NaN if a value is NaN."""
    inside = np.array(choices.support, dtype=np.int64)
    free = choices.values[choices.others].max(initial=-np.inf)
    return np.maximum(free, choices.values[inside, patterns].max(axis=1, initial=-np.inf))


def never_exceeds(
    choices: Choices, patterns: Shaped[Array, "m s"], U: Float[Array, " m"]
) -> Bool[Array, " m"]:
    """Return for each pattern whether the mix is proved not to exceed U, by the sign of sum_t max_b w_t (v_t - U)."""
    light, v = choices.weights, choices.values
    heavy = light if choices.heavy is None else choices.heavy
    free, inside = choices.others, np.array(choices.support, dtype=np.int64)
    at = U[:, None]

    def term(token: Array, bit: int | Array) -> Float[Array, "m tokens"]:
        gain = v[token, bit] - at
        return np.where(gain > 0, heavy[token, bit], light[token, bit]) * gain

    terms = np.concatenate([np.maximum(term(free, 0), term(free, 1)), term(inside, patterns)], axis=1)
    n = terms.shape[1]
    error = (additions(n) + 4) * UNIT * token_sum(np.abs(terms))[:, 0] * UP + n * UNDERFLOW
    return token_sum(terms)[:, 0] + error <= 0
