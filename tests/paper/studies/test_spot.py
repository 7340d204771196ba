"""Spot checks: fresh trials have the committed settings and other seeds, and are compared with the right cells."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from sparsehead.laws.curves import Cell
from sparsehead.laws.law import LawResult
from sparsehead.store import Store
from sparsehead.sweep import Progress
from sparsehead_paper.claims.measured import FILES
from sparsehead_paper.claims.registry import SECTIONS
from sparsehead_paper.figures.fresh import FRESH
from sparsehead_paper.report.catalogue import FIGURES
from sparsehead_paper.studies import plans
from sparsehead_paper.studies.agreement import LEVEL, Agreement, Shares, Values, compared
from sparsehead_paper.studies.folder import committed, read_results, write_results
from sparsehead_paper.studies.input_laws import SPOTS
from sparsehead_paper.studies.law_stage import Law, Laws, LawsRecord, SuccessRecord
from sparsehead_paper.studies.origin import Origin, note_origin, origins
from sparsehead_paper.studies.parity import MATCHED_READING
from sparsehead_paper.studies.spot import LAWS, UNCHECKED, checks, spots, stages
from sparsehead_paper.studies.stage import Experiment, Workplace


def settings(spec):
    return {name: value for name, value in asdict(spec).items() if name != "seed"}


def test_every_measured_claim_has_a_committed_file_and_a_spot_check_or_a_reason():
    labels = {claim.label for claim in SECTIONS["Experiments"]} - {"law-points"}  # which needs no experiment
    assert labels <= set(FILES)
    assert set(FILES) - labels <= {claim.label for claim in SECTIONS["Neighbours"]}
    checked = {spot.name for spot in spots("default")}
    assert set(FILES.values()) <= checked | set(UNCHECKED)
    assert not checked & set(UNCHECKED)
    known = origins(committed())
    assert set(FILES.values()) | checked <= set(known)
    for name in known:
        assert (committed() / f"{name}.json").is_file()
        assert plans.command_for(name)


def test_fresh_trials_have_the_settings_of_the_committed_ones_and_none_of_their_seeds():
    full = {stage.name: stage for stage in plans.plan("full")}
    for spot in spots("default"):
        stage, specs = full[spot.name], spot.experiment.specs
        assert len({spec.seed for spec in specs}) == len({(s.T, s.m, s.seed) for s in specs})
        if isinstance(stage, Experiment):
            own = [settings(spec) for spec in stage.specs]
            assert all(settings(spec) in own for spec in specs), spot.name
            assert not {spec.seed for spec in stage.specs} & {spec.seed for spec in specs}
        elif isinstance(stage, Laws):
            laws = {law.label: law.cells for law in read_results(committed(), spot.name, LawsRecord).laws}
            assert all(m in [cell.m for cell in laws[label][T]] for label, T, m, _ in SPOTS)
            assert len(specs) == sum(trials for *_, (trials, _) in SPOTS)
        else:
            assert isinstance(stage, Law)
            given, cells = LAWS[spot.name]
            planned = {k: v for k, v in stage.settings.items() if k not in ("method", "exceptions")}
            assert given == planned, spot.name
            known = read_results(committed(), spot.name, LawResult).cells
            assert all(m in [cell.m for cell in known[T]] for T, m in cells)
            assert {(spec.T, spec.m) for spec in specs} == set(cells)
            assert all(spec.function == "and" and spec.s == 3 for spec in specs)


def test_committed_seeds_that_a_file_holds_are_not_used_again():
    used = set()
    for path in Path(committed()).glob("*.json"):
        rows = json.loads(path.read_text())
        rows = (
            [row for value in rows.values() if isinstance(value, list) for row in value]
            if isinstance(rows, dict)
            else rows
        )
        used |= {row["seed"] for row in rows if isinstance(row, dict) and "seed" in row}
    assert len(used) > 100
    for seed in (2, 3):
        assert not used & {spec.seed for spot in spots("default", seed) for spec in spot.experiment.specs}


def test_another_seed_draws_other_trials_and_quick_draws_some_of_them():
    trials = {
        key: {spec for spot in spots(*key) for spec in spot.experiment.specs}
        for key in (("default", 2), ("quick", 2), ("default", 3))
    }
    assert trials["quick", 2] < trials["default", 2]
    assert not trials["default", 2] & trials["default", 3]


def test_stages_hold_every_trial_once_and_write_every_file():
    found = spots("default")
    run = stages(found)
    specs = [spec for stage in run for spec in stage.specs]
    assert set(specs) == {spec for spot in found for spec in spot.experiment.specs}
    assert len({(stage.runner, str(stage.options)) for stage in run}) == len(run)
    assert [name for stage in run for name in stage.files].count("law-matched") == 1
    assert {name for stage in run for name in stage.files} == {spot.name for spot in found}
    minutes = sum(stage.seconds(Path("none.db")) for stage in run) / 2 / 60
    assert minutes < 8  # by the estimate, on two cores


def test_a_stage_writes_what_its_own_trials_say(tmp_path):
    """One trial of two laws by the real runner; each file has the cell of its own law."""
    two = [spot for spot in spots("quick") if spot.name in ("law", "law-best")]
    few = [
        replace(spot, experiment=replace(spot.experiment, specs=spot.experiment.specs[:1])) for spot in two
    ]
    (stage,) = stages(few)
    seen: list[Progress] = []
    place = Workplace(
        tmp_path / "r.db", tmp_path / "fresh", 1, report=lambda _, progress: seen.append(progress)
    )
    assert stage.run(place) == []
    for name, cell in (("law-best", (100, 36)), ("law", (100, 60))):
        cells = read_results(tmp_path / "fresh", name, SuccessRecord).cells
        assert {(T, c.m, c.trials) for T, own in cells.items() for c in own} == {(*cell, 1)}
    with Store(tmp_path / "r.db", readonly=True) as store:
        assert len(list(store.records())) == 2
    found = checks(committed(), tmp_path / "fresh")
    assert set(found) == {"law", "law-best"}
    assert found["law"].trials == 1


def law_files(tmp_path, solved, trials):
    """A committed cell with 30 of 32 solved, and a fresh one."""
    empty: dict[str, Any] = {
        "thresholds": {},
        "fits": {},
        "floor": {},
        "best": None,
        "note": "",
        "seconds": 0.0,
    }
    write_results(
        tmp_path / "old", "law-best", LawResult(**empty, cells={100: [Cell(36, 30, 32), Cell(50, 0, 9)]})
    )
    write_results(tmp_path / "new", "law-best", SuccessRecord({100: [Cell(36, solved, trials)]}))
    return checks(tmp_path / "old", tmp_path / "new")["law-best"]


def test_fresh_trials_are_compared_with_the_committed_cell_of_the_same_m(tmp_path):
    good = law_files(tmp_path, 11, 12)
    assert good.agrees
    (shares,) = good.comparisons
    assert isinstance(shares, Shares)
    assert [(c.committed, c.fresh) for c in shares.cells] == [((30, 32), (11, 12))]
    assert good.sentence().startswith(
        "12 fresh trials agree with the committed result: solved at $T = 100$, $m = 36$"
    )
    assert "it notices shares lower by 0.35 with probability 0.8" in good.sentence()


def test_fresh_trials_that_differ_are_said_not_to_agree(tmp_path):
    bad = law_files(tmp_path, 5, 12)
    assert not bad.agrees
    assert "do not agree" in bad.sentence()


def test_two_comparisons_share_the_level():
    """p = .007 differs at level .01 if it is the only comparison, and agrees beside another."""
    values = Values("steps", tuple(map(float, range(10))), (9.5, 10.0, 11.0))
    assert 0.005 < values.p_value() < 0.01
    assert not Agreement((values,), 0.01).agrees
    assert Agreement((values, values), 0.01).agrees


def test_counts_are_one_comparison_and_numbers_one_each():
    found = list(
        compared(
            {"a": [True, False], "b": [True], "n": [1.0, 2.0]},
            {"a": [True], "b": [False], "n": [3.0], "c": [True]},
        )
    )
    numbers, counts = found
    assert isinstance(numbers, Values) and (numbers.committed, numbers.fresh) == ((1.0, 2.0), (3.0,))
    assert isinstance(counts, Shares) and [c.what for c in counts.cells] == ["a", "b"]


@pytest.mark.parametrize("name", ["parity", "parity-settings"])
def test_parity_is_spot_checked_at_ten_bits(name):
    spot = next(spot for spot in spots("default") if spot.name == name)
    assert {spec.T for spec in spot.experiment.specs} == {10}
    known = spot.observe(read_results(committed(), name, spot.kinds[0]))
    assert [len(steps) for steps in known.values()] == [10]
    assert name == "parity" or MATCHED_READING == "the paper's reading"


def test_every_spot_check_finds_what_to_compare_with():
    for spot in spots("default"):
        known = spot.observe(read_results(committed(), spot.name, spot.kinds[0]))
        assert all(known.values()), spot.name


def test_figures_of_spot_checked_files_show_them():
    checked = {spot.name for spot in spots("default")}
    for name, figure in FIGURES.items():
        shown = figure.needs in checked and name not in ("story", "certificate-truth")
        assert (name in FRESH) == shown, name


def test_the_origin_of_a_results_file_is_written_down(tmp_path):
    note_origin(tmp_path, ["law"], seconds=90.0, workers=2)
    note_origin(tmp_path, ["law-grid", "success"], seconds=7200.0, workers=1)
    known = origins(tmp_path)
    assert list(known) == ["law", "law-grid", "success"]
    assert "2 worker processes" in known["law"].machine and known["law"].took.startswith("90 s")
    said = Origin("2026-11-17", "two cores", "2 hours").sentence("success")
    assert said == (
        "Measured 2026-11-17 on two cores; 2 hours; `sparsehead reproduce --only law-grid` measures it again."
    )


def test_all_files_together_share_the_level(tmp_path):
    for name in ("law", "law-best"):
        write_results(tmp_path, name, SuccessRecord({100: [Cell({"law": 60, "law-best": 36}[name], 8, 8)]}))
    found = checks(committed(), tmp_path)
    assert [check.level for check in found.values()] == [LEVEL / 2] * 2
    (tmp_path / "law.json").unlink()
    assert checks(committed(), tmp_path)["law-best"].level == LEVEL
