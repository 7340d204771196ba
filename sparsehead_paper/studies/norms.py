"""The norms that gradient descent reaches, and the capacity bound along training.

Paper: norms-learned, bound-along-training
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from sparsehead._base.jsonable import ResultsRecord
from sparsehead.capacity.attention_stages import token_radius
from sparsehead.capacity.head_class import head_class, head_class_items
from sparsehead.capacity.items import log_capacity
from sparsehead.capacity.pricing import Pricing
from sparsehead.capacity.state_dicts import norms as norms_of
from sparsehead.construct import build
from sparsehead.functions import conjunction
from sparsehead.heads.encoding import positional
from sparsehead.store import Store

from .stage import Experiment, conjunctions


@dataclass(frozen=True)
class NormPoint:
    """A norm at T from one source ("learned", "random", "written"): median and quartiles over `runs` runs."""

    T: int
    source: str
    norm: float
    low: float | None = None
    high: float | None = None
    runs: int = 1


@dataclass(frozen=True)
class NormsRecord(ResultsRecord):
    """learned-norms.json: norms of learned heads beside those of written heads; `norm` names the norm."""

    points: tuple[NormPoint, ...]
    norm: str = "Frobenius norm of W_QK"


@dataclass(frozen=True)
class BoundPoint:
    """The capacity C = eps^2 ln N of a head at one training step, and its validation accuracy at this step."""

    step: int
    bound: float
    accuracy: float


@dataclass(frozen=True)
class BoundAlongRecord(ResultsRecord):
    """bound-training.json: the bound while one head is trained; its T and m are None if there is no such run."""

    points: tuple[BoundPoint, ...]
    T: int | None = None
    m: int | None = None


def norms(Ts: Iterable[int], seeds: int) -> Experiment:
    """Return our experiment: norms that gradient descent reaches with one head, against T.   Paper: norms-learned"""
    # 300 samples are well above the threshold at every T used
    specs = [
        spec
        for T in Ts
        for spec in conjunctions(T=T, m=300, trials=range(seeds), H=1, k=64, n_steps=500, stall=0)
    ]
    files = {"learned-norms": collect_norms, "bound-training": collect_bound}
    title = "Norms of learned heads against T"
    return Experiment("norms", title, tuple(specs), files, options={"mass_every": 10})


def collect_norms(store: Store, experiment: Experiment) -> NormsRecord:
    """Collect ||W_QK||_F B_X^2 of learned heads at success and at their first recorded step, and of written heads.

    This product bounds x W_QK z, the part of a score without biases; written heads have no biases. B_X is the norm of
    the largest token that enters the head: about sqrt(d) after a LayerNorm, sqrt 2 in written heads. Because B_X
    differs, norms of W_QK alone could not be compared. The record has medians over seeds and quartiles.
    Paper: norms-learned
    """
    found: dict[int, list[dict[str, list[float]]]] = {}
    for record in experiment.records(store):
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
    """Return ||W_QK||_F B_X^2 of the written AND of three positions."""
    model = build(conjunction((0, 1, 2), T=T), encoding=positional(T))
    return max(head.QK.frobenius for head in norms_of(model)["layer0"]) * token_radius(model) ** 2


def collect_bound(store: Store, experiment: Experiment) -> BoundAlongRecord:
    """Collect the capacity bound of one learned head, and its accuracy, at every recorded step; T is the second largest
    of the experiment.

    `bound` is C = eps^2 ln N of the class of heads with the norms at that step, in samples at eps = 1.
    Paper: bound-along-training
    """
    T = sorted({spec.T for spec in experiment.specs})[-2]
    for record in experiment.records(store):
        history = store.history(record.id)
        if record.spec["T"] != T or not record.solved or "norm_X" not in history:
            continue
        accuracy = dict(zip(history["check_step"], history["val_accuracy"], strict=True))
        points = [
            BoundPoint(int(step), capacity_at(history, i, T=T, m=record.spec["m"]), accuracy[float(step)])
            for i, step in enumerate(history["mass_step"])
        ]
        return BoundAlongRecord(tuple(points), T, record.spec["m"])
    return BoundAlongRecord(())


def capacity_at(history: Mapping[str, Sequence[float]], look: int, *, T: int, m: int) -> float:
    """Return C = eps^2 ln N of the class of heads with the norms at record number `look` of a training history.

    The norms are treated as bounds fixed in advance, so that different records can be compared.
    Paper: bound-along-training
    """
    names = {"V21": "norm_V_21", "V": "norm_V", "QK": "norm_QK", "BX": "norm_X"}
    given = head_class({key: history[name][look] for key, name in names.items()})
    return float(np.exp(log_capacity(head_class_items(given, m=m, T=T, price=Pricing("ours")))))
