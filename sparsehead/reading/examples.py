"""Labelled examples: read them from a file, and check whether they can satisfy the assumptions of a bound.

A bound assumes independent rows; some bounds also assume bits that are independent and 1 with probability p. A check
can refute an assumption but not prove it. A sample that satisfies the assumption is refused in about one of 1000 cases.
"""

import math
from pathlib import Path

import numpy as np

from .._base.errors import FileError, ParseError
from .._base.types import Array, Shaped

LARGEST_BYTES = 2**30  # of a file; a training set of 1000 examples of 10^5 bits takes 0.2 GB
LEVEL = 1e-3  # probability of refusing Bernoulli(p) bits because of the ones at some position
DEVIATIONS = 6  # standard deviations by which a sum over pairs of examples may differ from its mean
MOST_PRODUCTS = 2**34  # of bits, for the sums over pairs: a few seconds
BITS_AT_ONCE = 2**22  # held as float64: 32 MB


def read_examples(path: str | Path, *, T: int) -> tuple[Shaped[Array, "m T"], Shaped[Array, " m"]]:
    """Return bits (m, T) and labels (m,) of a text file with T bits and a label on each line, separated by commas,
    spaces or nothing, such as "0,1,1,0,1" (T = 4, label 1). Empty lines are skipped.

    Raises:
        FileError: the file cannot be read, is not a regular file, or is larger than 1 GB.
        ParseError: a line has other characters or another length; the message says which line.
    """
    file = Path(path)
    try:
        if not file.is_file():
            raise FileError(
                f"{file} is no file; examples are a text file with T bits and a label on each line."
            )
        if (size := file.stat().st_size) > LARGEST_BYTES:
            raise FileError(f"{file} has {size} bytes; examples are read up to {LARGEST_BYTES}.")
        lines = file.read_bytes().splitlines()
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"{file} cannot be read: {error.strerror or error}.") from None
    rows = []
    for number, line in enumerate(lines, start=1):
        digits = line.replace(b",", b"").replace(b" ", b"").strip()
        if not digits:
            continue
        row = np.frombuffer(digits, dtype=np.uint8) - ord("0")
        if row.max() > 1 or len(row) != T + 1:
            raise ParseError(
                f"line {number} of {file} is not T={T} bits and a label, each 0 or 1; it has {len(row)} entries."
            )
        rows.append(row)
    if not rows:
        raise ParseError(f"{file} holds no examples; each line has T={T} bits and a label.")
    table = np.array(rows)
    return table[:, :-1], table[:, -1]


def copies(bits: Shaped[Array, "m T"]) -> str | None:
    """Return a sentence that says why these rows are not independent (too many are equal); None if they may be.

    Rows that are only similar are not detected, since bits of independent examples may depend on each other.
    """
    pairs, mean, variance = equal_pairs(bits)
    # One more equal pair hardly changes any bound.
    if pairs <= mean + DEVIATIONS * math.sqrt(variance) + 1:
        return None
    return (
        f"{pairs} pairs of the {len(bits)} examples are equal where independent ones with these shares of ones have "
        f"{mean:.2g}, so they are not independent"
    )


def equal_pairs(bits: Shaped[Array, "m T"]) -> tuple[int, float, float]:
    """Return the number of pairs of equal rows, and its mean and variance if bits were independent.

    Each position keeps its share of ones. Let a be the probability that two such rows are equal, and b that three are.
    Then the mean is C(m, 2) a and the variance C(m, 2) a (1 - a) + m (m-1) (m-2) (b - a^2).
    """
    m = len(bits)
    _, counts = np.unique(np.packbits(bits.astype(bool), axis=1), axis=0, return_counts=True)
    q = bits.mean(axis=0)
    two, three = float(np.prod(q**2 + (1 - q) ** 2)), float(np.prod(q**3 + (1 - q) ** 3))
    mean = m * (m - 1) / 2 * two
    variance = mean * (1 - two) + m * (m - 1) * (m - 2) * max(0.0, three - two**2)
    return int((counts * (counts - 1) // 2).sum()), mean, variance


def unlike(bits: Shaped[Array, "m T"], p: float) -> str | None:
    """Return why these are not independent rows of independent Bernoulli(p) bits; None if they may be.

    Three checks: the number of ones at each position is compared with both tails of Bin(m, p) at `LEVEL`/(2 T) each,
    so that a true p is refused with probability at most `LEVEL`; and two sums over pairs of examples (`pair_sums`) show
    small deviations at many positions, bits that depend on each other, and rows that are similar.
    """
    from scipy.special import bdtr, bdtrc

    m, T = bits.shape
    ones = bits.sum(axis=0, dtype=np.int64)
    tails = np.minimum(bdtr(ones, m, p), bdtrc(ones - 1, m, p))
    t = int(tails.argmin())
    if tails[t] < LEVEL / (2 * T):
        return f"x{t} is 1 in {ones[t]} of {m} examples, which does not fit p = {p:.4g}"
    shares, squares = pair_sums(bits, p)
    if abs(shares) > DEVIATIONS:
        return f"the ones at all positions do not fit p = {p:.4g} ({shares:+.1f} standard deviations in sum)"
    if abs(squares) > DEVIATIONS:
        return f"bits or examples are not independent ({squares:+.1f} standard deviations at p = {p:.4g})"
    return None


def pair_sums(bits: Shaped[Array, "m T"], p: float) -> tuple[float, float]:
    """Return the sums of g and g^2 over pairs of rows, each in standard deviations from its mean.

    g is the inner product of two rows of z = (bits - p) / sqrt(p (1-p)). Let k = E z^4 = (1 - 3 p (1-p)) / (p (1-p)),
    and n the number of pairs of rows. Independent Bernoulli(p) bits give

        sum of g      mean 0,    variance n T
        sum of g^2    mean n T,  variance n (3 T (T-1) + T k^2 - T^2) + m (m-1) (m-2) T (k - 1).

    The first sum grows with the squared deviations of the ones at each position, the second also with the squared
    covariances of all pairs of positions. If there are too many rows for `MOST_PRODUCTS`, only the first ones are used.
    """
    T = bits.shape[1]
    m = min(len(bits), max(2, math.isqrt(MOST_PRODUCTS // T)))
    products = np.zeros((m, m))
    step = max(1, BITS_AT_ONCE // m)
    for start in range(0, T, step):
        z = (bits[:m, start : start + step] - p) / math.sqrt(p * (1 - p))
        products += z @ z.T
    g = products[np.triu_indices(m, 1)]
    n, k = len(g), (1 - 3 * p * (1 - p)) / (p * (1 - p))
    variance = n * (3 * T * (T - 1) + T * k**2 - T**2) + m * (m - 1) * (m - 2) * T * (k - 1)
    shares = float(g.sum()) / math.sqrt(max(n, 1) * T)
    # At T = 1 and p = 1/2 every product is 1 or -1 and the variance is 0.
    excess = float((g**2).sum()) - n * T
    return shares, excess / math.sqrt(variance) if variance > 1e-9 else 0.0
