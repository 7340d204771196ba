"""Every figure by name: what it shows, where its data come from, how it is drawn.

A figure of an experiment is drawn from the record in `<needs>.json` of the results folder, written by `reproduce`.
A figure that needs no experiment is computed when it is drawn.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from sparsehead._base.arguments import meant
from sparsehead._base.errors import DomainError, SparseheadError
from sparsehead._base.plugins import Registry
from sparsehead.figures.attention import attention_weights
from sparsehead.figures.figure import Figure
from sparsehead.figures.law import bound_samples, law_figure
from sparsehead.figures.theme import Chart
from sparsehead.laws.law import LawResult

from ..figures import examples
from ..figures.appearance import appearance_chart
from ..figures.bound_training import bound_along_training
from ..figures.curves import parity_curves, validation_curves
from ..figures.failures import failures_chart
from ..figures.fresh import FRESH
from ..figures.interpreters import interpreters_chart
from ..figures.norms import learned_vs_built_norms
from ..figures.parity_settings import parity_settings_chart
from ..figures.pointers import pointers_chart
from ..figures.read_trained import certificate_chart, read_trained_chart
from ..figures.readings import readings_chart
from ..figures.side_by_side import laws_chart
from ..figures.success import success_heat_map
from ..figures.taught_parity import taught_parity_chart
from ..figures.which_line import which_line_chart
from ..published import ATTENTION_AND
from ..studies.attention import AttentionRecord
from ..studies.curves import CurvesRecord
from ..studies.failures import FailuresRecord
from ..studies.folder import RESULTS, R, has_results, read_results
from ..studies.interpretations import InterpretationsRecord
from ..studies.interpreters import InterpretersRecord
from ..studies.law_stage import LawsRecord, SuccessRecord
from ..studies.norms import BoundAlongRecord, NormsRecord
from ..studies.parity import ParityRecord, ParitySettingsRecord
from ..studies.pointers import PointersRecord
from ..studies.predicted import of_size
from ..studies.read_trained import AppearanceRecord, ReadTrialsRecord
from ..studies.records import BuildComparison
from ..studies.taught_parity import TaughtParityRecord


def _measured(
    name: str, line: str, kind: type[R], chart: Callable[[R], Chart], *, needs: str | None = None
) -> Figure:
    """Return a figure drawn from NEEDS.json of the results folder (default: the figure's own name)."""
    file = needs or name
    return Figure(name, line, lambda folder: chart(read_results(folder, file, kind)), needs=file)


def _computed(name: str, line: str, chart: Callable[[], Chart]) -> Figure:
    """Return a figure that needs no results file."""
    return Figure(name, line, lambda _: chart())


def _law(folder: Path) -> Chart:
    dropout = read_results(folder, "law-mingpt", LawResult) if has_results(folder, "law-mingpt") else None
    return law_figure(read_results(folder, "law", LawResult), dropout=dropout)


def _attention(record: AttentionRecord) -> Chart:
    if not record.weights:
        raise DomainError("attention weights: there is nothing to draw yet, no run was solved.")
    weights = np.asarray(record.weights, dtype=np.float64)
    return attention_weights(weights, record.support, paper=ATTENTION_AND)


def _curves(record: CurvesRecord) -> Chart:
    return validation_curves(record.curves, T=record.T)


def _norms(folder: Path) -> Chart:
    """Draw norms of written heads, with Tracr's from benchmarks/build.py (temperature of its scores included)."""
    name = "build_vs_tracr"
    rows = read_results(folder, name, BuildComparison).rows if has_results(folder, name) else ()
    tracr = [row for row in rows if row.tool == "tracr" and row.function == "and"]
    return examples.norms_figure([{"T": r.T, "builder": "Tracr's", "norm": r.norm_QK} for r in tracr])


def _reading(folder: Path) -> Chart:
    law = read_results(folder, "law", LawResult).thresholds.values() if has_results(folder, "law") else ()
    return read_trained_chart(read_results(folder, "reading", ReadTrialsRecord).trials, thresholds=law)


# A new figure is a function from the results folder to a chart, and an entry here.
BUILTIN = (
    _measured(
        "story",
        "Ours: the README's picture, a head that reads 3 bits and the samples it takes to find them.",
        LawResult,
        lambda law: examples.story_figure(law.thresholds.values()),
        needs="law-best",
    ),
    _measured(
        "law-matched",
        "Paper 2 under preset paper, the reading of its text that fits most of its figures.",
        LawResult,
        law_figure,
    ),
    _measured("law-literal", "Paper 2 under preset literal, its text read literally.", LawResult, law_figure),
    Figure("law", "Paper 2, notes 5: samples needed against T under preset fast.", _law, needs="law"),
    _measured(
        "law-grid",
        "Paper 2 by its own protocol under preset fast: its whole grid of (T, m).",
        LawResult,
        law_figure,
    ),
    _measured(
        "law-decades",
        "Ours: preset fast over decades of T: floor, fits, bound.",
        LawResult,
        lambda law: law_figure(law, bound=bound_samples(list(law.thresholds))),
    ),
    _measured(
        "law-matched-decades",
        "Ours: preset paper without dropout, over decades of T.",
        LawResult,
        law_figure,
    ),
    _measured("law-best", "Ours: preset best, meant to need few samples.", LawResult, law_figure),
    _measured(
        "law-gated", "Ours: preset gated, heads whose bits decide what is attended.", LawResult, law_figure
    ),
    _measured("failures", "Ours: why runs near the threshold fail.", FailuresRecord, failures_chart),
    _measured(
        "readings", "Ours: readings of the paper's text, by evidence.", InterpretationsRecord, readings_chart
    ),
    _measured(
        "slope",
        "Ours: the law's slope when one setting changes.",
        LawsRecord,
        lambda laws: laws_chart(laws, title="One setting changed"),
    ),
    _measured(
        "functions",
        "Ours: other functions, sparsities and learners.",
        LawsRecord,
        lambda laws: laws_chart(laws, title="Functions, learners"),
    ),
    _measured(
        "predicted",
        "Ours: learners of theory beside presets, at four shares of ones.",
        LawsRecord,
        lambda laws: laws_chart(of_size(laws), title="Predicted and measured"),
    ),
    _measured(
        "which-line",
        "Ours: which theoretical learner gradient descent resembles.",
        LawsRecord,
        which_line_chart,
        needs="predicted",
    ),
    _measured(
        "every-function",
        "Ours: all functions of two and three bits.",
        LawsRecord,
        lambda laws: laws_chart(laws, title="Every function"),
    ),
    _measured(
        "interpreters",
        "Ours: methods that look for a support, where it is known by proof.",
        InterpretersRecord,
        interpreters_chart,
    ),
    _measured(
        "pointers",
        "Neighbours: too few heads for q pointers, and samples of three learners.",
        PointersRecord,
        pointers_chart,
    ),
    _measured(
        "input-laws",
        "Neighbours: laws for bits that are flipped, shifted or correlated.",
        LawsRecord,
        lambda found: laws_chart(found, title="Bits that are flipped, shifted or correlated"),
    ),
    _measured(
        "taught-parity",
        "Neighbours: parity with intermediate labels in one gradient step.",
        TaughtParityRecord,
        taught_parity_chart,
    ),
    _measured(
        "success",
        "Ours: the share of trials solved over (T, m).",
        SuccessRecord,
        lambda found: success_heat_map(found.cells, thresholds=found.thresholds.values()),
    ),
    _measured(
        "curves", "Paper 3 left, notes 6 left: validation curves, m above and below.", CurvesRecord, _curves
    ),
    _measured(
        "attention", "Paper 3 right, notes 6 right: attention per example.", AttentionRecord, _attention
    ),
    _measured("curves-paper", "Paper 3 left under the reading that fits most.", CurvesRecord, _curves),
    _measured("attention-paper", "Paper 3 right under preset paper.", AttentionRecord, _attention),
    _measured(
        "parity",
        "Paper 4, notes 7: loss on parity.",
        ParityRecord,
        lambda found: parity_curves(found.curves, first=found.first_below),
    ),
    _measured(
        "parity-settings",
        "Ours: parity under settings that the paper leaves open.",
        ParitySettingsRecord,
        parity_settings_chart,
    ),
    _computed(
        "cover-small",
        "Notes 1: a cover of three points at eps = 0.05.",
        partial(examples.cover_figure, "0.05"),
    ),
    _computed(
        "cover-large",
        "Notes 2: the same at eps = 0.5, for both readings.",
        partial(examples.cover_figure, "0.5"),
    ),
    _computed("modules", "Notes 3: the attention modules, from real models.", examples.modules_figure),
    _computed("head-reads", "Notes 4: a head that reads s of T bits.", examples.reads_figure),
    _computed("built-head", "Ours: a written head and its decoder.", examples.built_figure),
    Figure(
        "norms", "Ours: norms of written heads, ours and the paper's; Tracr's where it was measured.", _norms
    ),
    _measured(
        "learned-norms",
        "Ours: norms, learned beside written.",
        NormsRecord,
        lambda found: learned_vs_built_norms(found.points, norm=found.norm),
    ),
    _computed("bound-terms", "Ours: a capacity bound by term.", examples.bound_figure),
    _computed(
        "certificates",
        "Ours: bounds on the error against m, by reading and by norms.",
        examples.certificates_figure,
    ),
    Figure(
        "reading",
        "Ours: how often the planted function is read back from trained models, against m.",
        _reading,
        needs="reading",
    ),
    _measured(
        "certificate-truth",
        "Ours: certificates of trained models against true errors.",
        ReadTrialsRecord,
        lambda found: certificate_chart(found.trials, delta=found.delta),
        needs="reading",
    ),
    _measured(
        "appearance",
        "Ours: when the support appears along training.",
        AppearanceRecord,
        lambda found: appearance_chart(found.runs),
    ),
    _measured(
        "bound-training",
        "Ours: the bound along training.",
        BoundAlongRecord,
        lambda found: bound_along_training(found.points),
    ),
)
FIGURES: Registry[Figure] = Registry("figure", {figure.name: figure for figure in BUILTIN})


@dataclass(frozen=True)
class Drawn:
    """A figure with its chart, or with the `problem` because of which it could not be drawn.

    `needs`: the results file that it shows. `awaited`: the only problem is that this file has not been written yet.
    """

    name: str
    line: str
    chart: Chart | None
    problem: str = ""
    awaited: bool = False
    needs: str | None = None


def draw(name: str, folder: Path = RESULTS, fresh: Path | None = None) -> Chart:
    """Draw the figure `name`, with the results in `folder` if it shows an experiment, and fresh trials in `fresh`.

    Raises:
        DomainError: there is no figure of this name, or its results file has nothing to draw yet.
        FileError: the results file is missing, damaged or of another version.
    """
    if name not in FIGURES:
        raise DomainError(
            f"there is no figure {name!r}; the figures are {', '.join(FIGURES)}.{meant(name, FIGURES)}"
        )
    chart, file = FIGURES[name].draw(folder), FIGURES[name].needs
    if fresh is not None and file is not None and name in FRESH and has_results(fresh, file):
        kind, add = FRESH[name]
        return add(chart, read_results(fresh, file, kind))
    return chart


def draw_all(
    folder: Path = RESULTS, names: list[str] | None = None, *, fresh: Path | None = None
) -> list[Drawn]:
    """Draw every figure, or those in `names`; a figure that fails gets a `problem` and does not stop the others."""
    drawn = []
    for name in FIGURES if names is None else names:
        line, needs = (FIGURES[name].line, FIGURES[name].needs) if name in FIGURES else ("", None)
        try:
            drawn.append(Drawn(name, line, draw(name, folder, fresh), needs=needs))
        except SparseheadError as error:
            awaited = needs is not None and not has_results(folder, needs)
            drawn.append(Drawn(name, line, None, str(error), awaited))
        except Exception as error:  # a figure of an extension may raise anything
            problem = f"drawing it broke: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
            drawn.append(Drawn(name, line, None, problem))
    return drawn
