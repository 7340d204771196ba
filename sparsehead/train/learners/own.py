"""User-defined learners: functions, estimators, `Learner` objects, and "package.module:name".

`known_learner` registers them in this process under their names in specs and stores. Their code is sent to workers
with the specs (see `travel`); it is never in a store.
"""

import copy
import inspect
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from ..._base.arguments import shown
from ..._base.errors import DomainError
from ..._base.lazy import missing_extra
from ..._base.plugins import imported
from ..._base.rng import stream
from ..._base.types import Array, Int, Shaped
from ...functions import Predict
from ...functions.task import Sample
from ..spec import LEARNERS, TrainSpec
from .guard import checked, own_code, seeded
from .learner import Learner

HOUR_SECONDS = 3600.0
TAKES = (
    "a learner is a name such as 'mlp', a function (bits, labels, rng) -> predict, a scikit-learn estimator, "
    "sh.module(..), or 'package.module:name'"
)


@runtime_checkable
class FitFunction(Protocol):
    """A learner as a function."""

    def __call__(
        self, bits: Shaped[Array, "m T"], labels: Int[Array, " m"], rng: np.random.Generator, /
    ) -> Predict:
        """Return a predictor, bits (n, T) -> labels (n,)."""


@runtime_checkable
class Estimator(Protocol):
    """A classifier with scikit-learn's interface."""

    def fit(self, X: Any, y: Any, /) -> Any:
        """Train on bits (m, T) and labels (m,)."""

    def predict(self, X: Any, /) -> Any:
        """Return labels (n,) of bits (n, T)."""


LearnerLike: TypeAlias = str | Learner | FitFunction | Estimator


@dataclass(frozen=True)
class FitByFunction:
    """A `Fit` that calls the user's function."""

    function: FitFunction

    def __call__(self, spec: TrainSpec, sample: Sample, attempt: int, /) -> Predict:
        rng = stream(spec.seed, "init", attempt)
        bits, labels = sample
        with own_code(), seeded(int(rng.integers(2**62))):
            return checked(self.function(bits.copy(), labels.copy(), rng))


def _fit_estimator(
    estimator: Any, bits: Shaped[Array, "m T"], labels: Shaped[Array, " m"], rng: np.random.Generator
) -> Predict:
    """Train a copy of the user's estimator; set each random_state in it from `rng`."""
    fresh = _copied(estimator)
    if hasattr(fresh, "get_params"):
        names = [name for name in fresh.get_params() if name.split("__")[-1] == "random_state"]
        fresh.set_params(**{name: int(rng.integers(2**31)) for name in sorted(names)})
    fresh.fit(bits.astype(float), labels)
    return lambda b: fresh.predict(b.astype(float))


def _copied(estimator: Any) -> Any:
    if not hasattr(estimator, "get_params"):
        return copy.deepcopy(estimator)
    from sklearn.base import clone

    return clone(estimator)


def learner_of(thing: Any, **more: Any) -> Learner:
    """See `Learner.of`."""
    known = [f.name for f in fields(Learner) if f.name not in ("fit", "engine", "source", "has_model")]
    for name in more.keys() - set(known):
        raise DomainError(f"Learner.of has no setting {shown(name)}; it has {', '.join(known)}.")
    if isinstance(thing, type):
        raise DomainError(f"{TAKES}; got the class {thing.__name__}, and not an object of it.")
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(thing, torch.nn.Module):
        raise DomainError(
            f"a module is made anew for each trial: sh.module(lambda T: {type(thing).__name__}(..)); got a module."
        )
    more = {"limit_seconds": HOUR_SECONDS, **more}
    if isinstance(thing, Estimator):
        return Learner(fit=FitByFunction(partial(_fit_estimator, thing)), source=(thing,), **more)
    if not callable(thing) or isinstance(thing, Learner):
        raise DomainError(f"{TAKES}; got {shown(thing)}.")
    _check_signature(thing)
    return Learner(fit=FitByFunction(thing), source=(thing,), **more)


def _check_signature(function: Any) -> None:
    """Raise if a function cannot be called as f(bits, labels, rng), or cannot return a predictor."""
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise DomainError(
            f"{TAKES}; {function.__name__} is a coroutine or a generator, and returns no predictor."
        )
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # written in C
        return
    try:
        signature.bind(0, 0, 0)
    except TypeError as error:
        name = getattr(function, "__name__", type(function).__name__)
        raise DomainError(
            f"a learner is called as f(bits, labels, rng); {name}{signature}: {error}."
        ) from None


def known_learner(given: LearnerLike) -> tuple[str, Learner]:
    """Register a learner in this process; return its name in specs, and the learner.

    Raises:
        DomainError: the object is not a learner, or its name is unknown.
        MissingExtra: its code imports a package that is not installed.
    """
    if isinstance(given, str) and ":" in given and "@" not in given:
        given = imported(given, what="learner")
        if isinstance(given, str):
            raise DomainError(f"{TAKES}; what was imported is the text {shown(given)}.")
    if not isinstance(given, str):
        learner = given if isinstance(given, Learner) else learner_of(given)
        return learner.register(), learner
    if "@" in given and given not in LEARNERS:
        raise DomainError(
            f"the code of the learner {shown(given)} is unknown, since a store keeps only names; give the function or "
            "object itself."
        )
    try:
        found: Learner = LEARNERS.find(given)
    except ModuleNotFoundError as error:
        raise missing_extra(error) from None
    return given, found


def with_learner(given: LearnerLike, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a trial together with the learner's name and the settings that the learner sets."""
    name, learner = known_learner(given)
    for twice in sorted(learner.settings.keys() & settings.keys()):
        raise DomainError(f"{twice} is given twice, in the learner and as an argument; give it once.")
    return {**learner.settings, **settings, "learner": name}


def require_learner(name: str, T: int) -> None:
    """Raise, before any trial, if the learner does not work at this context length."""
    check = LEARNERS.find(name).check
    if check is not None:
        check(T)
