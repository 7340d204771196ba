"""Samples per ln T that several types of learners need as T grows: theoretical slopes of a law.

The function reads bits x_1 .. x_s; their indices 1 .. s are called roles. y is the label after noise, R a proper subset
of the roles, and x_R and x_hidden are the bits with roles in R and not in R. I is mutual information in nats, D the
Kullback-Leibler divergence, and p the probability of a 1.

information   max over R of (s - |R|) / I(x_hidden; y | x_R). To identify the hidden roles among T^(s-|R|) alternatives
              takes (s - |R|) ln T nats, and a sample gives at most I(x_hidden; y | x_R) nats (Fano's inequality). For
              fixed s the best learner needs no more, as T grows (Malyutov 1978, Atia and Saligrama 2012).
position      max over j of 1 / I(x_j; y), for learners that score each position separately, with any score. An
              irrelevant position scores as well as role j with probability e^(-m I(x_j; y)), to first order in the
              exponent (Sanov's theorem), and there are about T irrelevant positions.
covariance    max over j of 1 / J_j for the covariance of bit and label as the score. Given the labels, of which a share
              q is 1, an irrelevant position reaches the covariance c = cov(x_j, y) with probability e^(-m J),
              J = sup over u of  u c - q L(u(1-q)) - (1-q) L(-u q),  L(v) = ln(1 - p + p e^v)  (Cramer's theorem).
              If x_j and y are nearly independent, 1/J is 2 p (1-p) q (1-q) / c^2.
elimination   max over j of 1 / (P(y) D(P(x_j | y) || P(x_j))), where y is a label that only one pattern of the s bits
              has (1 for conjunctions, 0 for disjunctions). In samples with this label, a wrong bit rules out a
              position. P(y) D is the part of I(x_j; y) that belongs to this label; for a conjunction without noise the
              constant is 1 / (p^s ln 1/p).
"""

import math
from dataclasses import asdict, dataclass

import numpy as np

from .._base.types import Array, Float
from ..functions import SparseFunction
from .target import Target, target_of


@dataclass(frozen=True)
class PerLnT:
    """Samples per ln T of four types of learners; inf if no number of samples suffices, None if the type does not exist
    for this function.
    """

    information: float
    position: float
    covariance: float
    elimination: float | None

    def finite(self) -> dict[str, float]:
        """Return the entries that are finite numbers."""
        return {name: x for name, x in asdict(self).items() if x is not None and math.isfinite(x)}

    def __str__(self) -> str:
        return ", ".join(f"{name} {x:.3g}" for name, x in self.finite().items())


def per_ln_T(function: str | SparseFunction, *, s: int | None = None, p: float, noise: float = 0.0) -> PerLnT:
    """Return the constants of a family ("and", "or", "parity", "majority") of s positions, or of any function.

    >>> print(per_ln_T("and", s=3, p=0.5 ** (1 / 3)))
    information 4.33, position 5.88, covariance 7.68, elimination 8.66
    """
    target = target_of(function, s=s, p=p, noise=noise)
    pairs = [target.noisy(target.joint((j,))) for j in range(target.s)]  # P(x_j, y)
    label = _single(target)
    return PerLnT(
        information=max(_inverse(target.s - len(R), _given(target, R)) for R in target.reveals()),
        position=max(_inverse(1, _part(pair, 0) + _part(pair, 1)) for pair in pairs),
        covariance=max(_inverse(1, _covariance_rate(pair)) for pair in pairs),
        elimination=None if label is None else max(_inverse(1, _part(pair, label)) for pair in pairs),
    )


def _inverse(n: int, nats: float) -> float:
    return n / nats if nats > 1e-12 else math.inf  # for independent bits, nats is only a rounding error


def _given(target: Target, revealed: tuple[int, ...]) -> float:
    """Return the information, in nats, that the hidden bits give about the label y when the bits x_R of the revealed
    roles R are known.

    I(x_hidden; y | x_R) = H(y | x_R) - H(y | x_1 .. x_s); the last entropy is that of the noise.
    """
    seen = target.noisy(target.joint(revealed))
    return _entropy(seen) - _entropy(seen.sum(axis=1)) - _entropy(np.array([target.noise, 1 - target.noise]))


def _entropy(chances: Float[Array, "..."]) -> float:
    positive = chances[chances > 0]
    return float(-(positive * np.log(positive)).sum())


def _part(pair: Float[Array, "2 2"], label: int) -> float:
    """Return P(y) D(P(x | y) || P(x)) for y = label, where D is the Kullback-Leibler divergence."""
    both, apart = pair[:, label], pair.sum(axis=1) * pair[:, label].sum()
    possible = both > 0
    return float((both[possible] * np.log(both[possible] / apart[possible])).sum())


def _single(target: Target) -> int | None:
    """Return the label that only one pattern of the s bits has; None if there is none."""
    counts = (target.values.count(0), target.values.count(1))
    return next((label for label in (1, 0) if counts[label] == 1), None)


def _covariance_rate(pair: Float[Array, "2 2"]) -> float:
    """Return the rate J of the covariance score (docstring of this file): the supremum of a concave function of u.

    It is found by bisection on the derivative.
    """
    p, q = float(pair[1].sum()), float(pair[:, 1].sum())
    c = abs(float(pair[1, 1]) - p * q)
    if float(pair[1, 1]) < p * q:
        q = 1 - q  # the other label, with which the covariance is c

    def slope(u: float) -> float:
        """Return the derivative of u c - q L(u(1-q)) - (1-q) L(-u q) by u, where L'(v) = p / (p + (1-p) e^-v)."""
        one, zero = (p / (p + (1 - p) * math.exp(-v)) for v in (u * (1 - q), -u * q))
        return c - q * (1 - q) * (one - zero)

    low, high = 0.0, 1.0
    while slope(high) > 0 and high < 500:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    log = [math.log1p(p * math.expm1(v)) for v in (low * (1 - q), -low * q)]
    return low * c - q * log[0] - (1 - q) * log[1]
