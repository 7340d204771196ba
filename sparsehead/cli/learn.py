"""`sparsehead learn`: train on one sparse function."""

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
from rich.console import Console

from .._base.errors import DomainError
from .._base.fields import option, setting
from ..functions import FAMILIES
from ..heads.model_file import save
from ..reading import Reading
from ..train.learn import LOOK_EVERY, outcome_values, read_back
from ..train.learners.own import known_learner
from ..train.outcome import Run
from ..train.spec import PRESETS
from ..train.transformer.engines import ENGINES
from .learn_table import FromTable, learn_from_table
from .options import Settings
from .output import AsJson, Force, check_chart_file, check_model_file, emit, emit_on_failure, write_chart
from .read import show_certificate
from .training import TrainingDisplay


class LearnSettings(Settings):
    """Every setting of a trial except the function."""

    without = ("function",)
    defaults: ClassVar = {"seed": 0, "T": None, "m": None}  # a table brings its own


@dataclass(frozen=True, kw_only=True)
class FromPreset:
    """The option that chooses the preset from which settings start."""

    preset: str = option("fast", "fast (no dropout), paper (its figures), literal, mingpt, best (few samples), or "
        "gated (fewer for AND and OR).", choices=PRESETS
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Asked(FromPreset):
    """Options: the preset, the files to write, and the engine and device that train."""

    preset: str = option("", "fast (no dropout; default for functions), paper (its figures), literal, mingpt, best "
        "(few samples; default for tables), or gated (fewer for AND and OR).", choices=PRESETS
    )  # fmt: skip
    out: Path | None = option(None, "Write the model here (safetensors).")
    chart: Path | None = option(
        None, "Draw accuracy, influence and attention during training: .svg, .png, .pdf or .html."
    )
    engine: str = setting("auto", "Machine", "auto, compiled or torch.", choices=("auto", *ENGINES))
    device: str = setting("cpu", "Machine", "cpu, cuda or auto.", choices=("cpu", "cuda", "auto"))
    dtype: str = setting("float32", "Machine", "float32 or float64.", choices=("float32", "float64"))
    threads: int = setting(1, "Machine", "Threads; 1 is best if several trainings run at once.")


def learn(
    asked: Asked,
    table: FromTable,
    settings: LearnSettings,
    expression: Annotated[
        str | None,
        typer.Argument(
            help='The function, e.g. "x5 & x20 & x30", positions from 0; or a family such as and, with --s.',
            autocompletion=lambda: list(FAMILIES),
            show_default=False,
        ),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Train on m samples of a sparse function or on the rows of a table; show whether, when and what was learned."""
    from ..train.learn import learn as train

    if table.is_given(expression):
        learn_from_table(asked, table, settings, force=force, as_json=as_json)
        return
    if expression is None:
        raise DomainError(
            "learn needs a function such as 'x5 & x20', or a table: --data FILE --label COLUMN."
        )
    _check_files(asked, settings, force=force)
    _use_threads(asked.threads)
    with TrainingDisplay() as display:
        run = train(
            expression, preset=asked.preset, engine=asked.engine, device=asked.device, dtype=asked.dtype,
            progress=display, **settings,
        )  # fmt: skip
    reading = read_back(run) if run.solved else None
    result = outcome_values(run.outcome, reading)
    show = partial(_show, expression=expression, result=result, run=run, reading=reading)
    with emit_on_failure(result, as_json, show):
        if asked.out is not None:
            result["model"] = None
            if run.model is None:
                raise DomainError(
                    f"--out {asked.out} was not written: training diverged and left no finite weights; "
                    "try a smaller --learning-rate."
                )
            result["model"] = str(save(run.model, asked.out, force=force))
        if asked.chart is not None:
            from ..figures.training import support_chart

            drawn = support_chart(run.history, formula=run.spec.function, T=run.spec.T, m=run.spec.m)
            write_chart(asked.chart, drawn, force=force)
            result["chart"] = str(asked.chart)
    emit(result, as_json, show)


def _check_files(asked: Asked, settings: LearnSettings, *, force: bool) -> None:
    """Refuse, before training, output files that this learner does not produce or that cannot be written."""
    learner, steps = settings.get("learner", "transformer"), settings.get("n_steps")
    if asked.out is not None:
        if not known_learner(learner)[1].has_model:
            raise DomainError(f"--out {asked.out} cannot be written: a {learner} has no attention model.")
        check_model_file(asked.out, force=force)
    if asked.chart is not None:
        why = ""
        if learner != "transformer":
            why = f"a {learner} has no attention to follow"
        elif steps is not None and steps < LOOK_EVERY:
            why = f"attention is looked at every {LOOK_EVERY} steps, and --steps is {steps}"
        if why:
            raise DomainError(f"--chart {asked.chart} cannot be drawn: {why}.")
        check_chart_file(asked.chart, "--chart", force=force)


def _show(
    console: Console, *, expression: str, result: dict[str, Any], run: Run, reading: Reading | None
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


def _use_threads(n: int) -> None:
    """Limit torch in this process to n threads; the compiled engine always uses one thread, and no torch."""
    if n < 1:
        raise DomainError(f"a process needs at least one thread, got {n}.")
    with suppress(ImportError):
        import torch

        torch.set_num_threads(n)
