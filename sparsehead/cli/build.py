"""`sparsehead build EXPR --T ..`: construct the weights of a head that computes a sparse function, and certify them."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from .._base.fields import about, option
from ..certify.written import AttentionSample, WrittenModel, certify_written
from ..construct.build import CONSTRUCTIONS
from ..construct.build import build as write
from ..functions import parse
from ..heads.encoding import ENCODINGS
from ..heads.model_file import save
from .output import AsJson, Force, check_model_file, emit


@dataclass(frozen=True, kw_only=True)
class Construction:
    """Options of the construction; the defaults are those of `sparsehead.build`."""

    T: int = field(metadata=about("Options", "Context length: inputs have T bits."))
    encoding: str = option("positional", "positional, random, trainable or bag.", choices=ENCODINGS)
    d: int | None = option(None, "Embedding width, if the encoding does not fix it.")
    method: str = option("compact", "compact, or paper for the paper's construction.", choices=CONSTRUCTIONS)
    heads: str = option(
        "one", "one, s (one per relevant bit) or cancel (two).", choices=("one", "s", "cancel")
    )
    readout: str | None = option(None, "head (ReLU inside) or mlp; default: chosen.", choices=("head", "mlp"))
    epsilon: float | None = option(None, "Allow this error: AND and OR then need no ReLU.")
    attends_cls: bool = option(True, "Whether [CLS] attends to itself.", option="--cls")
    seed: int = option(0, "Seed of the random position vectors.")


def build(
    expression: Annotated[
        str, typer.Argument(help='The function, such as "x2 ^ x5 ^ x11" or "maj(x1,x2,x3)".')
    ],
    asked: Construction,
    out: Annotated[Path | None, typer.Option(help="Write the model to this .safetensors file.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write an attention head that computes EXPR, prove it on all 2^T inputs, and show its norms."""
    if out is not None:
        check_model_file(out, force=force)
    f = parse(expression, T=asked.T)
    model = write(f, **vars(asked))
    record = certify_written(model, f)
    written = None if out is None else str(save(model, out, force=force))
    emit({**record.to_dict(), "out": written}, as_json, lambda console: show(console, record, written))


def show(console: Console, record: WrittenModel, written: str | None) -> None:
    """Print the head, the verdict, and tables of attention and norms."""
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
        console.print(attention_table(record.attention, f.support))
    console.print(norms_table(record.norms))
    if written is not None:
        console.print(f"written to {written}", markup=False)


def attention_table(samples: tuple[AttentionSample, ...], support: tuple[int, ...]) -> Table:
    """Return a table with one row per input and head: attention on the relevant bits and elsewhere."""
    named = " ".join(f"x{t}" for t in support) if len(support) <= 4 else "relevant bits"
    table = Table(named, "output", "attention on them", "elsewhere", box=None, pad_edge=False)
    for sample in samples:
        bits = "".join(str(b) for b in sample.relevant_bits)
        for h, (head, elsewhere) in enumerate(zip(sample.weights, sample.elsewhere, strict=True)):
            listed = " ".join(f"{w:.3f}" for w in head[:8]) + (" .." if len(head) > 8 else "")
            # + 0.0 makes 0.0 of -0.0
            first = (bits, f"{round(sample.output, 6) + 0.0:.6f}") if h == 0 else ("", "")
            table.add_row(*first, listed, f"{elsewhere:.4f}")
    return table


def norms_table(norms: dict[str, Any]) -> Table:
    """Return a table of the norms of the first head's matrices, with predicted values and the paper's where known."""
    table = Table(box=None, pad_edge=False)
    table.add_column("norms")
    for title in ("Frobenius", "spectral", "(2,1)", "(2,1) of W^T", "(1,1)", "predicted F", "paper F"):
        table.add_column(title, justify="right")
    columns = ("frobenius", "spectral", "n21", "n21_T", "n11")
    for name, values in norms["heads"][0].items():
        predicted = (norms["predicted"] or {}).get("frobenius") if name == "W_QK" else None
        paper = (norms["paper"] or {}).get(name)
        extra = ["" if x is None else f"{x:.4g}" for x in (predicted, paper)]
        table.add_row(name, *(f"{values[c]:.4g}" for c in columns), *extra)
    return table
