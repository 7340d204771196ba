"""Bounds on what the heads mix that hold for all but a share of inputs, the free bits being independent.

A linear form of Z (`mixtures`) is a sum over tokens of independent terms with two values each, x_0 and x_1 = x_0 + D,
taken with probabilities 1 - p and p. For every lambda > 0, by Markov's inequality for exp(lambda (S - E S)),

    P(S >= E S + x) <= delta      if   x = (ln(1/delta) + psi(lambda)) / lambda,

psi any upper bound of ln E exp(lambda (S - E S)). Two are used.

    Bennett   psi(lambda) = (V / M^2) (exp(lambda M) - 1 - lambda M), V the variance of S, M the largest amount by which
              a term exceeds its mean: cheap for many forms, since V = g . cov g
    exact     psi(lambda) = sum_t ln((1 - p) exp(lambda x_0) + p exp(lambda x_1)): for the last form, the output's

Both hold for every lambda, so lambda is chosen from a grid, and only the evaluation at it has to be right. Neither is
needed where the sum of the largest terms is smaller. Each use is an event that fails with probability at most
`MostInputs.each`; `events` counts them, and a union bound adds them up.

Rounding. Terms are float64 numbers and taken as exact: what true terms differ by is in `Mixture.blur`, for every input.
Means, variances and exponentials are rounded; ROOM raises each bound by more than that.
"""

import numpy as np

from .._base.types import Array, Float, Int
from .balls import LIBRARY, TINY, UNIT, UP
from .mixtures import Mixture, Tokens

ROOM = 1 + 2.0**-30  # more than the relative rounding of a positive sum of up to 2^20 terms
STEPS = 2.0 ** (
    -np.arange(12) / 3
)  # the grid of lambda, as multiples of the best one for a normal distribution


