"""The study of success curves at one T: its trials, and the counts in its results file."""

from sparsehead.laws.curves import Cell
from sparsehead.store import Store
from sparsehead.train.loop import origin_of
from sparsehead.train.spec import spec_id
from sparsehead_paper.studies.steepness import collect_cells, steepness


def test_every_cell_has_forty_trials_and_cells_grow_together():
    specs = steepness().specs
    assert len({spec_id(spec) for spec in specs}) == len(specs) == 2 * 3 * 40
    assert {(spec.m, spec.decay) for spec in specs[:6]} == {(spec.m, spec.decay) for spec in specs}


def test_solved_trials_are_counted_by_preset_and_m(tmp_path):
    whole = steepness(T=50)
    with Store(tmp_path / "r.db") as store:
        for i, spec in enumerate(whole.specs[:8]):
            status = "solved" if i else "budget_spent"
            store.add(spec, {"status": status, "steps": 20, "seconds": 1.0}, engine=origin_of(spec))
        record = collect_cells(store, whole)
    assert record.T == 50
    assert record.cells["paper"] == (Cell(70, 1, 2), Cell(90, 1, 1), Cell(110, 1, 1))
    assert record.cells["literal"] == (Cell(70, 2, 2), Cell(90, 1, 1), Cell(110, 1, 1))
