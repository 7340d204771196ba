"""`learn`: train a learner on one sparse function, or on a table."""

import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext, redirect_stdout
from dataclasses import asdict
from typing import Any, Unpack, overload

from .._base.arguments import shown, whole
from .._base.errors import DomainError
from .._base.fields import check_names
from ..datasets import Dataset, dataset
from ..functions import SparseFunction, as_function
from ..functions.task import Task
from ..heads.encoding import Encoding
from ..reading import Reading, read
from ..reading.appearance import appearance
from .data import drawn_training_set
from .data_run import TableRun
from .footprint import require_trial
from .from_data import TableKeywords, learn_table
from .keywords import Settings
from .learners.guard import trial_of
from .learners.own import LearnerLike, require_learner, with_learner
from .loop import fit_at_once
from .outcome import Outcome, Run, TrialProgress
from .spec import LEARNERS, SETTINGS, TrainSpec, task_of, task_settings
from .spec import preset as preset_spec
from .transformer.engines import make_engine
from .transformer.weights import own_name
from .trial import Trial

LOOK_EVERY = 10  # steps between measurements of attention, influence and norms


class LearnKeywords(Settings, total=False):
    """The arguments of `learn` besides the function, its samples and a seed."""

    preset: str
    progress: TrialProgress | None
    record_every: int
    mass_every: int
    engine: str
    dtype: str
    device: str
    encoding: str | Encoding
    learner: LearnerLike


@overload
def learn(
    f: SparseFunction | str | Task, *, m: int, seed: int, T: int | None = None, s: int | None = None,
    **how: Unpack[LearnKeywords],
) -> Run: ...  # fmt: skip
@overload
def learn(f: Dataset, *, seed: int, **how: Unpack[TableKeywords]) -> TableRun: ...
@overload
def learn(f: Any, y: Any, *, seed: int, **how: Unpack[TableKeywords]) -> TableRun: ...
def learn(
    f: Any,
    y: Any = None,
    *,
    seed: int,
    m: int | None = None,
    T: int | None = None,
    s: int | None = None,
    preset: str = "",
    progress: TrialProgress | None = None,
    record_every: int = 0,
    mass_every: int = LOOK_EVERY,
    engine: str = "auto",
    dtype: str = "float32",
    device: str = "cpu",
    encoding: str | Encoding = "trainable",
    learner: LearnerLike = "transformer",
    **settings: Any,
) -> Run | TableRun:
    """Train on m samples of f until validation accuracy exceeds the target, or the restarts are spent.

    Or train on the rows of a table, `learn(X, y, seed=..)`, and find a formula in the names of its columns.

    Args:
        f: the function; or an expression together with T; or a family such as "and" together with T and s; or a `Task`,
            which has its own distribution of inputs and noise. For a table: an array of bits, a data frame, the path of
            a file (each with y), or a `dataset`.
        y: the labels of a table, or the name of their column; further arguments are then those of `learn_table`.
        m, seed: number of training samples (of each step with online=True); the seed determines all random streams.
        preset: "fast" (no dropout), "paper", "literal", "mingpt" or "best": see `spec.preset`.
        progress: called after every check with the trial's state (see `Trial.state`).
        record_every, mass_every: steps between recorded losses (0: at checks), and between measurements of attention,
            influence and norms (0: only at the end).
        engine, dtype, device: "auto" takes the compiled engine if it can train the spec, otherwise torch.
        encoding: "trainable", "random", "positional", "bag", or a user-defined `Encoding`, which stays fixed and
            determines d.
        learner: by default this library's Transformer; a name of `spec.LEARNERS`, a function
            `(bits, labels, rng) -> predict`, a scikit-learn estimator, `module(..)`, or "package.module:name".
        settings: any other field of `TrainSpec`; `keywords.Settings` lists them.
    Returns:
        A `Run`, whose model is that of the last restart; its status says whether the function was learned. For a table
        a `TableRun`, whose `.reading` has formula, agreement on held-out rows and Occam bound.
    Raises:
        LearnerError: a user-defined learner raised an exception, took too long, or returned no labels.
    Paper: law-and

    >>> run = learn("x1 & x4", T=12, m=200, seed=3, n_steps=200)
    >>> run.solved, run.model
    (True, <Model: 1 layer of 16 heads, T=12, d=64; from learn: x1 & x4>)
    """
    how: dict[str, Any] = {"engine": engine, "dtype": dtype, "device": device}
    if y is not None or isinstance(f, Dataset):
        given = {"m": m, "T": T, "s": s}
        settings |= {name: value for name, value in given.items() if value is not None}
        settings |= {} if learner == "transformer" else {"learner": learner}
        return learn_table(
            dataset(f, y), seed=seed, preset=preset or "best", progress=progress, how=how,
            **{"encoding": encoding, **settings},
        )  # fmt: skip
    if m is None:
        raise DomainError(
            "learn needs m (--m), the number of training samples; or a table: learn(X, y, seed=..)."
        )
    if isinstance(f, Task):
        f, settings = f.f, {**_of_task(f, settings), **settings}
    if isinstance(f, str) and T is None:
        raise DomainError(f"learn needs the context length T together with the expression {f!r}.")
    length = T if isinstance(f, str) else as_function(f, T, asker="learn").T
    check_names(settings, {name: SETTINGS[name] for name in SETTINGS if name != "function"}, what="learn")
    own = encoding if isinstance(encoding, Encoding) else None
    if own is not None:
        if length != own.T:
            raise DomainError(f"the encoding has T={own.T} positions, the function reads T={length} bits.")
        settings["d"] = own.d
    named = encoding if isinstance(encoding, str) else own_name(encoding)
    everything = with_learner(learner, settings)
    spec = preset_spec(
        preset or "fast", function=str(f), T=length, s=s, m=m, seed=seed, encoding=named, **everything
    )
    require_learner(spec.learner, spec.T)
    return learn_spec(
        spec, progress=progress, record_every=record_every, mass_every=mass_every, own=own, **how
    )


