"""Laws for bits that are flipped before the learner sees them, have a shifted mean, or depend on each other.

Three learners on functions of 3 bits: `one-step` (covariances), `greedy`, and single runs of preset `fast`. The first
two know the function and only have to find its positions.

    flipped      AND and majority of unbiased bits, each flipped with probability eta = 0, .1, .25 before it is seen
    shifted      parity of bits that are 1 with probability p = .3, .2, .1; and .5, where covariances tell nothing
    correlated   AND of bits of a chain, in which neighbours are equal with probability .75 or .9

    sparsehead reproduce --only input-laws --db /elsewhere/inputs.db --out /elsewhere/inputs
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparsehead._base.jsonable import ResultsRecord
from sparsehead._base.types import Array, Shaped
from sparsehead.laws.curves import Cell
from sparsehead.laws.rounds import trial_seed
from sparsehead.store import Store
from sparsehead.train.spec import LEARNERS, TrainSpec, preset, spec_id

from .agreement import Observed
from .law_stage import LabelledLaw, Law, Laws, LawsRecord
from .predicted import Simulated
from .stage import Experiment, full_length

FLIPS = (0.0, 0.1, 0.25)
SHIFTS = (0.5, 0.3, 0.2, 0.1)
# Name and correlation of neighbours, by sampler.
CHAINS = {"weak_chain": 0.5, "strong_chain": 0.8}


def chain(n: int, T: int, rng: np.random.Generator, *, c: float) -> Shaped[Array, "n T"]:
    """Draw n stationary chains of T unbiased bits; neighbours are equal with probability (1 + c)/2."""
    changes = (rng.random((n, T)) < (1 - c) / 2).astype(np.uint8)
    changes[:, 0] = rng.integers(0, 2, n)
    return np.asarray(np.bitwise_xor.accumulate(changes, axis=1))


def weak_chain(n: int, T: int, rng: np.random.Generator) -> Shaped[Array, "n T"]:
    """Draw bits whose neighbours have correlation .5."""
    return chain(n, T, rng, c=CHAINS["weak_chain"])


def strong_chain(n: int, T: int, rng: np.random.Generator) -> Shaped[Array, "n T"]:
    """Draw bits whose neighbours have correlation .8."""
    return chain(n, T, rng, c=CHAINS["strong_chain"])


def input_laws(
    Ts: tuple[int, ...] = (100, 300, 1000),
    trained_Ts: tuple[int, ...] = (30, 100),
    trials: int = 192,
    trained_trials: int = 40,
) -> Laws:
    """Return the laws; of preset `fast` there are few trials, since a failure takes seconds."""
    laws: dict[str, Law] = {}
    groups: dict[str, str] = {}
    settings = list(_tasks())
    names_of_shifts = [f"p = {p:g}" for p in SHIFTS if p != 0.5]
    for learner in ("one-step", "greedy", "fast"):
        for group, name, function, given, start in settings:
            label = f"{learner}, {name}"
            if given.get("p") == 0.5 and function == "parity" and learner != "fast":
                continue  # no number of samples suffices
            groups[label] = group
            plan: dict[str, Any] = {"function": function, "start": start}
            if learner == "fast":
                own = {"preset": "fast", "restarts": 1, "method": "adaptive", **given}
                # twice as many where the claim needs an upper end
                runs = trained_trials * (1 + (name in names_of_shifts))
                laws[label] = Law(label, trained_Ts, runs, own, width=0.3, most=3200, **plan)
            else:
                own = {"learner": learner, "method": "adaptive", **given}
                laws[label] = Simulated(label, Ts, trials, own, width=0.12, **plan)
    return Laws("input-laws", "Bits that are flipped, shifted or correlated", laws, groups)


def _tasks() -> Iterator[tuple[str, str, str, dict[str, Any], int]]:
    """Yield the group of a law, its name, the function, settings of the task, and a first guess at m_80."""
    for function, name in (("and", "AND"), ("majority", "maj.")):
        for eta in FLIPS:
            settings = {"p": 0.5, "feature_noise": eta}
            yield f"{name} of 3, flipped", f"{name} {eta:g}", function, settings, 60 if eta < 0.2 else 200
    for p in SHIFTS:
        yield "parity of 3, shifted", f"p = {p:g}", "parity", {"p": p}, 500 if p > 0.25 else 150
    for sampler, c in CHAINS.items():
        yield "AND of 3, chain", f"c = {c:g}", "and", {"inputs": f"{__name__}:{sampler}"}, 80


def law_of(record: LawsRecord, learner: str, name: str) -> LabelledLaw | None:
    """Return the law of a learner on a task, named as in the labels; None if it is not measured yet."""
    return next((law for law in record.laws if law.label == f"{learner}, {name}"), None)


# --- Fresh trials of a few cells ---

# Label of the law, T, m, and numbers of fresh trials at the default scale and of "quick".
SPOTS: tuple[tuple[str, int, int, tuple[int, int]], ...] = (
    ("one-step, AND 0.1", 100, 115, (48, 24)),
    ("one-step, maj. 0.25", 100, 222, (40, 24)),
    ("greedy, p = 0.2", 100, 56, (48, 24)),
    ("greedy, c = 0.8", 100, 101, (24, 12)),
    ("fast, maj. 0", 30, 51, (8, 4)),
)


@dataclass(frozen=True)
class CellsOfLaw:
    """Fresh trials of the law with this label: cells by T."""

    label: str
    cells: dict[int, list[Cell]]


@dataclass(frozen=True)
class InputCellsRecord(ResultsRecord):
    """Fresh trials of the study."""

    laws: tuple[CellsOfLaw, ...]


def fresh_cells(at: int, seed: int) -> Experiment:
    """Return the experiment with fresh trials of SPOTS; `at` is 0 for the default scale, 1 for "quick"."""
    return Experiment("input-laws", "", tuple(_fresh(at, seed)), {"input-laws": collect_cells})


def _fresh(at: int, seed: int) -> dict[TrainSpec, str]:
    """Return the specs of fresh trials, each with the label of its law."""
    plans, found = input_laws().laws, {}
    for label, T, m, trials in SPOTS:
        settings = {name: value for name, value in plans[label].settings.items() if name != "method"}
        given = {"preset": "fast", **settings, "function": plans[label].function, "s": 3, "T": T, "m": m}
        if LEARNERS[given.get("learner", "transformer")].as_drawn:
            given["unique"] = False
        for trial in range(trials[at]):
            name = str(given["preset"])
            more = full_length({key: value for key, value in given.items() if key != "preset"})
            found[preset(name, seed=trial_seed(seed, T=T, m=m, trial=trial), **more)] = label
    return found


def collect_cells(store: Store, experiment: Experiment) -> InputCellsRecord:
    """Collect fresh trials by law, T and m."""
    labels = {spec_id(replace(spec, seed=0)): label for spec, label in _fresh(0, 0).items()}
    solved: dict[str, dict[int, dict[int, list[bool]]]] = {}
    for spec, record in zip(experiment.specs, experiment.records(store), strict=True):
        cells = solved.setdefault(labels[spec_id(replace(spec, seed=0))], {}).setdefault(spec.T, {})
        cells.setdefault(spec.m, []).append(record.solved)
    laws = [
        CellsOfLaw(
            label, {T: [Cell(m, sum(won), len(won)) for m, won in cells.items()] for T, cells in by_T.items()}
        )
        for label, by_T in solved.items()
    ]
    return InputCellsRecord(tuple(laws))


def observe_cells(record: LawsRecord | InputCellsRecord) -> Observed:
    """Return the trials solved in each cell of SPOTS."""
    all_cells = {law.label: law.cells for law in record.laws}
    return {
        f"{label} solved at $T = {T}$, $m = {m}$": [True] * c.solved + [False] * (c.trials - c.solved)
        for label, T, m, _ in SPOTS
        for c in all_cells.get(label, {}).get(T, ())
        if c.m == m
    }
