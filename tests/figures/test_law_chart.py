"""The law's chart shows every threshold with its interval, the paper's points in their style, floor, fits and bound."""

import math

import pytest

from sparsehead.errors import DomainError
from sparsehead.figures.law import law_chart
from sparsehead.measure.published import LAW_AND

OURS = [
    {"T": 100, "m80": 52.0, "low": 45.0, "high": 60.0, "trials": 200},
    {"T": 1100, "m80": 110.0, "low": 101.0, "high": 122.0, "trials": 180},
]
FITS = {
    "log": {"params": {"a": -73.0, "b": 26.5}, "intervals": {"b": [22.0, None]}, "aic": 100.0},
    "power": {"params": {"a": 12.0, "b": 0.32}, "intervals": {"b": [0.2, 0.4]}, "aic": 103.5},
}


def test_title_says_how_far_m80_grew(shown):
    assert shown(law_chart(OURS)).title == (
        "AND of 3 bits: m80 grows from 52 to 110 samples while T grows from 100 to 1,100"
    )


def test_every_threshold_is_there_with_its_interval(shown):
    chart = shown(law_chart(OURS))
    assert [(r["T"], r["m"], r["low"], r["high"]) for r in chart.data["thresholds"]] == [
        (100, 52.0, 45.0, 60.0),
        (1100, 110.0, 101.0, 122.0),
    ]
    bar = chart.view("thresholds", "rule")["encoding"]
    assert (bar["y"]["field"], bar["y2"]["field"]) == ("from", "to")


def test_the_papers_points_are_hollow_black_diamonds_with_bars(shown):
    chart = shown(law_chart(OURS))
    assert [(r["T"], r["m"]) for r in chart.data["paper"]] == [(p.T, p.m) for p in LAW_AND]
    assert chart.data["paper"][4]["high"] - chart.data["paper"][4]["m"] == pytest.approx(7.6)
    point = chart.view("paper", "point")
    names = point["encoding"]["shape"]["scale"]["domain"]
    i = names.index("the paper's figure 2")
    assert point["encoding"]["shape"]["scale"]["range"][i] == "diamond"
    assert point["encoding"]["color"]["scale"]["range"][i] == "#000000"
    assert point["mark"]["fill"] == "white"


def test_axes_have_words_units_and_letters(shown):
    titles = shown(law_chart(OURS)).axis_titles()
    assert titles == {"context length T (bits, log scale)", "samples m at which 80 % of trials succeed"}


def test_T_is_logarithmic_and_m_starts_at_zero(shown):
    point = shown(law_chart(OURS)).view("thresholds", "point")["encoding"]
    assert point["x"]["scale"]["type"] == "log"
    assert point["y"]["scale"]["domain"][0] == 0


def test_fits_are_lines_and_the_subtitle_ranks_them(shown):
    chart = shown(law_chart(OURS, fits=FITS))
    assert {r["series"] for r in chart.data["lines"]} == {"fit a + b ln T", "fit a T^b"}
    assert "Most likely law: a + b ln T, b = 26.5 [22, …]." in chart.subtitle
    assert "a T^b +3.5" in chart.subtitle
    at = {round(r["T"]): r["m"] for r in chart.data["lines"] if r["series"] == "fit a + b ln T"}
    first = min(at)
    assert at[first] == pytest.approx(-73 + 26.5 * math.log(100 / 1.15), rel=1e-4)  # charts keep 6 digits


def test_a_bound_gets_a_second_panel_logarithmic_in_m(shown):
    one = shown(law_chart(OURS, floor=[{"T": 100, "m": 27}, {"T": 1100, "m": 37}]))
    two = shown(law_chart(OURS, bound=[{"T": 100, "m": 1e6}, {"T": 1100, "m": 2e6}]))
    assert len(one.spec["vconcat"]) == 1
    assert len(two.spec["vconcat"]) == 2
    assert two.view("bound", "line")["encoding"]["y"]["scale"]["type"] == "log"


def test_a_threshold_that_was_not_reached_is_a_labelled_triangle(shown):
    missed = {"T": 3000, "m80": None, "low": 200.0, "high": None, "trials": 40}
    chart = shown(law_chart([*OURS, missed]))
    assert chart.data["thresholds"][-1]["reached"] is False
    assert chart.view("thresholds", "text")["mark"]["text"] == "not reached"
    assert "no sample size tried was enough" in chart.subtitle
    assert "from 52 to 110" in chart.title


def test_an_open_interval_reaches_the_edge_of_the_plot(shown):
    chart = shown(law_chart([OURS[0], {**OURS[1], "high": None}]))
    bar = chart.view("thresholds", "rule")
    calculated = {t["as"]: t["calculate"] for t in bar["transform"] if "as" in t}
    top = bar["encoding"]["y"]["scale"]["domain"][1]
    assert calculated["to"] == f"isValid(datum.high) ? datum.high : {top}"


def test_nothing_known_but_T_is_still_drawn(shown):
    unknown = [{"T": 100, "m80": None, "low": None, "high": None, "trials": 0}]
    assert shown(law_chart(unknown, paper=())).data["thresholds"][0]["m"] is None


def test_one_T_all_failed_and_nothing_measured_each_say_so(shown):
    assert "m80 = 52 [45, 60] samples at T = 100" in shown(law_chart(OURS[:1])).title
    failed = [{"T": T, "m80": float("nan"), "low": 200.0, "high": None, "trials": 40} for T in (100, 300)]
    assert "no sample size tried reaches 80 % success" in shown(law_chart(failed)).title
    assert "no threshold has been measured here yet" in shown(law_chart([])).title


def test_nothing_at_all_is_refused():
    with pytest.raises(DomainError, match="nothing to draw"):
        law_chart([], paper=())


def test_an_unknown_fit_is_refused():
    with pytest.raises(DomainError, match="log, power, linear; got 'cubic'"):
        law_chart(OURS, fits={"cubic": {"params": {"a": 1.0, "b": 1.0}}})
