"""`sparsehead build EXPR --T ..`: the weights of a sparse function, written down and certified."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from .options import names_in
from .output import AsJson, Force, check_model_file, emit

if TYPE_CHECKING:
    from ..certify.written import AttentionSample, WrittenModel

SHOWN = 8  # relevant positions listed per input


@dataclass(frozen=True, kw_only=True)
class Construction:
    """How the head is written; the defaults are those of `sparsehead.build`."""

    encoding: Annotated[
        str,
        typer.Option(
            help="positional, random, trainable or bag.", autocompletion=names_in("heads.encoding:ENCODINGS")
        ),
    ] = "positional"
    d: Annotated[int | None, typer.Option(help="Width, where the encoding leaves it open.")] = None
    method: Annotated[
        str,
        typer.Option(
            help="compact, or paper for the printed construction.",
            autocompletion=names_in("construct.build:CONSTRUCTIONS"),
        ),
    ] = "compact"
    heads: Annotated[str, typer.Option(help="one, s (one per relevant bit) or cancel (two).")] = "one"
    readout: Annotated[str | None, typer.Option(help="head (ReLU inside it) or mlp; else chosen.")] = None
    epsilon: Annotated[float | None, typer.Option(help="Allow this error: AND and OR then need no ReLU.")] = (
        None
    )
    attends_cls: Annotated[bool, typer.Option("--cls/--no-cls", help="Whether [CLS] attends to itself.")] = (
        True
    )
    seed: Annotated[int, typer.Option(help="Names the random positions.")] = 0


def build(
    expression: Annotated[
        str, typer.Argument(help='The function, such as "x2 ^ x5 ^ x11" or "maj(x1,x2,x3)".')
    ],
    T: Annotated[int, typer.Option("--T", help="Context length: inputs have T bits.")],
    *,
    asked: Construction,
    out: Annotated[Path | None, typer.Option(help="Write the model to this .safetensors file.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write an attention head that computes EXPR, prove it on all 2^T inputs, and show its norms."""
    from ..certify.written import certify_written
    from ..construct import build as write
    from ..functions import parse
    from ..heads.model_file import save

    if out is not None:
        check_model_file(out, force=force)
    f = parse(expression, T=T)
    model = write(f, **vars(asked))
    record = certify_written(model, f)
    written = None if out is None else str(save(model, out, force=force))
    emit({**record.to_dict(), "out": written}, as_json, lambda console: show(console, record, written))


def show(console: Console, record: "WrittenModel", written: str | None) -> None:
    """The head in a line, the verdict in two, attention and norms as tables."""
    model, f, proof = record.model, record.function, record.certificate
    plural = "head" if model.H == 1 else "heads"
    console.print(f"{f}  reads {f.s} of T={f.T} bits", markup=False)
    code = "" if record.code is None else f", code {tuple(record.code)}"
    console.print(
        f"{model.H} {plural}, d={model.d}, {record.hidden_units} ReLU units ({record.readout}){code}",
        markup=False,
    )
    console.print(record.verdict, markup=False, soft_wrap=True)
    console.print(f"{proof.method}: {proof.note}", markup=False, soft_wrap=True)
    if proof.exact:
        from ..certify.certificate import EXACT_MEANS

        console.print(f"({EXACT_MEANS})", markup=False, soft_wrap=True)
    if f.s:
        console.print(attention_table(record.attention))
    console.print(norms_table(record.norms))
    if written is not None:
        console.print(f"written to {written}", markup=False)


def attention_table(samples: "tuple[AttentionSample, ...]") -> Table:
    """One row per input and head: where its attention falls."""
    table = Table(box=None, pad_edge=False)
    for title in ("relevant bits", "output", "attention on them", "elsewhere"):
        table.add_column(title)
    for sample in samples:
        bits = "".join(str(b) for b in sample.relevant_bits)
        for h, (head, elsewhere) in enumerate(zip(sample.weights, sample.elsewhere, strict=True)):
            listed = " ".join(f"{w:.3f}" for w in head[:SHOWN]) + (" .." if len(head) > SHOWN else "")
            first = (bits, f"{sample.output:.6f}") if h == 0 else ("", "")
            table.add_row(*first, listed, f"{elsewhere:.4f}")
    return table


def norms_table(norms: dict[str, Any]) -> Table:
    """One row per matrix of the first head; prediction and the paper's size where known."""
    table = Table(box=None, pad_edge=False)
    for title in (
        "norms",
        "Frobenius",
        "spectral",
        "(2,1)",
        "(2,1) of W^T",
        "(1,1)",
        "predicted F",
        "paper F",
    ):
        table.add_column(title, justify="left" if title == "norms" else "right")
    columns = ("frobenius", "spectral", "n21", "n21_T", "n11")
    for name, values in norms["heads"][0].items():
        predicted = (norms["predicted"] or {}).get("frobenius") if name == "W_QK" else None
        paper = (norms["paper"] or {}).get(name)
        extra = ["" if x is None else f"{x:.4g}" for x in (predicted, paper)]
        table.add_row(name, *(f"{values[c]:.4g}" for c in columns), *extra)
    return table
