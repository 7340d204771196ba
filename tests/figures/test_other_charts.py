"""Covers, norms and bounds as charts; the common look; the four formats."""

import json
import re

import numpy as np
import pytest

from sparsehead._base.errors import DomainError
from sparsehead.figures.bounds import bound_terms_chart
from sparsehead.figures.covers import cover_chart
from sparsehead.figures.encodings import decade_ticks
from sparsehead.figures.render import FORMATS, render, specification
from sparsehead.figures.theme import CONFIG, interval, number, plain
from sparsehead_paper.figures.bound_training import bound_along_training
from sparsehead_paper.figures.certificates import CAPACITY, READ, certificates_chart
from sparsehead_paper.figures.norms import learned_vs_built_norms, norms_chart
from sparsehead_paper.studies.norms import BoundPoint, NormPoint

POINTS = [(0.5, 0.7), (0.2, 0.3), (0.6, 0.65)]
COVER = {"points": POINTS, "eps": 0.5, "centers": [(0.5, 0.7)], "name": "the set"}


def test_covering_example_draws_each_ball_with_radius_eps(shown):
    chart = shown(cover_chart([COVER]))
    assert chart.title == "the set: N(0.5) = 1"
    for j, (x, y) in enumerate(POINTS):
        corners = [r for r in chart.data["balls"] if r["ball"] == j]
        radii = [np.hypot(r["x"] - x, r["y"] - y) for r in corners]
        assert radii == pytest.approx([0.5] * len(corners), abs=1e-5)  # charts keep 6 digits
        assert all(r["chosen"] == (j == 0) for r in corners)


def test_balls_are_round_on_the_page(shown):
    panel = shown(cover_chart([COVER])).spec["concat"][0]
    x, y = (panel["layer"][0]["encoding"][axis]["scale"]["domain"] for axis in "xy")
    across, up = panel["width"] / (x[1] - x[0]), panel["height"] / (y[1] - y[0])
    assert across == pytest.approx(up, rel=0.01)  # sizes are whole pixels


def test_a_cover_is_drawn_in_the_plane_only():
    with pytest.raises(DomainError, match="two coordinates"):
        cover_chart([{"points": [(1.0, 2.0, 3.0)], "eps": 1, "centers": [], "name": "solid"}])


@pytest.mark.parametrize(
    ("points", "eps", "extent"),
    [
        ([(1e308, 0.0), (-1e308, 2.0)], 0.5, "inf by"),
        ([(0.0, 1e308), (2.0, -1e308)], 0.5, "by inf"),
        ([(1.7e308, 0.0)], 1.7e308, "inf by inf"),
        ([(1.0, 1.0)], 1e-17, "0 by 0"),
        ([(0.0, 0.0)], 1e-320, "e-320 by"),
    ],
)
def test_a_cover_without_an_extent_that_can_be_drawn_is_refused(points, eps, extent):
    with pytest.raises(DomainError, match=extent):
        cover_chart([{"points": points, "eps": eps, "centers": points, "name": "far"}])


def test_norms_name_their_growth_and_keep_the_papers_style(shown):
    rows = [
        {"T": T, "builder": b, "norm": n}
        for b, T, n in [
            ("ours", 10, 5.0),
            ("ours", 1000, 10.0),
            ("the paper's", 10, 8.0),
            ("Tracr's", 10, 90.0),
        ]
    ]
    chart = shown(norms_chart(rows))
    assert chart.title == "AND of 3 bits: norm 5 at T = 10, 10 at T = 1,000 (ours)"
    assert "Ours: 5 to 10 (×2 for ×100 in T)." in chart.subtitle
    assert "Tracr's: 90 at T = 10." in chart.subtitle
    shape = chart.view("norms", "point")["encoding"]["shape"]["scale"]
    assert dict(zip(shape["domain"], shape["range"]))["the paper's"] == "diamond"


def test_learned_norms_have_bars(shown):
    rows = [NormPoint(100, "learned", 20.0, low=15.0, high=30.0)]
    bar = shown(learned_vs_built_norms(rows)).view("norms", "rule")["encoding"]
    assert (bar["y"]["field"], bar["y2"]["field"]) == ("low", "high")


