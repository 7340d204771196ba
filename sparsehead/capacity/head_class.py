"""The class of heads given by norm bounds, without weights: the single-layer theorem with constants.

    f(X, z) = sigma( W_V^T X^T softmax( X W_QK^T z ) ),    ||x_t|| <= B_X,  ||z|| <= B_Z,
    ||W_QK||_F <= B_QK,  ||W_V|| <= B_V,  ||W_V||_{2,1} <= B_V21,  W_V of k columns.

The class has two items (terms of the bound), score and value; H heads have H copies of both. A scalar read-out w adds
one item.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from .._base.errors import DomainError
from .._base.log_math import Real, check_count, check_norm, exp, ln
from .forms import FORMS, Form
from .items import Item
from .norms import MatrixNorms
from .pricing import Pricing


@dataclass(frozen=True)
class HeadClass:
    """Norm bounds of one head, or of H heads with equal bounds.

    Args:
        V21, V: ||W_V||_{2,1} and the spectral norm of W_V.
        QK: Frobenius norm of W_QK with the temperature. QK21: ||W_QK^T||_{2,1} for form "paper", by default QK.
        BX, BZ: lengths of the longest token and the longest query (by default BX). `head_class` also takes BP, the
            length of the longest position vector, and adds it to BX.
        L: Lipschitz constant of sigma. w: length of a scalar read-out; None if the output is a vector.
        H: number of heads. k, d: number of columns of W_V, and token width; both are by default the paper's 64.
        V11, QK11: sums of absolute entries of W_V and of W_QK, for form "trauger-tewari". rank: the largest rank of
            W_QK, which is the width inside a head, for form "rank" of the atlas.
    """

    V21: float
    V: float
    QK: float
    BX: float
    BZ: float
    L: float = 1.0
    w: float | None = None
    H: int = 1
    k: int = 64
    d: int = 64
    V11: float | None = None
    QK11: float | None = None
    QK21: float | None = None
    rank: int | None = None


def head_class(norms: Mapping[str, Real]) -> HeadClass:
    """Return the class for a mapping such as {"V21": 1, "V": 1, "QK": 9.4, "BX": 1.42}.   Paper: positional-capacity"""
    names = ("BP", *(field.name for field in fields(HeadClass)))
    if unknown := sorted(set(norms) - set(names)):
        raise DomainError(f"norm {unknown[0]!r} is unknown; the names are {', '.join(names)}.")
    if missing := [key for key in ("V21", "V", "QK", "BX") if key not in norms]:
        raise DomainError(f"a head's bound needs V21, V, QK, BX; missing: {', '.join(missing)}.")
    counts = {key: int(check_count(key, norms[key])) for key in ("H", "k", "d", "rank") if key in norms}
    sizes = {key: check_norm(key, value) for key, value in norms.items() if key not in counts}
    sizes["BX"] += sizes.pop("BP", 0.0)
    sizes.setdefault("BZ", sizes["BX"])
    # the spectral norm is never above the (2,1) norm, so the smaller bound holds
    sizes["V"] = min(sizes["V"], sizes["V21"])
    return HeadClass(**sizes, **counts)  # type: ignore[arg-type]


def head_class_items(bounds: HeadClass, *, m: Real, T: Real, price: Pricing) -> tuple[Item, ...]:
    """Return the items of the class on m sequences of T tokens.

    With one query per sequence there are N_S = mT pairs for the score. The score's cover is chosen first and fixes the
    attention weights, so there are only N_V = m points for the value. In closed form the bound on ln N, in the letters
    of `HeadClass` and with Lambda of `forms.log_Lambda`, is (L B_X)^2/eps^2 [ V21^{2/3} Lambda(k,N_V)^{1/3} + (QK B_Z
    B_X V)^{2/3} ln^{1/3}(2 N_S + 1) ]^3.

    Paper: single-layer-capacity, head-capacity, token-aggregation, positional-capacity, multi-head-capacity
    Differs: Frobenius norm of W_QK, B_X B_Z inside the score's term, constants; form "paper" keeps log(d m T)
    for both.
    """
    log_m, log_T = ln(check_count("m", m)), ln(check_count("T", T))
    if price.form.whole_class:
        return (_whole_class(bounds, m=m, T=T, price=price),)
    log_pairs = log_m + log_T
    log_values = log_m + (log_T if price.form.values_per_token else 0.0)
    V, QK = _as_norms(bounds, price.form)
    w = None if bounds.w is None else column(bounds.w, bounds.k)
    log_w = 0.0 if w is None else price.log_spectral("w", w)
    log_L, log_V, log_X = ln(bounds.L), price.log_spectral("V", V), ln(bounds.BX)
    log_b, log_turn = log_X + ln(bounds.BZ), log_w + log_L + log_V + log_X + price.log_softmax
    score = price.bilinear("QK", QK, log_b=log_b, log_N=log_pairs, log_p=log_turn)
    value = price.linear("V", V, log_b=log_X, log_N=log_values, log_p=log_w + log_L)
    items = [replace(item, log_copies=ln(bounds.H)) for item in (score, value)]
    if w is not None:
        log_mixed = log_L + log_V + log_X + ln(bounds.H)
        items.append(price.linear("w", w, log_b=log_mixed, log_N=log_m, log_p=0.0))
    return tuple(items)


@dataclass(frozen=True, kw_only=True)
class ClassItem(Item):
    """The only item of a form that is a formula for a whole class; it holds the class, not a single matrix."""

    heads: HeadClass
    m: Real
    T: Real


def _whole_class(bounds: HeadClass, *, m: Real, T: Real, price: Pricing) -> ClassItem:
    """Return the class as one item. Norms chosen after training are rounded up, and `price` records their penalties."""
    _refuse_missing(bounds, price.form)
    given = {name: getattr(bounds, name) for name in ("V21", "V", "QK", "w", "V11", "QK11", "QK21")}
    sizes: dict[str, Any] = {
        name: exp(price.log_norm(name, value)) for name, value in given.items() if value is not None
    }
    bounds = replace(bounds, **sizes) if price.a_posteriori else bounds
    return ClassItem("formula", math.inf, 0.0, 0.0, math.inf, heads=bounds, m=m, T=T)


def missing_norms(bounds: HeadClass, form: Form) -> list[str]:
    """Return the norms that the form needs and the class lacks."""
    return [key for key in form.needs if getattr(bounds, key) is None]


def _refuse_missing(bounds: HeadClass, form: Form) -> None:
    if missing_norms(bounds, form):
        name = next((f" {name}" for name, known in FORMS.items() if known is form), "")
        charged = f" charges {form.charges}" if form.charges else " needs more norms"
        raise DomainError(f"form{name}{charged}: give {' and '.join(form.needs)} too.")


def _as_norms(bounds: HeadClass, form: Form) -> tuple[MatrixNorms, MatrixNorms]:
    _refuse_missing(bounds, form)
    V = MatrixNorms(bounds.V21, bounds.V, bounds.V21, math.nan, bounds.V11 or 0.0, bounds.d, bounds.k)
    QK21 = bounds.QK if bounds.QK21 is None else bounds.QK21
    QK = MatrixNorms(
        bounds.QK, bounds.QK, math.nan, QK21, bounds.QK11 or 0.0, bounds.d, bounds.d, bounds.rank
    )
    return V, QK


def column(length: float, rows: int) -> MatrixNorms:
    """Return norms of a map with one column of this length; its absolute sum is at most sqrt(rows) length."""
    return MatrixNorms(length, length, length, length, length * exp(ln(rows) / 2), rows, 1)
