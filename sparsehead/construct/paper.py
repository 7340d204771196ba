"""The paper's construction with its errors corrected; for demonstration, also with the errors as printed.

The head's output approximates (1/s) sum chi_i (chi = +1 for bit 0, -1 for bit 1), or one such coordinate per relevant
bit, within g/4 of its target, where g is the smallest distance between two targets. A three-layer ReLU net then
computes a bump around each target. Widths of the net: 4 per target and coordinate, then 2 per target, so
(4(s+1), 2(s+1)) for symmetric functions and (4 s 2^s, 2 2^s) in general. For comparison, `compact` needs one head and
two units per change of value.
"""

import math
from collections.abc import Set
from typing import Any

import numpy as np

from .._base.errors import DomainError
from .._base.types import Array, Float, Shaped
from ..functions import SparseFunction, assignments, is_symmetric
from ..heads.block import Layer
from ..heads.encoding import Encoding
from ..heads.model import Dense, Model
from .attention import check_reach, dual, support_rows, trainable_positions


def ramp(x: Float[Array, "*n"], delta: float) -> Float[Array, "*n"]:
    """Return nu(x) = ReLU(x/delta + 1) - ReLU(x/delta), which is 0 for x <= -delta and 1 for x >= 0."""
    return np.maximum(x / delta + 1, 0) - np.maximum(x / delta, 0)


def bump(x: Float[Array, "*n"], delta: float, *, printed: bool = False) -> Float[Array, "*n"]:
    """Return psi(x) = nu(x) + nu(2 delta - x) - 1, with centre delta: 1 on [0, 2 delta], 0 outside [-delta, 3 delta].

    Differs: with the second ramp subtracted (printed=True) psi vanishes at its centre, where it should be 1.
    Paper: errata-paper-1, bump
    """
    if printed:
        return ramp(x, delta) - ramp(2 * delta - x, delta)
    return ramp(x, delta) + ramp(2 * delta - x, delta) - 1


def bump_net(
    targets: Float[Array, "n k"], values: Shaped[Array, " n"], delta: float, d: int, *, printed: bool = False
) -> tuple[tuple[Dense, Dense], Float[Array, " u"]]:
    """Return two ReLU layers and a read-out whose output is values[j] if their input y is within delta of targets[j].

    First layer: the four units of each coordinate's bump. Second: the clipped sum of k bumps, minus k - 1. If targets
    have entries of size at most B, the first layer's entries reach B/delta + 2; the paper states B/delta.
      Paper: bump-net
    """
    n, k = targets.shape
    W_1, b_1 = np.zeros((d, 4 * k * n)), np.zeros(4 * k * n)
    W_2, b_2 = np.zeros((4 * k * n, 2 * n)), np.zeros(2 * n)
    second = -1.0 if printed else 1.0
    for j in range(n):
        for i in range(k):
            at, centre = 4 * (j * k + i), targets[j, i] / delta
            W_1[i, at : at + 4] = np.array([1, 1, -1, -1]) / delta
            b_1[at : at + 4] = 2 - centre, 1 - centre, 2 + centre, 1 + centre
            W_2[at : at + 4, 2 * j : 2 * j + 2] = np.array([1, -1, second, -second])[:, None]
        level = 0 if printed else k
        b_2[2 * j : 2 * j + 2] = 1 - k - level, -k - level
    w = np.stack([values, -np.asarray(values, dtype=np.float64)], axis=1).ravel().astype(np.float64)
    return (Dense(W_1, b_1), Dense(W_2, b_2)), w


def paper_model(
    f: SparseFunction,
    encoding: Encoding | None,
    *,
    d: int | None = None,
    attends_cls: bool = True,
    printed: Set[str] = frozenset(),
) -> Model:
    """Return the paper's model of f: one head for symmetric f and in a bag of vectors, else s heads.

    Args:
        encoding: None for trainable positions.
        printed: any of "bump", "delta", "key": the parts whose printed errors are kept.
    Raises:
        DomainError: [CLS] is not attended in a bag of vectors, which the construction needs.
    Paper: sparse-representation, general-representation
    """
    errata = {"bump", "delta", "key"}
    if unknown := set(printed) - errata:
        raise DomainError(f"no erratum is called {sorted(unknown)[0]!r}; choose from {sorted(errata)}.")
    symmetric = is_symmetric(f)
    if encoding is None:
        # One vector for all of I (one head), or an axis for each position (s heads).
        encoding = trainable_positions(f.T, f.support, np.ones((f.s, 1)) if symmetric else np.eye(f.s), d=d)
    if encoding.kind == "bag":
        if not attends_cls:
            raise DomainError(
                "the paper's head for a bag of vectors attends to [CLS]; it needs attends_cls=True."
            )
        layer, targets = _bag_layer(f, encoding, symmetric)
    else:
        layer, targets = _additive_layer(f, encoding, symmetric, plain="key" in printed)
    values = f.values
    if symmetric:
        counts = assignments(f.s).sum(axis=1)
        first = np.array([int(np.argmax(counts == r)) for r in range(f.s + 1)])
        targets, values = targets[first], values[first]
    g = smallest_distance(targets)
    delta = g / 8 if "delta" in printed else g / 4
    decoder, w = bump_net(targets, values, delta, encoding.d, printed="bump" in printed)
    return Model(encoding, (layer,), w=w, decoder=decoder, attends_cls=attends_cls)


