"""A capacity bound is a list of items; this file says what a list is worth.

Item k covers one weight matrix at its own resolution x_k, at a price h_k(x_k) in ln N, and an error x_k there
becomes p_k x_k at the output. Any split with sum p_k x_k = eps covers the whole network at eps:

    ln N_inf(eps) <= sum_k h_k(x_k),
    h_k(x) = min( (r_k/x)^2 lambda_k ,  dim_k ln(1 + 2 r_k/x) ),   and 0 for x >= r_k.

The first price is the perceptron cover of `linear.py`, c_k = r_k^2 lambda_k; the second counts parameters.
With the first alone the best split is known (`split`), and the bound is C/eps^2 with

    C = ( sum_k c_k^{1/3} p_k^{2/3} )^3.

Each item's share of C is also its share of eps, so a bound says which term dominates. n equal items are one
item with n copies: each copy has the same x, and the sums above count it n times. All of it is done on
logarithms.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..logs import LOG_ZERO, Real, check_eps, check_norm, exp, ln, log_sum
from ..types import Array

REACH = 100.0  # ln of the multipliers tried for the numeric split: this, and more for extreme radii
ROUNDS, WIDTH = 4, 33  # each round keeps 1/32 of the range: ln mu to 2e-4, where the split is flat


@dataclass(frozen=True)
class Item:
    """One term: price (r/x)^2 lambda or dim ln(1 + 2r/x) at resolution x; an error of x is p x at the output."""

    name: str
    log_r: float
    log_lambda: float
    log_p: float
    dim: float
    log_copies: float = 0.0

    @property
    def log_c(self) -> float:
        return 2 * self.log_r + self.log_lambda

    @property
    def c(self) -> float:
        return exp(self.log_c)

    @property
    def p(self) -> float:
        return exp(self.log_p)

    @property
    def log_weight(self) -> float:
        """ln(c^{1/3} p^{2/3}), what one copy adds under the cube."""
        return (self.log_c + 2 * self.log_p) / 3 if self.live else LOG_ZERO

    @property
    def log_total(self) -> float:
        """ln of what all copies together add under the cube."""
        return self.log_weight + self.log_copies

    @property
    def live(self) -> bool:
        """False for an item of a zero weight, or one that cannot reach the output: it costs nothing."""
        return self.log_r > LOG_ZERO and self.log_p > LOG_ZERO


def item(name: str, *, c: Real, p: Real, dim: Real = math.inf) -> Item:
    """An item from the two numbers of the split lemma, when the price is c/x^2 and nothing else is known."""
    return Item(name, ln(check_norm("c", c)) / 2, 0.0, ln(check_norm("p", p)), float(dim))


def split(items: Sequence[Item], eps: Real) -> tuple[float, ...]:
    """The x_k that minimise sum c_k/x_k^2 subject to sum p_k x_k = eps.

    x_k = (eps/g)(c_k/p_k)^{1/3},  g = sum c^{1/3} p^{2/3}.

    By convexity and one Lagrange multiplier; the minimum is g^3/eps^2. Items that cost nothing get inf, and an
    item with copies counts that often in both sums.

    Paper: split-lemma
    """
    log_g = log_sum(k.log_total for k in items)
    log_eps = math.log(check_eps(eps))
    return tuple(exp(log_eps - log_g + (k.log_c - k.log_p) / 3) if k.live else math.inf for k in items)


def log_capacity(items: Sequence[Item]) -> float:
    """ln C, where ln N_inf(eps) <= C/eps^2; -inf when every item costs nothing.   Paper: split-lemma"""
    return 3 * log_sum(k.log_total for k in items)


@dataclass(frozen=True)
class Covering:
    """ln N_inf at one resolution, its shares (one per item), and ln of ln N for the huge."""

    log_covering: float
    log_log: float
    shares: tuple[float, ...]


def closed_covering(items: Sequence[Item], log_eps: float) -> Covering:
    """ln N_inf <= C/eps^2, with the best split in closed form.   Paper: split-lemma"""
    log_C = log_capacity(items)
    shares = tuple(exp(k.log_total - log_C / 3) if log_C > LOG_ZERO else 0.0 for k in items)
    log_log = log_C - 2 * log_eps
    return Covering(exp(log_log), log_log, shares)


def numeric_covering(items: Sequence[Item], log_eps: float, *, parametric_only: bool) -> Covering:
    """ln N_inf with each item at the cheaper of its two prices, or at dim ln(1 + 2r/x) alone, split numerically.

    Paper: parametric-cover

    Minimises the sum of n_k h_k(y_k) over shares y_k = p_k x_k/eps of the error, sum n_k y_k = 1.
    """
    live = [k for k in items if k.live]
    if not live:
        return Covering(0.0, LOG_ZERO, tuple(0.0 for _ in items))
    log_rho = np.array([k.log_r + k.log_p - log_eps for k in live])
    log_n = np.array([k.log_copies for k in live])
    if log_sum(log_rho + log_n) <= 0:  # every weight's whole class fits into its share of the error
        return Covering(0.0, LOG_ZERO, tuple(0.0 for _ in items))
    log_lambda = np.array([k.log_lambda for k in live])
    dim = np.array([min(k.dim, 1e300) for k in live])
    log_weights = np.array([k.log_weight for k in live])
    closed = log_weights - log_sum(log_weights + log_n)
    candidates = [closed, _balance(log_rho, log_lambda, dim, log_n, parametric_only=True)]
    if not parametric_only:
        candidates.append(_balance(log_rho, log_lambda, dim, log_n, parametric_only=False))
    prices = [
        _all_copies(_prices(log_rho, log_lambda, dim, y, parametric_only=parametric_only), log_n)
        for y in candidates
    ]
    best = min(prices, key=lambda h: float(h.sum()))
    total = float(best.sum())
    if not math.isfinite(total):  # a class too large for a float: the closed form still gives its logarithm
        log_C = log_capacity(items)
        return Covering(math.inf, log_C - 2 * log_eps, tuple(exp(k.log_total - log_C / 3) for k in items))
    costs = iter(best)
    shares = tuple(float(next(costs)) / total if k.live and total > 0 else 0.0 for k in items)
    return Covering(total, ln(total), shares)


# The helpers below run some hundred times per bound, so their shapes stand here and are not checked at each
# call: log_rho, log_lambda, dim, log_n and shares have one entry per live item, log_mu one per slope tried.


def _all_copies(price: Array, log_n: Array) -> Array:
    """The price of n copies; inf beyond the range of a float, and 0 where a single copy costs nothing."""
    with np.errstate(over="ignore", divide="ignore"):
        return np.exp(np.log(price) + log_n)


def _prices(
    log_rho: Array,
    log_lambda: Array,
    dim: Array,
    log_y: Array,
    *,
    parametric_only: bool,
) -> Array:
    """h_k at relative resolutions y_k; zero where the whole class fits into one ball."""
    ratio = log_rho - log_y
    price = dim * np.logaddexp(0.0, math.log(2) + ratio)
    if not parametric_only:
        with np.errstate(over="ignore"):  # a perceptron price beyond floats loses to the other one
            price = np.minimum(price, np.exp(2 * ratio + log_lambda))
    return np.where(ratio <= 0, 0.0, price)


def _balance(
    log_rho: Array,
    log_lambda: Array,
    dim: Array,
    log_n: Array,
    *,
    parametric_only: bool,
) -> Array:
    """Shares of single copies (as logs; all copies add up to 1) at which the prices' slopes agree.

    A search for the common slope mu: for each item and mu the better of the stationary points of its prices,
    or y = rho where the price vanishes. The prices are not convex together, so this need not be the optimum;
    whatever it returns is a valid split.
    """
    high = REACH + 4 * float((np.abs(log_rho) + log_n).max())
    low = -high
    for _ in range(ROUNDS):
        log_mu = np.linspace(low, high, WIDTH)
        shares = _respond(log_mu, log_rho, log_lambda, dim, parametric_only)
        totals = np.logaddexp.reduce(shares + log_n, axis=1)
        first = int(np.argmax(totals <= 0)) or 1  # totals fall in mu
        low, high = float(log_mu[first - 1]), float(log_mu[first])
    log_y = _respond(np.array([high]), log_rho, log_lambda, dim, parametric_only)[0]
    return log_y - log_sum(log_y + log_n)


def _respond(
    log_mu: Array,
    log_rho: Array,
    log_lambda: Array,
    dim: Array,
    parametric_only: bool,
) -> Array:
    """ln of the y that minimises h(y) + mu y for every mu and item, among stationary points and y = rho."""
    slope = log_mu[:, None]
    with np.errstate(divide="ignore"):
        # dim ln(1 + 2 rho/y) is stationary at y = (2 dim/mu) / (1 + sqrt(1 + 2 dim/(mu rho)))
        base = math.log(2) + np.log(dim) - slope
    volume = base - np.logaddexp(0.0, np.logaddexp(0.0, base - log_rho) / 2)
    options = [volume, np.broadcast_to(log_rho, volume.shape)]
    if not parametric_only:
        options.append((math.log(2) + log_lambda + 2 * log_rho - slope) / 3)  # lambda (rho/y)^2
    costs = [
        _prices(log_rho, log_lambda, dim, y, parametric_only=parametric_only)
        + np.exp(np.minimum(slope + y, 700.0))
        for y in options
    ]
    return np.choose(np.argmin(costs, axis=0), options)
