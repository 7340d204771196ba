"""From norms to items: which norm a form charges, and what it costs to have read it off the weights.

A bound holds for a class fixed before the data are seen. When the norms are those of a trained model, the
class must be chosen from a countable family by a union bound: each norm is rounded up to a power of two 2^j,
and ln(1/delta) grows by ln(2 (|j|+1)(|j|+2)) per norm (ln 4 for a norm of zero). The weights of all choices
add up to sum_j 1/(2(|j|+1)(|j|+2)) + 1/4 = 3/4 + 1/4 = 1.
"""

import math
from collections.abc import Callable
from typing import Any, TypeVar

from ..logs import LOG_ZERO, ln, log1p_exp, log_ln
from .items import Item, check_form
from .linear import log_Lambda
from .norms import MatrixNorms

Measured = TypeVar("Measured")
SOFTMAX = {"paper": math.log(2)}  # ln C_Norm: the paper's constant for softmax is 2, the proven one 1


class Pricing:
    """Charges for weights under one form, and keeps the account of norms read off the data.

    `measured` may be shared between accounts of the same weights: a search over m measures each matrix once.
    """

    def __init__(
        self, form: str, *, a_posteriori: bool = False, measured: dict[str, Any] | None = None
    ) -> None:
        check_form(form)
        self.form = form
        self.a_posteriori = a_posteriori
        self.declared: dict[str, float] = {}
        self.measured: dict[str, Any] = {} if measured is None else measured

    def measure(self, name: str, make: Callable[[], Measured]) -> Measured:
        """What `make` returns, computed once per name."""
        if name not in self.measured:
            self.measured[name] = make()
        return self.measured[name]

    @property
    def log_softmax(self) -> float:
        """ln of the Lipschitz constant of softmax from the sup-norm to the l1-norm that the form uses."""
        return SOFTMAX.get(self.form, 0.0)

    @property
    def penalty(self) -> float:
        """What the union bound adds to ln(1/delta)."""
        if not self.a_posteriori:
            return 0.0
        return math.fsum(_penalty(value) for value in self.declared.values())

    def log_norm(self, name: str, value: float) -> float:
        """ln of the norm as declared: itself, or the next power of two above it. One name pays once."""
        if name not in self.declared:
            self.declared[name] = ln(value) if not self.a_posteriori or value == 0 else _round_up(value)
        return self.declared[name]

    def log_spectral(self, name: str, W: MatrixNorms) -> float:
        return self.log_norm(f"{name} spectral", W.spectral)

    def linear(self, name: str, W: MatrixNorms, *, log_b: float, log_N: float, log_p: float) -> Item:
        """The item of a map x -> x W on N points of length at most b: ||W||_{2,1} b (1,1 without T).

        A map with a single column is a vector class, whose cover is cheaper.
        """
        if self.form == "trauger-tewari":
            log_r = self.log_norm(f"{name} 1,1", W.n11) + log_b
            return Item(name, log_r, _log_maurey(W), log_p, _dim(W, log_N))
        log_r = self.log_norm(f"{name} 2,1", W.n21) + log_b
        if self.form == "paper":
            log_lambda = ln(max(ln(W.columns) + log_N, 0.0))
        else:
            log_lambda = log_ln(log_N) if W.columns == 1 else log_Lambda(W.columns, log_N)
        return Item(name, log_r, log_lambda, log_p, _dim(W, log_N))

    def bilinear(self, name: str, W: MatrixNorms, *, log_b: float, log_N: float, log_p: float) -> Item:
        """The item of a score (x, z) -> z^T W x on N pairs with ||x|| ||z|| <= b.

        The score is linear in W with the point z x^T, so `ours` charges the Frobenius norm and no log d; the
        paper charges ||W^T||_{2,1}, which is no smaller.   Paper: single-layer-capacity
        """
        if self.form == "trauger-tewari":
            log_r, log_lambda = self.log_norm(f"{name} 1,1", W.n11) + log_b, _log_maurey(W)
        elif self.form == "paper":
            log_r = self.log_norm(f"{name} T 2,1", W.n21_T) + log_b
            log_lambda = ln(max(ln(W.rows) + log_N, 0.0))
        else:
            log_r, log_lambda = self.log_norm(f"{name} F", W.frobenius) + log_b, log_ln(log_N)
        return Item(name, log_r, log_lambda, log_p, min(float(W.rows * W.columns), _safe(log_N)))


def _dim(W: MatrixNorms, log_N: float) -> float:
    """Parameters that N points can see: no more than N directions per output."""
    return W.columns * min(float(W.rows), _safe(log_N))


def _safe(log_N: float) -> float:
    return math.exp(log_N) if log_N < 700 else math.inf


def _log_maurey(W: MatrixNorms) -> float:
    return ln(log1p_exp(math.log(2) + ln(W.rows * W.columns)))


def _round_up(value: float) -> float:
    return math.ceil(math.log2(value)) * math.log(2)


def _penalty(log_value: float) -> float:
    if log_value == LOG_ZERO:
        return math.log(4)
    j = abs(round(log_value / math.log(2)))
    return math.log(2 * (j + 1) * (j + 2))
