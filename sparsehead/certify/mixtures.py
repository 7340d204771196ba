"""Bounds on the mixes of a one-layer model's heads, as sums over tokens, when some bits are fixed and others are free.

Head h gives token t the weight w_t and the value v_t, so its mix is m_h = sum_t w_t v_t / D_h with D_h = sum_t w_t. For
any vector c_h, linear form g and number theta

    g . (m_h - c_h) = theta + z_h / D_h,      z_h = sum_t w_t (g . (v_t - c_h) - theta),

and each term of z_h depends on one bit. If z_h lies in [a, b] and D_h in [D-, D+], then for every slope sigma

    z_h / D_h  >=  sigma z_h + iota,     iota = the least z / D - sigma z over z in {a, b} and D in {D-, D+},

because z / D - sigma z is monotone in D, so its minimum over D is at an end, and is concave in z. The right sides of
all heads add up to one sum over tokens. Each term depends on one bit, so the exact minimum of the sum is the sum of the
minima of its terms.

Rounding. Weights are known up to a factor and values up to a radius (`forward.tables`). `Mixture.blur` bounds, for each
coordinate of Z_h = sum_t w_t (v_t - c_h, 1), the error that this causes, and the rounding error of its terms. `blurred`
adds the rounding of sums in any order, `mixing_error` the rounding of the float64 mix that the model itself computes.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from .._base.types import Array, Float, Int
from ..heads.model import Model
from .balls import TINY, UNIT, UP
from .brackets import UNDERFLOW, mixing_error, weight_bounds
from .forward import tables

FREE = 2  # state of a bit that is not fixed to 0 or 1


@dataclass(frozen=True, eq=False)
class Tokens:
    """Computed weights and values of every token ([CLS] last, if attended); light, heavy: bounds of the weights; rad:
    radii of the values; mixing: a bound on the rounding of the model's float64 mix.
    """

    weight: Float[Array, "n 2 H"]
    light: Float[Array, "n 2 H"]
    heavy: Float[Array, "n 2 H"]
    value: Float[Array, "n 2 H k"]
    rad: Float[Array, "n 2 H k"]
    mixing: Float[Array, "H k"]

    @classmethod
    def of(cls, model: Model) -> "Tokens":
        """Make the tables of a model, whose scores and values must be finite."""
        scores, values = tables(model)
        parts = [weight_bounds(scores[..., h]) for h in range(model.H)]
        light, heavy = (np.stack(ends, axis=-1) for ends in zip(*parts, strict=True))
        mid = np.exp(scores.mid - scores.mid.max(axis=(0, 1)))
        lost = mixing_error(len(scores.mid), values.size.max(axis=(0, 1)))
        return cls(mid, light, heavy, values.mid, values.rad, lost)

    @property
    def positions(self) -> int:
        return len(self.weight)


class Mixture(ABC):
    """The mixed values over a batch of B sets of inputs; a set fixes some bits and leaves the others FREE.

    Args:
        tokens: weights and values.
        state: 0, 1 or FREE for each bit of each set.
        chance: probability of a 1 at each position; in this class it is used only to choose c, the centre of the mixed
            values.
    """

    def __init__(self, tokens: Tokens, state: Int[Array, "B T"], chance: Float[Array, " T"]) -> None:
        n = tokens.positions
        extra = n - state.shape[1]  # 1 if [CLS] is attended to
        state = np.pad(state, ((0, 0), (0, extra)))
        # A fixed bit has the same option twice.
        options = np.stack([np.where(state == 1, 1, 0), np.where(state == 0, 0, 1)], axis=2)
        at = (np.arange(n)[None, :, None], options)
        self.chance = np.pad(chance, (0, extra))
        self.w, v = tokens.weight[at], tokens.value[at]  # (B, n, 2, H), (B, n, 2, H, k)
        light, heavy, rad = tokens.light[at], tokens.heavy[at], tokens.rad[at]
        gap = (n + 16) * UNIT
        self.D_low = light.min(axis=2).sum(axis=1) * (1 - gap)
        self.D_high = heavy.max(axis=2).sum(axis=1) * (1 + gap)
        shares = np.stack([1 - self.chance, self.chance], axis=1)[None, :, :, None] * self.w
        self.D = shares.sum(axis=(1, 2))
        self.c = (shares[..., None] * v).sum(axis=(1, 2)) / self.D[..., None]  # (B, H, k)
        self.offset = v - self.c[:, None, None]
        self.X = np.concatenate(
            [self.w[..., None] * self.offset, self.w[..., None]], axis=4
        )  # (B, n, 2, H, k + 1)
        far = np.concatenate([np.abs(v) + np.abs(self.c)[:, None, None], np.ones((*v.shape[:4], 1))], axis=4)
        rad = np.concatenate([rad, np.zeros((*v.shape[:4], 1))], axis=4)
        self.size = (self.w[..., None] * far).max(axis=2).sum(axis=1) * UP
        unsure = (heavy - light + UNDERFLOW)[..., None] * (far + rad) + heavy[..., None] * rad
        self.blur = (unsure.max(axis=2).sum(axis=1) + 2 * gap * self.size) * UP + TINY
        self.mixing = tokens.mixing
        largest = (np.abs(tokens.value) + tokens.rad).max(axis=(0, 1)) + tokens.mixing
        self.reach = (largest[None] + np.abs(self.c)) * UP

    def blurred(self, G: Float[Array, "B H c f"]) -> Float[Array, "B H f"]:
        """Bound the rounding error of G . Z_h, where Z_h is the sum of w (v - c, 1) over the tokens of head h."""
        _, H, k, _ = G.shape
        lost = self.blur + 4 * (self.X.shape[1] + H * k + 32) * UNIT * self.size
        return (lost[:, :, None, :] @ np.abs(G))[:, :, 0] * UP + TINY

    def ranges(self, g: Float[Array, "B H k f"]) -> tuple[Float[Array, "B f"], Float[Array, "B f"]]:
        """Return bounds of sum_h g_h . (m_h - c_h), in exact arithmetic and in float64.

        m_h is the mixed value of head h, and c_h its centre.
        """
        return self.lower(g), -self.lower(-g)

    @property
    def forms_at_once(self) -> int:
        """Return how many linear forms to bound at once, so that memory stays limited."""
        entries = 2**22  # in memory, for one linear form of each kind
        return max(1, entries // (self.X.size // self.X.shape[4]))

    def lower(self, g: Float[Array, "B H k f"]) -> Float[Array, "B f"]:
        """The lower bound of `ranges`."""
        size = self.forms_at_once
        parts = [self.linear(g[..., i : i + size]) for i in range(0, g.shape[3], size)]
        return np.concatenate([_sum(constant, self.least(G)) for G, constant in parts], axis=1)

    def linear(self, g: Float[Array, "B H k f"]) -> tuple[Float[Array, "B H c f"], Float[Array, "B f"]]:
        """Return (G, constant), which turn a linear form of the mixed values into a sum over tokens.

        sum_h g_h . (m_h - c_h) is at least constant plus the computed sum, over the tokens of an input, of G . X. Here
        X is w (v - c, 1) for a token of weight w and value v, m_h the mixed value of head h, and c_h its centre.
        """
        theta = self.anchors(g)
        G = np.concatenate([g, -theta[:, :, None]], axis=2)
        low, high = self.head_ranges(G)
        sigma, iota = self.slopes(low, high)
        lost = np.abs(sigma) * self.blurred(G) + 4 * (g.shape[1] + 4) * UNIT * (np.abs(iota) + np.abs(theta))
        lost = lost.sum(axis=1) + np.einsum("hk,bhkf->bf", self.mixing, np.abs(g))
        return sigma[:, :, None] * G, (theta + iota).sum(axis=1) - lost * UP - TINY

    def slopes(self, low: Float[Array, "B H f"], high: Float[Array, "B H f"]) -> tuple[Array, Array]:
        """Return sigma and iota, such that z / D >= sigma z + iota for z in [low, high], D being the sum of the
        weights.
        """
        ends = np.stack([low, high])
        ratios = np.minimum(ends / self.D_low[..., None], ends / self.D_high[..., None])
        sigma = np.where(high > low, (ratios[1] - ratios[0]) / (high - low), 1 / self.D_high[..., None])
        lost = 8 * UNIT * (np.abs(ratios) + np.abs(sigma * ends))
        return sigma, (ratios - sigma * ends - lost).min(axis=0) - TINY

    def anchors(self, g: Float[Array, "B H k f"]) -> Float[Array, "B H f"]:
        """Return, for each head and form g, a number theta near the least value of g . (m - c); m is the head's mixed
        value and c its centre. `linear` bounds the distance of the form from theta, so any theta is valid, and a near
        one gives a better bound.
        """
        return np.zeros((len(g), g.shape[1], g.shape[3]))

    @abstractmethod
    def head_ranges(self, G: Float[Array, "B H c f"]) -> tuple[Float[Array, "B H f"], Float[Array, "B H f"]]:
        """Bound G_h . Z_h for each head h, where Z_h is the sum of w (v - c, 1) over its tokens."""

    @abstractmethod
    def least(self, G: Float[Array, "B H c f"]) -> Float[Array, "B f"]:
        """Return a lower bound of the computed sum of G . X, X being w (v - c, 1), over all tokens and heads."""


class AllInputs(Mixture):
    """Bounds over every value of the free bits."""

    def head_ranges(self, G: Float[Array, "B H c f"]) -> tuple[Float[Array, "B H f"], Float[Array, "B H f"]]:
        B, n, _, H, k = self.X.shape
        terms = (self.X.transpose(0, 3, 1, 2, 4).reshape(B, H, 2 * n, k) @ G).reshape(B, H, n, 2, -1)
        lost = self.blurred(G)
        return terms.min(axis=3).sum(axis=2) - lost, terms.max(axis=3).sum(axis=2) + lost

    def least(self, G: Float[Array, "B H c f"]) -> Float[Array, "B f"]:
        B, n, _, H, k = self.X.shape
        terms = self.X.reshape(B, 2 * n, H * k) @ G.reshape(B, H * k, -1)
        return terms.reshape(B, n, 2, -1).min(axis=2).sum(axis=1)


def _sum(x: Float[Array, "*shape"], y: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Return x + y, rounded down to a lower bound of the exact sum."""
    return x + y - 2 * UNIT * (np.abs(x) + np.abs(y))
