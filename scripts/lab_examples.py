"""Measure what the lab shows before anybody has run anything: `python scripts/lab_examples.py`.

Two runs for Learn, with enough samples and with too few, and a small law, as the buttons of these pages start them;
written to sparsehead/lab/examples.sqlite. About a minute on two idle cores.
"""

import tempfile
from pathlib import Path
from typing import Any

from sparsehead.lab import work
from sparsehead.lab.endpoints.jobs import LawRequest, LearnRequest, law_request, learn_request
from sparsehead.lab.stored import EXAMPLES
from sparsehead.store.merge import merge

# One head that reads out what it attends to: its proof has a file, which the page Check checks.
RUN: dict[str, Any] = {
    "function": "x5 & x20 & x30", "T": 50, "H": 1, "k": 64, "mlp": 0, "norm": False, "learning_rate": 0.01,
    "n_steps": 100, "restarts": 1, "check_every": 2, "keep_training": True, "noise": 0.0, "encoding": "trainable",
}  # fmt: skip
ENOUGH, TOO_FEW = 300, 14
LAW: dict[str, Any] = {"function": "and", "s": 3, "T": [30, 100, 300], "trials": 64, "start": 45}


def main() -> None:
    """Run the jobs and replace the file."""
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder, "examples.db")
        for m in (ENOUGH, TOO_FEW):
            found = work.learn(learn_request(LearnRequest(**RUN, m=m)), db, lambda event: None)
            print(f"m = {m}: {found['status']}; {found['verdict']}")
        law = work.law(law_request(LawRequest(**LAW)), db, lambda event: None)
        print({T: row["m80"] for T, row in ((row["T"], row) for row in law["thresholds"])})
        EXAMPLES.unlink(missing_ok=True)
        merge([db], EXAMPLES)  # one file, without the log beside it
    print(f"{EXAMPLES.name}: {EXAMPLES.stat().st_size} bytes")


if __name__ == "__main__":
    main()
