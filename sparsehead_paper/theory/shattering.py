"""Heads with unbounded norms: one head in three dimensions shatters log2 T sequences, with a margin near 1/2.

Heads with small weights shatter the same sequences, since any difference of outputs shows the pattern, but with a
margin near 0. Norm bounds limit the shattering dimension at a given margin, which covering numbers measure.
"""

import math

import numpy as np

from sparsehead._base.errors import DomainError
from sparsehead._base.types import Array, Float
from sparsehead.heads.heads import softmax


def shattered_inputs(T: int) -> Float[Array, "n T 3"]:
    """Return floor(log2 T) sequences of T tokens x_t = (cos 2 pi t/T, sin 2 pi t/T, bit i of t), i = 0, 1, ..

    Paper: pseudo-dimension
    """
    if T < 2:
        raise DomainError(f"shattering one sequence needs T >= 2 tokens, got T={T}.")
    n = int(math.log2(T))
    t = np.arange(T)
    angle = 2 * np.pi * t / T
    return np.stack([np.stack([np.cos(angle), np.sin(angle), (t >> i) & 1], axis=1) for i in range(n)])


def shattering_head(
    T: int, pattern: int, *, scale: float | None = None
) -> tuple[Float[Array, " 3"], Float[Array, " 3"]]:
    """Return (w_QK, w_V) of the head whose output on sequence i is near bit i of `pattern`.

    w_QK = T^2 (cos, sin)(2 pi pattern/T), w_V = e_3: attention selects token t = pattern, whose third coordinate in
    sequence i is bit i of the pattern. The score of the next token is lower by T^2 (1 - cos 2 pi/T), about 2 pi^2, so
    all other tokens together get attention below 3e-7 for T >= 4. `scale` replaces T^2.

    Paper: pseudo-dimension
    """
    if not 0 <= pattern < T:
        raise DomainError(f"a pattern is a token, 0 <= pattern < T={T}; got {pattern}.")
    angle = 2 * np.pi * pattern / T
    size = float(T**2) if scale is None else scale
    return size * np.array([np.cos(angle), np.sin(angle), 0.0]), np.array([0.0, 0.0, 1.0])


def head_outputs(
    X: Float[Array, "n T 3"], w_QK: Float[Array, " 3"], w_V: Float[Array, " 3"]
) -> Float[Array, " n"]:
    """Return <w_V, X^T softmax(X w_QK)> for each sequence."""
    return (softmax(X @ w_QK) * (X @ w_V)).sum(axis=1)


def shatters(T: int) -> bool:
    """Return whether outputs above or below 1/2 on the n sequences give all 2^n patterns: pseudo-dimension >= n.

    Paper: pseudo-dimension
    """
    X = shattered_inputs(T)
    heads = (shattering_head(T, pattern) for pattern in range(2 ** len(X)))
    return len({tuple(head_outputs(X, *head) > 0.5) for head in heads}) == 2 ** len(X)
