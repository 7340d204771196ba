"""A linear lower bound of the signed output over a region: see `relaxation`."""

from dataclasses import dataclass

import numpy as np

from .._base.types import Array, Float
from ..heads.heads import activation
from ..heads.model import Model
from .activation_lines import lines_around
from .balls import LIBRARY, TINY, UNIT, UP
from .mixtures import Mixture
from .relaxation import LIPSCHITZ, Attended, Normed, Plain, norm_rounding


@dataclass(frozen=True, eq=False)
class Form:
    """A lower bound of the signed output that is linear in m - c, where m are the mixed values and c is their centre.

    For some scale in (0, `largest_scale`]:  scale * sign * (output - threshold) >= constant + g . (m - c).
    """

    constant: Float[Array, " B"]
    g: Float[Array, "B H k"]
    largest_scale: Float[Array, " B"]


@dataclass(frozen=True, eq=False)
class Hidden:
    """The MLP's units over a region.

    Args:
        view: the input of the units, which is U or the normalised U; it gives bounds of linear forms.
        kappa, offset: unit j has the input kappa_j . view + offset_j, up to `rounding`.
        middle, low, high: the inputs at u0, and their bounds.
    """

    view: Normed | Plain
    kappa: Float[Array, "d f"]
    offset: Float[Array, " f"]
    middle: Float[Array, "B f"]
    low: Float[Array, "B f"]
    high: Float[Array, "B f"]
    rounding: Float[Array, "B f"]

    @property
    def size(self) -> Float[Array, "B f"]:
        return np.maximum(np.abs(self.low), np.abs(self.high)) + np.abs(self.middle)


def hidden(model: Model, U: Attended) -> Hidden:
    """Return the inputs of the MLP's units at the centre of the region, with bounds over the region."""
    layer = model.layers[0]
    mlp = layer.mlp
    assert mlp is not None
    view = Plain(U) if layer.norm_mlp is None else Normed(U, layer.norm_mlp)
    d = len(mlp.W_1)
    kappa, offset = view.gain[:, None] * mlp.W_1, view.bias @ mlp.W_1 + mlp.b_1
    sizes = view.size @ np.abs(mlp.W_1) + np.abs(mlp.b_1)
    # The rounding of the model, and of kappa and offset here.
    rounding = (view.rounding @ np.abs(mlp.W_1) + 4 * (d + 8) * UNIT * sizes) * UP + TINY
    middle, (low, high) = view.ranges(np.broadcast_to(kappa, (len(U.u0), *kappa.shape)))
    pad = rounding + 4 * UNIT * (np.abs(low) + np.abs(high) + np.abs(offset))
    return Hidden(view, kappa, offset, middle + offset, low + offset - pad, high + offset + pad, rounding)


def signed_form(model: Model, region: Mixture, sign: Float[Array, " B"]) -> Form:
    """Return a linear lower bound of scale * sign * (output - threshold) over the region, for some positive scale."""
    layer, mlp = model.layers[0], model.layers[0].mlp
    U = Attended(model, region)
    kept = float(layer.residual) if mlp is not None else 1.0  # how much of U goes into y
    y0, y_size, moved = kept * U.u0, kept * U.size, kept * np.sqrt(U.along + U.across) * UP
    units, count = None, 4 * (model.d + 64)
    if mlp is not None:
        units = hidden(model, U)
        y0 = y0 + activation(mlp.activation)(units.middle) @ mlp.W_2 + mlp.b_2
        y_size = (y_size + units.size @ np.abs(mlp.W_2) + np.abs(mlp.b_2)) * UP
        turned = LIPSCHITZ * np.maximum(units.high - units.middle, units.middle - units.low) * UP
        moved = (moved + np.sqrt(((turned @ np.abs(mlp.W_2)) ** 2).mean(axis=1))) * UP
        count = count + 4 * len(mlp.W_2)
    moved = moved + count * UNIT * y_size.max(axis=1)
    constant, ell, scale = _read_out(model, sign, y0, y_size, moved)
    E = kept * ell
    constant = constant + kept * (ell * U.u0).sum(axis=1)
    # The rounding of y in the model, and of ell . y here.
    lost = count * UNIT * (np.abs(ell) * y_size).sum(axis=1)
    if mlp is not None and units is not None:
        inner, slope = _through_mlp(model, units, ell)
        constant, E = constant + inner, E + slope
        lost = lost + 16 * UNIT * (np.abs(slope) * 2 * U.size).sum(axis=1)
    g, slipped = U.pulled(E[:, :, None])
    lost = lost + slipped[:, 0] + 64 * UNIT * np.abs(constant)
    return Form(constant - lost * UP - TINY, g[..., 0], scale)


