"""Compute items from norms: the charge of a form for a matrix, and the penalty for using norms of trained weights.

A bound holds for a class fixed before the data are seen. When the norms are those of a trained model, the
class must be chosen from a countable family by a union bound. Each choice has a prior weight, and ln(1/delta)
grows by minus the logarithm of the weights of the choices made:

    a norm, rounded up to a power of two 2^j     1/(2 (|j|+1)(|j|+2)), and 1/4 for a norm of zero
    whether a bias is nonzero                    1/2 in both cases: leaving out its item is a choice too
    sums of squares or of absolute entries       1/2: forms charge one kind of norm or the other
    the margin, rounded down to a power of two   1/(2 (|j|+1)(|j|+2))

The weights of a choice add up to at most 1: sum_j 1/(2 (|j|+1)(|j|+2)) = 3/4. The norms to choose
depend only on the architecture and on which biases are nonzero, so the weights of all classes add up to at most 1.
"""

import math
from collections.abc import Callable
from typing import Any, TypeVar

from .._base.log_math import LOG_ZERO, as_float, exp, ln
from .forms import FORMS, Charge, Form, checked_charge
from .items import Item
from .norms import MatrixNorms

Measured = TypeVar("Measured")


class Pricing:
    """Compute items from the norms of weights under one form, and record which norms the union bound must pay for.

    `measured` may be shared by several objects for the same weights, so that a search over m measures each matrix once.
    """

    def __init__(
        self, form: str | Form, *, a_posteriori: bool = False, measured: dict[str, Any] | None = None
    ) -> None:
        self.form = FORMS.find(form) if isinstance(form, str) else form
        self.a_posteriori = a_posteriori
        self.declared: dict[str, float] = {}
        self.choices: set[str] = set()
        self.measured: dict[str, Any] = {} if measured is None else measured

    def measure(self, name: str, make: Callable[[], Measured]) -> Measured:
        """Return make(), computed once per name."""
        if name not in self.measured:
            self.measured[name] = make()
        return self.measured[name]

    @property
    def log_softmax(self) -> float:
        """The logarithm of the Lipschitz constant of softmax that the form uses."""
        return self.form.log_softmax

    @property
    def penalty(self) -> float:
        """The amount that the union bound adds to ln(1/delta)."""
        if not self.a_posteriori:
            return 0.0
        norms = math.fsum(_penalty(value) for value in self.declared.values())
        return norms + (len(self.choices) + 1) * math.log(2)

    def log_norm(self, name: str, value: float) -> float:
        """Return ln of the declared norm: of `value`, or of the next power of two if norms were chosen after training.

        Each name then adds one penalty.
        """
        if name not in self.declared:
            self.declared[name] = ln(value) if not self.a_posteriori or value == 0 else _round_up(value)
        return self.declared[name]

    def kept(self, name: str, present: bool | None) -> bool:
        """Return whether to price the bias `name`; `present` is None if the architecture has no such bias.

        Whether a bias is zero is known only after training; the penalty therefore covers both cases.
        """
        if present is not None:
            self.choices.add(name)
        return bool(present)

    def log_spectral(self, name: str, W: MatrixNorms) -> float:
        return self.log_norm(f"{name} spectral", W.spectral)

    def linear(self, name: str, W: MatrixNorms, *, log_b: float, log_N: float, log_p: float) -> Item:
        """Return the item of a map x -> x W on N points of length at most b."""
        # N points can see no more than N directions per output
        dim = as_float(W.columns) * min(as_float(W.rows), exp(log_N))
        return self._item(name, checked_charge(self.form.linear, W, log_N), log_b, log_p, dim)

    def bilinear(self, name: str, W: MatrixNorms, *, log_b: float, log_N: float, log_p: float) -> Item:
        """Return the item of a score (x, z) -> z^T W x on N pairs with ||x|| ||z|| <= b.

        Paper: single-layer-capacity, score-cover
        """
        dim = min(as_float(W.rows * W.columns), exp(log_N))
        return self._item(name, checked_charge(self.form.bilinear, W, log_N), log_b, log_p, dim)

    def _item(self, name: str, charge: Charge, log_b: float, log_p: float, dim: float) -> Item:
        log_r = self.log_norm(f"{name} {charge.norm}", charge.value) + log_b
        return Item(name, log_r, charge.log_lambda, log_p, dim if charge.dim is None else charge.dim)


def _round_up(value: float) -> float:
    """Return ln of the smallest 2^j (1 + 1e-9) >= value; rounding errors of a computed norm are below 1e-9."""
    fraction, exponent = math.frexp(value / (1 + 1e-9))
    j = exponent - 1 if fraction == 0.5 else exponent
    return j * math.log(2) + math.log1p(1e-9)


def _penalty(log_value: float) -> float:
    if log_value == LOG_ZERO:
        return math.log(4)
    return _power_penalty(round(log_value / math.log(2)))


def _power_penalty(j: int) -> float:
    """Return -ln of the prior weight of 2^j."""
    return math.log(2 * (abs(j) + 1) * (abs(j) + 2))


def declared_margin(margin: float, *, chosen: bool) -> tuple[float, float]:
    """Return the margin that the bound declares for a requested margin, and the amount this choice adds to ln(1/delta).

    The realisable bound needs training margins that EXCEED the declared margin, and a constructed model has margins of
    exactly 1/2; the declared margin is therefore smaller by the factor 1 - 2^-20. With chosen=True, for a margin that
    may have been picked after training, it is first rounded down to a power of two.

    >>> declared_margin(0.5, chosen=False)
    (0.4999995231628418, 0.0)
    """
    below = 2.0**-20  # declared margins are smaller by this factor, so that margins equal to 2^j exceed them
    if not chosen:
        return margin * (1 - below), 0.0
    j = math.frexp(margin)[1] - 1
    return math.ldexp(1 - below, j), _power_penalty(j)
