"""Laws of flipped, shifted and correlated bits: what is drawn, what would run, and claims that can fail."""

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from sparsehead._base.rng import stream
from sparsehead.functions import conjunction, majority, parity
from sparsehead.laws.curves import Cell
from sparsehead.laws.thresholds import Threshold
from sparsehead.store import Store
from sparsehead.train.spec import task_of
from sparsehead_paper.claims import neighbours_inputs as claims
from sparsehead_paper.claims.claim import Context
from sparsehead_paper.studies import input_laws as study
from sparsehead_paper.studies.folder import write_results
from sparsehead_paper.studies.law_stage import LabelledLaw, LawsRecord
from sparsehead_paper.studies.plans import command_for
from sparsehead_paper.studies.stage import Workplace
from sparsehead_paper.theory import flipped


@pytest.mark.claim("correlated-laws")
@pytest.mark.parametrize("sampler", study.CHAINS)
def test_samplers_have_the_moments_of_the_chain(sampler):
    """Means of products of signs at 1 to 4 positions; 20,000 draws, within five standard errors."""
    c = study.CHAINS[sampler]
    bits = getattr(study, sampler)(20_000, 6, stream(0, "test chain"))
    assert bits.dtype == np.uint8 and bits.shape == (20_000, 6)
    signs = 1 - 2.0 * bits
    for k in (1, 2, 3, 4):
        for A in combinations(range(6), k):
            assert signs[:, list(A)].prod(axis=1).mean() == pytest.approx(
                flipped.chain_moment(A, c), abs=5 / math.sqrt(20_000)
            )


@pytest.mark.claim("correlated-laws")
@pytest.mark.parametrize(("s", "T", "c"), [(1, 4, 0.5), (2, 5, 0.8), (3, 6, 0.5), (3, 3, 0.8), (4, 6, 0.0)])
def test_the_share_of_positives_in_a_chain_is_that_of_all_inputs_and_sets(s, T, c):
    from sparsehead.functions import assignments

    chance, bits = flipped.chain_chances(T, c), assignments(T)
    rates = [float(chance @ bits[:, list(A)].all(axis=1)) for A in combinations(range(T), s)]
    assert flipped.chain_conjunction_rate(s, T, c) == pytest.approx(np.mean(rates))


@pytest.mark.claim("flipped-laws", "shifted-laws")
@pytest.mark.parametrize(
    ("family", "p", "eta"),
    [(majority, 0.5, 0.1), (conjunction, 0.5, 0.0), (parity, 0.2, 0.0), (conjunction, 0.3, 0.2)],
)
def test_the_relevant_bits_of_simulated_samples_come_first_as_often_as_computed(family, p, eta):
    """4000 training sets, within four standard errors and .02 for the relevant bits, which are not independent."""
    f, rng = family(range(3), T=20), stream(0, "ranked first")
    m, won = flipped.ranked_m80(family(range(3), T=3), p=p, eta=eta, T=20), 0
    for _ in range(4000):
        x = (rng.random((m, 20)) < p).astype(np.uint8)
        y = f(x).astype(float)
        z = x ^ (rng.random(x.shape) < eta)
        scores = np.round((z * (y - y.mean())[:, None]).sum(axis=0), 9)
        scores = np.abs(scores) if family is parity else scores
        won += scores[:3].min() > scores[3:].max()
    predicted = flipped.ranked_first(family(range(3), T=3), p=p, eta=eta, T=20, m=m)
    assert predicted == pytest.approx(won / 4000, abs=0.045)


@pytest.mark.claim("flipped-laws")
def test_the_computed_threshold_is_where_the_probability_reaches_four_fifths():
    f = majority(range(3), T=3)
    for eta in (0.0, 0.25):
        m = flipped.ranked_m80(f, p=0.5, eta=eta, T=100)
        assert flipped.ranked_first(f, p=0.5, eta=eta, T=100, m=m) >= 0.8
        assert flipped.ranked_first(f, p=0.5, eta=eta, T=100, m=round(0.97 * m) - 1) < 0.8
    f = conjunction(range(3), T=3)
    known = [flipped.ranked_m80(f, p=0.5, eta=eta, T=100) for eta in (0.0, 0.1, 0.25)]
    assert known == pytest.approx([75, 148, 436], rel=0.03)


def test_the_floor_by_labels_is_exact_for_a_parity():
    """One bit for each sample: K functions need log2 K samples at success 1, less the bit of Fano's inequality."""
    assert flipped.least_samples_by_labels(0.5, n_functions=1024, success=1.0) == pytest.approx(9)
    assert flipped.least_samples_by_labels(0.1, n_functions=1024, success=1.0) > 9


