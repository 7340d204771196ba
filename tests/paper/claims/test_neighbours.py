"""The claims about neighbouring papers on made-up results: each can fail."""

import json
from dataclasses import replace

import numpy as np
import pytest

from sparsehead.functions import assignments, majority
from sparsehead_paper.claims import neighbours
from sparsehead_paper.claims.claim import Context
from sparsehead_paper.studies.folder import committed, read_results, write_results
from sparsehead_paper.studies.law_stage import LawsRecord
from sparsehead_paper.studies.taught_parity import TaughtParityRecord


@pytest.fixture
def record():
    return read_results(committed(), "taught-parity", TaughtParityRecord)


def verdict(check, record, folder):
    write_results(folder, "taught-parity", record)
    return check(Context(options={"results": str(folder)})).verdict


@pytest.mark.claim("taught-one-step")
def test_one_cell_that_is_not_solved_refutes_the_step(record, tmp_path):
    assert verdict(neighbours.check_taught_one_step, record, tmp_path) == "holds"
    last = max(range(len(record.steps)), key=lambda i: record.steps[i].n)
    steps = tuple(replace(c, solved=7) if i == last else c for i, c in enumerate(record.steps))
    assert verdict(neighbours.check_taught_one_step, replace(record, steps=steps), tmp_path) == "fails"


@pytest.mark.claim("taught-own-steps")
def test_one_trial_with_other_scores_refutes_the_own_steps(record, tmp_path):
    assert verdict(neighbours.check_taught_own_steps, record, tmp_path) == "holds"
    own = (replace(record.own[0], exact=0), *record.own[1:])
    assert verdict(neighbours.check_taught_own_steps, replace(record, own=own), tmp_path) == "fails"
    more = (replace(record.own[0], steps=record.own[0].steps + 1), *record.own[1:])
    assert verdict(neighbours.check_taught_own_steps, replace(record, own=more), tmp_path) == "fails"


@pytest.mark.claim("untaught-parity")
def test_a_direct_run_that_learns_refutes_hardness_and_one_that_fails_at_two_bits_the_training(
    record, tmp_path
):
    assert verdict(neighbours.check_untaught_parity, record, tmp_path) == "holds"
    easy, *hard = record.direct
    learned = replace(hard[-1], accuracies=(0.9,) * 5)
    assert (
        verdict(neighbours.check_untaught_parity, replace(record, direct=(easy, learned)), tmp_path)
        == "fails"
    )
    weak = replace(easy, accuracies=(0.9,) * 5)
    assert (
        verdict(neighbours.check_untaught_parity, replace(record, direct=(weak, *hard)), tmp_path) == "fails"
    )


@pytest.mark.claim("spectra-minilm")
def test_other_proxies_than_the_published_ones_refute_them(tmp_path):
    (tmp_path / "probe").mkdir()
    context = Context(options={"results": str(tmp_path)})
    assert neighbours.check_spectra_minilm(context).verdict == "not run"
    for spectrum, edelman, verdict in (
        (20573.0, 6.8537e28, "holds"),
        (20573.0, 6.7e28, "fails"),
        (20600.0, 6.8537e28, "fails"),
    ):
        proxies = {"proxies": {"spectrum": spectrum, "edelman": edelman}}
        (tmp_path / "probe" / "minilm.json").write_text(json.dumps(proxies))
        assert neighbours.check_spectra_minilm(context).verdict == verdict


@pytest.mark.claim("and-end-to-end")
def test_the_samples_of_elimination_are_those_of_the_union_bound():
    found = neighbours.check_and_end_to_end(Context(seed=5))
    assert found.verdict == "holds" and "m = 750 " in found.ours


@pytest.mark.claim("head-sensitivity")
def test_average_sensitivity_is_the_mean_number_of_flips():
    f = majority([0, 2, 3], T=5)
    bits = assignments(5).astype(np.int64)
    flips = [(f(bits ^ np.eye(5, dtype=np.int64)[i]) != f(bits)).mean() for i in range(5)]
    assert neighbours.average_sensitivity(f(bits)) == pytest.approx(sum(flips)) == pytest.approx(1.5)


@pytest.mark.claim("difficulty-order")
def test_a_parity_that_is_easy_refutes_the_order(tmp_path):
    record = read_results(committed(), "functions", LawsRecord)
    context = Context(options={"results": str(tmp_path)})
    write_results(tmp_path, "functions", record)
    assert neighbours.check_difficulty_order(context).verdict == "holds"
    easy = {T: replace(row, m80=20.0) for T, row in next(iter(record.laws)).thresholds.items()}
    laws = tuple(replace(law, thresholds=easy) if law.label == "parity of 3" else law for law in record.laws)
    write_results(tmp_path, "functions", replace(record, laws=laws))
    assert neighbours.check_difficulty_order(context).verdict == "refuted"


def test_orders_by_chance_are_counted():
    correlation, chance = neighbours.chance_order(np.arange(4.0), np.array([3.0, 1.0, 2.0, 0.0]))
    assert correlation == pytest.approx(-0.8) and chance == pytest.approx(23 / 24)


def test_without_results_there_is_no_verdict(tmp_path):
    for check in (
        neighbours.check_taught_one_step,
        neighbours.check_taught_own_steps,
        neighbours.check_untaught_parity,
    ):
        assert check(Context(options={"results": str(tmp_path)})).verdict == "not run"
