"""From covering numbers to generalisation: checks on small, fully enumerated classes (paper appendix A, up to A.5)."""

import itertools
import math
from functools import cache, partial

import numpy as np

from sparsehead._base.rng import stream
from sparsehead._base.types import Array, Float
from sparsehead.capacity.generalization import (
    margin_gap,
    rademacher,
    rademacher_closed,
    realizable_error,
    samples_needed,
    uniform_gap,
)

from ..theory.function_classes import class_covering_number, class_packing_number
from ..theory.printed import entropy_integral, finite_class_samples, rademacher_simple
from ..theory.relations import empirical_rademacher, fat_dimension, log_cover_fat, log_cover_vc, vc_dimension
from .claim import Context, Finding, claim, finding


def _exact_covering(values: Float[Array, "n m"], eps: float) -> float:
    return math.log(class_covering_number(values[:, :, None], eps=eps).upper)


def _integral(values: Float[Array, "n m"]) -> float:
    """Return the entropy integral bound with exact covering numbers, at the best of three alpha."""
    log_covering, m = cache(partial(_exact_covering, values)), values.shape[1]
    return min(entropy_integral(log_covering, A=1.0, m=m, alpha=alpha) for alpha in (0.4, 0.2, 0.05))


@claim(
    "entropy-integral", kind="lemma", where="paper appendix A, lemma A.2, for the complexity defined in A.1"
)
def check_entropy_integral(context: Context) -> Finding:
    """Let $N(eps)$ be the covering numbers, on $m$ points, of a class within $A$ of one function. Its empirical
    Rademacher complexity is at most $4 alpha + 4 sqrt(2/m) int_alpha^{A/2} sqrt(ln N(eps)) d eps$ for every $alpha$
    in $(0, A/2]$; the paper leaves the constants open.
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
    """With probability $1 - delta$ over $m$ training samples, every $f$ of a class with losses in $[0, b]$ has risk
    at most its training risk plus $2 R + b sqrt(ln(1/delta) / 2m)$, where $R$ is a bound on the Rademacher
    complexity of the losses.

    Checked on two classes. One loss (a fair coin): R = 0, and the exact probability of exceeding the confidence term is
    not much below delta = 1e-3. 2^n losses (all 0/1 functions on n equally likely points): the largest gap is the share
    of points missing from the sample, and R is at least half of this share.
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


@claim("generalization", kind="lemma", where="paper lemma A.5; notes lemma 2.3")
def check_generalization(context: Context) -> Finding:
    """If a class $F$ has covering numbers with $ln N(F; eps) <= C/eps^2$ on every sample and the loss is
    $b$-bounded and $L$-Lipschitz, then with probability $1 - delta$ over $m$ training samples every $f$ in $F$ has
    risk at most its training risk plus $O(L sqrt(C/m) (1 + ln^+(b sqrt(m/C) / L))) + b sqrt(ln(1/delta) / 2m)$,
    here with all constants; $ln^+$ is the positive part of the logarithm.

    Checked with all losses on a domain of M points: the loss that is 0 on the sample and b elsewhere has a gap of at
    least b (1 - m/M).
    """
    from scipy.stats import binom

    m, M, delta = 1000, 10**6, 0.1
    risks = {}
    for chance in (delta, 1e-6):
        coin = uniform_gap(0.0, m=m, delta=chance)
        risks[chance] = float(binom.cdf(math.ceil(m * (0.5 - coin)) - 1, m, 0.5))  # P(mean < 1/2 - coin)
    risk = risks[delta]
    attained = 1 - m / M
    ratios = []
    for b in (1.0, 3.0):
        complexity = rademacher(partial(_all_signs, m=m, size=b / 2), A=b / 2, m=m)
        ratios.append(b * attained / uniform_gap(complexity, m=m, delta=delta, b=b))
    # f = +-g: the ramp is 0 where y f = g, and P(y f <= 0) counts the rest of the domain.
    for g in (0.1, 2.0):
        cover = margin_gap(m=m, delta=delta, margin=g, log_covering=partial(_all_signs, m=m, size=g))
        closed = margin_gap(m=m, delta=delta, margin=g, log_C=math.log(4 * g * g * m * math.log(2)))
        ratios += [attained / cover, attained / closed]
    return finding(
        all(chance / 20 < found <= chance for chance, found in risks.items())
        and min(ratios) > 0.9
        and max(ratios) <= 1,
        paper=f"fails with probability $<= {delta}$",
        ours=f"gap / bound {min(ratios):.3f} to {max(ratios):.3f}; a fair coin breaks its bound with probability "
        f"{risk:.4f}",
        detail=f"$m = {m}$: all losses in ${{0, b}}$ on a domain of $10^6$ points, and all functions $+-g$ "
        "with the ramp of margin $g$, where one function is right on the sample and wrong elsewhere; one "
        "loss with a fair coin's values.",
    )


