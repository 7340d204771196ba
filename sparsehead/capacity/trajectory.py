"""The bound along training, and models side by side. Pure functions of recorded norms."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..logs import Real
from ..model import Model
from .bound import Bound, bound
from .head_class import head_class, head_class_items
from .items import log_capacity
from .networks import model_items
from .pricing import Pricing
from .state_dicts import norms


@dataclass(frozen=True)
class StepBound:
    """The bound at one recorded step: ln C (ln N = C/eps^2), the margin gap, and the dominant item."""

    step: int
    log_capacity: float
    gap: float
    dominated_by: str


def bounds_along(
    history: Iterable[Mapping[str, Real]],
    *,
    T: int,
    m: int,
    margin: Real = 1.0,
    delta: Real = 0.05,
    form: str = "ours",
) -> tuple[StepBound, ...]:
    """The bound at each record of a training history.

    A record is {"step": 120, "V21": .., "V": .., "QK": .., "BX": ..}: a step and the norms of
    `head_class.KEYS`. The norms are taken as given bounds, so the steps are comparable; a certificate for
    one step pays the union bound of `bound`.
    """
    found = []
    for record in history:
        given = {key: value for key, value in record.items() if key != "step"}
        items = head_class_items(head_class(given), m=m, T=T, price=Pricing(form))
        at = bound(norms=given, T=T, m=m, margin=margin, delta=delta, form=form)
        found.append(StepBound(int(record["step"]), log_capacity(items), at.gap, at.dominated_by))
    return tuple(found)


@dataclass(frozen=True)
class Row:
    """One model in a comparison: the largest norms of the last layer's heads, ln C, the bound."""

    name: str
    norm_QK: float
    norm_V: float
    norm_V21: float
    log_capacity: float
    bound: Bound


def compare_models(
    models: Mapping[str, Model] | Sequence[tuple[str, Model]],
    *,
    m: int,
    delta: Real = 0.05,
    form: str = "ours",
) -> tuple[Row, ...]:
    """Norms and bounds of several models on m samples: do learned heads have the norms of the written ones?

    norm_QK is the Frobenius norm with the temperature; each norm is the largest over the last layer's heads.
    """
    rows = []
    for name, model in dict(models).items():
        heads = norms(model)[f"layer{model.L - 1}"]
        items = model_items(model, m=m, price=Pricing(form))
        rows.append(
            Row(
                name=name,
                norm_QK=max(head.QK.frobenius for head in heads),
                norm_V=max(head.V.spectral for head in heads),
                norm_V21=max(head.V.n21 for head in heads),
                log_capacity=log_capacity(items),
                bound=bound(model, m=m, delta=delta, form=form),
            )
        )
    return tuple(rows)
