"""`bound`: a model, or norms, in; capacity, generalisation gap and a verdict out."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

from ..arguments import instance
from ..errors import DomainError
from ..logs import LOG_ZERO, Real, check_count, check_delta, check_eps, exp
from ..model import Model
from .generalization import confidence, margin_gap, realizable_error, samples_needed
from .head_class import WIDTH, head_class, head_class_items
from .items import FORMS, PROVEN, Covering, Item, check_form, covering, log_capacity
from .networks import model_items
from .pricing import Pricing, declared_margin

CLOSED = ("ours", "paper", "trauger-tewari")
MOST_SAMPLES = 10**300  # sample sizes are divided by as floats


@dataclass(frozen=True)
class Term:
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


@dataclass(frozen=True)
class Bound:
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

    def to_dict(self) -> dict[str, Any]:
        """The bound as plain JSON-able data, the verdict first."""
        plain = {"verdict": self.verdict, **asdict(self)}
        plain["assumptions"] = list(self.assumptions)
        plain["items"] = [asdict(term) for term in self.items]
        plain["notes"] = list(self.notes)
        return plain


@dataclass(frozen=True)
class _Class:
    """A class of functions as the bound sees it: items for any m and form."""

    T: int
    make: Callable[[Real, Pricing], tuple[Item, ...]]
    a_posteriori: bool
    margin: float
    margin_penalty: float
    assumptions: tuple[str, ...]
    notes: tuple[str, ...]
    measured: dict[str, Any] = field(default_factory=dict)

    def priced(self, m: Real, form: str) -> tuple[tuple[Item, ...], float]:
        """Items on m samples, and the penalty for norms and margin chosen after training."""
        price = Pricing(form, a_posteriori=self.a_posteriori, measured=self.measured)
        return self.make(m, price), price.penalty + self.margin_penalty

    def covering(self, m: Real, eps: float, form: str) -> Covering:
        return covering(self.priced(m, form)[0], eps=eps, form=form)

    def gap(self, m: Real, *, form: str, delta: float) -> float:
        """The margin gap. `minimum` is below C/eps^2 too, so it may use the closed form where that is smaller."""
        items, penalty = self.priced(m, form)
        found = []
        if form in CLOSED or form == "minimum":
            log_C = log_capacity(items)
            found.append(margin_gap(m=m, delta=delta, margin=self.margin, log_C=log_C, penalty=penalty))
        if form not in CLOSED:

            def log_covering(eps: float) -> float:
                return covering(items, eps=eps, form=form).log_covering

            found.append(
                margin_gap(m=m, delta=delta, margin=self.margin, log_covering=log_covering, penalty=penalty)
            )
        return min(found)

    def realizable(self, m: Real, *, form: str, delta: float) -> float:
        items, penalty = self.priced(2 * m, form)
        log_covering = covering(items, eps=self.margin / 2, form=form).log_covering
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
    form: str | None = None,
    accuracy: Real = 0.05,
    a_posteriori: bool | None = None,
) -> Bound:
    """Capacity and generalisation of a model's class, or of the heads with given norms.

    Args:
        model: weights from anywhere. Its norms were seen after the data, so by default a union bound is paid
            for them.
        norms: instead of a model, e.g. {"V21": 1, "V": 1, "QK": 9.4, "BX": 1.42}, with T; see
            `head_class.KEYS`.
        m: training samples, up to 1e300.
        delta: the bound may fail with this probability.
        margin: outputs are asked to be this far on the right side of the threshold; by default 1/2 for
            written models with outputs 0 and 1, else 1.
        eps: resolution at which ln N is reported; by default half the declared margin, where the realisable
            bound needs it.
        form: one of FORMS; by default the proven form with the smallest gap, or, where all gaps are vacuous,
            with the smallest ln N.
        accuracy: the gap that samples_needed asks for.
        a_posteriori: whether to pay for norms and margin as chosen after training; by default True for a
            model and False for norms.
    Paper: generalization, single-layer-capacity
    """
    if model is not None:
        instance("model", model, Model, "such as sh.build(f) or sh.load(path); sh.norms reads torch modules")
    if norms is not None:
        instance("norms", norms, Mapping, "such as {'V21': 1, 'V': 1, 'QK': 9.4, 'BX': 1.42}")
    if form is not None:
        check_form(form)
    m, delta = int(check_count("m", m)), check_delta(delta)
    if m > MOST_SAMPLES:
        raise DomainError("m counts training samples, at most 1e300 of them; more arrived.")
    if margin is None:
        margin = model.threshold if model is not None and model.threshold > 0 else 1.0
    margin = check_eps(margin, "margin")
    declared = _declare(model, norms, T, a_posteriori, margin)
    eps = declared.margin / 2 if eps is None else check_eps(eps)
    accuracy = check_eps(accuracy, "accuracy")
    coverings, gaps = _all_forms(declared, m, eps, delta)
    chosen = form or _smallest(coverings, gaps)
    # raises, and says which norms are missing, where a form was asked for that does not apply
    items, penalty = declared.priced(m, chosen)
    at_eps, gap = coverings[chosen], gaps[chosen]

    @cache
    def gap_at(n: Real) -> float:
        return declared.gap(n, form=chosen, delta=delta)

    def realizable_at(n: Real) -> float:
        return declared.realizable(n, form=chosen, delta=delta)

    enough = samples_needed(gap_at, accuracy=math.nextafter(1, 0)) if gap >= 1 else None
    return Bound(
        form=chosen,
        proven=chosen in PROVEN,
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
        vacuous_by=enough / m if enough is not None else None,
        dominated_by=_dominant(items, at_eps, gap, confidence(m=m, delta=delta, penalty=penalty)),
        samples_needed=samples_needed(gap_at, accuracy=accuracy),
        realizable_error=_finite(realizable_at(m)),
        realizable_samples=samples_needed(realizable_at, accuracy=accuracy),
        union_penalty=penalty,
        assumptions=declared.assumptions,
        notes=(*declared.notes, f"form {chosen}: {FORMS[chosen]}"),
    )


def _declare(
    model: Model | None,
    norms: Mapping[str, Real] | None,
    T: int | None,
    a_posteriori: bool | None,
    margin: float,
) -> _Class:
    if (model is None) == (norms is None):
        raise DomainError("bound needs a model or norms, one of the two.")
    if model is not None:
        if T is not None and T != model.T:
            raise DomainError(f"the model reads T={model.T} bits, T={T} was asked for; leave T out.")
        paid = a_posteriori is not False
        used, penalty = declared_margin(margin, chosen=paid)
        return _Class(
            T=model.T,
            make=lambda m, price: model_items(model, m=m, price=price),
            a_posteriori=paid,
            margin=used,
            margin_penalty=penalty,
            assumptions=(*_assumptions(paid, margin, used), *_model_assumptions(model)),
            notes=(),
        )
    if T is None:
        raise DomainError("norms need the context length too: give T.")
    bounds, length = head_class(norms or {}), int(check_count("T", T))
    assumed = [f"{key}={WIDTH}" for key in ("d", "k") if key not in (norms or {})]
    paid = a_posteriori is True
    used, penalty = declared_margin(margin, chosen=True) if paid else (margin, 0.0)
    return _Class(
        T=length,
        make=lambda m, price: head_class_items(bounds, m=m, T=length, price=price),
        a_posteriori=paid,
        margin=used,
        margin_penalty=penalty,
        assumptions=(*_assumptions(paid, margin, used), "sigma(0) = 0, and sigma is L-Lipschitz"),
        notes=(f"assumed {' and '.join(assumed)}",) if assumed else (),
    )


def _assumptions(paid: bool, margin: float, used: float) -> tuple[str, ...]:
    chosen = (
        "norms, zero biases and margin may have been chosen after training: norms are rounded up and the margin "
        "down to powers of two, and delta pays for the choice"
        if paid
        else "the norms and the margin were fixed before the data were seen"
    )
    exceeds = f"more than {used:g}" if used == margin else f"at least {margin:g} (declared: {used:.7g})"
    return (
        "training and test examples are independent draws from one distribution",
        chosen,
        f"the realisable figures hold if all training outputs are {exceeds} on the right side of the threshold",
    )


def _model_assumptions(model: Model) -> tuple[str, ...]:
    fixed = () if model.encoding.kind == "trainable" else ("the encoding was fixed, not learned",)
    return (*fixed, f"the threshold {model.threshold:g} was fixed before training")


def _all_forms(
    declared: _Class, m: int, eps: float, delta: float
) -> tuple[dict[str, Covering], dict[str, float]]:
    """ln N and gap by every form; a form whose norms were not given is left out."""
    coverings: dict[str, Covering] = {}
    gaps: dict[str, float] = {}
    for form in FORMS:
        try:
            coverings[form] = declared.covering(m, eps, form)
        except DomainError:
            continue
        gaps[form] = declared.gap(m, form=form, delta=delta)
    return coverings, gaps


def _smallest(coverings: dict[str, Covering], gaps: dict[str, float]) -> str:
    """The proven form with the smallest gap; with the smallest ln N where gaps are equal or all vacuous."""
    # `minimum` stands last in FORMS and is never above `ours` or `parametric`: it goes first where they tie
    candidates = [form for form in reversed(PROVEN) if form in coverings]
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
