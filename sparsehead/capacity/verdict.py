"""The verdict of a bound on a class: one function and one type for `bound` and for the heads of `probe`."""

import math
from dataclasses import dataclass
from functools import partial

from .._base.display import Short
from .._base.log_math import LOG_ZERO
from .declared import DeclaredClass
from .forms import FORMS, covering
from .generalization import confidence, samples_needed
from .items import Covering, Item


@dataclass(frozen=True, repr=False, kw_only=True)
class Verdict(Short):
    """What one form says about a class on m sequences of T tokens; `Bound` and the heads of `probe` are verdicts.

    proven: whether it is a certificate: the form is proven, and the model is in the class.
    log_covering: ln N_inf(F; eps; m) at half the margin or at the eps that was asked for.
    vacuous: gap >= 1, so that nothing is said. vacuous_by: how many times more samples bring it below 1.
    dominated_by: the item with the largest share, or "confidence" where the ln(1/delta) term is larger.
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
    declared: DeclaredClass,
    *,
    m: int,
    delta: float,
    form: str | None = None,
    eps: float | None = None,
    found: tuple[dict[str, Covering], dict[str, float]] | None = None,
) -> Verdict:
    """The verdict on a class by `form`, or by the proven form with the smallest gap; the one that all others use.

    Args:
        found: ln N and gaps by form, where the caller has them already.
    """
    eps = usual_eps(declared.margin) if eps is None else eps
    if form is None:
        form = smallest(*(found or declared.by_form(m, eps, delta, proven=True)))
    # raises, and says which norms are missing, where a form was asked for that does not apply
    items, penalty = declared.priced(m, form)
    at_eps, gap = covering(items, eps=eps, form=form), declared.gap(m, form=form, delta=delta)
    return Verdict(
        form=form,
        proven=FORMS[form].proven and not declared.outside,
        T=declared.T,
        m=m,
        log_covering=finite(at_eps.log_covering),
        gap=gap,
        vacuous=gap >= 1,
        vacuous_by=vacuous_by(declared, form, m=m, delta=delta) if gap >= 1 else None,
        dominated_by=_dominant(items, at_eps, gap, confidence(m=m, delta=delta, penalty=penalty)),
    )


def vacuous_by(declared: DeclaredClass, form: str, *, m: int, delta: float) -> float | None:
    """How many times m samples bring the form's gap below 1; None if more than 1e300 are needed."""
    gap_at = partial(declared.gap, form=form, delta=delta)
    below_one = samples_needed(gap_at, accuracy=math.nextafter(1, 0))
    return None if below_one is None else below_one / m


def factor_text(factor: float | None) -> str:
    """`vacuous_by` in three digits."""
    return "more than 1e300" if factor is None else f"{factor:.3g}"


def usual_eps(margin: float) -> float:
    """Half the margin, where the realisable bound needs ln N; half of the smallest float is 0."""
    return margin / 2 or margin


def smallest(coverings: dict[str, Covering], gaps: dict[str, float]) -> str:
    """The proven form with the smallest gap; with the smallest ln N where gaps are equal or all vacuous."""
    # `minimum` stands last in FORMS and is never above `ours` or `parametric`: it goes first where they tie
    candidates = [form for form in reversed(coverings) if FORMS[form].proven]
    return min(candidates, key=lambda form: (min(gaps[form], 1.0), coverings[form].log_log))


def _dominant(items: tuple[Item, ...], at_eps: Covering, gap: float, certainty: float) -> str:
    if not items or max(at_eps.shares) == 0 or certainty > gap / 2:
        return "confidence"
    return items[max(range(len(items)), key=lambda i: at_eps.shares[i])].name


def finite(x: float) -> float | None:
    """x, or None where it is beyond the range of a float."""
    return x if x != LOG_ZERO and math.isfinite(x) else None
