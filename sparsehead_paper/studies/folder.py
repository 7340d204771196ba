"""Read and write results files; the error for a missing or damaged file names the command that makes it again."""

import json
import os
from pathlib import Path
from shlex import quote
from typing import TypeVar

from sparsehead._base.errors import FileError
from sparsehead._base.files import make_folder, read_json, shown_path, write_whole
from sparsehead._base.jsonable import ResultsRecord, json_values

from .from_json import record_from

R = TypeVar("R", bound=ResultsRecord)
RESULTS = Path("results")  # the committed results, in a checkout of the repository


def default_folder() -> Path:
    """Return the folder of the user's last `reproduce` if it has results, else that of the committed results."""
    reproduction = Path("reproduction")
    return reproduction if reproduction.is_dir() and not (reproduction / "fresh").is_dir() else RESULTS


def remedy(folder: Path, name: str) -> str:
    """Return the command that measures the contents of folder/NAME.json.

    >>> remedy(Path("results"), "law-grid")
    'sparsehead reproduce --only law-grid --out results'
    """
    from .plans import command_for  # plans are made of stages, which write results

    # What no stage of `reproduce` measures, and what it writes at its end.
    others = {
        "build_vs_tracr": "python benchmarks/build.py",
        "proof": "python benchmarks/proof.py all",
        "soundness": "python tests/certify/share_models.py",
        "proof-share": "python benchmarks/proof.py share",
        "run": "sparsehead reproduce",
        "measured": "sparsehead reproduce --only NAME",
    }
    if name in others:
        return others[name]
    return f"{command_for(name)} --out {quote(str(folder))}"


def committed() -> Path:
    """Return the folder of the committed results: `results` of the checkout that this package lies in.

    Raises:
        FileError: the package was installed without the repository.
    """
    folder = Path(__file__).parents[2] / "results"
    if not has_results(folder, "measured"):
        raise FileError(
            f"the committed results are not in {shown_path(folder)}; run this in a checkout of the repository, or "
            "measure everything with `sparsehead reproduce --full`."
        )
    return folder


def has_results(folder: Path, name: str) -> bool:
    """Return whether the file folder/NAME.json exists."""
    return os.path.exists(folder / f"{name}.json")  # Path.exists raises for names that are too long


def read_results(folder: Path, name: str, kind: type[R]) -> R:
    """Return the record in `folder/NAME.json`. A file without a schema version has schema 1.

    Raises:
        FileError: the file does not exist, has another schema, or does not contain a record of type `kind`.
    """
    path = folder / f"{name}.json"
    if not has_results(folder, name):
        raise FileError(f"{shown_path(path)} is not there yet; `{remedy(folder, name)}` measures it.")
    found = read_json(path, wanted=f"a results file as `{remedy(folder, name)}` writes it")
    schema = found.pop("schema", 1)
    again = f"make it again with `{remedy(folder, name)}`"
    if schema != kind.schema:
        raise FileError(
            f"{shown_path(path)} has schema {repr(schema)[:20]}, this version of sparsehead reads {kind.schema}; "
            f"{again}, or use the version that wrote it."
        )
    try:
        record: R = record_from(kind, found)
        return record
    except FileError as error:
        raise FileError(f"{shown_path(path)} does not hold a {kind.__name__}: {error}; {again}.") from error


def write_results(folder: Path, name: str, record: ResultsRecord) -> Path:
    """Write `record` to folder/NAME.json atomically, replacing an earlier file."""
    data = {"schema": record.schema, **json_values(record)}
    return write_whole(
        make_folder(folder) / f"{name}.json", json.dumps(data, allow_nan=False).encode(), force=True
    )
