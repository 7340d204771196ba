"""What is tortured: one sweep of small trials into a store, in a process of its own.

    python torture/client.py DB NUMBER WORKERS [CLUSTER]

Prints "done K" as outcomes are committed and "finished" at the end; what cannot be done is one line and exit code 2.
The trials are real ones of two learners, 10 to 40 ms each: a transformer on the compiled engine (or torch where there
is no compiler), and the exhaustive search.
"""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sparsehead._base.errors import SparseheadError
from sparsehead.train.spec import TrainSpec, preset

SMALL = {"d": 16, "H": 2, "k": 4, "mlp": 16, "n_steps": 100, "restarts": 1}


def specs(number: int) -> list[TrainSpec]:
    """The first so many trials; shapes and learners alternate."""
    found = []
    for seed in range(number):
        common = {
            "function": "and",
            "s": 3,
            "T": (30, 60)[seed % 2],
            "m": (20, 40)[seed // 2 % 2],
            "seed": seed,
        }
        learner = "exhaustive" if seed % 4 == 3 else "transformer"
        found.append(preset("fast", **common, learner=learner, **SMALL))
    return found


def sweep(db: str, workers: int, cluster: list[str]) -> Any:
    """A sweep in worker processes, or on the cluster of that address."""
    from sparsehead.sweep import LocalSweep

    settings: dict[str, Any] = {"batch": 4, "say": lambda sentence: print("said", sentence, flush=True)}
    if not cluster:
        return LocalSweep(db, workers=workers, **settings)
    from sparsehead.sweep.cluster import DaskSweep

    return DaskSweep(db, cluster[0], **settings)


def main() -> int:
    """Run the sweep; 0, or 2 after a sentence."""
    db, number, workers, cluster = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    try:
        with sweep(db, workers, cluster) as made:
            result = made.run(specs(number), progress=lambda state: print("done", state.done, flush=True))
    except SparseheadError as error:
        print(f"sparsehead: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("sparsehead: interrupted", file=sys.stderr)
        return 130
    for why in result.errors.values():
        print(f"sparsehead: {why}", file=sys.stderr)
    print("finished", len(result.records), flush=True)
    return 2 if result.errors else 0


if __name__ == "__main__":
    sys.exit(main())
