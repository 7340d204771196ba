"""One look for every chart: colours, sizes, the style of the paper's own points, and how a chart is finished.

The colours are Okabe and Ito's, which people with any common colour vision tell apart; where two series might
still meet (in grey print), they also differ in shape or dash. Sizes are for a figure one column wide in print.
"""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from .._base.log_math import Real
from .data import Rows, plain

BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PURPLE = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7",
)  # fmt: skip
GREY = "#767676"  # 4.5 : 1 on white: the faintest grey in which text is still easily read
PALE = "#D9D9D9"
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")  # of series
SEQUENTIAL: Any = "cividis"  # dark to light, the same to colour-blind eyes

OURS = BLUE
PAPER_POINT: dict[str, Any] = {
    "shape": "diamond",
    "filled": False,
    "color": BLACK,
    "size": 70,
    "strokeWidth": 1.6,
}
PAPER_BAR: dict[str, Any] = {"color": BLACK, "strokeWidth": 1.2}

WIDTH, HEIGHT = 520, 300
FONT = "Liberation Sans, Arial, Helvetica, DejaVu Sans, sans-serif"
TITLE_LETTERS = 6.9  # pixels that one letter of a title takes, about: where to break its lines

CONFIG: dict[str, Any] = {
    "font": FONT,
    "background": "#ffffff",
    "padding": 12,
    "view": {"stroke": None, "continuousWidth": WIDTH, "continuousHeight": HEIGHT},
    "title": {
        "anchor": "start",
        "frame": "group",
        "fontSize": 14,
        "fontWeight": "bold",
        "lineHeight": 18,
        "subtitleFontSize": 12,
        "subtitleColor": "#444444",
        "subtitleLineHeight": 16,
        "subtitlePadding": 5,
        "offset": 14,
    },
    "axis": {
        "labelFontSize": 12,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
        "titlePadding": 9,
        "gridColor": "#e8e8e8",
        "domainColor": "#444444",
        "tickColor": "#444444",
        "labelFlush": False,
        "labelOverlap": "greedy",
    },
    "legend": {
        "orient": "bottom",
        "direction": "horizontal",
        "columns": 3,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 340,
        "titleLimit": 460,
        "symbolStrokeWidth": 2,
        "offset": 12,
    },
    "header": {"labelFontSize": 13, "labelFontWeight": "bold", "titleFontSize": 13},
    "concat": {"spacing": 30},
}

Chart = alt.TopLevelMixin
Panel = Any  # a part of a chart; Altair's own types refuse options that are passed as a dict


def named(name: str) -> alt.Chart:
    """A chart on the dataset called `name`; `finish` supplies it."""
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
    """`chart` with its title, its data and the common look.

    The data stand in the specification once, under their names: what a chart shows can be read and downloaded
    from there. Titles are broken into lines that fit `width`. A chart is `fixed` when it must not be squeezed to a
    narrow page, because its units are pixels; it is scaled as a whole instead.
    """
    lines = [subtitle] if isinstance(subtitle, str) else list(subtitle)
    letters = max(30, int(width / TITLE_LETTERS))
    parts = alt.TitleParams(
        text=textwrap.wrap(title, letters) or [""],
        subtitle=[piece for line in lines for piece in textwrap.wrap(line, int(letters * 1.18))],
    )
    chart = chart.properties(title=parts)
    chart["datasets"] = {name: plain(rows) for name, rows in data.items()}
    chart["config"] = CONFIG
    chart["usermeta"] = {"fixed": fixed}
    return chart


def log_axis(title: str, values: Sequence[Real]) -> dict[str, Any]:
    """Scale and axis of a positive quantity over decades, just wide enough for `values`, labelled without clutter."""
    low, high = min(values), max(values)
    return {
        "scale": alt.Scale(type="log", domain=[low / 1.15, high * 1.15], nice=False),
        "axis": alt.Axis(
            title=title, values=decade_ticks(low / 1.15, high * 1.15), format="~s" if high >= 1e4 else "~g"
        ),
    }


def decade_ticks(low: Real, high: Real) -> list[float]:
    """Round numbers within [low, high]: 1-2-5 steps over up to two decades, 1-3 up to four, else powers of ten.

    >>> decade_ticks(90, 1200)
    [100.0, 200.0, 500.0, 1000.0]
    """
    decades = 0 if low <= 0 else len(str(int(high / low))) - 1
    steps = (1, 2, 5) if decades < 2 else (1, 3) if decades < 4 else (1,)
    power, ticks = -12, []
    while 10.0**power <= high:
        ticks += [s * 10.0**power for s in steps if low <= s * 10.0**power <= high]
        power += 1
    return ticks[:: max(1, len(ticks) // 9)]
