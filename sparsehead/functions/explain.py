"""Find the sets of s positions that explain a training set: exact for conjunctions, disjunctions and parities."""

import math
from collections.abc import Iterator
from itertools import combinations, islice

import numpy as np

from .._base.errors import DomainError, ShapeError
from .._base.rng import stream
from .._base.types import Array, Int, Shaped
from . import EXPLAINED, check_bits

Bits = Shaped[Array, "m T"]
Support = tuple[int, ...]


def explanations(bits: Bits, labels: Shaped[Array, " m"], s: int, kind: str, limit: int = 2) -> list[Support]:
    """Return supports of size s whose conjunction, disjunction or parity gives every label, at most `limit` of them.

    A training set is unambiguous iff limit >= 2 returns exactly one support. Noisy labels may have no explanation.

        and     s columns that are 1 in all examples with label 1, and not all 1 in any example with label 0
        or      the same, with the roles of 0 and 1 exchanged
        parity  s columns that add up to the labels modulo 2

    `and` and `or` take time linear in m T unless many columns meet the first condition. `parity` compares C(T, s/2)
    half-supports with each other, about 5 10^7 per second (T = 10^4 for s = 3). If these are too many and m is at
    least about T, it solves the linear system instead.

    Raises:
        DomainError: s, kind or limit is out of range, or a search for parities would take too long.
    """
    if bits.ndim != 2:
        raise ShapeError(f"bits of shape {bits.shape} arrived; a training set has shape (m, T).")
    m, T = bits.shape
    if labels.shape != (m,):
        raise ShapeError(f"{m} sequences need {m} labels, got labels of shape {labels.shape}.")
    if not 1 <= s <= T:
        raise DomainError(f"a support has between 1 and T={T} positions, got s={s}.")
    if limit < 1:
        raise DomainError(f"limit is how many explanations to look for, at least 1, got {limit}.")
    if kind not in EXPLAINED:
        raise DomainError(f"explanations of kind {kind!r} are unknown; the kinds are {', '.join(EXPLAINED)}.")
    bits = check_bits(bits, T).astype(bool)
    truth = check_bits(labels, m).astype(bool)
    if kind == "parity":
        found = _parities(bits, truth, s)
    elif kind == "and":
        found = _conjunctions(bits, truth, s)
    else:
        found = _conjunctions(~bits, ~truth, s)
    return sorted(islice(found, limit))


def _conjunctions(bits: Shaped[Array, "m T"], truth: Shaped[Array, " m"], s: int) -> Iterator[Support]:
    candidates = np.flatnonzero(np.logical_and.reduce(bits[truth], axis=0))
    refutes = np.ascontiguousarray(~bits[~truth][:, candidates].T)  # [c, i]: candidate c is 0 in negative i
    for chosen in _covers(refutes, s):
        yield tuple(sorted(candidates[list(chosen)].tolist()))


def _covers(sets: Shaped[Array, "n q"], r: int) -> Iterator[Support]:
    """Yield each choice of r rows whose union contains every column, once.

    Branch on the column that the fewest rows contain: one of those rows must be chosen. A row that was tried is
    excluded from later branches, so no choice appears twice.
    """
    n, q = sets.shape
    if q == 0:
        yield from combinations(range(n), r)
        return
    sizes = sets.sum(axis=1)
    if r == 0 or n < r or np.sort(sizes)[n - r :].sum() < q:
        return
    if r == 1:
        yield from ((int(c),) for c in np.flatnonzero(sizes == q))
        return
    pivot = int(sets.sum(axis=0).argmin())
    allowed = np.ones(n, dtype=bool)
    for c in np.flatnonzero(sets[:, pivot]).tolist():
        allowed[c] = False
        rest = np.flatnonzero(allowed)
        for others in _covers(sets[np.ix_(rest, np.flatnonzero(~sets[c]))], r - 1):
            yield (c, *rest[list(others)].tolist())


