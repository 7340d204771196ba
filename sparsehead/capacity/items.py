"""Items, the terms of a capacity bound, and the covering number that a list of items gives.

Item k covers one weight matrix with error x_k. This adds a price h_k(x_k) to ln N, the logarithm of the covering
number, and the error becomes p_k x_k at the output. Any split with sum p_k x_k = eps covers the whole network at eps:

    ln N_inf(eps) <= sum_k h_k(x_k),
    h_k(x) = min( (r_k/x)^2 lambda_k ,  dim_k ln(1 + 2 r_k/x) ),   and 0 for x >= r_k.

Here r_k is a norm of the matrix times the length of its inputs, lambda_k a logarithmic factor, and dim_k the number of
parameters. The first price is ln of the size of a perceptron cover (claim `linear-cover`); the second counts
parameters. With the first alone and c_k = r_k^2 lambda_k, the best split has x_k proportional to (c_k/p_k)^{1/3}, and
the bound is C/eps^2 with

    C = ( sum_k c_k^{1/3} p_k^{2/3} )^3.

Each item's share of C is also its share of eps, so a bound says which term dominates. n equal items are one
item with n copies: each copy has the same x, and the sums above count it n times. All computations
use logarithms.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._base.log_math import LOG_ZERO, exp, ln, log_sum
from .._base.types import Array

CHOICES_TRIED = 729  # up to so many choices of prices are all tried: six items with three prices each


@dataclass(frozen=True)
class Item:
    """One term of a capacity bound, for one weight matrix.

    To cover the matrix with error x costs (r/x)^2 lambda or dim ln(1 + 2r/x), and the error becomes p x at the output.
    r is a norm of the matrix times the length of its inputs, lambda a logarithmic factor, dim the number of parameters.
    """

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
        """Return ln(c^{1/3} p^{2/3}) with c = r^2 lambda, the logarithm of what one copy of this item adds to the sum
        in C.
        """
        return (self.log_c + 2 * self.log_p) / 3 if self.live else LOG_ZERO

    @property
    def log_total(self) -> float:
        """The logarithm of the contribution of all copies to the sum in C."""
        return self.log_weight + self.log_copies

    @property
    def live(self) -> bool:
        """Return False for an item that costs nothing: its matrix is zero, or its error does not reach the output."""
        return self.log_r > LOG_ZERO and self.log_p > LOG_ZERO


def log_capacity(items: Sequence[Item]) -> float:
    """Return ln C, where ln N_inf(eps) <= C/eps^2; -inf if every item costs nothing.   Paper: split-lemma"""
    return 3 * log_sum(k.log_total for k in items)


@dataclass(frozen=True)
class Covering:
    """ln N_inf at one resolution, its logarithm (for values beyond a float's range), and the share of each item in ln
    N_inf.
    """

    log_covering: float
    log_log: float
    shares: tuple[float, ...]


def closed_covering(items: Sequence[Item], log_eps: float) -> Covering:
    """Return ln N_inf <= C/eps^2, where the allowed error eps is split among the items in the best way.
    Paper: split-lemma
    """
    log_C = log_capacity(items)
    shares = tuple(exp(k.log_total - log_C / 3) if log_C > LOG_ZERO else 0.0 for k in items)
    log_log = log_C - 2 * log_eps
    return Covering(exp(log_log), log_log, shares)


def numeric_covering(items: Sequence[Item], log_eps: float, *, parametric_only: bool) -> Covering:
    """Return ln N_inf with the split found numerically. Each item costs the smaller of its two prices; with
    `parametric_only` always dim ln(1 + 2r/x).   Paper: parametric-cover

    Minimise the sum of n_k h_k(y_k) over the shares y_k = p_k x_k/eps of the error, with sum n_k y_k = 1, where n_k is
    the number of copies of item k and h_k its price. With up to `CHOICES_TRIED` choices of prices (always for at most
    six items) the exact minimum is found, so the result never decreases when prices rise, as they do with T and m. With
    more choices a search finds a valid split that may not be the best, so the result may decrease as T grows. For T
    from 2 to 10^6 this occurred in none of 600 random classes with 5 to 8 items, and in one of 200 classes with 9 to 12
    items, where the decrease was 1.4 %.
    """
    live, nothing = [k for k in items if k.live], Covering(0.0, LOG_ZERO, tuple(0.0 for _ in items))
    if not live:
        return nothing
    log_rho = np.array([k.log_r + k.log_p - log_eps for k in live])
    log_n = np.array([k.log_copies for k in live])
    if log_sum(log_rho + log_n) <= 0:  # every weight's whole class fits into its share of the error
        return nothing
    log_lambda = np.array([k.log_lambda for k in live])
    dim = np.array([min(k.dim, 1e300) for k in live])
    best = _Split(log_rho, log_lambda, dim, log_n, parametric_only).least()
    total = float(best.sum())
    if not math.isfinite(total):  # a class too large for a float: the closed form still gives its logarithm
        return replace(closed_covering(items, log_eps), log_covering=math.inf)
    costs = iter(best)
    shares = tuple(float(next(costs)) / total if k.live and total > 0 else 0.0 for k in items)
    return Covering(total, ln(total), shares)


@dataclass(frozen=True)
class _Split:
    """The search for shares y_k with sum n_k y_k = 1 and the least sum of prices n_k h_k(y_k); n_k counts copies.

    With rho = p r/eps, where p and r are the item's and eps is the error allowed, h(y) is the least of three prices: 0
    (only if y >= rho), dim ln(1 + 2 rho/y), lambda (rho/y)^2. Each price is convex in y, but h is not. So fix one kind
    of price for every item; such a choice is a row of `kinds`. At the best shares for a row, all prices have the same
    slope -mu, and Newton's method finds mu. If there are at most `CHOICES_TRIED` rows, all are tried. Otherwise the
    search starts from rows in which every item has its best price at a common slope, and changes one entry at a time.
    Arrays have one entry per live item and one row per choice. Arguments are not checked, since a bound makes hundreds
    of calls.
    """

    log_rho: Array
    log_lambda: Array
    dim: Array
    log_n: Array
    parametric_only: bool

    # kinds of prices: nothing, at y = rho; dim ln(1 + 2 rho/y); lambda (rho/y)^2
    FREE, VOLUME, SQUARE = 0, 1, 2

    @cached_property
    def log_2dim(self) -> Array:
        return math.log(2) + np.log(self.dim)

    @cached_property
    def log_square(self) -> Array:
        """Return ln(2 lambda rho^2), a constant in the slope of the price lambda (rho/y)^2."""
        return math.log(2) + self.log_lambda + 2 * self.log_rho

    def least(self) -> Array:
        """Return the items' prices at the best split found."""
        if math.prod(len(kinds) for kinds in self.options) <= CHOICES_TRIED:
            return self._best(np.array(list(itertools.product(*self.options))))[0]
        return self._descend()[0]

    @cached_property
    def options(self) -> list[list[int]]:
        """Return, for each item, the kinds of price that can occur in the best row of `kinds`.

        The price 0 is possible only for a class that lies within the allowed error of one function. As y falls,
        (rho/y)^2 grows faster than ln(1 + 2 rho/y): if the square is larger at the largest y with a positive price, it
        is larger everywhere.
        """
        widest = np.maximum(self.log_rho + self.log_n, 0.0)
        square = self._price(widest, self.SQUARE) < self._price(widest, self.VOLUME)
        can = np.array([self.log_rho + self.log_n < 0, np.full(len(self.dim), True), square])
        return [[kind for kind in self.choices if can[kind, k]] for k in range(len(self.dim))]

    @property
    def choices(self) -> tuple[int, ...]:
        return (self.FREE, self.VOLUME) if self.parametric_only else (self.FREE, self.VOLUME, self.SQUARE)

    def _descend(self) -> tuple[Array, Array]:
        """Return prices and kinds of the best row, after changing one entry at a time while this lowers the sum."""
        starts = [np.full((1, len(self.dim)), kind) for kind in self.choices[1:]] + [self._balanced()]
        if not self.parametric_only:  # never above the same items at their parametric prices
            starts.append(replace(self, parametric_only=True)._descend()[1][None])
        prices, row = self._best(np.vstack(starts))
        while True:
            changes = [(k, kind) for k in range(len(row)) for kind in self.options[k] if kind != row[k]]
            rows = np.repeat(row[None], len(changes) + 1, axis=0)  # the last row is not changed
            rows[np.arange(len(changes)), [k for k, _ in changes]] = [kind for _, kind in changes]
            next_prices, next_row = self._best(rows)
            if not next_prices.sum() < prices.sum() * (1 - 1e-9):
                return prices, row
            prices, row = next_prices, next_row

    def _best(self, kinds: Array) -> tuple[Array, Array]:
        """Return prices and kinds of the cheapest of these rows."""
        kinds = kinds[(kinds != self.FREE).any(axis=1) & (self._share_left(kinds) > 0)]
        prices = self._prices(self._shares(kinds))
        first = int(np.argmin(prices.sum(axis=1)))
        return prices[first], kinds[first]

    def _prices(self, log_y: Array) -> Array:
        """Return n h(y), the price of all copies, at shares y: 0 if the class fits into one ball, inf beyond a float's
        range.
        """
        ratio = self.log_rho - log_y
        price = self._price(ratio, self.VOLUME)
        if not self.parametric_only:  # a perceptron price beyond floats loses to the other one
            price = np.minimum(price, self._price(ratio, self.SQUARE))
        with np.errstate(over="ignore", divide="ignore"):
            return np.exp(np.log(np.where(ratio <= 0, 0.0, price)) + self.log_n)

    def _respond(self, kinds: Array | int, log_mu: Array) -> tuple[Array, Array]:
        """Return ln of the share y at which each chosen price has slope -mu, and -d ln y / d ln mu."""
        # dim ln(1 + 2 rho/y) is stationary at y = (2 dim/mu) / (1 + root), root = sqrt(1 + 2 dim/(mu rho))
        base = self.log_2dim - log_mu[:, None]
        log_root = np.logaddexp(0.0, base - self.log_rho) / 2
        square = kinds == self.SQUARE
        log_y = np.where(square, (self.log_square - log_mu[:, None]) / 3, base - np.logaddexp(0.0, log_root))
        fall = np.where(square, 1 / 3, 0.5 + 0.5 * np.exp(-log_root))
        return np.where(kinds == self.FREE, self.log_rho, log_y), fall

    def _shares(self, kinds: Array) -> Array:
        """Return ln of the best shares y for every row of kinds.

        Every row must have an item with a positive price, and the items with price 0 must not use up the whole error.
        """
        free = kinds == self.FREE
        log_left, paid = np.log(self._share_left(kinds)), np.where(free, LOG_ZERO, self.log_n)
        log_mu = np.full(len(kinds), float(self.log_rho.max()))
        for _ in range(12):  # ln y is nearly linear in ln mu, so Newton's method needs few steps
            log_y, fall = self._respond(kinds, log_mu)
            off = np.logaddexp.reduce(log_y + paid, axis=1) - log_left
            if np.abs(off).max() < 1e-9:
                break
            weights = np.exp(log_y + paid - (off + log_left)[:, None])
            log_mu = log_mu + off / (weights * fall).sum(axis=1)
        return np.where(free, log_y, log_y - off[:, None])

    def _share_left(self, kinds: Array) -> Array:
        """Return 1 minus the shares of the allowed error used by the items with price 0."""
        return 1 - (np.exp(np.minimum(self.log_rho + self.log_n, 1.0)) * (kinds == self.FREE)).sum(axis=1)

    def _balanced(self) -> Array:
        """Find the common slope of all prices at which shares add up to 1; return each item's best kind of price just
        below and just above that slope.
        """
        high = 100.0 + 4 * float((np.abs(self.log_rho) + self.log_n).max())
        low = -high
        for _ in range(4):  # each round keeps 1/32 of the range: ln mu to 2e-4
            log_mu = np.linspace(low, high, 33)
            kinds = self._preferred(log_mu)
            totals = np.logaddexp.reduce(self._respond(kinds, log_mu)[0] + self.log_n, axis=1)
            first = int(np.argmax(totals <= 0)) or 1  # totals fall in mu
            low, high = float(log_mu[first - 1]), float(log_mu[first])
        return kinds[[first - 1, first]]

    def _preferred(self, log_mu: Array) -> Array:
        """Return for every mu and item the kind with the least h(y) + mu y."""
        costs = []
        for kind in self.choices:
            log_y, _ = self._respond(kind, log_mu)
            h = self._price(self.log_rho - log_y, kind) if kind != self.FREE else 0.0
            costs.append(h + np.exp(np.minimum(log_mu[:, None] + log_y, 700.0)))
        return np.argmin(costs, axis=0)

    def _price(self, ratio: Array, kind: int) -> Array:
        if kind == self.VOLUME:
            return self.dim * np.logaddexp(0.0, math.log(2) + ratio)
        with np.errstate(over="ignore"):
            return np.exp(2 * ratio + self.log_lambda)
