"""An Occam bound on the error of a function read from a model, from m labelled examples that may have trained it.

Before any data is seen, the functions of T bits get prior weights: sparsity s has weight 1/((s+1)(s+2)), shared
equally by the C(T, s) supports; a support's weight is shared equally by its 2^(2^s) tables. The weights sum to at most
1. Hence, by a union bound over all functions, with probability 1 - delta over the m examples every function f satisfies

    error(f) <= largest q with P(Bin(m, q) <= mistakes of f) >= delta * prior(f).

The right side is the exact Clopper-Pearson limit, the smallest valid upper limit that grows with the number of
mistakes, so it is never above the empirical Bernstein bound, which is given for comparison. The price of a function is

    ln 1/prior = ln (s+1)(s+2) + ln C(T, s) + 2^s ln 2,

which grows with T only through ln C(T, s), like the paper's capacity bounds; but unlike those this bound is below 1 at
s = 3, m = 200.

A selected sample costs more: if training sets are drawn until the n-th draw has some property, the sample is the n-th
of a sequence of independent samples. The union bound then also runs over the samples, with weight 1/(n (n+1)) for the
n-th, and the price rises by ln n (n+1).

The error of the model itself is bounded in one of two ways.

stated distribution    error(model) <= error(f) + P(model and f differ). The second term is bounded by Clopper and
                       Pearson's limit on fresh inputs, and each of the two statements has failure probability delta/2.
                       The model may have been trained on the examples.
held-out examples      Clopper and Pearson's limit from the model's mistakes on the examples, for any distribution. The
                       model must not have been trained on them.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .._base import arguments
from .._base.display import ShortRepr
from .._base.errors import DomainError
from .._base.types import Array, Shaped
from ..floor.chances import log_choose
from ..functions import SparseFunction
from ..functions.price import log_price as log_price


@dataclass(frozen=True, repr=False)
class OccamBound(ShortRepr):
    """Upper bounds on the error of the function read and, if there is evidence about it, of the model.

    Args:
        bound: upper bound on P(f(x) != y), with probability 1 - delta/2 over the examples, which are independent
            draws from any one distribution of (x, y). f and the model may depend on them.
        method: how `bound` was computed: "binomial tail inversion".
        bernstein: the empirical Bernstein bound at the same confidence, for comparison; at most 1.
        model_bound: upper bound on P(model(x) != y), with probability 1 - delta over examples and fresh inputs;
            None without fresh inputs from the examples' distribution and without held-out examples.
        delta, m, mistakes: failure probability, number of examples, and number of examples on which f is wrong.
        log_price: ln 1/prior(f), in nats.
        assumed: what both bounds assume about the examples.
        draws: number of samples drawn until this one was accepted; None if there was no selection.
    """

    bound: float
    method: str
    bernstein: float
    model_bound: float | None
    delta: float
    m: int
    mistakes: int
    log_price: float
    assumed: str = "independent examples"
    draws: int | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def tail_inversion(mistakes: int, m: int, log_confidence: float) -> float:
    """Return the largest q with P(Bin(m, q) <= mistakes) >= exp(-log_confidence).   Paper: occam-bound

    Without mistakes it is 1 - exp(-log_confidence / m).
    """
    from scipy.special import betainccinv

    if not 0 <= mistakes <= m:
        raise DomainError(f"there are between 0 and m={m} mistakes, got {mistakes}.")
    if mistakes == m:
        return 1.0
    if mistakes == 0:
        return -math.expm1(-log_confidence / m)
    if log_confidence > 700:  # nats: exp(-700) is near the least float64
        return _invert_log_tail(mistakes, m, log_confidence)
    return float(betainccinv(mistakes + 1, m - mistakes, math.exp(-log_confidence)))


def _invert_log_tail(mistakes: int, m: int, log_confidence: float) -> float:
    """Return `tail_inversion` where exp(-log_confidence) underflows, by bisection on the logarithm of the tail."""
    from scipy.special import logsumexp

    i = np.arange(mistakes + 1)
    log_choices = log_choose(m, i)
    low, high = mistakes / m, 1.0
    while high - low > 1e-12 * high:
        q = (low + high) / 2
        log_tail = float(logsumexp(log_choices + i * math.log(q) + (m - i) * math.log1p(-q)))
        low, high = (q, high) if log_tail >= -log_confidence else (low, q)
    return high


def empirical_bernstein(mistakes: int, m: int, log_confidence: float) -> float:
    """Return Maurer and Pontil's bound for a mean of m values in [0, 1], cut to at most 1.

    It is mean + sqrt(2 V c / m) + 7 c / (3 (m - 1)), where V is the sample variance and c = ln 2 + log_confidence.
    """
    if m < 2:
        return 1.0
    mean = mistakes / m
    variance = mean * (1 - mean) * m / (m - 1)
    c = math.log(2) + log_confidence
    return min(1.0, mean + math.sqrt(2 * variance * c / m) + 7 * c / (3 * (m - 1)))


def occam_bound(
    f: SparseFunction,
    bits: Shaped[Array, "m T"],
    labels: Shaped[Array, " m"],
    *,
    delta: float,
    disagreements: Sequence[tuple[int, int]] = (),
    model_mistakes: int | None = None,
    draws: int | None = None,
) -> OccamBound:
    """Return the bound for f on these examples, and for its model in one of the two ways above.

    Args:
        delta: probability with which the statement about the model may fail; half of it is spent on f.
        disagreements: pairs (number, n): how often model and f differed on n fresh inputs from the examples'
            distribution. With several pairs the largest limit is used, so only one of them has to be fresh.
        model_mistakes: number of the model's mistakes on the examples, if training never saw them.
        draws: this sample is the `draws`-th and the first accepted one; None if there was no selection.
    Raises:
        DomainError: delta is not strictly between 0 and 1, or there are no examples.
    Paper: occam-bound
    """
    arguments.real("delta", delta, above=0, below=1)
    m = len(labels)
    if m < 1:
        raise DomainError("an Occam bound needs at least one labelled example, got none.")
    mistakes = int((f(bits) != labels).sum())
    price, half = log_price(f.s, f.T), math.log(2) - math.log(delta)
    chosen = 0.0 if draws is None else math.log(draws * (draws + 1))
    bound = tail_inversion(mistakes, m, price + chosen + half)
    model_bound = None
    if model_mistakes is not None:
        model_bound = tail_inversion(model_mistakes, m, chosen - math.log(delta))
    elif disagreements:
        model_bound = min(1.0, bound + max(tail_inversion(k, n, half) for k, n in disagreements))
    return OccamBound(
        bound=bound,
        method="binomial tail inversion",
        bernstein=empirical_bernstein(mistakes, m, price + chosen + half),
        model_bound=model_bound,
        delta=delta,
        m=m,
        mistakes=mistakes,
        log_price=price,
        draws=draws,
    )
