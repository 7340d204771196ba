"""Store -> the records that charts and verdicts are made of. Nothing is run here; what is missing is left out."""

from statistics import median

import numpy as np

from sparsehead.capacity.attention_stages import token_radius
from sparsehead.capacity.state_dicts import norms as norms_of
from sparsehead.capacity.trajectory import bounds_along
from sparsehead.construct import build
from sparsehead.functions import conjunction
from sparsehead.heads.encoding import positional
from sparsehead.store import Record, Store
from sparsehead.train.loop import origin_of
from sparsehead.train.spec import spec_id

from ..published import ATTENTION_AND, PARITY
from .falls import learned_step
from .plans import Experiment
from .records import (
    AccuracyPoint,
    AttentionRecord,
    AttentionRun,
    BoundPoint,
    BoundRecord,
    CurvesRecord,
    CurveTrial,
    DropoutRecord,
    DropoutRun,
    LossPoint,
    NormPoint,
    NormsRecord,
    ParityRecord,
    ParityRun,
)


def known_records(store: Store, experiment: Experiment) -> list[Record]:
    """The experiment's records that the store holds, in the plan's order."""
    found = store.find(experiment.specs, origin_of)
    return [found[key] for key in map(spec_id, experiment.specs) if key in found]


def curves(store: Store, experiment: Experiment) -> CurvesRecord:
    """Validation curves, and for each trial whether and when it was solved.

    The curve of a trial is that of its solving run, or else of its best.   Paper: curves-and
    """
    points: list[AccuracyPoint] = []
    trials: list[CurveTrial] = []
    for i, record in enumerate(known_records(store, experiment)):
        m, history = record.spec["m"], store.history(record.id)
        points += [
            AccuracyPoint(m, i, int(step), round(accuracy, 4))
            for step, accuracy in zip(history["check_step"], history["val_accuracy"], strict=True)
        ]
        trials.append(
            CurveTrial(m, record.solved, record.outcome["steps"], float(max(history["train_accuracy"])))
        )
    return CurvesRecord(experiment.specs[0].T, tuple(points), tuple(trials))


def attention(store: Store, experiment: Experiment) -> AttentionRecord:
    """Maps of the one-head runs: per seed the mean weights, and all inputs of the first solved seed.

    Paper: attention-and
    """
    runs: list[AttentionRun] = []
    shown: list[list[float]] = []
    support = list(ATTENTION_AND.support)
    for record in known_records(store, experiment):
        weights = store.arrays(record.id).get("attention")
        if weights is None:
            continue
        mean = weights.mean(axis=(0, 1))
        rest = np.delete(mean[:-1], support)
        runs.append(
            AttentionRun(
                seed=record.spec["seed"],
                solved=record.solved,
                on_support=tuple(mean[support].tolist()),
                total=float(mean[support].sum()),
                on_cls=float(mean[-1]),
                irrelevant_median=float(np.median(rest)),
                irrelevant_total=float(rest.sum()),
            )
        )
        if not shown and record.solved:
            shown = weights[:, 0].round(6).tolist()
    return AttentionRecord(tuple(map(tuple, shown)), tuple(support), tuple(runs))


def parity(store: Store, experiment: Experiment) -> ParityRecord:
    """Loss curves, and for each run when its loss passed the paper's level (None: never).

    `first_below` is the first step below it, which is what the paper's figure shows; `learned` the step from which the
    smoothed loss stays below, which a passing dip does not move.   Paper: parity-curves
    """
    points: list[LossPoint] = []
    runs: list[ParityRun] = []
    for record in known_records(store, experiment):
        T, seed = record.spec["T"], record.spec["seed"]
        history = store.history(record.id)
        steps, losses = history["step"], history["loss"]
        below = next((int(s) for s, loss in zip(steps, losses) if loss < PARITY[0].level), None)
        runs.append(ParityRun(T, seed, below, learned_step(steps, losses, PARITY[0].level)))
        keep = range(0, len(steps), 5)
        points += [LossPoint(T, seed, int(steps[i]), round(losses[i], 4)) for i in keep]
    return ParityRecord(tuple(points), tuple(runs))


def dropout(store: Store, experiment: Experiment) -> DropoutRecord:
    """Runs with and without dropout on the same data.   Paper: dropout-cost"""
    runs = [
        DropoutRun(record.spec["dropout"], record.spec["seed"], record.solved, record.outcome["steps"])
        for record in known_records(store, experiment)
    ]
    return DropoutRecord(experiment.specs[0].T, experiment.specs[0].m, tuple(runs))


def learned_norms(store: Store, experiment: Experiment) -> NormsRecord:
    """||W_QK||_F B_X^2 of learned heads at success and at their first recorded step, and of written heads.

    It bounds x W_QK z, the part of a score that no bias enters; written heads have no biases. B_X is the norm of the
    largest token that the head sees: about sqrt(d) behind a LayerNorm, sqrt 2 where tokens are written down. The norms
    alone could not be compared. Medians over seeds, with the range of the middle half.
    Paper: norms-learned
    """
    found: dict[int, list[dict[str, list[float]]]] = {}
    for record in known_records(store, experiment):
        history = store.history(record.id)
        if record.solved and history.get("norm_X"):
            found.setdefault(record.spec["T"], []).append(history)
    points: list[NormPoint] = []
    for T, histories in sorted(found.items()):
        ranges = [[qk * x**2 for qk, x in zip(h["norm_QK"], h["norm_X"], strict=True)] for h in histories]
        points += [
            _quartiles(T, "learned", [along[-1] for along in ranges]),
            _quartiles(T, "random", [along[0] for along in ranges]),
            _quartiles(T, "written", [_written(T)]),
        ]
    return NormsRecord(tuple(points), "score bound ||W_QK||_F B_X^2")


def _quartiles(T: int, source: str, values: list[float]) -> NormPoint:
    low, high = np.quantile(values, [0.25, 0.75])
    return NormPoint(T, source, float(median(values)), float(low), float(high), len(values))


def _written(T: int) -> float:
    """The same of the written AND of three positions."""
    model = build(conjunction((0, 1, 2), T=T), encoding=positional(T))
    return max(head.QK.frobenius for head in norms_of(model)["layer0"]) * token_radius(model) ** 2


def bound_along(store: Store, experiment: Experiment, *, T: int) -> BoundRecord:
    """The capacity bound of one learned head at every recorded step, beside its accuracy.

    `bound` is the samples C = eps^2 ln N at eps = 1 that the norms stand for.   Paper: bound-along-training
    """
    for record in known_records(store, experiment):
        history = store.history(record.id)
        if record.spec["T"] != T or not record.solved or "norm_X" not in history:
            continue
        accuracy = dict(zip(history["check_step"], history["val_accuracy"], strict=True))
        records = [
            {"step": step, "V21": v21, "V": v, "QK": qk, "BX": bx}
            for step, v21, v, qk, bx in zip(
                history["mass_step"],
                history["norm_V_21"],
                history["norm_V"],
                history["norm_QK"],
                history["norm_X"],
            )
        ]
        along = bounds_along(records, T=T, m=record.spec["m"])
        points = [
            BoundPoint(int(b.step), float(np.exp(b.log_capacity)), accuracy[float(b.step)]) for b in along
        ]
        return BoundRecord(tuple(points), T, record.spec["m"])
    return BoundRecord(())