def _through_mlp(
    model: Model, units: Hidden, ell: Float[Array, "B d"]
) -> tuple[Float[Array, " B"], Float[Array, "B d"]]:
    """Return (constant, E) with ell . (act(h) W_2 + b_2) >= constant + E . (U - u0), the MLP's rounding included.

    h are the inputs of the MLP's units, and U is the attended state with centre u0.
    """
    mlp = model.layers[0].mlp
    assert mlp is not None
    f, d = mlp.W_2.shape
    below, above = lines_around(mlp.activation, units.low, units.high, units.middle)
    k = ell @ mlp.W_2.T
    k_size = np.abs(ell) @ np.abs(mlp.W_2.T)
    slope = k * np.where(k > 0, below[0], above[0])
    height = k * np.where(k > 0, below[1], above[1])
    constant, E = units.view.lower_form(slope @ units.kappa.T)
    constant = constant + height.sum(axis=1) + slope @ units.offset + ell @ mlp.b_2
    rounded = (LIBRARY + 16 * UNIT) * units.size  # the activation in float64
    lost = (k_size * rounded).sum(axis=1) + (np.abs(slope) * units.rounding).sum(axis=1)
    sizes = (k_size * (units.size + 1)).sum(axis=1) + (np.abs(ell) * np.abs(mlp.b_2)).sum(axis=1)
    sizes = sizes + (np.abs(height) + np.abs(slope) * np.abs(units.offset)).sum(axis=1)
    forms = np.abs(slope) @ np.abs(units.kappa.T)
    sizes = sizes + (forms * units.view.size).sum(axis=1) + forms.sum(axis=1) * np.sqrt(d)
    return constant - (lost + 4 * (f + d + 32) * UNIT * sizes) * UP, E


def _read_out(
    model: Model,
    sign: Float[Array, " B"],
    y0: Float[Array, "B d"],
    size: Float[Array, "B d"],
    moved: Float[Array, " B"],
) -> tuple[Float[Array, " B"], Float[Array, "B d"], Float[Array, " B"]]:
    """Return (constant, ell, scale) such that s sign (output - threshold) >= constant + ell . y for some positive s <=
    scale.

    y is the input of the last LayerNorm: |y| <= size, and |C (y - y0)| / sqrt(d) <= moved, where C removes the mean. If
    there is no such LayerNorm, s is 1.
    """
    norm, d = model.final_norm, model.d
    w_size = np.abs(model.w)
    if norm is None:
        plain = (d + 8) * UNIT * ((size * w_size).sum(axis=1) + abs(model.bias) + abs(model.threshold))
        constant = sign * (model.bias - model.threshold) - 2 * plain * UP
        return constant, sign[:, None] * model.w, np.ones(len(y0))
    weights = model.w * norm.gain
    n = sign[:, None] * (weights - weights.mean())
    beside = float(model.w @ norm.bias) + model.bias - model.threshold
    beside_size = float(w_size @ np.abs(norm.bias)) + abs(model.bias) + abs(model.threshold)
    e = sign * beside
    centred = y0 - y0.mean(axis=1, keepdims=True)
    s0 = np.sqrt((centred**2).mean(axis=1) + norm.eps)
    tangent = centred / (d * s0[:, None])
    units, largest = 64 * (d + 8) * UNIT, size.max(axis=1)
    scale = s0 + largest + largest**2 / s0 + (size * np.abs(tangent)).sum(axis=1)
    s_high = (s0 + moved + units * scale) * UP
    s_low = np.maximum(s0 - moved - units * scale, np.sqrt(norm.eps) / UP)
    ell = n + np.maximum(e, 0)[:, None] * tangent
    constant = np.where(e >= 0, e * (s0 - (tangent * y0).sum(axis=1)), e * s_high)
    rounding = norm_rounding(norm, largest, s_low)
    z_size = np.abs(norm.gain) * np.sqrt(d) + np.abs(norm.bias) + rounding
    out = (rounding * w_size).sum(axis=1) + (d + 8) * UNIT * ((z_size * w_size).sum(axis=1) + abs(model.bias))
    sizes = (size * (np.abs(weights) + np.abs(weights).mean())).sum(axis=1) + beside_size * (scale + s_high)
    lost = units * sizes + out * s_high
    return constant - lost * UP - TINY, ell, s_high
