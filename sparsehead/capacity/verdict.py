"""The verdict of a bound on a class, used by `bound` and for the heads of `probe`."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from .._base.display import ShortRepr
from .._base.log_math import LOG_ZERO
from .declared import DeclaredClass
from .forms import FORMS, Form, covering
from .generalization import confidence
from .items import Covering


@dataclass(frozen=True, repr=False, kw_only=True)
class Verdict(ShortRepr):
    """The result of one form for a class on m sequences of T tokens.

    proven: whether the result is a certificate: the form is proven, and the model is in the class. log_covering: ln of
    the covering number on m samples, at half the margin or at the requested eps. vacuous: gap >= 1, so the bound says
    nothing. vacuous_by: the factor by which m must grow for a gap below 1. dominated_by: the item with the largest
    share, or "confidence" if the ln(1/delta) term is larger.
    """

    form: str
    proven: bool
    T: int
    m: int
    log_covering: float | None
    gap: float
    vacuous: bool
    vacuous_by: float | None
    dominated_by: str

    @property
    def verdict(self) -> str:
        """The verdict in one sentence."""
        proof = "" if self.proven else "not proven, "
        if not self.vacuous:
            return f"{proof}non-vacuous: gap {self.gap:.4g} by form {self.form}; dominated by {self.dominated_by}"
        factor = factor_text(self.vacuous_by)
        return (
            f"{proof}vacuous by form {self.form}: {factor} times the samples would bring the gap below 1; "
            f"dominated by {self.dominated_by}"
        )


def judge(
    declared: DeclaredClass, *, m: int, delta: float, form: str | None = None, eps: float | None = None
) -> Verdict:
    """Return the verdict on a class by `form`, by default by the proven form with the smallest gap.

    Raises:
        DomainError: the form does not apply; the message says which norms are missing.
    """
    eps = declared.usual_eps if eps is None else eps
    if form is None:
        form = smallest(*declared.by_form(m, eps, delta, proven=True), declared.forms)
    items, penalty = declared.priced(m, form)
    at_eps, gap = covering(items, eps=eps, form=declared.forms[form]), declared.gap(m, form=form, delta=delta)
    certainty = confidence(m=m, delta=delta, penalty=penalty)
    dominant = "confidence"
    if items and max(at_eps.shares) > 0 and certainty <= gap / 2:
        dominant = items[at_eps.shares.index(max(at_eps.shares))].name
    return Verdict(
        form=form,
        proven=declared.forms[form].proven and not declared.outside,
        T=declared.T,
        m=m,
        log_covering=finite(at_eps.log_covering),
        gap=gap,
        vacuous=gap >= 1,
        vacuous_by=declared.vacuous_by(m, form=form, delta=delta) if gap >= 1 else None,
        dominated_by=dominant,
    )


def smallest(
    coverings: dict[str, Covering], gaps: dict[str, float], forms: Mapping[str, Form] = FORMS
) -> str:
    """Return the proven form with the smallest gap; with the smallest ln N if gaps are equal or all vacuous."""
    # where forms tie, a shipped one goes first, and of these the last, `minimum`
    candidates = [form for form in reversed(coverings) if forms[form].proven]
    return min(
        candidates,
        key=lambda form: (min(gaps[form], 1.0), coverings[form].log_log, not FORMS.is_builtin(form)),
    )


def factor_text(factor: float | None) -> str:
    """Return `vacuous_by` as text: three digits, or a whole number from 100 to a million.

    >>> factor_text(1.1224), factor_text(3459.2), factor_text(2.98e10)
    ('1.12', '3,459', '2.98e+10')
    """
    if factor is None:
        return "more than 1e300"
    return f"{factor:,.0f}" if 100 <= factor < 1e6 else f"{factor:.3g}"


def finite(x: float) -> float | None:
    """Return x, or None if it is beyond the range of a float."""
    return x if x != LOG_ZERO and math.isfinite(x) else None
