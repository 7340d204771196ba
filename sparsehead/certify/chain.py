"""What stands between a head's mixed values and the output, as a chain of affine maps and ReLUs, where it is one."""

from dataclasses import dataclass

import numpy as np

from ..block import finish_attention, finish_mlp
from ..model import Model
from ..types import Array, Float

CHUNK = 2**22  # numbers in a hidden layer held at once


@dataclass(frozen=True, eq=False)
class Step:
    """x -> x W + b, followed by a ReLU or not."""

    W: Float[Array, "a c"]
    b: Float[Array, " c"]
    relu: bool


def tail(model: Model, mixed: Float[Array, "n H v"]) -> Float[Array, " n"]:
    """The model's output given the mixed values of each head, for a one-layer model."""
    layer = model.layers[0]
    X = np.broadcast_to(model.encoding.cls, (len(mixed), model.d))
    U = finish_attention(X, [mixed[:, h] for h in range(model.H)], layer)
    return model.read_out(finish_mlp(U, layer))


def relu_chain(model: Model) -> tuple[Step, ...] | None:
    """The tail as steps on the flattened mixed values (H v), or None where it is no ReLU network.

    Affine maps in a row are multiplied out, so nothing of width d is kept.
    """
    layer = model.layers[0]
    plain = layer.sigma in ("identity", "relu") and not layer.project and model.final_norm is None
    mlp_plain = layer.mlp is None or (
        layer.mlp.activation == "relu" and layer.norm_mlp is None and not layer.residual
    )
    if not (plain and mlp_plain):
        return None
    H, v, d = layer.W_C.shape
    steps = [Step(np.eye(H * v), np.zeros(H * v), True)] if layer.sigma == "relu" else []
    offset = (0 if layer.b_C is None else layer.b_C) + (model.encoding.cls if layer.residual else 0)
    steps.append(Step(layer.W_C.reshape(H * v, d), offset + np.zeros(d), False))
    if layer.mlp is not None:
        steps.append(Step(layer.mlp.W_1, layer.mlp.b_1, True))
        steps.append(Step(layer.mlp.W_2, layer.mlp.b_2, False))
    steps += [Step(dense.W, dense.b, True) for dense in model.decoder]
    steps.append(Step(model.w[:, None], np.array([model.bias]), False))
    return _multiplied(steps)


def _multiplied(steps: list[Step]) -> tuple[Step, ...]:
    kept: list[Step] = []
    for step in steps:
        if kept and not kept[-1].relu:
            last = kept.pop()
            step = Step(last.W @ step.W, last.b @ step.W + step.b, step.relu)
        kept.append(step)
    return tuple(kept)


def run(chain: tuple[Step, ...], x: Float[Array, "n m"]) -> Float[Array, "n c"]:
    """The chain at many points."""
    for step in chain:
        x = x @ step.W + step.b
        x = np.maximum(x, 0) if step.relu else x
    return x


def breakpoints(
    chain: tuple[Step, ...], start: Float[Array, " m"], direction: Float[Array, " m"], low: float, high: float
) -> tuple[Float[Array, " points"], Float[Array, " points"]]:
    """o -> chain(start + o direction) on [low, high]: the points between which it is a line, and its values there."""
    points = np.array([low, high])
    for depth, step in enumerate(chain):
        if not step.relu:
            continue
        y = run(chain[:depth], start + points[:, None] * direction) @ step.W + step.b
        left, right = y[:-1], y[1:]
        segment, unit = np.nonzero(left * right < 0)
        share = left[segment, unit] / (left[segment, unit] - right[segment, unit])
        crossings = points[segment] + share * (points[segment + 1] - points[segment])
        points = np.unique(np.concatenate([points, crossings]))
    return points, run(chain, start + points[:, None] * direction)[:, 0]


def line_ranges(
    chain: tuple[Step, ...],
    start: Float[Array, " m"],
    direction: Float[Array, " m"],
    low: Float[Array, " n"],
    high: Float[Array, " n"],
) -> tuple[Float[Array, "n 2"], Float[Array, "n 2"]]:
    """For many intervals [low, high] of o: the outputs at both ends, and the exact range of outputs in between."""
    points, at_points = breakpoints(chain, start, direction, float(low.min()), float(high.max()))
    rows = max(1, CHUNK // max(step.W.shape[1] for step in chain))
    both = np.concatenate([low, high])
    parts = [
        run(chain, start + both[i : i + rows, None] * direction)[:, 0] for i in range(0, len(both), rows)
    ]
    ends = np.concatenate(parts).reshape(2, -1).T
    ranges = np.stack([ends.min(axis=1), ends.max(axis=1)], axis=1)
    first, last = np.searchsorted(points, low, side="right"), np.searchsorted(points, high, side="left")
    inner = np.flatnonzero(first < last)
    if len(inner):
        cuts = np.stack([first[inner], last[inner]], axis=1).ravel()
        ranges[inner, 0] = np.minimum(ranges[inner, 0], np.minimum.reduceat(at_points, cuts)[::2])
        ranges[inner, 1] = np.maximum(ranges[inner, 1], np.maximum.reduceat(at_points, cuts)[::2])
    return ends, ranges
