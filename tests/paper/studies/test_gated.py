"""The study of single runs of preset gated: its seeds, and the counts in its results file."""

from sparsehead.store import Store
from sparsehead.train.loop import origin_of
from sparsehead.train.spec import spec_id
from sparsehead_paper.studies.gated import count_solved, gated


def test_runs_are_single_with_fresh_seeds_and_gated_and_best_share_their_data():
    specs = gated().specs
    assert len({spec_id(spec) for spec in specs}) == len(specs)
    assert {spec.restarts for spec in specs} == {1} and min(spec.seed for spec in specs) == 7_000_000
    at_1000 = [spec for spec in specs if (spec.function, spec.T, spec.m) == ("and", 1000, 42)]
    gates = {gate: [spec.seed for spec in at_1000 if spec.gate == gate] for gate in ("both", "none")}
    assert gates["both"] == gates["none"] and len(gates["both"]) == 48


def test_solved_runs_are_counted_cell_by_cell(tmp_path):
    whole = gated()
    few = [spec for spec in whole.specs if spec.T == 1000][:3]
    with Store(tmp_path / "r.db") as store:
        for i, spec in enumerate(few):
            status = "solved" if i else "budget_spent"
            store.add(spec, {"status": status, "steps": 20, "seconds": 1.0}, engine=origin_of(spec))
        record = count_solved(store, whole)
    (cell,) = record.cells
    assert (cell.preset, cell.solved, cell.runs) == ("gated", 2, 3)
    assert (cell.function, cell.T, cell.m, cell.noise) == ("and", 1000, 42, 0.0)
