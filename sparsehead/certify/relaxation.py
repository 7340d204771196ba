"""A linear lower bound of the signed output over a set of mixed values: residual, LayerNorm, MLP, LayerNorm, read-out.

Let u0 + delta be the state U after attention at [CLS] (`Attended`). Starting at the output and going backwards, each
part of the model is replaced by a bound that is linear in delta.

LayerNorm.  Let C remove the mean, s(U) = sqrt(|C U|^2 / d + eps) and r = 1 / s. A linear form of the normalised
vector is phi(U) = kappa . C U / s(U). With phi0 and s0 the values of phi and s at u0 and t = C u0 / (d s0), the
gradient of s there,

    phi(U) - phi0 = r (E . delta - phi0 e),    E = C kappa - phi0 t,    0 <= e = s(U) - s0 - t . delta,

an identity: multiply by s. s is convex, so e >= 0. With the unit vector a = C u0 / |C u0|

    s^2 - (s0 + t . delta)^2 = (|C delta|^2 - (a . delta)^2) / d + (a . delta)^2 eps / (d s0^2) =: q,

so e <= q / (2 (s0 + t . delta)) where that is positive, and e <= |C delta| / sqrt(d) - t . delta always. So phi - phi0
is r times a number in a known range. A linear lower bound of such a product is derived as that of z / D in `mixtures`.

MLP.  The activation of each unit lies between two lines over the range of its input (`activation_lines`).

Read-out.  Let y be the input of the last LayerNorm, n the read-out's weights times that LayerNorm's gain, without their
mean, and e the read-out of the LayerNorm's bias plus the read-out's bias minus the threshold. The output exceeds the
threshold iff n . y + e s(y) > 0. For e >= 0 the tangent of s at y0 gives a lower bound of e s(y); for e < 0 it follows
from s(y) <= s(y0) + |C (y - y0)| / sqrt(d).

Rounding.  The float64 evaluation of each part is the exact one plus a perturbation, which the sizes of its operands
bound. Each perturbation enters the linear bound as its size times the absolute value of its coefficient. Computations
here round as well: each step adds a multiple of UNIT, at least the number of operations, times the sum of the absolute
values of all products. NaN and infinity fail every comparison.
"""

import numpy as np

from .._base.types import Array, Float
from ..heads.block import LayerNorm
from ..heads.model import Model
from .activation_lines import SLOPES
from .balls import TINY, UNIT, UP
from .forward import tables
from .mixtures import Mixture

LIPSCHITZ = 1.13  # of GELU; ReLU, tanh and the identity have 1
Ends = tuple[Float[Array, "B f"], Float[Array, "B f"]]


def applies(model: Model) -> bool:
    """Return whether the model has the form that this file bounds."""
    layer = model.layers[0]
    known = layer.mlp is None or layer.mlp.activation in ("relu", *SLOPES)
    plain = layer.sigma == "identity" and not layer.project
    return model.L == 1 and plain and not model.decoder and known


def largest_output(model: Model) -> float:
    """A bound of |output| over all inputs, if `applies(model)`; not finite if some value may overflow."""
    layer, mlp = model.layers[0], model.layers[0].mlp
    scores, values = tables(model)
    # Twice the size, because softmax subtracts one score from another.
    known = 0.0 * float((2 * scores.size).max())
    mixed = values.size.max(axis=(0, 1)).reshape(-1) * UP
    U = mixed @ np.abs(layer.W_C).reshape(len(mixed), -1) + np.abs(model.encoding.cls)
    y = U = U + (0.0 if layer.b_C is None else np.abs(layer.b_C))
    if mlp is not None:
        y = _normed_size(U, layer.norm_mlp) @ np.abs(mlp.W_1) + np.abs(mlp.b_1)
        y = y @ np.abs(mlp.W_2) + np.abs(mlp.b_2) + U
    return float(_normed_size(y, model.final_norm) @ np.abs(model.w) + abs(model.bias) + known) * 2


def _normed_size(size: Float[Array, " d"], norm: LayerNorm | None) -> Float[Array, " d"]:
    """Return twice a bound on the exact LayerNorm's |output|; not finite if a square or a product may overflow."""
    if norm is None:
        return size
    d = len(size)
    root = np.sqrt(norm.eps) if norm.eps > 0 else np.nan
    known = 0.0 * (d * (4 * size) ** 2 + 4 * np.abs(norm.gain) * size / root).max()
    return 2 * (np.abs(norm.gain) * np.sqrt(d) + np.abs(norm.bias)) + known