def test_every_task_has_a_law_of_each_learner():
    stage = study.input_laws()
    assert len(stage.laws) == 3 * 11 + 1 and set(stage.groups) == set(stage.laws)
    assert command_for("input-laws") == "sparsehead reproduce --only input-laws"
    assert {law.settings["feature_noise"] for label, law in stage.laws.items() if "maj." in label} == {
        0, 0.1, 0.25
    }  # fmt: skip
    fast = stage.laws["fast, AND 0.25"]
    assert fast.most == 3200 and fast.settings["restarts"] == 1 and fast.settings["preset"] == "fast"
    assert stage.laws["one-step, p = 0.2"].function == "parity"


def test_a_law_tries_no_m_above_its_most(tmp_path):
    laws = study.input_laws(Ts=(12,), trials=8).laws
    law = laws["one-step, p = 0.3"]
    small = type(law)(**{**vars(law), "most": 20, "start": 10})
    found = small.measure(Workplace(tmp_path / "r.db", tmp_path, workers=1))
    assert max(cell.m for cell in found.cells[12]) == 20 and found.thresholds[12].m80 is None


def test_fresh_trials_have_the_settings_of_their_law(tmp_path, monkeypatch):
    spots = (
        ("one-step, AND 0.1", 12, 200, (3, 2)), ("greedy, c = 0.5", 12, 60, (2, 1)),
        ("fast, maj. 0", 12, 40, (1, 0)),
    )  # fmt: skip
    monkeypatch.setattr(study, "SPOTS", spots)
    assert [len(study.fresh_cells(at, 2).specs) for at in (0, 1)] == [6, 3]
    assert not set(study.fresh_cells(0, 2).specs) & set(study.fresh_cells(0, 3).specs)
    experiment = study.fresh_cells(0, 2)
    noisy, chained, trained = experiment.specs[0], experiment.specs[3], experiment.specs[5]
    assert (noisy.feature_noise, noisy.learner, noisy.unique, noisy.p) == (0.1, "one-step", False, 0.5)
    assert task_of(chained).sampler is study.weak_chain
    assert (trained.restarts, trained.function, trained.unique) == (1, "majority", True)
    experiment.run(Workplace(tmp_path / "r.db", tmp_path, workers=1))
    with Store(tmp_path / "r.db") as store:
        record = study.collect_cells(store, experiment)
    assert {law.label: list(law.cells) for law in record.laws} == {row[0]: [12] for row in spots}
    seen = study.observe_cells(record)
    assert [len(values) for values in seen.values()] == [3, 2, 1]
    assert next(iter(seen)) == "one-step, AND 0.1 solved at $T = 12$, $m = 200$"


# --- Claims on made-up laws ---

Ts = (100, 300, 1000)


def law(label, m80s, *, Ts=Ts, cells=None):
    rows = {T: Threshold(T, m, m and 0.9 * m, m and 1.1 * m, 8) for T, m in zip(Ts, m80s, strict=True)}
    empty: dict[str, Any] = {"group": "", "settings": {}, "complete": True, "fits": {}, "floor": {}}
    return LabelledLaw(label=label, thresholds=rows, cells=cells or {}, **empty)


@pytest.fixture(scope="module")
def known():
    """Computed thresholds by their arguments, so that each is computed once."""
    return {}


@pytest.fixture(autouse=True)
def _computed_once(monkeypatch, known):
    compute = flipped.ranked_m80

    def remembered(f, **given):
        key = (str(f), *given.values())
        known[key] = known.get(key) or compute(f, **given)
        return known[key]

    monkeypatch.setattr(flipped, "ranked_m80", remembered)


def computed(function, p, eta):
    return [float(flipped.ranked_m80(function(range(3), T=3), p=p, eta=eta, T=T)) for T in Ts]


