"""`sparsehead learn`: train on one sparse function."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from .output import AsJson, Force, check_model_file, emit, emit_on_failure, status_console
from .read import show_certificate
from .settings import (
    Clip,
    Decay,
    Dropout,
    Eps,
    Init,
    InitScale,
    LearningRate,
    Optimiser,
    Positions,
    Preset,
    Stall,
    WeightDecay,
    given,
)

if TYPE_CHECKING:
    from ..reading import Reading


def learn(
    expression: Annotated[str, typer.Argument(help='The function, e.g. "x5 & x20 & x30"; positions from 0.')],
    T: Annotated[int, typer.Option("--T", help="Context length.")],
    m: Annotated[int, typer.Option("--m", help="Training samples; with --online, fresh samples per step.")],
    seed: Annotated[int, typer.Option(help="Names every random stream.")] = 0,
    preset: Preset = "fast",
    online: Annotated[bool, typer.Option("--online", help="Fresh samples at every step.")] = False,
    learner: Annotated[
        str, typer.Option(help="transformer, mlp, lstm, logistic, tree or exhaustive.")
    ] = "transformer",
    encoding: Annotated[str, typer.Option(help="trainable, random, positional or bag.")] = "trainable",
    positions: Positions = None,
    d: Annotated[int, typer.Option("--d", help="Embedding width.")] = 64,
    heads: Annotated[int, typer.Option("--heads", help="Heads per layer.")] = 16,
    width: Annotated[int, typer.Option("--k", help="Width inside a head.")] = 4,
    layers: Annotated[int, typer.Option("--layers", help="Layers.")] = 1,
    dropout: Dropout = None,
    optimiser: Optimiser = None,
    learning_rate: LearningRate = None,
    weight_decay: WeightDecay = None,
    decay: Decay = None,
    adam_eps: Eps = None,
    clip: Clip = None,
    init: Init = None,
    init_scale: InitScale = None,
    stall: Stall = None,
    keep_training: Annotated[
        bool, typer.Option("--keep-training", help="Go on to the last step after success.")
    ] = False,
    noise: Annotated[float, typer.Option(help="Share of training labels that are flipped.")] = 0.0,
    steps: Annotated[int, typer.Option(help="Steps per restart.")] = 1000,
    restarts: Annotated[int, typer.Option(help="Initialisations before the trial counts as failed.")] = 5,
    engine: Annotated[str, typer.Option(help="auto, compiled or torch.")] = "auto",
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "cpu",
    dtype: Annotated[str, typer.Option(help="float32 or float64.")] = "float32",
    threads: Annotated[int, typer.Option(help="Threads of this process; one is best side by side.")] = 1,
    out: Annotated[Path | None, typer.Option(help="Write the model here (safetensors).")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Train on m samples of a sparse function: did it learn, when, and where does it look?"""
    from ..errors import DomainError
    from ..records.learn import learned
    from ..train.learning import learn as train
    from ..train.learning import read_back
    from ..train.threads import use_threads

    if out is not None:
        if learner != "transformer":
            raise DomainError(f"--out {out} cannot be written: a {learner} has no attention model.")
        check_model_file(out, force=force)
    use_threads(threads)
    chosen = given(
        positions=positions, dropout=dropout, optimiser=optimiser, learning_rate=learning_rate,
        weight_decay=weight_decay, decay=decay, adam_eps=adam_eps, clip=clip, init=init, init_scale=init_scale,
        stall=stall, keep_training=keep_training or None,
    )  # fmt: skip
    with Line(restarts) as line:
        run = train(
            expression, T=T, m=m, seed=seed, preset=preset, online=online, learner=learner, encoding=encoding, d=d,
            H=heads, k=width, L=layers, noise=noise, n_steps=steps, restarts=restarts, engine=engine,
            device=device, dtype=dtype, progress=line, **chosen,
        )  # fmt: skip
    reading = read_back(run) if run.solved else None
    result = learned(run.outcome, reading)
    if out is not None and run.model is not None:
        from ..model_file import save

        with emit_on_failure(result, as_json, lambda console: _show(console, expression, result, reading)):
            result["model"] = str(save(run.model, out, force=force))
    emit(result, as_json, lambda console: _show(console, expression, result, reading))


def _show(console: Console, expression: str, result: dict[str, Any], reading: "Reading | None") -> None:
    word = {"solved": "learned", "budget_spent": "not learned", "diverged": "diverged"}[result["status"]]
    console.print(
        f"[bold]{expression}[/bold]: {word}, step {result['steps']} of restart {result['restarts_used']}"
    )
    console.print(f"  training accuracy    {result['train_accuracy']:.4f}")
    console.print(f"  validation accuracy  {result['val_accuracy']:.4f}")
    if result["support_mass"] is not None:
        console.print(f"  attention on support {result['support_mass']:.3f}")
    console.print(f"  seconds              {result['seconds']:.2f}")
    if "model" in result:
        console.print(f"  model                {result['model']}")
    if reading is not None:
        console.print(f"read back: {reading.verdict}", markup=False)
        show_certificate(console, reading)


class Line:
    """The live progress line, on standard error: step, loss, accuracy, attention, time to go at most."""

    def __init__(self, restarts: int) -> None:
        self._restarts = restarts
        self._status = status_console().status("starting")

    def __enter__(self) -> "Line":
        self._status.__enter__()
        return self

    def __exit__(self, *details: Any) -> None:
        self._status.__exit__(None, None, None)

    def __call__(self, state: dict[str, Any]) -> None:
        done = state["restart"] * state["n_steps"] + state["step"]
        left = state["restarts"] * state["n_steps"] - done
        seconds = state["seconds"] / max(done, 1) * left
        mass = "" if state["support_mass"] is None else f"  attention on support {state['support_mass']:.2f}"
        self._status.update(
            f"restart {state['restart'] + 1}/{self._restarts}  step {state['step']}  loss {state['loss']:.4f}  "
            f"validation {state['val_accuracy']:.3f}{mass}  at most {seconds:.0f} s to go"
        )
