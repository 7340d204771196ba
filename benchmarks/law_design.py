"""What the law costs by the joint design and by each T alone, and whether the intervals cover: simulated experiments.

    python benchmarks/law_design.py --workers 2 --out results/law-design.json                  (about a minute)
    python benchmarks/law_design.py --workers 2 --coverage 1000 --out results/law-design.json   (ten minutes)

Trials on the paper's 18 context lengths succeed by the curve that was fitted to results/law-cells.csv. "adaptive" is
version 0.1's design with its defaults: every T alone, width .25, at most 160 trials. "joint" measures all T together
until each interval is at most as wide as the one committed in results/law.csv. A trial costs its initialisations,
drawn from its probability of success, times SETUP + T m (see `measure.joint`). The whole of training is in that
formula; an end-to-end check is

    time sparsehead law and --s 3 --T 100,150,200,250,300,350,400,450,500,550,600,650,700,750,800,900,1000,1100 \\
        --method joint --width 0.195 --trials 400 --db joint.db

beside the same line with `--method adaptive --width 0.25 --trials 160 --db adaptive.db`.
"""

import argparse
import csv
import json
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sparsehead._base.files import write_whole
from sparsehead._base.rng import stream
from sparsehead.laws import Adaptive, Cell, Joint, Threshold, fit_laws, fitted, law_value
from sparsehead.laws.curves import LAPSE, offset
from sparsehead.laws.joint import LAW_CAUTION, RESTARTS, SETUP
from sparsehead.laws.rounds import each_alone

RESULTS = Path(__file__).parents[1] / "results"
SLOPE = 5.0  # of success in ln m, as fitted to the committed trials
LAWS = {
    "log": ("log", 3.95, 10.06),  # fitted to the committed trials, like the next two
    "power": ("power", 24.4, 0.161),
    "linear": ("linear", 53.2, 0.0228),
    "steep log": ("log", -98.65, 29.65),  # the paper's
}
TRUTHS = (*LAWS, "kink")


def threshold(truth: str, T: int) -> float:
    """The true m_80; "kink" is constant up to T = 400 and grows like the root of T from there."""
    return 52.0 * max(1.0, T / 400) ** 0.5 if truth == "kink" else law_value(*LAWS[truth], T)


def committed() -> list[dict[str, str]]:
    """The rows of results/law.csv: T, low, high, floor, .."""
    with (RESULTS / "law.csv").open() as file:
        return list(csv.DictReader(file))


def policies(method: str) -> dict[int, Adaptive]:
    """By T: what is asked for. The floor keeps trials from sample sizes far below it, as in `law`."""
    found = {}
    for row in committed():
        width = math.log(float(row["high"]) / float(row["low"]))
        own = {"width": width, "max_trials": 400} if method == "joint" else {}
        found[int(row["T"])] = Adaptive(m_min=round(0.8 * int(row["floor"])), **own)
    return found


def chance(m: int, m80: float) -> float:
    """The probability that a trial succeeds."""
    return (1 - LAPSE) / (1 + math.exp(-(SLOPE * math.log(m / m80) + offset(0.8))))


def cost(T: int, m: int, share: float, n: int, solved: int, rng: np.random.Generator) -> float:
    """What n trials cost of which `solved` succeed: a trial ends with its first initialisation that does."""
    each = -math.expm1(math.log1p(-share) / RESTARTS)
    ends = each * (1 - each) ** np.arange(RESTARTS)
    used = rng.multinomial(solved, ends / ends.sum()) @ np.arange(1, RESTARTS + 1)
    return float(used + RESTARTS * (n - solved)) * (SETUP + T * m)


def run(
    truth: str, propose: Callable[..., Mapping[int, Sequence[tuple[int, int]]]], rng: np.random.Generator
) -> tuple[dict[int, list[Cell]], float]:
    """Rounds of simulated trials until nothing more is proposed; the cells and what they cost."""
    cells: dict[int, list[Cell]] = {}
    total = 0.0
    while any((wanted := propose(cells)).values()):
        for T, batches in wanted.items():
            for m, n in batches:
                share = chance(m, threshold(truth, T))
                solved = int(rng.binomial(n, share))
                cells.setdefault(T, []).append(Cell(m, solved, n))
                total += cost(T, m, share, n, solved, rng)
    return cells, total


