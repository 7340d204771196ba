"""Small classes with known lower bounds of their covering numbers, for tests of forms.

Members that are pairwise more than 2 eps apart lie in different balls of radius eps, so a packing of P members shows
N(eps) >= P for any cover, proper or not. None of these numbers uses a formula of a form:

    interval        one number w in [-a, a] on one point b: exactly ceil(ab/eps) balls
    signs           matrices, or heads, with k entries +-t on orthogonal points: all C(n, k) 2^k are far apart
    volume          a ball of matrices on orthogonal points: its volume divided by that of a ball of radius eps
    finite          random members on random points, and the largest packing, found exactly

Each class has the largest norms of its members, so that it lies in the class that any form describes by these norms.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice

import numpy as np

from .._base.log_math import log_binomial
from .._base.types import Array, Bool, Float
from .head_class import HeadClass
from .norms import MatrixNorms, matrix_norms

JUST_BELOW = 1 - 1e-9  # of half a distance: members at this distance are more than 2 eps apart


@dataclass(frozen=True)
class SmallClass:
    """A class with ln N(eps) >= log_lower: matrices W on N points of length at most b, or heads on m sequences.

    kind: "linear" for x -> x W, "bilinear" for scores z^T W x, "heads". text: the class in words.
    """

    kind: str
    text: str
    eps: float
    log_lower: float
    W: MatrixNorms | None = None
    log_N: float = 0.0
    b: float = 1.0
    heads: HeadClass | None = None
    m: int = 1
    T: int = 1


def small_classes(rng: np.random.Generator, kinds: Sequence[str], count: int) -> Iterator[SmallClass]:
    """Yield `count` random classes of these kinds, the families in turn."""
    families: dict[str, list[Callable[[np.random.Generator], SmallClass]]] = {
        "linear": [interval, sign_matrices, volume, low_rank, finite_matrices],
        "bilinear": [score_interval, score_signs, score_volume, finite_scores],
        "heads": [sign_heads, finite_heads],
    }
    makers = [make for kind in kinds for make in families[kind]]
    return (make(rng) for make in islice(cycle(makers), count))


def interval(rng: np.random.Generator) -> SmallClass:
    """Return all numbers w in [-a, a], applied to one point b: ceil(ab/eps) balls of radius eps cover [-ab, ab]."""
    a, b, r = _size(rng), _size(rng), float(rng.uniform(1, 30))
    balls = math.ceil(r * JUST_BELOW)
    one = MatrixNorms(a, a, a, a, a, 1, 1)
    return SmallClass("linear", "one number on one point", a * b / r, math.log(balls), one, 0.0, b)


def score_interval(rng: np.random.Generator) -> SmallClass:
    return replace(interval(rng), kind="bilinear")


def sign_matrices(rng: np.random.Generator) -> SmallClass:
    """Return the class of matrices with k entries t or -t, all others 0, on the points b e_i with unit vectors e_i.

    The values of two different matrices differ by b t or more at some point.
    """
    rows, columns = round(10 ** rng.uniform(0, 6)), int(rng.choice([1, 1, 2, 5]))
    return _signs("linear", rows, columns, N=rows, k=int(rng.integers(1, min(12, rows) + 1)), rng=rng)


def score_signs(rng: np.random.Generator) -> SmallClass:
    """Return the class of the matrices of `sign_matrices`, used as scores on all pairs (e_i, e_j) of unit vectors."""
    d = round(10 ** rng.uniform(0, 3))
    return _signs("bilinear", d, d, N=d * d, k=int(rng.integers(1, min(12, d) + 1)), rng=rng)


def _signs(kind: str, rows: int, columns: int, *, N: int, k: int, rng: np.random.Generator) -> SmallClass:
    t, b = _size(rng), _size(rng)
    norms = MatrixNorms(
        frobenius=t * math.sqrt(k),
        spectral=t * math.sqrt(k),
        n21=t * _spread(k, columns),
        n21_T=t * _spread(k, rows),
        n11=t * k,
        rows=rows,
        columns=columns,
    )
    text = f"{rows} x {columns} matrices with {k} entries +-t on {N} orthogonal points"
    log_lower = log_binomial(rows * columns, k) + k * math.log(2)
    return SmallClass(kind, text, b * t / 2 * JUST_BELOW, log_lower, norms, math.log(N), b)


def _spread(k: int, groups: int) -> float:
    """Return the largest sum of sqrt(k_j) over j = 1, .., `groups`, for nonnegative whole numbers k_j with sum k."""
    each, more = divmod(k, groups)
    return (groups - more) * math.sqrt(each) + more * math.sqrt(each + 1)


def volume(rng: np.random.Generator) -> SmallClass:
    """Return the class of all n x c matrices with ||W||_{2,1} <= B on the points b e_i, where e_i are unit vectors. The
    distance of two matrices V, W is max_i b ||row i of V - W||.

    The volume of the class is (S Gamma(n))^c B^{nc} / Gamma(nc + 1), where S is the surface of the unit ball in R^n; a
    ball of radius eps in this distance is a product of n balls of radius eps/b in R^c.
    """
    n, c, B, b = int(rng.integers(1, 7)), int(rng.integers(1, 5)), _size(rng), _size(rng)
    r = float(10 ** rng.uniform(0.3, 3))
    log_surface = math.log(2) + n / 2 * math.log(math.pi) - math.lgamma(n / 2)
    log_class = c * (log_surface + math.lgamma(n)) - math.lgamma(n * c + 1) + n * c * math.log(r)
    norms = MatrixNorms(B, B, B, B * math.sqrt(n), B * math.sqrt(n), n, c)
    lower = max(log_class - n * _log_ball(c), 0.0)
    return SmallClass(
        "linear", f"all {n} x {c} matrices of bounded ||W||_21", B * b / r, lower, norms, math.log(n), b
    )


def low_rank(rng: np.random.Generator) -> SmallClass:
    """A class of `volume`, put into the first rows or columns of larger matrices, which then have small rank."""
    small = volume(rng)
    assert small.W is not None
    n, c, more = small.W.rows, small.W.columns, int(rng.integers(1, 30))
    wide = bool(rng.integers(2))
    rows, columns = (n, c + more) if wide else (n + more, c)
    W = replace(small.W, rows=rows, columns=columns, rank=min(n, c))
    return replace(small, text=f"{small.text}, as a part of {rows} x {columns} matrices", W=W)


def score_volume(rng: np.random.Generator) -> SmallClass:
    """Return the class of d x d matrices with ||W||_F <= B, as scores e_i^T W e_j on all pairs of unit vectors."""
    d, B, b = int(rng.integers(1, 4)), _size(rng), _size(rng)
    r = float(10 ** rng.uniform(0.3, 3))
    lower = max(_log_ball(d * d) + d * d * math.log(r / 2), 0.0)
    n21 = B * math.sqrt(d)
    norms = MatrixNorms(B, B, n21, n21, B * d, d, d)
    return SmallClass(
        "bilinear", f"all {d} x {d} scores of bounded ||W||_F", B * b / r, lower, norms, 2 * math.log(d), b
    )


def _log_ball(n: int) -> float:
    """Return ln of the volume of the unit ball in R^n."""
    return n / 2 * math.log(math.pi) - math.lgamma(n / 2 + 1)


def finite_matrices(rng: np.random.Generator) -> SmallClass:
    """A few random matrices on random points."""
    rows, columns, N = (int(x) for x in rng.integers(1, [4, 4, 5]))
    W = _members(rng, (rows, columns))
    X = rng.normal(size=(N, rows)) * _size(rng)
    eps, lower = _packed(np.einsum("ni,wij->wnj", X, W), rng)
    b = float(np.linalg.norm(X, axis=1).max())
    text = f"{len(W)} random {rows} x {columns} matrices on {N} points"
    return SmallClass("linear", text, eps, lower, _largest(W), math.log(N), b)


def finite_scores(rng: np.random.Generator) -> SmallClass:
    """A few random matrices as scores on random pairs."""
    d, N = (int(x) for x in rng.integers(1, [4, 6]))
    W = _members(rng, (d, d))
    X, Z = rng.normal(size=(2, N, d)) * _size(rng)
    eps, lower = _packed(np.einsum("ni,wij,nj->wn", Z, W, X)[:, :, None], rng)
    b = float((np.linalg.norm(X, axis=1) * np.linalg.norm(Z, axis=1)).max())
    return SmallClass(
        "bilinear", f"{len(W)} random {d} x {d} scores on {N} pairs", eps, lower, _largest(W), math.log(N), b
    )


def sign_heads(rng: np.random.Generator) -> SmallClass:
    """Return a class of heads on sequences of two tokens, (1, e_i) and -(1, e_i) in sequence i, with scores kappa_i and
    -kappa_i.

    e_i is a unit vector. A token's value is v times its first entry, so the output on sequence i is v tanh(kappa_i). If
    k entries of kappa are t or -t and the others 0, two different heads differ by v tanh t or more on some sequence.
    """
    m = round(10 ** rng.uniform(0, 5))
    k, t, v = int(rng.integers(1, min(12, m) + 1)), float(10 ** rng.uniform(-2, 0.5)), _size(rng)
    F, BX = t * math.sqrt(k), math.sqrt(2)
    heads = HeadClass(v, v, F, BX, 1.0, k=1, d=m + 1, V11=v, QK11=t * k, QK21=F)
    lower = log_binomial(m, k) + k * math.log(2)
    text = f"heads with {k} scores +-{t:.3g} on {m} sequences"
    return SmallClass("heads", text, v * math.tanh(t) / 2 * JUST_BELOW, lower, heads=heads, m=m, T=2)


def finite_heads(rng: np.random.Generator) -> SmallClass:
    """A few random functions on random tokens: sums of one or two heads, in half of the classes read by a vector w."""
    d, k, m, T, H = (int(x) for x in rng.integers(1, [4, 3, 5, 5, 3]))
    V, QK, w = _members(rng, (H, d, k)), _members(rng, (H, d, d), 14), _members(rng, (k,), 14)
    n, QK, w = len(V), QK[: len(V)], w[: len(V)]
    X, z = rng.normal(size=(m, T, d)) * _size(rng), rng.normal(size=(m, d)) * _size(rng)
    scores = np.einsum("mj,nhji,mti->nhmt", z, QK, X)
    weights = np.exp(scores - scores.max(axis=3, keepdims=True))
    attended = np.einsum("nhmt,mti->nhmi", weights / weights.sum(axis=3, keepdims=True), X)
    sigma = (lambda x: x, lambda x: np.maximum(x, 0), np.tanh)[int(rng.integers(3))]
    outputs = sigma(np.einsum("nhmi,nhik->nhmk", attended, V)).sum(axis=1)
    scalar = bool(rng.integers(2))
    eps, lower = _packed(np.einsum("nmk,nk->nm", outputs, w)[:, :, None] if scalar else outputs, rng)
    of_V, of_QK = _largest(V.reshape(n * H, d, k)), _largest(QK.reshape(n * H, d, d))
    heads = HeadClass(
        of_V.n21, of_V.spectral, of_QK.frobenius, float(np.linalg.norm(X, axis=2).max()),
        float(np.linalg.norm(z, axis=1).max()), w=float(np.linalg.norm(w, axis=1).max()) if scalar else None,
        H=H, k=k, d=d, V11=of_V.n11, QK11=of_QK.n11, QK21=of_QK.n21_T,
    )  # fmt: skip
    text = f"{n} random functions with {H} heads on {m} sequences of {T} tokens"
    return SmallClass("heads", text, eps, lower, heads=heads, m=m, T=T)


def _size(rng: np.random.Generator) -> float:
    return float(10 ** rng.uniform(-2, 2))


def _members(
    rng: np.random.Generator, shape: tuple[int, ...], count: int | None = None
) -> Float[Array, "n *shape"]:
    n = int(rng.integers(4, 15)) if count is None else count
    return rng.normal(size=(n, *shape)) * _size(rng) * rng.uniform(size=(n, *(1 for _ in shape)))


def _largest(W: Float[Array, "n a b"]) -> MatrixNorms:
    """Return the largest of each norm among the members."""
    found = [matrix_norms(member) for member in W]
    names = ("frobenius", "spectral", "n21", "n21_T", "n11")
    return replace(found[0], **{name: max(getattr(one, name) for one in found) for name in names})


def _packed(outputs: Float[Array, "n points k"], rng: np.random.Generator) -> tuple[float, float]:
    """Choose eps just below half of a randomly drawn distance between two members; return eps, and ln of the size of
    the largest packing at 2 eps.
    """
    gaps = np.linalg.norm(outputs[:, None] - outputs[None], axis=3).max(axis=2)
    some = gaps[np.triu_indices(len(gaps), k=1)]
    eps = max(float(rng.choice(some)) / 2 * JUST_BELOW, 1e-12)
    return eps, math.log(exact_packing(gaps > 2 * eps))


def exact_packing(apart: Bool[Array, "n n"]) -> int:
    """Return the size of the largest set of members of which every two are `apart`, by branch and bound."""
    masks = [sum(1 << int(j) for j in np.flatnonzero(row[i + 1 :]) + i + 1) for i, row in enumerate(apart)]
    best = 0

    def grow(allowed: int, size: int) -> None:
        nonlocal best
        best = max(best, size)
        while size + allowed.bit_count() > best:
            i = (allowed & -allowed).bit_length() - 1
            allowed &= allowed - 1
            grow(allowed & masks[i], size + 1)

    grow((1 << len(apart)) - 1, 0)
    return best
