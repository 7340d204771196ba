"""The name of a user-defined learner, and a hash of its code.

The hash is taken over compiled code: comments, layout and docstrings do not count, nor do edits of a file after its
import. It covers the user's functions and classes that the code names, their arguments, and the numbers and texts that
they use; for installed packages it covers only names. Python's minor version is part of it, since each version compiles
differently.
"""

import hashlib
import sys
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np


def name_of(thing: Any) -> str:
    """Return the import path "package.module:name", or the bare name if a script or a notebook defines the object.

    A lambda gets the name of the first class or function that it uses.
    """
    if isinstance(thing, partial):
        return name_of(thing.func)
    if isinstance(thing, FunctionType) and thing.__name__ == "<lambda>":
        named = [value for value in _around(thing).values() if isinstance(value, type | FunctionType)]
        return name_of(named[0]) if named and named[0] is not thing else _path(_module(thing), "lambda")
    return _path_of(thing if isinstance(thing, type | FunctionType | MethodType) else type(thing))


def digest(*things: Any) -> str:
    """Return twelve hex digits, a hash of the code and the values of `things`."""
    functions = [thing.func if isinstance(thing, partial) else thing for thing in things]
    found = _Description({_module(f).split(".")[0] for f in functions if isinstance(f, FunctionType)})
    for thing in things:
        found.add(thing)
    text = "\n".join([f"Python {sys.version_info[0]}.{sys.version_info[1]}", *found.parts])
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:12]


class _Description:
    """A list of texts that identifies code and values; `packages` count as the user's even if they are installed."""

    def __init__(self, packages: set[str]) -> None:
        self.packages, self.parts = packages, list[str]()
        self._seen: dict[int, Any] = {}  # keeps the objects alive, so that no id is used twice

    def add(self, thing: Any) -> None:
        """Append texts that identify `thing` and everything it refers to."""
        inside: list[Any] = []
        if thing is None or isinstance(thing, bool | int | float | complex | str | bytes):
            self.parts.append(repr(thing))
        elif isinstance(thing, set | frozenset):
            self.parts.append(
                f"set {sorted(map(repr, thing))}"
            )  # sorted, since the order of a set changes between processes
        elif isinstance(thing, tuple | list):
            self.parts.append(f"{type(thing).__name__} of {len(thing)}")
            inside = list(thing)
        elif isinstance(thing, dict):
            self.parts.append(f"dict {sorted(map(str, thing))}")
            inside = [thing[key] for key in sorted(thing, key=str)]
        elif isinstance(thing, np.ndarray):
            numbers = hashlib.sha256(thing.tobytes()).hexdigest()
            self.parts.append(f"array {thing.dtype} {thing.shape} {numbers}")
        elif isinstance(thing, ModuleType):
            self.parts.append(f"module {thing.__name__}")
        elif isinstance(thing, CodeType):
            names = (thing.co_names, thing.co_varnames, thing.co_freevars)
            self.parts.append(f"code {thing.co_code.hex()} {names}")
            inside = list(thing.co_consts)
        elif isinstance(thing, type | FunctionType) and not self._is_own(_module(thing)):
            self.parts.append(_path_of(thing))
        elif id(thing) not in self._seen:
            self._seen[id(thing)] = thing
            inside = self._inside(thing)
        for part in inside:
            self.add(part)

    def _inside(self, thing: Any) -> list[Any]:
        """Return the parts of a function, class or object."""
        if isinstance(thing, FunctionType):
            self.parts.append(f"function {thing.__name__}")
            code = thing.__code__
            if thing.__doc__ is not None and code.co_consts[:1] == (thing.__doc__,):
                code = code.replace(co_consts=(None, *code.co_consts[1:]))
            return [code, thing.__defaults__, thing.__kwdefaults__, self._used(thing)]
        if isinstance(thing, type):
            self.parts.append(f"class {thing.__name__}")
            made = (
                "__doc__",
                "__module__",
                "__dict__",
                "__weakref__",
                "__firstlineno__",
                "__static_attributes__",
            )
            return [list(thing.__bases__), {key: v for key, v in vars(thing).items() if key not in made}]
        if isinstance(thing, MethodType):
            return [thing.__func__, thing.__self__]
        if isinstance(thing, partial):
            return [thing.func, thing.args, thing.keywords]
        if isinstance(thing, staticmethod | classmethod):
            return [thing.__func__]
        if isinstance(thing, property):
            return [thing.fget, thing.fset]
        self.parts.append(f"object of {_path_of(type(thing))}")
        if hasattr(thing, "detach"):  # a tensor
            return [thing.detach().cpu().numpy()]
        if hasattr(thing, "get_params"):  # a scikit-learn estimator
            return [type(thing), thing.get_params(deep=False)]
        return [
            type(thing),
            getattr(thing, "__dict__", None) if self._is_own(type(thing).__module__) else None,
        ]

    def _used(self, function: FunctionType) -> dict[str, Any]:
        """Return the outer variables that the code names, and the objects that it uses from the user's modules."""
        found = _around(function)
        for module in [value for value in found.values() if isinstance(value, ModuleType)]:
            if self._is_own(module.__name__):
                names = [name for name in _names(function.__code__) if hasattr(module, name)]
                found |= {f"{module.__name__}.{name}": getattr(module, name) for name in names}
        return found

    def _is_own(self, module: str) -> bool:
        """Return whether a module is the user's, that is, part neither of Python nor of an installed package."""
        package = module.split(".")[0]
        if package == "__main__":
            return True
        if package in (*sys.stdlib_module_names, "sparsehead", "builtins"):
            return False
        file = getattr(sys.modules.get(module), "__file__", None) or ""
        return package in self.packages or {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)


def _around(function: FunctionType) -> dict[str, Any]:
    """Return the global variables that a function names, and the variables of enclosing functions."""
    names = _names(function.__code__)
    found = {name: function.__globals__[name] for name in names if name in function.__globals__}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found


def _names(code: CodeType) -> list[str]:
    """Return the global names and attributes in a function and its inner functions, in the order of the code."""
    inner = [name for const in code.co_consts if isinstance(const, CodeType) for name in _names(const)]
    return list(dict.fromkeys([*code.co_names, *inner]))


def _path_of(thing: Any) -> str:
    return _path(_module(thing), str(thing.__qualname__))


def _module(thing: Any) -> str:
    return (
        thing.__module__ or "__main__"
    )  # a function made by exec() in a dictionary without __name__ has no module


def _path(module: str, name: str) -> str:
    name = name.rpartition("<locals>.")[2]
    return name if module == "__main__" else f"{module}:{name}"