def experiment(method: str, truth: str, i: int) -> dict[str, Any]:
    """One law: cost, trials, widths over those asked for, which thresholds and parameters are covered."""
    asked, rng = policies(method), stream(0, "law design", method, truth, i)
    joint = Joint(asked)
    cells, total = run(truth, joint.propose if method == "joint" else each_alone(asked), rng)
    found = joint.thresholds(cells) if method == "joint" else {T: fitted(cells[T], T=T) for T in asked}
    return {
        "cost": total,
        "trials": sum(t.trials for t in found.values()),
        "widest": max(found[T].log_width / asked[T].width for T in asked) if method == "joint" else None,
        "thresholds": [_covers(found[T], threshold(truth, T)) for T in asked],
        **(_law_covered(truth, cells, method) if truth in LAWS else {}),
    }


def _covers(found: Threshold, m80: float) -> bool:
    return found.low is not None and found.high is not None and found.low <= m80 <= found.high


def _law_covered(truth: str, cells: Mapping[int, Sequence[Cell]], method: str) -> dict[str, Any]:
    """Whether the law's intervals hold the truth, and how wide that of b is."""
    law, a, b = LAWS[truth]
    caution = LAW_CAUTION if method == "joint" else 1.0
    intervals = fit_laws(cells, laws=[law], caution=caution).fits[law].intervals
    ends = intervals["b"]
    covered: dict[str, Any] = {"width of b": math.inf if None in ends else ends[1] - ends[0]}
    for name, value in (("a", a), ("b", b), ("slope", SLOPE)):
        low, high = intervals[name]
        covered[name] = (low is None or low <= value) and (high is None or value <= high)
    return covered


def coverage(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Shares of experiments whose intervals hold the truth."""
    hits = np.mean([row["thresholds"] for row in rows], axis=0)
    found: dict[str, Any] = {"experiments": len(rows), "thresholds": float(hits.mean())}
    found["least of the 18"] = float(hits.min())
    for name in ("a", "b", "slope"):
        if name in rows[0]:
            found[name] = float(np.mean([row[name] for row in rows]))
    found["trials"] = float(np.mean([row["trials"] for row in rows]))
    return found


def ratio(new: list[float], old: list[float], rng: np.random.Generator) -> dict[str, Any]:
    """Mean cost of one over the other, with the percentile bootstrap's 95 % interval."""
    a, b = np.array(new), np.array(old)
    picks = rng.integers(len(a), size=(2000, len(a))), rng.integers(len(b), size=(2000, len(b)))
    low, high = np.quantile(a[picks[0]].mean(axis=1) / b[picks[1]].mean(axis=1), [0.025, 0.975])
    return {"ratio": float(a.mean() / b.mean()), "low": float(low), "high": float(high)}


def compare(n: int, each: Callable[..., Any] = map) -> dict[str, Any]:
    """Costs of n experiments by each design, under the law fitted to the committed trials."""
    old = list(each(partial(experiment, "adaptive", "log"), range(n)))
    new = list(each(partial(experiment, "joint", "log"), range(n)))
    found = {"experiments": n, "truth": "log", "slope": SLOPE}
    found |= {
        "cost": ratio([r["cost"] for r in new], [r["cost"] for r in old], stream(0, "bootstrap", "cost"))
    }
    found |= {"trials": ratio([r["trials"] for r in new], [r["trials"] for r in old], stream(0, "bootstrap"))}
    found["trials adaptive"] = float(np.mean([r["trials"] for r in old]))
    found["trials joint"] = float(np.mean([r["trials"] for r in new]))
    found["covered adaptive"] = float(np.mean([r["thresholds"] for r in old]))
    found["covered joint"] = float(np.mean([r["thresholds"] for r in new]))
    found["width of b adaptive"] = float(np.median([r["width of b"] for r in old]))
    found["width of b joint"] = float(np.median([r["width of b"] for r in new]))
    found["slope covered adaptive"] = float(np.mean([r["slope"] for r in old]))
    found["widest over committed"] = float(max(r["widest"] for r in new))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--experiments", type=int, default=200, help="for the comparison of costs")
    parser.add_argument("--coverage", type=int, default=0, help="experiments under each truth")
    parser.add_argument("--truths", default=",".join(TRUTHS), help="for the coverage")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    with ProcessPoolExecutor(given.workers) as pool:
        each = partial(pool.map, chunksize=5)
        found: dict[str, Any] = {"comparison": compare(given.experiments, each)} if given.experiments else {}
        print(json.dumps(found, indent=1), flush=True)
        for truth in given.truths.split(",") if given.coverage else ():
            rows = list(each(partial(experiment, "joint", truth), range(given.coverage)))
            found.setdefault("coverage", {})[truth] = coverage(rows)
            print(truth, json.dumps(found["coverage"][truth]), flush=True)
    if given.out:
        write_whole(given.out, (json.dumps(found, indent=1) + "\n").encode(), force=True)


if __name__ == "__main__":
    main()
