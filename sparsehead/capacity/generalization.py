"""From covering numbers to error: chaining, uniform and margin bounds, the realisable rate, sample sizes.

An argument ln N must bound the logarithm of the proper covering number on EVERY sample; each function states the sample
size.
"""

import math
from collections.abc import Callable

from .._base.errors import DomainError
from .._base.log_math import LOG_ZERO, Real, check_count, check_delta, check_eps, check_norm, exp, ln


def rademacher(log_covering: Callable[[float], float], *, A: Real, m: Real) -> float:
    """Bound the empirical Rademacher complexity on m samples of a class whose functions all lie within A of one
    function, from ln N(eps).

        R^ <= A q^J + m^{-1/2} sum_{j=1..J} A q^{j-1} sqrt(2 ln N(A q^j)),

    for the best of q = 1/2, 1/4, 1/8 and J >= 0. Levels below A/2^60 or a thousandth of the sum are left out; they
    could lower the bound by no more than their size.

    Chaining: each cover element has a parent in the cover one level up (covers are proper), so level j has
    N_j differences of size A q^{j-1}, and Massart's lemma bounds their mean supremum. J = 0 gives A.

    Paper: rademacher-cover
    """
    A, m = check_norm("A", A), check_count("m", m)
    known: dict[int, float] = {}
    best = A
    for step in (1, 2, 3):
        total, q = 0.0, 2.0**-step
        for j in range(1, 60 // step):
            if step * j not in known:
                known[step * j] = log_covering(A * q**j)
            total += A * q ** (j - 1) * math.sqrt(2 * known[step * j] / m)
            best = min(best, A * q**j + total)
            if total >= best or A * q**j < 1e-3 * total:
                break
    return best


def rademacher_closed(*, log_C: float, A: Real, m: Real) -> float:
    """Bound the empirical Rademacher complexity on m samples, as `rademacher` does, for a class with ln N(eps) <=
    C/eps^2.

    Chaining as in `rademacher`, with the best ratio q of the levels for each number of levels J:

        R^ <= min_{J >= 0} (J+1) A (sqrt2 r/A)^{J/(J+1)},      r = sqrt(C/m),
           <= e sqrt2 r (1 + ln^+(A/(sqrt2 r))).

    C is given by its logarithm; C = 0 gives 0.   Paper: rademacher-cover
    Differs: the paper and the notes leave the constant open and write ln for ln^+, which can make the bound
    negative.
    """
    A = check_norm("A", A)
    log_ratio = (math.log(2) + log_C - ln(check_count("m", m))) / 2 - ln(A)  # ln(sqrt2 r/A)
    if A == 0 or log_C == LOG_ZERO:
        return 0.0
    if log_ratio >= 0:
        return A
    n = max(1, math.floor(-log_ratio))  # (J+1) e^{u/(J+1)} is least near J + 1 = u
    return A * min((j + 1) * exp(log_ratio * j / (j + 1)) for j in (0, n - 1, n, n + 1))


def confidence(*, m: Real, delta: Real, penalty: float = 0.0, b: Real = 1.0) -> float:
    """Return the confidence term b sqrt( (ln(1/delta) + penalty) / (2m) ), for losses in [0, b] on m samples.

    penalty comes from a union bound over norms of weights.
    """
    return b * math.sqrt((penalty - math.log(check_delta(delta))) / (2 * check_count("m", m)))


def uniform_gap(complexity: float, *, m: Real, delta: Real, b: Real = 1.0, penalty: float = 0.0) -> float:
    """Bound risk - empirical risk <= 2 R + b sqrt(ln(1/delta)/2m) for the whole class at once, with losses in [0, b].

    `complexity` bounds R, the Rademacher complexity of the losses, for every sample; `rademacher` computes it with
    A = b/2 (losses minus b/2) and ln N(eps/L) for an L-Lipschitz loss. For a two-sided statement use delta/2 on each
    side.

    Paper: generalization, rademacher-gap
    Differs: the paper's constants are 4cL and 2b.
    """
    return 2 * check_norm("complexity", complexity) + confidence(m=m, delta=delta, penalty=penalty, b=b)


def margin_gap(
    *,
    m: Real,
    delta: Real,
    margin: Real,
    log_C: float | None = None,
    log_covering: Callable[[float], float] | None = None,
    penalty: float = 0.0,
) -> float:
    """Bound P(y f <= 0) - mean ramp(y f / margin), for all f of the class with probability 1 - delta.

    y is the label, -1 or 1. The ramp clip(1 - yf/margin, 0, 1) is 1/margin-Lipschitz with values in [0, 1]. It is at
    most 1 where y f is below `margin`, and 0 elsewhere. Pass log_C if ln N(eps) = C/eps^2, else the function eps -> ln
    N(eps).

    Paper: generalization
    """
    g = check_eps(margin, "margin")
    if (log_C is None) == (log_covering is None):
        raise DomainError("margin_gap needs the capacity in one form: log_C or log_covering.")
    if log_covering is None:
        R = rademacher_closed(log_C=log_C - 2 * math.log(g), A=0.5, m=m)  # type: ignore[operator]
    else:
        R = rademacher(lambda eps: log_covering(eps * g), A=0.5, m=m)
    return uniform_gap(R, m=m, delta=delta, penalty=penalty)


def realizable_error(*, log_covering_2m: float, m: Real, delta: Real, penalty: float = 0.0) -> float:
    """With probability 1 - delta every f of the class with y_i f(x_i) > margin on all m training points has

        P(y f <= 0) <= (2/m) ( log2 N_inf(F; margin/2; 2m) + log2(2/delta) ).

    log_covering_2m is ln N_inf(F; margin/2; 2m); external covers suffice. Proof: a ghost sample doubles the data, the
    cover makes the class finite, and if P(y f <= 0) > e, under random swaps all errors of f fall into the ghost half
    with probability at most 2^{-em/2}.   Paper: realizable
    """
    bits = (log_covering_2m + penalty) / math.log(2) + (1 - math.log2(check_delta(delta)))
    return 2 * bits / check_count("m", m)


def samples_needed(gap: Callable[[Real], float], *, accuracy: Real) -> int | None:
    """Return the smallest m with gap(m) <= accuracy, by doubling and bisection; None beyond 1e300.

    gap must decrease in m, up to logarithms. Results above 1000 are at most 0.1 % above the smallest m.

    Paper: sample-size
    """
    accuracy = check_eps(accuracy, "accuracy")
    high: Real = 1
    while gap(high) > accuracy:
        high = high * 2 if high < 2**40 else high * 2**20
        if high > 1e300:
            return None
    low: Real = 1 if high == 1 else high // 2 if high <= 2**40 else high // 2**20
    if high == 1:
        return 1
    while high - low > max(1, 1e-3 * low if low > 1000 else 1):
        middle = (
            (low + high) // 2 if high < 4 * low else round(math.exp((math.log(low) + math.log(high)) / 2))
        )
        if gap(middle) <= accuracy:
            high = middle
        else:
            low = middle
    return int(high)
