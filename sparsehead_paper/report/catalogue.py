"""Every figure by name: what it shows, where its data come from, how it is drawn.

A figure of an experiment is drawn from the record in `<needs>.json` of the results folder, written by `reproduce`.
Figures without such a file are computed by `library` in a moment.
"""

from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path

import numpy as np

from sparsehead._base.errors import DomainError, SparseheadError
from sparsehead._base.plugins import Registry
from sparsehead.figures.attention import attention_weights
from sparsehead.figures.figure import Draw, Figure
from sparsehead.figures.law import bound_samples, law_figure
from sparsehead.figures.theme import Chart
from sparsehead.laws.law import LawResult

from ..figures.appearance import appearance_chart
from ..figures.bound_training import bound_along_training
from ..figures.curves import parity_curves, validation_curves
from ..figures.failures import failures_chart
from ..figures.norms import learned_vs_built_norms
from ..figures.parity_settings import parity_settings_chart
from ..figures.read_trained import certificate_chart, read_trained_chart
from ..figures.readings import readings_chart
from ..figures.side_by_side import laws_chart
from ..figures.success import success_heat_map
from ..published import ATTENTION_AND
from ..studies.folder import has_results, read_results
from ..studies.reading_records import AppearanceRecord, ReadingRecord
from ..studies.records import (
    AttentionRecord,
    BoundRecord,
    BuildRecord,
    CurvesRecord,
    NormsRecord,
    ParityRecord,
    SuccessRecord,
)
from ..studies.study_records import FailuresRecord, LawsRecord, ParitySettingsRecord, ReadingsRecord
from . import library

RESULTS = Path("results")  # the committed results, in a checkout of the repository
REPRODUCTION = Path("reproduction")  # where `reproduce` writes unless told otherwise


def _law(folder: Path) -> Chart:
    dropout = read_results(folder, "law-mingpt", LawResult) if has_results(folder, "law-mingpt") else None
    return law_figure(read_results(folder, "law", LawResult), dropout=dropout)


def _story(folder: Path) -> Chart:
    return library.story_figure(read_results(folder, "law-best", LawResult).thresholds.values())


def _law_grid(folder: Path) -> Chart:
    return law_figure(read_results(folder, "law-grid", LawResult))


def _law_decades(folder: Path) -> Chart:
    law = read_results(folder, "law-decades", LawResult)
    return law_figure(law, bound=bound_samples(list(law.thresholds)))


def _named_law(name: str) -> Draw:
    return lambda folder: law_figure(read_results(folder, name, LawResult))


def _readings(folder: Path) -> Chart:
    return readings_chart(read_results(folder, "readings", ReadingsRecord))


def _laws(name: str, title: str) -> Draw:
    return lambda folder: laws_chart(read_results(folder, name, LawsRecord), title=title)


def _success(folder: Path) -> Chart:
    data = read_results(folder, "success", SuccessRecord)
    return success_heat_map(data.cells, thresholds=data.thresholds.values())


def _curves(folder: Path, name: str = "curves") -> Chart:
    data = read_results(folder, name, CurvesRecord)
    return validation_curves(data.curves, T=data.T)


def _attention(folder: Path, name: str = "attention") -> Chart:
    data = read_results(folder, name, AttentionRecord)
    if not data.weights:
        raise DomainError("attention weights: there is nothing to draw yet, no run was solved.")
    weights = np.asarray(data.weights, dtype=np.float64)
    return attention_weights(weights, data.support, paper=ATTENTION_AND)


def _parity(folder: Path) -> Chart:
    data = read_results(folder, "parity", ParityRecord)
    return parity_curves(data.curves, first=data.first_below)


def _parity_settings(folder: Path) -> Chart:
    return parity_settings_chart(read_results(folder, "parity-settings", ParitySettingsRecord))


def _failures(folder: Path) -> Chart:
    return failures_chart(read_results(folder, "failures", FailuresRecord))


