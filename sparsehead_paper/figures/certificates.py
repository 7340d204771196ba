"""Two bounds on the error against the number of samples, from reading and from capacity, and the information floor."""

import altair as alt

from sparsehead._base.log_math import Real
from sparsehead.figures.colours import BLUE, GREY, RED
from sparsehead.figures.encodings import by_name, linear_axis, log_axis
from sparsehead.figures.theme import HEIGHT, WIDTH, Chart, Rows, finish, finite, named, need, number

READ, CAPACITY = "Occam bound of the function read", "capacity bound of the head's norms"


def certificates_chart(points: Rows, *, floor: Real, T: int, s: int) -> Chart:
    """Draw upper bounds on the error against m, and the sample size below which no learner succeeds.

    Args:
        points: rows {m, bound, name}; a bound above 1, which says nothing, is given as 1.
        floor: the information floor, a number of samples; T, s: numbers of bits and of relevant bits.
    Paper: occam-bound
    """
    rows = [r for r in need(points, "certificates", "m", "bound", "name") if finite(r["bound"])]
    samples = [r["m"] for r in rows]
    names = sorted({r["name"] for r in rows}, key=lambda name: name != READ)
    legend = alt.Legend(title=None)
    x = alt.X("m:Q", **log_axis("training samples m (log scale)", [*samples, floor]))
    lines = named("bounds").mark_line(strokeWidth=2)
    bounds = lines.encode(
        x=x,
        y=alt.Y("bound:Q", **linear_axis("upper bound on the error", 0, 1.02)),
        color=by_name(alt.Color, "name", dict(zip(names, (BLUE, RED))), legend=legend),
        strokeDash=by_name(alt.StrokeDash, "name", dict(zip(names, ([1, 0], [6, 3]))), legend=legend),
        tooltip=["name:N", "m:Q", "bound:Q"],
    )
    rule = named("floor").mark_rule(color=GREY, strokeDash=[2, 2], strokeWidth=1.5).encode(x=x)
    text = named("floor").mark_text(align="left", dx=5, color=GREY, fontSize=12)
    label = text.encode(x=x, y=alt.value(16), text="label:N")
    useful = {
        name: min((r["m"] for r in rows if r["name"] == name and r["bound"] < 0.5), default=None)
        for name in names
    }
    said = [f"{name} below 1/2 from m = {number(m)}" for name, m in useful.items() if m is not None]
    return finish(
        alt.layer(rule, label, bounds).properties(width=WIDTH, height=HEIGHT),
        title=f"AND of {s} of {number(T)} bits: reading the function makes the bound useful",
        subtitle=[
            "; ".join(said) + ".",
            "Each bound may fail with probability .05; no training mistakes assumed. Dotted: below "
            f"m = {number(floor)} no learner names the function in 80 % of cases.",
        ],
        data={"bounds": rows, "floor": [{"m": floor, "label": f"no learner below {number(floor)}"}]},
    )
