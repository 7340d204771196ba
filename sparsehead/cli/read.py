"""`sparsehead read MODEL`: find the function that a model computes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from .output import AsJson, emit

if TYPE_CHECKING:
    from ..reading import Reading


def read(
    model: Annotated[Path, typer.Argument(help="A saved model (.safetensors).")],
    data: Annotated[
        Path | None, typer.Option(help="Labelled examples: a text file, T bits and a label on each line.")
    ] = None,
    held_out: Annotated[
        bool, typer.Option("--held-out", help="Training never saw these examples.", show_default=False)
    ] = False,
    p: Annotated[
        float | None,
        typer.Option("--p", help="Share of ones in the inputs; default: as stored in the model, or 1/2."),
    ] = None,
    most: Annotated[int, typer.Option(help="The most positions that the function may read, up to 12.")] = 8,
    delta: Annotated[float, typer.Option(help="The certificate may fail with this probability.")] = 0.05,
    seed: Annotated[int, typer.Option(help="Seed of the random inputs.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Find the sparse function that a model computes, and say how far it can be trusted."""
    from ..heads.model_file import load
    from ..reading import read as read_model
    from ..reading.examples import read_examples

    loaded = load(model)
    examples = None if data is None else read_examples(data, T=loaded.T)
    reading = read_model(loaded, seed=seed, p=p, data=examples, held_out=held_out, most=most, delta=delta)
    emit(reading.to_dict(), as_json, lambda console: show(console, reading))


def show(console: Console, reading: "Reading") -> None:
    """Print the verdict, the certificate and the evidence."""
    from ..reading.evidence import disagreement

    console.print(f"The model {reading.verdict}", markup=False)
    console.print(
        f"found by {reading.method}: {reading.queries} inputs asked "
        f"(at most {reading.query_bound}), p = {reading.p:.3g}"
    )
    if reading.certificate is not None:
        show_certificate(console, reading)
    for note in reading.notes:
        console.print(note)
    broken = reading.breaking
    if broken is not None and broken.flips is not None:
        word = "" if broken.exact else "found so far "
        console.print(f"fewest irrelevant flips {word}that change a prediction: {broken.flips}")
    elif broken is not None:
        console.print("no flips of irrelevant positions were found that change a prediction")
    table = Table("position", "attention", "influence", "flips", box=None)
    for t, e in sorted(reading.evidence.items(), key=lambda pair: (pair[0] not in reading.support, pair[0])):
        mark = "*" if t in reading.support else ""
        attention = "-" if e.attention is None else f"{e.attention:.4f}"
        table.add_row(f"x{t}{mark}", attention, f"{e.influence:.3f}", f"{e.flips:.3f}")
    console.print(table)
    console.print(
        "* in the support; attention: mean weight (-: not an attention model); influence: of the function, exact; "
        "flips: share of inputs whose label the flip changes"
    )
    if (sentence := disagreement(reading.evidence, reading.support)) is not None:
        console.print(sentence)
    if reading.ablation is not None:
        a = reading.ablation
        console.print(
            f"agreement with only the support attended {a.support_only:.3f}; without "
            + ", ".join(f"x{t} {v:.3f}" for t, v in a.without_position.items())
        )


def show_certificate(console: Console, reading: "Reading") -> None:
    """Print the error bounds: one line for the function, one for the model."""
    c = reading.certificate
    if c is None:
        return
    console.print(
        f"error of the function at most {c.bound:.3f} (Occam bound, {c.method}, m = {c.m}, {c.mistakes} mistakes, "
        f"{c.log_price:.1f} nats, confidence {1 - c.delta / 2:g}; empirical Bernstein {c.bernstein:.3f})"
    )
    if c.model_bound is not None:
        console.print(f"error of the model at most {c.model_bound:.3f} (confidence {1 - c.delta:g})")
    console.print(f"assumed: {c.assumed}")
