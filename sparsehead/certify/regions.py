"""Sound bounds of a network's output over a set of mixed values: linear bounds for ReLU chains, intervals else.

A set knows the exact range of any affine functional over it (`Box`, `Zonotope`). Each ReLU whose input keeps its sign
on the set is the identity or zero there, so a chain all of whose units keep their sign is one affine map and its
range is exact; the others are enclosed between two lines.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from ..block import LayerNorm
from ..heads import ACTIVATIONS
from ..model import Model
from ..types import Array, Float
from .chain import Step

GELU_LOWEST = (-0.7517915250534228, -0.16997120747990369)  # where gelu has its minimum, and the minimum


@runtime_checkable
class Region(Protocol):
    """A set of points in R^m."""

    def lowest(self, A: Float[Array, "m c"]) -> Float[Array, " c"]:
        """min of x A over the set, column by column; max is -lowest(-A)."""
        ...


@dataclass(frozen=True, eq=False)
class Box:
    """low <= x <= high."""

    low: Float[Array, " m"]
    high: Float[Array, " m"]

    def lowest(self, A: Float[Array, "m c"]) -> Float[Array, " c"]:
        return self.low @ np.maximum(A, 0) + self.high @ np.minimum(A, 0)


@dataclass(frozen=True, eq=False)
class Zonotope:
    """base + any sum of some of the steps: what attention that no bit moves can reach, exactly."""

    base: Float[Array, " m"]
    steps: Float[Array, "n m"]

    def lowest(self, A: Float[Array, "m c"]) -> Float[Array, " c"]:
        return self.base @ A + np.minimum(self.steps @ A, 0).sum(axis=0)


def output_range(chain: tuple[Step, ...], region: Region) -> tuple[float, float]:
    """Bounds of the chain's output over the region; exact where no ReLU changes sign on it."""
    m = chain[0].W.shape[0]
    A_low = A_high = np.eye(m)
    b_low = b_high = np.zeros(m)
    for step in chain:
        plus, minus = np.maximum(step.W, 0), np.minimum(step.W, 0)
        A_low, A_high = A_low @ plus + A_high @ minus, A_high @ plus + A_low @ minus
        b_low, b_high = b_low @ plus + b_high @ minus + step.b, b_high @ plus + b_low @ minus + step.b
        if step.relu:
            low, high = region.lowest(A_low) + b_low, b_high - region.lowest(-A_high)
            keep_low = np.where(high > -low, 1.0, 0.0)  # the lower line of a unit that changes sign: x or 0
            with np.errstate(divide="ignore", invalid="ignore"):
                slope = np.where(high > low, high / (high - low), 1.0)
            on, off = low >= 0, high <= 0
            up = np.where(on, 1.0, np.where(off, 0.0, slope))
            shift = np.where(on | off, 0.0, -slope * low)
            down = np.where(on, 1.0, np.where(off, 0.0, keep_low))
            A_low, b_low = A_low * down, b_low * down
            A_high, b_high = A_high * up, b_high * up + shift
    return float((region.lowest(A_low) + b_low)[0]), float((b_high - region.lowest(-A_high))[0])


def interval_output(model: Model, low: Float[Array, " d"], high: Float[Array, " d"]) -> tuple[float, float]:
    """Bounds of the output when the attention's output U lies in a box: interval arithmetic, layer by layer."""
    layer = model.layers[0]
    if layer.project:
        low, high = _projected(low, high)
    if layer.mlp is not None:
        a, b = (low, high) if layer.norm_mlp is None else _normed(low, high, layer.norm_mlp)
        a, b = _affine(a, b, layer.mlp.W_1, layer.mlp.b_1)
        a, b = activated(a, b, layer.mlp.activation)
        a, b = _affine(a, b, layer.mlp.W_2, layer.mlp.b_2)
        low, high = (low + a, high + b) if layer.residual else (a, b)
        if layer.project:
            low, high = _projected(low, high)
    if model.final_norm is not None:
        low, high = _normed(low, high, model.final_norm)
    for dense in model.decoder:
        low, high = _affine(low, high, dense.W, dense.b)
        low, high = np.maximum(low, 0), np.maximum(high, 0)
    a, b = _affine(low, high, model.w[:, None], np.array([model.bias]))
    return float(a[0]), float(b[0])


Interval = tuple[Float[Array, " m"], Float[Array, " m"]]


def _affine(low: Array, high: Array, W: Array, b: Array) -> Interval:
    box = Box(low, high)
    return box.lowest(W) + b, b - box.lowest(-W)


def activated(low: Array, high: Array, name: str) -> tuple[Array, Array]:
    """The range of a named activation; all are increasing but gelu, which falls before its minimum."""
    act = ACTIVATIONS[name]
    a, b = act(low), act(high)
    if name != "gelu":
        return a, b
    at, least = GELU_LOWEST
    return np.where((low < at) & (at < high), least, np.minimum(a, b)), np.maximum(a, b)


def _normed(low: Array, high: Array, norm: LayerNorm) -> Interval:
    """LayerNorm of a box: centred coordinates are linear, the variance lies between sums of squares."""
    d = len(low)
    a, b = _affine(low, high, np.eye(d) - 1 / d, np.zeros(d))
    least = np.where((a < 0) & (b > 0), 0.0, np.minimum(np.abs(a), np.abs(b)))
    most = np.maximum(np.abs(a), np.abs(b))
    scales = 1 / np.sqrt(np.array([(most**2).mean(), (least**2).mean()]) + norm.eps)
    corners = np.stack([a * scales[0], a * scales[1], b * scales[0], b * scales[1]])
    scaled = Box(corners.min(axis=0), corners.max(axis=0))
    gain = np.diag(norm.gain)
    return scaled.lowest(gain) + norm.bias, norm.bias - scaled.lowest(-gain)


def _projected(low: Array, high: Array) -> Interval:
    """Rows divided by max(1, norm): the norm lies between 0 and that of the largest corner."""
    most = float(np.linalg.norm(np.maximum(np.abs(low), np.abs(high))))
    shrink = 1 / max(1.0, most)
    return np.minimum(low, low * shrink), np.maximum(high, high * shrink)
