"""Spot checks: fresh trials of the settings of committed results, and whether they agree with what was committed.

Most committed results have cells whose trials take seconds; these are run again with new seeds. UNCHECKED says why
other results are not checked.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sparsehead._base.jsonable import ResultsRecord
from sparsehead.laws.curves import Cell
from sparsehead.laws.law import LawResult
from sparsehead.laws.rounds import trial_seed
from sparsehead.store import Store
from sparsehead.train.spec import TrainSpec, spec_id

from .agreement import LEVEL, Agreement, Comparison, Observed, compared
from .attention import AttentionRecord, attention
from .curves import CurvesRecord, curves
from .failures import FailuresRecord, failures
from .folder import has_results, read_results
from .input_laws import InputCellsRecord, fresh_cells
from .input_laws import observe_cells as observe_input_cells
from .law_stage import LawsRecord, SuccessRecord
from .parity import (
    MATCHED_READING,
    ParityRecord,
    ParitySettingRun,
    ParitySettingsRecord,
    collect_parity,
    parity,
    parity_specs,
)
from .read_trained import READ_CELL, AppearanceRecord, ReadTrialsRecord, appearance_plan, reading
from .stage import Experiment, conjunctions

FRESH_SEED = 2  # committed trials have the seeds 0 and 1
UNCHECKED = {
    "law-matched-beyond": "a failed trial takes a quarter of an hour",
    "functions": "its file has thresholds, not the trials behind them",
    "readings": "it has four trials of each number; those of preset paper are checked by its own files",
    "slope": "it has eight trials of each setting and m, too few for a test; law-best checks its preset",
    "slope-norms": "its file has medians of up to three runs",
    "learned-norms": "its file has quartiles of five runs",
    "bound-training": "it shows one run",
    "predicted": "it is not measured to its end; law-best checks preset best on the paper's task",
    "every-function": "a trial that fails takes up to half a minute; law-best checks preset best",
    "taught-parity": "its file has counts, not the trials behind them; the claim about one step runs two trials afresh",
    "pointers": "its runs train many models at once and keep none; both claims train a few afresh",
    "dropout": "its 24 pairs are too few for a test, and a run with dropout takes a quarter of a minute",
}
# Of each law: preset and changes, and numbers of fresh trials by (T, m): of the default scale, and of "quick".
LAWS: dict[str, tuple[dict[str, Any], dict[tuple[int, int], tuple[int, int]]]] = {
    "law-matched": ({"preset": "paper"}, {(100, 47): (16, 8), (200, 60): (10, 4), (250, 48): (4, 0)}),
    "law-literal": ({"preset": "literal"}, {(150, 71): (16, 6), (250, 43): (4, 0)}),
    "law-mingpt": ({"preset": "mingpt"}, {(300, 60): (6, 0)}),
    "law-best": ({"preset": "best"}, {(100, 36): (24, 12), (300, 43): (24, 0), (1000, 55): (12, 0)}),
    "law-gated": ({"preset": "gated"}, {(100, 22): (24, 12), (300, 31): (12, 0), (1000, 39): (12, 0)}),
    "law": ({}, {(100, 60): (16, 8), (550, 60): (16, 0), (1100, 85): (12, 0)}),
    "law-grid": ({}, {(100, 50): (16, 8), (300, 70): (16, 0), (1000, 50): (12, 0)}),
    "law-decades": ({}, {(1000, 98): (12, 0), (10_000, 110): (6, 0)}),
    "law-matched-decades": (
        {"preset": "paper", "dropout": 0.0, "stall": 200},
        {(100, 58): (24, 8), (300, 111): (16, 0), (1000, 214): (6, 0)},
    ),
}


@dataclass(frozen=True)
class Spot:
    """Fresh trials of one committed results file, which has the experiment's name.

    Args:
        kinds: types of the committed and of the fresh record.
        observe: record -> the numbers to compare; from the committed record only those that the fresh record also has.
    """

    experiment: Experiment
    kinds: tuple[type[Any], type[Any]]
    observe: Callable[[Any], Observed]

    @property
    def name(self) -> str:
        """The name of the results file."""
        return self.experiment.name


def spots(scale: str, seed: int = FRESH_SEED) -> list[Spot]:
    """Return the spot checks of a scale, "default" or "quick"; `seed` decides which trials are fresh."""
    at = 1 if scale == "quick" else 0
    found = []
    for name, (settings, cells) in LAWS.items():
        own = [
            conjunctions(T=T, m=m, trials=range(trials[at]), seed=seed, **settings)
            for (T, m), trials in cells.items()
        ]
        plan = Experiment(name, "", tuple(spec for specs in own for spec in specs), {name: collect_cells})
        found.append(Spot(plan, (LawResult, SuccessRecord), observe_cells))

    def again(plan: Experiment, kind: type, observe: Callable[[Any], Observed], *trials: Any) -> None:
        """Add a spot. `trials` are pairs (wanted, numbers): for each setting with wanted(spec), run as many trials as
        `numbers` says for the scale.
        """
        numbers = [(wanted, pair[at]) for wanted, pair in trials]
        specs = tuple(_reseeded(plan.specs, numbers, seed))
        found.append(Spot(replace(plan, specs=specs), (kind, kind), observe))

    for preset, below in (("paper", (8, 3)), ("fast", (16, 6))):
        few = (lambda spec: spec.m == 50, below), (lambda spec: spec.m == 200, (8, 4))
        again(curves(preset), CurvesRecord, observe_curves, *few)
        again(attention(preset), AttentionRecord, observe_attention, (lambda _: True, (6, 6)))
    again(parity(), ParityRecord, observe_parity, (lambda spec: spec.T == 10, (6, 3)))
    matched = replace(parity(), name="parity-settings", specs=tuple(parity_specs(MATCHED_READING, 10)))
    matched = replace(matched, collect={matched.name: collect_matched})
    again(matched, ParitySettingsRecord, observe_settings, (lambda _: True, (6, 4)))
    again(reading(), ReadTrialsRecord, observe_reading, (_in_read_cell, (24, 12)))
    again(appearance_plan(), AppearanceRecord, observe_appearance, (_in_read_cell, (6, 4)))
    again(failures(), FailuresRecord, observe_failures, (lambda spec: spec.T == 1000, (24, 12)))
    kinds = (LawsRecord, InputCellsRecord)
    found.append(Spot(fresh_cells(at, seed), kinds, observe_input_cells))
    return [spot for spot in found if spot.experiment.specs]


def _in_read_cell(spec: TrainSpec) -> bool:
    return (spec.function, spec.T, spec.m) == READ_CELL


def _reseeded(
    specs: Iterable[TrainSpec], numbers: Sequence[tuple[Callable[[TrainSpec], bool], int]], seed: int
) -> Iterable[TrainSpec]:
    """Yield specs with fresh seeds: `numbers` of them for each group of specs that differ only in the seed."""
    seen: dict[str, int] = {}
    for spec in specs:
        key = spec_id(replace(spec, seed=0))
        trial = seen[key] = seen.get(key, -1) + 1
        if trial < sum(n for wanted, n in numbers if wanted(spec)):
            yield replace(spec, seed=trial_seed(seed, T=spec.T, m=spec.m, trial=trial))


def stages(found: Sequence[Spot]) -> list[Experiment]:
    """Return the trials of all spots as one experiment for each runner, so that all worker processes stay busy."""
    groups: dict[str, list[Spot]] = {}
    for spot in found:
        groups.setdefault(f"{spot.experiment.runner} {spot.experiment.options}", []).append(spot)
    return [_together(group) for group in groups.values()]


def _together(group: Sequence[Spot]) -> Experiment:
    def collected(spot: Spot) -> Callable[[Store, Any], ResultsRecord]:
        return lambda store, _: spot.experiment.collect[spot.name](store, spot.experiment)

    names = [spot.name for spot in group]
    title = f"Fresh trials of {', '.join(names[:2])}" + (f" and {len(names) - 2} more" if names[2:] else "")
    specs = dict.fromkeys(spec for spot in group for spec in spot.experiment.specs)
    collect = {spot.name: collected(spot) for spot in group}
    return replace(group[0].experiment, name=names[0], title=title, specs=tuple(specs), collect=collect)


def checks(committed: Path, fresh: Path) -> dict[str, Agreement]:
    """Compare results files in `fresh` and `committed`, by name; LEVEL bounds the chance of any false disagreement.

    Raises:
        FileError: a file is missing in `committed`, or damaged.
    """
    found: dict[str, tuple[Comparison, ...]] = {}
    for spot in spots("default"):
        if has_results(fresh, spot.name):
            kinds = zip((committed, fresh), spot.kinds, strict=True)
            both = [spot.observe(read_results(folder, spot.name, kind)) for folder, kind in kinds]
            if comparisons := compared(*both):
                found[spot.name] = comparisons
    return {name: Agreement(comparisons, LEVEL / len(found)) for name, comparisons in found.items()}


def collect_cells(store: Store, experiment: Experiment) -> SuccessRecord:
    """Collect fresh trials of a law by cell."""
    solved: dict[tuple[int, int], list[bool]] = {}
    for record in experiment.records(store):
        solved.setdefault((record.spec["T"], record.spec["m"]), []).append(record.solved)
    cells: dict[int, list[Cell]] = {}
    for (T, m), won in solved.items():
        cells.setdefault(T, []).append(Cell(m, sum(won), len(won)))
    return SuccessRecord(cells)


def collect_matched(store: Store, experiment: Experiment) -> ParitySettingsRecord:
    """Collect the steps at which fresh runs of preset "paper" learn parity."""
    runs, steps = collect_parity(store, experiment).first_below, experiment.specs[0].n_steps
    rows = (ParitySettingRun(MATCHED_READING, r.T, r.seed, r.learned, steps) for r in runs)
    return ParitySettingsRecord(tuple(rows), len(experiment.specs))


def observe_cells(record: LawResult | SuccessRecord) -> Observed:
    """The trials solved, in each cell of a law."""
    return {
        f"solved at $T = {T}$, $m = {c.m}$": [True] * c.solved + [False] * (c.trials - c.solved)
        for T, cells in record.cells.items()
        for c in cells
    }


def observe_curves(record: CurvesRecord) -> Observed:
    """The trials solved at each m, and the steps to success at m = 200."""
    solved = {f"solved at $m = {m}$": [t.solved for t in record.trials if t.m == m] for m in (50, 200)}
    return solved | {
        "first step above .99 at $m = 200$": [float(t.steps) for t in record.trials if t.m == 200]
    }


def observe_attention(record: AttentionRecord) -> Observed:
    """The share of each run's attention that lies outside the support."""
    return {"attention off the support": [1 - run.total for run in record.runs]}


