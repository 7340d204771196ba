"""The function class of a bound, declared from a model, from norms, or from a layer of a network."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from .._base.errors import DomainError
from .._base.log_math import Real, check_count, check_norm, ln
from ..heads.block import Layer
from ..heads.model import Model
from .attention_stages import Counts, attention_stage
from .forms import FORMS, Form, covering
from .generalization import margin_gap, realizable_error, samples_needed
from .head_class import column, head_class, head_class_items, missing_norms
from .items import Covering, Item, log_capacity
from .networks import model_items
from .pricing import Pricing, declared_margin
from .stages import Stage, network_items


@dataclass(frozen=True, kw_only=True)
class DeclaredClass:
    """A class of functions, with its items for any m and any form.

    Args:
        margin: the requested margin. margin_used: the declared margin, see `pricing.declared_margin`. margin_penalty:
            the amount added to ln(1/delta) because the margin may have been chosen after training.
        outside: reasons why the model is not in the class, one sentence each; if any, nothing is proven about it.
        applies: whether the class has the norms that a form needs.
        forms: the forms by name.
        measured, gaps: caches of computed norms and gaps.
    """

    T: int
    make: Callable[[Real, Pricing], tuple[Item, ...]]
    a_posteriori: bool
    margin: float
    margin_used: float
    margin_penalty: float
    assumptions: tuple[str, ...]
    notes: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    applies: Callable[[Form], bool] = lambda form: not form.whole_class
    forms: Mapping[str, Form] = field(default_factory=lambda: FORMS, repr=False)
    measured: dict[str, Any] = field(default_factory=dict)
    gaps: dict[tuple[Real, str, float], float] = field(default_factory=dict)

    @property
    def usual_eps(self) -> float:
        """Return half the margin, the realisable bound's resolution; the margin itself if half of it is 0 in floats."""
        return self.margin_used / 2 or self.margin_used

    def by_form(
        self, m: Real, eps: float, delta: float, *, proven: bool = False
    ) -> tuple[dict[str, Covering], dict[str, float]]:
        """Return ln N and the gap by every form that applies, or only by the proven forms."""
        apply = {name: form for name, form in self.forms.items() if self.applies(form)}
        forms = {name: form for name, form in apply.items() if form.proven or not proven}
        coverings = {name: covering(self.priced(m, name)[0], eps=eps, form=forms[name]) for name in forms}
        return coverings, {name: self.gap(m, form=name, delta=delta) for name in forms}

    def priced(self, m: Real, form: str) -> tuple[tuple[Item, ...], float]:
        """Return the items on m samples, and the penalty for norms and margin chosen after training."""
        price = Pricing(self.forms[form], a_posteriori=self.a_posteriori, measured=self.measured)
        return self.make(m, price), price.penalty + self.margin_penalty

    def gap(self, m: Real, *, form: str, delta: float) -> float:
        """Return the margin gap: the smaller of the bounds from C/eps^2, if valid, and from chaining over ln N."""
        if (m, form, delta) not in self.gaps:
            items, penalty = self.priced(m, form)
            found = []
            gap = partial(margin_gap, m=m, delta=delta, penalty=penalty)
            chosen = self.forms[form]
            if chosen.below_capacity:
                found.append(gap(margin=self.margin_used, log_C=log_capacity(items)))
            if chosen.covering is not None:
                scaled = self._per_margin(items)
                log_covering = lambda eps: covering(scaled, eps=eps, form=chosen).log_covering  # noqa: E731
                found.append(gap(margin=1.0, log_covering=log_covering))
            self.gaps[m, form, delta] = min(found)
        return self.gaps[m, form, delta]

    def vacuous_by(self, m: int, *, form: str, delta: float) -> float | None:
        """Return the factor by which m must grow for a gap below 1; None if more than 1e300 samples are needed."""
        below_one = samples_needed(partial(self.gap, form=form, delta=delta), accuracy=math.nextafter(1, 0))
        return None if below_one is None else below_one / m

    def realizable(self, m: Real, *, form: str, delta: float) -> float:
        """Return the bound on the realisable error for m samples."""
        items, penalty = self.priced(2 * m, form)
        log_covering = covering(self._per_margin(items), eps=0.5, form=self.forms[form]).log_covering
        return realizable_error(log_covering_2m=log_covering, m=m, delta=delta, penalty=penalty)

    def _per_margin(self, items: tuple[Item, ...]) -> tuple[Item, ...]:
        """Return the items with output errors in units of the margin, since margin times eps could underflow to 0."""
        log_margin = math.log(self.margin_used)
        return tuple(replace(k, log_p=k.log_p - log_margin) for k in items)


