"""Every example in a docstring of the two packages runs as printed.

The docstrings are taken from the source, so that a decorated function's example is found like any other, and only
modules that have an example are imported.
"""

import ast
import doctest
from importlib import import_module
from pathlib import Path

import pytest

import sparsehead

ROOT = Path(__file__).parents[2]
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def examples() -> dict[str, tuple[str, str, int]]:
    """By "module::name": the module, the docstring and the line where the thing it documents begins."""
    found = {}
    for file in sorted(ROOT.glob("sparsehead*/**/*.py")):
        text = file.read_text()
        if ">>>" not in text:
            continue
        parts = file.relative_to(ROOT).with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, DOCUMENTED) and ">>>" in (ast.get_docstring(node) or ""):
                line = getattr(node, "lineno", 1)
                name = f"{module}::{getattr(node, 'name', 'module')}"
                found[name] = (module, ast.get_docstring(node) or "", line)
    return found


EXAMPLES = examples()


def test_there_are_examples():
    assert len(EXAMPLES) >= 20


@pytest.mark.parametrize("name", sparsehead.__all__)
def test_every_public_name_has_an_example(name):
    thing = getattr(sparsehead, name)
    assert f"{thing.__module__}::{thing.__name__}" in EXAMPLES, f"{name} has no example in its docstring"


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_runs_as_printed(name):
    module, text, line = EXAMPLES[name]
    names = dict(vars(import_module(module)))
    case = doctest.DocTestParser().get_doctest(text, names, name, module, line)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    runner.run(case, out=said.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)
