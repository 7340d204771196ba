"""Parts of every chart: rows of data, formatted numbers, the common style, and `finish`.

A row maps field names to numbers, texts or None. Sizes are for a figure one column wide in print.
"""

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt

from .._base.errors import DomainError
from .._base.jsonable import json_values
from .._base.log_math import Real

WIDTH, HEIGHT = 520, 300  # pixels

CONFIG: dict[str, Any] = {
    "font": "Liberation Sans, Arial, Helvetica, DejaVu Sans, sans-serif",
    "background": "#ffffff",
    "padding": 12,
    "view": {"stroke": None, "continuousWidth": WIDTH, "continuousHeight": HEIGHT},
    "title": {
        "anchor": "start", "frame": "group", "fontSize": 14, "fontWeight": "bold", "lineHeight": 18, "offset": 14,
        "subtitleFontSize": 12, "subtitleColor": "#444444", "subtitleLineHeight": 16, "subtitlePadding": 5,
    },
    "axis": {
        "labelFontSize": 12, "titleFontSize": 13, "titleFontWeight": "normal", "titlePadding": 9,
        "gridColor": "#e8e8e8", "domainColor": "#444444", "tickColor": "#444444",
        "labelFlush": False, "labelOverlap": "greedy",
    },
    "legend": {
        "orient": "bottom", "direction": "horizontal", "columns": 3, "symbolStrokeWidth": 2, "offset": 12,
        "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "labelLimit": 340, "titleLimit": 460,
    },
    "header": {"labelFontSize": 13, "labelFontWeight": "bold", "titleFontSize": 13},
    "concat": {"spacing": 30},
}  # fmt: skip

Fields = Mapping[str, Any]
Rows = Sequence[Fields]
Chart = alt.TopLevelMixin
Panel = Any  # a part of a chart; Altair's own types refuse options that are passed as a dict


def plain(rows: Iterable[Fields]) -> list[dict[str, Any]]:
    """Return rows of JSON values: numbers rounded to six significant digits, None for NaN and infinity.

    Six digits are much finer than a pixel, and halve the size of a page.
    """

    def json_value(value: Any) -> Any:
        value = value.item() if hasattr(value, "item") else value
        if not isinstance(value, float):
            return value
        return float(f"{value:.6g}") if math.isfinite(value) else None

    return [{key: json_value(value) for key, value in row.items()} for row in rows]


def finite(value: Any) -> bool:
    """Return True for a number that can be drawn; False for None, NaN and infinities."""
    return value is not None and math.isfinite(value)


def rows_of(records: Sequence[Any], what: str) -> list[dict[str, Any]]:
    """Return dataclasses as rows; raise DomainError if there are none. Its message says `what` the chart shows."""
    return need([json_values(record) for record in records], what)


def need(rows: Rows, what: str, *fields: str) -> list[dict[str, Any]]:
    """Return copies of `rows`; raise DomainError if there are none or a field is missing."""
    if not rows:
        raise DomainError(f"{what}: there is nothing to draw yet, 0 records arrived.")
    for row in rows:
        if not set(fields) <= row.keys():
            raise DomainError(f"{what}: records need {', '.join(fields)}; one has only {', '.join(row)}.")
    return [dict(row) for row in rows]


def number(value: Real) -> str:
    """Format a number for a title: three significant digits, whole from 100 on, with commas between thousands.

    >>> number(69.23), number(113.4), number(100000), number(0.0034)
    ('69.2', '113', '100,000', '0.0034')
    """
    if abs(value) >= 1e7 or (value != 0 and abs(value) < 1e-3):
        return f"{value:.2g}"
    if abs(value) >= 100 or float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:.3g}"


def interval(low: Any, high: Any) -> str:
    """Format [low, high] for a title, with an ellipsis for an unknown end."""
    return f"[{number(low) if finite(low) else '…'}, {number(high) if finite(high) else '…'}]"


def count(things: Sequence[Any] | int, noun: str) -> str:
    """Return the number of things with a noun in the singular or plural.

    >>> count([1, 2], "run"), count(1, "run")
    ('2 runs', '1 run')
    """
    n = things if isinstance(things, int) else len(things)
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def named(name: str) -> alt.Chart:
    """Return a chart of the dataset called `name`, which `finish` adds."""
    return alt.Chart(alt.NamedData(name=name))


def finish(
    chart: Any,
    *,
    title: str,
    subtitle: str | Sequence[str] = (),
    data: Mapping[str, Rows],
    width: int = WIDTH,
    fixed: bool = False,
) -> Chart:
    """Add title, data and the common style to `chart` and return it.

    The specification contains each dataset once, by name. Titles are broken into lines that fit `width`. A chart whose
    units are pixels is `fixed`: on a narrow page it is scaled as a whole.
    """
    lines = [subtitle] if isinstance(subtitle, str) else list(subtitle)
    # A letter of a title is about 6.9 pixels wide, one of a subtitle 5.8.
    letters = max(30, int(width / 6.9))
    parts = alt.TitleParams(
        text=textwrap.wrap(title, letters) or [""],
        subtitle=[piece for line in lines for piece in textwrap.wrap(line, int(letters * 1.18))],
    )
    chart = chart.properties(title=parts)
    chart["datasets"] = {name: plain(rows) for name, rows in data.items()}
    chart["config"] = CONFIG
    chart["usermeta"] = {"fixed": fixed}
    return chart