def declare_model(model: Model, *, margin: float | None = None, a_posteriori: bool = True) -> DeclaredClass:
    """Return the class of a model. The default margin is its threshold if > 0 (1/2 for constructed models), else 1."""
    if margin is None:
        margin = model.threshold if model.threshold > 0 else 1.0
    fixed = () if model.encoding.kind == "trainable" else ("the encoding was fixed, not learned",)
    return _declare(
        (*fixed, f"the threshold {model.threshold:g} was fixed before training"),
        margin=margin,
        a_posteriori=a_posteriori,
        stated=declared_margin(margin, chosen=a_posteriori),
        T=model.T,
        make=lambda m, price: model_items(model, m=m, price=price),
    )


def declare_norms(
    norms: Mapping[str, Real], *, T: int | None, margin: float = 1.0, a_posteriori: bool = False
) -> DeclaredClass:
    """Return the class of heads on T tokens whose norms are at most these."""
    if T is None:
        raise DomainError("norms need the context length too: give T.")
    bounds, length = head_class(norms), int(check_count("T", T))
    assumed = [f"{key}={getattr(bounds, key)}" for key in ("d", "k") if key not in norms]
    return _declare(
        ("sigma(0) = 0, and sigma is L-Lipschitz", *_read_out(norms)),
        margin=margin,
        a_posteriori=a_posteriori,
        T=length,
        make=lambda m, price: head_class_items(bounds, m=m, T=length, price=price),
        notes=(f"assumed {' and '.join(assumed)}",) if assumed else (),
        applies=lambda form: not missing_norms(bounds, form),
    )


def declare_layer(
    layer: Layer,
    *,
    T: int | None,
    lengths: Mapping[str, Real],
    margin: float = 1.0,
    a_posteriori: bool = True,
    notes: tuple[str, ...] = (),
    outside: tuple[str, ...] = (),
) -> DeclaredClass:
    """Return the class of an attention layer, or of one head, at one query per sequence, with a fixed output bias.

    Args:
        lengths: BX, the length of the longest token; optionally BZ, that of the longest query, and w, that of a
            trained read-out.
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
        raise DomainError(
            "weights do not say how long the tokens are: give norms={'BX': ..}; behind a LayerNorm with gains up to g "
            "and no bias it is g sqrt(d)."
        )
    sizes = {key: check_norm(key, value) for key, value in lengths.items()}
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
        prefix = "layer.head0." if layer.H == 1 else "layer."
        return tuple(replace(item, name=item.name.removeprefix(prefix)) for item in network_items(stages))

    return _declare(
        (f"tokens are no longer than {sizes['BX']:.6g}", *_read_out(sizes)),
        margin=margin,
        a_posteriori=a_posteriori,
        T=n,
        make=make,
        notes=notes,
        outside=outside,
    )


def _read_out(lengths: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the assumptions of a class without a trained read-out w."""
    if "w" in lengths:
        return ()
    return ("the output is read by a fixed vector of length 1; w= prices a trained one",)


def _declare(
    assumptions: tuple[str, ...],
    *,
    margin: float,
    a_posteriori: bool,
    stated: tuple[float, float] | None = None,
    **fields: Any,
) -> DeclaredClass:
    """Return a class with the assumptions common to all classes; `stated` is the declared margin and its penalty."""
    if stated is None:
        stated = declared_margin(margin, chosen=True) if a_posteriori else (margin, 0.0)
    used = stated[0]
    chosen = (
        "norms, zero biases and margin may have been chosen after training: norms are rounded up and the margin "
        "down to powers of two, and delta pays for the choice"
        if a_posteriori
        else "the norms and the margin were fixed before the data were seen"
    )
    exceeds = f"more than {used:g}" if used == margin else f"at least {margin:g} (declared: {used:.7g})"
    always = (
        "training and test examples are independent draws from one distribution",
        chosen,
        f"the realisable figures hold if all training outputs are {exceeds} on the right side of the threshold",
    )
    return DeclaredClass(
        margin=margin,
        margin_used=used,
        margin_penalty=stated[1],
        a_posteriori=a_posteriori,
        assumptions=always + assumptions,
        **fields,
    )
