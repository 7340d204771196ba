"""Sums of independent terms with two values each: bounds on their distance from the mean that hold except with a small
probability.

Term t is x_0 + b move, where b is 1 with probability p and else 0. For every real lambda (docs/theory.md 9.5)

    E exp(lambda move (b - p)) <= exp(lambda^2 move^2 w(p) / 2),      w(p) = (1 - 2p) / (2 ln((1 - p) / p)),

so that S, the sum of the terms, has lighter tails than a normal variable of the variance W = sum_t w(p_t) move_t^2:

    P(S >= E S + x) <= exp(-L)      if   x = sqrt(2 L W).

W is a quadratic form of the coefficients of S, so for further linear forms of the same terms no sum over tokens is
needed. The bound is poor if a few terms make up most of W. Therefore a second kind of bound takes the sum of the
largest values of the 1, 2, 4, .. heaviest terms, and bounds only the light terms, all others, as above. The least of
all these bounds is used.

Rounding. Moves are float64 numbers and taken as exact. Variances and sums are rounded; ROOM, or a multiple of UNIT
times the sum of absolute values, raises each bound by more than that.
"""

from dataclasses import dataclass, fields

import numpy as np

from .._base.types import Array, Bool, Float
from .balls import TINY, UNIT

ROOM = 1 + 2.0**-30  # more than the relative rounding of a positive sum of up to 2^20 terms
HEAVY = 1024  # terms that are looked at one by one; more is sharper and slower
CUTS = np.array([0, *(2**i for i in range(10))])  # the heavy terms are taken in blocks that begin here


def tail_variance(p: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Return an upper bound of w(p) = (1 - 2p) / (2 ln((1 - p) / p)), which is 0 at p = 0 and 1, and largest, 1/4, at p
    = 1/2.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        w = (1 - 2 * p) / (2 * np.log((1 - p) / p)) * ROOM
    return np.where(np.abs(1 - 2 * p) < 1e-3, 0.25, np.minimum(w, 0.25))


@dataclass(frozen=True, eq=False)
class Sums:
    """B families of n terms. Each term is a vector of c coordinates, so a linear form of the coordinates turns a family
    into a sum as at the top of this file.

    Args:
        mean: the mean of the sum of the terms.
        heavy, weights: the moves of the heavy terms, the heaviest first, and their w(p). The last axis runs over terms.
        skew: the sums of (1/2 - p) move over the heaviest 1, then the next 1, 2, 4, .. terms.
        spread, spread_light: the matrices of the variance W, a quadratic form, for all terms and for the light ones.
        total: the sum of |move| over all terms.
        terms: the number n of terms.
    """

    mean: Float[Array, "B c"]
    heavy: Float[Array, "B c K"]
    weights: Float[Array, "B K"]
    skew: Float[Array, "B c blocks"]
    spread: Float[Array, "B c c"]
    spread_light: Float[Array, "B c c"]
    total: Float[Array, "B c"]
    terms: int

    @classmethod
    def of(cls, first: Float[Array, "B n c"], moves: Float[Array, "B n c"], p: Float[Array, " n"]) -> "Sums":
        """Make the sums from the terms' two values, `first` and `first + moves`."""
        chance, w = p[:, None], tail_variance(p)[:, None]
        weighted = w * moves
        spread = weighted.transpose(0, 2, 1) @ moves
        # A term is heavy if it makes up much of the variance of some coordinate; any choice would be right.
        own = np.maximum(np.diagonal(spread, axis1=1, axis2=2), 2.0**-1000)
        order = (weighted * moves / own[:, None]).max(axis=2)
        chosen = np.argsort(-order, axis=1)[:, :HEAVY]
        heavy = np.ascontiguousarray(np.take_along_axis(moves, chosen[..., None], axis=1).transpose(0, 2, 1))
        light = moves.copy()
        np.put_along_axis(light, chosen[..., None], 0.0, axis=1)
        return cls(
            mean=(first + chance * moves).sum(axis=1),
            heavy=heavy,
            weights=w[chosen, 0],
            skew=_by_block((0.5 - p[chosen])[:, None] * heavy),
            spread=spread,
            spread_light=(w * light).transpose(0, 2, 1) @ light,
            total=np.abs(moves).sum(axis=1),
            terms=len(p),
        )

    def some(self, chosen: Bool[Array, " B"]) -> "Sums":
        """Return the sums of the chosen families."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return Sums(**{name: x[chosen] if isinstance(x, np.ndarray) else x for name, x in plain.items()})

    def middle(self, G: Float[Array, "B c f"]) -> Float[Array, "B f"]:
        """Return the computed means of the forms G, whose rounding is not bounded."""
        return _times(self.mean, G)

    def beyond(
        self, G: Float[Array, "B c f"], log_inverse: float, signs: tuple[float, ...]
    ) -> list[Float[Array, "B f"]]:
        """Return how far each form G can lie above (sign 1) or below (sign -1) its mean, except with a small
        probability.

        The probability is exp(-log_inverse) for each form and sign. Heavy terms are bounded by their largest values: a
        term exceeds its mean by at most (1 - p) move, or p |move| if move < 0, which is |move| / 2 + (1/2 - p) move.
        """
        sizes = np.abs(G)
        forms = G.transpose(0, 2, 1)
        moves = forms @ self.heavy
        lost = 4 * (self.terms + G.shape[1] + 16) * UNIT * _times(self.total, sizes)
        squares = moves * moves
        squares *= self.weights[:, None]  # in place: a new array of this size costs more than the product
        blocks = _by_block(squares) * ROOM
        # of the terms from each block on, and of the light ones alone
        rest = [self._variance(G, sizes)]
        for i in range(blocks.shape[2] - 1, -1, -1):
            rest.insert(0, rest[0] + blocks[..., i])
        tails = [np.sqrt(2 * log_inverse * ROOM * W) for W in rest]
        halves, skews = _by_block(np.abs(moves, out=moves)) / 2, forms @ self.skew
        found = []
        for sign in signs:
            least, reach = tails[0], lost
            for i, tail in enumerate(tails[1:]):
                reach = reach + halves[..., i] + sign * skews[..., i]
                least = np.minimum(least, reach + tail)
            found.append(least * ROOM + TINY)
        return found

    def _variance(self, G: Float[Array, "B c f"], sizes: Float[Array, "B c f"]) -> Float[Array, "B f"]:
        """Return an upper bound of W, the variance of the forms G, for the light terms; rounding adds a multiple of
        (|G| . deviations)^2.
        """
        W = self.spread_light
        deviations = np.sqrt(np.diagonal(W, axis1=1, axis2=2))
        found = np.maximum((G * (W @ G)).sum(axis=1), 0.0)
        return (found + 4 * (self.terms + G.shape[1] + 16) * UNIT * _times(deviations, sizes) ** 2) * ROOM


def _by_block(x: Float[Array, "B f K"]) -> Float[Array, "B f blocks"]:
    return np.add.reduceat(x, CUTS[x.shape[2] > CUTS], axis=2)


def _times(x: Float[Array, "B c"], G: Float[Array, "B c f"]) -> Float[Array, "B f"]:
    return (x[:, None] @ G)[:, 0]
