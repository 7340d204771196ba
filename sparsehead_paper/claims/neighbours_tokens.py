"""Statements of neighbouring papers on tokens with pointers: averages of q of N vectors, lists of q vectors."""

import math
from itertools import combinations, product

import numpy as np

from sparsehead._base.rng import stream
from sparsehead.heads.heads import attention, softmax

from ..theory import pointers
from .claim import EXACT, ROUNDING, Context, Finding, finding, neighbour

AVERAGING = "Sanford, Hsu and Telgarsky, arXiv 2306.02896"


@neighbour("sparse-averaging", where=f"{AVERAGING}: one head of width d' + O(q log N)")
def check_sparse_averaging(context: Context) -> Finding:
    """One head averages the vectors at any q of N positions: with keys of width $2q + 1$ (trigonometric codes), or of
    width $(3072/11)(3q ln(3eN/q) + ln(2/delta))$ (random signs; except with probability $delta$). If at most $lambda$
    of the attention lies outside the set, the error is at most $2 lambda$ for all vectors in the unit ball. If the
    scores outside are equal, some vectors attain $2 lambda$.
    """
    leak, worst, sets = 0.01, 0.0, 0
    for N, q in ((6, 1), (8, 2), (9, 3), (10, 4)):
        codes = pointers.trigonometric_codes(N, q)
        beta = pointers.score_scale(N, q, leak=leak, gap=1.0)
        for y in combinations(range(N), q):
            a = softmax(beta * codes @ pointers.trigonometric_request(N, y))
            worst, sets = max(worst, pointers.worst_error(a, y)), sets + 1
    needed = {(N, q): _sign_width(N, q) for N, q in ((8, 1), (12, 2), (16, 2), (12, 3))}
    within = all(width <= pointers.sign_width(N, q, 0.01) for (N, q), width in needed.items())
    detail = (
        f"Every one of {sets} pointer sets (N up to 10, q up to 4), over all vectors in the unit ball, at lambda = "
        f"{leak}. Least width at which one draw of sign codes serves every set, by (N, q): "
        f"{', '.join(f'{key}: {width}' for key, width in needed.items())}; the bound is far above."
    )
    holds = 0 < worst <= 2 * leak * (1 + EXACT) and within
    return finding(
        holds, paper="width d' + O(q log N)", ours=f"worst error {worst:.6f} <= {2 * leak}", detail=detail
    )


def _sign_width(N: int, q: int) -> int:
    """Return the least of the widths q, q + 1, .. at which one draw of sign codes has a request for every set."""
    for p in range(q, 20 * q * N):
        codes = pointers.sign_codes(N, p, rng=stream(0, "sign codes", N, q, p))
        sets = list(combinations(range(N), q))
        if all(np.linalg.matrix_rank(codes[list(y)]) == q for y in sets) and all(
            pointers.largest_outside(codes, pointers.least_norm_request(codes, y), y) <= 0.5 for y in sets
        ):
            return p
    raise AssertionError("no width suffices")


