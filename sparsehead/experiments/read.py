"""One results file in, one JSON object out; what is missing or damaged is one sentence with the command to run."""

import json
from pathlib import Path
from shlex import quote
from typing import Any

from ..errors import FileError
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
    path, again = folder / f"{name}.json", f"make it again with `{remedy(folder, name)}`."
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileError(f"{path} is not there yet; `{remedy(folder, name)}` measures it.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise FileError(f"{path} cannot be read as JSON ({error}); {again}") from None
    if not isinstance(found, dict):
        raise FileError(f"{path} holds a {type(found).__name__}, not an object; {again}")
    return found
