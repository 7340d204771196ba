"""How a cluster of 10^3 workers would spend its time: a model of steps, trials and the client, and a schedule by it.

Its constants are fitted to results/engine.json and results/scale.json; `scale.py simulate` prints its table.
"""

import heapq
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sparsehead._base.memory import text_of
from sparsehead._base.rng import stream
from sparsehead.sweep.units import MOST_TRIALS, unit_seconds

RESULTS = Path(__file__).parents[1] / "results"
LENGTHS = (100, 300, 1000, 3000, 10**4, 3 * 10**4, 10**5, 3 * 10**5, 10**6, 3 * 10**6, 10**7)
SHARE = 0.8  # of trials that succeed at m_80
MOST_STEPS = 5000.0  # five initialisations of a thousand
DAY = 86_400.0
# Trials of the committed law-decades, with m at their thresholds: 41 and 77 minutes.
COMMITTED = [
    {"T": 30_000, "m": 143, "trials": 56, "seconds": 41 * 60 / 56},
    {"T": 100_000, "m": 164, "trials": 24, "seconds": 77 * 60 / 24},
]


def samples(T: int) -> int:
    """Samples near the threshold of AND of 3 bits, as `experiments.times` takes them."""
    return round(15 * math.log(T))


@dataclass(frozen=True)
class Model:
    """The measured constants.

    Args:
        step: seconds of a training step as coefficients of 1, m, m T and T.
        steps: steps of a whole trial near its threshold as (at T = 100, exponent in T).
        unit: seconds of the client for each unit. outcome: for each outcome.
        size: bytes of an outcome in the store.
    """

    step: tuple[float, float, float, float]
    steps: tuple[float, float]
    unit: float
    outcome: float
    size: float

    def step_seconds(self, T: float, m: float) -> float:
        """Of one training step on one core."""
        a, b, c, d = self.step
        return a + b * m + c * m * T + d * T

    def trial_seconds(self, T: float, m: float) -> float:
        """Expected time of a trial near its threshold."""
        return min(MOST_STEPS, self.steps[0] * (T / 100) ** self.steps[1]) * self.step_seconds(T, m)


def fit_model() -> Model:
    """The model through results/engine.json (steps) and results/scale.json (the rest)."""
    engine, scale = (json.loads((RESULTS / name).read_text()) for name in ("engine.json", "scale.json"))
    rows = engine["growth"]["T"] + engine["growth"]["m"]
    rows += [
        row for row in engine.get("before", ()) if not row["dropout"]
    ]  # which has the short context lengths
    T, m, seconds = (np.array([row[name] for row in rows], float) for name in ("T", "m", "ms"))
    seconds /= 1000
    features = np.stack([np.ones_like(T), m, m * T, T], axis=1)
    step = _positive(features / seconds[:, None])  # relative errors count
    tried = scale["trials"]
    alone = Model(step, (0.0, 0.0), 0.0, 0.0, 0.0)
    steps = [row["seconds"] / alone.step_seconds(row["T"], row["m"]) for row in tried]
    exponent, first = np.polyfit(np.log([row["T"] / 100 for row in tried]), np.log(steps), 1)
    overhead = scale["overhead"]
    outcome = overhead["dask_in_units"]["cpu"]
    return Model(
        step=step,
        steps=(float(np.exp(first)), float(exponent)),
        unit=overhead["dask_one_by_one"]["cpu"] - outcome,
        outcome=outcome,
        size=overhead["bytes_per_outcome"],
    )


def _positive(features: np.ndarray) -> tuple[float, float, float, float]:
    """Least squares of features x = 1 with x >= 0."""
    from scipy.optimize import nnls

    a, b, c, d = nnls(features, np.ones(len(features)))[0]
    return float(a), float(b), float(c), float(d)


@dataclass(frozen=True)
class Schedule:
    """How a simulated sweep went.

    Args:
        seconds: from the first unit to the last commit. work: core-seconds of the trials.
        busy: share of the workers' time that went into trials. client: share of the client's time in use.
    """

    seconds: float
    work: float
    busy: float
    client: float
    outcomes: int


