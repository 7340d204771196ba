"""The map from mixed values to the output as a chain of affine maps and ReLUs, if it has that form.

A `Step` is x -> x W + b with an allowance for rounding: the pre-activation of the model, in exact arithmetic or in
float64, differs from x W + b as computed here by at most  units * (|x| W_size + b_size), for the same x.

Multiplying steps out. If y = x A + a with allowance g_A (|x||A| + |a|) and z = y B + b with g_B (|y||B| + |b|),
then, to first order in g, z = x AB + aB + b with allowance (g_A + g_B)(|x||A||B| + |a||B| + |b|), so |A||B| and
|a||B| + |b| are kept beside AB and aB + b; forming AB rounds by gamma_n |A||B|, which is added. The second-order term,
g_A g_B, is below 2^-20, the factor by which the result is raised. b_size starts at 2^-940, so that units * b_size
covers underflow; the W_size of a product is raised by 2^-940 as well, for entries of AB that underflow.

`patterns` shows, in balls, that values between two maps do not overflow.

Along a line. On a segment of o between two neighbouring points, let c(o) join the computed pre-activations of the
ends by a straight line and let D bound |pre-activation(o) - c(o)| over the segment. An affine map takes D to D W_size
and adds its allowance; a ReLU does not increase D, but adds to it: if the ends y_0, y_1 differ in sign, ReLU(c) is at
most |y_0||y_1| / (|y_0| + |y_1|) <= min(|y_0|, |y_1|) away from its chord. So kinks may be missed or inexact: that
makes D large, but the bound remains true.
"""

from dataclasses import dataclass

import numpy as np

from .._base.types import Array, Float
from ..heads.block import finish_attention, finish_mlp
from ..heads.model import Model
from .balls import TINY, UNIT, UP

HIDDEN_AT_ONCE = 2**21  # entries of a hidden layer in memory at once
LOST = 2.0**-940  # units * LOST covers underflow


@dataclass(frozen=True, eq=False)
class Step:
    """The map x -> x W + b, followed by a ReLU if `relu`, with an allowance for rounding of units * (|x| W_size +
    b_size).
    """

    W: Float[Array, "a c"]
    b: Float[Array, " c"]
    relu: bool
    W_size: Float[Array, "a c"]
    b_size: Float[Array, " c"]
    units: float

    @classmethod
    def of(
        cls, W: Float[Array, "a c"], b: Float[Array, " c"], relu: bool, b_size: Array | None = None
    ) -> "Step":
        """Make the step of one affine map of the model; pass `b_size` if b is itself a computed sum."""
        sizes = (np.abs(b) if b_size is None else b_size) + LOST
        return cls(W, b, relu, np.abs(W), sizes, (_terms(W) + 4) * UNIT)

    def after(self, first: "Step") -> "Step":
        """Return the composition of this step with an affine step before it."""
        W, b = first.W @ self.W, first.b @ self.W + self.b
        W_size = first.W_size @ self.W_size * UP + LOST
        b_size = (first.b_size @ self.W_size + self.b_size) * UP
        inner = min(_terms(np.vstack([first.W, first.b]).T), _terms(self.W))
        units = (first.units + self.units + (inner + len(first.W) + 4) * UNIT) * UP
        return Step(W, b, self.relu, W_size, b_size, units)

    def allowance(self, size: Float[Array, "*n a"]) -> Float[Array, "*n c"]:
        """Return a bound on the rounding error of the pre-activation for every x with |x| <= size."""
        return self.units * (size @ self.W_size + self.b_size) * UP


def _terms(W: Float[Array, "a c"]) -> int:
    """Return the largest number of non-zero entries in a column."""
    return int(np.count_nonzero(W, axis=0).max(initial=0))


def tail(model: Model, mixed: Float[Array, "n H v"]) -> Float[Array, " n"]:
    """Return a one-layer model's outputs, given the mixed values of each head."""
    layer = model.layers[0]
    X = np.broadcast_to(model.encoding.cls, (len(mixed), model.d))
    U = finish_attention(X, [mixed[:, h] for h in range(model.H)], layer)
    return model.read_out(finish_mlp(U, layer))


def relu_chain(model: Model) -> tuple[Step, ...] | None:
    """Return the map from the flattened mixed values (H v) to the output as steps; None if it is not a ReLU network.

    Consecutive affine maps are multiplied out, so no step has width d.
    """
    layer = model.layers[0]
    if layer.sigma not in ("identity", "relu") or layer.project or model.final_norm is not None:
        return None
    if layer.mlp is not None and (
        layer.mlp.activation != "relu" or layer.norm_mlp is not None or layer.residual
    ):
        return None
    H, v, d = layer.W_C.shape
    steps = [Step.of(np.eye(H * v), np.zeros(H * v), True)] if layer.sigma == "relu" else []
    added = [np.zeros(d) if layer.b_C is None else layer.b_C]
    added += [model.encoding.cls] if layer.residual else []
    offset_size = np.sum(np.abs(added), axis=0)
    steps.append(Step.of(layer.W_C.reshape(H * v, d), np.sum(added, axis=0), False, offset_size))
    if layer.mlp is not None:
        steps.append(Step.of(layer.mlp.W_1, layer.mlp.b_1, True))
        steps.append(Step.of(layer.mlp.W_2, layer.mlp.b_2, False))
    steps += [Step.of(dense.W, dense.b, True) for dense in model.decoder]
    steps.append(Step.of(model.w[:, None], np.array([model.bias]), False))
    kept: list[Step] = []
    for step in steps:
        kept.append(step.after(kept.pop()) if kept and not kept[-1].relu else step)
    return tuple(kept)


