"""The bound along training, and models side by side. Pure functions of recorded norms."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sparsehead._base.log_math import Real
from sparsehead.capacity.bound import bound
from sparsehead.capacity.head_class import head_class, head_class_items
from sparsehead.capacity.items import log_capacity
from sparsehead.capacity.pricing import Pricing


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
    `head_class.HeadClass`. The norms are taken as given bounds, so the steps are comparable; a certificate for
    one step pays the union bound of `bound`.
    """
    found = []
    for record in history:
        given = {key: value for key, value in record.items() if key != "step"}
        items = head_class_items(head_class(given), m=m, T=T, price=Pricing(form))
        at = bound(norms=given, T=T, m=m, margin=margin, delta=delta, form=form)
        found.append(StepBound(int(record["step"]), log_capacity(items), at.gap, at.dominated_by))
    return tuple(found)
