"""Reading: find the function that a model computes by evaluating it, and bound its error from a training set."""

import itertools
import math

import numpy as np

from sparsehead._base.rng import stream
from sparsehead.construct import build
from sparsehead.functions import SparseFunction, from_table, majority, parse, random_function
from sparsehead.functions.task import Task
from sparsehead.reading import read
from sparsehead.reading.occam import log_price, occam_bound, tail_inversion

from .claim import Context, Finding, claim, finding


@claim("read-junta", kind="ours", where="past the paper: the variable that a head creates, made explicit")
def check_read_junta(context: Context) -> Finding:
    """A model that depends on $s$ of $T$ positions is read with at most $s ceil(log2 T) + sum_{r <= s} 2^r K(r)$
    evaluations: bisection finds each position, and when $r$ are known the model is evaluated on every pattern of
    them, $K(r) = max(8, 256 / 2^r)$ times each. The functions of written models are recovered exactly.
    """
    rng = stream(context.seed, "functions")
    targets = [from_table(T=60, support=(7, 41), table=t) for t in itertools.product((0, 1), repeat=4)]
    targets += [random_function(T=300, s=s, rng=rng) for s in (3, 4, 5, 6)]
    targets += [parse("x0 & x1 & x2 & x3 & x4 & x5", T=200)]
    readings = [read(build(f), seed=context.seed) for f in targets]
    wrong = [str(f) for f, r in zip(targets, readings, strict=True) if r.function != f or not r.proved]
    over = [str(f) for f, r in zip(targets, readings, strict=True) if r.queries > r.query_bound]
    # The bound for the largest s here, written out: it must not be loosened in silence.
    exact = 6 * math.ceil(math.log2(200)) + sum(max(256, 8 * 2**r) for r in range(7))
    dense = read(majority(range(15), T=101), T=101, seed=context.seed)
    return finding(
        not wrong and not over and readings[-1].query_bound == exact and dense.function is None,
        paper="a head computes a function of $s$ of $T$ positions",
        ours=f"{len(targets) - len(wrong)} of {len(targets)} read back and proved; majority of 15 refused",
        detail=f"Most evaluations: {max(r.queries for r in readings)}, bound {max(r.query_bound for r in readings)}. "
        f"The best junta for the majority of 15 bits agrees on {dense.agreement.value:.3f} of inputs.",
    )


@claim("occam-bound", kind="ours", where="past the paper: a bound that is not vacuous at these sample sizes")
def check_occam_bound(context: Context) -> Finding:
    """With probability $1 - delta/2$ over $m$ examples, every function $f$ of $s$ of $T$ positions has error at
    most the largest $q$ with $P(Bin(m, q) <= mistakes) >= delta prior(f)/2$, where $mistakes$ is the number of examples
    on which $f$ is wrong, $Bin(m, q)$ the number of successes in $m$ trials of probability $q$, and $prior(f)$ a weight
    chosen beforehand: $ln 1/prior = ln (s+1)(s+2) + ln C(T,s) + 2^s ln 2$. At $s = 3$, $m = 200$ and no mistakes this
    $q$ is .13 at $T = 300$ and .20 at $T = 10^5$. If $n - 1$ samples were rejected before, the $n$-th adds $ln n(n+1)$
    to $ln 1/prior$. The other half of $delta$ is for how often a model differs from $f$.
    """
    rng = stream(context.seed, "occam")
    T, m, delta, trials = 4, 30, 0.2, 2000
    hypotheses = [from_table(T=T, support=(), table=(v,)) for v in (0, 1)]
    hypotheses += [from_table(T=T, support=(t,), table=v) for t in range(T) for v in ((0, 1), (1, 0))]
    total = sum(math.exp(-log_price(f.s, T)) for f in hypotheses)
    broken = sum(_breaks(hypotheses, T, m, delta, rng) for _ in range(trials))
    limits = [_zero_mistakes(T_, 200, 0.05) for T_ in (300, 10**5)]
    exact = abs(tail_inversion(0, 50, math.log(20)) - (1 - 0.05 ** (1 / 50)))
    inside = abs(_binomial_tail(3, 40, tail_inversion(3, 40, math.log(20))) - 0.05)
    spent = _spent()
    chosen = np.sum([_breaks_when_chosen(stream(context.seed, "chosen", i)) for i in range(100)], axis=0)
    return finding(
        broken / trials <= delta / 2
        and total <= 1
        and max(exact, inside) < 1e-9
        and max(abs(share - 0.5) for share in spent) < 1e-9
        and chosen[0] == 100
        and chosen[1] <= 25
        and limits[0] < 0.15
        and 0.15 < limits[1] < 0.21,
        paper="no such bound; norm-based ones are vacuous by $10^3$ to $10^10$",
        ours=f"error $<= {limits[0]:.3f}$ at $T = 300$ and {limits[1]:.3f} at $T = 10^5$ ($m = 200$, "
        "$s = 3$, no mistakes)",
        detail=f"Some hypothesis broke its bound in {broken} of {trials} samples of {m} noisy examples, "
        f"allowed {delta / 2:.0%}; the tail inversion equals the binomial tail to ${max(exact, inside):.1e}$; "
        f"of $delta$ {spent[0]:.3f} is spent on the function and {spent[1]:.3f} on how often its model "
        f"differs. Of 100 samples drawn until a wrong function explains them {chosen[0]} break a bound that "
        f"forgets the choice, {chosen[1]} one that pays for it (allowed 25).",
    )


