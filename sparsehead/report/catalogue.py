"""Every figure by name: what it shows, where its data come from, how it is drawn.

A figure of an experiment is drawn from `<name>.json` in the results folder, written by `reproduce`: the keyword
arguments of its chart function, as JSON. Figures without such a file are computed by `library` in a moment.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DomainError, FileError, SparseheadError
from ..experiments.read import read_results, remedy
from ..figures.attention import attention_weights
from ..figures.bounds import bound_along_training
from ..figures.curves import parity_curves, validation_curves
from ..figures.law import law_chart
from ..figures.norms import learned_vs_built_norms
from ..figures.success import success_heat_map
from ..figures.theme import Chart
from . import library

RESULTS = Path("results")  # the committed results, in a checkout of the repository
REPRODUCTION = Path("reproduction")  # where `reproduce` writes unless told otherwise
Data = Mapping[str, Any]


@dataclass(frozen=True)
class Entry:
    """One figure. `needs` names its results file (without .json); an `optional` one is used when it is there.

    `beside` names, by the key under which they are drawn, files whose thresholds join the figure when they are there.
    """

    name: str
    line: str
    draw: Callable[[Data], Chart]
    needs: str | None = None
    optional: str | None = None
    beside: Mapping[str, str] = field(default_factory=dict)


def law_figure(data: Data) -> Chart:
    keys = ("floor", "bound", "fits", "target", "dropout")
    options: dict[str, Any] = {key: data[key] for key in keys if key in data}
    if not data.get("paper", True):
        options["paper"] = ()
    return law_chart(data.get("thresholds", ()), **options)


def _attention(data: Data) -> Chart:
    if not data["weights"]:
        raise DomainError("attention weights: there is nothing to draw yet, no run was solved.")
    weights = np.asarray(data["weights"], dtype=np.float64)
    return attention_weights(weights, tuple(data["support"]))


def _law_decades(data: Data) -> Chart:
    """The law with the capacity bound, which is computed where the results do not hold it."""
    Ts = [row["T"] for row in data.get("thresholds", ())]
    return law_figure({"bound": library.bound_samples(Ts), **data})


def _cover(eps: str, note: str) -> Callable[[Data], Chart]:
    return lambda _: library.cover_figure(eps, note)


def _success(data: Data) -> Chart:
    return success_heat_map(data["cells"], thresholds=data.get("thresholds", ()))


def _curves(data: Data) -> Chart:
    return validation_curves(data["curves"], T=data.get("T", 300))


def _parity(data: Data) -> Chart:
    return parity_curves(data["curves"], first=data.get("first_below"))


def _norms(data: Data) -> Chart:
    """Tracr's points are those of benchmarks/build.py, with the temperature of its scores included."""
    tracr = [row for row in data.get("rows", ()) if row["tool"] == "tracr" and row["function"] == "and"]
    return library.norms_figure([{"T": r["T"], "builder": "Tracr's", "norm": r["norm_QK"]} for r in tracr])


def _learned(data: Data) -> Chart:
    return learned_vs_built_norms(data["points"], **{k: data[k] for k in ("norm",) if k in data})


def _along(data: Data) -> Chart:
    return bound_along_training(data["points"])


NOTE_SMALL = "The notes' figure 1. They say 3, which is right for both readings of the set."
NOTE_LARGE = "The notes' figure 2. They say 2, which is right for neither reading of the set."

