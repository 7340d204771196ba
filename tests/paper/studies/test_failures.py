"""The positions that a run has moved, against the label; and the verdict on what they say of failures."""

import math
from dataclasses import replace

import numpy as np
import pytest

from sparsehead._base.errors import DomainError
from sparsehead.train.data import training_set
from sparsehead.train.lean import agreement
from sparsehead.train.spec import target_function
from sparsehead_paper.claims.claim import Context
from sparsehead_paper.claims.studies import check_failures, exact_test
from sparsehead_paper.figures.failures import failures_chart
from sparsehead_paper.studies.failures import (
    FAILURES,
    MOVED,
    FailureRun,
    FailuresRecord,
    failures,
    lean,
)
from sparsehead_paper.studies.folder import read_results, write_results
from sparsehead_paper.studies.stage import Workplace, conjunctions


@pytest.mark.claim("failures-sign")
def test_agreement_is_the_correlation_of_each_bit_with_the_label():
    rng = np.random.default_rng(0)
    bits, labels = (rng.random((40, 9)) < 0.7).astype(np.uint8), (rng.random(40) < 0.5).astype(np.uint8)
    bits[:, 3], bits[:, 4], bits[:, 5] = labels, 1 - labels, 1
    got = agreement((bits, labels))
    assert got[3:6] == pytest.approx([1, -1, 0], abs=1e-12)
    for t in (0, 1, 2, 6, 7, 8):  # numpy's own, column by column
        assert got[t] == pytest.approx(np.corrcoef(bits[:, t], labels)[0, 1], abs=1e-12)


@pytest.mark.claim("failures-sign")
def test_the_lean_is_that_of_the_longest_vectors_only():
    rng = np.random.default_rng(1)
    by_position, moved = rng.uniform(-1, 1, 60), rng.permutation(60)[:MOVED]
    positions = np.full((60, 4), 0.01)
    positions[moved] = -0.5
    assert lean(positions, by_position) == pytest.approx(np.mean(by_position[moved]), abs=1e-12)


@pytest.mark.claim("failures-sign")
def test_a_run_and_what_it_moved_go_into_the_results(tmp_path):
    specs = tuple(replace(spec, n_steps=200, holdout=500) for spec in conjunctions(
        T=40, m=60, trials=range(2), preset="best", restarts=1))  # fmt: skip
    plan = replace(failures(), specs=specs)
    assert plan.run(Workplace(tmp_path / "f.db", tmp_path, workers=1)) == []
    record = read_results(tmp_path, "failures", FailuresRecord)
    assert (len(record.runs), record.planned) == (2, 2)
    for run, spec in zip(record.runs, specs, strict=True):
        assert (run.T, run.m, run.seed) == (spec.T, spec.m, spec.seed)
        by_position = agreement(training_set(spec))
        support = list(target_function(spec).support)
        others = [t for t in range(spec.T) if t not in support]
        assert run.ahead == sum(by_position[t] > min(by_position[support]) for t in others)
        assert by_position.min() < run.lean < by_position.max()
    failures_chart(record).to_dict()


def runs(agree, against):
    """Two pairs (solved, of)."""
    return FailuresRecord(
        tuple(
            FailureRun(T=1000, m=42, seed=i, solved=i < solved, steps=100, lean=sign * 0.3, ahead=1)
            for sign, (solved, n) in ((1, agree), (-1, against))
            for i in range(n)
        ),
        planned=99,
    )


@pytest.mark.claim("failures-sign")
@pytest.mark.parametrize(
    ("agree", "against", "verdict"),
    [
        ((12, 20), (1, 20), "holds"),
        ((1, 20), (12, 20), "refuted"),
        ((6, 20), (5, 20), "undecided"),
        ((2, 2), (0, 1), "undecided"),  # 2 of 2 against 0 of 1 has chance 1/3
    ],
)
def test_runs_with_the_label_and_against_it_are_told_apart_by_an_exact_test(
    agree, against, verdict, tmp_path
):
    context = Context(options={"results": str(tmp_path)})
    assert check_failures(context).verdict == "not run"
    write_results(tmp_path, "failures", runs(agree, against))
    found = check_failures(context)
    assert found.verdict == verdict
    failed = agree[1] - agree[0] + against[1] - against[0]
    assert f"of {failed} that fail, {against[1] - against[0]} moved against it" in found.ours
    write_results(tmp_path, "failures", runs(agree, (0, 0)))
    assert check_failures(context).verdict == "not run"


def test_the_exact_test_counts_tables_with_the_same_margins():
    # 8 runs, 4 solved, 5 with the label: at least 4 of the solved among the 5.
    assert exact_test([[4, 1], [0, 3]]) == pytest.approx(math.comb(5, 4) / math.comb(8, 4))


def test_the_plan_looks_at_three_lengths_and_the_chart_tells_its_counts():
    assert {(spec.T, spec.m) for spec in failures().specs} == set(FAILURES.items())
    title = failures_chart(runs((12, 20), (1, 20))).to_dict()["title"]["text"]
    assert "12 of 20 runs solved; against it: 1 of 20" in (
        title if isinstance(title, str) else " ".join(title)
    )
    with pytest.raises(DomainError, match="0 runs arrived"):
        failures_chart(FailuresRecord((), 9))