@pytest.mark.parametrize(
    ("learned", "says"),
    [
        ((20.0, 20.0), "stay below the written one at every T"),
        ((20.0, 40.0), "lie below the written one at 1 of 2 T"),
    ],
)
def test_the_title_says_where_learned_norms_lie(learned, says, shown):
    rows = [NormPoint(T, "learned", n, n, n) for T, n in zip((10, 100), learned)]
    rows += [NormPoint(T, "written", 30.0, None, None) for T in (10, 100)]
    assert shown(learned_vs_built_norms(rows)).title == f"AND of 3 bits: learned heads {says}"


def test_bound_terms_are_sorted_and_the_title_names_the_largest(shown):
    chart = shown(
        bound_terms_chart(
            [{"name": "W_V", "share": 0.1}, {"name": "W_QK", "share": 0.9}], m=300, vacuous=True
        )
    )
    assert chart.title == "W_QK carries 90 % of the capacity bound (ours) at m = 300"
    assert [r["name"] for r in chart.data["items"]] == ["W_QK", "W_V"]
    assert "vacuous" in chart.subtitle


def test_bound_along_training_leaves_out_what_is_not_finite(shown):
    rows = [BoundPoint(s, b, 0.5) for s, b in [(0, 10.0), (10, float("inf")), (20, 30.0)]]
    chart = shown(bound_along_training(rows))
    assert [r["step"] for r in chart.data["training"]] == [0, 20]
    assert "the bound grows from 10 to 30" in chart.title
    with pytest.raises(DomainError, match="no recorded step"):
        bound_along_training(rows[1:2])


def test_every_chart_has_the_common_look(shown):
    for chart in (cover_chart([COVER]), bound_terms_chart([{"name": "w", "share": 1.0}])):
        assert shown(chart).spec["config"] == CONFIG


def test_records_become_json():
    rows = plain(
        [{"a": np.float64(1 / 3), "b": np.int64(2), "c": float("nan"), "d": True, "e": None, "f": "x"}]
    )
    assert rows == [{"a": 0.333333, "b": 2, "c": None, "d": True, "e": None, "f": "x"}]
    json.dumps(rows, allow_nan=False)


def test_numbers_in_titles():
    assert [number(x) for x in (69.23, 113.4, 1e5, 0.0034, 0.0, 1.2e-6, 2e9)] == [
        "69.2", "113", "100,000", "0.0034", "0", "1.2e-06", "2e+09"
    ]  # fmt: skip
    assert interval(1.0, None) == "[1, …]"


def test_ticks_are_round_and_few():
    assert decade_ticks(86, 1265) == [100, 200, 500, 1000]
    assert decade_ticks(86, 115_000) == [100, 300, 1000, 3000, 10_000, 30_000, 100_000]
    assert len(decade_ticks(1e-8, 1)) <= 10


def test_four_formats_are_what_they_say():
    chart = bound_terms_chart([{"name": "w", "share": 1.0}])
    made = {form: render(chart, form) for form in FORMATS}
    assert made["svg"].startswith(b"<svg")
    assert made["png"].startswith(b"\x89PNG")
    assert made["pdf"].startswith(b"%PDF")
    assert not re.search(rb"<(script|link)[^>]* (src|href)=", made["html"])  # scripts stand inside the page
    assert b"carries 100" in made["svg"]
    with pytest.raises(DomainError, match="svg, png, pdf, html; got 'gif'"):
        render(chart, "gif")


def test_the_specification_holds_no_address_but_its_schema():
    text = json.dumps(specification(cover_chart([COVER])))
    assert text.count("://") == 1


def test_certificates_say_from_where_a_bound_is_useful():
    rows = [{"m": m, "bound": b, "name": n} for n, pairs in CERTIFICATES.items() for m, b in pairs]
    spec = certificates_chart(rows, floor=32, T=300, s=3).to_dict()
    text = " ".join(spec["title"]["subtitle"])
    assert f"{READ} below 1/2 from m = 60" in text
    assert CAPACITY not in text  # never below 1/2 here
    assert spec["datasets"]["floor"][0]["m"] == 32


CERTIFICATES = {READ: [(20, 0.8), (60, 0.4), (100, 0.2)], CAPACITY: [(20, 1.0), (100, 0.9)]}
