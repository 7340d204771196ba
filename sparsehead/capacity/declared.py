"""What a bound is about: a class of functions declared from a model's weights, from norms, or from a foreign layer."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .._base.errors import DomainError
from .._base.log_math import Real, check_count, check_norm, ln
from ..heads.block import Layer
from ..heads.model import Model
from .attention_stages import Counts, attention_stage
from .forms import FORMS, Form, covering
from .generalization import margin_gap, realizable_error
from .head_class import WIDTH, column, head_class, head_class_items, missing_norms
from .items import Covering, Item, log_capacity
from .networks import model_items
from .pricing import Pricing, declared_margin
from .stages import Stage, network_items

TOKEN_LENGTH = (
    "weights do not say how long the tokens are: give norms={'BX': ..}; behind a LayerNorm with gains up to g and no "
    "bias it is g sqrt(d)."
)


@dataclass(frozen=True)
class DeclaredClass:
    """A class of functions as the bound sees it: items for any m and form.

    outside: why the model is not in the class, one sentence each; nothing is then proven about it. `applies` says
    whether a form has the norms that it charges.
    """

    T: int
    make: Callable[[Real, Pricing], tuple[Item, ...]]
    a_posteriori: bool
    margin: float
    margin_penalty: float
    assumptions: tuple[str, ...]
    notes: tuple[str, ...]
    outside: tuple[str, ...] = ()
    applies: Callable[[Form], bool] = lambda form: True
    measured: dict[str, Any] = field(default_factory=dict)
    gaps: dict[tuple[Real, str, float], float] = field(default_factory=dict)

    def by_form(
        self, m: Real, eps: float, delta: float, *, proven: bool = False
    ) -> tuple[dict[str, Covering], dict[str, float]]:
        """ln N and the gap by every form that applies, or by the proven ones alone."""
        forms = [name for name in FORMS if self.applies(FORMS[name]) and (FORMS[name].proven or not proven)]
        coverings = {name: covering(self.priced(m, name)[0], eps=eps, form=name) for name in forms}
        return coverings, {name: self.gap(m, form=name, delta=delta) for name in forms}

    def priced(self, m: Real, form: str) -> tuple[tuple[Item, ...], float]:
        """Items on m samples, and the penalty for norms and margin chosen after training."""
        price = Pricing(form, a_posteriori=self.a_posteriori, measured=self.measured)
        return self.make(m, price), price.penalty + self.margin_penalty

    def gap(self, m: Real, *, form: str, delta: float) -> float:
        """The margin gap: the smaller of what C/eps^2 gives, where it holds, and what chaining over ln N gives."""
        if (m, form, delta) not in self.gaps:
            self.gaps[m, form, delta] = self._gap(m, form, delta)
        return self.gaps[m, form, delta]

    def _gap(self, m: Real, form: str, delta: float) -> float:
        items, penalty = self.priced(m, form)
        rest: dict[str, Any] = {"m": m, "delta": delta, "penalty": penalty}
        found = []
        if FORMS[form].below_capacity:
            found.append(margin_gap(margin=self.margin, log_C=log_capacity(items), **rest))
        if FORMS[form].covering is not None:
            scaled = self._per_margin(items)

            def log_covering(eps: float) -> float:
                return covering(scaled, eps=eps, form=form).log_covering

            found.append(margin_gap(margin=1.0, log_covering=log_covering, **rest))
        return min(found)

    def realizable(self, m: Real, *, form: str, delta: float) -> float:
        """The realisable error on m samples."""
        items, penalty = self.priced(2 * m, form)
        log_covering = covering(self._per_margin(items), eps=0.5, form=form).log_covering
        return realizable_error(log_covering_2m=log_covering, m=m, delta=delta, penalty=penalty)

    def _per_margin(self, items: tuple[Item, ...]) -> tuple[Item, ...]:
        """The items with errors at the output counted in margins: a small margin times a small eps would be 0."""
        log_margin = math.log(self.margin)
        return tuple(replace(k, log_p=k.log_p - log_margin) for k in items)


def declare(
    model: Model | None,
    norms: Mapping[str, Real] | None,
    T: int | None,
    a_posteriori: bool | None,
    margin: float,
) -> DeclaredClass:
    if (model is None) == (norms is None):
        raise DomainError(
            "bound needs a model or norms, one of the two; norms are such as V21=1,V=1,QK=2,BX=1.42, with T."
        )
    if model is not None:
        if T is not None and T != model.T:
            raise DomainError(f"the model reads T={model.T} bits, T={T} was asked for; leave T out.")
        paid = a_posteriori is not False
        used, penalty = declared_margin(margin, chosen=paid)
        return DeclaredClass(
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
    return DeclaredClass(
        T=length,
        make=lambda m, price: head_class_items(bounds, m=m, T=length, price=price),
        a_posteriori=paid,
        margin=used,
        margin_penalty=penalty,
        assumptions=(
            *_assumptions(paid, margin, used),
            "sigma(0) = 0, and sigma is L-Lipschitz",
            *read_out(norms or {}),
        ),
        notes=(f"assumed {' and '.join(assumed)}",) if assumed else (),
        applies=lambda form: not missing_norms(bounds, form),
    )


def declare_layer(
    layer: Layer,
    *,
    T: int | None,
    lengths: Mapping[str, Real],
    a_posteriori: bool,
    margin: float,
    outside: tuple[str, ...] = (),
) -> DeclaredClass:
    """One attention layer, or one head of it, at one query per sequence; its output bias is taken as fixed.

    Args:
        lengths: BX, the longest token, and perhaps BZ, the longest query, and w, the length of a trained read-out.
    Paper: single-layer-capacity, multi-head-capacity
    """
    if T is None:
        raise DomainError("a layer needs the context length too: give T.")
    n = int(check_count("T", T))
    if unknown := sorted(set(lengths) - {"BX", "BZ", "w"}):
        raise DomainError(
            f"beside weights, norms has BX and perhaps BZ and w; {unknown[0]} is read off the weights."
        )
    if "BX" not in lengths:
        raise DomainError(TOKEN_LENGTH)
    sizes = {key: check_norm(key, value) for key, value in lengths.items()}
    used, penalty = declared_margin(margin, chosen=True) if a_posteriori else (margin, 0.0)
    alone = replace(layer, b_C=None)

    def make(m: Real, price: Pricing) -> tuple[Item, ...]:
        log_R = price.log_norm("BX", sizes["BX"])
        log_Z = price.log_norm("BZ", sizes["BZ"]) if "BZ" in sizes else None
        values = ln(m) + (ln(n) if price.form.values_per_token else 0.0)
        counts = Counts(pairs=ln(m) + ln(n), values=values, rows=ln(m))
        stages = [attention_stage(price, "layer", alone, log_R=log_R, log_Z=log_Z, counts=counts)]
        if "w" in sizes:
            W = column(sizes["w"], layer.d)
            item = price.linear("w", W, log_b=stages[0].log_radius, log_N=ln(m), log_p=0.0)
            stages.append(Stage((item,), price.log_spectral("w", W), 0.0))
        short = "layer.head0." if layer.H == 1 else "layer."
        return tuple(replace(item, name=item.name.removeprefix(short)) for item in network_items(stages))

    return DeclaredClass(
        T=n,
        make=make,
        a_posteriori=a_posteriori,
        margin=used,
        margin_penalty=penalty,
        assumptions=(
            *_assumptions(a_posteriori, margin, used),
            f"tokens are no longer than {sizes['BX']:.6g}",
            *read_out(sizes),
        ),
        notes=(),
        outside=outside,
    )


def read_out(lengths: Mapping[str, Any]) -> tuple[str, ...]:
    """What a class without a trained read-out w assumes."""
    if "w" in lengths:
        return ()
    return ("the output is read by a fixed vector of length 1; w= prices a trained one",)


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
