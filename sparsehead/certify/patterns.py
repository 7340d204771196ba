"""Certificates from the 2^s patterns of relevant bits: each stands for the 2^(T-s) inputs that share it."""

import numpy as np

from ..block import Layer
from ..errors import DomainError
from ..functions import SparseFunction, assignments
from ..heads import softmax
from ..model import Model
from ..ranges import Choices, attaining, extremes, leakage
from ..types import Array, Float, Shaped
from .certificate import TOLERANCE, Certificate
from .chain import Step, line_ranges, relu_chain
from .regions import Box, Region, Zonotope, activated, interval_output, output_range
from .search import plain_inputs, worst_inputs

Ranges = Float[Array, "patterns 2"]


def certify_by_patterns(model: Model, f: SparseFunction) -> Certificate:
    """The certificate of a one-layer model.

    Raises:
        DomainError: scores spread too far for float64.
    """
    chain, scalar = relu_chain(model), one_scalar(model, f)
    if chain is not None and scalar is not None:
        return _scalar_certificate(model, f, chain, *scalar)
    if chain is not None:
        ranges = np.array([output_range(chain, region) for region in _regions(model, f)])
        return _from_bounds(model, f, ranges, "affine", "linear bounds over what the heads can mix")
    return _from_bounds(
        model, f, _interval_ranges(model, f), "interval", "interval arithmetic after the attention"
    )


def _scalar_certificate(
    model: Model,
    f: SparseFunction,
    chain: tuple[Step, ...],
    choices: Choices,
    start: Float[Array, " v"],
    direction: Float[Array, " v"],
) -> Certificate:
    """Exact: each pattern's o fills an interval whose ends are attained; the tail is piecewise linear in o."""
    low, high = extremes(choices, largest=False), extremes(choices, largest=True)
    ends, ranges = line_ranges(chain, start, direction, low, high)
    error, margin = _worst(ranges, f, model.threshold)
    end_error = np.abs(ends - f.values[:, None])
    pattern, side = np.unravel_index(int(end_error.argmax()), ends.shape)
    end_margin = (ends - model.threshold) * (2.0 * f.values[:, None] - 1)
    bad, bad_side = np.unravel_index(int(end_margin.argmin()), ends.shape)
    suspects = np.array(
        [attaining(choices, int(p), largest=bool(q)) for p, q in ((pattern, side), (bad, bad_side))]
    )
    if end_margin.min() <= 0 or margin <= 0:
        return searched(model, f, error, margin, "kinks of the decoder lie inside an interval.", suspects)
    return Certificate(
        max_error=error,
        exact=error < TOLERANCE,
        correct=True,
        margin=margin,
        leakage=worst_leak(model, f),
        gap=scalar_gap(model, f),
        method="dinkelbach",
        attained=bool(error <= end_error.max() + 1e-15),
        worst_input=suspects[0],
        counterexample=None,
        note=f"the exact range of the mixed scalar for each of 2^{f.s} patterns covers all 2^{f.T} inputs.",
    )


def _worst(ranges: Ranges, f: SparseFunction, threshold: float) -> tuple[float, float]:
    """The largest error and the smallest margin that outputs in these ranges can have."""
    g = f.values.astype(np.float64)
    error = np.maximum(np.abs(ranges[:, 0] - g), np.abs(ranges[:, 1] - g))
    margin = np.where(g == 1, ranges[:, 0] - threshold, threshold - ranges[:, 1])
    return float(error.max()), float(margin.min())


def _from_bounds(model: Model, f: SparseFunction, ranges: Ranges, method: str, how: str) -> Certificate:
    error, margin = _worst(ranges, f, model.threshold)
    if margin <= 0:
        return searched(model, f, error, margin, f"{how} are too loose to decide.")
    inputs = plain_inputs(f)
    met, _ = judge(model, f, inputs)
    return Certificate(
        max_error=error,
        exact=error < TOLERANCE,
        correct=True,
        margin=margin,
        leakage=worst_leak(model, f),
        gap=scalar_gap(model, f),
        method=method,
        attained=bool(error <= met.max() + 1e-15),
        worst_input=inputs[int(met.argmax())],
        counterexample=None,
        note=f"{how}, for each of 2^{f.s} patterns, cover all 2^{f.T} inputs.",
    )


def searched(
    model: Model,
    f: SparseFunction,
    error: float,
    margin: float,
    note: str,
    suspects: Shaped[Array, "n T"] | None = None,
) -> Certificate:
    """No proof: a counterexample if one is met, else undecided with the bounds that were reached."""
    inputs = plain_inputs(f) if suspects is None else suspects
    errors, signed = judge(model, f, inputs)
    if signed.min() > 0:  # the obvious suspects are innocent
        inputs = worst_inputs(model, f)
        errors, signed = judge(model, f, inputs)
    wrong = int(signed.argmin())
    found = bool(signed[wrong] <= 0)
    note = "a wrong input was found and checked." if found else f"undecided: {note}"
    return Certificate(
        max_error=float(errors.max()) if found else error,
        exact=False,
        correct=False if found else None,
        margin=float(signed[wrong]) if found else margin,
        leakage=worst_leak(model, f),
        gap=scalar_gap(model, f),
        method="search",
        attained=found,
        worst_input=inputs[int(errors.argmax())],
        counterexample=inputs[wrong] if found else None,
        note=note,
    )