def trained(ms):
    """A law whose trials give m_80 near these numbers, to within a factor of 1.5."""
    cells = {
        T: [Cell(m // 2, 2, 16), Cell(m * 4 // 5, 10, 16), Cell(m * 3 // 2, 15, 16)]
        for T, m in zip((30, 100), ms)
    }
    return law("", [float(m) for m in ms], Ts=(30, 100), cells=cells)


def as_predicted():
    """Laws as computed, with what a head learns and does not."""
    found = {}
    for (name, f), function in zip(claims.functions().items(), (conjunction, majority)):
        for eta in study.FLIPS:
            m80s = computed(function, 0.5, eta)
            found[f"one-step, {name} {eta:g}"] = law("", m80s)
            found[f"greedy, {name} {eta:g}"] = law("", [0.8 * m for m in m80s])
            failed = {T: [Cell(800, 0, 8)] for T in (30, 100)}
            learned = flipped.survives(f, p=0.5, eta=eta)
            m80s = [50.0, 60.0] if learned else [None, None]
            cells = None if learned else failed
            found[f"fast, {name} {eta:g}"] = law("", m80s, Ts=(30, 100), cells=cells)
    for i, p in enumerate(study.SHIFTS):
        if i:
            found[f"one-step, p = {p:g}"] = law("", computed(parity, p, 0.0))
        found[f"fast, p = {p:g}"] = trained([[2000, 300, 100, 100][i]] * 2)
    for i, c in enumerate(study.CHAINS.values()):
        for learner in ("one-step", "greedy"):
            found[f"{learner}, c = {c:g}"] = law("", [200.0 * (i + 1)] * 3)
        found[f"fast, c = {c:g}"] = law("", [100.0] * 2, Ts=(30, 100))
    return found


def verdict(check, laws, folder):
    rows = tuple(LabelledLaw(**{**vars(each), "label": label}) for label, each in laws.items())
    write_results(folder, "input-laws", LawsRecord(rows, "made up"))
    return check(Context(options={"results": str(folder)})).verdict


@pytest.mark.claim("flipped-laws", "shifted-laws", "flipped-heads", "correlated-laws")
def test_laws_as_predicted_hold_and_missing_ones_are_not_judged(tmp_path):
    for check in (
        claims.check_flipped_laws, claims.check_shifted_laws, claims.check_flipped_heads,
        claims.check_correlated_laws,
    ):  # fmt: skip
        laws = as_predicted()
        assert verdict(check, laws, tmp_path) == "holds"
        few = {label: each for label, each in laws.items() if "one-step" in label}
        assert verdict(check, few, tmp_path) == "not run"


@pytest.mark.claim("flipped-laws")
def test_another_growth_or_a_law_below_the_floor_refutes_the_law_of_flips(tmp_path):
    laws = as_predicted() | {"one-step, maj. 0.25": law("", [120.0, 130.0, 140.0])}
    assert verdict(claims.check_flipped_laws, laws, tmp_path) == "refuted"
    laws = as_predicted() | {"greedy, AND 0.25": law("", [30.0, 30.0, 30.0])}
    assert verdict(claims.check_flipped_laws, laws, tmp_path) == "refuted"


@pytest.mark.claim("flipped-heads")
def test_a_head_that_learns_what_flips_destroy_refutes_the_claim(tmp_path):
    solved = law("", [None, None], Ts=(30, 100), cells={30: [Cell(800, 8, 8)]})
    laws = as_predicted() | {"fast, AND 0.25": solved}
    assert verdict(claims.check_flipped_heads, laws, tmp_path) == "refuted"
    laws = as_predicted() | {"fast, maj. 0.25": law("", [50.0, None], Ts=(30, 100))}
    assert verdict(claims.check_flipped_heads, laws, tmp_path) == "refuted"


@pytest.mark.claim("shifted-laws")
def test_a_shift_that_does_not_help_a_head_refutes_the_claim(tmp_path):
    laws = as_predicted() | {"fast, p = 0.1": trained([100, 9000])}
    assert verdict(claims.check_shifted_laws, laws, tmp_path) == "refuted"
    laws = as_predicted() | {"fast, p = 0.1": trained([100, 1800])}
    assert verdict(claims.check_shifted_laws, laws, tmp_path) == "undecided"
    laws = as_predicted() | {"one-step, p = 0.3": law("", [200.0, 200.0, 200.0])}
    assert verdict(claims.check_shifted_laws, laws, tmp_path) == "refuted"


@pytest.mark.claim("correlated-laws")
def test_a_chain_that_costs_nothing_or_beats_the_floor_refutes_the_claim(tmp_path):
    laws = as_predicted() | {"one-step, c = 0.8": law("", [100.0, 100.0, 100.0])}
    assert verdict(claims.check_correlated_laws, laws, tmp_path) == "refuted"
    laws = as_predicted() | {"greedy, c = 0.5": law("", [10.0, 10.0, 10.0])}
    assert verdict(claims.check_correlated_laws, laws, tmp_path) == "refuted"


def test_few_intervals_may_miss_what_was_computed():
    ten = law("", [10.0, 10.0, 10.0])
    for misses, expected in ((0, "holds"), (2, "holds"), (3, "refuted")):
        predicted = {T: 20 if i < misses else 10 for i, T in enumerate(Ts)}
        assert claims._compared([("one", ten, predicted)])[0] == expected
    right = dict.fromkeys(Ts, 10)
    missing = {**right, 100: 20}
    for misses, expected in ((4, "holds"), (5, "refuted")):
        laws = [("one", ten, missing if i < misses else right) for i in range(6)]
        assert claims._compared(laws)[0] == expected


def test_ratios_are_bounded_by_both_intervals():
    ((low, high, ratio),) = claims._ratios(law("", [20.0], Ts=(30,)), law("", [10.0], Ts=(30,)))
    assert (low, high, ratio) == pytest.approx((18 / 11, 22 / 9, 2))
    open_ended = LabelledLaw(
        **{**vars(law("", [20.0], Ts=(30,))), "thresholds": {30: Threshold(30, 20.0, None, None, 8)}}
    )
    ((low, high, _),) = claims._ratios(open_ended, law("", [10.0], Ts=(30,)))
    assert low == 0 and high == math.inf
