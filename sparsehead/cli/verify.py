"""`sparsehead verify MODEL F`: does a model compute a function on every input?"""

from pathlib import Path
from typing import Annotated

import typer

from .output import AsJson, Force, emit


def verify(
    model: Annotated[Path, typer.Argument(help="A saved model (.safetensors).")],
    function: Annotated[str, typer.Argument(help="The function, such as 'x2 & x5 & x11'.")],
    method: Annotated[
        str | None, typer.Option(help="exhaustive, patterns, branches or search; chosen by T if left out.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write a certificate that `sparsehead check` and check.py check (.json)."),
    ] = None,
    p: Annotated[
        float | None,
        typer.Option(
            "--p",
            help="Bound the share of wrong inputs whose bits are independent and 1 with this probability.",
        ),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="Processor time for splitting bits; 60, or 30 with --p.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Prove on all 2^T inputs that the model computes the function, or find an input on which it does not."""
    from .._base.files import check_apart, check_target
    from ..certify import verify as prove

    if out is not None:
        check_apart(out, model, what="certificate")
        check_target(out, force=force)
    found = prove(model, function, method=method, p=p, limit_seconds=seconds)
    result = found.to_dict()
    if out is not None:
        found.save(out, force=force)
        result["certificate"] = str(out)
    written = f"\nwrote {out}; `sparsehead check {model} {out}` checks it" if out is not None else ""
    said = found.verdict.replace("computes f ", f"computes {function} ", 1)
    emit(result, as_json, lambda console: console.print(said + written, markup=False, soft_wrap=True))
