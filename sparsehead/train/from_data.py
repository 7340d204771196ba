"""Learn from a table: train a head on its rows, and use it to find a formula."""

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .._base.arguments import real, whole
from .._base.errors import DomainError
from .._base.fields import check_names
from .._base.rng import stream
from .._base.types import Array, Shaped
from ..datasets import Dataset
from ..functions.task import Sample
from ..heads.model import Model
from ..reading.examples import copies
from ..reading.occam import occam_bound
from ..reading.queries import Oracle
from ..reading.sampling import agreement_of
from .data_run import TableReading, TableRun
from .footprint import require_trial
from .formulas import better_than_constants, filled, least_bound, rank_columns
from .keywords import Settings
from .outcome import TrialProgress
from .rivals import rivals_of
from .spec import SETTINGS, TrainSpec
from .spec import preset as preset_spec
from .transformer.engines import make_engine


class TableKeywords(Settings, total=False):
    """The arguments of `learn` besides a table and a seed."""

    preset: str
    held_out: float
    most: int
    delta: float
    progress: TrialProgress | None
    engine: str
    dtype: str
    device: str
    encoding: str


def learn_table(
    data: Dataset,
    *,
    seed: int,
    preset: str = "best",
    held_out: float = 0.2,
    most: int = 6,
    delta: float = 0.05,
    progress: TrialProgress | None = None,
    how: Mapping[str, Any] | None = None,
    **settings: Any,
) -> TableRun:
    """Train a head on the rows of a table, and use it to find a formula in few columns.

    Args:
        seed: determines the split of the rows and the initialisations.
        preset, settings: the head and its training, as in `learn`; by default 3 restarts of 1000 steps.
        held_out: the share of rows that neither training nor the choice of the formula uses.
        most: largest number of columns in the formula, up to 8.
        delta: probability that the bound or the comparison with constants is wrong.
        how: engine, dtype and device, as in `learn`.
    """
    started = time.perf_counter()
    whole("seed", seed, least=0)
    real("held_out", held_out, above=0, below=0.9)
    real("delta", delta, above=0, below=1)
    if whole("most", most) > 8:
        raise DomainError(f"most is a number of columns from 1 to 8, got {most}.")
    numbers, others = split_rows(data, held_out, seed)
    seen, kept = data.rows(numbers), data.rows(others)
    spec, model, steps, restart = best_head(seen, seed, preset, settings, progress, how or {})
    ranked = rank_columns(model, seen[0])
    f, unseen = filled(least_bound(seen, list(ranked), most=most, delta=delta), model, seen[0])
    whole_table = data.bits, data.labels
    certificate = replace(
        occam_bound(f, *whole_table, delta=delta), assumed="independent rows of one distribution"
    )
    why = copies(data.bits)
    reading = TableReading(
        function=f,
        formula=data.formula(f),
        agreement=agreement_of(int((f(kept[0]) == kept[1]).sum()), len(kept[1])),
        with_head=agreement_of(int((f(kept[0]) == Oracle(model)(kept[0])).sum()), len(kept[1])),
        certificate=certificate,
        better=better_than_constants(f, whole_table, delta=delta),
        unseen=unseen,
        flips={data.names[t]: share for t, share in ranked.items()},
        notes=() if why is None else (f"The bound assumes independent rows, and {_or_related(why)}.",),
    )
    rivals = rivals_of(data, numbers, others, seed=seed)
    return TableRun(data, spec, model, reading, rivals, steps, restart, time.perf_counter() - started)


def _or_related(why: str) -> str:
    """Return the note `why` on equal rows with its causes: rows were copied, or columns depend on each other."""
    return f"{why.removesuffix(', so they are not independent')}: they were copied, or columns depend on each other"


def split_rows(
    data: Dataset, held_out: float, seed: int
) -> tuple[Shaped[Array, " seen"], Shaped[Array, " kept"]]:
    """Return the numbers of the seen and of the held-out rows, both in random order."""
    order = stream(seed, "rows").permutation(data.m)
    n = max(1, round(held_out * data.m))
    seen, kept = order[n:], order[:n]
    if len(np.unique(data.labels[seen])) < 2 or len(seen) < 10:
        raise DomainError(
            f"of {data.m} rows {n} are held out, and the other {len(seen)} are too few or have one label only; hold "
            "out fewer, or give more rows."
        )
    return seen, kept


def best_head(
    seen: Sample, seed: int, preset: str, settings: Mapping[str, Any], progress: TrialProgress | None,
    how: Mapping[str, Any],
) -> tuple[TrainSpec, Model, int, int]:  # fmt: skip
    """Train on 4/5 of the rows; return the spec, and the head that is best on the other rows, its step and restart."""
    # Settings that a table determines, or that make sense only if fresh samples can be drawn.
    not_for_tables = ("function", "T", "m", "s", "p", "noise", "feature_noise", "inputs", "unique", "online", "learner",
                  "holdout", "target", "keep_training", "stall", "least_lean")  # fmt: skip
    for name in settings:
        if name in not_for_tables:
            raise DomainError(
                f"{name} ({SETTINGS[name].option}) is for a function; a table already has rows, columns and labels."
            )
    check_names(settings, SETTINGS, what="learn")
    bits, labels = seen
    validation_rows = 5  # one in this many rows is used to choose when training stops
    checked = np.arange(len(labels)) % validation_rows == 0
    sample, check = (bits[~checked], labels[~checked]), (bits[checked], labels[checked])
    own = {"n_steps": 1000, "restarts": 3, "least_lean": 0.0, **settings}
    spec = preset_spec(preset, function="0", T=bits.shape[1], m=len(sample[1]), seed=seed, **own)
    require_trial(spec, dtype=how.get("dtype", "float32"))
    engine = make_engine(spec, **how)
    best: tuple[float, Model | None, int, int] = (-1.0, None, 0, 0)
    patience_steps = 200  # a restart ends after this many steps without a better check
    for restart in range(spec.restarts):
        engine.start(spec, restart, sample)
        step, last, here = 0, 0, -1.0
        while step < spec.n_steps and step - last < patience_steps:
            losses = engine.advance(min(spec.check_every, spec.n_steps - step))
            step += len(losses)
            if not losses or not math.isfinite(losses[-1]):
                break
            accuracy = share_right(engine.predict(check[0]), check[1])
            if accuracy > here:
                here, last = accuracy, step
            if accuracy > best[0]:
                meta = {"made_by": "learn", "seed": seed, "restart": restart, "steps": step}
                best = (accuracy, engine.model(meta | engine.made_by), step, restart + 1)
            if progress is not None:
                progress(_state(spec, restart, step, losses[-1], here))
    if best[1] is None:
        raise DomainError(
            "training diverged from every initialisation; use a smaller learning_rate (--learning-rate)."
        )
    return spec, best[1], best[2], best[3]


def share_right(answers: Shaped[Array, " n"], labels: Shaped[Array, " n"]) -> float:
    """The share of answers that equal their labels."""
    return float((answers == labels).mean())


def _state(spec: TrainSpec, restart: int, step: int, loss: float, accuracy: float) -> dict[str, Any]:
    """The state of training for a progress display; see `Trial.state`."""
    return {"restart": restart, "restarts": spec.restarts, "step": step, "n_steps": spec.n_steps, "loss": loss,
            "val_accuracy": accuracy, "seconds": 0.0}  # fmt: skip
