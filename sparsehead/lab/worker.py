"""What runs in the process of a job: `python -m sparsehead.lab.worker`, fed with one line of JSON.

It gets {"kind", "request", "db", "parent"}, to probe "models" and "pickle" too, on standard input. It writes one line
per event: {"progress": ..}, {"point": ..}, {"say": ..}, and at the end {"result": ..} or {"error": sentence}.
When its parent is gone, so is the process: within half a second, and with it the workers of its sweep.
"""

import json
import os
import sys
import threading
import traceback
from pathlib import Path
from typing import Any, TextIO


def main() -> None:
    """Do one job."""
    from ..sweep.worker import leave_with

    asked = json.loads(sys.stdin.readline())
    threading.Thread(target=leave_with, args=(asked["parent"],), daemon=True).start()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints is no event

    from .._base.errors import SparseheadError
    from .extension import extensions
    from .work import KINDS

    kinds = KINDS | {kind: job.work for found in extensions() for kind, job in found.jobs.items()}

    def tell(event: dict[str, Any]) -> None:
        _write(answers, event)

    try:
        more = {name: asked[name] for name in ("models", "pickle") if name in asked}
        result = kinds[asked["kind"]](asked["request"] | more, Path(asked["db"]), tell)
        _write(answers, {"result": result})
    except SparseheadError as error:
        _write(answers, {"error": " ".join(str(error).split())})
    except Exception as error:
        traceback.print_exc()
        _write(
            answers,
            {"error": f"the job broke ({type(error).__name__}); the server's terminal has the details."},
        )


def _write(answers: TextIO, event: dict[str, Any]) -> None:
    try:
        answers.write(json.dumps(event, allow_nan=False, default=str) + "\n")
    except ValueError:  # a loss that is not finite
        answers.write(json.dumps(finite(event), default=str) + "\n")
    answers.flush()


def finite(value: Any) -> Any:
    """The value with None for numbers that are not finite, which JSON does not have."""
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not abs(value) < float("inf") else value


if __name__ == "__main__":
    main()
