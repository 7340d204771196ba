"""One results file in, one JSON object out; what is missing or damaged is one sentence with the command to run."""

import os
from pathlib import Path
from shlex import quote
from typing import Any

from ..errors import FileError
from ..files import read_json, shown
from .plans import command_for

BENCHMARKS = {"build_vs_tracr": "python benchmarks/build.py"}  # what no stage of `reproduce` measures


def remedy(folder: Path, name: str) -> str:
    """The command that measures what folder/NAME.json holds.

    >>> remedy(Path("results"), "law-grid")
    'sparsehead reproduce --full --out results'
    """
    if name in BENCHMARKS:
        return BENCHMARKS[name]
    return f"{command_for(name)} --out {quote(str(folder))}"


def read_results(folder: Path, name: str) -> dict[str, Any]:
    """The JSON object in `folder/NAME.json`.

    Raises:
        FileError: there is no such file, or it does not hold a JSON object.
    """
    path = folder / f"{name}.json"
    if not os.path.exists(path):  # Path.exists raises for names that are too long
        raise FileError(f"{shown(path)} is not there yet; `{remedy(folder, name)}` measures it.")
    return read_json(path, wanted=f"a results file as `{remedy(folder, name)}` writes it")
