"""The heads of the corpus for verifiers, and their true outputs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

import sparsehead as sh
from sparsehead._base.rng import stream
from sparsehead.functions import SparseFunction, assignments, conjunction, from_table, parse
from sparsehead.heads.block import Layer
from sparsehead.heads.encoding import positional
from sparsehead.heads.model import Model


@dataclass(frozen=True)
class Instance:
    """A head, the function that it should compute, and whether its output is affine in the bits."""

    name: str
    family: str
    model: Model
    f: SparseFunction
    affine: bool


def one_head(scores: np.ndarray, values: np.ndarray, ends: np.ndarray, *, T: int) -> Model:
    """output = the mean of values under the attention; bit 0, bit 1, [CLS] add `ends` (2, 3) to scores and values."""
    # Coordinates 0, 1 and 2 of a token are those of E_0, E_1 and [CLS].
    score, value = np.concatenate([ends, np.stack([scores, values])], axis=1)
    query, read = np.zeros((1, T + 3, 1)), np.eye(1, T + 3)
    query[0, 2] = 1.0
    layer = Layer(W_Q=query, W_K=score[None, :, None], W_V=value[None, :, None], W_C=read[None])
    return Model(positional(T), (layer,), w=read[0])


def exact_outputs(model: Model) -> list[Any]:
    """Outputs on all 2^T inputs in mpmath, from the definitions; scores and values are exact until then.

    For one layer with an additive encoding, without biases in the attention, LayerNorm and MLP.
    """
    encoding, layer = model.encoding, model.layers[0]
    tokens = [[encoding.E[b], encoding.positions()[t]] for t in range(model.T) for b in (0, 1)]
    tokens.append([encoding.cls])
    tables = []
    for h in range(layer.H):
        query = [_dot(encoding.cls, column) for column in layer.W_Q[h].T]
        keys = [_dot(row, query) for row in layer.W_K[h]]
        scores = [sum(_dot(part, keys) for part in token) / Fraction(layer.temperature) for token in tokens]
        weights = [mpmath.exp(_number(score - max(scores))) for score in scores]
        values = [[_number(sum(_dot(part, c) for part in token)) for c in layer.W_V[h].T] for token in tokens]
        tables.append((weights, values))
    return [_output(model, tables, bits) for bits in assignments(model.T)]


def _dot(a: Sequence[Any], b: Sequence[Any]) -> Fraction:
    return sum((Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True) if x and y), Fraction(0))


def _number(x: Any) -> Any:
    return mpmath.mpf(x.numerator) / x.denominator


def _times(y: list[Any], W: np.ndarray) -> list[Any]:
    return [mpmath.fsum(float(w) * x for w, x in zip(column, y, strict=True) if w) for column in W.T]


def _output(model: Model, tables: list[Any], bits: np.ndarray) -> Any:
    chosen = [2 * t + int(b) for t, b in enumerate(bits)] + ([2 * model.T] if model.attends_cls else [])
    y = [mpmath.mpf(0)] * model.encoding.d
    for (weights, values), W_C in zip(tables, model.layers[0].W_C, strict=True):
        total = mpmath.fsum(weights[i] for i in chosen)
        mixed = [mpmath.fsum(weights[i] * values[i][j] for i in chosen) / total for j in range(len(W_C))]
        mixed = [max(x, mpmath.mpf(0)) if model.layers[0].sigma == "relu" else x for x in mixed]
        y = [a + b for a, b in zip(y, _times(mixed, W_C), strict=True)]
    for dense in model.decoder:
        y = [max(a + float(b), mpmath.mpf(0)) for a, b in zip(_times(y, dense.W), dense.b, strict=True)]
    return _times(y, model.w[:, None])[0] + model.bias


def near(seed: int, number: int) -> Iterator[Instance]:
    """A conjunction by a head with uneven scores: one input wrong, none wrong, and both with large numbers."""
    rng = stream(seed, "near", number)
    T, s = int(rng.integers(5, 11)), int(rng.integers(1, 4))
    support = tuple(sorted(rng.choice(T, s, replace=False).tolist()))
    f, moves = conjunction(support, T=T), number % 2
    scores, values = rng.normal(0, 0.3, T), rng.normal(0, 0.02, T)
    scores[list(support)] += np.log(T) + 2.5
    ends = np.array([[0.0, moves * rng.normal(0, 0.3), rng.normal()], [0.0, 1.0, 0.0]])
    model = one_head(scores, values, ends, T=T)
    labels, outputs = f(assignments(T)), exact_outputs(model)
    wrong = sorted(y for y, label in zip(outputs, labels) if not label)
    right = min(y for y, label in zip(outputs, labels) if label)
    if right <= wrong[-1]:
        return  # the head does not separate f at all
    share = mpmath.mpf(10) ** -int(rng.choice([1, 3, 6, 9, 12]))
    below = wrong[-1] - share * (wrong[-1] - wrong[-2])
    above = wrong[-1] + share * (right - wrong[-1])
    for family, threshold in (("one", float(below)), ("none", float(above))):
        found = replace(model, threshold=threshold)
        yield Instance(f"{family}-{number}", family, found, f, affine=not moves)
        for name, large in (("scores", _shifted(found)), ("values", _scaled(found))):
            yield Instance(f"overflowing-{name}-{family}-{number}", "overflowing", large, f, affine=not moves)


def _shifted(model: Model) -> Model:
    """Every score raised by 800, which exp without care does not survive."""
    layer, K = model.layers[0], model.layers[0].W_K.copy()
    K[0, :3, 0] += 800.0  # E_0, E_1, [CLS]: each token has exactly one of them
    return replace(model, layers=(replace(layer, W_K=K),))


def _scaled(model: Model) -> Model:
    """Values times 2^1020, the read-out times 2^-1020."""
    layer = model.layers[0]
    return replace(model, layers=(replace(layer, W_V=layer.W_V * 2.0**1020),), w=model.w * 2.0**-1020)


def tied(seed: int, number: int) -> Iterator[Instance]:
    """At least j of seven bits, by uniform attention over them and [CLS]: outputs k/8."""
    T, j = 7, 1 + (seed + number) % 7
    f = from_table(T=T, support=range(T), table=(assignments(T).sum(axis=1) >= j).astype(np.uint8))
    model = one_head(np.zeros(T), np.zeros(T), np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), T=T)
    thresholds = {
        "right": (j - 1) / 8,
        "wrong": j / 8,
        "barely-right": np.nextafter(j / 8, 0),
        "barely-wrong": np.nextafter((j - 1) / 8, -1),
    }
    for name, threshold in thresholds.items():
        found = replace(model, threshold=float(threshold))
        yield Instance(f"tied-{name}-{number}", "tied", found, f, affine=True)


def cancelling(seed: int, number: int) -> Iterator[Instance]:
    """`build(heads="cancel")`, its second head scaled."""
    f = parse(["x1 & x4", "x0 ^ x5", "x2 | x3"][(seed + number) % 3], T=6 + number % 5)
    model = sh.build(f, heads="cancel")
    for power in (None, 0, 1, 4, 12):
        layer = model.layers[0]
        scale = np.array([1.0, 1.0 if power is None else 1 + 10.0**-power])[:, None, None]
        found = replace(model, layers=(replace(layer, W_C=layer.W_C * scale),))
        name = "exact" if power is None else power
        yield Instance(f"cancelling-{name}-{number}", "cancelling", found, f, affine=False)
