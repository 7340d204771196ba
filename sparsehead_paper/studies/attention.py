"""Figure 3 right: the attention weights of one head.   Paper: attention-and"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sparsehead._base.jsonable import ResultsRecord
from sparsehead.heads.model import Model
from sparsehead.store import Store
from sparsehead.train.data import Holdout
from sparsehead.train.spec import TrainSpec
from sparsehead.train.spec import preset as preset_spec

from ..published import ATTENTION_AND
from .stage import Experiment, run_and_keep


@dataclass(frozen=True)
class AttentionRun:
    """Mean attention of one run: on each position of the support, on the whole support, on [CLS], and elsewhere."""

    seed: int
    solved: bool
    on_support: tuple[float, ...]
    total: float
    on_cls: float
    irrelevant_median: float
    irrelevant_total: float


@dataclass(frozen=True)
class AttentionRecord(ResultsRecord):
    """attention.json, attention-paper.json: `weights` has a row per input and T + 1 columns, [CLS] last."""

    weights: tuple[tuple[float, ...], ...]
    support: tuple[int, ...]
    runs: tuple[AttentionRun, ...] = ()


def attention(preset: str = "fast", seeds: int = 10) -> Experiment:
    """Return the experiment of figure 3, right: one head of width 64, 500 steps, m = 300; attention maps are stored.
    Paper: attention-and
    """
    specs = attention_specs(preset, seeds, stall=0)
    name = "attention" if preset == "fast" else f"attention-{preset}"
    title = f"Attention of one head at T = 50 (preset {preset})"
    runner = "sparsehead_paper.studies.attention:run_with_maps"
    return Experiment(name, title, tuple(specs), {name: collect_attention}, runner)


def attention_specs(preset: str, seeds: int, **settings: Any) -> list[TrainSpec]:
    """Return specs of runs with the paper's single head.   Paper: attention-and"""
    a = ATTENTION_AND
    text = " & ".join(f"x{t}" for t in a.support)
    shape = dict(H=1, k=64, n_steps=a.steps, restarts=1, keep_training=True)
    return [
        preset_spec(preset, function=text, T=a.T, m=a.m, seed=i, **shape, **settings) for i in range(seeds)
    ]


def attention_map(model: Model, spec: TrainSpec) -> dict[str, Any]:
    """Return the [CLS] attention (n, H, T+1) of a model on holdout samples.   Paper: attention-and"""
    bits, _ = Holdout(spec).chunk(0)
    return {"attention": model.attention(bits[: ATTENTION_AND.inputs])}


run_with_maps = partial(run_and_keep, attention_map)


def collect_attention(store: Store, experiment: Experiment) -> AttentionRecord:
    """Collect the mean weights of each seed, and the weights on all inputs for the first solved seed.

    Paper: attention-and
    """
    runs: list[AttentionRun] = []
    shown: list[list[float]] = []
    support = list(ATTENTION_AND.support)
    for record in experiment.records(store):
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
