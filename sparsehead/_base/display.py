"""Display of objects: short reprs, cards with a chart in a notebook, pictures.

A class inherits from `ShortRepr` (a repr for dataclasses), or from `WithCard` and defines `_card`. `_CHART` names the
function that draws the chart, as "module:function". It is imported only when the chart is drawn, because chart modules
import the results that they show and need an extra. Cards are plain HTML: every text is escaped, the chart is an
embedded image, and nothing is run or fetched.
"""

import base64
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from .errors import DomainError, MissingExtra
from .files import check_target, write_whole
from .frame import Frame, cell_html, table_html
from .frame import clipped as clipped
from .lazy import missing_extra


class ShortRepr:
    """A repr for dataclasses declared with repr=False: fields by name, arrays by shape, defaults left out."""

    def __repr__(self) -> str:
        parts = [(f.name, getattr(self, f.name), f.default) for f in fields(self)]  # type: ignore[arg-type]
        parts.sort(key=lambda part: part[2] is not MISSING)  # required fields come first
        texts = [f"{name}={brief(value)}" for name, value, default in parts if not _same(value, default)]
        return clipped(f"{type(self).__name__}({', '.join(texts)})", 300)


def brief(value: Any, most: int = 60) -> str:
    """Write a value in about `most` characters: arrays by shape, long collections by length, floats with six digits.

    >>> brief(np.zeros((3, 4))), brief([1.0] * 1000), brief({"a": 0.123456789})
    ('array(3, 4)', '[1000 values]', "{'a': 0.123457}")
    """
    if isinstance(value, np.ndarray):
        return f"array({', '.join(map(str, value.shape))})"
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    if isinstance(value, dict):
        inside = ", ".join(f"{key!r}: {brief(v, most)}" for key, v in list(value.items())[:most])
        return f"{{{inside}}}" if len(inside) <= most else f"{{{len(value)} entries}}"
    if isinstance(value, tuple | list):
        inside = ", ".join(brief(v, most) for v in value[:most])
        left, right = ("(", ",)" if len(value) == 1 else ")") if isinstance(value, tuple) else ("[", "]")
        short = len(value) <= most and len(inside) <= most
        return f"{left}{inside}{right}" if short else f"{left}{len(value)} values{right[-1]}"
    return clipped(repr(value), most)


def _same(value: Any, default: Any) -> bool:
    """Return whether a field has its default value; False for arrays, whose comparison is not a single bool."""
    return value is default or (isinstance(value, str | int | float | tuple) and value == default)


@dataclass(frozen=True)
class Card:
    """The content of a notebook's display of an object: sentences, named values, the first 12 rows of a table."""

    title: str
    lines: Sequence[str] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    table: Frame | None = None


class WithCard(ABC):
    """An object with a card, and with a chart if `_CHART` names a function that draws it."""

    _CHART: ClassVar[str] = ""

    @abstractmethod
    def _card(self) -> Card:
        """Return the card that a notebook shows."""

    def _repr_html_(self) -> str:
        """The card as HTML, with its chart if it has one and the charts extra is installed."""
        card = self._card()
        picture = self._picture()
        parts = [f"<strong>{escape(card.title)}</strong>"]
        parts += [f"<div>{escape(line)}</div>" for line in card.lines]
        parts += [_facts_html(card.facts)] if card.facts else []
        parts += [picture._repr_html_()] if picture is not None else []
        parts += [table_html(card.table, most=12)] if card.table else []
        font = "font-family: system-ui, sans-serif; font-size: 14px; line-height: 1.4"
        box = f"{font}; max-width: 48rem; overflow-x: auto"
        return f'<div class="sparsehead" style="{box}">{"".join(parts)}</div>'

    def _picture(self) -> "Picture | None":
        """The chart; None if the class has none, there is nothing to draw, or the charts extra is missing."""
        if not self._CHART:
            return None
        try:
            return Picture(_chart(self._CHART, self), type(self).__name__)
        except (MissingExtra, DomainError):
            return None


class WithChart(WithCard):
    """An object with a card, whose chart can also be drawn alone."""

    def plot(self, out: str | Path | None = None, *, force: bool = False) -> "Picture":
        """Draw this object's chart; a notebook shows it, and `.chart` is the Altair chart.

        Also write it to `out`, a .svg, .png, .pdf or .html file; `force` replaces an existing file.
        """
        picture = Picture(_chart(self._CHART, self), type(self).__name__)
        if out is not None:
            picture.save(out, force=force)
        return picture


class Picture:
    """A chart that a notebook shows without network access or JavaScript; `.chart` is the Altair chart."""

    def __init__(self, chart: Any, of: str) -> None:
        self.chart = chart
        self._of = of

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the chart in the format of the path's ending: .svg, .png, .pdf or .html."""
        form = Path(path).suffix.removeprefix(".").lower()
        if form not in ("svg", "png", "pdf", "html"):
            raise DomainError(f"a chart is written as .svg, .png, .pdf or .html; got {Path(path).name!r}.")
        check_target(path, force=force)
        return write_whole(path, self._as(form), force=force)

    def _as(self, form: str) -> bytes:
        return bytes(_import("figures.render").render(self.chart, form))

    def __repr__(self) -> str:
        return f"<Picture of a {self._of}; .save('x.png') writes it, .chart is the Altair chart>"

    def _repr_svg_(self) -> str:
        return self._as("svg").decode()

    def _repr_html_(self) -> str:
        """The chart as an image, so that its content can neither run nor clash with another chart on the page."""
        data = base64.b64encode(self._as("svg")).decode()
        title = getattr(self.chart, "title", "")
        words = getattr(title, "text", title)
        alt = escape(" ".join(words) if isinstance(words, list) else str(words), quote=True)
        style = "max-width: 100%; background: white"
        return f'<div><img style="{style}" alt="{alt}" src="data:image/svg+xml;base64,{data}"></div>'


def _chart(where: str, shown: Any) -> Any:
    module, _, function = where.partition(":")
    return getattr(_import(module), function)(shown)


def _import(module: str) -> Any:
    """Import a module of this package by name."""
    try:
        return import_module(f"sparsehead.{module}")
    except ModuleNotFoundError as error:
        raise missing_extra(error) from None


def _facts_html(facts: Mapping[str, Any]) -> str:
    style = "display: inline-block; margin-right: 1.2em; font-variant-numeric: tabular-nums"
    parts = [
        f'<span style="{style}">{escape(str(name))} <b>{cell_html(value)}</b></span>'
        for name, value in facts.items()
        if value is not None
    ]
    return f'<div style="margin: 4px 0">{" ".join(parts)}</div>'
