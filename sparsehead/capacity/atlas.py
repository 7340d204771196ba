"""`atlas`: every form of the bound for one class, side by side, with its source and what it rests on."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from .._base.arguments import meant
from .._base.display import Card, ShortRepr, WithChart
from .._base.errors import DomainError
from .._base.frame import Frame
from .._base.jsonable import json_values
from .._base.log_math import Real
from .bound import question
from .forms import FORMS, Form
from .own_forms import FormLike
from .state_dicts import WeightsSource
from .verdict import finite

CLASS = "the covering number of the class, and from it P(error) - P(training margin below the margin)"


@dataclass(frozen=True, repr=False, kw_only=True)
class AtlasRow(ShortRepr):
    """One form for one class.

    - status: "proved" (a classical argument), "proved by us", "proxy" (no statement is proved), or "yours", with
      whether you say that it is proved.
    - bounds: the quantity that it bounds. source: where it comes from. assumes: what it assumes beyond the class.
    - log_covering: ln N at the atlas' resolution. gap: what P(error) may exceed the training term by. None where the
      form has no such value, or one beyond the range of a float.
    """

    form: str
    status: str
    bounds: str
    source: str
    assumes: str
    log_covering: float | None
    gap: float | None


@dataclass(frozen=True, repr=False, kw_only=True)
class Atlas(WithChart):
    """Every form for one class at m samples; each row is a statement of its own, with probability 1 - delta."""

    _CHART = "figures.bounds:atlas_chart"

    T: int
    m: int
    delta: float
    margin: float
    eps: float
    rows: tuple[AtlasRow, ...]

    @property
    def smallest(self) -> AtlasRow:
        """The row with the smallest ln N among those that are proved."""
        proved = [
            row for row in self.rows if row.status.startswith("proved") and row.log_covering is not None
        ]
        return min(proved, key=lambda row: row.log_covering or 0.0)

    def __repr__(self) -> str:
        return f"<Atlas: {len(self.rows)} forms at T={self.T:.6g}, m={self.m:.6g}; smallest {self.smallest.form}>"

    def to_frame(self) -> Frame:
        """Return the rows as a table."""
        return Frame([asdict(row) for row in self.rows], tuple(AtlasRow.__dataclass_fields__))

    def to_dict(self) -> dict[str, Any]:
        """Return the atlas as JSON values; `atlas` has the rows."""
        found = json_values(self)
        return {"atlas": found.pop("rows"), **found, "smallest": self.smallest.form}

    def _card(self) -> Card:
        facts = {"T": self.T, "m": self.m, "margin": self.margin, "at resolution": self.eps}
        rows = [
            {name: getattr(row, name) for name in ("form", "status", "log_covering", "gap", "source")}
            for row in self.rows
        ]
        return Card("Atlas of bounds", [f"Smallest of the proved: {self.smallest.form}."], facts, Frame(rows))


def atlas(
    model: WeightsSource | None = None,
    *,
    m: Real,
    norms: Mapping[str, Real] | None = None,
    T: int | None = None,
    form: FormLike | None = None,
    **more: Any,
) -> Atlas:
    """Compare every form of the bound for one class: value, source, assumptions, and whether it is proved.

    Args:
        model, m, norms, T: as in `bound`.
        form: a form of your own to be listed too; those with a name (see `form`) are listed anyway.
        more: other arguments of `bound`: delta, margin, eps, heads, layer, head, a_posteriori.

    >>> found = atlas(norms={"V21": 1, "V": 1, "QK": 9.4, "BX": 1.42}, T=100, m=1000)
    >>> found.smallest.form, found.to_frame()["status"][:2]
    ('minimum', ['proved by us', 'proxy'])
    """
    check_settings(more)
    asked = question(model, m=m, norms=norms, T=T, form=form, **more)
    declared = asked.declared
    coverings, gaps = declared.by_form(asked.m, asked.eps, asked.delta)
    rows = [
        _row_of_form(name, declared.forms[name], finite(coverings[name].log_covering), gaps[name])
        for name in coverings
    ]
    return Atlas(
        T=declared.T, m=asked.m, delta=asked.delta, margin=declared.margin, eps=asked.eps, rows=tuple(rows)
    )


def check_settings(more: Mapping[str, Any]) -> None:
    """Refuse settings that `bound` does not have."""
    known = ("delta", "margin", "eps", "heads", "layer", "head", "a_posteriori")
    for name in more:
        if name not in known:
            raise DomainError(
                f"atlas has no setting {name!r}; it has {', '.join(known)}.{meant(name, known)}"
            )


def _row_of_form(name: str, form: Form, log_covering: float | None, gap: float) -> AtlasRow:
    status = "proxy" if not form.proven else "proved" if name == "parametric" else "proved by us"
    if not FORMS.is_builtin(name):
        status = "yours, proved by your claim" if form.proven else "yours, not proved"
    return AtlasRow(
        form=name,
        status=status,
        bounds=CLASS if form.proven else f"meant for {CLASS}",
        source=form.source,
        assumes=form.assumes,
        log_covering=log_covering,
        gap=gap,
    )
