"""`bound`: a model, or norms, in; capacity, generalisation gap and a verdict out."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

from ..errors import DomainError
from ..logs import LOG_ZERO, Real, check_count, check_delta, check_eps
from ..model import Model
from .generalization import confidence, margin_gap, realizable_error, samples_needed
from .head_class import WIDTH, head_class, head_class_items
from .items import FORMS, Covering, Item, check_form, covering, log_capacity
from .networks import model_items
from .pricing import Pricing

CLOSED = ("ours", "paper", "trauger-tewari")


@dataclass(frozen=True)
class Term:
    """One item of the bound: price c/x^2 at resolution x, weight p at the output, share of ln N.

    c and p are None where they leave the range of a float; log_c and log_p are always there (None for zero).
    """

    name: str
    c: float | None
    p: float | None
    share: float
    log_c: float | None
    log_p: float | None


@dataclass(frozen=True)
class Bound:
    """What is known about a class on m samples.

    - log_covering: ln N_inf(F; eps; m) at `eps`, by `form`; forms has the same by every form that applies.
    - gap: with probability 1 - delta, for all of the class at once, P(error) is at most the share of training
      margins below `margin` plus gap.
    - vacuous: gap >= 1, so that nothing is said. vacuous_by: how many times more samples bring it below 1.
    - dominated_by: the item with the largest share, or "confidence" where the ln(1/delta) term is larger.
    - samples_needed: samples at which the gap is at most `accuracy`.
    - realizable_error, realizable_samples: the same by the fast rate, for a function whose training margins
      all exceed `margin`.
    - union_penalty: added to ln(1/delta) because norms were read off the weights; 0 if they were given.

    None stands for a number beyond the range of a float.
    """

    form: str
    T: int
    m: int
    delta: float
    margin: float
    eps: float
    accuracy: float
    log_covering: float | None
    log_log_covering: float | None
    items: tuple[Term, ...]
    forms: dict[str, float | None]
    gap: float
    vacuous: bool
    vacuous_by: float | None
    dominated_by: str
    samples_needed: int | None
    realizable_error: float | None
    realizable_samples: int | None
    union_penalty: float
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The bound as plain JSON-able data."""
        plain = asdict(self)
        plain["items"] = [asdict(term) for term in self.items]
        plain["notes"] = list(self.notes)
        return plain


@dataclass(frozen=True)
class _Class:
    """A class of functions as the bound sees it: items for any m and form."""

    T: int
    make: Callable[[Real, Pricing], tuple[Item, ...]]
    a_posteriori: bool
    notes: tuple[str, ...]
    measured: dict[str, Any] = field(default_factory=dict)

    def priced(self, m: Real, form: str) -> tuple[tuple[Item, ...], float]:
        """Items on m samples, and the penalty for having read norms off the weights."""
        price = Pricing(form, a_posteriori=self.a_posteriori, measured=self.measured)
        return self.make(m, price), price.penalty

    def covering(self, m: Real, eps: float, form: str) -> Covering:
        return covering(self.priced(m, form)[0], eps=eps, form=form)

    def gap(self, m: Real, *, form: str, margin: float, delta: float) -> float:
        items, penalty = self.priced(m, form)
        if form in CLOSED:
            return margin_gap(m=m, delta=delta, margin=margin, log_C=log_capacity(items), penalty=penalty)

        def log_covering(eps: float) -> float:
            return covering(items, eps=eps, form=form).log_covering

        return margin_gap(m=m, delta=delta, margin=margin, log_covering=log_covering, penalty=penalty)

    def realizable(self, m: Real, *, form: str, margin: float, delta: float) -> float:
        items, penalty = self.priced(2 * m, form)
        log_covering = covering(items, eps=margin / 2, form=form).log_covering
        return realizable_error(log_covering_2m=log_covering, m=m, delta=delta, penalty=penalty)


