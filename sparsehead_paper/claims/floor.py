"""Lower bounds on the number of samples for every learner."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sparsehead._base.rng import stream
from sparsehead.floor.bracket import counting_bound, swap_bounds
from sparsehead.floor.floor import fano, floor, floor_curve, parity_bounds
from sparsehead.functions.task import conjunction_p

from ..theory.elimination import floor_slope, identification, parity_counts
from .claim import Context, Finding, claim, finding

BALANCED = conjunction_p(3)  # a 3-AND of such bits is 1 half of the time
Label = Callable[[np.ndarray], Any]


def best_success(*, s: int, T: int, m: int, p: float, label: Label) -> float:
    """Return P_opt, the probability with which the best learner names the support: E[number of distinct label
    sequences] / number of s-sets.

    E is the mean over all 2^(mT) data sets. `label` maps the bits of an s-set, an array (inputs, s), to the inputs'
    labels.
    """
    inputs = np.array(list(itertools.product([0, 1], repeat=T)))
    labels = np.array([label(inputs[:, J]) for J in itertools.combinations(range(T), s)])
    chance = p ** inputs.sum(axis=1) * (1 - p) ** (T - inputs.sum(axis=1))
    total = 0.0
    for rows in itertools.product(range(2**T), repeat=m):
        sequences = {tuple(sequence) for sequence in labels[:, list(rows)].tolist()}
        total += math.prod(chance[list(rows)]) * len(sequences)
    return total / len(labels)


def single_bit_floor(*, T: int, p: float, target: float) -> int:
    """Return the least m with P_opt >= target for s = 1. If M of the m labels are 1, P_opt given M has a closed form:

    E 1/(1 + Bin(T-1, q)) = (1 - (1-q)^T) / (T q),   q = p^M (1-p)^(m-M).
    """
    from scipy.stats import binom

    for m in itertools.count():
        M = np.arange(m + 1)
        q = p**M * (1 - p) ** (m - M)
        share = -np.expm1(T * np.log1p(-np.minimum(q, 1 - 1e-16))) / (T * q)
        if float((binom.pmf(M, m, p) * share).sum()) >= target:
            return m
    raise AssertionError  # count() does not end


@claim("sample-lower-bound", kind="remark", where="paper section 5, end; notes section 5, end")
def check_sample_lower_bound(context: Context) -> Finding:
    """A learner of a function of $s$ of $T$ positions must distinguish $C(T, s)$ subsets, so every learner needs at
    least of the order of $s ln(T/s)$ samples.

    Check of tightness for s = 1 and T = 2^k: let bit t of input i be binary digit i of t. Then k inputs identify t, so
    a lower bound above k would be false; Fano's bound at success 1 is exactly k.
    """
    powers = range(1, 11)
    designed = []
    for k in powers:
        inputs = np.arange(2**k)[None, :] >> np.arange(k)[:, None] & 1  # (samples, positions)
        told_apart = len(np.unique(inputs, axis=1).T) == 2**k and bool((inputs.mean(axis=1) == 0.5).all())
        designed.append(told_apart and fano("and", s=1, T=2**k, p=0.5, target=1 - 1e-12) == k)
    random = [
        fano("and", s=1, T=T, p=p, target=target) <= single_bit_floor(T=T, p=p, target=target)
        for T, p, target in itertools.product((2, 20, 1000, 10**5), (0.5, 0.8), (0.3, 0.8, 0.99))
    ]
    lengths = [10**2, 10**3, 10**4, 10**5]
    needed = [fano("and", s=3, T=T, p=BALANCED) for T in lengths]
    rarer = fano("and", s=3, T=10**4, p=0.5) / fano("and", s=3, T=10**4, p=BALANCED)
    slope = (needed[-1] - needed[0]) / math.log(lengths[-1] / lengths[0])
    expected = 0.8 * 3 / math.log(2)  # 0.8 s log2 T bits, one bit a label
    return finding(
        all(designed) and all(random) and abs(slope / expected - 1) < 0.1 and abs(rarer - 1 / 0.5436) < 0.05,
        paper="of the order $s log T$",
        ours=f"$m >= {', '.join(map(str, needed))}$ for $T = 10^2 .. 10^5$",
        detail=f"Fano's inequality for 3-ANDs at success 0.8: {slope:.2f} samples per $ln T$, {rarer:.2f} "
        "times as many for fair bits, whose labels carry $h(1/8) = .544$ bits. Attained by designed inputs "
        "for $T = 2 .. 1024$, $s = 1$; never above the exact floor of random ones.",
    )


@claim("information-floor", kind="ours")
def check_information_floor(context: Context) -> Finding:
    """The best possible probability of identifying an AND of $s$ of $T$ bits from $m$ samples is $E(1/N)$, where $N$ is
    the number of $s$-subsets that are consistent with the samples; below the $m$ at which this probability reaches 0.8
    no learner succeeds in 80 % of cases. Proven lower and upper bounds on this $m$ are computed at every $T$; for $s =
    3$ and balanced labels it grows like $4.3 ln T$ as $T$ grows.
    """
    above = []
    for s, T, m, p in ((1, 3, 3, 0.7), (2, 3, 3, 0.5), (2, 4, 2, 0.7), (3, 4, 3, 0.5), (2, 5, 2, 0.6)):
        truth = best_success(s=s, T=T, m=m, p=p, label=lambda bits: bits.all(axis=1))
        swap, count = swap_bounds(s=s, T=T, m=m, p=p)[0], counting_bound(s=s, T=T, m=m, p=p)
        # where one position is free every wrong set is a swap, and the bound is P_opt itself, but for 1e-9
        above += [truth <= swap and truth <= count and (1 not in (s, T - s) or swap <= truth + 3e-9)]
    singles = [(T, p) for T in (2, 20, 1000, 10**6) for p in (0.5, 0.8)]
    exact = [floor("and", s=1, T=T, p=p).m == single_bit_floor(T=T, p=p, target=0.8) for T, p in singles]
    found = {f.T: f for f in floor_curve("and", s=3, Ts=[300, 5000, 10**6], p=BALANCED)}
    simulated = []
    for T, trials in ((300, 3000), (5000, 400)):
        rng = stream(context.seed, "floor", T)
        low, high = (
            identification(s=3, Ts=[T], m=m, p=BALANCED, trials=trials, rng=rng)[0]
            for m in (found[T].m - 1, found[T].enough)
        )
        simulated += [low.opt - 3 * low.opt_error < 0.8, high.opt + 3 * high.opt_error >= 0.8]
        simulated += [low.opt + 3 * low.opt_error > 0.7]  # not far below: the bracket is of use
    slope, far = floor_slope(s=3, p=BALANCED), floor("and", s=3, T=10**40, p=BALANCED)
    ratio = far.m / (slope * math.log(10**40))
    return finding(
        all(above)
        and all(exact)
        and all(simulated)
        and abs(slope - 3 / math.log(2)) < 1e-9
        and 0.95 < ratio < 1,
        ours="; ".join(f"{f.m} to {f.enough} samples at $T = {T:,}$" for T, f in found.items())
        + f"; ${slope:.2f} ln T$ in the limit, {ratio:.3f} of it at $T = 10^40$",
        detail="Bounds on $P_opt$ from swaps and from label sequences against all data sets at $T = 3$ to "
        "5; the floor of single bits from its own formula up to $T = 10^6$; elimination at $T = 300$ and "
        "5000. $s = 3$, balanced labels.",
    )


@claim("parity-floor", kind="ours")
def check_parity_floor(context: Context) -> Finding:
    """For parities of $s$ of $T$ uniform bits every wrong subset is consistent with $m$ samples with probability
    exactly $2^{-m}$, so the number of samples at which the right one can be identified is $log2 C(T, s) + O(1)$.
    """
    inside = []
    for s, T, m in ((1, 4, 2), (2, 4, 3), (2, 5, 2), (3, 5, 2)):
        truth = best_success(s=s, T=T, m=m, p=0.5, label=lambda bits: bits.sum(axis=1) % 2)
        exact = parity_bounds(s=s, T=T, m=m)
        inside.append(exact.opt_low - 1e-12 <= truth <= exact.opt_high + 1e-12)
    s, T, m, trials = 3, 20, 12, 2000
    bounds = parity_bounds(s=s, T=T, m=m)
    counts = parity_counts(s=s, T=T, m=m, trials=trials, rng=stream(context.seed, "parity"))
    survivors, opt = float(counts.mean()) - 1, float((1 / counts).mean())
    error = 3 * float((1 / counts).std()) / trials**0.5
    off = [abs(floor("parity", s=3, T=T, p=0.5).m - math.log2(math.comb(T, 3))) for T in (20, 10**3, 10**6)]
    return finding(
        all(inside)
        and bounds.opt_low - error <= opt <= bounds.opt_high + error
        and abs(survivors - bounds.mu) < 3 * float(counts.std()) / trials**0.5
        and max(off) < 2.2,
        ours=f"$P_opt = {opt:.3f} +- {error:.3f}$, between {bounds.opt_low:.3f} and {bounds.opt_high:.3f}; "
        f"the floor is within {max(off):.1f} of $log2 C(T, 3)$",
        detail=f"$s = 3$, $T = {T}$, $m = {m}$: {trials} simulated data sets against the brackets from two "
        "moments; all data sets at $T = 4$ and 5.",
    )
