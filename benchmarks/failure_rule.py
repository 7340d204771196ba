"""What `least_lean` saves and what it changes: full-length single runs of preset "best", with the rule looked at.

    python benchmarks/failure_rule.py --out results/failure-rule.json            (hours; a second call goes on)

Every run is trained to success or to its last step, as without the rule; at each check the rule is asked whether it
would have ended the run. A verdict is changed if it would have ended a run that succeeds later. The rule's constant was
chosen on 161 other runs (`--seed 7`: 60 at T = 300, 95 at T = 1000, 6 at T = 3000).
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sparsehead._base.files import write_whole
from sparsehead.laws.rounds import trial_seed
from sparsehead.train.lean import LeanRule
from sparsehead.train.spec import PRESETS, TrainSpec, preset
from sparsehead.train.transformer.engines import make_engine
from sparsehead.train.trial import Trial

CELLS = {300: (36, 140), 1000: (42, 140), 3000: (52, 30), 10_000: (61, 10)}  # T: m, runs
LEAST_LEAN = 0.02


def specs(base: int) -> Iterator[TrainSpec]:
    """Full-length runs; those of different T take turns, so that a stop leaves some of each."""
    most = max(runs for _, runs in CELLS.values())
    turns = sorted(((i + 0.5) * most / runs, T, i) for T, (_, runs) in CELLS.items() for i in range(runs))
    for _, T, i in turns:
        m = CELLS[T][0]
        seed = trial_seed(base, T=T, m=m, trial=i)
        yield preset("best", function="and", s=3, T=T, m=m, seed=seed, restarts=1, least_lean=0.0)


def measured(spec: TrainSpec) -> dict[str, Any]:
    """Train one run without the rule; `ended` is the step at which the rule would have ended it."""
    trial = Trial(spec, make_engine(spec, engine="auto", dtype="float32", device="cpu"))
    assert trial._sample is not None
    rule, ended = LeanRule(trial._sample, LEAST_LEAN), []

    def watch(at: Trial) -> None:
        fitted = at.solved_at is None and at.fitted_at is not None and at.loss < 0.01
        if fitted and not ended and rule.lost(at.engine.model({}), at.step - at.fitted_at):
            ended.append(at.step)

    outcome = trial.run(watch=watch)
    row = {"T": spec.T, "m": spec.m, "seed": spec.seed, "solved": outcome.solved, "steps": outcome.steps}
    return row | {"ended": ended[0] if ended else None}


def summary(rows: Sequence[dict[str, Any]], n_steps: int) -> dict[str, Any]:
    """Shares of steps that failing runs need with the rule, and of verdicts that it changes, with 95 % intervals."""
    from scipy.stats import beta

    changed, n = sum(row["solved"] and row["ended"] is not None for row in rows), len(rows)
    failed = np.array([(row["ended"] or n_steps) / n_steps for row in rows if not row["solved"]])
    solved = [row for row in rows if row["solved"]]
    with_rule = sum(row["ended"] or row["steps"] for row in rows)
    draws = np.random.default_rng(0).integers(len(failed), size=(2000, len(failed)))
    low, high = np.quantile(failed[draws].mean(axis=1), [0.025, 0.975])
    ends = [
        beta.ppf(0.025, changed, n - changed + 1) if changed else 0.0,
        beta.ppf(0.975, changed + 1, n - changed),
    ]
    return {
        "runs": n, "solved": len(solved), "changed": changed, "share changed": changed / n, "interval": ends,
        "steps of failing runs": {"share": float(failed.mean()), "low": float(low), "high": float(high)},
        "steps of all runs": with_rule / sum(row["steps"] for row in rows),
    }  # fmt: skip


def write(out: Path, rows: Sequence[dict[str, Any]], planned: int) -> None:
    """Write the rows and their summaries, over all T and for each."""
    n_steps = PRESETS["best"]["n_steps"]
    groups = {"all": list(rows)} | {f"T = {T}": [row for row in rows if row["T"] == T] for T in CELLS}
    found = {
        name: summary(some, n_steps) for name, some in groups.items() if any(not r["solved"] for r in some)
    }
    record = {
        "complete": len(rows) == planned,
        "least_lean": LEAST_LEAN,
        "n_steps": n_steps,
        "planned": planned,
        "summary": found,
        "runs": list(rows),
    }
    write_whole(out, (json.dumps(record, indent=1) + "\n").encode(), force=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=8)
    given = parser.parse_args()
    rows = json.loads(given.out.read_text())["runs"] if given.out.exists() else []
    done, wanted = {row["seed"] for row in rows}, list(specs(given.seed))
    for spec in (spec for spec in wanted if spec.seed not in done):
        rows.append(measured(spec))
        write(given.out, rows, len(wanted))
        print(rows[-1], flush=True)


if __name__ == "__main__":
    main()