def _norms(folder: Path) -> Chart:
    """Tracr's points are those of benchmarks/build.py, with the temperature of its scores included."""
    name = "build_vs_tracr"
    rows = read_results(folder, name, BuildRecord).rows if has_results(folder, name) else ()
    tracr = [row for row in rows if row.tool == "tracr" and row.function == "and"]
    return library.norms_figure([{"T": r.T, "builder": "Tracr's", "norm": r.norm_QK} for r in tracr])


def _learned(folder: Path) -> Chart:
    data = read_results(folder, "learned-norms", NormsRecord)
    return learned_vs_built_norms(data.points, norm=data.norm)


def _along(folder: Path) -> Chart:
    return bound_along_training(read_results(folder, "bound-training", BoundRecord).points)


def _cover(eps: str, note: str) -> Draw:
    return lambda _: library.cover_figure(eps, note)


def _reading(folder: Path) -> Chart:
    law = read_results(folder, "law", LawResult).thresholds.values() if has_results(folder, "law") else ()
    return read_trained_chart(read_results(folder, "reading", ReadingRecord).trials, thresholds=law)


def _truth(folder: Path) -> Chart:
    data = read_results(folder, "reading", ReadingRecord)
    return certificate_chart(data.trials, delta=data.delta)


def _appearance(folder: Path) -> Chart:
    return appearance_chart(read_results(folder, "appearance", AppearanceRecord).runs)


NOTE_SMALL = "The notes' figure 1. They say 3, which is right for both readings of the set."
NOTE_LARGE = "The notes' figure 2. They say 2, which is right for neither reading of the set."

# A new figure is a function from the results folder to a chart, and an entry here.
BUILTIN = (
    Figure(
        "story",
        "Ours: the README's picture, a head that reads 3 bits and the samples it takes to find them.",
        _story,
        needs="law-best",
    ),
    Figure(
        "law",
        "Paper 2, notes 5: samples needed against T, on the paper's range.",
        _law,
        needs="law",
    ),
    Figure("law-grid", "Paper 2 by its own protocol: its whole grid of (T, m).", _law_grid, needs="law-grid"),
    Figure(
        "law-decades",
        "Ours: the law over decades of T: floor, fits, bound.",
        _law_decades,
        needs="law-decades",
    ),
    Figure(
        "law-matched",
        "Paper 2 under the reading that meets its figures.",
        _named_law("law-matched"),
        needs="law-matched",
    ),
    Figure(
        "law-literal",
        "Paper 2 under its text read literally.",
        _named_law("law-literal"),
        needs="law-literal",
    ),
    Figure(
        "law-matched-decades",
        "Ours: that reading without dropout, over decades of T.",
        _named_law("law-matched-decades"),
        needs="law-matched-decades",
    ),
    Figure("law-best", "Ours: a recipe meant to need few samples.", _named_law("law-best"), needs="law-best"),
    Figure("failures", "Ours: why runs near the threshold fail.", _failures, needs="failures"),
    Figure("readings", "Ours: readings of the paper's text, by evidence.", _readings, needs="readings"),
    Figure(
        "slope",
        "Ours: the law's slope when one setting changes.",
        _laws("slope", "One setting changed"),
        needs="slope",
    ),
    Figure(
        "functions",
        "Ours: other functions, sparsities and learners.",
        _laws("functions", "Functions, learners"),
        needs="functions",
    ),
    Figure("success", "Ours: the share of trials solved over (T, m).", _success, needs="success"),
    Figure(
        "curves", "Paper 3 left, notes 6 left: validation curves, m above and below.", _curves, needs="curves"
    ),
    Figure(
        "attention", "Paper 3 right, notes 6 right: attention per example.", _attention, needs="attention"
    ),
    Figure(
        "curves-paper",
        "Paper 3 left under the reading that meets its figures.",
        partial(_curves, name="curves-paper"),
        needs="curves-paper",
    ),
    Figure(
        "attention-paper",
        "Paper 3 right under that reading.",
        partial(_attention, name="attention-paper"),
        needs="attention-paper",
    ),
    Figure("parity", "Paper 4, notes 7: loss on parity.", _parity, needs="parity"),
    Figure(
        "parity-settings",
        "Ours: parity under settings that the paper leaves open.",
        _parity_settings,
        needs="parity-settings",
    ),
    Figure("cover-small", "Notes 1: a cover of three points at eps = 0.05.", _cover("0.05", NOTE_SMALL)),
    Figure("cover-large", "Notes 2: the same at eps = 0.5, for both readings.", _cover("0.5", NOTE_LARGE)),
    Figure(
        "modules", "Notes 3: the attention modules, from real models.", lambda _: library.modules_figure()
    ),
    Figure("head-reads", "Notes 4: a head that reads s of T bits.", lambda _: library.reads_figure()),
    Figure("built-head", "Ours: a written head and its decoder.", lambda _: library.built_figure()),
    Figure(
        "norms",
        "Ours: norms of written heads, ours and the paper's; Tracr's where it was measured.",
        _norms,
    ),
    Figure("learned-norms", "Ours: norms, learned beside written.", _learned, needs="learned-norms"),
    Figure("bound-terms", "Ours: a capacity bound by term.", lambda _: library.bound_figure()),
    Figure(
        "certificates",
        "Ours: bounds on the error against m, by reading and by norms.",
        lambda _: library.certificates_figure(),
    ),
    Figure(
        "reading",
        "Ours: how often the planted function is read back from trained models, against m.",
        _reading,
        needs="reading",
    ),
    Figure(
        "certificate-truth",
        "Ours: certificates of trained models against true errors.",
        _truth,
        needs="reading",
    ),
    Figure("appearance", "Ours: when the support appears along training.", _appearance, needs="appearance"),
    Figure("bound-training", "Ours: the bound along training.", _along, needs="bound-training"),
)
FIGURES: Registry[Figure] = Registry("figure", {figure.name: figure for figure in BUILTIN})


