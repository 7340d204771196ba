"""`sparsehead verify MODEL F`: does a model compute a function on every input?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from .._base.fields import option
from .output import AsJson, Force, emit


@dataclass(frozen=True, kw_only=True)
class Proof:
    """Options of the proof, as for `sparsehead.verify`."""

    method: str | None = option(None, "exhaustive, patterns, branches or search; chosen by T if left out.")
    p: float | None = option(
        None, "Bound the share of wrong inputs whose bits are independent and 1 with this probability."
    )
    seconds: float | None = option(None, "Processor time for splitting bits; 60, or 30 with --p.")


def verify(
    model: Annotated[Path, typer.Argument(help="A saved model (.safetensors).")],
    function: Annotated[str, typer.Argument(help="The function, such as 'x2 & x5 & x11'.")],
    asked: Proof,
    out: Annotated[
        Path | None,
        typer.Option(help="Write a certificate that `sparsehead check` and check.py check (.json)."),
    ] = None,
    coq: Annotated[
        Path | None,
        typer.Option(
            help="Write a theorem that the proof assistant Coq checks with the folder proofs/ (.v)."
        ),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Prove on all 2^T inputs that the model computes the function, or find an input on which it does not."""
    import os

    from .._base.errors import FileError
    from .._base.files import check_apart, check_target
    from ..certify import verify as prove

    for target, what in ((out, "certificate"), (coq, "theorem")):
        if target is not None:
            check_apart(target, model, what=what)
            check_target(target, force=force)
    if out is not None and coq is not None and os.path.realpath(out) == os.path.realpath(coq):
        raise FileError(f"--out and --coq both name {out}; the certificate and the theorem need a file each.")
    found = prove(model, function, method=asked.method, p=asked.p, limit_seconds=asked.seconds)
    result = found.to_dict()
    written = ""
    # First the file with more reasons to be refused: after an error nothing is written.
    if coq is not None:
        found.save_coq(coq, force=force)
        result["coq"] = str(coq)
        written += f"\nwrote {coq}; `coqc -Q proofs Sparsehead {coq}` checks it, after `make proofs`"
    if out is not None:
        found.save(out, force=force)
        result["certificate"] = str(out)
        written += f"\nwrote {out}; `sparsehead check {model} {out}` checks it"
    said = found.verdict.replace("computes f ", f"computes {function} ", 1)
    emit(result, as_json, lambda console: console.print(said + written, markup=False, soft_wrap=True))