def simulate(trials: Sequence[float], workers: int, model: Model, unit: float) -> Schedule:
    """Hand out `trials` (seconds each) in their order in units of about `unit` seconds, as `dispatch` does.

    The client is one server: it spends model.unit on each unit and model.outcome on each outcome, in turn, and a worker
    waits for it. (Workers with short units hold one more ahead of time, which hides a part of that.)
    """
    client = used = end = 0.0
    free = [(0.0, worker) for worker in range(workers)]
    given = 0
    while given < len(trials):
        at, worker = heapq.heappop(free)
        left = len(trials) - given
        size = max(1, min(int(unit / trials[given]), -(-left // workers), MOST_TRIALS, left))
        taken = trials[given : given + size]
        given += size
        serve = model.unit + model.outcome * size
        client = max(at, client) + serve
        used += serve
        done = client + sum(taken)
        end = max(end, done)
        heapq.heappush(free, (done, worker))
    work = float(sum(trials))
    return Schedule(end, work, work / (workers * end), used / end, len(trials))


def law_trials(model: Model, count: int, lengths: Sequence[int], *, longest_first: bool) -> list[float]:
    """Seconds of `count` trials at each context length; initialisations are drawn, at most five each."""
    rng = stream(0, "scale")
    each = 1 - (1 - SHARE) ** (1 / 5)  # an initialisation succeeds
    expected = SHARE / each
    found: list[float] = []
    for T in sorted(lengths, reverse=longest_first):
        tries = np.minimum(rng.geometric(each, size=count), 5)
        found += [float(n) / expected * model.trial_seconds(T, samples(T)) for n in tries]
    return found


def in_rounds(trials: Sequence[float], rounds: int, workers: int, model: Model, unit: float) -> float:
    """Seconds where each round waits for the one before: `trials` dealt out to the rounds in turn."""
    parts = [list(trials[i::rounds]) for i in range(rounds)]
    return sum(simulate(part, workers, model, unit).seconds for part in parts)


def table(model: Model) -> Iterator[str]:
    """The lines that docs/scale.md prints."""
    yield f"{'T':>9} {'m':>4} {'step':>8} {'trial':>8} {'500 trials':>12}"
    for T in LENGTHS:
        m = samples(T)
        step, trial = model.step_seconds(T, m), model.trial_seconds(T, m)
        yield f"{T:>9} {m:>4} {_short(step):>8} {_short(trial):>8} {500 * trial / 3600:>7.3g} hours"
    yield ""
    yield f"{'law to T = 10^7, 500 trials a point':36} {'workers':>8} {'takes':>8} {'busy':>6} {'client':>7}"
    for workers in (100, 1000, 10_000):
        for first, name in ((False, "short T first"), (True, "long T first")):
            trials = law_trials(model, 500, LENGTHS, longest_first=first)
            yield _line(name, simulate(trials, workers, model, unit_seconds(workers)), workers)
    trials = law_trials(model, 500, LENGTHS, longest_first=True)
    rounds = in_rounds(trials, 8, 1000, model, unit_seconds(1000))
    yield f"{'long T first, in 8 rounds':36} {1000:>8} {_short(rounds):>8}"
    yield ""
    yield f"{'10^5 trials of 1 s':36} {'workers':>8} {'takes':>8} {'busy':>6} {'client':>7}"
    for workers in (10, 100, 1000):
        for unit in sorted({0.5, unit_seconds(workers)}):
            name = f"units of {max(1.0, unit):g} s"
            yield _line(name, simulate([1.0] * 10**5, workers, model, unit), workers)
    yield ""
    yield f"store: {text_of(1e6 * model.size)} for 10^6 outcomes"
    yield f"client: at most {1 / model.unit:.0f} units and {1 / model.outcome:.0f} outcomes a second"


def _line(name: str, found: Schedule, workers: int) -> str:
    return f"{name:36} {workers:>8} {_short(found.seconds):>8} {found.busy:>6.0%} {found.client:>7.1%}"


def _short(seconds: float) -> str:
    """A time with its unit.

    >>> _short(0.0031), _short(12), _short(5400), _short(200_000)
    ('3.1 ms', '12 s', '1.5 h', '2.3 d')
    """
    for least, scale, name in ((2 * DAY, DAY, "d"), (3600, 3600.0, "h"), (600, 60.0, "min"), (1, 1.0, "s")):
        if seconds >= least:
            return (
                f"{seconds / scale:.2g} {name}" if seconds / scale < 100 else f"{seconds / scale:.0f} {name}"
            )
    return f"{1000 * seconds:.3g} ms"