@dataclass(frozen=True)
class Drawn:
    """A figure that was drawn, or the sentence that says why it was not.

    `awaited`: it was not, because its results file has not been written yet; otherwise something is wrong.
    """

    name: str
    line: str
    chart: Chart | None
    problem: str = ""
    awaited: bool = False


def draw(name: str, folder: Path = RESULTS) -> Chart:
    """The figure `name`, its data read from `folder` where it shows an experiment.

    Raises:
        DomainError: there is no such figure, or nothing to draw yet.
        FileError: its results file is missing, damaged or of another version.
    """
    if name not in FIGURES:
        near = "".join(f", perhaps {found!r}" for found in get_close_matches(name, FIGURES, n=1))
        raise DomainError(f"there is no figure {name!r}{near}; the figures are {', '.join(FIGURES)}.")
    return FIGURES[name].draw(folder)


def default_folder() -> Path:
    """Where a figure's data are taken from when no folder is named: your own run if there is one, else `results`."""
    return REPRODUCTION if REPRODUCTION.is_dir() else RESULTS


def draw_all(folder: Path = RESULTS, names: list[str] | None = None) -> list[Drawn]:
    """Every figure, or those named; one that cannot be drawn says why and the others still stand."""
    drawn = []
    for name in FIGURES if names is None else names:
        line = FIGURES[name].line if name in FIGURES else ""
        try:
            drawn.append(Drawn(name, line, draw(name, folder)))
        except SparseheadError as error:
            needs = FIGURES[name].needs if name in FIGURES else None
            awaited = needs is not None and not has_results(folder, needs)
            drawn.append(Drawn(name, line, None, str(error), awaited))
        except Exception as error:  # the report must stand, whatever one figure does
            told = " ".join(str(error).split())[:200]
            drawn.append(Drawn(name, line, None, f"drawing it broke: {type(error).__name__}: {told}"))
    return drawn
