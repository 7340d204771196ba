"""Import names on first use, so that a package is quick to import; explain missing extras."""

import ast
import shlex
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .errors import MissingExtra


def names_for_type_checkers(file: str) -> dict[str, str]:
    """Return the module of each name, from the lines `from .module import name as name` that type checkers read: all
    lines of a stub (.pyi), or those under `if TYPE_CHECKING:` in a Python file.
    """
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    blocks = [tree.body] if file.endswith(".pyi") else [n.body for n in tree.body if isinstance(n, ast.If)]
    lines = [node for block in blocks for node in block if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in lines for alias in node.names}


def names_from(module: str, home: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a `__getattr__` for a module of `sparsehead`; `home` maps each name to the module that defines it."""

    def find(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        try:
            return getattr(import_module(f"sparsehead.{home[name]}"), name)
        except ModuleNotFoundError as error:
            raise missing_extra(error) from None

    return find


def installed(module: str) -> bool:
    """Return whether an optional package can be imported."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def require_module(module: str) -> None:
    """Raise MissingExtra, with the command that installs it, if an optional package is missing."""
    if not installed(module):
        raise missing_extra(ModuleNotFoundError(name=module))


def missing_extra(error: ModuleNotFoundError) -> ModuleNotFoundError | MissingExtra:
    """Return a MissingExtra with the command that installs the module, or `error` itself if no extra has it."""
    module = (error.name or "").split(".")[0]
    # Optional packages, and the extra that installs each.
    extras = {
        "torch": "learn",
        "sklearn": "learn",
        "cloudpickle": "learn",
        "altair": "charts",
        "vl_convert": "charts",
        "jinja2": "charts",
        "markupsafe": "charts",
        "latex2mathml": "charts",
        "pyarrow": "parquet",
        "fastapi": "lab",
        "uvicorn": "lab",
        "transformers": "probe",
        "gguf": "probe",
        "accelerate": "probe",
        "distributed": "cluster",
        "transformer_lens": "lens",
        "onnx": "onnx",
        "onnxscript": "onnx",
    }
    if module not in extras:
        return error
    return MissingExtra(
        f"this needs {module}, which is not installed; {install_command(extras[module])} brings it."
    )


def install_command(extra: str) -> str:
    """Return the command that installs the packages of an extra. It names these packages, not sparsehead itself, so
    that it works however sparsehead was installed.

    >>> install_command("parquet")
    "pip install 'pyarrow>=17'"
    """
    try:
        lines = requires("sparsehead") or []
    except PackageNotFoundError:  # a source tree on the path, without an installation
        lines = []
    needs = [line.partition(";")[0].strip() for line in lines if line.endswith(f"extra == {extra!r}")]
    return shlex.join(["pip", "install", *(needs or [f".[{extra}]"])])