def run(chain: tuple[Step, ...], x: Float[Array, "n m"]) -> Float[Array, "n c"]:
    """Evaluate the chain at many points, in float64 and without allowances."""
    for step in chain:
        x = x @ step.W + step.b
        x = np.maximum(x, 0) if step.relu else x
    return x


def kinks(
    chain: tuple[Step, ...], start: Float[Array, " m"], direction: Float[Array, " m"], low: float, high: float
) -> Float[Array, " points"]:
    """Return the sorted kinks of o -> chain(start + o direction) on [low, high], found in float64, and both ends."""
    points = np.array([low, high])
    for depth, step in enumerate(chain):
        if not step.relu:
            continue
        y = run(chain[:depth], start + points[:, None] * direction) @ step.W + step.b
        left, right = y[:-1], y[1:]
        # Compare signs instead of multiplying, since a product of two small numbers may underflow to zero.
        segment, unit = np.nonzero(((left < 0) & (right > 0)) | ((left > 0) & (right < 0)))
        share = left[segment, unit] / (left[segment, unit] - right[segment, unit])
        crossings = points[segment] + share * (points[segment + 1] - points[segment])
        points = np.unique(np.concatenate([points, crossings[np.isfinite(crossings)]]))
    return points


def line_ranges(
    chain: tuple[Step, ...], start: Float[Array, " m"], direction: Float[Array, " m"], aside: Float[Array, " m"],
    low: Float[Array, " n"], high: Float[Array, " n"],
) -> tuple[Float[Array, "n 2"], Float[Array, "n 2"]]:  # fmt: skip
    """Bound the chain's output over many intervals low < o < high, for inputs x = start + o direction.

    Each coordinate of x may differ from this line by up to `aside`.

    Returns:
        the proved bounds, and bounds without any allowance for rounding.
    """
    ends = np.concatenate([low, high])
    inner = kinks(chain, start, direction, float(low.min()), float(high.max()))
    points = np.unique(np.concatenate([inner, ends]))
    width = max(step.W.shape[1] for step in chain)
    size = max(1, HIDDEN_AT_ONCE // width)
    parts = [
        segments(chain, start, direction, aside, points[i : i + size + 1])
        for i in range(0, len(points) - 1, size)
    ]
    centre, deviation = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    cuts = np.stack([np.searchsorted(points, low), np.searchsorted(points, high)], axis=1).ravel()

    def within(lowest: Array, highest: Array) -> Float[Array, "n 2"]:
        # Repeat the last segment, since reduceat needs every cut inside the array.
        lowest, highest = np.append(lowest, lowest[-1]), np.append(highest, highest[-1])
        least, most = np.minimum.reduceat(lowest, cuts)[::2], np.maximum.reduceat(highest, cuts)[::2]
        return np.stack([least, most], axis=1)

    lowest, highest = centre.min(axis=1), centre.max(axis=1)
    slack = deviation + UNIT * (np.abs(centre).max(axis=1) + deviation)
    return within(lowest - slack, highest + slack), within(lowest, highest)


def segments(
    chain: tuple[Step, ...], start: Float[Array, " m"], direction: Float[Array, " m"], aside: Float[Array, " m"],
    points: Float[Array, " k"],
) -> tuple[Float[Array, "k-1 2"], Float[Array, " k-1"]]:  # fmt: skip
    """Return, for each segment between neighbouring points, the computed outputs at both ends, and D, a bound on the
    distance of outputs in between from the straight line that joins them.
    """
    x = start + points[:, None] * direction
    far = np.maximum(np.abs(points[:-1]), np.abs(points[1:]))[:, None]
    D = (aside + 4 * UNIT * (np.abs(start) + far * np.abs(direction))) * UP + TINY
    for step in chain:
        size = np.maximum(np.abs(x[:-1]), np.abs(x[1:])) + D
        D = (D @ step.W_size + step.allowance(size)) * UP
        x = x @ step.W + step.b
        if step.relu:
            left, right = x[:-1], x[1:]
            bends = ((left < 0) & (right > 0)) | ((left > 0) & (right < 0))
            D = D + np.where(bends, np.minimum(np.abs(left), np.abs(right)), 0.0)
            x = np.maximum(x, 0)
    y = x[:, 0]
    return np.stack([y[:-1], y[1:]], axis=1), D[:, 0]
