"""Options that `learn` and `law` share: settings of a training run, each left to the preset unless given."""

from typing import Annotated, Any

import typer

Preset = Annotated[
    str,
    typer.Option(help="fast (no dropout), paper (its figures), literal, mingpt, or best (few samples)."),
]
Positions = Annotated[
    str | None,
    typer.Option(help="Of the trainable encoding: trainable or sinusoidal.", show_default="trainable"),
]
Width = Annotated[int | None, typer.Option("--d", help="Embedding width.", show_default="the preset's")]
Heads = Annotated[int | None, typer.Option("--heads", help="Heads per layer.", show_default="the preset's")]
HeadWidth = Annotated[
    int | None, typer.Option("--k", help="Width inside a head.", show_default="the preset's")
]
Restarts = Annotated[
    int | None,
    typer.Option(help="Initialisations before a trial counts as failed.", show_default="the preset's"),
]
Dropout = Annotated[float | None, typer.Option(help="Share that is dropped.", show_default="the preset's")]
Optimiser = Annotated[
    str | None,
    typer.Option(help="adamw, adam (decay as L2 penalty) or sgd.", show_default="the preset's"),
]
LearningRate = Annotated[float | None, typer.Option(help="Step size.", show_default="the preset's")]
WeightDecay = Annotated[
    float | None, typer.Option(help="Strength of the decay.", show_default="the preset's")
]
Decay = Annotated[str | None, typer.Option(help="What decays: matrices or all.", show_default="the preset's")]
Eps = Annotated[float | None, typer.Option("--eps", help="Adam's eps.", show_default="the preset's")]
Clip = Annotated[
    float | None,
    typer.Option(help="Largest norm of a gradient; 0 never clips.", show_default="the preset's"),
]
Init = Annotated[
    str | None, typer.Option(help="mingpt, torch or torch-default.", show_default="the preset's")
]
InitScale = Annotated[
    float | None, typer.Option(help="Multiplies the initial linear maps.", show_default="1.0")
]
Learner = Annotated[str, typer.Option(help="transformer, mlp, lstm, logistic, tree or exhaustive.")]
EncodingName = Annotated[str, typer.Option(help="trainable, random, positional or bag.")]
Steps = Annotated[int | None, typer.Option(help="Steps per restart.", show_default="the preset's")]
Stall = Annotated[
    int | None,
    typer.Option(
        help="Give a fitted run up after so many steps without progress; 0 never.",
        show_default="the preset's",
    ),
]


def given(**chosen: Any) -> dict[str, Any]:
    """The settings that were given; the others are the preset's."""
    return {name: value for name, value in chosen.items() if value is not None}
