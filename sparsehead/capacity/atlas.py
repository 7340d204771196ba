"""`atlas`: the values of every form of the bound for one class, with sources and assumptions."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from .._base.arguments import meant, shown
from .._base.display import Card, ShortRepr, WithChart
from .._base.errors import DomainError
from .._base.frame import Frame
from .._base.jsonable import json_values
from .._base.log_math import Real
from .._base.types import Array, Float
from ..functions import SparseFunction, as_function
from ..functions.price import log_price
from ..heads.block import Layer
from ..heads.model import Model
from . import neighbours
from .bound import Question, attention_part, question
from .forms import FORMS, Form, covering
from .own_forms import FormLike
from .spectra import edelman, model_spectra, spectrum
from .state_dicts import Attention, WeightsSource, config_of, weights_of
from .verdict import finite

_Proxy = tuple[str, str, str, Callable[[], float]]  # name, source, assumptions, value


@dataclass(frozen=True, repr=False, kw_only=True)
class AtlasRow(ShortRepr):
    """The values of one form of the bound for one class.

    - status: "proved" (a classical argument), "proved by us", "proxy" (no statement is proved), or, for a form of your
      own, "yours, proved by your claim" or "yours, not proved".
    - bounds: the quantity that the form bounds. source: the article or document that it is taken from. assumes: its
      assumptions beyond membership in the class.
    - log_covering: ln of the covering number N at the atlas' resolution eps. gap: a bound on P(error) minus the
      training term. realizable: a bound on P(error) for functions without training errors, or whose margins are large.
      value: the number of a proxy that is not one of these three. Each is None if the form does not have it, or if it
      is beyond the range of a float.
    - note: why there is no value.
    """

    form: str
    status: str
    bounds: str
    source: str
    assumes: str = ""
    log_covering: float | None = None
    gap: float | None = None
    realizable: float | None = None
    value: float | None = None
    note: str = ""

    @property
    def proved(self) -> bool:
        return self.status in ("proved", "proved by us")


@dataclass(frozen=True, repr=False, kw_only=True)
class AtlasPoint(ShortRepr):
    """The logarithm of the covering number N by every form, with `axis` (T, m or the depth) set to `at`.

    smallest: the name of the proved form with the least ln N.
    """

    axis: str
    at: int
    log_covering: dict[str, float | None]
    smallest: str


@dataclass(frozen=True, repr=False, kw_only=True)
class Atlas(WithChart):
    """The values of every form of the bound for one class of functions and m samples.

    Each row by itself is a statement with probability 1 - delta; for k rows at once take delta/k. `growth` has ln N by
    every form as T, m or the depth grows and everything else stays fixed.
    """

    _CHART = "figures.bounds:atlas_chart"

    T: int
    m: int
    delta: float
    margin: float
    eps: float
    rows: tuple[AtlasRow, ...]
    growth: tuple[AtlasPoint, ...]

    @property
    def smallest(self) -> AtlasRow:
        """Return the proved row with the smallest gap, or, if no gap is below 1, with the smallest ln N."""
        proved = [row for row in self.rows if row.proved and row.gap is not None]
        if not proved:
            raise DomainError("no form of this atlas is proved for this model.")
        huge = float("inf")
        return min(
            proved, key=lambda r: (min(r.gap or 0.0, 1.0), huge if r.log_covering is None else r.log_covering)
        )

    def __repr__(self) -> str:
        return f"<Atlas: {len(self.rows)} forms at T={self.T:.6g}, m={self.m:.6g}>"

    def to_frame(self) -> Frame:
        """Return the rows as a table."""
        return Frame([asdict(row) for row in self.rows], tuple(AtlasRow.__dataclass_fields__))

    def to_dict(self) -> dict[str, Any]:
        """Return the atlas as JSON values, with the rows under the key "atlas"."""
        found = json_values(self)
        return {"atlas": found.pop("rows"), **found}

    def _card(self) -> Card:
        facts = {"T": self.T, "m": self.m, "margin": self.margin, "at resolution": self.eps}
        shown = ("form", "status", "log_covering", "gap", "value", "source")
        rows = [{name: getattr(row, name) for name in shown} for row in self.rows]
        return Card("Atlas of bounds", ["Each row is a statement of its own."], facts, Frame(rows))


def atlas(
    model: WeightsSource | Attention | None = None,
    *,
    m: Real,
    norms: Mapping[str, Real] | None = None,
    T: int | None = None,
    form: FormLike | None = None,
    function: SparseFunction | str | None = None,
    attention: Float[Array, "... T"] | None = None,
    **more: Any,
) -> Atlas:
    """Compare every form of the bound for one class: value, source, assumptions, and whether it is proved.

    Args:
        model, m, norms, T: as in `bound`.
        form: a form of your own, listed in addition to those registered by name (see `form`).
        function: the function that the model computes, as found by `read`; the Occam bound of a sparse function needs
            it.
        attention: attention weights that occur in the layer, for form `sensitivity`; the last axis runs over tokens and
            adds up to 1. By default those of a Model are computed.
        more: other arguments of `bound`: delta, margin, eps, heads, layer, head, a_posteriori.

    >>> from sparsehead import build
    >>> found = atlas(build("x1 & x2", T=8), m=10**5, function="x1 & x2")
    >>> found.smallest.form, [row.form for row in found.rows if row.status == "proxy"]
    ('occam', ['paper', 'sensitivity', 'spectrum', 'edelman', 'vc'])
    >>> [(point.at, point.smallest) for point in found.growth if point.axis == "depth"]
    [(1, 'rank'), (2, 'rank'), (3, 'rank'), (4, 'rank')]
    """
    known = ("delta", "margin", "eps", "heads", "layer", "head", "a_posteriori")
    for name in more:
        if name not in known:
            raise DomainError(
                f"atlas has no setting {name!r}; it has {', '.join(known)}.{meant(name, known)}"
            )
    weights = model if model is None or isinstance(model, Attention) else weights_of(model)
    whole = weights if isinstance(weights, Model) else None
    asked = question(model, m=m, norms=norms, T=T, form=form, **more)
    asked = _with_neighbours(asked, whole, None if attention is None else _as_attention(attention))
    rows = [*_rows_of_forms(asked)]
    if weights is not None:
        source: Model | Layer
        if isinstance(weights, Model):
            source = weights
        else:
            source = attention_part(weights, config_of(model), **_part(more))[1].layer
        rows += [*_proxies(source, asked.declared.T), *_codes(source, asked)]
    if function is not None:
        rows.append(_occam(function, asked))
    again = {"norms": norms, "form": form, **more}
    return Atlas(
        T=asked.declared.T, m=asked.m, delta=asked.delta, margin=asked.declared.margin, eps=asked.eps,
        rows=tuple(rows), growth=tuple(_growth(model, whole, asked, T, again)),
    )  # fmt: skip


def _part(more: Mapping[str, Any]) -> dict[str, Any]:
    return {name: more.get(name) for name in ("heads", "layer", "head")}


def _as_attention(given: Any) -> Float[Array, "... T"]:
    """Return attention weights as an array; raise a DomainError if they are not probabilities along the last axis."""
    weights = np.asarray(given, dtype=np.float64)
    if not weights.size or not weights.ndim or not (weights >= 0).all():
        raise DomainError(f"attention has weights of at least 0 along its last axis; got {shown(given)}.")
    off = float(np.abs(weights.sum(axis=-1) - 1).max())
    if not off < 1e-3:  # sums of weights in half precision are off by less
        raise DomainError(
            f"attention weights add up to 1 along the last axis; the sums are off by {off:.2g}."
        )
    return weights


def _with_neighbours(
    asked: Question, model: Model | None, attention: Float[Array, "... T"] | None = None
) -> Question:
    forms = {**asked.declared.forms, "rank": neighbours.RANK}
    if attention is not None:
        forms["sensitivity"] = neighbours.sensitivity_form(attention, where="where it was seen")
    elif model is not None and model.L == 1:
        forms["sensitivity"] = neighbours.model_sensitivity(model)
    return replace(asked, declared=replace(asked.declared, forms=forms))


def _rows_of_forms(asked: Question) -> Iterator[AtlasRow]:
    declared = asked.declared
    coverings, gaps = declared.by_form(asked.m, asked.eps, asked.delta)
    said = "ln N of the class; gap: P(error) - share of training margins below the margin"
    for name, found in coverings.items():
        form = declared.forms[name]
        holds = form.proven and not declared.outside
        yield AtlasRow(
            form=name,
            status=_status(name, form, holds),
            bounds=said if holds else f"meant for: {said}",
            source=form.source,
            assumes="; ".join(filter(None, (form.assumes, *declared.outside))),
            log_covering=finite(found.log_covering),
            gap=gaps[name],
            realizable=finite(declared.realizable(asked.m, form=name, delta=asked.delta)),
        )


def _status(name: str, form: Form, holds: bool) -> str:
    if name not in ("rank", "sensitivity") and not FORMS.is_builtin(name):
        return "yours, proved by your claim" if holds else "yours, not proved"
    return "proxy" if not holds else "proved" if name == "parametric" else "proved by us"


def _proxies(source: Model | Layer, T: int) -> Iterator[AtlasRow]:
    """Yield rows of the proxies that depend neither on a resolution nor on a number of samples.

    Spectral proxies are included only for a whole model, not for a single layer.
    """
    nothing = "no error bound: constants, m and eps are left out"
    norm = "(2,1) adds up the lengths of columns, the reading that gives their number for MiniLM"
    theirs = "Sakai and Imaizumi (arXiv 2605.07297)"
    order = "arXiv 2606.09731 (abstract): the order of the VC dimension"
    vc = ("vc", order, "the constant, which was not found, is 1", lambda: neighbours.vc_order(source, T))
    spectral: tuple[_Proxy, ...] = ()
    if isinstance(source, Model):
        model = source
        spectral = (
            ("spectrum", f"{theirs}, the formula of their code", "",
             lambda: spectrum(model_spectra(model), model.d)),
            ("edelman", f"{theirs}, their proxy for the paper's bound", norm,
             lambda: edelman(model_spectra(model))),
        )  # fmt: skip
    for name, origin, assumes, make in (*spectral, vc):
        value, note = None, ""
        try:
            value = finite(make())
        except DomainError as refused:
            note = str(refused)
        yield AtlasRow(
            form=name, status="proxy", bounds=nothing, source=origin, assumes=assumes, value=value, note=note
        )


def _codes(source: Model | Layer, asked: Question) -> Iterator[AtlasRow]:
    bits, fewer = neighbours.code_bits(source), neighbours.compressed_bits(source)
    beside = "architecture, encoding and threshold" if isinstance(source, Model) else "all but these heads"
    fixed = f"{beside} were fixed before the data were seen"
    every = f"{bits} bits: every weight is a float64; {fixed}"
    yield _code_row("code", bits, asked, every, "finite class, docs/theory.md 6.5", log_covering=True)
    zlib = f"{fewer} bits: zlib's code of the weights; {fixed}"
    yield _code_row("compression", fewer, asked, zlib, "Occam bound, docs/theory.md 6.5", log_covering=False)


def _occam(function: SparseFunction | str, asked: Question) -> AtlasRow:
    f = as_function(function, T=asked.declared.T, asker="atlas")
    assumes = f"the model computes a function of {f.s} of {f.T} bits, as `read` or `verify` finds"
    bits = log_price(f.s, f.T) / math.log(2)
    return _code_row("occam", bits, asked, assumes, "Occam bound, docs/theory.md 6.5", log_covering=False)


def _code_row(
    name: str, bits: Real, asked: Question, assumes: str, source: str, *, log_covering: bool
) -> AtlasRow:
    nats = bits * math.log(2)
    said = "gap: P(error) - training error of every function, by the length of its code"
    return AtlasRow(
        form=name,
        status="proved",
        bounds=f"ln N of the class at any resolution; {said}" if log_covering else said,
        source=source,
        assumes=assumes,
        log_covering=nats if log_covering else None,
        gap=neighbours.code_gap(nats, m=asked.m, delta=asked.delta),
        realizable=neighbours.code_realizable(nats, m=asked.m, delta=asked.delta),
    )


def _growth(
    model: WeightsSource | Attention | None,
    whole: Model | None,
    asked: Question,
    T: int | None,
    again: dict[str, Any],
) -> Iterator[AtlasPoint]:
    """Yield ln N at 1, 10, 100 and 1000 times m, then at the same multiples of T or, for a Model, at 1 to 4 times its
    depth.
    """
    again = again | {"eps": asked.eps}
    for factor in (1, 10, 100, 1000):
        yield _point("m", asked.m * factor, question(model, m=asked.m * factor, T=T, **again))
    if whole is None:
        for factor in (1, 10, 100, 1000):
            longer = asked.declared.T * factor
            yield _point("T", longer, question(model, m=asked.m, T=longer, **again))
        return
    for factor in (1, 2, 3, 4):
        deeper = replace(whole, layers=whole.layers * factor)
        yield _point("depth", whole.L * factor, question(deeper, m=asked.m, **again))


def _point(axis: str, at: int, asked: Question) -> AtlasPoint:
    declared = _with_neighbours(asked, None).declared
    forms = {name: form for name, form in declared.forms.items() if declared.applies(form)}
    found = {
        name: covering(declared.priced(asked.m, name)[0], eps=asked.eps, form=forms[name]) for name in forms
    }
    proved = [name for name in found if forms[name].proven and (name == "rank" or FORMS.is_builtin(name))]
    smallest = min(proved, key=lambda name: found[name].log_log)
    values = {name: finite(one.log_covering) for name, one in found.items()}
    return AtlasPoint(axis=axis, at=at, log_covering=values, smallest=smallest)