class MostInputs(Mixture):
    """Bounds for all but a share of the values of the free bits; `spent` is that share so far."""

    def __init__(
        self, tokens: Tokens, state: Int[Array, "B T"], chance: Float[Array, " T"], each: float
    ) -> None:
        super().__init__(tokens, state, chance)
        self.each, self.events = each, 0
        self.log_each = -float(np.log(each)) * ROOM
        p = self.chance[None, :, None]
        self.most_up, self.most_down = 1 - chance.min(), chance.max()
        B, n, _, H, k = self.X.shape
        self.moves = (self.X[:, :, 1] - self.X[:, :, 0]).reshape(B, n, H * k)
        self.largest, self.total = np.abs(self.moves).max(axis=1), np.abs(self.moves).sum(axis=1)
        self.mean = (self.X[:, :, 0].reshape(B, n, H * k) + p * self.moves).sum(axis=1)
        self.skew = ((0.5 - p) * self.moves).sum(axis=1)
        self.cov = (self.moves * p * (1 - p)).transpose(0, 2, 1) @ self.moves
        self.events += 2 * H
        weights = np.broadcast_to(np.eye(k)[:, -1:], (B, k, 1))
        slack = self.blur[..., -1] + 8 * (n + 16) * UNIT * self.size[..., -1]
        for h in range(H):
            middle, below, above = (part[:, 0] for part in self._beyond(self._part(h), weights))
            self.D_low[:, h] = np.maximum(self.D_low[:, h], (middle - below - slack[:, h]) / UP)
            self.D_high[:, h] = np.minimum(self.D_high[:, h], (middle + above + slack[:, h]) * UP)

    @property
    def spent(self) -> float:
        """The share of inputs on which a bound so far may fail."""
        return self.events * self.each * ROOM

    def _beyond(self, part: slice, G: Float[Array, "B c f"]) -> tuple[Array, Array, Array]:
        """The mean of the sum of G . X, X the coordinates in `part`, and by how much it can lie below and above.

        A term is above its mean by at most (1 - p) move or p |move|, so all of them by sum |move| / 2 + skew.
        """
        middle, skew = ((x[:, None, part] @ G)[:, 0] for x in (self.mean, self.skew))
        moves, variance = self.moves[..., part] @ G, self._variance(G, self.cov[:, part, part])
        blur = 2 * (G.shape[1] + 4) * UNIT * (self.largest[:, None, part] @ np.abs(G))[:, 0]
        largest, least = np.maximum(moves.max(axis=1), 0) + blur, np.maximum(-moves.min(axis=1), 0) + blur
        sizes = (self.total[:, None, part] @ np.abs(G))[:, 0]
        half = np.abs(moves).sum(axis=1) / 2 + 4 * (moves.shape[1] + G.shape[1] + 16) * UNIT * sizes
        found = []
        for sign, more, less in ((-1.0, least, largest), (1.0, largest, least)):
            tail = _bennett(
                variance, np.maximum(more * self.most_up, less * self.most_down) * ROOM, self.log_each
            )
            found.append(np.minimum(tail, half + sign * skew) * ROOM + TINY)
        return middle, found[0], found[1]

    def _variance(self, g: Float[Array, "B c f"], cov: Float[Array, "B c c"]) -> Float[Array, "B f"]:
        """g . cov g, from above: the sum's own rounding is at most a multiple of (|g| . deviations)^2."""
        n = self.X.shape[1]
        deviations = np.sqrt(np.diagonal(cov, axis1=1, axis2=2))
        largest = (deviations[:, None] @ np.abs(g))[:, 0] ** 2
        return (
            np.maximum((g * (cov @ g)).sum(axis=1), 0.0) + 4 * (n + g.shape[1] + 16) * UNIT * largest
        ) * ROOM

    def _part(self, h: int) -> slice:
        """The coordinates of head h."""
        k = self.X.shape[4]
        return slice(h * k, (h + 1) * k)

    def anchors(self, g: Float[Array, "B H k f"]) -> Float[Array, "B H f"]:
        """About the largest theta that g . (m - c) falls below with probability `each` only.

        If the denominator is nearly constant the sum is nearly normal, and one step of Newton's method from the root
        for a normal sum is enough. Otherwise bisection, from the least value that a token has.
        """
        found = []
        for h in range(g.shape[1]):
            own, D = g[:, h], self.D[:, h, None]
            theta, steady = self._normal_anchor(h, own)
            if steady:
                theta = theta + self._gain(h, own, theta) / D
            else:
                low = (self.offset[:, :, :, h] @ own[:, None]).min(axis=(1, 2))
                high = np.zeros_like(low)
                for _ in range(5):
                    theta = (low + high) / 2
                    holds = self._gain(h, own, theta) >= 0
                    low, high = np.where(holds, theta, low), np.where(holds, high, theta)
                theta = low
            found.append(theta)
        return np.stack(found, axis=1)

    def _gain(self, h: int, own: Float[Array, "B k f"], theta: Float[Array, "B f"]) -> Float[Array, "B f"]:
        """The lower bound of g . Z - theta D."""
        middle, below, _ = self._beyond(self._part(h), np.concatenate([own, -theta[:, None]], axis=1))
        return middle - below

    def _normal_anchor(self, h: int, own: Float[Array, "B k f"]) -> tuple[Float[Array, "B f"], bool]:
        """The root of theta D + sqrt(a V(theta)), a = 2 log_each, V the variance of g . Z - theta D; if D is steady."""
        part = self._part(h)
        cov, D, a = self.cov[:, part, part], self.D[:, h, None], 2 * self.log_each
        V = (own * (cov[:, :-1, :-1] @ own)).sum(axis=1)
        mixed, V_D = (cov[:, -1:, :-1] @ own)[:, 0], cov[:, -1, -1:]
        largest = np.abs(self.moves[..., part.stop - 1]).max(axis=1)[:, None]
        steady = bool((a * V_D + (a * largest / 6) ** 2 < D**2 / 4).all())
        lead = np.maximum(D**2 - a * V_D, D**2 / 10)
        root = np.sqrt(np.maximum((a * mixed) ** 2 + lead * a * V, 0))
        return np.minimum(-(a * mixed + root) / lead, 0.0), steady

    def head_ranges(self, G: Float[Array, "B H c f"]) -> tuple[Float[Array, "B H f"], Float[Array, "B H f"]]:
        lost = 2 * self.blurred(G)
        self.events += 2 * G.shape[1] * G.shape[3]
        ends = [self._beyond(self._part(h), G[:, h]) for h in range(G.shape[1])]
        middle, below, above = (np.stack(side, axis=1) for side in zip(*ends, strict=True))
        return middle - below - lost, middle + above + lost

    def least(self, G: Float[Array, "B H c f"]) -> Float[Array, "B f"]:
        flat = G.reshape(len(G), -1, G.shape[-1])
        self.events += flat.shape[-1]
        middle, below, _ = self._beyond(slice(None), flat)
        return middle - below

    def chance_below(self, g: Float[Array, "B H k"], bound: Float[Array, " B"]) -> Float[Array, " B"]:
        """An upper bound of P(sum_h g_h . (m_h - c_h) <= bound), apart from `spent`."""
        G, constant = self.linear(g[..., None])
        level = bound - constant[:, 0] + 4 * UNIT * (np.abs(bound) + np.abs(constant[:, 0])) + TINY
        B, n = self.X.shape[:2]
        terms = (self.X.reshape(B, 2 * n, -1) @ G.reshape(B, -1, 1)).reshape(B, n, 2)
        return np.array([tail_chance(-x, self.chance, -y) for x, y in zip(terms, level)])