def _all_signs(eps: float, *, m: int, size: float) -> float:
    """Return ln N of all functions with values +-size on m points: m ln 2 if eps < 2 size, else 0."""
    return m * math.log(2) if eps < 2 * size else 0.0


@claim("vc-cover", kind="lemma", where="notes section 2.2.1")
def check_vc_cover(context: Context) -> Finding:
    """A class $F$ of functions with values 0 and 1 and VC dimension $d$ has $N_inf(F, eps, m) <= sum_{i <= d} C(m,
    i) <= (e m/d)^d$ for $eps < 1$ and $m >= d$ points.
    """
    m = 7
    intervals = np.array([[float(a <= i < b) for i in range(m)] for a in range(m) for b in range(a, m + 1)])
    patterns = np.unique(intervals, axis=0)
    d = vc_dimension(patterns)
    size = class_covering_number(patterns[:, :, None], eps=0.5).upper
    limit = math.exp(log_cover_vc(m=m, d=d, eps=0.5))
    return finding(
        d == 2
        and abs(size - limit) < 1e-6
        and limit <= (math.e * m / d) ** d
        and log_cover_vc(m=m, d=d, eps=1.0) == 0.0 == _exact_covering(patterns, 1.0),
        paper="$(e m/VC)^VC$",
        ours=f"$N = {size}$, Sauer {limit:.0f}, $(e m/d)^d = {(math.e * m / d) ** d:.0f}$",
        detail=f"Intervals on {m} points, VC dimension {d}: Sauer's bound is attained.",
    )