class Attended:
    """The attended state U at [CLS] over a region, exact and in float64: its centre u0, size and linear forms.

    |U| <= size in every coordinate, and `ranges` bounds linear forms of U - u0.
    """

    def __init__(self, model: Model, region: Mixture) -> None:
        layer = model.layers[0]
        self.region, (H, k, d) = region, layer.W_C.shape
        self.W, self.heads = layer.W_C.reshape(H * k, d), (H, k)
        base = model.encoding.cls * layer.residual + (0 if layer.b_C is None else layer.b_C)
        mixed = region.c.reshape(-1, H * k)
        self.u0 = base + mixed @ self.W
        self.mixed = region.reach.reshape(-1, H * k) + np.abs(mixed)
        beside = np.abs(model.encoding.cls) * layer.residual + (0 if layer.b_C is None else np.abs(layer.b_C))
        self.size = (self.mixed @ np.abs(self.W) + beside) * UP
        # The sum over heads and coordinates, b_C and the residual: once in the model and once in u0.
        self.rounding = (2 * H * k + 16) * UNIT * self.size * UP + TINY
        centred = self.u0 - self.u0.mean(axis=1, keepdims=True)
        length = np.sqrt((centred**2).sum(axis=1, keepdims=True))
        self.axis = np.where(length > 0, centred / np.where(length > 0, length, 1.0), 0.0)
        across = np.eye(d) - 1.0 / d - self.axis[:, :, None] * self.axis[:, None]
        low, high = self.ranges(np.concatenate([across, self.axis[:, :, None]], axis=2))
        # |C (U - u0)|^2 / d is the sum of these two squares; axis and forms are rounded.
        blur = 64 * (d + 8) * UNIT * self.size.sum(axis=1)
        far = np.maximum(np.abs(low), np.abs(high)) + blur[:, None]
        self.along, self.across = far[:, -1] ** 2 / d * UP, (far[:, :-1] ** 2).mean(axis=1) * UP

    def pulled(self, E: Float[Array, "B d f"]) -> tuple[Float[Array, "B H k f"], Float[Array, "B f"]]:
        """Return (g, lost), such that E . (U - u0) differs by at most `lost` from g . (m - c), a form of the mixed
        values m with centre c.
        """
        B, d, f = E.shape
        g = self.W @ E
        lost = (d + 4) * UNIT * (2 * self.mixed[:, None] @ (np.abs(self.W) @ np.abs(E)))
        lost = (lost + self.rounding[:, None] @ np.abs(E))[:, 0] * UP + TINY
        return g.reshape(B, *self.heads, f), lost

    def ranges(self, E: Float[Array, "B d f"]) -> Ends:
        """Return bounds of E . (U - u0)."""
        g, lost = self.pulled(E)
        low, high = self.region.ranges(g)
        return low - lost, high + lost


class Plain:
    """Linear forms of the attended state U itself, for a model without LayerNorm."""

    def __init__(self, U: Attended) -> None:
        d = U.u0.shape[1]
        self.U, self.gain, self.bias = U, np.ones(d), np.zeros(d)
        self.size, self.rounding = U.size, np.zeros_like(U.size)

    def ranges(self, kappa: Float[Array, "B d f"]) -> tuple[Float[Array, "B f"], Ends]:
        """Return kappa . u0, u0 the centre of the region, and bounds of kappa . U over the region."""
        middle = (self.U.u0[:, None] @ kappa)[:, 0]
        low, high = self.U.ranges(kappa)
        pad = 2 * (kappa.shape[1] + 8) * UNIT * (self.U.size[:, None] @ np.abs(kappa))[:, 0] * UP
        pad = pad + 4 * UNIT * (np.abs(low) + np.abs(high))
        return middle, (middle + low - pad, middle + high + pad)

    def lower_form(self, kappa: Float[Array, "B d"]) -> tuple[Float[Array, " B"], Float[Array, "B d"]]:
        """Return (constant, E) with kappa . U >= constant + E . (U - u0) over the region, whose centre is u0."""
        pad = (kappa.shape[1] + 8) * UNIT * (self.U.size * np.abs(kappa)).sum(axis=1) * UP
        return (self.U.u0 * kappa).sum(axis=1) - pad, kappa


