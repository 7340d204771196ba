"""`sparsehead law`: measure the number of samples needed as a function of context length."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from .._base.fields import about, option, setting
from .._base.files import check_apart
from ..functions import FAMILIES
from ..laws.adaptive import Adaptive
from ..laws.law import METHODS
from .bound import slopes_text
from .learn import FromPreset
from .options import Settings, whole_numbers
from .output import AsJson, Force, check_chart_file, emit, emit_on_failure, write_chart
from .progress import SweepLine

if TYPE_CHECKING:
    from ..floor.floor import Floor
    from ..laws.law import LawResult
    from ..laws.thresholds import Threshold


class LawSettings(Settings):
    """The settings that all trials share; `online` and `keep_training` do not apply to a measurement of m_80."""

    without = ("function", "T", "m", "seed", "online", "keep_training")


@dataclass(frozen=True, kw_only=True)
class Asked(FromPreset):
    """Options: which trials to run, on which machine, and in which store to keep them."""

    T: str = field(metadata=about("Options", "Context lengths, such as 100,300,1000."))
    seed: int = option(0, "Seed of all random numbers.")
    out: Path | None = option(None, "Draw the chart: .svg, .png, .pdf or .html.")
    method: str | None = setting(
        None, "Design", "joint (all T together; default for three or more T), adaptive (each T alone), or grid (as "
        "in the paper).", choices=METHODS,
    )  # fmt: skip
    trials: int = setting(160, "Design", "At most this many trials for each T (not grid).")
    width: float = setting(0.25, "Design", "Wanted ln(high/low) of each interval (not grid).")
    start: int = setting(60, "Design", "First guess at m_80 (not grid).")
    workers: int = setting(2, "Machine", "Processes, one thread each.")
    cluster: str | None = setting(
        None, "Machine", "Run on a Dask cluster: its scheduler's address, tcp://host:8786, or local:N."
    )
    shard: str | None = setting(
        None, "Machine", "i/n runs part i of n, with a --db of its own; `results merge` combines the stores."
    )
    db: Path = setting(Path("results.db"), "Machine", "The store; repeating a command resumes from it.")


def law(
    function: Annotated[
        str,
        typer.Argument(
            help="and, or, parity, majority, junta, or an expression.", autocompletion=lambda: list(FAMILIES)
        ),
    ],
    asked: Asked,
    settings: LawSettings,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Measure m_80(T): the number of samples at which 80 % of trials succeed, with intervals, fits and floor."""
    from ..laws.law import law as measure

    lengths = whole_numbers(asked.T, "--T", "100,300,1e3")
    if asked.out is not None:
        check_apart(asked.out, asked.db, what="chart")
        check_chart_file(asked.out, "--out", force=force)
    policy = Adaptive(start=asked.start, width=asked.width, max_trials=asked.trials)
    with (line := SweepLine()):
        found = measure(
            function, T=lengths, seed=asked.seed, preset=asked.preset, method=asked.method, policy=policy,
            workers=asked.workers, cluster=asked.cluster, shard=asked.shard, db=asked.db,
            progress=lambda p: line.report("", p), say=line.say, **settings,
        )  # fmt: skip
    result = found.to_dict()
    if asked.out is not None:
        from ..figures.law import law_figure

        with emit_on_failure(result, as_json, lambda console: _show(console, found)):
            write_chart(asked.out, law_figure(found), force=force)
        result["chart"] = str(asked.out)
    emit(result, as_json, lambda console: _show(console, found, asked.out))


def _show(console: Console, found: "LawResult", chart: Path | None = None) -> None:
    floor = found.floor
    runs = next((each.guesses for each in floor.values() if each.guesses > 1), None)
    floors = [
        *([f"floor, {runs} runs"] if runs else []),
        *(["one answer" if runs else "floor"] if floor else []),
    ]
    table = Table("T", "m_80", "95 % interval", "trials", *floors, "", box=None, pad_edge=False)
    for row in found.thresholds.values():
        m80 = "-" if row.m80 is None else f"{row.m80:.1f}"
        at_T = floor.get(row.T)
        beside = ["" if at_T is None else str(at_T.m_guesses or "?"), "" if at_T is None else _bracket(at_T)]
        table.add_row(str(row.T), m80, _interval(row), str(row.trials), *beside[2 - len(floors) :], row.note)
    console.print(table)
    if any(row.m80 is None for row in found.thresholds.values()):
        console.print("-: the trials do not determine m_80; the note beside it says what is missing")
    if floor:
        console.print(
            "floor: with fewer independent samples no learner has the right positions among so many answers (a trial's "
            "runs), or as its one answer, in 80 % of cases; of a bracket the second number is enough. Where "
            "trials draw ambiguous training sets again, as presets do, the floors are yardsticks, not limits."
        )
    if found.slopes:
        console.print("samples per ln T in theory, as T grows: " + slopes_text(found.slopes))
    for name, fit in found.fits.items():
        a, b = fit.params["a"], fit.params["b"]
        formula = {
            "log": f"{a:.1f} + {b:.2f} ln T",
            "power": f"{a:.2f} T^{b:.3f}",
            "linear": f"{a:.1f} + {b:.4f} T",
        }
        low, high = ("?" if end is None else f"{end:.3g}" for end in fit.intervals["b"])
        aic = f"   AIC {fit.delta_aic:+.1f}" if found.best else ""
        console.print(f"{name:7} m_80 = {formula[name]}   b in [{low}, {high}]{aic}")
    if (steep := found.steepness) is not None:
        low, high = ("?" if end is None else f"{end:.2g}" for end in steep[1:])
        console.print(
            f"steepness: the share of solved trials has slope {steep[0]:.2g} [{low}, {high}] in ln m"
        )
    if found.note:
        console.print(found.note)
    console.print(f"{found.seconds:.0f} s" + (f"; wrote {chart}" if chart else ""))


def _interval(row: "Threshold") -> str:
    """Format the interval as "a to b", "at most b", "at least a" or "open", whichever the trials determine."""
    low, high = ("" if value is None else f"{value:.1f}" for value in (row.low, row.high))
    words = {
        "both": f"{low} to {high}",
        "at most": f"at most {high}",
        "at least": f"at least {low}",
        "none": "open",
    }
    return words[row.side]


def _bracket(floor: "Floor") -> str:
    """Format an information floor: one number if it is exact, else lower and upper bound."""
    return str(floor.m) if floor.status == "exact" else f"{floor.m}..{floor.enough}"