def _parities(bits: Shaped[Array, "m T"], truth: Shaped[Array, " m"], s: int) -> Iterator[Support]:
    m, T = bits.shape
    half = s - s // 2
    stored = math.comb(T, s // 2)
    # One array operation tries every last position; a loop runs over the others, at about 1000 steps a turn.
    work = math.comb(T, half) + 1000 * math.comb(T, half - 1)
    most_free = 16  # free dimensions of a linear system whose solutions are listed
    # Up to 10^8 steps (a second or two) comparing is faster than elimination.
    if max(stored, work) > 10**8 and m >= T - most_free:
        base, free = _solve(bits, truth)
        if len(free) <= most_free:
            return _light_solutions(base, free, s)
    # 2 10^7 hashes take 160 MB, and as much again to sort them; 10^10 comparisons take two or three minutes.
    if stored > 2 * 10**7 or work > 10**10:
        raise DomainError(
            f"the parities of s={s} among T={T} positions are too many to compare with m={m} samples "
            f"({max(stored, work):.1e} steps); use a smaller s or T, or m >= T."
        )
    return _met_in_the_middle(bits, truth, s)


def _solve(bits: Shaped[Array, "m T"], truth: Shaped[Array, " m"]) -> tuple[int | None, list[int]]:
    """Return a solution x of  bits x = truth  modulo 2 (None if unsolvable) and a basis of the kernel, as bit masks."""
    T = bits.shape[1]
    rows = [_mask(np.append(row, label)) for row, label in zip(bits, truth)]
    pivots: dict[int, int] = {}  # leading position -> reduced row
    for row in rows:
        for place, reduced in pivots.items():
            if row >> place & 1:
                row ^= reduced
        if row & ((1 << T) - 1):
            lead = (row & -row).bit_length() - 1
            pivots = {place: other ^ row if other >> lead & 1 else other for place, other in pivots.items()}
            pivots[lead] = row
        elif row:
            return None, []  # the row says 0 = 1
    base = sum(1 << place for place, row in pivots.items() if row >> T & 1)
    free = [
        1 << t | sum(1 << place for place, row in pivots.items() if row >> t & 1)
        for t in range(T)
        if t not in pivots
    ]
    return base, free


def _mask(row: Shaped[Array, " n"]) -> int:
    return int.from_bytes(np.packbits(row, bitorder="little").tobytes(), "little")


def _light_solutions(base: int | None, free: list[int], s: int) -> Iterator[Support]:
    """Yield the solutions with exactly s ones, visiting all 2^|free| solutions in Gray code order."""
    if base is None:
        return
    x = base
    for step in range(1, 2 ** len(free) + 1):
        if x.bit_count() == s:
            yield tuple(t for t in range(x.bit_length()) if x >> t & 1)
        if step < 2 ** len(free):
            x ^= free[(step & -step).bit_length() - 1]


def _met_in_the_middle(bits: Shaped[Array, "m T"], truth: Shaped[Array, " m"], s: int) -> Iterator[Support]:
    """Yield the supports whose parity gives every label, by a meet-in-the-middle search.

    Split a support into its s // 2 smallest positions and the others. It explains the labels iff the columns of the
    first part add up (modulo 2) to the labels plus the columns of the second. 64-bit hashes that are linear modulo 2
    replace the columns; supports whose hashes agree are then compared in full.
    """
    keys = _hashes(bits)
    goal = _hashes(truth[:, None])[0]
    low, low_sums = _subsets(keys, s // 2)
    order = np.argsort(low_sums)
    low, low_sums = low[order], low_sums[order]
    # Number of hash bits in a filter that rejects 98 of 100 sums before the binary search.
    width = min(26, len(low).bit_length() + 6)
    last_bits = np.uint64(2**width - 1)
    seen = np.zeros(2**width, dtype=bool)
    seen[low_sums & last_bits] = True
    for prefix in combinations(range(len(keys)), s - s // 2 - 1):
        first = prefix[-1] + 1 if prefix else 0
        wanted = keys[first:] ^ (goal ^ np.bitwise_xor.reduce(keys[list(prefix)], initial=np.uint64(0)))
        places = np.flatnonzero(seen[wanted & last_bits])
        starts = np.searchsorted(low_sums, wanted[places], "left")
        stops = np.searchsorted(low_sums, wanted[places], "right")
        for hit in np.flatnonzero(starts < stops).tolist():
            high = (*prefix, first + int(places[hit]))
            for below in low[starts[hit] : stops[hit]].tolist():
                support = (*below, *high)
                if (not below or below[-1] < high[0]) and _adds_up(bits, truth, support):
                    yield support


def _hashes(columns: Shaped[Array, "m n"]) -> Shaped[Array, " n"]:
    """Return 64-bit hashes of m-bit columns: up to m = 64 the columns, else their image under a random linear map."""
    m = len(columns)
    if m <= 64:
        words = np.uint64(1) << np.arange(m, dtype=np.uint64)
    else:
        words = stream(0, "parity hash").integers(0, 2**64, size=m, dtype=np.uint64)
    keys = np.zeros(columns.shape[1], dtype=np.uint64)
    for row, word in zip(columns, words):
        keys[row] ^= word
    return keys


def _subsets(keys: Shaped[Array, " T"], size: int) -> tuple[Int[Array, "n size"], Shaped[Array, " n"]]:
    """Return all subsets of `size` positions in ascending order, and the xor of the keys of each."""
    T = len(keys)
    subsets, sums = np.zeros((1, 0), dtype=np.int64), np.zeros(1, dtype=np.uint64)
    for depth in range(size):
        first = subsets[:, -1] + 1 if depth else np.zeros(1, dtype=np.int64)
        room = T - first
        owner = np.repeat(np.arange(len(subsets)), room)
        step = np.arange(len(owner)) - np.repeat(np.cumsum(room) - room, room)
        last = first[owner] + step
        subsets, sums = np.column_stack([subsets[owner], last]), sums[owner] ^ keys[last]
    return subsets, sums


def _adds_up(bits: Shaped[Array, "m T"], truth: Shaped[Array, " m"], support: Support) -> bool:
    return bool(np.array_equal(np.logical_xor.reduce(bits[:, list(support)], axis=1), truth))
