"""Registries: learners, encodings and other extensions by name, both built-in ones and plugins.

An installed package adds a plugin by an entry point in its pyproject.toml, in the group of the kind:

    [project.entry-points."sparsehead.learners"]
    nearest = "my_package.nearest:NEAREST"

The kinds are learners, encodings, engines, constructions, bound forms ("sparsehead.forms"), architectures, figures and
claims.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from .arguments import meant, shown
from .errors import DomainError, SparseheadError

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """Objects of one kind by name, built-in ones first. Plugins are searched only for names that are not built in, and
    for listings.

    Args:
        kind: what one object is called in messages, such as "learner".
        builtin: each object itself, or "module:name", which is imported on first use.
    """

    def __init__(self, kind: str, builtin: Mapping[str, T | str]) -> None:
        self.kind = kind
        self._builtin = dict(builtin)
        self._loaded: dict[str, T] = {}
        self._listed: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._loaded:
            found: Any = self._builtin[name] if name in self._builtin else self._plugins()[name].load()
            if isinstance(found, str):
                module, _, attribute = found.partition(":")
                found = getattr(import_module(module), attribute)
            self._loaded[name] = found
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._builtin, *self._plugins(), *self._listed]))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, name: object) -> bool:
        return name in self._loaded or name in self._builtin or name in self._plugins()

    def add(self, name: str, thing: T, *, listed: bool = False) -> None:
        """Register an object in this process only; listings leave it out unless `listed`."""
        self._loaded[name] = thing
        if listed:
            self._listed[name] = thing

    def forget(self, name: str) -> None:
        """Undo `add`."""
        self._loaded.pop(name, None)
        self._listed.pop(name, None)

    def is_builtin(self, name: str) -> bool:
        """Return whether the object of that name belongs to this package."""
        return name in self._builtin

    def check(self, name: str) -> str:
        """Return the name if it is known; otherwise raise a DomainError with the known names."""
        if name not in self:
            short = str(name)[:60]
            known = f"the {self.kind}s are {', '.join(self)}"
            raise DomainError(f"{self.kind} {short!r} is unknown; {known}.{meant(name, self)}")
        return name

    def find(self, name: str) -> T:
        """Return the object of that name; if it is unknown, raise a DomainError with the known names."""
        return self[self.check(name)]

    def _plugins(self) -> dict[str, EntryPoint]:
        return _entry_points(f"sparsehead.{self.kind}s", tuple(sys.path))


@cache  # reading the metadata of all installed packages takes 20 ms
def _entry_points(group: str, path: tuple[str, ...]) -> dict[str, EntryPoint]:
    """The entry points of a group, by name; the cached result depends on sys.path, which is passed as `path`."""
    return {point.name: point for point in entry_points(group=group)}


def imported(text: str, *, what: str) -> Any:
    """Return the object named "package.module:name", from installed packages or the folders of PYTHONPATH.

    Args:
        what: the kind of the thing, for messages, such as "learner".
    Raises:
        DomainError: the text is of another form, there is no such module, or the module has no such name.
    """
    module, _, name = text.partition(":")
    if not all(part.isidentifier() for part in [*module.split("."), name]):
        one = "an" if what[0] in "aeiou" else "a"
        raise DomainError(f"{one} {what} to be imported is written package.module:name; got {shown(text)}.")
    try:
        with _without_current_folder():
            found = import_module(module)
    except ModuleNotFoundError as error:
        if not error.name or not f"{module}.".startswith(f"{error.name}."):
            raise SparseheadError(f"importing {module} failed: {error}.") from error
        raise DomainError(
            f"there is no module {error.name!r} among installed packages and in the folders of PYTHONPATH, which is "
            f"where {what}s are imported from; files of the current folder are data (PYTHONPATH=$PWD adds it)."
        ) from None
    except (Exception, SystemExit) as error:
        first = str(error).partition("\n")[0]
        raise SparseheadError(f"importing {module} failed: {type(error).__name__}: {first}") from error
    if not hasattr(found, name):
        raise DomainError(f"the module {module} has no {name!r}.{meant(name, dir(found))}")
    return getattr(found, name)


@contextmanager
def _without_current_folder() -> Iterator[None]:
    """Remove the current folder from sys.path inside the block; `search_path` says when it stays."""
    before = list(sys.path)
    sys.path[:] = search_path()
    try:
        yield
    finally:
        sys.path[:] = before


def search_path() -> list[str]:
    """Return sys.path without the current folder, unless PYTHONPATH or an installed package put it there."""
    first = [] if sys.flags.safe_path or sys.path[:1] not in ([""], [os.getcwd()]) else sys.path[:1]
    return [folder for folder in sys.path[len(first) :] if folder]
