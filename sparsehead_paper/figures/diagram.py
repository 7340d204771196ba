"""Diagram of attention: tokens in a row, scores as grey arcs below the row, attention weights as blue lines above it.

Line widths are computed from a `Model` on one input: the width of a blue line is proportional to its weight; the width
of a grey arc is linear in its score, between the least and the greatest score of the same query.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import altair as alt
import numpy as np

from sparsehead._base.errors import DomainError
from sparsehead._base.log_math import Real
from sparsehead._base.types import Array, Float, Shaped
from sparsehead.figures.colours import BLUE, GREY, ORANGE, PALE, SKY
from sparsehead.figures.theme import Chart, Panel, finish, named, number
from sparsehead.functions import check_bits
from sparsehead.heads.block import attention_rows
from sparsehead.heads.model import Model

MODULES = {
    "head": "f_tf-head: a context z asks, y answers",
    "layer": "f_tf-layer: every token asks",
    "scalar": "f_tf-scalar: [CLS] asks, w reads its answer",
}


@dataclass
class Drawing:
    """Nodes and lines of one panel, as rows of the chart's data."""

    nodes: list[dict[str, Any]] = field(default_factory=list)
    lines: list[dict[str, Any]] = field(default_factory=list)
    rise: Real = 2.6  # from tokens to outputs, in distances between tokens

    def node(
        self, x: Real, y: Real, label: str, colour: str, *, shape: str = "circle", size: Real = 900
    ) -> None:
        self.nodes.append({"x": x, "y": y, "label": label, "colour": colour, "shape": shape, "size": size})

    def line(
        self, path: Sequence[tuple[Real, Real]], *, colour: str, width: Real, value: Real, what: str
    ) -> None:
        edge = len({row["edge"] for row in self.lines})
        style = {"colour": colour, "width": width, "value": value, "what": what}
        self.lines += [{"edge": edge, "corner": i, "x": x, "y": y, **style} for i, (x, y) in enumerate(path)]

    def scores(self, source: Real, targets: Sequence[Real], scores: Float[Array, " n"], who: str) -> None:
        """Add grey arcs from the query's token (`source`) to the tokens that it scores (`targets`)."""
        spread = float(scores.max() - scores.min())
        for x, score in zip(targets, scores):
            share = (float(score - scores.min()) / spread) if spread > 1e-12 else 0.5
            width = 0.5 + 2.5 * share
            self.line(_arc(source, x), colour=GREY, width=width, value=float(score), what=f"score of {who}")

    def weights(self, sources: Sequence[Real], target: Real, weights: Float[Array, " n"], who: str) -> None:
        """Add blue lines from each token (`sources`) to the output (`target`), as thick as the weights."""
        for x, weight in zip(sources, map(float, weights)):
            path = [(x, 0.0), (target, self.rise)]
            self.line(path, colour=BLUE, width=0.35 + 7 * weight, value=weight, what=f"weight in {who}")


def _arc(a: Real, b: Real) -> list[tuple[Real, Real]]:
    """Return 24 points of a curve below the row from a to b, deeper for distant tokens; a loop if a = b."""
    if a == b:
        turn = np.linspace(0, 2 * np.pi, 24)
        return [(a + 0.22 * float(np.sin(u)), -0.45 - 0.3 * (1 - float(np.cos(u)))) for u in turn]
    depth = 0.5 + 0.42 * abs(a - b) + (0.12 if a < b else 0.0)  # the two directions do not hide each other
    share = np.linspace(0, 1, 24)
    return [(a + (b - a) * float(u), -0.3 - depth * 4 * float(u) * (1 - float(u)) * 0.7) for u in share]


def attention_module_diagram(panels: Sequence[tuple[str, Model, Shaped[Array, " T"]]]) -> Chart:
    """Draw the attention modules of the paper's figure 1 (notes, figure 3), each from a model on one input.

    Args:
        panels: (module, model, bits) with module one of MODULES; the model's first layer and head are drawn.
    Paper: tf-head, attention-modules
    """
    if not panels:
        raise DomainError("attention modules: there is nothing to draw yet, 0 models arrived.")
    drawings = [_draw(module, model, bits) for module, model, bits in panels]
    charts, data = [], {}
    for i, ((module, _, _), drawing) in enumerate(zip(panels, drawings)):
        data[f"nodes{i}"], data[f"lines{i}"] = drawing.nodes, drawing.lines
        charts.append(_chart(i, drawing, MODULES[module], unit=42))
    return finish(
        alt.concat(*charts, columns=3, spacing=18),
        title="Alignment scores (grey) become normalised attention weights (blue), which mix the inputs",
        subtitle="A blue line is as thick as its weight; a grey arc as its score among those of the same query.",
        data=data,
        width=820,
        fixed=True,
    )


