"""From covering numbers to error: small classes with everything enumerated."""

import math
from functools import partial

import numpy as np

from ..capacity.generalization import (
    finite_class_samples,
    rademacher,
    rademacher_closed,
    realizable_error,
    samples_needed,
    uniform_gap,
)
from ..covering.function_classes import class_covering_number
from ..covering.relations import (
    empirical_rademacher,
    fat_dimension,
    log_cover_fat,
    log_cover_vc,
    vc_dimension,
)
from ..rng import stream
from ..types import Array, Float
from .claim import Context, Finding, claim, finding


def _exact_covering(values: Float[Array, "n m"], eps: float) -> float:
    return math.log(class_covering_number(values[:, :, None], eps=eps).upper)


@claim(
    "generalization",
    kind="lemma",
    where="paper lemma A.5; notes lemma 2.3",
    statement="If ln N(F; eps) <= C/eps^2 on every sample and the loss is b-bounded and L-Lipschitz, then with "
    "probability 1 - delta every f has risk at most its training risk plus O(L sqrt(C/m) (1 + ln^+(b "
    "sqrt(m/C) / L))) + b sqrt(ln(1/delta) / 2m), here with all constants.",
)
def check_generalization(context: Context) -> Finding:
    """20 losses on 30 equally likely points: every risk is known, and N <= 20 on every sample."""
    rng = stream(context.seed, "risk")
    losses, m, delta, trials = rng.uniform(size=(20, 30)), 200, 0.1, 2000
    complexity = rademacher(lambda eps: math.log(20), A=0.5, m=m)
    limit = uniform_gap(complexity, m=m, delta=delta)
    drawn = rng.integers(30, size=(trials, m))
    gaps = np.array([(losses.mean(axis=1) - losses[:, i].mean(axis=1)).max() for i in drawn])
    broken = float((gaps > limit).mean())
    return finding(
        broken <= delta and limit < 1,
        paper=f"fails with probability <= {delta}",
        ours=f"gap <= {limit:.3f} broken in {broken:.4f} of {trials} samples; largest {gaps.max():.3f}",
        detail=f"20 random losses in [0, 1] on 30 points, m = {m}: chaining with the covering number at most 20.",
        bound=limit,
        largest=float(gaps.max()),
    )


@claim(
    "vc-cover",
    kind="lemma",
    where="notes section 2.2.1",
    statement="A 0/1 class of VC dimension d has N_inf(F, eps, m) <= sum_{i<=d} C(m, i) <= (em/d)^d for eps < 1 and "
    "m >= d.",
)
def check_vc_cover(context: Context) -> Finding:
    m = 7
    intervals = np.array([[float(a <= i < b) for i in range(m)] for a in range(m) for b in range(a, m + 1)])
    patterns = np.unique(intervals, axis=0)
    d = vc_dimension(patterns)
    size = class_covering_number(patterns[:, :, None], eps=0.5).upper
    limit = math.exp(log_cover_vc(m=m, d=d, eps=0.5))
    return finding(
        d == 2 and size <= limit * (1 + 1e-9) and limit <= (math.e * m / d) ** d,
        paper="(em/VC)^VC",
        ours=f"N = {size}, Sauer {limit:.0f}, (em/d)^d = {(math.e * m / d) ** d:.0f}",
        detail=f"Intervals on {m} points, VC dimension {d}: Sauer's bound is attained.",
    )


@claim(
    "fat-cover",
    kind="lemma",
    where="notes section 2.2.2",
    statement="A class in [0,1]^X with fat-shattering dimension d at eps/4 has N_inf(F, eps, m) < 2 (m "
    "b^2)^{ceil(log2 y)}, b = floor(2/eps) + 1, y = sum_{i<=d} C(m, i) b^i.",
)
def check_fat_cover(context: Context) -> Finding:
    rng = stream(context.seed, "fat")
    right, sizes = True, []
    for _ in range(5):
        values = rng.uniform(size=(10, 3))
        d = fat_dimension(values, 0.5 / 4)
        sizes.append(_exact_covering(values, 0.5))
        right = right and sizes[-1] <= log_cover_fat(m=3, d=d, eps=0.5)
    return finding(
        right,
        paper="2 (m (2/eps + 1)^2)^..",
        ours=f"ln N from {min(sizes):.2f} to {max(sizes):.2f}, all below the bound",
        detail="10 random functions on 3 points, five times; the dimension and the cover by enumeration.",
    )


