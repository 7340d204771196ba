import math
from pathlib import Path

import pytest

from sparsehead.errors import DomainError, SparseheadError
from sparsehead.measure import Adaptive, fit_laws, grid
from sparsehead.rng import stream
from sparsehead.spec import preset
from sparsehead.sweep import LocalSweep, adaptive_cells, grid_cells
from sparsehead.sweep.thresholds import trial_seed


@pytest.fixture(autouse=True)
def _find_fake_runner(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


def make_spec(T, m, seed):
    return preset("fast", function="and", s=3, T=T, m=m, seed=seed)


POLICIES = {T: Adaptive(start=60, max_trials=96) for T in (100, 1000, 10_000)}


def test_adaptive_rounds_find_the_law_and_resume_without_a_single_trial(tmp_path):
    seen = []
    with LocalSweep(tmp_path / "r.db", runner="fake_runner:curve") as sweep:
        cells = adaptive_cells(make_spec, POLICIES, sweep, seed=1, progress=seen.append)
        assert len(sweep.store) == sum(cell.trials for group in cells.values() for cell in group)
    for T, policy in POLICIES.items():
        found = policy.threshold(cells[T])
        assert found.low < 10 * math.log(T) < found.high
    assert fit_laws(cells, laws=["log"]).fits["log"](1000) == pytest.approx(
        69, rel=0.15
    )  # 2 x the wanted width
    assert seen[0].open_Ts == (100, 1000, 10_000) and seen[-1].round > 2
    with LocalSweep(tmp_path / "r.db", runner="no_such_module:run") as sweep:
        assert adaptive_cells(make_spec, POLICIES, sweep, seed=1) == cells


def test_grid_runs_every_cell(tmp_path):
    with LocalSweep(tmp_path / "r.db", runner="fake_runner:curve") as sweep:
        cells = grid_cells(make_spec, [100, 300], [40, 50, 60, 70], sweep, trials=10, seed=0)
    assert [cell.trials for cell in cells[300]] == [10] * 4
    assert 40 <= grid(cells[100], rng=stream(0, "boot")).m80 <= 60


def test_trials_that_cannot_be_run_are_named(tmp_path):
    with (
        LocalSweep(tmp_path / "r.db", runner="fake_runner:run", options={"bad": [50_001]}) as sweep,
        pytest.raises(
            SparseheadError, match="1 of 3 trials could not be run; the first, T=100, m=50, seed=50001"
        ),
    ):
        grid_cells(make_spec, [100], [50], sweep, trials=3, seed=0)


def test_every_trial_has_a_seed_of_its_own():
    seeds = {trial_seed(base, m, trial) for base in (0, 1) for m in (50, 51, 999_999) for trial in (0, 999)}
    assert len(seeds) == 12
    with pytest.raises(DomainError, match="at most 1000 trials"):
        trial_seed(0, 50, 1000)


def test_the_engine_is_the_default_runner(tmp_path):
    with LocalSweep(tmp_path / "r.db", workers=1) as sweep:
        specs = [
            preset("fast", function="and", s=2, T=12, m=60, seed=i, n_steps=20, restarts=1) for i in range(2)
        ]
        result = sweep.run(specs)
    assert len(result.records) == 2 and not result.errors
    assert all(record.outcome["steps"] <= 20 for record in result.records.values())
