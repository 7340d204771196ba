"""Protect a sweep from user-defined learners: handle their errors, limit their time, check their labels."""

import os
import random
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..._base.arguments import shown
from ..._base.errors import LearnerError
from ..._base.types import Array, Shaped
from ...functions import Predict
from ...functions.task import Sample
from ...heads.model import Model
from ..data import FreshBatches
from ..spec import LEARNERS, TrainSpec, spec_id
from ..transformer.engine import Engine

_expendable = False  # whether this process is a worker, which may end itself


def ends_when_stuck() -> None:
    """Declare this process a worker, which may end itself if a learner does not end."""
    global _expendable
    _expendable = True


@contextmanager
def own_code() -> Iterator[None]:
    """Turn any exception of the user's code into a LearnerError, whose cause keeps the traceback."""
    try:
        yield
    except LearnerError:
        raise
    except (Exception, SystemExit) as error:
        first = str(error).strip().partition("\n")[0][:300]
        raise LearnerError(
            f"the learner raised {type(error).__name__}: {first}".removesuffix(": ")
        ) from error


@contextmanager
def trial_of(spec: TrainSpec) -> Iterator[None]:
    """Limit the time of a user-defined learner in one trial, and put the trial's id into its errors."""
    try:
        with time_limit(LEARNERS[spec.learner].limit_seconds):
            yield
    except LearnerError as error:
        error.trial = spec_id(spec)
        raise


class _TimeIsUp(BaseException):
    """Raised inside a learner; not an Exception, so that the learner's `except Exception` does not catch it."""


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise a LearnerError if the body of the `with` block takes longer; None means no limit.

    In the main thread a signal interrupts the body. A worker process whose body does not react, or runs in another
    thread (as in Dask), ends itself; the sweep then starts another worker.
    """
    if seconds is None:
        yield
        return
    in_main = threading.current_thread() is threading.main_thread()
    grace_seconds = 5.0  # extra time for code outside Python, which may notice the signal late
    patience = seconds + grace_seconds if in_main else seconds
    watchdog = threading.Timer(patience, os._exit, (1,)) if _expendable else None
    if watchdog is not None:
        watchdog.daemon = True
        watchdog.start()
    before = signal.signal(signal.SIGALRM, _raise) if in_main else None
    try:
        try:
            if in_main:
                signal.setitimer(signal.ITIMER_REAL, seconds)
            yield
        finally:
            if in_main:
                signal.setitimer(signal.ITIMER_REAL, 0)
    except _TimeIsUp:
        raise LearnerError(
            f"the learner took longer than its limit of {seconds:g} s (limit_seconds)"
        ) from None
    finally:
        if in_main:
            signal.signal(signal.SIGALRM, before)
        if watchdog is not None:
            watchdog.cancel()


def _raise(*_: object) -> None:
    raise _TimeIsUp


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed the global generators of Python, numpy and torch (if it is loaded), and restore them afterwards."""
    torch = sys.modules.get("torch")
    python, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002
    state = torch.get_rng_state() if torch else None
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002
    if torch:
        torch.manual_seed(seed)
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(legacy)  # noqa: NPY002
        if torch:
            torch.set_rng_state(state)


def checked(predict: Any) -> Predict:
    """Wrap a predictor so that it raises a LearnerError unless it maps bits (n, T) to labels (n,), each 0 or 1."""
    if not callable(predict):
        raise LearnerError(f"the learner returned {shown(predict)} instead of a function of bits (n, T)")

    def labels(bits: Shaped[Array, "n T"], /) -> Shaped[Array, " n"]:
        n = len(bits)
        with own_code():
            found = np.asarray(predict(bits.copy()))
        if found.shape != (n,):
            raise LearnerError(
                f"the learner predicted an array of shape {found.shape} for {n} inputs, not ({n},)"
            )
        wrong = found[~np.isin(found, (0, 1))] if found.dtype.kind in "biuf" else found
        if len(wrong):
            raise LearnerError(f"the learner predicted {shown(wrong[0].item())}; labels are 0 or 1")
        return found.astype(np.uint8)

    return labels


class GuardedEngine:
    """Wraps an engine that runs the user's code; turns exceptions into LearnerErrors and checks the labels."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self.made_by = engine, engine.made_by

    def start(self, spec: TrainSpec, restart: int, source: Sample | FreshBatches) -> None:
        """See `Engine`."""
        with own_code():
            self._engine.start(spec, restart, source)

    def advance(self, n_steps: int) -> list[float]:
        """See `Engine`."""
        with own_code():
            return self._engine.advance(n_steps)

    def train_accuracy(self) -> float:
        """See `Engine`."""
        with own_code():
            return self._engine.train_accuracy()

    def predict(self, bits: Shaped[Array, "n T"]) -> Shaped[Array, " n"]:
        """See `Engine`."""
        return checked(self._engine.predict)(bits)

    def model(self, meta: dict[str, object]) -> Model | None:
        """See `Engine`."""
        with own_code():
            return self._engine.model(meta)
