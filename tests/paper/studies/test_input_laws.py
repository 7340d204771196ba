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


@pytest.mark.claim("flipped-laws")
def test_the_constant_of_covariances_under_flips():
    """Without flips it is the library's, and flips of the only bit of a function are flips of its label."""
    from sparsehead.floor.constants import per_ln_T

    for p in (0.5, 0.2):
        for f in (conjunction(range(3), T=3), majority(range(3), T=3), parity(range(3), T=3)):
            own = per_ln_T(f, p=p).covariance
            assert flipped.covariance_per_ln_T(f, p=p, eta=0.0) == pytest.approx(own, rel=1e-6)
    one = conjunction([0], T=1)
    with_label_noise = per_ln_T(one, p=0.5, noise=0.1).covariance
    assert flipped.covariance_per_ln_T(one, p=0.5, eta=0.1) == pytest.approx(with_label_noise)
    f = conjunction(range(3), T=3)
    grown = [flipped.covariance_per_ln_T(f, p=0.5, eta=eta) for eta in (0.0, 0.1, 0.25)]
    assert [round(x / grown[0], 2) for x in grown] == [1, 1.71, 4.72]


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
    assert {label: list(cells) for label, cells in record.cells.items()} == {row[0]: [12] for row in spots}
    seen = study.observe_cells(record)
    assert [len(values) for values in seen.values()] == [3, 2, 1]
    assert next(iter(seen)) == "one-step, AND 0.1 solved at $T = 12$, $m = 200$"


# --- Claims on made-up laws ---

Ts = (100, 300, 1000)


def law(label, m80s, *, Ts=Ts, cells=None):
    rows = {T: Threshold(T, m, m and 0.9 * m, m and 1.1 * m, 8) for T, m in zip(Ts, m80s, strict=True)}
    empty: dict[str, Any] = {"group": "", "settings": {}, "complete": True, "fits": {}, "floor": {}}
    return LabelledLaw(label=label, thresholds=rows, cells=cells or {}, **empty)


def as_predicted():
    """Laws in the predicted ratios, with what a head learns and does not."""
    found = {}
    for name, f in claims.FUNCTIONS.items():
        for eta in study.FLIPS:
            c = flipped.covariance_per_ln_T(f, p=0.5, eta=eta)
            found[f"one-step, {name} {eta:g}"] = law("", [10 * c, 11 * c, 12 * c])
            found[f"greedy, {name} {eta:g}"] = law("", [8 * c, 9 * c, 10 * c])
            failed = {T: [Cell(800, 0, 8)] for T in (30, 100)}
            learned = flipped.survives(f, p=0.5, eta=eta)
            m80s = [50.0, 60.0] if learned else [None, None]
            cells = None if learned else failed
            found[f"fast, {name} {eta:g}"] = law("", m80s, Ts=(30, 100), cells=cells)
    for i, p in enumerate(study.SHIFTS):
        c = flipped.covariance_per_ln_T(parity(range(3), T=3), p=p, eta=0.0)
        if i:
            found[f"one-step, p = {p:g}"] = law("", [10 * c, 11 * c, 12 * c])
        found[f"fast, p = {p:g}"] = law("", [[900.0, 300.0, 100.0, 100.0][i]] * 2, Ts=(30, 100))
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
    laws = as_predicted() | {"fast, p = 0.1": law("", [100.0, 1200.0], Ts=(30, 100))}
    assert verdict(claims.check_shifted_laws, laws, tmp_path) == "refuted"
    laws = as_predicted() | {"fast, p = 0.1": law("", [100.0, 800.0], Ts=(30, 100))}
    assert verdict(claims.check_shifted_laws, laws, tmp_path) == "undecided"
    laws = as_predicted() | {"one-step, p = 0.3": law("", [200.0, 200.0, 200.0])}
    assert verdict(claims.check_shifted_laws, laws, tmp_path) == "refuted"


@pytest.mark.claim("correlated-laws")
def test_a_chain_that_costs_nothing_or_beats_the_floor_refutes_the_claim(tmp_path):
    laws = as_predicted() | {"one-step, c = 0.8": law("", [100.0, 100.0, 100.0])}
    assert verdict(claims.check_correlated_laws, laws, tmp_path) == "refuted"
    laws = as_predicted() | {"greedy, c = 0.5": law("", [10.0, 10.0, 10.0])}
    assert verdict(claims.check_correlated_laws, laws, tmp_path) == "refuted"


def test_ratios_are_bounded_by_both_intervals_and_wide_ones_decide_nothing(tmp_path):
    ((low, high, ratio),) = claims._ratios(law("", [20.0], Ts=(30,)), law("", [10.0], Ts=(30,)))
    assert (low, high, ratio) == pytest.approx((18 / 11, 22 / 9, 2))
    open_ended = LabelledLaw(
        **{**vars(law("", [20.0], Ts=(30,))), "thresholds": {30: Threshold(30, 20.0, None, None, 8)}}
    )
    ((low, high, _),) = claims._ratios(open_ended, law("", [10.0], Ts=(30,)))
    assert low == 0 and high == math.inf
    assert claims._compared([("one", open_ended, law("", [10.0], Ts=(30,)), 2.0)])[0] == "undecided"