def observe_parity(record: ParityRecord) -> Observed:
    """The steps at which parity of 3 of 10 bits is learned."""
    return {"step learned at $T = 10$": _steps(run.learned for run in record.first_below if run.T == 10)}


def observe_settings(record: ParitySettingsRecord) -> Observed:
    """The steps at which preset "paper" learns parity of 3 of 10 bits."""
    runs = [run.learned for run in record.runs if (run.setting, run.T) == (MATCHED_READING, 10)]
    return {"step learned at $T = 10$ under preset paper": _steps(runs)}


def observe_reading(record: ReadTrialsRecord) -> Observed:
    """The models of READ_CELL that are learned and read back as exactly the planted function."""
    cell = [r for r in record.trials if (r.family, r.T, r.m) == READ_CELL]
    return {
        "AND read back exactly at $T = 300$, $m = 200$": [r.solved and r.found == "planted" for r in cell]
    }


def observe_appearance(record: AppearanceRecord) -> Observed:
    """The steps from which the support leads in influence, on the task of READ_CELL."""
    runs = [r.influence for r in record.runs if (r.task, r.T, r.m) == READ_CELL]
    return {"step from which influence names the support": _steps(runs)}


def observe_failures(record: FailuresRecord) -> Observed:
    """Return whether runs at T = 1000 are solved: runs whose moved positions correlate with the label, and
    all others.
    """
    sides = replace(record, runs=tuple(run for run in record.runs if run.T == 1000)).solved_by_sign()
    return {f"solved, moved {word} the label": side for word, side in zip(("with", "against"), sides)}


def _steps(found: Iterable[int | None]) -> list[float]:
    return [float("inf") if step is None else float(step) for step in found]
