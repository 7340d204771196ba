"""Limits that keep the code readable: names of a module's own constants, and parameters of a function."""

import ast
import functools
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


@functools.cache
def trees():
    """By path, the syntax tree of every file of the two packages."""
    files = (
        file for package in ("sparsehead", "sparsehead_paper") for file in (ROOT / package).rglob("*.py")
    )
    return {file.relative_to(ROOT).as_posix(): ast.parse(file.read_text()) for file in sorted(files)}


def constants(tree):
    """Return the UPPER_CASE names that are assigned at the top level of a module."""
    targets = []
    for node in tree.body:
        targets += node.targets if isinstance(node, ast.Assign) else []
        targets += [node.target] if isinstance(node, ast.AnnAssign) else []
    names = [n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]
    return [name for name in names if re.fullmatch(r"_?[A-Z][A-Z0-9_]*", name)]


def test_modules_have_few_constants():
    """A number that one function uses belongs into that function, with its reason. (Version 0.2 had 748.)"""
    found = {path: names for path, tree in trees().items() if (names := constants(tree))}
    assert sum(map(len, found.values())) <= 350, found


def parameters(function):
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return len(every) - (bool(every) and every[0].arg in ("self", "cls"))


def test_few_functions_have_many_parameters():
    """At most eight functions have more than eight parameters; those of typed keywords (`Unpack`) count as one."""
    functions = [
        (f"{path}:{node.name}", parameters(node))
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert len([name for name, n in functions if n > 8]) <= 8, [(name, n) for name, n in functions if n > 8]