def smallest_distance(targets: Float[Array, "n k"]) -> float:
    """Return g, the smallest l_inf distance between two targets.   Paper: gamma-injective"""
    distances = np.abs(targets[:, None] - targets[None]).max(axis=2)
    return float(distances[~np.eye(len(targets), dtype=bool)].min())


def _additive_layer(
    f: SparseFunction, encoding: Encoding, symmetric: bool, *, plain: bool
) -> tuple[Layer, Float[Array, "n k"]]:
    """Return the layer for the paper's encodings (a) and (b), with W_V = E_0 - E_1, and the target of every pattern."""
    P_I = support_rows(encoding, f.support)[: f.s]
    shared = symmetric and np.ptp(P_I, axis=0).max(initial=0.0) == 0  # trainable: one vector for all of I
    if not symmetric:
        keys = [P_I[i : i + 1].T for i in range(f.s)]
    elif shared:
        keys = [P_I[:1].T]
    elif plain:
        keys = [P_I.sum(axis=0)[:, None]]
    else:
        keys = [dual(P_I, np.ones((f.s, 1)))]
    signs = 1.0 - 2.0 * assignments(f.s)
    targets = signs.mean(axis=1, keepdims=True) if symmetric else signs
    g = 2 / f.s if symmetric else 2.0
    groups = [f.support] if symmetric else [(i,) for i in f.support]
    W_Q = []
    for key, inside in zip(keys, groups, strict=True):
        rho = 0.0 if plain else _reach(encoding, key, inside)
        W_Q.append(math.log(8 * f.T / g) / (1 - rho) * encoding.cls[:, None])
    H = len(keys)
    layer = Layer(
        W_Q=np.stack(W_Q),
        W_K=np.stack(keys),
        W_V=np.repeat((encoding.E[0] - encoding.E[1])[None, :, None], H, axis=0),
        W_C=np.eye(H, encoding.d)[:, None, :],
    )
    return layer, targets


def _bag_layer(f: SparseFunction, encoding: Encoding, symmetric: bool) -> tuple[Layer, Float[Array, "n k"]]:
    """Return the layer for the paper's encoding (c), where [CLS] has the score of a relevant 1, and the targets."""
    scores_and_values = np.ones((f.s + 1, f.s + 1))
    scores_and_values[: f.s, 1:] = np.eye(f.s)
    scores_and_values[f.s, 1:] = -1.0
    U = dual(support_rows(encoding, f.support), scores_and_values)
    present = assignments(f.s).astype(np.float64)
    targets = (present - 1) / (present.sum(axis=1, keepdims=True) + 1)
    if symmetric:
        targets = targets.sum(axis=1, keepdims=True)
    g = 1 / f.s
    rho = _reach(encoding, U[:, :1], f.support)
    stray = np.abs(np.delete(encoding.project(U[:, 1:])[0][:, 1], list(f.support), axis=0)).max(initial=0.0)
    R = math.log(8 * f.T * f.s * (1 + stray) / g) / (1 - rho)
    W_C = np.repeat(np.eye(1, encoding.d), f.s, axis=0) if symmetric else np.eye(f.s, encoding.d)
    layer = Layer(
        W_Q=(R * encoding.cls)[None, :, None], W_K=U[None, :, :1], W_V=U[None, :, 1:], W_C=W_C[None]
    )
    return layer, targets


def _reach(encoding: Encoding, key: Float[Array, "d 1"], inside: tuple[int, ...]) -> float:
    """Return rho, the largest |<key, token>| over positions not in `inside`."""
    tokens, _ = encoding.project(key)
    return check_reach(float(np.abs(np.delete(tokens, list(inside), axis=0)).max(initial=0.0)), encoding)


def paper(
    f: SparseFunction, encoding: Encoding | None, *, d: int | None, attends_cls: bool, **_: Any
) -> tuple[Model, dict[str, Any]]:
    """Return `paper_model` for `build`; the options heads, readout and epsilon do not apply."""
    return paper_model(f, encoding, d=d, attends_cls=attends_cls), {}
