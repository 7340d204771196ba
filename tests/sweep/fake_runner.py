"""Runners that stand in for training: the outcome depends on the spec alone, the time is settable.

Also what tests of sweeps share, and a script: `python fake_runner.py DB N SLEEP FOLDER` sweeps N specs with two
workers, for tests that kill it; each worker that has begun a trial leaves a file of its process id in FOLDER.
"""

import math
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

from sparsehead._base.errors import DomainError
from sparsehead._base.rng import stream
from sparsehead.store import Store
from sparsehead.sweep import LocalSweep
from sparsehead.train.outcome import Outcome
from sparsehead.train.spec import preset, spec_id


def specs(n):
    """n specs of three shapes."""
    return [preset("fast", function="and", s=3, T=50, m=(30, 40, 50)[i % 3], seed=i) for i in range(n)]


def run_sweep(specs, db, *, progress=None, **settings):
    """Run what the store lacks of `specs` on this machine."""
    with LocalSweep(db, **settings) as sweep:
        return sweep.run(specs, progress=progress)


def wait_until(condition, seconds=200):
    """Return once `condition()` holds. The limit only ends a test that would never end."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def outcome_of(spec):
    status = "solved" if int(spec_id(spec), 16) % 3 else "budget_spent"
    history = {"step": [10.0, 20.0], "loss": [1.0, spec.seed / 7]}
    return Outcome(spec_id(spec), status, spec.seed, 1, 1.0, 0.5, None, 0.25, history)


def run(specs, *, on_outcome, progress, sleep=0.0, bad=(), deadly=(), begun=None, tries=None):
    for spec in specs:
        if begun is not None:
            Path(begun, str(os.getpid())).touch()
        time.sleep(sleep)
        progress({"step": spec.seed})
        if spec.seed in bad:
            raise DomainError(f"seed {spec.seed} cannot be run.")
        if spec.seed in deadly:
            with open(f"{tries}{spec.seed}" if tries else os.devnull, "a") as file:
                file.write("x")
            os._exit(7)
        on_outcome(spec, outcome_of(spec))


def printing(specs, *, on_outcome, progress):
    """Print more than a pipe holds before every outcome."""
    for spec in specs:
        os.write(1, b"x" * 100_000)
        print('\n{"outcome": 1}')
        on_outcome(spec, outcome_of(spec))


def removing(specs, *, on_outcome, progress, remove, replaced):
    """Take the store away after the first outcome; perhaps put another one in its place."""
    for i, spec in enumerate(specs):
        on_outcome(spec, outcome_of(spec))
        if i == 0:
            Path(remove).rename(remove + ".moved")
            if replaced:
                Store(remove).close()


def engine(specs, *, on_outcome, progress):
    """Outcomes that say that the compiled engine made them."""
    made_by = {"engine": "compiled", "instructions": "x86-64-v3", "dtype": "float32", "device": "cpu"}
    run(specs, on_outcome=lambda s, o: on_outcome(s, replace(o, made_by=made_by)), progress=progress)


def curve(specs, *, on_outcome, progress, slope=7.0):
    """Trials that succeed with a known probability: m_80 = 10 ln T, logistic in ln m."""
    for spec in specs:
        chance = 1 / (1 + 0.25 * (spec.m / (10 * math.log(spec.T))) ** -slope)
        status = "solved" if stream(spec.seed, "chance", spec.T).random() < chance else "budget_spent"
        on_outcome(spec, Outcome(spec_id(spec), status, 0, 1, 1.0, 1.0, None, 0.0))


def threads(specs, *, on_outcome, progress):
    for spec in specs:
        steps = int(os.environ["OMP_NUM_THREADS"])
        on_outcome(spec, Outcome(spec_id(spec), "solved", steps, 1, 1.0, 1.0, None, 0.0))


if __name__ == "__main__":
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    db, n, sleep, begun = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
    run_sweep(specs(n), db, runner="fake_runner:run", options={"sleep": sleep, "begun": begun}, batch=4)