def _bennett(
    V: Float[Array, "*shape"], M: Float[Array, "*shape"], log_inverse: float
) -> Float[Array, "*shape"]:
    """x with P(S >= E S + x) <= exp(-log_inverse) for the variance V and largest excess M."""
    V, M = np.maximum(V, 2.0**-900), np.maximum(M, 2.0**-450)
    best = np.full(V.shape, np.inf)
    for step in STEPS:
        rate = step * np.sqrt(2 * log_inverse / V)
        y = rate * M
        # (exp(y) - 1 - y) / y^2, which is at most 1/2 + y/3 for y <= 1; the difference cancels for small y
        with np.errstate(over="ignore"):
            curve = np.where(y < 0.01, 0.5 + y / 3, (np.expm1(y) - y) / np.maximum(y, 0.01) ** 2)
        best = np.fmin(best, (log_inverse / rate + V * rate * curve) * ROOM)
    return best


def tail_chance(terms: Float[Array, "n 2"], p: Float[Array, " n"], level: float) -> float:
    """An upper bound of P(S >= level), S the sum of terms[t, b_t], b_t = 1 with probability p_t independently."""
    most = terms.max(axis=1)
    if most.sum() + (len(most) + 4) * UNIT * np.abs(most).sum() < level:
        return 0.0
    move = terms[:, 1] - terms[:, 0]
    mean, variance = float((terms[:, 0] + p * move).sum()), float((move**2 * p * (1 - p)).sum())
    if not (level > mean and 0 < variance < np.inf):
        return 1.0
    rate, least = (level - mean) / variance, 0.0  # the best rate for a normal sum, and the logarithm of 1
    for steps in (2.0 ** np.arange(-20, 3, 2), 2.0 ** (np.arange(-3, 4) / 3)):
        logs = [log_chernoff(terms, p, level, float(rate * step)) for step in steps]
        rate, least = rate * steps[int(np.argmin(logs))], min(least, *logs)
    return min(1.0, float(np.exp(least)) * ROOM + 2.0**-1000)


def log_chernoff(terms: Float[Array, "n 2"], p: Float[Array, " n"], level: float, rate: float) -> float:
    """ln of exp(-rate level) prod_t E exp(rate terms_t), from above; infinite where it cannot be evaluated."""
    at = rate * terms
    top = at.max(axis=1)
    inner = np.exp(at - top[:, None])
    logs = np.log((1 - p) * inner[:, 0] + p * inner[:, 1])
    # exp and log of the library, the exponents, and the sum
    sizes = 1 + np.abs(at).sum(axis=1) + np.abs(top) + np.abs(logs)
    lost = (2 * LIBRARY + 16 * UNIT) * sizes.sum() + (len(p) + 8) * UNIT * (np.abs(top) + np.abs(logs)).sum()
    total = float((top + logs).sum() - rate * level + lost * UP + 8 * UNIT * abs(rate * level))
    return total if np.isfinite(total) else np.inf
