"""Proofs from the 2^s patterns of relevant bits, each of which covers the 2^(T-s) inputs that share it.

The mixes of the heads are bounded pattern by pattern (`brackets`). The rest of the model is bounded over that set:
along a line if the head mixes one scalar (`chain`), by linear bounds if a ReLU network follows (`regions`), in balls
otherwise. Patterns that these bounds do not prove may be split by further bits (`branches`).
"""

from dataclasses import dataclass, replace

import numpy as np

from .._base.types import Array, Float
from ..functions import SparseFunction, assignments
from ..heads.block import Layer
from ..heads.heads import additions, token_sum
from ..heads.model import Model
from ..heads.ranges import attaining
from .balls import UNIT, UP, Ball, between, exact, softmax
from .brackets import bracket, mixing_error
from .branches import Progress, decide
from .certificate import Proof
from .chain import Step, line_ranges, relu_chain
from .forward import after_attention, around_attention, finish_attention, tables
from .lines import Line, line_choices, line_of
from .mixtures import Tokens
from .regions import Box, Region, Zonotope, output_range
from .relaxation import applies, largest_output
from .search import judge, plain_inputs

Ranges = Float[Array, "patterns 2"]


@dataclass(frozen=True)
class Splits:
    """Limits of splitting patterns: processor time in seconds, and a callback for progress."""

    limit_seconds: float
    progress: Progress | None = None


def prove_by_patterns(model: Model, f: SparseFunction, splits: Splits | None = None) -> Proof:
    """Try to prove a one-layer model; `Proof.holds` says whether it succeeded. With `splits`, patterns that are not
    proved are split by further bits, and interval arithmetic is skipped if it is slow.
    """
    if splits is None or not (applies(model) and np.isfinite(largest_output(model))):
        return _whole_patterns(model, f)
    proof = nothing(f, "interval arithmetic would take longer than splitting")
    # 2^17 patterns x tokens x heads x coordinates take a tenth to half a second
    if relu_chain(model) is not None or 2**f.s * f.T * model.H * model.d <= 2**17:
        proof = _whole_patterns(model, f)
    if proof.holds or judge(model, f, proof.inputs)[1].min() <= 0:
        return proof
    split = prove_by_branches(model, f, splits)
    return split if split.holds or len(split.inputs) == 1 or not np.isfinite(proof.max_error) else proof


def prove_by_branches(model: Model, f: SparseFunction, splits: Splits) -> Proof:
    """Try to prove the model by `branches`; `Proof.inputs` is the counterexample if one was found."""
    found = decide(model, f, Tokens.of(model), limit_seconds=splits.limit_seconds, progress=splits.progress)
    if found.margin is None:
        covered = f"{found.covered:.4%} of all inputs were proved in {found.parts} parts"
        proof = nothing(f, covered)
        return proof if found.wrong is None else replace(proof, inputs=found.wrong[None])
    note = f"linear bounds over each of {found.parts} parts cover all 2^{f.T} inputs."
    return Proof(largest_output(model) + 1, 0.0, found.margin, "branches", note, plain_inputs(f))


def _whole_patterns(model: Model, f: SparseFunction) -> Proof:
    """Try to prove the model from the 2^s patterns, without splitting them."""
    scores, values = tables(model)
    # Twice the size, because softmax subtracts one score from another.
    if not (np.isfinite(2 * scores.size).all() and values.finite.all()):
        return nothing(f, "scores or values are not finite numbers")
    chain = relu_chain(model)
    if chain is not None and not _stays_finite(model, values):
        return nothing(f, "a value after the attention may overflow")
    line = line_of(values[:, :, 0]) if model.H == 1 else None
    if chain is not None and line is not None:
        return _scalar_proof(model, f, chain, scores, line)
    if chain is not None:
        bounds = np.array([output_range(chain, region) for region in _regions(model, f, scores, values)])
        ranges, slack = bounds[:, :2], bounds[:, 2]
        how, method = "linear bounds over what the heads can mix", "affine"
    else:
        output = after_attention(model, _attended(model, f, scores, values))
        ranges, slack = np.stack([output.low, output.high], axis=1), np.full(2**f.s, 0.0)
        how, method = "interval arithmetic after the attention", "interval"
    error, margin = worst(ranges, f, model.threshold)
    inner, _ = worst(ranges + np.stack([slack, -slack], axis=1), f, model.threshold)
    note = f"{how}, for each of 2^{f.s} patterns, cover all 2^{f.T} inputs."
    return Proof(error, max(0.0, error - inner), margin, method, note, plain_inputs(f))


def nothing(f: SparseFunction, why: str) -> Proof:
    """Return a Proof that proves nothing, with the reason."""
    return Proof(np.inf, 0.0, -np.inf, "search", f"{why}; nothing is proved.", plain_inputs(f))


def _stays_finite(model: Model, values: Ball) -> bool:
    """Return whether no value after the attention overflows, for every mix of these values."""
    largest = values.size.max(axis=(0, 1)) * UP
    mixed = [Ball(np.zeros((1, len(row))), row[None]) for row in largest]
    U = finish_attention(exact(model.encoding.cls)[None], mixed, model.layers[0])
    return bool(after_attention(model, U).finite.all())


def worst(ranges: Ranges, f: SparseFunction, threshold: float) -> tuple[float, float]:
    """Return the largest error and the smallest margin that outputs in these ranges can have; NaN if a range is NaN."""
    g = f.values.astype(np.float64)
    error = np.maximum(np.abs(ranges[:, 0] - g), np.abs(ranges[:, 1] - g))
    margin = np.where(g == 1, ranges[:, 0] - threshold, threshold - ranges[:, 1])
    # The differences are rounded, so the results are moved outwards.
    return float(np.nextafter(error.max(), np.inf)), float(np.nextafter(margin.min(), -np.inf))


