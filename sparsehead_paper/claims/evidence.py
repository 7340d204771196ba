"""Find the code and tests of each claim by its label in a checkout; the package ships them as evidence.json.

Code: every module, class and function with `Paper: label, label` in its docstring, except the claims themselves.
Tests: every test function with `@pytest.mark.claim("label", ..)`.
Proofs: every theorem of proofs/*.v after a comment that ends with `Paper: label, label`.
"""

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal, NotRequired, TypedDict


class Evidence(TypedDict):
    """Evidence for one claim: code "package.module:name", tests "tests/path.py::name", proofs "proofs/File.v::name"."""

    code: list[str]
    tests: list[str]
    proofs: NotRequired[list[str]]


@cache
def evidence() -> dict[str, Evidence]:
    """Return the evidence of every claim by label, from the file evidence.json that `document` writes."""
    found: dict[str, Evidence] = json.loads(Path(__file__).with_name("evidence.json").read_text())
    return found


def find_evidence(checkout: Path) -> dict[str, Evidence]:
    """Return the evidence by label, found by searching the code, tests and proofs of a checkout for labels."""
    found: dict[str, Evidence] = {}

    def add(kind: Literal["code", "tests", "proofs"], name: str, labels: list[str]) -> None:
        for label in labels:
            names = found.setdefault(label, {"code": [], "tests": []}).setdefault(kind, [])
            if name not in names:
                names.append(name)

    for file, tree in _parsed(checkout, "sparsehead*/**/*.py", "Paper:"):
        if "claims" not in file.parts:
            module = file.with_suffix("").as_posix().removesuffix("/__init__").replace("/", ".")
            for name, docstring in _documented(tree, module):
                lists = re.findall(r"Paper:\s+([a-z0-9-]+(?:,\s+[a-z0-9-]+)*)", docstring)
                add("code", name, re.split(r",\s+", ", ".join(lists)) if lists else [])
    for file, tree in _parsed(checkout, "tests/**/test_*.py", "mark.claim"):
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                add("tests", f"{file.as_posix()}::{node.name}", _marked(node))
    for proof in sorted(checkout.glob("proofs/*.v")):
        for labels, name in re.findall(r"Paper: ([a-z0-9, -]+) \*\)\n *Theorem (\w+)", proof.read_text()):
            add("proofs", f"proofs/{proof.name}::{name}", labels.split(", "))
    return dict(sorted(found.items()))


def _parsed(checkout: Path, pattern: str, word: str) -> Iterator[tuple[Path, ast.Module]]:
    """Yield path relative to `checkout` and syntax tree of every file that matches `pattern` and contains `word`."""
    for file in sorted(checkout.glob(pattern)):
        text = file.read_text()
        if word in text:
            yield file.relative_to(checkout), ast.parse(text)


def _documented(
    node: ast.Module | ast.ClassDef | ast.FunctionDef, name: str, separator: str = ":"
) -> Iterator[tuple[str, str]]:
    """Yield the full names and docstrings of `node` and of all classes and functions in it."""
    yield name, ast.get_docstring(node, clean=False) or ""
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef):
            yield from _documented(child, f"{name}{separator}{child.name}", ".")


def _marked(test: ast.FunctionDef) -> list[str]:
    """Return the labels in a test's decorators `pytest.mark.claim(..)`."""
    calls = [d for d in test.decorator_list if isinstance(d, ast.Call)]
    marks = [call for call in calls if ast.unparse(call.func) == "pytest.mark.claim"]
    return [ast.literal_eval(argument) for mark in marks for argument in mark.args]