def _regions(model: Model, f: SparseFunction) -> list[Region]:
    """For each pattern, a set that holds everything the heads can mix."""
    scores, values = model.cls_tables()
    if np.array_equal(scores[:, 0], scores[:, 1]):
        a = softmax(scores[:, 0].T).T  # no bit moves attention: the mixed values are linear in the bits
        parts = (a[:, None, :, None] * values).reshape(len(values), 2, -1)
        free = np.delete(parts, list(f.support), axis=0)
        base, inside = free[:, 0].sum(axis=0), parts[list(f.support)]
        fixed = [inside[np.arange(f.s), pattern].sum(axis=0) for pattern in assignments(f.s)]
        return [Zonotope(base + x, free[:, 1] - free[:, 0]) for x in fixed]
    boxes = [_mixed_box(scores[:, :, h], values[:, :, h], f.support) for h in range(model.H)]
    low, high = (np.concatenate([box[i] for box in boxes], axis=1) for i in (0, 1))
    return [Box(a, b) for a, b in zip(low, high)]


def _mixed_box(
    scores: Float[Array, "n 2"], values: Float[Array, "n 2 m"], support: tuple[int, ...]
) -> tuple[Float[Array, "patterns m"], Float[Array, "patterns m"]]:
    """The exact range of each coordinate of a head's mixed value, pattern by pattern."""
    columns = [Choices.of(scores, values[:, :, j], support) for j in range(values.shape[-1])]
    low = np.stack([extremes(c, largest=False) for c in columns], axis=1)
    return low, np.stack([extremes(c, largest=True) for c in columns], axis=1)


def _interval_ranges(model: Model, f: SparseFunction) -> Ranges:
    """Output bounds per pattern: the exact range of each coordinate after W_C, then intervals."""
    layer: Layer = model.layers[0]
    scores, values = model.cls_tables()
    low = high = np.zeros((2**f.s, model.d))
    for h in range(model.H):
        if layer.sigma == "identity":
            a, b = _mixed_box(scores[:, :, h], values[:, :, h] @ layer.W_C[h], f.support)
        else:
            mixed = activated(*_mixed_box(scores[:, :, h], values[:, :, h], f.support), layer.sigma)
            rows = [Box(x, y) for x, y in zip(*mixed)]
            a = np.array([box.lowest(layer.W_C[h]) for box in rows])
            b = -np.array([box.lowest(-layer.W_C[h]) for box in rows])
        low, high = low + a, high + b
    shift = (0 if layer.b_C is None else layer.b_C) + (model.encoding.cls if layer.residual else 0)
    return np.array([interval_output(model, a, b) for a, b in zip(low + shift, high + shift)])


def judge(
    model: Model, f: SparseFunction, bits: Shaped[Array, "n T"]
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """|output - f| and the signed distance from the threshold, a tie counting against label 1 as in `predict`."""
    outputs, labels = model(bits), f(bits)
    signed = (outputs - model.threshold) * (2 * labels - 1)
    return np.abs(outputs - labels), np.where((signed == 0) & (labels == 0), np.finfo(float).tiny, signed)


def one_scalar(
    model: Model, f: SparseFunction
) -> tuple[Choices, Float[Array, " v"], Float[Array, " v"]] | None:
    """The choices of the one scalar o that the head mixes, and mixed = start + o direction; None if it mixes more."""
    if model.H != 1:
        return None
    scores, values = model.cls_tables()
    flat = values[: None if model.attends_cls else -1, :, 0]
    start = flat[0, 0]
    moved = flat - start
    longest = np.unravel_index(np.argmax((moved**2).sum(axis=-1)), moved.shape[:2])
    direction = moved[longest]
    direction = direction / (direction[np.abs(direction).argmax()] or 1.0)  # o is in the values' own units
    size = float(direction @ direction)
    if size == 0:
        return Choices.of(scores[:, :, 0], np.zeros(scores.shape[:2]), f.support), start, direction
    o = moved @ direction / size
    if np.abs(moved - o[..., None] * direction).max() > 1e-13 * max(1.0, float(np.abs(flat).max())):
        return None
    return (
        Choices.of(scores[:, :, 0], (values[:, :, 0] - start) @ direction / size, f.support),
        start,
        direction,
    )


def scalar_gap(model: Model, f: SparseFunction) -> float | None:
    """The space between the values of o where f = 0 and where f = 1 along the line; None if there is no one scalar."""
    if model.L != 1 or f.s == 0 or (scalar := one_scalar(model, f)) is None:
        return None
    try:
        low, high = extremes(scalar[0], largest=False), extremes(scalar[0], largest=True)
    except DomainError:
        return None
    order = np.argsort(low, kind="stable")
    change = np.flatnonzero(np.diff(f.values[order].astype(np.int64)) != 0)
    return float((low[order][change + 1] - np.maximum.accumulate(high[order])[change]).min())


def worst_leak(model: Model, f: SparseFunction) -> float:
    """The leakage of the worst head; not defined (NaN) for deeper models."""
    if model.L != 1:
        return float("nan")
    scores, _ = model.cls_tables()
    try:
        return max(leakage(scores[:, :, h], f.support) for h in range(model.H))
    except DomainError:
        return float("nan")
