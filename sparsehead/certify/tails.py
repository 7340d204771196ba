"""Bounds on the heads' mixed values that hold for all but a small share of inputs, if the free bits are independent.

A linear form of a head's sums Z (`mixtures`) is a sum of independent terms, one for each token. A term has two values,
x_0 and x_1, with probabilities 1 - p and p. The tails of such a sum S are bounded in two ways.

    normal    by the tails of a normal variable (`sums`): cheap for many forms
    Chernoff  P(S >= level) <= exp(-lambda level) E exp(lambda S) with the exact expectation: only for the output,
              which is the last form

Chernoff's bound holds for every lambda > 0, so lambda is chosen from a grid. Each use of the normal bound fails with
probability at most `MostInputs.each`. `events` counts the uses, and a union bound adds up their probabilities.

Rounding. Terms are float64 numbers and taken as exact: `Mixture.blur` bounds their distance from the true terms, for
every input. Exponentials and sums are rounded; ROOM or an explicit term raises each bound by more than that.
"""

import numpy as np

from .._base.types import Array, Bool, Float, Int
from .balls import LIBRARY, TINY, UNIT, UP
from .mixtures import Mixture, Tokens
from .sums import HEAVY, ROOM, Sums


class MostInputs(Mixture):
    """Bounds that hold for all but a small share of the values of the free bits. In every part, `spent` is the share
    excluded so far.
    """

    def __init__(
        self, tokens: Tokens, state: Int[Array, "B T"], chance: Float[Array, " T"], each: float
    ) -> None:
        super().__init__(tokens, state, chance)
        self.each, self.events = each, 0
        self.log_each = -float(np.log(each)) * ROOM
        B, n, _, H, k = self.X.shape
        first, moves = self.X[:, :, 0], self.X[:, :, 1] - self.X[:, :, 0]
        self.together = Sums.of(first.reshape(B, n, H * k), moves.reshape(B, n, H * k), self.chance)
        first, moves = (x.transpose(0, 2, 1, 3).reshape(B * H, n, k) for x in (first, moves))
        self.by_head = Sums.of(first, moves, self.chance)
        self.events += 2 * H
        weights = np.broadcast_to(np.eye(k)[:, -1:], (B * H, k, 1))
        slack = self.blur[..., -1] + 8 * (n + 16) * UNIT * self.size[..., -1]
        middle = self.by_head.middle(weights).reshape(B, H)
        below, above = (x.reshape(B, H) for x in self.by_head.beyond(weights, self.log_each, (-1.0, 1.0)))
        self.D_low = np.maximum(self.D_low, (middle - below - slack) / UP)
        self.D_high = np.minimum(self.D_high, (middle + above + slack) * UP)

    @property
    def spent(self) -> float:
        """Return the share of inputs on which one of the bounds used so far may fail."""
        return self.events * self.each * ROOM

    @property
    def forms_at_once(self) -> int:
        B, n, _, H, _ = self.X.shape
        # 2^18 parts x heads x heavy terms x linear forms fit into a processor's cache
        return max(1, 2**18 // (B * H * min(n, HEAVY)))

    def anchors(self, g: Float[Array, "B H k f"]) -> Float[Array, "B H f"]:
        """Return numbers theta, below which the form g . (m - c) falls with probability about `each`; m is a head's
        mixed value and c its centre.

        If the denominator D, the sum of the weights, is nearly constant, a normal approximation is good enough.
        Otherwise theta is found by bisection between 0 and the least value that one token can have.
        """
        B, H, k, f = g.shape
        own = g.reshape(B * H, k, f)
        theta, steady = self._normal_anchors(own)
        rest = ~steady
        if rest.any():
            theta[rest] = self._bracketed(rest, own[rest])
        return theta.reshape(B, H, f)

    def _gain(
        self, sums: Sums, own: Float[Array, "P k f"], theta: Float[Array, "P f"]
    ) -> Float[Array, "P f"]:
        """Return a lower bound of g . Z - theta D for a head's sums Z = sum w (v - c) and D = sum w; it fails with
        probability `each`.
        """
        G = np.concatenate([own, -theta[:, None]], axis=1)
        return sums.middle(G) - sums.beyond(G, self.log_each, (-1.0,))[0]

    def _bracketed(self, chosen: Bool[Array, " P"], own: Float[Array, "unsteady k f"]) -> Array:
        """Find theta, the root of `_gain`, by bisection and one Newton step, which divides the gain by the upper bound
        of the denominator D. The gain's slope in theta is at most this bound, so the step cannot pass the root.
        """
        sums = self.by_head.some(chosen)
        least, most = (
            end.reshape(len(chosen), 1, -1)[chosen]
            for end in (self.offset.min(axis=(1, 2)), self.offset.max(axis=(1, 2)))
        )
        low = (least @ np.maximum(own, 0) + most @ np.minimum(own, 0))[:, 0]
        high, gained = np.zeros_like(low), np.zeros_like(low)
        for _ in range(5):
            theta = (low + high) / 2
            gain = self._gain(sums, own, theta)
            holds = gain >= 0
            low, high = np.where(holds, theta, low), np.where(holds, high, theta)
            gained = np.where(holds, gain, gained)
        D_high = sums.mean[:, -1:] + sums.total[:, -1:]
        return low + gained / D_high

    def _normal_anchors(self, own: Float[Array, "P k f"]) -> tuple[Float[Array, "P f"], Bool[Array, " P"]]:
        """Return the root theta <= 0 of theta D + sqrt(a V(theta)) = 0, and whether the denominator D is constant
        enough to use it.

        a is 2 log_each, and V(theta) bounds the variance of g . Z - theta D, where Z = sum w (v - c) and D = sum w are
        a head's sums.
        """
        W, D, a = self.by_head.spread, self.D.reshape(-1, 1), 2 * self.log_each
        V = (own * (W[:, :-1, :-1] @ own)).sum(axis=1)
        mixed, V_D = (W[:, -1:, :-1] @ own)[:, 0], W[:, -1, -1:]
        steady = (a * V_D < D**2 / 4)[:, 0]
        lead = np.maximum(D**2 - a * V_D, D**2 / 10)
        root = np.sqrt(np.maximum((a * mixed) ** 2 + lead * a * V, 0))
        return np.minimum(-(a * mixed + root) / lead, 0.0), steady

    def head_ranges(self, G: Float[Array, "B H c f"]) -> tuple[Float[Array, "B H f"], Float[Array, "B H f"]]:
        lost = 2 * self.blurred(G)
        self.events += 2 * G.shape[1] * G.shape[3]
        flat = G.reshape(-1, *G.shape[2:])
        middle = self.by_head.middle(flat).reshape(lost.shape)
        below, above = (x.reshape(lost.shape) for x in self.by_head.beyond(flat, self.log_each, (-1.0, 1.0)))
        return middle - below - lost, middle + above + lost

    def least(self, G: Float[Array, "B H c f"]) -> Float[Array, "B f"]:
        flat = G.reshape(len(G), -1, G.shape[-1])
        self.events += flat.shape[-1]
        return self.together.middle(flat) - self.together.beyond(flat, self.log_each, (-1.0,))[0]

    def chance_below(self, g: Float[Array, "B H k"], bound: Float[Array, " B"]) -> Float[Array, " B"]:
        """Return an upper bound of P(sum_h g_h . (m_h - c_h) <= bound), not counting the share `spent`; m_h is the
        mixed value of head h and c_h its centre.
        """
        G, constant = self.linear(g[..., None])
        level = bound - constant[:, 0] + 4 * UNIT * (np.abs(bound) + np.abs(constant[:, 0])) + TINY
        B, n = self.X.shape[:2]
        terms = (self.X.reshape(B, 2 * n, -1) @ G.reshape(B, -1, 1)).reshape(B, n, 2)
        return tail_chances(-terms, self.chance, -level)


def tail_chances(
    terms: Float[Array, "B n 2"], p: Float[Array, " n"], level: Float[Array, " B"]
) -> Float[Array, " B"]:
    """Return upper bounds of P(S >= level), where S = sum_t terms[t, b_t] and the b_t are independent bits, each 1 with
    probability p_t.
    """
    most = terms.max(axis=2)
    never = most.sum(axis=1) + (most.shape[1] + 4) * UNIT * np.abs(most).sum(axis=1) < level
    move = terms[..., 1] - terms[..., 0]
    mean, variance = (terms[..., 0] + p * move).sum(axis=1), (move**2 * p * (1 - p)).sum(axis=1)
    known = (level > mean) & (variance > 0) & (variance < np.inf)
    found = np.where(never, 0.0, 1.0)
    open_ = known & ~never
    terms, level = terms[open_], level[open_]
    # the best rate for a normal sum, and the logarithm of 1
    rate, least = (level - mean[open_]) / variance[open_], np.zeros(len(level))
    for steps in (2.0 ** np.arange(-20, 3, 2), 2.0 ** (np.arange(-3, 4) / 3)):
        logs = np.stack([log_chernoff(terms, p, level, rate * step) for step in steps])
        rate, least = rate * steps[logs.argmin(axis=0)], np.minimum(least, logs.min(axis=0))
    found[open_] = np.minimum(1.0, np.exp(least) * ROOM + 2.0**-1000)
    return found


def log_chernoff(
    terms: Float[Array, "B n 2"], p: Float[Array, " n"], level: Float[Array, " B"], rate: Float[Array, " B"]
) -> Float[Array, " B"]:
    """Return an upper bound of ln( exp(-rate level) prod_t E exp(rate terms_t) ); infinite if it overflows."""
    at = rate[:, None, None] * terms
    top = at.max(axis=2)
    inner = np.exp(at - top[..., None])
    logs = np.log((1 - p) * inner[..., 0] + p * inner[..., 1])
    # exp and log of the library, the exponents, and the sum
    outer = np.abs(top) + np.abs(logs)
    sizes = (1 + np.abs(at).sum(axis=2) + outer).sum(axis=1)
    lost = (2 * LIBRARY + 16 * UNIT) * sizes + (len(p) + 8) * UNIT * outer.sum(axis=1)
    total = (top + logs).sum(axis=1) - rate * level + lost * UP + 8 * UNIT * np.abs(rate * level)
    return np.where(np.isfinite(total), total, np.inf)
