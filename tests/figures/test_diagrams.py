"""Diagrams are drawn from real models: widths are scores and weights, titles are computed."""

import numpy as np
import pytest

from sparsehead._base.errors import DomainError
from sparsehead.construct import build
from sparsehead.figures.colours import BLUE, GREY
from sparsehead.functions import conjunction
from sparsehead_paper.figures.diagram import attention_module_diagram, head_reads_chart

BITS = np.array([1, 1, 0, 1, 0])


def model(attends_cls=True):
    return build(conjunction((1, 3), T=5), readout="mlp", attends_cls=attends_cls)


def edges(rows, colour):
    """One record per line of that colour."""
    return list({r["edge"]: r for r in rows if r["colour"] == colour}.values())


@pytest.mark.claim("attention-modules")
def test_weights_are_blue_and_as_thick_as_they_are_large(shown):
    chart = shown(attention_module_diagram([("scalar", model(), BITS)]))
    found = edges(chart.data["lines0"], BLUE)
    want = model().attention(BITS[None])[0, 0]
    assert sorted(e["value"] for e in found) == pytest.approx(sorted(want), rel=1e-5)  # charts keep 6 digits
    widest = max(found, key=lambda e: e["width"])
    assert widest["value"] == pytest.approx(want.max(), rel=1e-5)


@pytest.mark.claim("attention-modules")
def test_scores_are_grey_and_one_per_pair(shown):
    chart = shown(
        attention_module_diagram(
            [("head", model(False), BITS), ("layer", model(), BITS), ("scalar", model(), BITS)]
        )
    )
    assert [len(edges(chart.data[f"lines{i}"], GREY)) for i in range(3)] == [5, 25, 6]
    assert [len(edges(chart.data[f"lines{i}"], BLUE)) for i in range(3)] == [5, 25, 6]


def test_each_modules_parts_are_named(shown):
    chart = shown(attention_module_diagram([("head", model(False), BITS), ("scalar", model(), BITS)]))
    labels = [{n["label"] for n in chart.data[f"nodes{i}"]} for i in range(2)]
    assert {"z", "y", "x0=1", "x2=0"} <= labels[0]
    assert {"[CLS]", "y", "output 1"} <= labels[1]
    assert chart.spec["concat"][0]["title"]["text"].startswith("f_tf-head")


def test_softmax_rows_of_the_layer_sum_to_one(shown):
    rows = edges(shown(attention_module_diagram([("layer", model(), BITS)])).data["lines0"], BLUE)
    for tau in range(5):
        assert sum(r["value"] for r in rows if r["what"] == f"weight in y{tau}") == pytest.approx(1, rel=1e-5)


@pytest.mark.claim("sparse-reading")
def test_the_head_that_reads_s_of_T_says_where_it_looks(shown):
    chart = shown(head_reads_chart(model(), BITS, (1, 3), formula="x1 & x3"))
    on = 100 * model().attention(BITS[None])[0, 0, [1, 3]].sum()
    assert chart.title == f"The head reads 2 of 5 bits: {on:.3g} % of its attention lies on x1, x3"
    assert "f(b) = 1" in {n["label"] for n in chart.data["nodes0"]}


def test_an_unknown_module_is_refused():
    with pytest.raises(DomainError, match="head, layer, scalar; got 'mlp'"):
        attention_module_diagram([("mlp", model(), BITS)])
