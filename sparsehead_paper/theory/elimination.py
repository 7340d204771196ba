"""Simulate how many s-sets of positions explain a random data set, for conjunctions and parities.

A learner that knows the family but not the support can do no better than to guess one of the supports that explain
the data. `consistent_counts` draws data sets and counts these supports; columns that the positive examples rule out
are never drawn.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sparsehead._base.errors import DomainError
from sparsehead._base.types import Array, Bool, Int, Shaped
from sparsehead.floor.bracket import check_class
from sparsehead.floor.floor import entropy

CAP = 200  # counting stops here: 1/N is then known to within 1/200


def consistent_counts(
    *, s: int, Ts: Sequence[int], m: int, p: float, trials: int, rng: np.random.Generator
) -> Int[Array, "trials n_T"]:
    """Return, for each trial and T, the number N of s-conjunctions that explain m samples of Bernoulli(p) bits.

    The true support is columns 0 .. s-1 (columns are exchangeable). A column can belong to an explanation only if it
    is 1 on all M positives, which has probability p^M. So the number of candidate columns outside the support is
    Binomial(T - s, p^M), and only their bits on the negatives are drawn. An s-set of columns explains the data iff no
    negative is 1 on all s columns, i.e. iff the AND of the columns, as bit masks over the negatives, is 0. Columns are
    added one at a time, so one pass gives N for every T of `Ts` on the same data: in every trial N grows with T.

    Counts are exact below CAP; a trial that reaches CAP stops, and its N is at least the number returned. If there are
    more than `column_limit(s)` candidate columns, wrong explanations are counted only among the first
    `column_limit(s)`, and the count is scaled up for the omitted columns (N is then far above 1, and grows with the
    columns at least as fast as the scaling). This is rare: at the threshold there are about 30 candidate columns.
    """
    check_class(s=s, T=min(Ts), m=m, p=p)
    if list(Ts) != sorted(Ts):
        raise DomainError(f"Ts must increase, got {list(Ts)}.")
    size = max(1, int(16e6 / (8 * math.comb(40, s - 1))))  # keeps the masks of one chunk near 16 MB
    chunks = [min(size, trials - start) for start in range(0, trials, size)]
    return np.concatenate([_count_chunk(s=s, Ts=Ts, m=m, p=p, trials=n, rng=rng) for n in chunks])


def column_limit(s: int) -> int:
    """Return a number of columns between 30 and 2000 with about 300,000 s-subsets, so that no trial takes long."""
    limit = 30
    while math.comb(limit + 1, s) <= 300_000 and limit < 2000:
        limit += 1
    return limit


def parity_counts(*, s: int, T: int, m: int, trials: int, rng: np.random.Generator) -> Int[Array, " trials"]:
    """Return, for each trial, the number N of s-parities that explain m samples of fair bits, by full enumeration.

    A trial enumerates C(T, s) sets; more than 2 million are refused (`floor.parity_bounds` has no such limit).
    Paper: parity-floor
    """
    check_class(s=s, T=T, m=m, p=0.5)
    if m > 62 or math.comb(T, s) > 2_000_000:
        raise DomainError(
            f"parity_counts enumerates C(T, s) sets of m-bit columns: it needs C(T, s) <= 2000000 and m <= 62, "
            f"got C({T}, {s}) = {math.comb(T, s)}, m={m}; parity_bounds brackets the answer for any T."
        )
    sets = np.array(list(itertools.combinations(range(T), s)))
    counts = np.empty(trials, dtype=np.int64)
    for trial in range(trials):
        columns = rng.integers(0, 2**m, size=T, dtype=np.int64)
        labels = np.bitwise_xor.reduce(columns[:s])
        counts[trial] = np.count_nonzero(np.bitwise_xor.reduce(columns[sets], axis=1) == labels)
    return counts


def _count_chunk(
    *, s: int, Ts: Sequence[int], m: int, p: float, trials: int, rng: np.random.Generator
) -> Int[Array, "trials n_T"]:
    relevant = rng.random((trials, s, m)) < p
    negative = np.asarray(~relevant.all(axis=1))
    survive = p ** (m - negative.sum(axis=1))  # p^M
    grow = [rng.binomial(T - T_before, survive) for T_before, T in itertools.pairwise([s, *Ts])]
    in_play = s + np.cumsum(np.array(grow).T, axis=1)  # columns in play at each T
    counts = np.zeros(in_play.shape, dtype=np.int64)
    limit = column_limit(s)
    looked_at = np.minimum(in_play, limit)

    alive = np.arange(trials)
    found = np.zeros(trials, dtype=np.int64)
    words = _pack(negative).shape[1]
    levels = [np.empty((trials, 0, words), dtype=np.uint64) for _ in range(s)]  # levels[j]: ANDs of j columns
    for k in range(int(looked_at.max())):
        bits = relevant[alive, k] if k < s else rng.random((len(alive), m)) < p
        mask = _pack(bits & negative[alive])
        found = found + _extend(levels, mask, k, s)
        done = looked_at[alive] == k + 1
        rows, cols = np.nonzero(done)
        counts[alive[rows], cols] = found[rows]
        full = found >= CAP
        for row in np.flatnonzero(full):
            later = looked_at[alive[row]] > k + 1
            counts[alive[row], later] = found[row]
        keep = ~full & (looked_at[alive, -1] > k + 1)
        if not keep.any():
            break
        alive, found = alive[keep], found[keep]
        if not keep.all():
            levels = [level[keep] for level in levels]
    return 1 + (counts - 1) * (in_play - s + 1) // (looked_at - s + 1)


def _extend(
    levels: list[Shaped[Array, "..."]], mask: Shaped[Array, "alive words"], k: int, s: int
) -> Int[Array, " alive"]:
    """Add column k to the ANDs of fewer than s columns; return the number of s-sets with AND = 0 that contain k.

    levels[j] contains, for each trial, the C(k, j) ANDs of j of the columns 0 .. k-1, in order of creation.
    """
    alive = len(mask)
    completed = np.zeros(alive, dtype=np.int64)
    if s == 1:
        return np.asarray(~mask.any(axis=1), dtype=np.int64)
    if k >= s - 1:
        n = math.comb(k, s - 1)
        ones_somewhere = np.zeros((alive, n), dtype=np.uint64)
        for word in range(mask.shape[1]):
            ones_somewhere |= levels[s - 1][:, :n, word] & mask[:, None, word]
        completed += n - np.count_nonzero(ones_somewhere, axis=1)
    for j in range(s - 1, 0, -1):
        n_new = math.comb(k, j - 1)
        new = mask[:, None, :] if j == 1 else levels[j - 1][:, :n_new] & mask[:, None, :]
        levels[j] = _append(levels[j], math.comb(k, j), new)
    return completed


def _append(
    level: Shaped[Array, "alive size words"], used: int, new: Shaped[Array, "alive n words"]
) -> Shaped[Array, "alive size_or_more words"]:
    """Write `new` after the first `used` entries; double a full array, so that copying has linear cost in total."""
    need = used + new.shape[1]
    if level.shape[1] < need:
        bigger = np.empty((len(new), max(16, 2 * need), new.shape[2]), dtype=np.uint64)
        bigger[:, :used] = level[:, :used] if used else 0
        level = bigger
    level[:, used:need] = new
    return level


def _pack(bits: Bool[Array, "alive m"]) -> Shaped[Array, "alive words"]:
    """Pack rows of bits into rows of 64-bit words, padded with zeros."""
    words = max(1, -(-bits.shape[1] // 64))
    packed = np.zeros((len(bits), 8 * words), dtype=np.uint8)
    as_bytes = np.packbits(bits, axis=1)
    packed[:, : as_bytes.shape[1]] = as_bytes
    return packed.view(np.uint64)


@dataclass(frozen=True)
class Identification:
    """P_opt = E(1/N) and P_unique = P(N = 1) at one (T, m), with standard errors. opt_error includes the error from
    counts that were stopped at CAP.
    """

    T: int
    m: int
    opt: float
    opt_error: float
    unique: float
    unique_error: float


def identification(
    *, s: int, Ts: Sequence[int], m: int, p: float, trials: int, rng: np.random.Generator
) -> list[Identification]:
    """Simulate P_opt and P_unique for s-conjunctions at m samples, one entry per T.   Paper: information-floor"""
    N = consistent_counts(s=s, Ts=Ts, m=m, p=p, trials=trials, rng=rng)
    share, alone = 1 / N, N == 1
    cut = (N >= CAP).mean(axis=0) / CAP
    return [
        Identification(
            T=int(T),
            m=m,
            opt=float(share[:, j].mean()),
            opt_error=float(share[:, j].std() / math.sqrt(trials) + cut[j]),
            unique=float(alone[:, j].mean()),
            unique_error=float(alone[:, j].std() / math.sqrt(trials)),
        )
        for j, T in enumerate(Ts)
    ]


def floor_slope(*, s: int, p: float) -> float:
    """Return samples per ln T to identify an s-conjunction: max_r (s-r) / (ln 2 p^r h(p^(s-r))), h the binary entropy.

    To distinguish the support I* from the sets that share exactly r positions with it, (s-r) log2 T bits are needed,
    and a sample gives H(label | the r shared bits) = p^r h(p^(s-r)) bits. For r = 0 the ratio is s log2 T / h(p^s), the
    number of bits of I* over the entropy of a label.

    A first-moment bound over sets that differ from I* in one position would give only 1 / -ln(1 - 2 p^s (1-p)): 7.5 at
    s = 3, p = 1/2, against 7.96 from r = 0. For balanced labels, p = 2^(-1/s), both are s / ln 2 (4.33 at s = 3).

    >>> round(floor_slope(s=3, p=0.5), 2), round(floor_slope(s=3, p=0.5 ** (1 / 3)), 2)
    (7.96, 4.33)
    """
    return max((s - r) / (math.log(2) * p**r * entropy(p ** (s - r), 1 - p ** (s - r))) for r in range(s))