def _draw(module: str, model: Model, bits: Shaped[Array, " T"]) -> Drawing:
    if module not in MODULES:
        raise DomainError(f"attention modules are {', '.join(MODULES)}; got {module!r}.")
    b = check_bits(bits, model.T)
    X = model.encoding(b)
    asks_cls = module == "scalar" and model.attends_cls
    A = attention_rows(X, model.layers[0], 0, attends_cls=asks_cls)
    T, out = model.T, Drawing()
    n = T + 1 if asks_cls else T
    middle = (n - 1) / 2
    row = list(range(n))
    with np.errstate(divide="ignore"):
        # Up to a constant for each query, which softmax ignores.
        scores = np.maximum(np.log(A[:, :n]), -700.0)
    if module == "layer":
        A = A[:T, :T] / A[:T, :T].sum(axis=1, keepdims=True)
        for tau in range(T):
            out.scores(tau, row, scores[tau], f"x{tau}")
            out.weights(row, tau, A[tau], f"y{tau}")
            out.node(tau, out.rise, f"y{tau}", SKY)
    else:
        asker = float(T) if module == "scalar" else -1.3
        name = "[CLS]" if module == "scalar" else "z"
        out.scores(asker, row, scores[-1], name)
        out.weights(row, middle, A[-1, :n], "y")
        out.node(asker, 0, name, ORANGE, shape="square")
        out.node(middle, out.rise, "y", SKY)
    for t in range(T):
        out.node(t, 0, f"x{t}={b[t]}", PALE)
    if module == "scalar":
        value = float(model(b[None])[0])
        path = [(middle, out.rise), (middle, out.rise + 1.3)]
        out.line(path, colour="black", width=1.2, value=value, what="read-out w")
        out.node(middle, out.rise + 1.5, f"output {number(round(value, 3))}", "white", shape="square", size=0)
    return out


def _chart(i: int, drawing: Drawing, header: str, *, unit: int) -> Panel:
    """Draw lines below nodes below labels, without axes; neighbouring tokens are `unit` pixels apart."""
    points = [*drawing.nodes, *drawing.lines]
    spans = {k: (min(p[k] for p in points) - 0.6, max(p[k] for p in points) + 0.6) for k in ("x", "y")}
    x, y = (
        cls(f"{k}:Q", scale=alt.Scale(domain=list(spans[k]), nice=False, zero=False), axis=None)
        for k, cls in (("x", alt.X), ("y", alt.Y))
    )
    fill = alt.Color("colour:N", scale=None)
    lines = named(f"lines{i}").mark_line(strokeCap="round", opacity=0.8).encode(
        x=x, y=y, order="corner:O", detail="edge:N", color=fill, strokeWidth=alt.StrokeWidth("width:Q", scale=None),
        tooltip=["what:N", alt.Tooltip("value:Q", format=".4~g")],
    )  # fmt: skip
    nodes = named(f"nodes{i}").mark_point(filled=True, opacity=1, stroke="#444444", strokeWidth=0.8).encode(
        x=x, y=y, fill=alt.Fill("colour:N", scale=None), shape=alt.Shape("shape:N", scale=None),
        size=alt.Size("size:Q", scale=None),
    )  # fmt: skip
    labels = named(f"nodes{i}").mark_text(fontSize=11).encode(x=x, y=y, text="label:N")
    width, height = (round(unit * (high - low)) for low, high in spans.values())
    title = alt.TitleParams(header, fontSize=12, fontWeight="normal", anchor="middle", offset=4)
    return alt.layer(lines, nodes, labels).properties(title=title, width=width, height=height)


def head_reads_chart(
    model: Model, bits: Shaped[Array, " T"], support: Sequence[int], *, formula: str
) -> Chart:
    """Draw a head that reads s of T positions (notes, figure 4): tokens of the support in blue, ignored tokens in grey.

    Lines show the attention weights of the [CLS] query on this input, averaged over heads.
    Paper: sparse-function, sparse-reading
    """
    b = check_bits(bits, model.T)
    weights = model.attention(b[None])[0].mean(axis=0)
    value = int(model.predict(b[None])[0])
    T, out = model.T, Drawing()
    middle = (T - 1) / 2
    out.weights(list(range(T)), middle, weights[:T], "the head")
    for t in range(T):
        out.node(t, 0, str(b[t]), SKY if t in support else PALE, shape="square", size=700)
        out.node(t, -0.75, f"x{t}", "white", size=0)
    out.line(
        [(middle, out.rise), (middle, out.rise + 1.2)], colour="black", width=1.2, value=value, what="decoder"
    )
    out.node(middle, out.rise, "head", SKY, size=1700)
    out.node(middle, out.rise + 1.4, f"f(b) = {value}", "white", size=0)
    on = float(weights[list(support)].sum())
    names = ", ".join(f"x{t}" for t in support)
    return finish(
        _chart(0, out, f"{formula}, T = {T}", unit=32),
        title=f"The head reads {len(support)} of {T} bits: {100 * on:.3g} % of its attention lies on {names}",
        subtitle="Blue: the positions that f reads. Grey: the rest, which it ignores.",
        data={"nodes0": out.nodes, "lines0": out.lines},
        width=max(440, 32 * T),
        fixed=True,
    )
