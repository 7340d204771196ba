"""Machine-made breakages: every place where a small change of the source gives another program that still parses.

Edits are made in the text, at the exact position of a node, so that the rest of the file stays as it is. Left out:
docstrings, messages (f-strings, `raise`, warnings), `__repr__` and the like, annotations, decorators, imports and
`__all__`.
"""

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from edits import Edit, Source
from expressions import ARITHMETIC, called, expression_edits

SILENT_FUNCTIONS = ("__repr__", "__str__", "__rich__", "_repr_html_", "__rich_console__", "sentence")
SILENT_CALLS = ("warn", "print", "debug", "info", "warning", "update_progress")
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Change:
    """One machine-made breakage of a file.

    `id` names the file, the enclosing function or class, the operator, the ordinal of the change among those of that
    operator there, and a hash of the function's code: edits elsewhere do not change it. `lines` are those of the
    statement, or of its head; `at_import` says that it runs when the module is imported.
    """

    id: str
    file: str
    edit: Edit
    lines: tuple[int, int]
    at_import: bool

    def applied(self, text: str) -> str:
        return text[: self.edit.start] + self.edit.new + text[self.edit.end :]

    @property
    def name(self) -> str:
        """The identity without the hash: what a sample is drawn by."""
        return self.id.partition("@")[0]


def changes(file: str, text: str) -> list[Change]:
    """All changes of one file, `file` in the tree; those whose text does not parse are left to the caller."""
    source = Source(text)
    found: list[Change] = []
    seen: set[Edit] = set()
    marks: dict[ast.AST, str] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for scope, node, statement, inside in _statements(source.tree):
        where = f"{file.partition('/')[2].removesuffix('.py')}:{scope}"
        mark = marks[node] = marks.get(node) or _code_hash(node)
        for operator, edit in _edits(source, statement, node if inside else None):
            if edit in seen or text[edit.start : edit.end] == edit.new:
                continue
            seen.add(edit)
            number = counts[where, operator] = counts[where, operator] + 1
            name = f"{where}:{operator}.{number}@{mark}"
            found.append(Change(name, file, edit, _lines(statement), not inside))
    return found


def parses(text: str) -> bool:
    """Whether it is Python; a few of the edits give what is not."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _code_hash(node: ast.AST) -> str:
    """Of the code alone: comments, layout and docstrings may change."""
    bare = ast.parse(ast.unparse(node))
    for inner in ast.walk(bare):
        if isinstance(inner, Function | ast.ClassDef) and ast.get_docstring(inner) is not None:
            inner.body = inner.body[1:] or [ast.Pass()]
    return hashlib.sha256(ast.unparse(bare).encode()).hexdigest()[:8]


def _statements(tree: ast.Module) -> Iterator[tuple[str, ast.AST, ast.stmt, bool]]:
    """(qualified name, what the hash is of, statement, whether inside a function), in the order of the file.

    A nested function belongs to the one around it.
    """

    def walk(body: list[ast.stmt], path: tuple[str, ...], owner: ast.AST | None) -> Iterator:  # type: ignore[type-arg]
        for statement in body:
            if isinstance(statement, Function):
                if statement.name in SILENT_FUNCTIONS:
                    continue
                if owner is None:
                    name = ".".join((*path, statement.name))
                    yield name, statement, statement, False
                    yield from walk(statement.body, (*path, statement.name), statement)
                    continue
            if isinstance(statement, ast.ClassDef):
                yield from walk(statement.body, (*path, statement.name), owner)
                continue
            yield ".".join(path) or "module", owner or statement, statement, owner is not None
            for inner in _bodies(statement):
                yield from walk(inner, path, owner)

    yield from walk(tree.body, (), None)


def _bodies(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a compound statement; those under `if TYPE_CHECKING` are left out."""
    if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
        return
    for name in ("body", "orelse", "finalbody"):
        yield getattr(statement, name, [])
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def _lines(statement: ast.stmt) -> tuple[int, int]:
    """First and last line of a statement without its blocks."""
    inner = [block[0].lineno for block in _bodies(statement) if block]
    last = min(inner) - 1 if inner else statement.end_lineno or statement.lineno
    return statement.lineno, max(statement.lineno, last)


def _edits(source: Source, statement: ast.stmt, function: ast.AST | None) -> Iterator[tuple[str, Edit]]:
    """(operator, edit) for one statement without its blocks."""
    if isinstance(
        statement, ast.Import | ast.ImportFrom | ast.Raise | ast.Assert | ast.Global | ast.Nonlocal
    ):
        return
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return
    if isinstance(statement, ast.Assign) and any(
        isinstance(t, ast.Name) and t.id == "__all__" for t in statement.targets
    ):
        return
    if function is not None:
        yield from _dropped(source, statement, function)
    if isinstance(statement, ast.If | ast.While) and not isinstance(statement.test, ast.Constant):
        yield "condition", source.replace(statement.test, f"(not ({source.of(statement.test)}))")
        if isinstance(statement, ast.If):
            yield "condition", source.replace(statement.test, "True")
            yield "condition", source.replace(statement.test, "False")
    if isinstance(statement, ast.AugAssign) and type(statement.op) in ARITHMETIC:
        old, new = ARITHMETIC[type(statement.op)]
        if edit := source.between(statement.target, statement.value, old, new):
            yield "arithmetic", edit
    if isinstance(statement, ast.Return) and isinstance(statement.value, ast.Call):
        inner = statement.value.args
        if len(inner) >= 1 and not isinstance(inner[0], ast.Starred | ast.GeneratorExp):
            yield "return", source.replace(statement.value, source.of(inner[0]))
    for node in _expressions(statement):
        yield from expression_edits(source, node)


def _dropped(source: Source, statement: ast.stmt, function: ast.AST) -> Iterator[tuple[str, Edit]]:
    """Statements without which a function still has all its names."""
    call = (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and not _silent(statement.value)
    )
    again = isinstance(statement, ast.AugAssign)
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        again = isinstance(target, ast.Subscript) or (
            isinstance(target, ast.Name) and target.id in _names_before(function, statement.lineno)
        )
    if call or again:
        yield "drop", source.replace(statement, "pass")
    if isinstance(statement, ast.Continue):
        yield "loop", source.replace(statement, "break")
    if isinstance(statement, ast.Break):
        yield "loop", source.replace(statement, "continue")


def _names_before(function: ast.AST, line: int) -> set[str]:
    """Arguments of a function, and names assigned above a line."""
    names = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    stored = (n for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    return names | {node.id for node in stored if node.lineno < line}


def _silent(call: ast.Call) -> bool:
    return called(call) in SILENT_CALLS


def _expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """Expressions of a statement's head from the outside in, without annotations, decorators and messages."""
    for name, value in ast.iter_fields(statement):
        if name in (
            "body",
            "orelse",
            "finalbody",
            "handlers",
            "cases",
            "decorator_list",
            "returns",
            "annotation",
            "targets",
        ):
            # a target's subscript is code, its name is not
            if name == "targets":
                for target in value:
                    yield from _inside(target)
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.arguments):
                for default in (*part.defaults, *part.kw_defaults):
                    if default is not None:
                        yield from _inside(default)
            elif isinstance(part, ast.withitem):
                yield from _inside(part.context_expr)
            elif isinstance(part, ast.expr):
                yield from _inside(part)


def _inside(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Call) and _silent(node)):
        return
    if isinstance(node, ast.expr):
        yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.arg):
            yield from _inside(child)
