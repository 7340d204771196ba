import math

import numpy as np
import pytest

from sparsehead.errors import DomainError
from sparsehead.measure import Cell, fit_laws, law_value
from sparsehead.rng import stream

TRUTH = {"log": (-98.65, 29.65), "power": (8.0, 0.35), "linear": (60.0, 0.03)}
TS = (100, 300, 1000, 3000, 10_000)


def trials(law, *, rng, n=24, slope=7.0, Ts=TS):
    """n trials at three m near m_80 for each T, drawn from the law."""
    data = {}
    for T in Ts:
        m80 = law_value(law, *TRUTH[law], T)
        ms = [round(m80 * factor) for factor in (0.8, 0.95, 1.1)]
        chance = [1 / (1 + 0.25 * (m / m80) ** -slope) for m in ms]
        data[T] = [Cell(m, int(rng.binomial(n, p)), n) for m, p in zip(ms, chance)]
    return data


@pytest.mark.parametrize("law", TRUTH)
def test_the_right_law_wins_and_its_parameters_are_found(law):
    found = fit_laws(trials(law, rng=stream(0, "law", law)))
    assert found.best == law
    fit = found.fits[law]
    for name, value in zip("ab", TRUTH[law]):
        low, high = fit.intervals[name]
        assert low < fit.params[name] < high
        assert low - 0.5 * (high - low) < value < high + 0.5 * (high - low)  # twice the 95 % interval
    assert fit.delta_aic == 0 and min(f.delta_aic for f in found.fits.values() if f is not fit) > 4
    assert fit(1000) == pytest.approx(law_value(law, *TRUTH[law], 1000), rel=0.1)
    assert found.lack_of_fit[law] < 16.3  # chi-squared with 3 degrees of freedom exceeds this once in 1000
    assert set(found.to_json()[law]) == {"params", "intervals", "aic", "delta_aic"}


@pytest.mark.slow
@pytest.mark.parametrize("law", TRUTH)
def test_intervals_cover(law):
    n, hits, lack = 150, {"a": 0, "b": 0}, []
    for i in range(n):
        found = fit_laws(trials(law, rng=stream(1, "cover", law, i)), laws=[law])
        lack.append(found.lack_of_fit[law])
        for name, value in zip("ab", TRUTH[law]):
            low, high = found.fits[law].intervals[name]
            hits[name] += low <= value <= high
    assert min(hits.values()) / n >= 0.90  # 95 % coverage gives less in 0.8 % of 150 experiments
    assert np.mean(lack) == pytest.approx(3, abs=4 * math.sqrt(6 / n))  # chi-squared with 5 - 2 degrees


def test_profile_interval_is_where_the_likelihood_drops():
    """At two T the power law is two free thresholds, so b's interval follows from theirs."""
    data = {100: [Cell(50, 30, 60), Cell(60, 50, 60)], 10_000: [Cell(150, 30, 60), Cell(180, 50, 60)]}
    fit = fit_laws(data, laws=["power"]).fits["power"]
    assert fit.params["b"] == pytest.approx(
        math.log(3) / math.log(100), abs=1e-3
    )  # the same data, scaled by 3
    low, high = fit.intervals["b"]
    assert (low + high) / 2 == pytest.approx(fit.params["b"], abs=0.02)


def test_the_papers_range_cannot_tell_the_laws_apart_with_few_trials():
    found = fit_laws(trials("log", rng=stream(2, "few"), n=8, Ts=(200, 300, 400)), laws=["log", "linear"])
    assert "do not tell the laws apart" in found.note


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({}, "there are no trials"),
        ({100: [Cell(50, 4, 8)]}, "needs at least two context lengths"),
        ({100: [Cell(50, 8, 8)], 200: [Cell(50, 8, 8)]}, "all 16 trials solved"),
        ({100: [Cell(50, 0, 8)], 200: [Cell(50, 0, 8)]}, "all 16 trials failed"),
    ],
)
def test_what_determines_no_law_is_a_sentence(data, words):
    found = fit_laws(data)
    assert words in found.note and found.fits == {} and found.best is None


def test_one_context_length_with_only_failures_bounds_the_law():
    data = trials("log", rng=stream(3, "bound"), Ts=(100, 1000))
    data[10_000] = [Cell(150, 0, 24)]
    assert fit_laws(data, laws=["log"]).fits["log"](10_000) > 150


def test_misuse():
    with pytest.raises(DomainError, match="the laws are"):
        law_value("cubic", 1, 1, 10)
    with pytest.raises(DomainError, match="T >= 2"):
        fit_laws({1: [Cell(5, 1, 2)], 10: [Cell(5, 1, 2)]})