def bound(
    model: Model | None = None,
    *,
    m: Real,
    norms: Mapping[str, Real] | None = None,
    T: int | None = None,
    delta: Real = 0.05,
    margin: Real | None = None,
    eps: Real | None = None,
    form: str = "ours",
    accuracy: Real = 0.05,
    a_posteriori: bool | None = None,
) -> Bound:
    """Capacity and generalisation of a model's class, or of the heads with given norms.

    Args:
        model: weights from anywhere. Its norms were seen after the data, so by default a union bound is paid
        for them.
        norms: instead of a model, e.g. {"V21": 1, "V": 1, "QK": 9.4, "BX": 1.42}, with T; see
        `head_class.KEYS`.
        m: training samples.
        delta: the bound may fail with this probability.
        margin: outputs are asked to be this far on the right side of the threshold; by default 1/2 for
        written models with
            outputs 0 and 1, else 1.
        eps: resolution at which ln N is reported; by default margin/2, where the realisable bound needs it.
        form: one of FORMS.
        accuracy: the gap that samples_needed asks for.
        a_posteriori: whether to pay the union bound; by default True for a model and False for norms.
    Paper: generalization, single-layer-capacity
    """
    check_form(form)
    m, delta = int(check_count("m", m)), check_delta(delta)
    declared = _declare(model, norms, T, a_posteriori)
    if margin is None:
        margin = model.threshold if model is not None and model.threshold > 0 else 1.0
    margin = check_eps(margin, "margin")
    eps = margin / 2 if eps is None else check_eps(eps)
    accuracy = check_eps(accuracy, "accuracy")
    items, penalty = declared.priced(m, form)
    at_eps = covering(items, eps=eps, form=form)

    @cache
    def gap_at(n: Real) -> float:
        return declared.gap(n, form=form, margin=margin, delta=delta)

    def realizable_at(n: Real) -> float:
        return declared.realizable(n, form=form, margin=margin, delta=delta)

    gap = gap_at(m)
    enough = samples_needed(gap_at, accuracy=math.nextafter(1, 0)) if gap >= 1 else None
    return Bound(
        form=form,
        T=declared.T,
        m=m,
        delta=delta,
        margin=margin,
        eps=eps,
        accuracy=accuracy,
        log_covering=_finite(at_eps.log_covering),
        log_log_covering=_finite(at_eps.log_log),
        items=tuple(_term(item, share) for item, share in zip(items, at_eps.shares, strict=True)),
        forms=_all_forms(declared, m, eps),
        gap=gap,
        vacuous=gap >= 1,
        vacuous_by=enough / m if enough is not None else None,
        dominated_by=_dominant(items, at_eps, gap, confidence(m=m, delta=delta, penalty=penalty)),
        samples_needed=samples_needed(gap_at, accuracy=accuracy),
        realizable_error=_finite(realizable_at(m)),
        realizable_samples=samples_needed(realizable_at, accuracy=accuracy),
        union_penalty=penalty,
        notes=(*declared.notes, f"form {form}: {FORMS[form]}"),
    )


def _declare(
    model: Model | None, norms: Mapping[str, Real] | None, T: int | None, a_posteriori: bool | None
) -> _Class:
    if (model is None) == (norms is None):
        raise DomainError("bound needs a model or norms, one of the two.")
    if model is not None:
        if T is not None and T != model.T:
            raise DomainError(f"the model reads T={model.T} bits, T={T} was asked for; leave T out.")
        paid = a_posteriori is not False
        note = (
            "norms read off the weights, rounded up to powers of two; delta pays for the choice"
            if paid
            else ""
        )
        return _Class(
            T=model.T,
            make=lambda m, price: model_items(model, m=m, price=price),
            a_posteriori=paid,
            notes=(note,) if note else (),
        )
    if T is None:
        raise DomainError("norms need the context length too: give T.")
    bounds, length = head_class(norms or {}), int(check_count("T", T))
    assumed = [f"{key}={WIDTH}" for key in ("d", "k") if key not in (norms or {})]
    return _Class(
        T=length,
        make=lambda m, price: head_class_items(bounds, m=m, T=length, price=price),
        a_posteriori=a_posteriori is True,
        notes=(f"assumed {' and '.join(assumed)}",) if assumed else (),
    )


def _all_forms(declared: _Class, m: int, eps: float) -> dict[str, float | None]:
    """ln N by every form; a form whose norms were not given is left out."""
    found: dict[str, float | None] = {}
    for form in FORMS:
        try:
            found[form] = _finite(declared.covering(m, eps, form).log_covering)
        except DomainError:
            continue
    return found


def _dominant(items: tuple[Item, ...], at_eps: Covering, gap: float, certainty: float) -> str:
    if not items or max(at_eps.shares) == 0 or certainty > gap / 2:
        return "confidence"
    return items[max(range(len(items)), key=lambda i: at_eps.shares[i])].name


def _term(item: Item, share: float) -> Term:
    return Term(item.name, _finite(item.c), _finite(item.p), share, _finite(item.log_c), _finite(item.log_p))


def _finite(x: float) -> float | None:
    return x if x != LOG_ZERO and math.isfinite(x) else None
