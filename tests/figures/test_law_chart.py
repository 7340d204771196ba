"""The law's chart shows every threshold with its interval, the paper's points in their style, floor, fits and bound."""

import math
from dataclasses import replace

import pytest

from sparsehead._base.errors import DomainError
from sparsehead.figures.law import law_chart
from sparsehead.floor.floor import Floor
from sparsehead.laws.fits import LawFit
from sparsehead.laws.published import LAW_AND
from sparsehead.laws.thresholds import Threshold

OURS = [
    Threshold(100, 52.0, 45.0, 60.0, trials=200),
    Threshold(1100, 110.0, 101.0, 122.0, trials=180),
]
FITS = {
    "log": LawFit({"a": -73.0, "b": 26.5}, {"b": (22.0, None)}, aic=100.0, delta_aic=0.0),
    "power": LawFit({"a": 12.0, "b": 0.32}, {"b": (0.2, 0.4)}, aic=103.5, delta_aic=3.5),
}


def test_title_says_how_far_m80_grew(shown):
    assert shown(law_chart(OURS)).title == ("AND of 3 bits: m_80 goes from 52 at T = 100 to 110 at T = 1,100")


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
    assert not point["mark"].get("filled")


def test_no_point_hides_another_at_the_same_T(shown):
    """Ours, with dropout and the paper's stand side by side, as outlines."""
    same = replace(OURS[0], m80=50.0)
    chart = shown(law_chart([same], dropout=[same]))
    marks = [chart.view(name, "point")["mark"] for name in ("paper", "thresholds", "dropout")]
    assert len({mark["xOffset"] for mark in marks}) == 3
    assert not any("fill" in mark or mark.get("filled") for mark in marks)


def test_the_legend_of_the_lines_shows_every_dash_pattern_twice(shown):
    linear = LawFit({"a": 50.0, "b": 0.1}, {}, aic=110.0, delta_aic=10.0)
    line = shown(law_chart(OURS, fits={**FITS, "linear": linear})).view("lines", "line")["encoding"]
    long = line["strokeDash"]["legend"]["symbolSize"] ** 0.5
    patterns = line["strokeDash"]["scale"]["range"]
    assert len({tuple(p) for p in patterns}) == len(patterns) == 3
    assert all(2 * sum(p) - p[-1] <= long for p in patterns)


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
    assert "Least AIC: a + b ln T, b = 26.5 [22, …]; +3.5 for a T^b." in chart.subtitle
    at = {round(r["T"]): r["m"] for r in chart.data["lines"] if r["series"] == "fit a + b ln T"}
    first = min(at)
    assert at[first] == pytest.approx(-73 + 26.5 * math.log(100 / 1.15), rel=1e-4)  # charts keep 6 digits


def test_a_bound_gets_a_strip_of_its_own_decades(shown):
    one = shown(law_chart(OURS, floor=[Floor(100, 27, 30), Floor(1100, 37, 40)]))
    two = shown(law_chart(OURS, bound=[(100, 1e6), (1100, 2e6)]))
    assert len(one.spec["vconcat"]) == 1
    assert len(two.spec["vconcat"]) == 2
    scale = two.view("bound", "line")["encoding"]["y"]["scale"]
    assert scale["type"] == "log" and scale["domain"] == [1e6, 1e7]  # nothing empty below the bound
    assert two.spec["vconcat"][0]["height"] < two.spec["vconcat"][1]["height"] / 3


def test_a_misfit_is_said_in_place_of_which_law_is_best(shown):
    chart = shown(law_chart(OURS, fits=FITS, misfit="misfit: the success curve's slope changes with T"))
    assert "Misfit: the success curve's slope changes with T." in chart.subtitle
    assert "AIC" not in chart.subtitle and "Least AIC" in shown(law_chart(OURS, fits=FITS)).subtitle


def test_a_threshold_that_was_not_reached_is_a_labelled_triangle(shown):
    missed = Threshold(3000, None, low=200.0, high=None, trials=40)
    chart = shown(law_chart([*OURS, missed]))
    assert chart.data["thresholds"][-1]["state"] == "above" and chart.data["thresholds"][-1]["m"] == 200.0
    assert chart.view("thresholds", "text")["mark"]["text"] == "at least"
    assert "at 1 T: no sample size tried was enough" in chart.subtitle
    assert "from 52 at T = 100 to 110" in chart.title


def test_where_every_trial_was_solved_the_chart_says_so(shown):
    """`law and --s 2 --T 10,40 --start 30`: 24 of 24 trials solved, so m80 is smaller than what was tried."""
    all_solved = [Threshold(T, None, low=None, high=31.3, trials=12) for T in (10, 40)]
    chart = shown(law_chart(all_solved, paper=()))
    assert (
        chart.title == "AND of 3 bits: every sample size tried reaches 80 % success, at all 2 context lengths"
    )
    assert "at 2 T: every sample size tried was enough; m_80 is smaller" in chart.subtitle
    assert "no sample size" not in chart.title + chart.subtitle
    assert [row["state"] for row in chart.data["thresholds"]] == ["below", "below"]
    shapes = {v["mark"].get("shape") for v in chart.views if v["mark"]["type"] == "point"}
    assert "triangle-down" in shapes
    mixed = [all_solved[0], Threshold(40, None, low=50.0, high=None, trials=12)]
    assert "bound m_80 on one side only" in shown(law_chart(mixed, paper=())).title


def test_an_open_interval_reaches_the_edge_of_the_plot(shown):
    chart = shown(law_chart([OURS[0], replace(OURS[1], high=None)]))
    bar = chart.view("thresholds", "rule")
    calculated = {t["as"]: t["calculate"] for t in bar["transform"] if "as" in t}
    top = bar["encoding"]["y"]["scale"]["domain"][1]
    assert calculated["to"] == f"isValid(datum.high) ? datum.high : {top}"


def test_nothing_known_but_T_is_still_drawn(shown):
    unknown = [Threshold(100, None, None, None)]
    chart = shown(law_chart(unknown, paper=()))
    assert chart.data["thresholds"][0]["m"] is None
    assert "Not drawn, at 1 T: the trials do not bound m_80." in chart.subtitle


def test_one_T_all_failed_and_nothing_measured_each_say_so(shown):
    assert "m_80 = 52 [45, 60] samples at T = 100" in shown(law_chart(OURS[:1])).title
    failed = [Threshold(T, float("nan"), low=200.0, high=None, trials=40) for T in (100, 300)]
    assert "no sample size tried reaches 80 % success" in shown(law_chart(failed)).title
    assert "no threshold has been measured here yet" in shown(law_chart([])).title


def test_nothing_at_all_is_refused():
    with pytest.raises(DomainError, match="nothing to draw"):
        law_chart([], paper=())


def test_an_unknown_fit_is_refused():
    with pytest.raises(DomainError, match="log, power, linear; got 'cubic'"):
        law_chart(OURS, fits={"cubic": LawFit({"a": 1.0, "b": 1.0}, {}, 0.0, 0.0)})


def test_a_threshold_without_trials_is_not_drawn_as_measured():
    measured = Threshold(100, 39.4, 33.9, 45.8, 96, "", None)
    foreseen = Threshold(10_000, 111.0, 64.0, 194.0, 0, "no trials at this T: foreseen from the others", None)
    chart = law_chart([measured, foreseen], paper=()).to_dict()
    assert [row["T"] for row in chart["datasets"]["thresholds"]] == [100]
    assert "10,000" not in str(chart["title"])
