"""`bound`: a model, or norms, in; capacity, generalisation gap and a verdict out."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from ..arguments import instance
from ..display import Card, Plotted, Short, clipped
from ..errors import DomainError
from ..frame import Frame
from ..logs import LOG_ZERO, Real, check_count, check_delta, check_eps, exp
from ..model import Model
from .declared import DeclaredClass, declare
from .foreign import layer_class
from .forms import FORMS
from .generalization import confidence, samples_needed
from .items import Covering, Item
from .state_dicts import WeightsSource, weights_of

MOST_SAMPLES = 10**300  # sample sizes are divided by as floats


@dataclass(frozen=True, repr=False)
class Term(Short):
    """One item of the bound: price c/x^2 at resolution x, weight p at the output, share of ln N.

    copies is the number of equal items (heads of a class given by norms) that this one stands for; c and p are
    those of one copy, share is that of all. c, p and copies are None where they leave the range of a float;
    log_c and log_p are always there (None for zero).
    """

    name: str
    c: float | None
    p: float | None
    share: float
    log_c: float | None
    log_p: float | None
    copies: float | None = 1.0


@dataclass(frozen=True, repr=False)
class Bound(Plotted):
    """What is known about a class on m samples.

    - form: the form that all figures are by; proven says whether they are a certificate.
    - log_covering: ln N_inf(F; eps; m) at `eps`; forms has the same by every form that applies.
    - gap: with probability 1 - delta, for all of the class at once, P(error) is at most the share of training
      margins below `margin` plus gap; gaps has the same by every form that applies.
    - margin_used: the declared margin, a little below `margin` for a model; see `pricing.declared_margin`.
    - assumptions: what the statements rest on, one sentence each.
    - vacuous: gap >= 1, so that nothing is said. vacuous_by: how many times more samples bring it below 1.
    - dominated_by: the item with the largest share, or "confidence" where the ln(1/delta) term is larger.
    - samples_needed: samples at which the gap is at most `accuracy`.
    - realizable_error, realizable_samples: the same by the fast rate, for a function whose training margins
      all exceed `margin`.
    - union_penalty: added to ln(1/delta) because norms and margin were chosen after training; 0 if they were
      given.

    The gap and the realisable rate are two statements; each fails with probability at most delta. None stands
    for a number beyond the range of a float.
    """

    _CHART = "figures.objects:bound_chart"

    form: str
    proven: bool
    T: int
    m: int
    delta: float
    margin: float
    margin_used: float
    eps: float
    accuracy: float
    log_covering: float | None
    log_log_covering: float | None
    items: tuple[Term, ...]
    forms: dict[str, float | None]
    gaps: dict[str, float]
    gap: float
    vacuous: bool
    vacuous_by: float | None
    dominated_by: str
    samples_needed: int | None
    realizable_error: float | None
    realizable_samples: int | None
    union_penalty: float
    assumptions: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """What the leading form says, in one sentence."""
        proof = "" if self.proven else "not proven, "
        if not self.vacuous:
            return f"{proof}non-vacuous: gap {self.gap:.4g} by form {self.form}; dominated by {self.dominated_by}"
        factor = "more than 1e300" if self.vacuous_by is None else f"{self.vacuous_by:.3g}"
        return (
            f"{proof}vacuous by form {self.form}: {factor} times the samples would bring the gap below 1; "
            f"dominated by {self.dominated_by}"
        )

    def __repr__(self) -> str:
        return (
            f"<Bound: {clipped(self.verdict, 200)} (T={self.T:.6g}, m={self.m:.6g}, margin {self.margin:g})>"
        )

    def to_frame(self) -> Frame:
        """The items, the largest share first."""
        items = sorted(self.items, key=lambda term: -term.share)
        return Frame([asdict(term) for term in items], tuple(Term.__dataclass_fields__))

    def _card(self) -> Card:
        facts = {
            "T": self.T, "m": self.m, "margin": self.margin, "gap": self.gap, "ln N": self.log_covering,
            "at resolution": self.eps, f"samples for a gap of {self.accuracy:g}": self.samples_needed,
            "in the realisable case": self.realizable_samples,
        }  # fmt: skip
        table = Frame(
            [{"item": t["name"], "c": t["c"], "p": t["p"], "share": t["share"]} for t in self.to_frame()]
        )
        return Card("Bound", [self.verdict, "It assumes: " + "; ".join(self.assumptions) + "."], facts, table)

    def to_dict(self) -> dict[str, Any]:
        """The bound as plain JSON-able data, the verdict first."""
        plain = {"verdict": self.verdict, **asdict(self)}
        plain["assumptions"] = list(self.assumptions)
        plain["items"] = [asdict(term) for term in self.items]
        plain["notes"] = list(self.notes)
        return plain


def bound(
    model: WeightsSource | None = None,
    *,
    m: Real,
    norms: Mapping[str, Real] | None = None,
    T: int | None = None,
    heads: int | None = None,
    layer: str | None = None,
    delta: Real = 0.05,
    margin: Real | None = None,
    eps: Real | None = None,
    form: str | None = None,
    accuracy: Real = 0.05,
    a_posteriori: bool | None = None,
) -> Bound:
    """Capacity and generalisation of a model's class, or of the heads with given norms.

    Args:
        model: a Model or the path of its file; or a torch module, a state dict or a safetensors file, of which one
            attention layer is taken as the class (`foreign.layer_class`; needs heads, T and norms={"BX": ..}). The
            norms were seen after the data, so by default a union bound is paid for them.
        norms: instead of a model, e.g. {"V21": 1, "V": 1, "QK": 9.4, "BX": 1.42}, with T; see
            `head_class.KEYS`. Beside foreign weights, what these do not say: BX, perhaps BZ and w.
        T: context length; a Model has its own.
        heads, layer: of foreign weights: heads per layer, and which layer where there are several.
        m: training samples, up to 1e300.
        delta: the bound may fail with this probability.
        margin: outputs are asked to be this far on the right side of the threshold; by default 1/2 for
            written models with outputs 0 and 1, else 1.
        eps: resolution at which ln N is reported; by default half the declared margin, where the realisable
            bound needs it.
        form: one of FORMS; by default the proven form with the smallest gap, or, where all gaps are vacuous,
            with the smallest ln N.
        accuracy: the gap that samples_needed asks for.
        a_posteriori: whether to pay for norms and margin as chosen after training; by default True for
            weights and False for norms.
    Paper: generalization, single-layer-capacity

    >>> from sparsehead import build
    >>> found = bound(build("x1 & x2", T=8), m=10**6)
    >>> found.vacuous, found.form, found.gap < 0.1
    (False, 'minimum', True)
    >>> bound(norms={"V21": 1, "V": 1, "QK": 9.4, "BX": 1.42}, T=100, m=1000).vacuous
    True
    """
    _check_arguments(norms, form)
    m, delta, accuracy = _sample_count(m), check_delta(delta), check_eps(accuracy, "accuracy")
    ours, norms, notes, a_posteriori = _given(model, norms, heads, layer, a_posteriori)
    margin = check_eps(_usual_margin(ours) if margin is None else margin, "margin")
    declared = declare(ours, norms, T, a_posteriori, margin)
    # half of the smallest float is 0
    eps = declared.margin / 2 or declared.margin if eps is None else check_eps(eps)
    coverings, gaps = declared.by_form(m, eps, delta)
    chosen = form or _smallest(coverings, gaps)
    # raises, and says which norms are missing, where a form was asked for that does not apply
    items, penalty = declared.priced(m, chosen)
    at_eps, gap = coverings[chosen], gaps[chosen]
    return Bound(
        form=chosen,
        proven=FORMS[chosen].proven,
        T=declared.T,
        m=m,
        delta=delta,
        margin=margin,
        margin_used=declared.margin,
        eps=eps,
        accuracy=accuracy,
        log_covering=_finite(at_eps.log_covering),
        log_log_covering=_finite(at_eps.log_log),
        items=tuple(_term(item, share) for item, share in zip(items, at_eps.shares, strict=True)),
        forms={name: _finite(found.log_covering) for name, found in coverings.items()},
        gaps=gaps,
        gap=gap,
        vacuous=gap >= 1,
        dominated_by=_dominant(items, at_eps, gap, confidence(m=m, delta=delta, penalty=penalty)),
        union_penalty=penalty,
        assumptions=declared.assumptions,
        notes=(*notes, *declared.notes, f"form {chosen}: {FORMS[chosen].description}"),
        **_sample_sizes(declared, chosen, m=m, delta=delta, gap=gap, accuracy=accuracy),
    )


def _check_arguments(norms: Any, form: str | None) -> None:
    if norms is not None:
        instance("norms", norms, Mapping, "such as {'V21': 1, 'V': 1, 'QK': 9.4, 'BX': 1.42}")
    if form is not None:
        FORMS.check(form)


def _sample_count(m: Real) -> int:
    count = int(check_count("m", m))
    if count > MOST_SAMPLES:
        raise DomainError("m counts training samples, at most 1e300 of them; more arrived.")
    return count


def _sample_sizes(
    declared: DeclaredClass, form: str, *, m: int, delta: float, gap: float, accuracy: float
) -> dict[str, Any]:
    """The fields of `Bound` that tell how many samples are enough, and the realisable error on m of them."""

    @cache
    def gap_at(n: Real) -> float:
        return declared.gap(n, form=form, delta=delta)

    def realizable_at(n: Real) -> float:
        return declared.realizable(n, form=form, delta=delta)

    below_one = samples_needed(gap_at, accuracy=math.nextafter(1, 0)) if gap >= 1 else None
    return {
        "vacuous_by": None if below_one is None else below_one / m,
        "samples_needed": samples_needed(gap_at, accuracy=accuracy),
        "realizable_error": _finite(realizable_at(m)),
        "realizable_samples": samples_needed(realizable_at, accuracy=accuracy),
    }


def smallest_gap(model: Model, *, m: int, delta: float) -> float:
    """The gap of `bound(model, m=m, delta=delta)` alone, without the sample sizes, which take most of its time."""
    declared = declare(model, None, None, None, _usual_margin(model))
    coverings, gaps = declared.by_form(m, declared.margin / 2, delta)
    return gaps[_smallest(coverings, gaps)]


def _usual_margin(model: Model | None) -> float:
    return model.threshold if model is not None and model.threshold > 0 else 1.0


def _given(
    model: WeightsSource | None,
    norms: Mapping[str, Real] | None,
    heads: int | None,
    layer: str | None,
    a_posteriori: bool | None,
) -> tuple[Model | None, Mapping[str, Real] | None, tuple[str, ...], bool | None]:
    """A Model, or norms (measured ones where foreign weights were given), notes, and whether the choice is paid for."""
    weights = None if model is None else weights_of(model)
    if weights is None or isinstance(weights, Model):
        if heads is not None or layer is not None:
            raise DomainError("heads and layer belong to torch modules and state dicts; leave them out here.")
        return weights, norms, (), a_posteriori
    found, name = layer_class(weights, heads=heads, layer=layer, given=norms or {})
    note = f"the class: attention layer {name} alone, one query's output; its output bias is taken as fixed"
    return None, found, (note,), a_posteriori is not False


def _smallest(coverings: dict[str, Covering], gaps: dict[str, float]) -> str:
    """The proven form with the smallest gap; with the smallest ln N where gaps are equal or all vacuous."""
    # `minimum` stands last in FORMS and is never above `ours` or `parametric`: it goes first where they tie
    candidates = [form for form in reversed(coverings) if FORMS[form].proven]
    return min(candidates, key=lambda form: (min(gaps[form], 1.0), coverings[form].log_log))


def _dominant(items: tuple[Item, ...], at_eps: Covering, gap: float, certainty: float) -> str:
    if not items or max(at_eps.shares) == 0 or certainty > gap / 2:
        return "confidence"
    return items[max(range(len(items)), key=lambda i: at_eps.shares[i])].name


def _term(item: Item, share: float) -> Term:
    n = exp(item.log_copies)
    return Term(
        name=item.name,
        c=_finite(item.c),
        p=_finite(item.p),
        share=share,
        log_c=_finite(item.log_c),
        log_p=_finite(item.log_p),
        copies=_finite(float(round(n)) if n < 2**53 else n),
    )


def _finite(x: float) -> float | None:
    return x if x != LOG_ZERO and math.isfinite(x) else None