def _of_task(task: Task, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that a task determines; raise if one of them is also given as an argument."""
    own = {name: value for name, value in task_settings(task).items() if name not in ("function", "T")}
    for name in own.keys() & settings.keys():
        raise DomainError(f"the task determines {name}; leave out {name}={shown(settings[name])}.")
    return own


def learn_spec(
    spec: TrainSpec,
    *,
    progress: TrialProgress | None = None,
    record_every: int = 0,
    mass_every: int = LOOK_EVERY,
    engine: str = "auto",
    dtype: str = "float32",
    device: str = "cpu",
    own: Encoding | None = None,
    watch: Callable[[Trial], None] | None = None,
) -> Run:
    """Run `learn` for an existing spec; `own` is the encoding that the spec names, if it was given as an object.

    `watch` is called after every check with the trial itself, which shows more than its state.
    """
    whole("record_every", record_every, least=0)
    whole("mass_every", mass_every, least=0)
    if progress is not None and not callable(progress):
        raise DomainError(f"progress is a function of the trial's state; got {shown(progress)}.")
    require_trial(spec, dtype=dtype)
    learner = LEARNERS[spec.learner]
    # Output that a user-defined learner prints must not mix with the printed result.
    out = nullcontext() if LEARNERS.is_builtin(spec.learner) else redirect_stdout(sys.stderr)
    with trial_of(spec), out:
        if learner.fit is not None:
            outcome, predict = fit_at_once(spec, learner)
            return Run(spec, outcome, None, predict)
        made = make_engine(spec, engine=engine, dtype=dtype, device=device, own=own)
        trial = Trial(spec, made, record_every=record_every, mass_every=mass_every)
        return Run(spec, trial.run(progress, watch), trial.model(), made.predict)


def read_back(run: Run, *, delta: float = 0.05) -> Reading | None:
    """Read the function that the trained model computes: call `read` with the run's training set and share of ones.

    A user's learner is read from its predictions if all bits have the same probability of a one. Return None for other
    learners without a model, and for weights that are not finite. With online=True there is no training set, and the
    reading has no certificate.   Paper: read-junta
    """
    p = task_of(run.spec).shared_p
    shipped = LEARNERS.is_builtin(run.spec.learner)
    predict = None if shipped or p is None else run.predict
    examples, draws = (None, None) if run.spec.online else drawn_training_set(run.spec)
    known: dict[str, Any] = {"seed": run.spec.seed, "p": p, "data": examples, "draws": draws, "delta": delta}
    if run.model is not None:
        return read(run.model, **known)
    return None if predict is None else read(predict, T=run.spec.T, **known)


def outcome_values(outcome: Outcome, reading: Reading | None) -> dict[str, Any]:
    """Return a trial's outcome and the reading of its model, as `sparsehead learn --json` prints them."""
    appeared = appearance(outcome.history)
    # A run that ends before its first check has no accuracies; they are stored as 0.0.
    measured = outcome.val_accuracy > 0 or bool(outcome.history.get("check_step"))
    return {
        "solved": outcome.solved,
        "status": outcome.status,
        "steps": outcome.steps,
        "seconds": round(outcome.seconds, 3),
        "train_accuracy": outcome.train_accuracy if measured else None,
        "val_accuracy": outcome.val_accuracy if measured else None,
        "support_mass": outcome.support_mass,
        "appearance": None if appeared is None else asdict(appeared),
        "restarts_used": outcome.restarts_used,
        "made_by": outcome.made_by,
        "reading": None if reading is None else reading.to_dict(),
    }