def _scalar_proof(
    model: Model, f: SparseFunction, chain: tuple[Step, ...], scores: Ball, line: Line
) -> Proof:
    """Prove a model that decodes one mixed scalar o: bound o for each pattern; the output is piecewise linear in o."""
    low, high = bracket(scores[..., 0], exact(line.o), f.support)
    line, aside = line.along()
    low, high = np.nextafter(low - aside, -np.inf), np.nextafter(high + aside, np.inf)
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        return nothing(f, "the mixed scalar has no finite bounds")
    ranges, plain = line_ranges(chain, line.start, line.direction, line.aside, low, high)
    error, margin = worst(ranges, f, model.threshold)
    inner, _ = worst(plain, f, model.threshold)
    g = f.values.astype(np.float64)
    choices = line_choices(model, f, scores, line)
    worst_patterns = {
        int(np.abs(ranges - g[:, None]).max(axis=1).argmax()),
        int(np.where(g == 1, ranges[:, 0] - model.threshold, model.threshold - ranges[:, 1]).argmin()),
    }
    inputs = [attaining(choices, p, largest=side) for p in sorted(worst_patterns) for side in (False, True)]
    note = f"bounds of the mixed scalar for each of 2^{f.s} patterns cover all 2^{f.T} inputs."
    return Proof(error, max(0.0, error - inner), margin, "scalar", note, np.array(inputs))


def _regions(model: Model, f: SparseFunction, scores: Ball, values: Ball) -> list[Region]:
    """Return, for each pattern, a set that contains every mix of the heads, in exact arithmetic and in float64."""
    if np.array_equal(scores.mid[:, 0], scores.mid[:, 1]):
        return list(_zonotopes(f, scores, values))
    boxes = [_mixed_box(scores[:, :, h], values[:, :, h], f.support) for h in range(model.H)]
    low, high = (np.concatenate([box[i] for box in boxes], axis=1) for i in (0, 1))
    return [Box(a, b) for a, b in zip(low, high)]


def _zonotopes(f: SparseFunction, scores: Ball, values: Ball) -> list[Zonotope]:
    """Return the regions if attention does not depend on the bits: the mixes are then linear in the bits.

    The shares are balls, computed from the wider of each token's two scores, so they contain the shares of every input.
    The error covers the balls of a_t v_t, one rounding for each product and difference, and both sums over tokens.
    """
    n = len(scores.mid)
    either = Ball(scores.mid[:, 0], scores.rad.max(axis=1))
    a = softmax(either.swap(0, 1)).swap(0, 1)
    products = (a[:, None, :, None] * values).reshape(n, 2, -1)
    free = np.delete(products.mid, list(f.support), axis=0)
    inside = products.mid[list(f.support)]
    base = free[:, 0].T if len(free) else np.zeros((products.mid.shape[-1], 1))
    lost = (2 * additions(n) + f.s + 8) * UNIT * token_sum(np.abs(products.mid).max(axis=1).T)[:, 0]
    error = (lost + token_sum(products.rad.max(axis=1).T)[:, 0]) * UP
    fixed = [inside[np.arange(f.s), pattern].sum(axis=0) for pattern in assignments(f.s)]
    return [Zonotope(token_sum(base)[:, 0] + x, free[:, 1] - free[:, 0], error) for x in fixed]


def _mixed_box(
    scores: Ball, values: Ball, support: tuple[int, ...]
) -> tuple[Float[Array, "patterns m"], Float[Array, "patterns m"]]:
    """Return, for each pattern, bounds of each coordinate of a head's mixed value, rounding included."""
    low, high = _brackets(scores, values, support)
    error = mixing_error(len(scores.mid), values.size.max(axis=(0, 1)))
    return low - error, high + error


def _brackets(
    scores: Ball, values: Ball, support: tuple[int, ...]
) -> tuple[Float[Array, "patterns m"], Float[Array, "patterns m"]]:
    """Bound the mix, as `bracket` does, for each of the m coordinates of values (n, 2, m)."""
    pairs = [bracket(scores, values[:, :, j], support) for j in range(values.mid.shape[-1])]
    low, high = (np.stack(ends, axis=1) for ends in zip(*pairs, strict=True))
    return low, high


def _attended(model: Model, f: SparseFunction, scores: Ball, values: Ball) -> Ball:
    """Bound the attended state at [CLS] for each pattern: after W_C if sigma is linear, before W_C otherwise."""
    layer: Layer = model.layers[0]
    cls = exact(np.broadcast_to(model.encoding.cls, (2**f.s, model.d)))
    if layer.sigma != "identity":
        boxes = [_mixed_box(scores[:, :, h], values[:, :, h], f.support) for h in range(model.H)]
        return finish_attention(cls, [between(*box) for box in boxes], layer)
    total = exact(np.zeros((2**f.s, model.d)))
    for h, W_C in enumerate(layer.W_C):
        low, high = _brackets(scores[:, :, h], values[:, :, h] @ W_C, f.support)
        # The model mixes first and then applies W_C.
        sizes = values[:, :, h].size.max(axis=(0, 1))
        lost = (mixing_error(len(scores.mid), sizes) + (len(W_C) + 2) * UNIT * sizes) @ np.abs(W_C) * UP
        total = total + between(low - lost, high + lost)
    return around_attention(cls, total, layer)
