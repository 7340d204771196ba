"""Encodings map bits to tokens: the three encodings of the paper, and the [CLS] token.

A sequence b in {0,1}^T becomes X(b) in R^{(T+1) x d}, one token per row, [CLS] last:

    additive ("positional", "random", "trainable")   x_t = E_{b_t} + P_t
    bag of vectors ("bag")                           x_t = b_t P_t

In both, the token at position t depends only on (t, b_t), so there are at most 2T + 1 distinct tokens.
`Encoding.project` multiplies all of them by a matrix at once; fast evaluation, certificates and training in
this library start from these products.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from .._base.display import Card, WithCard
from .._base.errors import DomainError, ShapeError
from .._base.plugins import Registry
from .._base.types import Array, Float, Shaped
from ..functions import check_bits
from .weights import to_float64

KINDS = ("positional", "random", "trainable", "bag")
RESERVED = 3  # coordinates 0, 1, 2 belong to E_0, E_1 and [CLS] wherever positions are written down
PIECE = 2**22  # numbers that are worked on at once


@dataclass(frozen=True, repr=False)
class Encoding(WithCard):
    """The map b -> X(b), made by `positional`, `random_positions`, `trainable`, `bag` or `random_bag`.

    Args:
        kind: one of KINDS.
        T: context length, T >= 1; [CLS] is not counted.
        E: E_0 and E_1, the vectors of the two bit values (zero in a bag of vectors).
        P: one row per position; None means the one-hot rows P_t = e_{3+t} in R^{T+3}, which are not
            stored, since T = 10^5 would need 10^10 numbers.
        cls: the [CLS] token.
    Paper: encodings

    >>> code = positional(4)
    >>> code, code(np.array([0, 1, 1, 0])).shape
    (<Encoding positional: T=4, d=7>, (5, 7))
    """

    kind: str
    T: int
    E: Float[Array, "2 d"]
    P: Float[Array, "T d"] | None
    cls: Float[Array, " d"]

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise DomainError(f"encoding {self.kind!r} is unknown; the encodings are {', '.join(KINDS)}.")
        if self.T < 1:
            raise DomainError(f"an encoding needs T >= 1 positions, got T={self.T}.")
        to_float64(self, "encoding")
        d = self.cls.shape[0]
        for name, array, wants in (("E", self.E, (2, d)), ("P", self.P, (self.T, d))):
            if array is not None and array.shape != wants:
                raise ShapeError(
                    f"encoding has {name} of shape {array.shape}, T={self.T} and d={d} need {wants}."
                )
        if self.P is None and d != self.T + RESERVED:
            raise ShapeError(
                f"one-hot positions live in d = T + 3 = {self.T + RESERVED} dimensions, got d={d}."
            )
        if not all(np.isfinite(a).all() for a in (self.E, self.P, self.cls) if a is not None):
            raise DomainError(
                "the encoding's vectors hold NaN or infinite entries; weights must be finite numbers."
            )

    @property
    def d(self) -> int:
        return self.cls.shape[0]

    def __repr__(self) -> str:
        return f"<Encoding {self.kind}: T={self.T}, d={self.d}>"

    def _card(self) -> Card:
        token = "E_{b_t} + P_t" if self.additive else "b_t P_t"
        return Card("Encoding", [f"x_t = {token}"], {"kind": self.kind, "T": self.T, "d": self.d})

    @property
    def additive(self) -> bool:
        """Return whether a token is bit vector + position vector; False for a bag of vectors."""
        return self.kind != "bag"

    def __call__(self, bits: Shaped[Array, " T"]) -> Float[Array, "T+1 d"]:
        """Return the dense matrix X(b) of one sequence, by definition; slow."""
        b = check_bits(bits, self.T).astype(np.int64)
        P = self.positions()
        tokens = self.E[b] + P if self.additive else b[:, None] * P
        return np.vstack([tokens, self.cls])

    def positions(self) -> Float[Array, "T d"]:
        """Return P as a dense matrix."""
        return np.eye(self.T, self.d, k=RESERVED) if self.P is None else self.P

    def project(self, W: Float[Array, "d k"]) -> tuple[Float[Array, "T 2 k"], Float[Array, " k"]]:
        """Return W^T x of every possible token x: an array with entry [t, b] for bit b at position t, and W^T [CLS]."""
        if W.shape[0] != self.d:
            raise ShapeError(f"the matrix has {W.shape[0]} rows, tokens have d={self.d} coordinates.")
        positions = W[RESERVED:] if self.P is None else self.P @ W
        if self.additive:
            return positions[:, None, :] + (self.E @ W)[None], self.cls @ W
        return np.stack([np.zeros_like(positions), positions], axis=1), self.cls @ W

    def token_table(self) -> tuple[Float[Array, "T 2 d"], Float[Array, " d"]]:
        """Return the tokens as dense arrays: all 2T of them, entry [t, b] for bit b at position t, and [CLS]."""
        return self.project(np.eye(self.d))

    def pieces(self) -> "Iterator[tuple[slice, Encoding]]":
        """Yield consecutive slices of positions, each with its encoding, so that each needs at most PIECE numbers."""
        size = max(1, PIECE // self.d)
        if self.P is None or size >= self.T:
            yield slice(0, self.T), self
            return
        for start in range(0, self.T, size):
            P = self.P[start : start + size]
            yield slice(start, start + len(P)), replace(self, T=len(P), P=P)

    def coherence(self) -> float:
        """Return Delta: the largest |<u, v>| over pairs of distinct rows among P, E_0, E_1 and [CLS].

        It is 0 for exactly orthonormal rows. In a bag of vectors E is zero and has no effect.
        Rows are compared in blocks, so memory is linear in T.
        """
        if self.P is None:
            return 0.0
        rows = np.vstack([self.P, self.E, self.cls])
        worst, block = 0.0, max(1, PIECE // len(rows))
        for start in range(0, len(rows), block):
            products = np.abs(rows[start : start + block] @ rows[start:].T)
            np.fill_diagonal(products, 0.0)  # the block's own diagonal: a row with itself
            worst = max(worst, float(products.max()))
        return worst


def _written(kind: str, T: int, d: int, rng: np.random.Generator | None = None) -> Encoding:
    """Return an encoding whose E_0, E_1, [CLS] are the first three axes (in a bag the first two are not used)."""
    if T < 1:
        raise DomainError(f"an encoding needs T >= 1 positions, got T={T}.")
    P = None if rng is None else _random_rows(T, d, rng)
    E = np.zeros((2, d))
    if kind != "bag":
        E[0, 0] = E[1, 1] = 1.0
    return Encoding(kind=kind, T=T, E=E, P=P, cls=np.eye(1, d, 2)[0])


def _random_rows(T: int, d: int, rng: np.random.Generator) -> Float[Array, "T d"]:
    """Return T random unit rows in the d - 3 dimensions orthogonal to E_0, E_1 and [CLS]."""
    if d < RESERVED + 1:
        raise DomainError(f"random positions need d >= 4 (three axes are E_0, E_1 and [CLS]), got d={d}.")
    rows = rng.standard_normal((T, d - RESERVED))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return np.hstack([np.zeros((T, RESERVED)), rows])


def positional(T: int) -> Encoding:
    """Return an encoding with one-hot positions, which are orthonormal: d = T + 3, Delta = 0.   Paper: encodings"""
    return _written("positional", T, T + RESERVED)


def random_positions(T: int, d: int, *, rng: np.random.Generator) -> Encoding:
    """Return an encoding with fixed, approximately orthonormal positions: random unit rows in d - 3 dimensions, so that
    Delta is about sqrt(2 ln(T^2) / d); E_0, E_1, [CLS] are exactly orthogonal to all other rows.   Paper: encodings
    """
    return _written("random", T, d, rng)


def trainable(P: Float[Array, "T d"], E: Float[Array, "2 d"], cls: Float[Array, " d"]) -> Encoding:
    """Return an encoding with positions chosen by training or by a construction.   Paper: encodings"""
    return Encoding(kind="trainable", T=P.shape[0], E=E, P=P, cls=cls)


def bag(T: int) -> Encoding:
    """Return a bag of vectors with orthonormal rows: x_t = b_t e_{3+t}, d = T + 3.   Paper: encodings, bag-symmetry"""
    return _written("bag", T, T + RESERVED)


def random_bag(T: int, d: int, *, rng: np.random.Generator) -> Encoding:
    """Return a bag of vectors with random unit rows in d - 3 dimensions.   Paper: encodings"""
    return _written("bag", T, d, rng)


def _bag_of(T: int, d: int, rng: np.random.Generator) -> Encoding:
    return bag(T) if d == T + RESERVED else random_bag(T, d, rng=rng)


@runtime_checkable
class MakeEncoding(Protocol):
    """A function that makes an encoding, which consists of the vectors of bits, positions and [CLS]."""

    def __call__(self, T: int, d: int, rng: np.random.Generator, /) -> Encoding:
        """Return an encoding of T positions in d dimensions; `rng` is derived from the trial's seed."""


@dataclass(frozen=True)
class NamedEncoding:
    """An encoding with a name; packages register their own in the entry point group `sparsehead.encodings`.

    `build --encoding NAME` constructs heads for it; `learn` and `law` train with it.

    Args:
        make: makes the encoding, which training does not change; None if training learns the positions.
        is_bag: whether bit 0 becomes the zero token, as in a bag of vectors.
        width: the function from T to d, if T determines d; else None.
    """

    make: MakeEncoding | None
    is_bag: bool = False
    width: Callable[[int], int] | None = None


# A new encoding by name is a constructor and a line here.
ENCODINGS: Registry[NamedEncoding] = Registry(
    "encoding",
    {
        "trainable": NamedEncoding(None),
        "random": NamedEncoding(lambda T, d, rng: random_positions(T, d, rng=rng)),
        "positional": NamedEncoding(lambda T, d, rng: positional(T), width=lambda T: T + RESERVED),
        "bag": NamedEncoding(_bag_of, is_bag=True),
    },
)
