"""Tokens with pointers: the definitions of q-sparse averaging and q-sparse token regression, and heads written for
them.

A context has N tokens; token i has a vector z_i of d entries. A pointer set or list y names q of the N positions.

    averaging    (Sanford, Hsu and Telgarsky, arXiv 2306.02896)  z, y -> the mean of z_i over i in y
    regression   (arXiv 2503.11272)  z, y -> g(z_{y_1}, .., z_{y_q}) for a known g; `reported`, the list of the q
                 vectors themselves, is the hardest such task, since every g can be computed from it

For q = 1 both are single-location regression. The head that looks up y has one query, made from y alone, and the N
tokens as its context. Its keys are codes of positions, so that a request w gives position i the score beta <w, u_i>,
and its values are the z_i.

    trigonometric   u_i = (1, cos t_i, sin t_i, .., cos q t_i, sin q t_i), t_i = 2 pi i/N: width 2q + 1
    signs           u_i random with entries +-1/sqrt(p): width p
"""

import math
from collections.abc import Sequence

import numpy as np

from sparsehead._base.errors import DomainError
from sparsehead._base.types import Array, Float
from sparsehead.heads.heads import HeadWeights


def average(z: Float[Array, "N d"], y: Sequence[int]) -> Float[Array, " d"]:
    """Return the mean of the vectors that y points to.   Paper: sparse-averaging

    >>> average(np.array([[1.0], [5.0], [3.0]]), (0, 2)).tolist()
    [2.0]
    """
    total = np.zeros(z.shape[1])
    for i in y:
        total = total + z[i]
    return np.asarray(total / len(y))


def reported(z: Float[Array, "N d"], y: Sequence[int]) -> Float[Array, " qd"]:
    """Return the vectors that y points to, one after another in the order of y.   Paper: token-regression

    >>> reported(np.array([[1.0], [5.0], [3.0]]), (2, 0)).tolist()
    [3.0, 1.0]
    """
    return np.array([entry for i in y for entry in z[i]])


def trigonometric_codes(N: int, q: int) -> Float[Array, "N p"]:
    """Return codes of N positions whose width is p = 2q + 1: the values of a basis of trigonometric polynomials."""
    angles = 2 * np.pi * np.arange(N) / N
    waves = [wave(k * angles) for k in range(1, q + 1) for wave in (np.cos, np.sin)]
    return np.column_stack([np.ones(N), *waves])


def trigonometric_request(N: int, y: Sequence[int]) -> Float[Array, " p"]:
    """Return w with <w, u_i> = 1 on y and at most 0 elsewhere, for the codes u_i: 1 - g_i/min g, the minimum over
    positions outside y.

    g_i = prod over j in y of (1 - cos(t_i - t_j)), t_i = 2 pi i/N, is a trigonometric polynomial of degree q that is
    zero on y and positive elsewhere. Its coefficients are found by multiplying its factors.
    Paper: sparse-averaging
    """
    q = len(y)
    angles = 2 * np.pi * np.arange(N) / N
    outside = [i for i in range(N) if i not in set(y)]
    product = np.array([1.0 + 0.0j])  # coefficients of e^(i k t), k = -r .. r, after r factors
    for j in y:
        factor = -0.5 * np.exp(1j * angles[j]), 1.0, -0.5 * np.exp(-1j * angles[j])
        product = np.convolve(product, factor)
    waves = [part for k in range(1, q + 1) for part in (2 * product[q + k].real, -2 * product[q + k].imag)]
    g = np.array([product[q].real, *waves])
    least = min(math.prod(1 - math.cos(angles[i] - angles[j]) for j in y) for i in outside)
    first = np.eye(2 * q + 1)[0]
    return np.asarray(first - g / least)


def sign_codes(N: int, p: int, *, rng: np.random.Generator) -> Float[Array, "N p"]:
    """Return N random codes with entries +-1/sqrt(p)."""
    return rng.choice([-1.0, 1.0], size=(N, p)) / math.sqrt(p)


