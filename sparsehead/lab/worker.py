"""The process of one job: `python -m sparsehead.lab.worker`.

It reads one line of JSON, {"kind", "request", "db", "parent"}, for the kind "probe" also "models" and "pickle". It
writes one line per event: {"progress": ..}, {"point": ..}, {"say": ..}, and at the end {"result": ..} or
{"error": sentence}. The process and the workers of its sweep end within half a second after the parent.
"""

import json
import os
import sys
import threading
import traceback
from pathlib import Path
from typing import Any


def main() -> None:
    """Run one job."""
    from ..sweep.worker import leave_with

    asked = json.loads(sys.stdin.readline())
    threading.Thread(target=leave_with, args=(asked["parent"],), daemon=True).start()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # libraries may print; keep that out of the events

    from .._base.errors import SparseheadError
    from .extension import extensions
    from .work import KINDS

    kinds = KINDS | {kind: job.work for found in extensions() for kind, job in found.jobs.items()}

    def tell(event: dict[str, Any]) -> None:
        print(json.dumps(finite(event), default=str), file=answers, flush=True)

    try:
        more = {name: asked[name] for name in ("models", "pickle") if name in asked}
        tell({"result": kinds[asked["kind"]](asked["request"] | more, Path(asked["db"]), tell)})
    except SparseheadError as error:
        tell({"error": " ".join(str(error).split())})
    except Exception as error:
        traceback.print_exc()
        tell({"error": f"the job broke ({type(error).__name__}); the server's terminal has the details."})


def finite(value: Any) -> Any:
    """Replace numbers that JSON cannot represent (NaN, infinity) by None, at any depth."""
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not abs(value) < float("inf") else value


if __name__ == "__main__":
    main()
