"""`sparsehead learn`: train on one sparse function."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from . import options
from .output import AsJson, Force, check_chart_file, check_model_file, emit, emit_on_failure, write_chart
from .read import show_certificate
from .training import TrainingDisplay

if TYPE_CHECKING:
    from ..reading import Reading
    from ..train.outcome import Run


class LearnSettings(options.Settings):
    """Every setting but those that the command names itself."""

    without = ("function", "seed")


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Where the training runs."""

    HEADING = "Machine"

    engine: Annotated[
        str,
        typer.Option(
            help="auto, compiled or torch.",
            autocompletion=options.names_in("train.transformer.engines:ENGINES", "auto"),
        ),
    ] = "auto"
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "cpu"
    dtype: Annotated[str, typer.Option(help="float32 or float64.")] = "float32"
    threads: Annotated[int, typer.Option(help="Threads of this process; one is best side by side.")] = 1


@dataclass(frozen=True, kw_only=True)
class Files:
    """What is written."""

    HEADING = "Output"

    out: Annotated[Path | None, typer.Option(help="Write the model here (safetensors).")] = None
    chart: Annotated[
        Path | None,
        typer.Option(
            help="Draw accuracy, influence and attention along training: .svg, .png, .pdf or .html."
        ),
    ] = None
    force: Force = False
    as_json: AsJson = False


def learn(
    expression: Annotated[
        str,
        typer.Argument(
            help='The function, e.g. "x5 & x20 & x30", positions from 0; or a family such as and, with --s.',
            autocompletion=options.names_in("functions:FAMILIES"),
        ),
    ],
    preset: options.Preset = "fast",
    seed: Annotated[int, typer.Option(help="Names every random stream.")] = 0,
    *,
    settings: LearnSettings,
    machine: Machine,
    files: Files,
) -> None:
    """Train on m samples of a sparse function: did it learn, when, and where does it look?"""
    from .._base.errors import DomainError
    from ..train.learn import learn as train
    from ..train.learn import outcome_values, read_back
    from ..train.threads import use_threads

    _check_files(files, settings)
    use_threads(machine.threads)
    how: dict[str, Any] = {"engine": machine.engine, "device": machine.device, "dtype": machine.dtype}
    with TrainingDisplay() as display:
        run = train(expression, seed=seed, preset=preset, progress=display, **how, **settings)
    reading = read_back(run) if run.solved else None
    result = outcome_values(run.outcome, reading)
    show = partial(_show, expression=expression, result=result, run=run, reading=reading)
    with emit_on_failure(result, files.as_json, show):
        if files.out is not None:
            from ..heads.model_file import save

            result["model"] = None
            if run.model is None:
                raise DomainError(
                    f"--out {files.out} was not written: training diverged and left no finite weights; "
                    "try a smaller --learning-rate."
                )
            result["model"] = str(save(run.model, files.out, force=files.force))
        if files.chart is not None:
            from ..figures.training import support_chart

            spec = run.spec
            drawn = support_chart(run.history, formula=spec.function, T=spec.T, m=spec.m)
            write_chart(files.chart, drawn, force=files.force)
            result["chart"] = str(files.chart)
    emit(result, files.as_json, show)


def _check_files(files: Files, settings: LearnSettings) -> None:
    """Refuse, before any training, files that could not be made of its result or not be written."""
    from .._base.errors import DomainError
    from ..train.learn import LOOK_EVERY
    from ..train.spec import LEARNERS

    learner, steps = settings.get("learner", "transformer"), settings.get("n_steps")
    if files.out is not None:
        if not LEARNERS.find(learner).has_model:
            raise DomainError(f"--out {files.out} cannot be written: a {learner} has no attention model.")
        check_model_file(files.out, force=files.force)
    if files.chart is not None:
        if learner != "transformer":
            raise DomainError(
                f"--chart {files.chart} cannot be drawn: a {learner} has no attention to follow."
            )
        if steps is not None and steps < LOOK_EVERY:
            raise DomainError(
                f"--chart {files.chart} cannot be drawn: attention is looked at every {LOOK_EVERY} steps, and --steps "
                f"is {steps}."
            )
        check_chart_file(files.chart, "--chart", force=files.force)


def _show(
    console: Console, *, expression: str, result: dict[str, Any], run: "Run", reading: "Reading | None"
) -> None:
    word = {"solved": "learned", "budget_spent": "not learned", "diverged": "diverged"}[result["status"]]
    console.print(f"{expression}: {word}, step {result['steps']} of restart {result['restarts_used']}")
    for name, key in (("training", "train_accuracy"), ("validation", "val_accuracy")):
        measured = "not measured" if result[key] is None else f"{result[key]:.4f}"
        console.print(f"  {name + ' accuracy':<20} {measured}")
    if result["support_mass"] is not None:
        heads = run.spec.H
        of = f", mean of {heads} heads; --heads 1 --k {run.spec.d} trains one" if heads > 1 else ""
        console.print(f"  attention on support {result['support_mass']:.3f}{of}")
    if run.appearance is not None:
        console.print(f"  {run.appearance.sentence()}")
    console.print(f"  seconds              {result['seconds']:.2f}")
    if result.get("model") is not None:
        console.print(f"  model                {result['model']}")
    if "chart" in result:
        console.print(f"  chart                {result['chart']}")
    if reading is not None:
        console.print(f"read back: {reading.verdict}", markup=False)
        show_certificate(console, reading)
