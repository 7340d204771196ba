"""What a sweep costs beyond its trials, what a trial costs, and how a cluster of 10^3 workers would spend its time.

    python benchmarks/scale.py measure --out results/scale.json    (some minutes on two idle cores)
    python benchmarks/scale.py simulate                            (a second; what docs/scale.md prints)

`measure` times the client (CPU seconds, so that other work on the machine matters little), the store, learners and
trials. `simulate` runs the schedule of large sweeps with these constants and those of results/engine.json: a client
that hands out units and commits outcomes one after another, and workers that run them (`scale_model`).
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from scale_model import COMMITTED, fit_model, samples, table

from sparsehead._base.files import write_whole
from sparsehead._base.provenance import processor
from sparsehead.store import Store
from sparsehead.sweep import LocalSweep, Sweep
from sparsehead.sweep.cluster import DaskSweep
from sparsehead.train.outcome import Outcome
from sparsehead.train.spec import TrainSpec, preset, spec_id


def trivial(specs: Sequence[TrainSpec], *, on_outcome: Callable[..., None], progress: Any) -> None:
    """A runner whose trials take no time: what remains is the cost of the sweep."""
    for spec in specs:
        on_outcome(spec, Outcome(spec_id(spec), "solved", 100, 1, 1.0, 1.0, None, 0.0, {"loss": [1.0, 0.5]}))


def waiting(specs: Sequence[TrainSpec], *, on_outcome: Callable[..., None], progress: Any) -> None:
    """A runner whose trials take a second without using the processor, so that other work does not matter."""
    for spec in specs:
        time.sleep(1.0)
        on_outcome(spec, Outcome(spec_id(spec), "solved", 100, 1, 1.0, 1.0, None, 1.0))


def specs_of(n: int) -> list[TrainSpec]:
    """n trials of one shape."""
    first = preset("fast", function="and", s=3, T=100, m=70, seed=0)
    return [replace(first, seed=i) for i in range(n)]


def sweeping(sweep: Sweep, n: int) -> dict[str, float]:
    """Seconds a trial of n trials, by the clock and of this process's CPU; the workers are up before."""
    with sweep:
        sweep.run(specs_of(10))
        clock, cpu = time.monotonic(), time.process_time()
        done = sweep.run(specs_of(n + 10)).ran
        found = {"clock": (time.monotonic() - clock) / done, "cpu": (time.process_time() - cpu) / done}
    assert done == n
    return found


def measure_overhead(folder: Path, n: int) -> dict[str, Any]:
    """10^4 trivial trials through Dask one by one, in units as long as measured, and through the embedded pool."""
    runner = "scale:trivial"
    one = DaskSweep(folder / "one.db", "local:2", batch=1, runner=runner)
    units = DaskSweep(folder / "units.db", "local:2", runner=runner)
    pool = LocalSweep(folder / "pool.db", workers=2, batch=1, runner=runner)
    return {
        "trials": n,
        "dask_one_by_one": sweeping(one, n),
        "dask_in_units": sweeping(units, n),
        "pool_one_by_one": sweeping(pool, n),
        "bytes_per_outcome": (folder / "one.db").stat().st_size / (n + 10),
    }


def measure_store(folder: Path, n: int = 500) -> dict[str, float]:
    """CPU seconds of committing an outcome alone and among a hundred, and of finding one in a store of that size."""
    from sparsehead.store.rows import new_row

    specs = specs_of(n)
    rows: list[Any] = []
    trivial(specs, on_outcome=lambda spec, outcome: rows.append(new_row(spec, outcome)), progress=None)
    with Store(folder / "alone.db") as store:
        start = time.process_time()
        for row in rows:
            store.add_rows([row])
        alone = time.process_time() - start
    with Store(folder / "hundred.db") as store:
        start = time.process_time()
        for i in range(0, n, 100):
            store.add_rows(rows[i : i + 100])
        together = time.process_time() - start
        start = time.process_time()
        assert len(store.find(specs)) == n
        found = time.process_time() - start
    return {"commit_alone": alone / n, "commit_in_hundreds": together / n, "find": found / n}


def measure_speed_up(folder: Path, n: int = 10) -> dict[str, float]:
    """Seconds for n units that wait a second each, on one worker and on two, of a Dask cluster and of the pool."""
    found = {}
    for name, sweep in {
        "dask 1": DaskSweep(folder / "s1.db", "local:1", runner="scale:waiting"),
        "dask 2": DaskSweep(folder / "s2.db", "local:2", runner="scale:waiting"),
        "pool 1": LocalSweep(folder / "s3.db", workers=1, runner="scale:waiting"),
        "pool 2": LocalSweep(folder / "s4.db", workers=2, runner="scale:waiting"),
    }.items():
        with sweep:
            sweep.run(specs_of(2))
            start = time.monotonic()
            sweep.run(specs_of(n + 2))
            found[name] = time.monotonic() - start
    return found


def measure_trials(count: int = 4) -> list[dict[str, float]]:
    """CPU seconds of trials of AND of 3 near their threshold, by T; long ones as results/README.md has them."""
    from sparsehead.train.loop import run_trials

    rows = []
    for T in (100, 300):
        start = time.process_time()
        for seed in range(count):
            run_trials([preset("fast", function="and", s=3, T=T, m=samples(T), seed=seed)])
        rows.append(
            {"T": T, "m": samples(T), "trials": count, "seconds": (time.process_time() - start) / count}
        )
    return [*rows, *COMMITTED]


def measure_learners() -> list[dict[str, Any]]:
    """CPU seconds of a trial of the other learners, by T and s."""
    from sparsehead.train.loop import run_trials

    plans = [(name, T, 3) for name in ("logistic", "tree", "exhaustive") for T in (30, 100)]
    plans += [("exhaustive", 100, 2), ("mlp", 30, 3), ("mlp", 100, 3), ("lstm", 10, 3)]
    rows = []
    for name, T, s in plans:
        unique = {"unique": False} if name != "lstm" else {}
        spec = preset(
            "fast", function="and", s=s, T=T, m=samples(T), seed=1, learner=name, restarts=1, **unique
        )
        start = time.process_time()
        run_trials([spec])
        rows.append({"learner": name, "T": T, "s": s, "m": spec.m, "seconds": time.process_time() - start})
    return rows


def measure(parts: Sequence[str], trials: int) -> dict[str, Any]:
    """The measurements asked for, and where they were made."""
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    found: dict[str, Any] = {"machine": processor()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        jobs: dict[str, Callable[[], Any]] = {
            "overhead": lambda: measure_overhead(folder, trials),
            "store": lambda: measure_store(folder),
            "speed_up": lambda: measure_speed_up(folder),
            "trials": measure_trials,
            "learners": measure_learners,
        }
        for part in parts or jobs:
            found[part] = jobs[part]()
            print(part, json.dumps(found[part]), flush=True)
    return found


def main() -> None:
    """Measure, or simulate with what was measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["measure", "simulate"])
    parser.add_argument("--out", type=Path, help="where `measure` writes; what is there of other parts stays")
    parser.add_argument(
        "--part", action="append", default=[], help="overhead, store, speed_up, trials or learners"
    )
    parser.add_argument("--trials", type=int, default=10_000)
    given = parser.parse_args()
    if given.what == "simulate":
        print("\n".join(table(fit_model())))
        return
    found = measure(given.part, given.trials)
    if given.out is not None:
        known = json.loads(given.out.read_text()) if given.out.exists() else {}
        write_whole(given.out, json.dumps(known | found, indent=1).encode(), force=True)


if __name__ == "__main__":
    main()