@claim("fat-cover", kind="lemma", where="notes section 2.2.2")
def check_fat_cover(context: Context) -> Finding:
    """A class $F$ of functions from $X$ to $[0,1]$ with fat-shattering dimension $d$ at $eps/4$ has $N_inf(F, eps,
    m) <= P(eps) < 2 (m b^2)^{ceil(log2 y)}$, where $P$ is the packing number, $b = floor(2/eps) + 1$ and $y =
    sum_{i <= d} C(m, i) b^i$.
    """
    rng = stream(context.seed, "fat")
    worst, formula = 0.0, True
    for m, levels, eps in ((1, 2, 0.99), (2, 2, 0.99), (1, 3, 0.49), (2, 3, 0.49), (3, 5, 0.24), (4, 3, 0.3)):
        grid = np.array(list(itertools.product(np.linspace(0, 1, levels), repeat=m)))
        for values in (grid, grid[rng.permutation(len(grid))[: max(2, len(grid) // 3)]]):
            d = fat_dimension(values, eps / 4)
            limit = log_cover_fat(m=m, d=d, eps=eps)
            packing = class_packing_number(values[:, :, None], r=eps).lower
            worst = max(worst, math.log(packing) / limit, _exact_covering(values, eps) / limit)
            b = math.floor(2 / eps) + 1
            sets = [A for i in range(d + 1) for A in itertools.combinations(range(m), i)]
            y = sum(1 for A in sets for _ in itertools.product(range(b), repeat=len(A)))
            formula = formula and abs(limit - math.log(2 * (m * b**2) ** (y - 1).bit_length())) < 1e-9
    return finding(
        formula and 0.1 < worst < 1,
        paper="$2 (m (2/eps + 1)^2)^{..}$",
        ours=f"$ln P$ / bound at most {worst:.3f}",
        detail="All functions into 2, 3 or 5 levels on up to 4 points, and random thirds of them, by enumeration.",
    )


@claim("rademacher-cover", kind="lemma", where="paper appendix A, before A.5; notes section 2.2.3")
def check_rademacher_cover(context: Context) -> Finding:
    """If a class $F$ of functions with $|f| <= A$ has proper covers (made of members of $F$) on $m$ points with $ln
    N(F; eps) <= C/eps^2$, its empirical Rademacher complexity is at most $e sqrt(2) r (1 + ln^+(A / (sqrt(2) r)))$,
    where $r = sqrt(C/m)$ and $ln^+$ is the positive part of the logarithm.
    """
    rng = stream(context.seed, "rademacher")
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=8)))
    classes = [signs, signs[rng.permutation(256)[:20]], rng.uniform(-1, 1, size=(12, 8)), signs[[0, 255]]]
    chained, closed = [], []
    for values in classes:
        exact = empirical_rademacher(values)
        chained.append(exact / rademacher(partial(_exact_covering, values), A=1.0, m=8))
        closed.append(exact / rademacher_closed(log_C=_log_C(values), A=1.0, m=8))
    # 3000 random sign vectors on 400 points, all of them 2 apart: Massart's lemma is nearly attained
    many = rng.choice([-1.0, 1.0], size=(3000, 400))
    mean = float((rng.choice([-1.0, 1.0], size=(200, 400)) @ many.T / 400).max(axis=1).mean())
    chained.append(mean / rademacher(lambda eps: math.log(3000) if eps < 2 else 0.0, A=1.0, m=400))
    least = {r: _least_sum(C=r * r * 50, A=0.7, m=50) for r in (1e-5, 1e-3, 0.02, 0.1, 0.4, 3.0)}
    off = [
        rademacher_closed(log_C=math.log(r * r * 50), A=0.7, m=50) / value - 1 for r, value in least.items()
    ]
    printed = [value / rademacher_simple(C=r * r * 50, A=0.7, m=50) for r, value in least.items()]
    return finding(
        max(chained) <= 1 + 1e-12
        and chained[0] > 1 - 1e-12
        and chained[-1] > 0.7
        and 0.99 < max(closed) <= 1 + 1e-12
        and max(map(abs, off)) < 1e-2
        and max(printed) <= 1,
        paper="$c sqrt(C/m) (1 + log(A sqrt(m/C)))$",
        ours=f"exact / chaining {min(chained):.2f} to {max(chained):.2f}, exact / closed form {min(closed):.2f} to "
        f"{max(closed):.2f}; closed form / least sum within {max(map(abs, off)):.4f} of 1",
        detail="All sign vectors on 8 points (both bounds are attained), parts of them, random values: all $2^8$ "
        "signs, exact covers. 3000 random sign vectors on 400 points, 200 draws. The least sum is over $q$ and $J$.",
    )


def _log_C(values: Float[Array, "n m"]) -> float:
    """Return ln of the least C with ln N(eps) <= C/eps^2, the maximum of eps^2 ln N(eps) just below distances."""
    distances = np.unique(np.abs(values[:, None] - values[None]).max(axis=2))
    below = [(float(b), _exact_covering(values, float(a + b) / 2)) for a, b in itertools.pairwise(distances)]
    return max(2 * math.log(b) + math.log(log_N) for b, log_N in below if log_N > 0)


def _least_sum(*, C: float, A: float, m: int) -> float:
    """Return min over J and q of A q^J + m^{-1/2} sum_{j <= J} A q^{j-1} sqrt(2 C) / (A q^j), by trying many q."""
    q, best = np.geomspace(1e-9, 1 - 1e-9, 4000), A
    for J in range(1, 60):
        best = min(best, float((A * q**J + J * math.sqrt(2 * C / m) / q).min()))
    return best


@claim("realizable", kind="ours")
def check_realizable(context: Context) -> Finding:
    """With probability $1 - delta$ over $m$ training points, every function of a class $F$ that has margin above
    $g$ on all of them errs with probability at most $(2/m)(log2 N_inf(F; g/2; 2m) + log2(2/delta))$.

    Checked on K classifiers with independent errors of rate e: one of them has no training error with probability
    1 - (1 - (1-e)^m)^K, which is at most delta if e is the bound, and above delta if e is a quarter of it.
    """
    from scipy.stats import binom

    rng, rows = stream(context.seed, "realizable"), []
    for K, m, delta in ((1, 50, 0.05), (100, 200, 0.05), (10**4, 400, 0.01), (10**6, 1000, 0.2)):
        limit = realizable_error(log_covering_2m=math.log(K), m=m, delta=delta)
        fooled = [-math.expm1(K * math.log1p(-((1 - e) ** m))) for e in (limit, limit / 4)]
        rows.append((delta, *fooled))
    m, K, delta, trials = 200, 100, 0.05, 2000
    limit = realizable_error(log_covering_2m=math.log(K), m=m, delta=delta)
    drawn = [
        float((rng.binomial(m, e, size=(trials, K)) == 0).any(axis=1).mean()) for e in (limit, limit / 4)
    ]
    # the proof's only probabilistic step: P(Bin(m, e) >= me/2) >= 1/2 whenever me >= 1
    grid = [(m, e) for m in (5, 20, 100, 400) for e in np.linspace(1 / m, 1, 40)]
    least = min(float(binom.sf(math.ceil(m * e / 2 - 1e-12) - 1, m, e)) for m, e in grid)
    return finding(
        all(at <= delta < below for delta, at, below in rows)
        and drawn[0] <= delta < drawn[1]
        and least >= 0.5,
        ours=f"a function without training error in {drawn[0]:.4f} of the samples at the bound, in "
        f"{drawn[1]:.3f} at 1/4 of it ($delta = {delta}$)",
        detail="$K = 1$ to $10^6$ independent functions, $m = 50$ to 1000: exact probabilities and drawn "
        f"samples; the ghost-sample step has $P(Bin >= m e/2) >= {least:.3f}$.",
    )


@claim("sample-size", kind="ours")
def check_sample_size(context: Context) -> Finding:
    """The sample size of a bound is the smallest $m$ at which its gap falls below a given accuracy $eps$, found by
    doubling and bisection; for a finite class $F$ and confidence $1 - delta$, $m >= (ln|F| + ln(1/delta))/eps$
    suffices.
    """
    gaps = [(lambda m, c=c: c / float(m) ** 0.5, 0.1) for c in (0.05, 0.5, 1.0, 2.0, 2.9)]
    found = [samples_needed(gap, accuracy=accuracy) for gap, accuracy in gaps]
    tried = [next(m for m in range(1, 2000) if gap(m) <= accuracy) for gap, accuracy in gaps]
    tight, enough = [], True
    for K, eps, delta in ((10, 0.1, 0.1), (math.comb(300, 3), 0.05, 0.05), (10**9, 0.01, 0.01)):
        m = finite_class_samples(log_size=math.log(K), eps=eps, delta=delta)
        enough = enough and -math.expm1(K * math.log1p(-((1 - eps) ** m))) <= delta
        least = next(
            n for n in range(m, 0, -1) if -math.expm1(K * math.log1p(-((1 - eps) ** (n - 1)))) > delta
        )
        tight.append(least / m)
    return finding(
        found == tried and enough and min(tight) > 0.9,
        ours=f"{found} by bisection and by trial; the finite-class number is exceeded by none and at most "
        f"{1 / min(tight) - 1:.0%} too large",
        detail="$3/sqrt(m)$-like gaps; $K$ independent functions with error $eps$, of which one survives "
        "$m$ samples with probability $1 - (1 - (1 - eps)^m)^K$.",
    )
