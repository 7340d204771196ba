"""The program of a worker process: `python -m sparsehead.sweep.worker`, which reads JSON lines.

The parent sends {"unit": [spec, ...]} on standard input, with the code of a user-defined learner as "learner"
(`train.learners.travel`). The worker answers on a separate pipe, whose number is among the settings, one line each:

{"outcome": id, "made_by": origin}    an outcome was committed
{"progress": state}                   the state of the running trial
{"error": id, "message": ...}         the trial could not be run; also has "failed" if a user-defined learner failed
{"fatal": message}                    the store cannot be used
{"done": seconds}                     the unit is finished

Libraries may print to standard output; the parent reports it. The worker commits outcomes itself, so they survive the
parent. When the parent has ended, the worker ends within half a second.
"""

import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from typing import Any, TextIO


def main() -> None:
    """Run units until standard input ends."""
    settings = json.loads(sys.argv[1])
    threading.Thread(target=leave_with, args=(settings["parent"],), daemon=True).start()
    answers = os.fdopen(settings["answers"], "w", encoding="utf-8")

    from .._base.errors import SparseheadError, StoreError
    from ..store import Store
    from ..train.learners.guard import ends_when_stuck
    from ..train.learners.travel import unpack

    try:
        runner = load_function(settings["runner"])
        store = Store(settings["db"], check=False)
    except Exception as error:
        message = (
            str(error) if isinstance(error, StoreError) else f"{settings['runner']} cannot be loaded: {error}"
        )
        _say(answers, {"fatal": message, "store": isinstance(error, StoreError)})
        return
    ends_when_stuck()
    with store:
        for line in sys.stdin:
            asked = json.loads(line)
            try:
                unpack(asked.get("learner"))
            except SparseheadError as error:
                _say(answers, {"fatal": str(error), "store": False})
                return
            if not _serve(asked["unit"], runner, store, settings["options"], answers):
                return


def load_function(name: str) -> Callable[..., Any]:
    """Import the function that "package.module:function" names."""
    module, _, function = name.partition(":")
    return getattr(import_module(module), function)


def _serve(
    unit: list[dict[str, Any]],
    runner: Callable[..., Any],
    store: Any,
    options: dict[str, Any],
    answers: TextIO,
) -> bool:
    """Run one unit; return False if the store has failed, so that the worker must end."""
    from .._base.errors import StoreError
    from .._base.provenance import made_by
    from ..train.spec import spec_id

    def keep(spec: Any, outcome: Any, arrays: dict[str, Any] | None) -> None:
        store.add(spec, outcome, arrays)
        _say(answers, {"outcome": spec_id(spec), "made_by": made_by(getattr(outcome, "made_by", None))})

    try:
        run_unit(unit, runner, options, keep, lambda message: _say(answers, message))
    except StoreError as error:
        _say(answers, {"fatal": str(error), "store": True})
        return False
    return True


def run_unit(
    unit: list[dict[str, Any]],
    runner: Callable[..., Any],
    options: dict[str, Any],
    keep: Callable[[Any, Any, dict[str, Any] | None], None],
    tell: Callable[[dict[str, Any]], None],
    progress_every: float = 0.2,
) -> None:
    """Run the specs of a unit: pass outcomes to `keep` and messages to `tell`; a StoreError of `keep` ends the unit."""
    from .._base.errors import LearnerError, StoreError
    from ..train.spec import TrainSpec, spec_id

    waiting = {spec_id(spec): spec for spec in (TrainSpec(**fields) for fields in unit)}
    started = last = time.monotonic()

    def on_outcome(spec: TrainSpec, outcome: Any, arrays: dict[str, Any] | None = None) -> None:
        keep(spec, outcome, arrays)
        waiting.pop(spec_id(spec), None)

    def progress(state: dict[str, Any]) -> None:
        nonlocal last
        if time.monotonic() - last >= progress_every:
            last = time.monotonic()
            tell({"progress": state})

    attempts = [list(waiting.values())]
    while attempts:
        specs = [spec for spec in attempts.pop(0) if spec_id(spec) in waiting]
        if not specs:
            continue
        try:
            runner(specs, on_outcome=on_outcome, progress=progress, **options)
        except StoreError:
            raise
        except LearnerError as error:  # this trial has failed; run the others
            waiting.pop(error.trial, None)
            tell({"error": error.trial, "message": str(error), "failed": True})
            attempts.insert(0, specs)
        except Exception as error:  # one bad spec must not affect the others: run each alone
            left = [spec for spec in specs if spec_id(spec) in waiting]
            if len(left) > 1:
                attempts = [[spec] for spec in left]
            elif left:
                message = {"message": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
                tell({"error": spec_id(left[0]), **message})
    tell({"done": time.monotonic() - started})


def _say(answers: TextIO, message: dict[str, Any]) -> None:
    try:
        answers.write(json.dumps(message, default=str) + "\n")
        answers.flush()
    except BrokenPipeError:  # the parent has ended; the outcome is committed
        os._exit(0)


def leave_with(parent: int) -> None:
    """Wait until the parent process has ended, then end this process."""
    while os.getppid() == parent:
        time.sleep(0.25)
    os._exit(0)  # the next process that opens the store rolls back an unfinished transaction


if __name__ == "__main__":
    main()
