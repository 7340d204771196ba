"""`sparsehead learn`: train on one sparse function."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from . import settings
from .output import AsJson, Force, check_chart_file, check_model_file, emit, emit_on_failure, write_chart
from .read import show_certificate
from .training import TrainingDisplay

if TYPE_CHECKING:
    from ..reading import Reading
    from ..train.outcome import Run


def learn(
    expression: Annotated[str, typer.Argument(help='The function, e.g. "x5 & x20 & x30"; positions from 0.')],
    T: Annotated[int, typer.Option("--T", help="Context length.")],
    m: Annotated[int, typer.Option("--m", help="Training samples; with --online, fresh samples per step.")],
    seed: Annotated[int, typer.Option(help="Names every random stream.")] = 0,
    preset: settings.Preset = "fast",
    online: Annotated[bool, typer.Option("--online", help="Fresh samples at every step.")] = False,
    learner: settings.Learner = "transformer",
    encoding: settings.EncodingName = "trainable",
    positions: settings.Positions = None,
    d: settings.Width = None,
    heads: settings.Heads = None,
    width: settings.HeadWidth = None,
    layers: Annotated[
        int | None, typer.Option("--layers", help="Layers.", show_default="the preset's")
    ] = None,
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
    keep_training: Annotated[
        bool, typer.Option("--keep-training", help="Go on to the last step after success.")
    ] = False,
    noise: Annotated[float, typer.Option(help="Share of training labels that are flipped.")] = 0.0,
    steps: settings.Steps = None,
    restarts: settings.Restarts = None,
    engine: Annotated[str, typer.Option(help="auto, compiled or torch.")] = "auto",
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "cpu",
    dtype: Annotated[str, typer.Option(help="float32 or float64.")] = "float32",
    threads: Annotated[int, typer.Option(help="Threads of this process; one is best side by side.")] = 1,
    out: Annotated[Path | None, typer.Option(help="Write the model here (safetensors).")] = None,
    chart: Annotated[
        Path | None,
        typer.Option(
            help="Draw accuracy, influence and attention along training: .svg, .png, .pdf or .html."
        ),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Train on m samples of a sparse function: did it learn, when, and where does it look?"""
    from .._base.errors import DomainError
    from ..records.learn import LearnRecord
    from ..train.learn import learn as train
    from ..train.learn import read_back
    from ..train.spec import TrainSpec
    from ..train.threads import use_threads

    _check_files(out, chart, learner, steps, force=force)
    use_threads(threads)
    chosen = settings.given(
        positions=positions, d=d, H=heads, k=width, L=layers, dropout=dropout, optimiser=optimiser,
        learning_rate=learning_rate, weight_decay=weight_decay, decay=decay, adam_eps=adam_eps, clip=clip, init=init,
        init_scale=init_scale, stall=stall, n_steps=steps, restarts=restarts, keep_training=keep_training or None,
    )  # fmt: skip
    with TrainingDisplay(TrainSpec.restarts if restarts is None else restarts) as display:
        run = train(
            expression, T=T, m=m, seed=seed, preset=preset, online=online, learner=learner, encoding=encoding,
            noise=noise, engine=engine, device=device, dtype=dtype, progress=display, **chosen,
        )  # fmt: skip
    reading = read_back(run) if run.solved else None
    result = LearnRecord(run.outcome, reading).to_dict()
    show = partial(_show, expression=expression, result=result, run=run, reading=reading)
    with emit_on_failure(result, as_json, show):
        if out is not None:
            from ..heads.model_file import save

            result["model"] = None
            if run.model is None:
                raise DomainError(
                    f"--out {out} was not written: training diverged and left no finite weights; "
                    "try a smaller --learning-rate."
                )
            result["model"] = str(save(run.model, out, force=force))
        if chart is not None:
            write_chart(chart, _chart(run), force=force)
            result["chart"] = str(chart)
    emit(result, as_json, show)


def _check_files(
    out: Path | None, chart: Path | None, learner: str, steps: int | None, *, force: bool
) -> None:
    """Refuse, before any training, files that could not be made of its result or not be written."""
    from .._base.errors import DomainError
    from ..train.learn import LOOK_EVERY
    from ..train.spec import LEARNERS

    if out is not None:
        if not LEARNERS.find(learner).has_model:
            raise DomainError(f"--out {out} cannot be written: a {learner} has no attention model.")
        check_model_file(out, force=force)
    if chart is not None:
        if learner != "transformer":
            raise DomainError(f"--chart {chart} cannot be drawn: a {learner} has no attention to follow.")
        if steps is not None and steps < LOOK_EVERY:
            raise DomainError(
                f"--chart {chart} cannot be drawn: attention is looked at every {LOOK_EVERY} steps, and --steps is "
                f"{steps}."
            )
        check_chart_file(chart, "--chart", force=force)


def _chart(run: "Run") -> Any:
    from ..figures.appearance import support_chart

    return support_chart(run.history, formula=run.spec.function, T=run.spec.T, m=run.spec.m)


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