ENTRIES = (
    Entry("cover-small", "Notes 1: a cover of three points at eps = 0.05.", _cover("0.05", NOTE_SMALL)),
    Entry("cover-large", "Notes 2: the same at eps = 0.5, for both readings.", _cover("0.5", NOTE_LARGE)),
    Entry("modules", "Notes 3: the attention modules, from real models.", lambda _: library.modules_figure()),
    Entry("head-reads", "Notes 4: a head that reads s of T bits.", lambda _: library.reads_figure()),
    Entry(
        "law",
        "Paper 2, notes 5: samples needed against T, on the paper's range.",
        law_figure,
        needs="law",
        beside={"dropout": "law-mingpt"},
    ),
    Entry("law-grid", "Paper 2 by its own protocol: its whole grid of (T, m).", law_figure, needs="law-grid"),
    Entry(
        "law-decades",
        "Ours: the law over decades of T: floor, fits, bound.",
        _law_decades,
        needs="law-decades",
    ),
    Entry("success", "Ours: the share of trials solved over (T, m).", _success, needs="success"),
    Entry(
        "curves", "Paper 3 left, notes 6 left: validation curves, m above and below.", _curves, needs="curves"
    ),
    Entry("attention", "Paper 3 right, notes 6 right: attention per example.", _attention, needs="attention"),
    Entry("parity", "Paper 4, notes 7: loss on parity.", _parity, needs="parity"),
    Entry("built-head", "Ours: a written head and its decoder.", lambda _: library.built_figure()),
    Entry(
        "norms",
        "Ours: norms of written heads, ours and the paper's; Tracr's where it was measured.",
        _norms,
        optional="build_vs_tracr",
    ),
    Entry("learned-norms", "Ours: norms, learned beside written.", _learned, needs="learned-norms"),
    Entry("bound-terms", "Ours: a capacity bound by term.", lambda _: library.bound_figure()),
    Entry(
        "certificates",
        "Ours: bounds on the error against m, by reading and by norms.",
        lambda _: library.certificates_figure(),
    ),
    Entry("bound-training", "Ours: the bound along training.", _along, needs="bound-training"),
)
FIGURES: dict[str, Entry] = {entry.name: entry for entry in ENTRIES}


@dataclass(frozen=True)
class Drawn:
    """A figure that was drawn, or the sentence that says why it was not."""

    name: str
    line: str
    chart: Chart | None
    problem: str = ""


def draw(name: str, folder: Path = RESULTS) -> Chart:
    """The figure `name`, its data read from `folder` where it shows an experiment.

    Raises:
        DomainError: there is no such figure, or its data are not what it needs.
        FileError: its results file is missing or damaged.
    """
    if name not in FIGURES:
        raise DomainError(f"there is no figure {name!r}; the figures are {', '.join(FIGURES)}.")
    entry = FIGURES[name]
    source = entry.needs or (entry.optional if _is_there(folder, entry.optional) else None)
    if source is None:
        return entry.draw({})
    try:
        more = {
            key: read_results(folder, other)["thresholds"]
            for key, other in entry.beside.items()
            if _is_there(folder, other)
        }
        return entry.draw({**read_results(folder, source), **more})
    except SparseheadError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        told = " ".join(str(error).split())[:80]
        raise FileError(
            f"{folder / source}.json does not hold what figure {name!r} shows ({type(error).__name__}: {told}); "
            f"make it again with `{remedy(folder, source)}`."
        ) from error


def default_folder() -> Path:
    """Where a figure's data are taken from when no folder is named: your own run if there is one, else `results`."""
    return REPRODUCTION if REPRODUCTION.is_dir() else RESULTS


def _is_there(folder: Path, name: str | None) -> bool:
    return name is not None and (folder / f"{name}.json").exists()


def draw_all(folder: Path = RESULTS, names: list[str] | None = None) -> list[Drawn]:
    """Every figure, or those named; one that cannot be drawn says why and the others still stand."""
    drawn = []
    for name in FIGURES if names is None else names:
        line = FIGURES[name].line if name in FIGURES else ""
        try:
            drawn.append(Drawn(name, line, draw(name, folder)))
        except SparseheadError as error:
            drawn.append(Drawn(name, line, None, str(error)))
        except Exception as error:  # the report must stand, whatever one figure does
            told = " ".join(str(error).split())[:200]
            drawn.append(Drawn(name, line, None, f"drawing it broke: {type(error).__name__}: {told}"))
    return drawn
