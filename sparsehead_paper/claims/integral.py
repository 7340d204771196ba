"""The entropy integral, and what a Rademacher complexity says about risks (paper appendix A, up to A.5)."""

import itertools
import math
from functools import cache

import numpy as np

from sparsehead._base.rng import stream
from sparsehead._base.types import Array, Float
from sparsehead.capacity.generalization import entropy_integral, uniform_gap
from sparsehead.covering.function_classes import class_covering_number
from sparsehead.covering.relations import empirical_rademacher

from .claim import Context, Finding, claim, finding


def _integral(values: Float[Array, "n m"]) -> float:
    """The bound with exact covering numbers, at the best of three alpha."""

    @cache
    def log_covering(eps: float) -> float:
        return math.log(class_covering_number(values[:, :, None], eps=eps).upper)

    m = values.shape[1]
    return min(entropy_integral(log_covering, A=1.0, m=m, alpha=alpha) for alpha in (0.4, 0.2, 0.05))


@claim(
    "entropy-integral", kind="lemma", where="paper appendix A, lemma A.2, for the complexity defined in A.1"
)
def check_entropy_integral(context: Context) -> Finding:
    """The empirical Rademacher complexity of a class within $A$ of one function is at most $4 alpha + 4 sqrt(2/m)
    int_alpha^{A/2} sqrt(ln N(eps)) d eps$ for every $alpha$ in $(0, A/2]$; the paper leaves the constants open.
    """
    rng = stream(context.seed, "integral")
    two = np.array(list(itertools.product([-1.0, 1.0], repeat=2)))
    classes = [np.repeat(two, half, axis=1) for half in (4, 6, 8)]  # constant on two halves of the sample
    classes += [rng.uniform(-1, 1, size=(n, 10)) for n in (2, 5, 9)]
    ratios = [empirical_rademacher(values) / _integral(values) for values in classes]
    return finding(
        0.3 < max(ratios) <= 1,
        paper="$O(inf_alpha alpha + integral)$",
        ours=f"constants 4 and $4 sqrt2$; the exact complexity is up to {max(ratios):.3f} of the bound",
        detail="Four functions constant on two halves of 8, 12 and 16 points, and random classes on 10.",
    )


@claim("rademacher-gap", kind="theorem", where="paper appendix A, theorem A.4 (Bartlett and Mendelson 2002)")
def check_rademacher_gap(context: Context) -> Finding:
    """With probability $1 - delta$ every $f$ of a class with losses in $[0, b]$ has risk at most its training risk plus
    $2 R + b sqrt(ln(1/delta) / 2m)$, $R$ bounding the Rademacher complexity of the losses.

    One loss: R = 0, and a fair coin exceeds the confidence term with a probability that is computed exactly and is not
    much below delta = 1e-3. 2^n losses (all 0/1 functions on n equally likely points): the largest gap is the share of
    points that the sample missed, and R is at least half of that.
    """
    m, delta = 400, 1e-3
    edge = m / 2 - m * uniform_gap(0.0, m=m, delta=delta)  # training risk below this breaks the bound
    broken = sum(math.comb(m, k) for k in range(math.floor(edge) + 1)) / 2**m
    rng = stream(context.seed, "rademacher-gap")
    n, m_all, trials = 40, 20, 2000
    drawn = rng.integers(n, size=(trials, m_all))
    # the loss that is 1 exactly off the sample: risk = share of points missed, training risk 0
    gaps = 1 - np.array([len(set(row)) for row in drawn.tolist()]) / n
    # with all 0/1 losses sup_f mean sign_i f(z_i) picks the points whose signs add up to more than 0
    signs = rng.choice([-1.0, 1.0], size=drawn.shape)
    sums = np.zeros((trials, n))
    np.add.at(sums, (np.arange(trials)[:, None], drawn), signs)
    R = float(np.maximum(sums, 0).sum(axis=1).mean() / m_all)
    limit = uniform_gap(R, m=m_all, delta=0.5)
    share = float((gaps > limit).mean())
    return finding(
        delta / 30 < broken <= delta and share <= 0.5 and limit < 2 * float(np.median(gaps)),
        paper="$2 L R + 2 b sqrt(ln(1/delta) / 2m)$",
        ours=f"$2 R + b sqrt(ln(1/delta) / 2m)$: broken with probability ${broken:.2g} <= {delta}$ by a coin, in "
        f"${share:.2g} <= 0.5$ of samples by all 0/1 losses (gap {np.median(gaps):.2f}, limit {limit:.2f})",
        detail="A single loss of mean 1/2 at $m = 400$, exactly; $2^40$ losses at $m = 20$, simulated.",
    )
