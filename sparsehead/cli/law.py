"""`sparsehead law`: samples needed against context length."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from . import settings
from .numbers import whole_number
from .output import AsJson, Force, check_chart_file, emit, emit_on_failure, write_chart
from .progress import SweepLine

if TYPE_CHECKING:
    from ..laws.record import FloorRow, LawRecord, ThresholdRow

LENGTHS = "Context lengths, such as 100,300,1000."


def law(
    function: Annotated[str, typer.Argument(help="and, or, parity, majority, junta, or an expression.")],
    Ts: Annotated[str, typer.Option("--T", help=LENGTHS)],
    s: Annotated[int | None, typer.Option("--s", help="Relevant positions; needed for a family.")] = None,
    learner: settings.Learner = "transformer",
    preset: settings.Preset = "fast",
    encoding: settings.EncodingName = "trainable",
    positions: settings.Positions = None,
    d: settings.Width = None,
    heads: settings.Heads = None,
    width_inside: settings.HeadWidth = None,
    dropout: settings.Dropout = None,
    optimiser: settings.Optimiser = None,
    learning_rate: settings.LearningRate = None,
    weight_decay: settings.WeightDecay = None,
    decay: settings.Decay = None,
    adam_eps: settings.Eps = None,
    clip: settings.Clip = None,
    init: settings.Init = None,
    init_scale: settings.InitScale = None,
    stall: settings.Stall = None,
    steps: settings.Steps = None,
    restarts: settings.Restarts = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="joint (all T together), adaptive (each T alone), or grid, the paper's.",
            show_default="joint from three T on",
        ),
    ] = None,
    trials: Annotated[int, typer.Option(help="At most this many trials for each T (not grid).")] = 160,
    width: Annotated[float, typer.Option(help="Wanted ln(high/low) of each interval (not grid).")] = 0.25,
    start: Annotated[int, typer.Option(help="First guess at m_80 (not grid).")] = 60,
    seed: Annotated[int, typer.Option(help="Names every random stream.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes, one thread each.")] = 2,
    cluster: Annotated[
        str | None,
        typer.Option(help="Run on a Dask cluster: tcp://host:8786 of its scheduler, or local:N."),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(help="Run part i of n, as i/n, into its own --db; `results merge` unites the stores."),
    ] = None,
    db: Annotated[Path, typer.Option("--db", help="The store; repeating a command resumes from it.")] = Path(
        "results.db"
    ),
    out: Annotated[Path | None, typer.Option(help="Draw the chart: .svg, .png, .pdf or .html.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Measure m_80(T): the number of samples at which 80 % of trials succeed, with intervals, fits and floor."""
    from .._base.files import check_apart
    from ..laws.adaptive import Adaptive
    from ..laws.law import law as measure

    lengths = _lengths(Ts)
    chosen = settings.given(
        positions=positions, d=d, H=heads, k=width_inside, dropout=dropout, optimiser=optimiser, decay=decay,
        learning_rate=learning_rate, weight_decay=weight_decay, adam_eps=adam_eps, clip=clip, init=init,
        init_scale=init_scale, stall=stall, n_steps=steps, restarts=restarts,
    )  # fmt: skip
    if out is not None:
        check_apart(out, db, what="chart")
        check_chart_file(out, "--out", force=force)
    with SweepLine() as line:
        found = measure(
            function, T=lengths, s=s, db=db, seed=seed, method=method, preset=preset, workers=workers,
            cluster=cluster, shard=shard,
            policy=Adaptive(start=start, width=width, max_trials=trials), learner=learner, encoding=encoding,
            progress=lambda p: line.report("", p), say=line.say, **chosen,
        )  # fmt: skip
    record = found.record()
    result = found.to_dict()
    if out is not None:
        from ..figures.law_record import law_figure

        with emit_on_failure(result, as_json, lambda console: _show(console, record)):
            write_chart(out, law_figure(record), force=force)
        result["chart"] = str(out)
    emit(result, as_json, lambda console: _show(console, record, out))


def _lengths(text: str) -> list[int]:
    from .._base.errors import ParseError

    try:
        return [whole_number(part) for part in text.split(",")]
    except typer.BadParameter:
        raise ParseError(
            f"--T takes whole numbers with commas between them, such as 100,300,1e3; got {text[:60]!r}."
        ) from None


def _show(console: Console, record: "LawRecord", chart: Path | None = None) -> None:
    floor = {row.T: row for row in record.floor}
    runs = next((row.guesses for row in record.floor if row.guesses and row.guesses > 1), None)
    floors = [*([f"floor, {runs} runs"] if runs else []), *(["one answer"] if floor else [])]
    table = Table("T", "m_80", "95 % interval", "trials", *floors, "", box=None, pad_edge=False)
    for row in record.thresholds:
        m80 = "-" if row.m80 is None else f"{row.m80:.1f}"
        own = floor.get(row.T)
        beside = ["" if own is None else str(own.m_guesses or "?"), "" if own is None else _bracket(own)]
        table.add_row(str(row.T), m80, _interval(row), str(row.trials), *beside[2 - len(floors) :], row.note)
    console.print(table)
    if floor:
        console.print(
            "floor: with fewer independent samples no learner has the right positions among so many answers (a trial's "
            "runs), or as its one answer, in 80 % of cases; of a bracket the second number is enough. Trials draw "
            "ambiguous training sets again, so for them the floors are yardsticks, not limits."
        )
    for name, fit in record.fits.items():
        a, b = fit.params["a"], fit.params["b"]
        formula = {
            "log": f"{a:.1f} + {b:.2f} ln T",
            "power": f"{a:.2f} T^{b:.3f}",
            "linear": f"{a:.1f} + {b:.4f} T",
        }
        low, high = ("?" if end is None else f"{end:.3g}" for end in fit.intervals["b"])
        aic = f"   AIC {fit.delta_aic:+.1f}" if record.best else ""
        console.print(f"{name:7} m_80 = {formula[name]}   b in [{low}, {high}]{aic}")
    if record.note:
        console.print(record.note)
    console.print(f"{record.seconds:.0f} s" + (f"; wrote {chart}" if chart else ""))


def _interval(row: "ThresholdRow") -> str:
    """The interval in words: two ends, or the one that the trials give."""
    low, high = ("" if value is None else f"{value:.1f}" for value in (row.low, row.high))
    words = {
        "both": f"{low} to {high}",
        "at most": f"at most {high}",
        "at least": f"at least {low}",
        "none": "open",
    }
    return words[row.side]


def _bracket(floor: "FloorRow") -> str:
    """A floor as one number where it is exact, else as its lower and upper end."""
    return str(floor.m) if floor.status == "exact" else f"{floor.m}..{floor.enough}"