def _breaks(hypotheses: list[SparseFunction], T: int, m: int, delta: float, rng: np.random.Generator) -> bool:
    """Return whether the true error of some hypothesis exceeds its bound on one random sample."""
    task = Task(parse("x1", T=T), p=0.5, noise=0.3)
    bits, labels = task.sample(m, rng=rng)
    for f in hypotheses:
        error = 0.3 if f == task.f else 0.5 if f.s == 0 or f.support != (1,) else 0.7
        if error > occam_bound(f, bits, labels, delta=delta).bound:
            return True
    return False


def _breaks_when_chosen(rng: np.random.Generator) -> tuple[bool, bool]:
    """Draw samples of 9 inputs, with x1 as the label, until the function x2 makes no mistake on a sample; return
    whether the bound of x2 is below its true error, 1/2.

    The first value is for the bound without the cost of choosing a sample, the second with it; delta = 1/2.
    """
    f, draws, fits = parse("x2", T=4), 0, False
    while not fits:
        bits, draws = (rng.random((9, 4)) < 0.5).astype(np.uint8), draws + 1
        fits = bool((bits[:, 1] == bits[:, 2]).all())
    free, paid = (occam_bound(f, bits, bits[:, 1], delta=0.5, draws=n).bound for n in (None, draws))
    return free < 0.5, paid < 0.5


def _spent() -> tuple[float, float]:
    """Return two probabilities as shares of delta: that used by the function's bound, and that used in addition by the
    model's bound.

    The case: four mistakes on 60 examples; function and model differ on 7 of 500 inputs.
    """
    f, delta, bits = parse("x1 & x2", T=6), 0.2, np.zeros((60, 6), dtype=np.uint8)
    found = occam_bound(f, bits, np.arange(60) < 4, delta=delta, disagreements=[(7, 500)])
    prior = 1 / (3 * 4 * math.comb(6, 2) * 2**4)
    apart = (found.model_bound or 0.0) - found.bound
    return _binomial_tail(4, 60, found.bound) / (delta * prior), _binomial_tail(7, 500, apart) / delta


def _zero_mistakes(T: int, m: int, delta: float) -> float:
    return tail_inversion(0, m, log_price(3, T) + math.log(2 / delta))


def _binomial_tail(k: int, m: int, q: float) -> float:
    return sum(math.comb(m, j) * q**j * (1 - q) ** (m - j) for j in range(k + 1))