@neighbour("sparse-averaging-bits", where=f"{AVERAGING}: width times precision at least c q")
def check_sparse_averaging_bits(context: Context) -> Finding:
    """If a head averages every q of N vectors with an error below $1/q$, its queries take at least $log_2 C(N, q)$
    bits: k entries of b bits need $k b >= log_2 C(N, q)$. (The neighbouring paper proves a weaker lower bound, $c q$
    bits, which also holds if the function after the head sees the pointers again.)
    """
    rows, holds = [], True
    for N, q in ((8, 2), (9, 3), (10, 4)):
        least = pointers.least_bits(N, q)
        bits = next(b for b in range(1, 60) if _rounded_error(N, q, b) < 1 / q)
        total = (2 * q + 1) * bits
        fewer = _queries(N, q, bits=max(0, math.ceil(least) - 1) // (2 * q + 1))
        holds &= total >= least and fewer < math.comb(N, q)
        rows.append(f"N = {N}, q = {q}: {total} bits, at least {least:.1f}")
    shared = [_least_shared_error(N, q, seed=context.seed) * q for N, q in ((6, 2), (7, 3))]
    holds &= min(shared) >= 1 - ROUNDING
    detail = (
        "Trigonometric requests rounded to b bits an entry, the least b with all errors below 1/q. Two sets that share "
        f"a query: the larger error, times q, is at least {min(shared):.3f} over random attention weights."
    )
    return finding(holds, paper="k b >= c q", ours="; ".join(rows), detail=detail)


def _rounded(N: int, q: int, bits: int) -> dict[tuple[int, ...], tuple[float, ...]]:
    """Return the request of every set with each entry rounded to one of 2^bits levels of its range."""
    found = {y: pointers.trigonometric_request(N, y) for y in combinations(range(N), q)}
    reach = max(float(np.abs(w).max()) for w in found.values())
    step = 2 * reach / max(1, 2**bits - 1)
    return {y: tuple(step * np.round((w + reach) / step) - reach) for y, w in found.items()}


def _queries(N: int, q: int, bits: int) -> int:
    return len(set(_rounded(N, q, bits).values()))


def _rounded_error(N: int, q: int, bits: int) -> float:
    codes, beta = pointers.trigonometric_codes(N, q), pointers.score_scale(N, q, leak=0.01, gap=1.0)
    rounded = _rounded(N, q, bits).items()
    return max(pointers.worst_error(softmax(beta * codes @ np.array(w)), y) for y, w in rounded)


def _least_shared_error(N: int, q: int, *, seed: int) -> float:
    """Return the least, over pairs of sets and random attention weights, of the larger of the two errors."""
    rng = stream(seed, "shared queries")
    pairs = combinations(combinations(range(N), q), 2)
    return min(
        max(pointers.worst_error(a, y), pointers.worst_error(a, other))
        for y, other in pairs
        for a in rng.dirichlet(np.full(N, 0.3), size=3)
    )


@neighbour("token-regression", where="arXiv 2503.11272: H = q heads suffice, H = Omega(q) are necessary")
def check_token_regression(context: Context) -> Finding:
    """q heads list the q vectors of width d that a list of q pointers names. If these have length at most 1, each has
    an error of at most $2 lambda$, where $lambda$ is the share of its head's attention on other positions. H heads with
    values of width v and $H v < q d$ cannot list them: for every $R > 0$ and any function of the heads' outputs there
    are vectors of joint norm R for which the error is at least R, even if scores depend on the vectors. If scores
    depend only on positions and pointers, the error for standard normal vectors is at least the share $1 - H v/(q d)$
    of their variance.
    """
    worst = max(_listed_error(N, q) for N, q in ((5, 2), (6, 3)))
    rng = stream(context.seed, "token regression")
    q, d, N = 3, 2, 6
    tight, least = 0.0, math.inf
    for H, v, _ in product((1, 2, 3), (1, 2), range(20)):
        floor = pointers.share_missed(H, v, q=q, d=d)
        on_set = _missed(rng, H=H, v=v, q=q, d=d, N=q)  # no attention outside the set
        anywhere = _missed(rng, H=H, v=v, q=q, d=d, N=N)
        tight, least = max(tight, abs(on_set - floor)), min(least, anywhere - floor)
    same = max(_antipodes(rng) for _ in range(20))
    holds = worst <= 0.02 * (1 + EXACT) and tight < EXACT and least > -EXACT and same < EXACT
    detail = (
        "Lists: every ordered pointer list, N = 5 and 6, lambda = 0.01. Variance: exact linear algebra for random "
        f"heads, N = 6, q = 3, d = 2: the floor is met to {tight:.0e} by heads that see only the set, never undercut "
        f"({least:.1e} at least). Vectors of length 1 and their negatives with outputs that differ by {same:.0e} at "
        "most, for 20 random heads whose scores depend on the vectors (N = q = 2, d = H = v = 1)."
    )
    return finding(holds, paper="H = q; H = Omega(q)", ours=f"lists within {worst:.4f}", detail=detail)


def _listed_error(N: int, q: int) -> float:
    """Return the largest error, over all lists and all vectors in the unit ball, of the model with one head for each
    pointer.
    """
    codes, beta = pointers.trigonometric_codes(N, 1), pointers.score_scale(N, 1, leak=0.01, gap=1.0)
    W = pointers.pointer_head(3, 1, beta)
    mixes = {}
    for i in range(N):
        context_tokens = pointers.tokens(np.zeros((N, 1)), codes, np.zeros((N, 3)))
        z = np.concatenate([np.zeros(4), pointers.trigonometric_request(N, (i,))])
        mixes[i] = pointers.worst_error(attention(context_tokens, z, W), (i,))
    lists = [y for y in product(range(N), repeat=q) if len(set(y)) == q]
    return max(mixes[i] for y in lists for i in y)


def _missed(rng: np.random.Generator, *, H: int, v: int, q: int, d: int, N: int) -> float:
    """Return the share of variance of q of N normal vectors that the best decoder of H random heads misses."""
    mixing = softmax(3 * rng.standard_normal((H, N)))
    values = rng.standard_normal((H, v, d))
    L = np.concatenate([np.kron(mixing[h], values[h]) for h in range(H)])  # (H v, N d)
    known = np.linalg.pinv(L) @ L
    return float(1 - np.trace(known[: q * d, : q * d]) / (q * d))


def _antipodes(rng: np.random.Generator) -> float:
    """Return |f(x) - f(-x)| at an x on the circle found by bisection, for a random head f with scores of content."""
    slope, offset, value = rng.standard_normal(2), rng.standard_normal(2), rng.standard_normal()

    def odd(t: float) -> float:
        x = np.array([math.cos(t), math.sin(t)])
        outputs = [float(softmax(slope * side + offset) @ side) * value for side in (x, -x)]
        return outputs[0] - outputs[1]

    low, high = 0.0, math.pi  # odd(t + pi) = -odd(t)
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if odd(low) * odd(middle) <= 0 else (middle, high)
    return abs(odd(low))
