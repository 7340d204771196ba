"""Ball arithmetic on NumPy arrays: numbers with an error bound, for a model's exact and its float64 values at once.

A `Ball` (mid, rad) encloses a value that is computed twice: in exact arithmetic, with the float64 weights as exact
numbers, and in float64, as `Model.__call__` does it. Both lie in [mid - rad, mid + rad]. Each operation here preserves
that, so what holds for a ball holds for both evaluations.

Rounding.  u = 2^-53. A float64 sum of n products, added in any order, with or without fused multiply-add, differs
from the exact one by at most gamma_n sum |x_i w_i|, gamma_n = n u / (1 - n u), and by underflow. A product of balls is
computed here (mid) and in the model (any order): two errors of gamma_n, so

    rad = sum rad_x |w| + |x| rad_w + rad_x rad_w  +  2 gamma_n sum (|x| + rad_x)(|w| + rad_w)  +  TINY.

A term that is exactly zero adds no error, so n is the number of non-zero terms. 2 gamma_n <= (n + 1) UNIT with
UNIT = 2^-52 as long as n < 2^25. TINY covers underflow of up to 2^22 terms, also where subnormal numbers are
flushed to zero (2^22 * 2^-1022). Radii are float64 sums of positive numbers, raised by UP = 1 + 2^-20, which is more
than their rounding for fewer than 2^30 terms.

Overflow.  A ball is `finite` if no value in it can overflow, not even when it is rounded. Each operation multiplies
and adds the sizes of its operands before it scales them by a rounding unit: if a partial sum could overflow in any
order, so does sum |x||w|, and rad is infinite or NaN. No operation makes such a radius finite again, so if an output is
finite, no value on the way to it overflowed. Comparisons that must hold are written so that NaN and infinity fail them.

Assumed of the libraries, and tested against mpmath: exp, tanh and erf of NumPy and SciPy err by at most 4 units in
the last place (their documentation says so, or less); +, -, *, / and sqrt are rounded correctly (IEEE 754).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.errors import DomainError
from .._base.types import Array, Bool, Float
from ..heads.block import LayerNorm
from ..heads.heads import additions, token_sum

UNIT = 2.0**-52  # twice the rounding unit: one rounding here and one in the model
TINY = 2.0**-1000  # more than underflow can take from one operation
UP = 1 + 2.0**-20  # factor by which radii are raised
LIBRARY = 4 * 2 * UNIT  # 4 units in the last place, here and in the model


@dataclass(frozen=True, eq=False)
class Ball:
    """Every number in [mid - rad, mid + rad], entry by entry; rad >= 0, and not finite where nothing is known.

    The right operand of an operation may be an array or a number, which is then exact.
    """

    mid: Float[Array, "*shape"]
    rad: Float[Array, "*shape"]

    def __getitem__(self, index: Any) -> "Ball":
        return Ball(self.mid[index], self.rad[index])

    def __add__(self, other: "Operand") -> "Ball":
        x, y = self, exact(other)
        mid = x.mid + y.mid
        return Ball(mid, (x.rad + y.rad + UNIT * ((np.abs(mid) + x.rad + y.rad) * UP)) * UP)

    def __mul__(self, other: "Operand") -> "Ball":
        x, y = self, exact(other)
        rad = x.rad * y.size + np.abs(x.mid) * y.rad + UNIT * (x.size * y.size)
        return Ball(x.mid * y.mid, rad * UP + TINY)

    def __truediv__(self, other: "Operand") -> "Ball":
        """The quotient; nothing is known about it if the divisor may be 0.

        For x', y' in the balls around x, y:  |x'/y' - x/y| <= (rad_x + |x/y| rad_y) / |y'|.
        """
        x, y = self, exact(other)
        quotient = x.mid / y.mid
        least = (np.abs(y.mid) - y.rad) / UP
        rad = (x.rad + np.abs(quotient) * y.rad) / least
        rad = (rad + UNIT * ((np.abs(quotient) + rad) * UP)) * UP + TINY
        return Ball(quotient, np.where((least > 0) & np.isfinite(y.rad), rad, np.inf))

    def __matmul__(self, other: "Operand") -> "Ball":
        """The matrix product; its radius bounds the rounding of sums added in any order."""
        x, W = self, exact(other)
        rows = np.count_nonzero(x.size, axis=-1).max(initial=0)
        columns = np.count_nonzero(W.size, axis=-2).max(initial=0)
        n, large = int(min(rows, columns)), W.size
        rad = x.rad @ large + np.abs(x.mid) @ W.rad + (n + 1) * UNIT * (x.size @ large)
        return Ball(x.mid @ W.mid, rad * UP + TINY)

    @property
    def low(self) -> Float[Array, "*shape"]:
        return np.nextafter(self.mid - self.rad, -np.inf)

    @property
    def high(self) -> Float[Array, "*shape"]:
        return np.nextafter(self.mid + self.rad, np.inf)

    @property
    def size(self) -> Float[Array, "*shape"]:
        """The largest absolute value in the ball."""
        return (np.abs(self.mid) + self.rad) * UP

    @property
    def finite(self) -> Bool[Array, "*shape"]:
        """Return whether all values in the ball are finite numbers."""
        return np.isfinite(self.size)

    def reshape(self, *shape: int) -> "Ball":
        return Ball(self.mid.reshape(shape), self.rad.reshape(shape))

    def swap(self, a: int, b: int) -> "Ball":
        """Exchange two axes."""
        return Ball(np.swapaxes(self.mid, a, b), np.swapaxes(self.rad, a, b))


Operand = Ball | Array | float


def exact(x: Operand) -> Ball:
    """Return a number without error, such as a weight, as a ball; return a ball unchanged."""
    if isinstance(x, Ball):
        return x
    mid = np.asarray(x, dtype=np.float64)
    return Ball(mid, np.zeros(mid.shape))


def between(low: Float[Array, "*shape"], high: Float[Array, "*shape"]) -> Ball:
    """The ball around an interval."""
    mid = low / 2 + high / 2
    return Ball(mid, np.maximum(mid - low, high - mid) * UP + TINY)


def concatenate(balls: list[Ball], axis: int) -> Ball:
    """Join balls along an axis."""
    return Ball(
        np.concatenate([b.mid for b in balls], axis=axis), np.concatenate([b.rad for b in balls], axis=axis)
    )


def stack(balls: list[Ball], axis: int) -> Ball:
    """Join balls along a new axis."""
    return Ball(np.stack([b.mid for b in balls], axis=axis), np.stack([b.rad for b in balls], axis=axis))


def mean(x: Ball) -> Ball:
    """The mean along the last axis, kept as an axis."""
    n = x.mid.shape[-1]
    rad = x.rad.mean(axis=-1, keepdims=True) + (n + 2) * UNIT * x.size.mean(axis=-1, keepdims=True)
    return Ball(x.mid.mean(axis=-1, keepdims=True), rad * UP + TINY)


def sqrt(x: Ball) -> Ball:
    """The square root; NaN where x may be negative."""
    mid = np.sqrt(x.mid)
    rad = np.maximum(mid - np.sqrt(x.mid - x.rad), np.sqrt(x.mid + x.rad) - mid)
    return Ball(mid, (rad + 2 * UNIT * (mid + rad)) * UP + TINY)


def relu(x: Ball) -> Ball:
    """Return max(x, 0)."""
    low, high = np.maximum(x.low, 0), np.maximum(x.high, 0)
    crossing = between(low, high)
    positive, negative = x.low >= 0, x.high <= 0
    mid = np.where(positive, x.mid, np.where(negative, 0.0, crossing.mid))
    rad = np.where(positive, x.rad, np.where(negative, 0.0, crossing.rad))
    return Ball(mid, np.where(x.finite, rad, np.inf))


def gelu(x: Ball) -> Ball:
    """Return GELU(x) = x Phi(x), which decreases up to its minimum and then increases.

    1 + erf may cancel, so errors are bounded relative to |x|: the errors of erf, of its argument, and of three
    products.
    """
    from scipy.special import erf  # slow to import, and only used here

    def at(y: Array) -> Array:
        return y * 0.5 * (1 + erf(y / np.sqrt(2)))

    return _with_a_minimum(x, at, where=-0.7517915250534228, least=-0.16997120747990369)


def gelu_tanh(x: Ball) -> Ball:
    """Return x (1 + tanh u) / 2, u = sqrt(2/pi) (x + 0.044715 x^3), which decreases up to its minimum and then
    increases.

    Its slope is (1 + tanh u)/2 times 1 + x u' (1 - tanh u), which increases with x < 0 and is positive for x >= 0, so
    there is one minimum. u has a relative error of at most 8 units. Since |u| (1 - tanh^2 u) < .45, that changes tanh u
    by less than 4 units. Together with the errors of tanh, of the sum and of two products this is the error that `gelu`
    allows for.
    """

    def at(y: Array) -> Array:
        return y * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * (y * y * y))))

    return _with_a_minimum(x, at, where=-0.7524614220710163, least=-0.17004075057125405)


def _with_a_minimum(x: Ball, at: Callable[[Array], Array], *, where: float, least: float) -> Ball:
    """Apply `at`, a function with one minimum, the value `least` at x = `where`; `at` is computed with an error of
    (LIBRARY + 8 UNIT) |x|.
    """
    a, b = at(x.low), at(x.high)
    low = np.where((x.low < where) & (where < x.high), least, np.minimum(a, b))
    inside = between(low, np.maximum(a, b))
    return Ball(inside.mid, (inside.rad + (LIBRARY + 8 * UNIT) * x.size) * UP)


def tanh(x: Ball) -> Ball:
    """Return tanh(x), an increasing function."""
    inside = between(np.tanh(x.low), np.tanh(x.high))
    return Ball(inside.mid, np.where(x.finite, (inside.rad + LIBRARY * inside.size) * UP, np.inf))


def activate(x: Ball, name: str) -> Ball:
    """Apply the activation of this name, as `heads.activation` does."""
    known = {"identity": lambda y: y, "relu": relu, "gelu": gelu, "tanh": tanh, "gelu_tanh": gelu_tanh}
    if name not in known:
        raise DomainError(f"activation {name!r} has no error bound; there is one for {', '.join(known)}.")
    return known[name](x)


def exponentials(scores: Ball) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
    """Return exp(scores - the largest along the last axis), and a bound on the ln of each result's relative error.

    The subtraction has a rounding error of 2^-53 |score - largest|, both here and in the model.
    """
    shifted = scores.mid - scores.mid.max(axis=-1, keepdims=True)
    distance = np.abs(shifted) + scores.rad.max(axis=-1, keepdims=True)
    return np.exp(shifted), (scores.rad + UNIT * distance + LIBRARY) * UP


def softmax(scores: Ball) -> Ball:
    """Return a_t = exp(s_t) / sum exp(s_t) along the last axis; all scores must be finite.

    Each computed exp(s_t) is the exact one times a factor between e^-rho_t and e^rho_t. So their computed sum is the
    exact one times a factor 1 +- M, where M = sum_t a_t (e^rho_t - 1), and a_t has a factor 1 +- (e^rho_t - 1 + M) / (1
    - M). Rounding of the sum and of the division is added. A weight that underflows changes by at most 2^-1022, and the
    total is at least 1.
    """
    weights, rho = exponentials(scores)
    share = weights / token_sum(weights)
    rounded = (additions(weights.shape[-1]) + 4) * UNIT
    of_sum = (share * np.expm1(rho)).sum(axis=-1, keepdims=True) * UP + rounded
    relative = (np.expm1(rho) + of_sum + rounded) / np.maximum(1 - of_sum, 0.0)
    return Ball(share, share * relative * UP + TINY)


def layer_norm(x: Ball, norm: LayerNorm) -> Ball:
    """Return gain (x - mean) / sqrt(variance + eps) + bias, computed in the same order as by `heads.layer_norm`."""
    average = mean(x)
    centred = x + Ball(-average.mid, average.rad)
    variance = mean(centred * centred)
    spread = between(np.maximum(variance.low, 0.0), variance.high)  # a variance is not negative
    return exact(norm.gain) * centred / sqrt(spread + norm.eps) + norm.bias


def project_rows(x: Ball) -> Ball:
    """Return each row divided by max(norm, 1)."""
    n = x.mid.shape[-1]
    total, moved, largest = (
        np.sqrt((part**2).sum(axis=-1, keepdims=True)) for part in (x.mid, x.rad, x.size)
    )
    # Squares below 2^-1022 are lost: a norm of up to 2^-500. The squares of the largest values may overflow.
    norm = Ball(total, (moved + (n + 4) * UNIT * largest) * UP + 2.0**-500)
    above = between(np.maximum(norm.low, 1.0), np.maximum(norm.high, 1.0))
    return x / Ball(above.mid, np.where(norm.finite, above.rad, np.inf))
