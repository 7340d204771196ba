"""How few samples could be enough, whatever the learner."""

import math

from ..floor.elimination import parity_counts
from ..floor.floor import fano, floor_curve, floor_slope, parity_bounds
from ..rng import stream
from .claim import Context, Finding, claim, finding

BALANCED = 0.5 ** (1 / 3)  # a 3-AND of such bits is 1 half of the time


@claim(
    "sample-lower-bound",
    kind="remark",
    where="paper section 5, end; notes section 5, end",
    statement="C(T, s) subsets must be told apart, so any learner needs at least of the order of s ln(T/s) samples.",
)
def check_sample_lower_bound(context: Context) -> Finding:
    lengths = [10**2, 10**3, 10**4, 10**5]
    needed = [fano("and", s=3, T=T, p=BALANCED) for T in lengths]
    slope = (needed[-1] - needed[0]) / math.log(lengths[-1] / lengths[0])
    expected = 0.8 * 3 / math.log(2)  # 0.8 s log2 T bits, one bit a label
    return finding(
        abs(slope / expected - 1) < 0.1,
        paper="of the order s log T",
        ours=f"m >= {', '.join(map(str, needed))} for T = 10^2 .. 10^5",
        detail=f"Fano's inequality for 3-ANDs at success 0.8: {slope:.2f} samples per ln T.",
        needed=needed,
    )


@claim(
    "information-floor",
    kind="ours",
    where="not in the paper",
    statement="The best possible probability of identifying an s-conjunction from m samples is E[1 / number of "
    "consistent s-subsets]; where it reaches 0.8 no learner needs fewer samples. It grows like 4.3 ln T "
    "for s = 3 and balanced labels.",
)
def check_information_floor(context: Context) -> Finding:
    lengths, known = [100, 300], [27, 31]
    found = [floor.m for floor in floor_curve("and", s=3, Ts=lengths, p=BALANCED)]
    slope = floor_slope(s=3, p=BALANCED)
    return finding(
        all(abs(m - k) <= 1 for m, k in zip(found, known)) and abs(slope - 3 / math.log(2)) < 1e-9,
        paper="-",
        ours=f"{found[0]} and {found[1]} samples at least at T = 100, 300; slope {slope:.2f} per ln T",
        detail="P_opt >= 0.8 is excluded below, by counting swaps and label sequences; s = 3, balanced labels.",
        floor=list(found),
    )


@claim(
    "parity-floor",
    kind="ours",
    where="not in the paper",
    statement="For s-parities of uniform bits every wrong subset survives m samples with probability exactly 2^-m, "
    "so the threshold is log2 C(T, s) + O(1).",
)
def check_parity_floor(context: Context) -> Finding:
    s, T, m, trials = 3, 20, 12, 2000
    bounds = parity_bounds(s=s, T=T, m=m)
    counts = parity_counts(s=s, T=T, m=m, trials=trials, rng=stream(context.seed, "parity"))
    opt = float((1 / counts).mean())
    error = 3 * float((1 / counts).std()) / trials**0.5
    return finding(
        bounds.opt_low - error <= opt <= bounds.opt_high + error,
        paper="-",
        ours=f"P_opt = {opt:.3f} +- {error:.3f}, between {bounds.opt_low:.3f} and {bounds.opt_high:.3f}",
        detail=f"s = 3, T = {T}, m = {m}: {trials} simulated data sets against the brackets from two moments.",
        opt=opt,
    )
