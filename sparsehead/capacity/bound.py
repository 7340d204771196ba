"""`bound`: capacity, generalisation gap and a verdict for a model or for given norms."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from .._base.arguments import choice, instance, whole
from .._base.display import Card, ShortRepr, WithChart, brief, clipped
from .._base.errors import DomainError
from .._base.frame import Frame
from .._base.jsonable import json_values
from .._base.log_math import Real, check_count, check_delta, check_eps, exp
from ..heads.block import Layer
from .declared import DeclaredClass, declare_layer, declare_model, declare_norms
from .forms import FORMS, Form
from .generalization import samples_needed
from .items import Item
from .own_forms import FormLike, known_form
from .state_dicts import Attention, WeightsSource, attention_layers, config_of, weights_of
from .verdict import Verdict, finite, judge, smallest


@dataclass(frozen=True, repr=False)
class Term(ShortRepr):
    """One item (term) of the bound.

    To cover its matrix with error x costs c/x^2, and an error x becomes an error p x at the output. share is its share
    of ln N, the logarithm of the covering number. copies is the number of equal items (heads of a class given by
    norms); c and p belong to one copy, share to all copies. c, p and copies are None beyond the range of a float; log_c
    and log_p are None if c or p is zero.
    """

    name: str
    c: float | None
    p: float | None
    share: float
    log_c: float | None
    log_p: float | None
    copies: float | None = 1.0


@dataclass(frozen=True, repr=False, kw_only=True)
class Bound(WithChart, Verdict):
    """The result of one form of the bound for a class and m samples, with its items and the values of all other forms.

    - forms: the logarithm of the covering number at `eps` on m samples, by every form that applies.
    - gap: with probability 1 - delta, for all functions of the class at once, P(error) is at most the share of training
      margins below `margin` plus gap. gaps: the gap by every form that applies.
    - factors: for every form with a gap of at least 1, the factor by which m must grow for a gap below 1.
    - margin_used: the declared margin, a little below `margin` for a model; see `pricing.declared_margin`.
    - assumptions: the assumptions of the statements, one sentence each.
    - samples_needed: samples at which the gap is at most `accuracy`.
    - realizable_error, realizable_samples: error and samples by the fast rate, for a function whose training
      margins all exceed `margin`.
    - own: the names in `forms` of forms that are not part of this library: yours, or another package's.
    - union_penalty: the number added to ln(1/delta) if norms and margin were chosen after training; else 0.

    The gap and the realisable rate are two statements; each fails with probability at most delta. A number beyond the
    range of a float is None.
    """

    _CHART = "figures.bounds:bound_chart"

    delta: float
    margin: float
    margin_used: float
    eps: float
    accuracy: float
    log_log_covering: float | None
    items: tuple[Term, ...]
    forms: dict[str, float | None]
    gaps: dict[str, float]
    factors: dict[str, float | None]
    samples_needed: int | None
    realizable_error: float | None
    realizable_samples: int | None
    union_penalty: float
    assumptions: tuple[str, ...]
    notes: tuple[str, ...]
    own: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"<Bound: {clipped(self.verdict, 200)} (T={self.T:.6g}, m={self.m:.6g}, margin {self.margin:g})>"
        )

    def to_frame(self) -> Frame:
        """Return the items as a table, the largest share first."""
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
        by_form = [f"{self._marked(name)} {brief(value)}" for name, value in self.forms.items()]
        lines = [
            self.verdict,
            "It assumes: " + "; ".join(self.assumptions) + ".",
            "ln N by form: " + ", ".join(by_form) + ".",
        ]
        return Card("Bound", lines, facts, table)

    def _marked(self, form: str) -> str:
        return f"{form} (yours)" if form in self.own else form

    def to_dict(self) -> dict[str, Any]:
        """Return the bound as JSON values, the verdict first."""
        return {"verdict": self.verdict, **json_values(self)}


def bound(
    model: WeightsSource | None = None,
    *,
    m: Real,
    norms: Mapping[str, Real] | None = None,
    T: int | None = None,
    heads: int | None = None,
    layer: str | None = None,
    head: int | None = None,
    delta: Real = 0.05,
    margin: Real | None = None,
    eps: Real | None = None,
    form: FormLike | None = None,
    accuracy: Real = 0.05,
    a_posteriori: bool | None = None,
) -> Bound:
    """Bound the capacity and generalisation gap of a model's class, or of the class of heads with given norms.

    Args:
        model: a Model or the path of its file; or a torch module, a state dict or a safetensors file, of which one
            attention layer is taken as the class (`declared.declare_layer`; needs T and norms={"BX": ..}).
        norms: given with T instead of a model, e.g. {"V21": 1, "V": 1, "QK": 9.4, "BX": 1.42}; see
            `head_class.HeadClass`. Without w the output is read by a fixed vector of length 1. For weights that are not
            a Model, give the lengths that they do not determine: BX, optionally BZ and w.
        T: context length; not needed for a Model.
        heads, layer, head: for weights that are not a Model: the number of heads per layer, if no configuration states
            it; the name of the layer, if there are several; the index of a head, to bound that head alone.
        m: training samples, up to 1e300.
        delta: the bound may fail with this probability.
        margin: required distance of outputs from the threshold, on the correct side; by default 1/2 for
            constructed models with outputs 0 and 1, else 1.
        eps: resolution at which ln N is reported; by default half the declared margin, which the realisable bound uses.
        form: one of FORMS, or your own (see `form`); by default the proven form with the smallest gap, or ln N if all
            gaps are vacuous.
        accuracy: the gap to reach in samples_needed.
        a_posteriori: whether to pay a union bound for norms and margin chosen after training; by default True for
            weights and False for norms.
    Paper: generalization, single-layer-capacity

    >>> from sparsehead import build
    >>> found = bound(build("x1 & x2", T=8), m=10**6)
    >>> found.vacuous, found.form, found.gap < 0.1
    (False, 'minimum', True)
    >>> bound(norms={"V21": 1, "V": 1, "QK": 9.4, "BX": 1.42}, T=100, m=1000).vacuous
    True
    """
    asked = question(
        model, m=m, norms=norms, T=T, heads=heads, layer=layer, head=head, delta=delta, margin=margin, eps=eps,
        form=form, a_posteriori=a_posteriori,
    )  # fmt: skip
    accuracy = check_eps(accuracy, "accuracy")
    declared, m, delta, eps = asked.declared, asked.m, asked.delta, asked.eps
    coverings, gaps = declared.by_form(m, eps, delta)
    name = asked.form or smallest(coverings, gaps, declared.forms)
    judged = judge(declared, m=m, delta=delta, form=name, eps=eps)
    chosen = judged.form
    items, penalty = declared.priced(m, chosen)
    factors = {
        name: judged.vacuous_by if name == chosen else declared.vacuous_by(m, form=name, delta=delta)
        for name, gap in gaps.items()
        if gap >= 1
    }
    gap_at, realizable_at = (
        partial(of, form=chosen, delta=delta) for of in (declared.gap, declared.realizable)
    )
    return Bound(
        **vars(judged),
        delta=delta,
        margin=declared.margin,
        margin_used=declared.margin_used,
        eps=eps,
        accuracy=accuracy,
        log_log_covering=finite(coverings[chosen].log_log),
        items=tuple(_term(item, share) for item, share in zip(items, coverings[chosen].shares, strict=True)),
        forms={name: finite(found.log_covering) for name, found in coverings.items()},
        gaps=gaps,
        factors=factors,
        samples_needed=samples_needed(gap_at, accuracy=accuracy),
        realizable_error=finite(realizable_at(m)),
        realizable_samples=samples_needed(realizable_at, accuracy=accuracy),
        union_penalty=penalty,
        assumptions=declared.assumptions,
        own=tuple(name for name in coverings if not FORMS.is_builtin(name)),
        notes=(*declared.notes, *declared.outside, form_note(chosen, declared.forms[chosen])),
    )


@dataclass(frozen=True, kw_only=True)
class Question:
    """The checked arguments of `bound`: class, number of samples, failure probability, resolution and form."""

    declared: DeclaredClass
    m: int
    delta: float
    eps: float
    form: str | None


def question(
    model: WeightsSource | Attention | None,
    *,
    m: Real,
    norms: Mapping[str, Real] | None = None,
    delta: Real = 0.05,
    margin: Real | None = None,
    eps: Real | None = None,
    form: FormLike | None = None,
    **of_class: Any,
) -> Question:
    """Check the arguments of `bound`; `of_class` has its arguments T, heads, layer, head and a_posteriori."""
    if norms is not None:
        instance("norms", norms, Mapping, "such as {'V21': 1, 'V': 1, 'QK': 9.4, 'BX': 1.42}")
    name, chosen = (None, None) if form is None else known_form(form)
    m, delta = int(check_count("m", m)), check_delta(delta)
    if m > 10**300:  # sample sizes are divided by as floats
        raise DomainError("m counts training samples, at most 1e300 of them; more arrived.")
    asked = None if margin is None else check_eps(margin, "margin")
    declared = _declare(model, norms, margin=asked, **of_class)
    if name is not None and chosen is not None:
        declared = with_form(declared, name, chosen)
    eps = declared.usual_eps if eps is None else check_eps(eps)
    return Question(declared=declared, m=m, delta=delta, eps=eps, form=name)


def form_note(name: str, form: Form) -> str:
    """Return the description of a form; for a form from outside this library it also says who claims it."""
    claim = "; it is yours, so that it is proven is your claim (sh.check_form tries to refute it)"
    return f"form {name}: {form.description}{claim if form.proven and not FORMS.is_builtin(name) else ''}"


def with_form(declared: DeclaredClass, name: str, form: Form) -> DeclaredClass:
    """Return the class with this form among its forms.

    Raises:
        DomainError: the form is a formula for norms, and the class is given by weights.
    """
    if form.whole_class and not declared.applies(replace(form, needs=())):
        raise DomainError(
            f"form {name} is a formula for heads given by norms and has no value for weights; give norms= and T, or "
            "write the form as a charge for each matrix."
        )
    return declared if declared.forms.get(name) is form else replace(declared, forms={**FORMS, name: form})


def _declare(
    model: WeightsSource | Attention | None,
    norms: Mapping[str, Real] | None,
    *,
    margin: float | None,
    T: int | None = None,
    heads: int | None = None,
    layer: str | None = None,
    head: int | None = None,
    a_posteriori: bool | None = None,
) -> DeclaredClass:
    """Return the class described by the arguments of `bound`."""
    weights = model if model is None or isinstance(model, Attention) else weights_of(model)
    if isinstance(weights, Mapping | Attention):
        which, found = attention_part(weights, config_of(model), heads=heads, layer=layer, head=head)
        note = f"the class: {which} alone, one query's output; its output bias is taken as fixed"
        beyond = found.outside
        return declare_layer(
            found.layer,
            T=T,
            lengths=norms or {},
            margin=1.0 if margin is None else margin,
            a_posteriori=a_posteriori is not False,
            notes=(note, *(text for text in found.notes if text not in beyond)),
            outside=beyond,
        )
    if heads is not None or layer is not None or head is not None:
        raise DomainError(
            "heads, layer and head belong to torch modules and state dicts; leave them out here."
        )
    if (weights is None) == (norms is None):
        raise DomainError(
            "bound needs a model or norms, one of the two; norms are such as V21=1,V=1,QK=2,BX=1.42, with T."
        )
    if weights is None:
        usual = 1.0 if margin is None else margin
        return declare_norms(norms or {}, T=T, margin=usual, a_posteriori=a_posteriori is True)
    if T is not None and T != weights.T:
        raise DomainError(f"the model reads T={weights.T} bits, T={T} was asked for; leave T out.")
    return declare_model(weights, margin=margin, a_posteriori=a_posteriori is not False)


def attention_part(
    weights: Mapping[str, Any] | Attention,
    config: Any,
    *,
    heads: int | None,
    layer: str | None,
    head: int | None,
) -> tuple[str, Attention]:
    """Return (name, weights) of the attention layer, or of the one head of it, that the arguments of `bound` choose."""
    if isinstance(weights, Attention):
        name, found = layer or "", weights
    else:
        name, found = _one_layer(attention_layers(weights, heads=heads, config=config), layer)
    if head is None:
        return f"attention layer {name}", found
    return f"head {head} of attention layer {name}", replace(found, layer=one_head(found.layer, head))


def _one_layer(layers: Iterator[tuple[str, Attention]], layer: str | None) -> tuple[str, Attention]:
    """Return the layer of this name, or the only layer."""
    found = dict(layers)
    if layer is None and len(found) > 1:
        names = list(found)
        shown = ", ".join(names[:4]) + (", .." if len(names) > 4 else "")
        raise DomainError(f"the weights have {len(names)} attention layers; give layer=, one of {shown}.")
    name = next(iter(found)) if layer is None else choice("layer", layer, tuple(found))
    return name or "(the only one)", found[name]


def one_head(layer: Layer, h: int) -> Layer:
    """Return the layer with head h alone."""
    if not 0 <= whole("head", h, least=0) < layer.H:
        raise DomainError(f"head is 0 to {layer.H - 1}; got {h}.")
    one = slice(h, h + 1)
    names = ("W_Q", "W_K", "W_V", "W_C", "b_Q", "b_K", "b_V")
    parts = {n: getattr(layer, n)[one] for n in names if getattr(layer, n) is not None}
    return replace(layer, **parts)


def _term(item: Item, share: float) -> Term:
    n = exp(item.log_copies)
    copies = finite(float(round(n)) if n < 2**53 else n)
    return Term(
        item.name, finite(item.c), finite(item.p), share, finite(item.log_c), finite(item.log_p), copies
    )
