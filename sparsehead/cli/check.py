"""`sparsehead check MODEL CERTIFICATE`: check a certificate with certify/check.py."""

from pathlib import Path
from typing import Annotated

import typer

from .output import AsJson, Force, emit


def check(
    model: Annotated[
        Path | None, typer.Argument(help="The model that the certificate is about (.safetensors).")
    ] = None,
    certificate: Annotated[
        Path | None, typer.Argument(help="What `sparsehead verify --out` wrote (.json).")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(help="Write an HTML page that checks certificates in any browser, offline."),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Check a certificate using integers only; exit code 1 if the certificate is wrong.

    The checker is one file without dependencies, sparsehead/certify/check.py, which can be read and run by itself.
    """
    from .._base.errors import DomainError

    if html is not None and model is None:
        _write_page(html, force, as_json)
    elif html is None and model is not None and certificate is not None:
        _check_files(model, certificate, as_json)
    else:
        raise DomainError(
            "check takes a model and its certificate, which `sparsehead verify MODEL F --out CERTIFICATE` writes; or "
            "--html FILE alone."
        )


def _write_page(path: Path, force: bool, as_json: bool) -> None:
    from .._base.files import write_whole
    from ..lab.alone import single_page

    write_whole(path, single_page("check", title="Check a certificate").encode(), force=force)
    emit(
        {"page": str(path)},
        as_json,
        lambda c: c.print(f"wrote {path}; open it in a browser", markup=False, soft_wrap=True),
    )


def _check_files(model: Path, certificate: Path, as_json: bool) -> None:
    from .._base.errors import FileError
    from .._base.files import check_source, shown_path
    from ..certify.check import UNREADABLE, Refused, check

    sources = [check_source(path, wanted="a model file and a certificate") for path in (model, certificate)]
    try:
        sentence, holds = check(sources[0].read_bytes(), sources[1].read_bytes()), True
    except Refused as reason:
        sentence, holds = f"does not hold: {reason}.", False
    except UNREADABLE as error:
        raise FileError(
            f"{shown_path(model)} and {shown_path(certificate)} cannot be read as a model (.safetensors) "
            f"and its certificate (.json), in this order: {str(error)[:80]}."
        ) from None
    emit(
        {"holds": holds, "sentence": sentence},
        as_json,
        lambda c: c.print(sentence, markup=False, soft_wrap=True),
    )
    if not holds:
        raise typer.Exit(1)