@claim(
    "rademacher-cover",
    kind="lemma",
    where="paper appendix A, before A.5; notes section 2.2.3",
    statement="If ln N(F; eps) <= C/eps^2 and |f| <= A, the empirical Rademacher complexity is at most e sqrt(2) r "
    "(1 + ln^+(A / (sqrt(2) r))), r = sqrt(C/m), for proper covers.",
)
def check_rademacher_cover(context: Context) -> Finding:
    rng = stream(context.seed, "rademacher")
    worst, negative = 0.0, False
    for _ in range(10):
        values = rng.uniform(-1, 1, size=(12, 8))
        exact = empirical_rademacher(values)
        limit = rademacher(partial(_exact_covering, values), A=2.0, m=8)
        worst = max(worst, exact / limit)
    for A in (0.01, 1.0, 100.0):
        negative = negative or rademacher_closed(log_C=0.0, A=A, m=10) < 0
    return finding(
        worst <= 1 and not negative,
        paper="c sqrt(C/m) (1 + log(A sqrt(m/C)))",
        ours=f"exact / bound at most {worst:.2f}",
        detail="Ten random classes of 12 functions on 8 points: all 2^8 signs, exact covers at every scale.",
        worst=worst,
    )


@claim(
    "realizable",
    kind="ours",
    where="not in the paper",
    statement="With probability 1 - delta every f of the class with margin above g on all m training points errs "
    "with probability at most (2/m)(log2 N_inf(F; g/2; 2m) + log2(2/delta)).",
)
def check_realizable(context: Context) -> Finding:
    """The ghost-sample step of the proof, exactly: P(Bin(m, e) >= me/2) >= 1/2 whenever me >= 1."""
    least = 1.0
    for m in (5, 20, 100, 400):
        for e in np.linspace(1 / m, 1, 40):
            below = sum(
                math.comb(m, j) * e**j * (1 - e) ** (m - j) for j in range(math.ceil(m * e / 2 - 1e-12))
            )
            least = min(least, 1 - float(below))
    error = realizable_error(log_covering_2m=math.log(math.comb(300, 3)), m=1000, delta=0.05)
    return finding(
        least >= 0.5 and error < 0.1,
        paper="-",
        ours=f"P(Bin >= me/2) >= {least:.3f}; error <= {error:.3f} for 3-ANDs, T = 300, m = 1000",
        detail="The proof's only probabilistic step on a grid of m and e, and the bound for the finite "
        "class of C(300, 3).",
        least=least,
    )


@claim(
    "sample-size",
    kind="ours",
    where="not in the paper",
    statement="The smallest m at which a bound's gap falls below a wanted accuracy, by doubling and bisection; for "
    "a finite class m >= (ln|F| + ln(1/delta))/eps suffices.",
)
def check_sample_size(context: Context) -> Finding:
    found = samples_needed(lambda m: 3 / float(m) ** 0.5, accuracy=0.1)
    finite = finite_class_samples(log_size=math.log(math.comb(300, 3)), eps=0.05, delta=0.05)
    right = (math.log(math.comb(300, 3)) + math.log(20)) / 0.05
    return finding(
        found is not None and 900 <= found <= 901 and finite == math.ceil(right),
        paper="-",
        ours=f"{found} for 3/sqrt(m) <= 0.1; {finite} for a consistent 3-AND at T = 300",
        detail="Bisection against the solution by hand (900), and the finite-class formula.",
    )
