"""`sparsehead check MODEL CERTIFICATE`: a certificate, checked by certify/check.py."""

from pathlib import Path
from typing import Annotated

import typer

from .output import AsJson, emit


def check(
    model: Annotated[Path, typer.Argument(help="The model that the certificate is about (.safetensors).")],
    certificate: Annotated[Path, typer.Argument(help="What `sparsehead verify --out` wrote (.json).")],
    as_json: AsJson = False,
) -> None:
    """Check a certificate with whole numbers alone; exit code 1 if it does not hold.

    The checker is one file without dependencies, sparsehead/certify/check.py: read it, and run it by itself.
    """
    from .._base.errors import FileError
    from .._base.files import check_source, shown_path
    from ..certify.check import UNREADABLE, Refused, parsed_certificate
    from ..certify.check import check as check_content

    sources = [check_source(path, wanted="a model file and a certificate") for path in (model, certificate)]
    try:
        sentence, holds = (
            check_content(sources[0].read_bytes(), parsed_certificate(sources[1].read_bytes())),
            True,
        )
    except Refused as reason:
        sentence, holds = f"does not hold: {reason}.", False
    except UNREADABLE as error:
        raise FileError(
            f"{shown_path(model)} and {shown_path(certificate)} cannot be read as a model and its certificate "
            f"({type(error).__name__}: {str(error)[:80]})."
        ) from None
    emit(
        {"holds": holds, "sentence": sentence},
        as_json,
        lambda c: c.print(sentence, markup=False, soft_wrap=True),
    )
    if not holds:
        raise typer.Exit(1)
