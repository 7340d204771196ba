"""Names that are imported when first used, so that a package is quick to import."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def names_from(package: str, home: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__`: `home` says in which of its modules each public name lives."""

    def find(name: str) -> Any:
        if name in home:
            return getattr(import_module(f".{home[name]}", package), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find