class Normed:
    """Linear forms of the attended state U after LayerNorm without gain and bias; see the docstring of this file."""

    def __init__(self, U: Attended, norm: LayerNorm) -> None:
        self.U, self.gain, self.bias = U, norm.gain, norm.bias
        d, largest = U.u0.shape[1], U.size.max(axis=1)
        centred = U.u0 - U.u0.mean(axis=1, keepdims=True)
        self.s0 = np.sqrt((centred**2).mean(axis=1) + norm.eps)
        self.tangent = centred / (d * self.s0[:, None])
        self.units = 64 * (d + 8) * UNIT  # more than the roundings behind any number here
        sizes = (U.size * np.abs(self.tangent)).sum(axis=1)
        self.scale = self.s0 + largest + largest**2 / self.s0 + sizes
        low, high = (ends[:, 0] for ends in U.ranges(self.tangent[:, :, None]))
        low, high = low - self.units * self.scale, high + self.units * self.scale
        least = self.s0 + low
        beside = (U.across + U.along * norm.eps / self.s0**2) * UP
        beside = beside + 8 * self.units * self.scale * (
            self.s0 + np.sqrt(U.across + U.along)
        )  # a, t and s0 are rounded
        curved = np.where(least > 0, beside / (2 * np.where(least > 0, least, 1.0)), np.inf)
        far = np.sqrt(U.across + U.along) * UP
        self.bend = np.minimum(curved, far - low) * UP
        self.s_low = np.maximum(least, np.sqrt(norm.eps) / UP)
        self.s_high = np.minimum(self.s0 + high + self.bend, self.s0 + far + self.units * self.scale) * UP
        self.r_low, self.r_high = 1 / self.s_high / UP, 1 / self.s_low * UP
        self.rounding = norm_rounding(norm, largest, self.s_low)
        self.size = np.abs(norm.gain) * np.sqrt(d) + np.abs(norm.bias) + self.rounding

    def _form(self, kappa: Float[Array, "B d f"]) -> tuple[Array, Array, Array, Array]:
        """Return (phi0, E, a, b): kappa . (normalised U) = phi0 + r (E . (U - u0) + rest) with a <= rest <= b, where u0
        is the centre of the region and 1 / r the number by which LayerNorm divides.
        """
        sizes = np.abs(kappa) + np.abs(kappa).mean(axis=1, keepdims=True)
        kappa = kappa - kappa.mean(axis=1, keepdims=True)
        phi0 = (self.U.u0[:, None] @ kappa)[:, 0] / self.s0[:, None]
        E = kappa - phi0[:, None] * self.tangent[:, :, None]
        lost = self.units * ((self.U.size[:, None] @ sizes)[:, 0] + np.abs(phi0) * self.scale[:, None])
        bend = phi0 * self.bend[:, None] * UP
        return phi0, E, -np.maximum(bend, 0) - lost, np.maximum(-bend, 0) + lost

    def ranges(self, kappa: Float[Array, "B d f"]) -> tuple[Float[Array, "B f"], Ends]:
        """Return the linear form kappa . (normalised U): its value at the centre u0, and its bounds over the region."""
        phi0, E, a, b = self._form(kappa)
        low, high = self.U.ranges(E)
        low, high = low + a, high + b
        rates = self.r_low[:, None], self.r_high[:, None]
        low = phi0 + np.minimum(low * rates[0], low * rates[1])
        high = phi0 + np.maximum(high * rates[0], high * rates[1])
        # |C U| / s < sqrt(d), so Cauchy's inequality bounds the form too; removing the mean only shortens kappa.
        most = np.sqrt((kappa**2).sum(axis=1) * kappa.shape[1]) * UP
        pad = 16 * UNIT * (np.abs(low) + np.abs(high) + np.abs(phi0)) + TINY
        return phi0, (np.fmax(low - pad, -most), np.fmin(high + pad, most))

    def lower_form(self, kappa: Float[Array, "B d"]) -> tuple[Float[Array, " B"], Float[Array, "B d"]]:
        """Return (c, G) with kappa . (normalised U) >= c + G . (U - u0) over the region, whose centre is u0."""
        phi0, E, a, b = (part[..., 0] for part in self._form(kappa[:, :, None]))
        low, high = (ends[:, 0] for ends in self.U.ranges(E[:, :, None]))
        ends = np.stack([low + a, high + b])
        least = np.minimum(ends * self.r_low, ends * self.r_high)
        slope = np.where(ends[1] > ends[0], (least[1] - least[0]) / (ends[1] - ends[0]), self.r_low)
        lost = 16 * UNIT * (np.abs(least) + np.abs(slope * ends)).max(axis=0) + 4 * UNIT * np.abs(phi0)
        constant = (least - slope * ends).min(axis=0) + slope * np.where(slope > 0, a, b) - lost + phi0
        reach = (self.U.size * np.abs(E)).sum(axis=1)
        return constant - 4 * UNIT * np.abs(slope) * (2 * reach + np.abs(a) + np.abs(b)) * UP - TINY, slope[
            :, None
        ] * E


def norm_rounding(
    norm: LayerNorm, largest: Float[Array, " B"], s_low: Float[Array, " B"]
) -> Float[Array, "B d"]:
    """Return how far the float64 LayerNorm of a row U with |entries| <= `largest` is from the exact one. LayerNorm
    divides by s >= s_low.

    Centring has an error of at most c = (d + 8) UNIT largest. Hence s has an error of at most c, plus a relative error
    of (d + 8) UNIT. Entries of C U / s, where C removes the mean, are at most sqrt(d); their error is at most 2 (1 +
    sqrt(d)) c / s + 2 sqrt(d) (d + 8) UNIT, as long as c < s / 4.
    """
    d = len(norm.gain)
    c, root = (d + 8) * UNIT * largest, np.sqrt(d)
    moved = 2 * (1 + root) * c / s_low + 2 * root * (d + 8) * UNIT
    moved = np.where((c < s_low / 4) & (s_low > 2.0**-400), moved, np.inf)
    return (
        moved[:, None] * np.abs(norm.gain) + 4 * UNIT * (np.abs(norm.gain) * root + np.abs(norm.bias))
    ) * UP + TINY
