"""What stands behind a claim, found by its label.

Code: every module, class and function of the package whose docstring has a line `Paper: label, label`.
Tests: every test function with `@pytest.mark.claim("label", ..)`; none where the package is installed without them.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = (ROOT / "sparsehead", ROOT / "sparsehead_paper")
TESTS = ROOT / "tests"
PAPER_LINE = re.compile(r"Paper:\s+([a-z0-9-]+(?:,\s+[a-z0-9-]+)*)")
Documented = ast.Module | ast.ClassDef | ast.FunctionDef


@cache
def labelled_code() -> dict[str, tuple[str, ...]]:
    """For each label the code that names it, as "package.module:name" ("package.module" for a whole module)."""
    found: dict[str, list[str]] = {}
    for file in sorted(file for package in PACKAGES for file in package.rglob("*.py")):
        text = file.read_text()
        if PACKAGES[1] / "claims" in file.parents or "Paper:" not in text:
            continue
        for name, node in _documented(ast.parse(text), _module(file), ":"):
            for labels in PAPER_LINE.findall(ast.get_docstring(node, clean=False) or ""):
                for label in re.split(r",\s+", labels):
                    found.setdefault(label, []).append(name)
    return {label: tuple(dict.fromkeys(names)) for label, names in found.items()}


@cache
def marked_tests() -> dict[str, tuple[str, ...]]:
    """For each label the tests marked with it, as "tests/path.py::test_name"."""
    found: dict[str, list[str]] = {}
    for file in sorted(TESTS.rglob("test_*.py")) if TESTS.is_dir() else ():
        text = file.read_text()
        for node in ast.walk(ast.parse(text)) if "mark.claim" in text else ():
            for label in _marked(node):
                path = file.relative_to(TESTS.parent).as_posix()
                found.setdefault(label, []).append(f"{path}::{getattr(node, 'name', '')}")
    return {label: tuple(names) for label, names in found.items()}


def _module(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _documented(node: Documented, name: str, separator: str) -> Iterator[tuple[str, Documented]]:
    """`node` and the classes and functions in it, each with its full name."""
    yield name, node
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef):
            yield from _documented(child, f"{name}{separator}{child.name}", ".")


def _marked(node: ast.AST) -> list[str]:
    """The labels of the `pytest.mark.claim(..)` decorators of a test function."""
    if not isinstance(node, ast.FunctionDef):
        return []
    calls = [d for d in node.decorator_list if isinstance(d, ast.Call)]
    marks = [c for c in calls if ast.unparse(c.func) == "pytest.mark.claim"]
    return [
        arg.value
        for c in marks
        for arg in c.args
        if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
    ]
