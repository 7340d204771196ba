"""Whether labelled examples can be what a bound takes them for: independent rows, and bits that are 1 with chance p.

A check can refute this and cannot show it. A sample that is what it is said to be is refused by chance in about one of
a thousand cases.
"""

import math

import numpy as np

from .._base.types import Array, Shaped

LEVEL = 1e-3  # probability of refusing Bernoulli(p) bits because of the ones at some position
DEVIATIONS = 6  # standard deviations by which a sum over pairs of examples may differ from its mean
WORK = 2**34  # products of bits that the sums over pairs may take: a few seconds
BLOCK = 2**22  # bits held as float64 at once


def copies(bits: Shaped[Array, "m T"]) -> str | None:
    """Why these rows are no independent examples: more of them are equal than chance makes; None where they are not.

    Rows that resemble each other are not noticed: the bits of independent examples may depend on each other.
    """
    pairs, mean, variance = equal_pairs(bits)
    # One equal pair more changes no bound that can be seen.
    if pairs <= mean + DEVIATIONS * math.sqrt(variance) + 1:
        return None
    return (
        f"{pairs} pairs of the {len(bits)} examples are equal where independent ones with these shares of ones have "
        f"{mean:.2g}, so they are no independent examples"
    )


def equal_pairs(bits: Shaped[Array, "m T"]) -> tuple[int, float, float]:
    """The number of pairs of equal rows, and its mean and variance for independent bits with these shares of ones.

    With a the probability that two such rows are equal and b that three are, they are C(m, 2) a and
    C(m, 2) a (1 - a) + m (m-1) (m-2) (b - a^2).
    """
    m = len(bits)
    _, counts = np.unique(np.packbits(bits.astype(bool), axis=1), axis=0, return_counts=True)
    q = bits.mean(axis=0)
    two, three = float(np.prod(q**2 + (1 - q) ** 2)), float(np.prod(q**3 + (1 - q) ** 3))
    mean = m * (m - 1) / 2 * two
    variance = mean * (1 - two) + m * (m - 1) * (m - 2) * max(0.0, three - two**2)
    return int((counts * (counts - 1) // 2).sum()), mean, variance


def unlike(bits: Shaped[Array, "m T"], p: float) -> str | None:
    """Why these are no independent rows of independent Bernoulli(p) bits; None where nothing speaks against it.

    Three checks: the ones at each position, against both tails of Bin(m, p) at `LEVEL`/(2 T) each, so that a true p
    is refused with probability `LEVEL` at the most; and two sums over pairs of examples (`pair_sums`), which small
    deviations at many positions, bits that depend on each other and rows that resemble each other all change.
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
        return (
            f"the ones at all positions together do not fit p = {p:.4g} ({shares:+.1f} standard deviations)"
        )
    if abs(squares) > DEVIATIONS:
        return f"bits or examples are not independent ({squares:+.1f} standard deviations at p = {p:.4g})"
    return None


def pair_sums(bits: Shaped[Array, "m T"], p: float) -> tuple[float, float]:
    """The sums of g and of g^2 over pairs of rows, g their product, in standard deviations from their means.

    Let z be the bits less p, divided by sqrt(p (1-p)), k = E z^4 = (1 - 3 p (1-p)) / (p (1-p)), and n the number of
    pairs of rows. Independent Bernoulli(p) bits give

        sum of g      mean 0,    variance n T
        sum of g^2    mean n T,  variance n (3 T (T-1) + T k^2 - T^2) + m (m-1) (m-2) T (k - 1).

    The first is that of the squared deviations of the ones at each position; the second also that of the squared
    covariances of all pairs of positions. Rows beyond what `WORK` allows are left out.
    """
    T = bits.shape[1]
    m = min(len(bits), max(2, math.isqrt(WORK // T)))
    products = np.zeros((m, m))
    step = max(1, BLOCK // m)
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