def least_norm_request(codes: Float[Array, "N p"], y: Sequence[int]) -> Float[Array, " p"]:
    """Return the shortest w with <w, u_i> = 1 for all i in y, where u_i is the code of position i.

    Raises:
        DomainError: the codes of y are linearly dependent.
    """
    own = codes[list(y)]
    if np.linalg.matrix_rank(own) < len(y):
        raise DomainError(f"the codes of positions {tuple(y)} are linearly dependent; use wider codes.")
    return np.asarray(np.linalg.pinv(own) @ np.ones(len(y)))


def largest_outside(codes: Float[Array, "N p"], w: Float[Array, " p"], y: Sequence[int]) -> float:
    """Return the largest <w, u_i> over the positions i outside y, where u_i is the code of position i."""
    return float(np.delete(codes @ w, list(y)).max())


def sign_width(N: int, q: int, failure: float) -> int:
    """Return a width at which random sign codes admit a request for every y, except with probability `failure`.

    p = (3072/11) (3q ln(3eN/q) + ln(2/failure)), rounded up: then every set of 3q codes is nearly orthonormal (theory
    12.1), and every y of q positions has a w that is 1 on y and at most 1/2 elsewhere.   Paper: sparse-averaging
    """
    return math.ceil(3072 / 11 * (3 * q * math.log(3 * math.e * N / q) + math.log(2 / failure)))


def score_scale(N: int, q: int, *, leak: float, gap: float) -> float:
    """Return beta = ln((N - q)(1 - leak)/(q leak))/gap, with which at most `leak` of the attention lies outside y.

    The products <w, u_i> of request and code are equal on y and lower by at least `gap` elsewhere.
    Paper: sparse-averaging
    """
    return math.log((N - q) * (1 - leak) / (q * leak)) / gap


def pointer_head(p: int, d: int, beta: float) -> HeadWeights:
    """Return the head on tokens (z_i, u_i, w), d + 2p entries: keys are codes, queries beta times requests, values z.

    Paper: sparse-averaging
    """
    width = d + 2 * p
    eye, zeros = np.eye(p), np.zeros
    return HeadWeights(
        W_Q=np.vstack([zeros((d + p, p)), beta * eye]),
        W_K=np.vstack([zeros((d, p)), eye, zeros((p, p))]),
        W_V=np.vstack([np.eye(d), zeros((2 * p, d))]),
        W_C=np.eye(d, width),
    )


def tokens(
    z: Float[Array, "N d"], codes: Float[Array, "N p"], requests: Float[Array, "N p"]
) -> Float[Array, "N w"]:
    """Return the tokens (z_i, u_i, w_i) of a context, one per row."""
    return np.hstack([z, codes, requests])


def worst_error(attention: Float[Array, " N"], y: Sequence[int]) -> float:
    """Return sup over all z_i of length at most 1 of the distance from the mixed value to the mean over y.

    The difference is sum_i c_i z_i with c_i = a_i - [i in y]/q for the attention a_i, so the supremum is sum_i |c_i|:
    take z_i = sign(c_i) e, e a unit vector.

    Paper: sparse-averaging
    """
    return math.fsum(abs(float(a) - (1 / len(y) if i in set(y) else 0.0)) for i, a in enumerate(attention))


def least_bits(N: int, q: int) -> float:
    """Return log2 C(N, q), the bits that queries need if every y gets an error below 1/q.

    Paper: sparse-averaging-bits
    """
    return math.log2(math.comb(N, q))


def share_missed(H: int, v: int, *, q: int, d: int) -> float:
    """Return max(0, 1 - H v/(q d)), a lower bound on the share of the target's variance that H heads with values of
    width v miss.

    For independent standard normal entries of z and scores made from positions and pointers alone (theory 12.3).

    Paper: token-regression
    """
    return max(0.0, 1 - H * v / (q * d))
