"""Machine-made breakages: every place where a small change of the source gives another program that still parses.

Edits are made in the text, at the exact position of a node, so that the rest of the file stays as it is. Left out:
docstrings, messages (f-strings, `raise`, warnings), `__repr__` and the like, annotations, decorators, imports and
`__all__`.
"""

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

SILENT_FUNCTIONS = ("__repr__", "__str__", "__rich__", "_repr_html_", "__rich_console__", "sentence")
SILENT_CALLS = ("warn", "print", "debug", "info", "warning", "update_progress")
ARITHMETIC = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"), ast.FloorDiv: ("//", "/"),
    ast.Mod: ("%", "//"), ast.Pow: ("**", "*"), ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&"), ast.BitXor: ("^", "|"),
    ast.LShift: ("<<", ">>"), ast.RShift: (">>", "<<"),
}  # fmt: skip
COMPARISONS = {
    ast.Lt: ("<", "<=", ">="), ast.LtE: ("<=", "<", ">"), ast.Gt: (">", ">=", "<="), ast.GtE: (">=", ">", "<"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"),
}  # fmt: skip
OPPOSITES = (
    ("min", "max"), ("minimum", "maximum"), ("fmin", "fmax"), ("argmin", "argmax"), ("nanmin", "nanmax"),
    ("floor", "ceil"), ("any", "all"), ("zeros", "ones"), ("cumsum", "cumprod"), ("sum", "prod"), ("low", "high"),
    ("lower", "upper"),
)  # fmt: skip
OTHER = dict(OPPOSITES) | {b: a for a, b in OPPOSITES}
# functions of two arguments in either order, and those whose arguments cannot change places
SYMMETRIC = (
    "min", "max", "minimum", "maximum", "isinstance", "gcd", "hypot", "partial", "getattr", "hasattr", "array_equal",
    "logaddexp", "isclose", "allclose",
)  # fmt: skip
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Edit:
    """Replace the characters start..end of a file by `new`."""

    start: int
    end: int
    new: str


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
    source = _Source(text)
    found: list[Change] = []
    seen: set[Edit] = set()
    marks: dict[ast.AST, str] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for scope, node, statement, inside in _statements(source.tree):
        where = f"{file.removeprefix('sparsehead/').removesuffix('.py')}:{scope}"
        mark = marks[node] = marks.get(node) or _code_hash(node)
        for operator, edit in _edits(source, statement, node if inside else None):
            if edit in seen or text[edit.start : edit.end] == edit.new:
                continue
            seen.add(edit)
            number = counts[where, operator] = counts[where, operator] + 1
            name = f"{where}:{operator}.{number}@{mark}"
            found.append(Change(name, file, edit, _lines(statement), not inside))
    return found


class _Source:
    """A file's text and tree; nodes give their place in characters (the tree counts bytes within a line)."""

    def __init__(self, text: str) -> None:
        self.text, self.tree = text, ast.parse(text)
        self.rows = text.splitlines(keepends=True)
        self.starts = [0]
        for row in self.rows:
            self.starts.append(self.starts[-1] + len(row))

    def place(self, line: int, column: int) -> int:
        return self.starts[line - 1] + len(self.rows[line - 1].encode()[:column].decode())

    def span(self, node: ast.AST) -> tuple[int, int]:
        return self.place(node.lineno, node.col_offset), self.place(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def of(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def replace(self, node: ast.AST, new: str) -> Edit:
        return Edit(*self.span(node), new)

    def between(self, left: ast.AST, right: ast.AST, old: str, new: str) -> Edit | None:
        """`old`, an operator between two nodes, replaced; None where only a comment has it."""
        start, end = self.span(left)[1], self.span(right)[0]
        gap = re.sub(r"#[^\n]*", lambda m: " " * len(m[0]), self.text[start:end])
        pattern = re.escape(old).replace(r"\ ", r"\s+")
        at = re.search(rf"\b{pattern}\b" if old[0].isalpha() else pattern, gap)
        return at and Edit(start + at.start(), start + at.end(), new)


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


def _edits(source: _Source, statement: ast.stmt, function: ast.AST | None) -> Iterator[tuple[str, Edit]]:
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
        yield from _expression_edits(source, node)


def _dropped(source: _Source, statement: ast.stmt, function: ast.AST) -> Iterator[tuple[str, Edit]]:
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
    return _called(call) in SILENT_CALLS


def _called(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


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


def _expression_edits(source: _Source, node: ast.expr) -> Iterator[tuple[str, Edit]]:
    kinds = {
        ast.BinOp: _arithmetic, ast.Compare: _comparison, ast.BoolOp: _boolean,
        ast.UnaryOp: _unary, ast.Constant: _constant, ast.Call: _call, ast.Attribute: _attribute,
        ast.Subscript: _subscript, ast.IfExp: _choice, ast.ListComp: _filter, ast.GeneratorExp: _filter,
        ast.SetComp: _filter, ast.DictComp: _filter,
    }  # fmt: skip
    if type(node) in kinds:
        yield from kinds[type(node)](source, node)


def _arithmetic(source: _Source, node: ast.BinOp) -> Iterator[tuple[str, Edit]]:
    if type(node.op) in ARITHMETIC and not _text(node):
        old, new = ARITHMETIC[type(node.op)]
        if edit := source.between(node.left, node.right, old, new):
            yield "arithmetic", edit
        if not isinstance(node.op, ast.BitOr | ast.BitAnd):
            yield "operand", source.replace(node, f"({source.of(node.left)})")
            yield "operand", source.replace(node, f"({source.of(node.right)})")


def _text(node: ast.BinOp) -> bool:
    """Whether strings are put together here."""
    parts = (node.left, node.right)
    return any(
        isinstance(p, ast.JoinedStr) or (isinstance(p, ast.Constant) and isinstance(p.value, str))
        for p in parts
    )


def _comparison(source: _Source, node: ast.Compare) -> Iterator[tuple[str, Edit]]:
    left = node.left
    for operator, right in zip(node.ops, node.comparators, strict=True):
        old, *others = COMPARISONS[type(operator)]
        for new in others:
            if edit := source.between(left, right, old, new):
                yield "comparison", edit
        left = right


def _boolean(source: _Source, node: ast.BoolOp) -> Iterator[tuple[str, Edit]]:
    old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    for left, right in zip(node.values, node.values[1:], strict=False):
        if edit := source.between(left, right, old, new):
            yield "boolean", edit
    for part in node.values:
        yield "boolean", source.replace(part, "True" if old == "and" else "False")


def _unary(source: _Source, node: ast.UnaryOp) -> Iterator[tuple[str, Edit]]:
    yield "unary", source.replace(node, f"({source.of(node.operand)})")


def _constant(source: _Source, node: ast.Constant) -> Iterator[tuple[str, Edit]]:
    value = node.value
    if value is True or value is False:
        yield "constant", source.replace(node, str(not value))
    elif isinstance(value, int):
        for new in dict.fromkeys((value + 1, value - 1, 0)):
            yield "constant", source.replace(node, f"{new}" if new >= 0 else f"({new})")
    elif isinstance(value, float):
        for new_text in (f"(2 * {source.of(node)})", f"({source.of(node)} / 2)", f"(-{source.of(node)})"):
            if value or new_text.startswith("(2"):
                yield "constant", source.replace(node, new_text if value else "1.0")


def _call(source: _Source, node: ast.Call) -> Iterator[tuple[str, Edit]]:
    args = node.args
    if isinstance(node.func, ast.Name) and node.func.id in OTHER:
        yield "opposite", source.replace(node.func, OTHER[node.func.id])
    starred = any(isinstance(arg, ast.Starred) for arg in args[:2])
    if len(args) >= 2 and not starred and _called(node) not in SYMMETRIC:
        (start, a), (b, end) = source.span(args[0]), source.span(args[1])
        yield "swap", Edit(start, end, source.text[b:end] + source.text[a:b] + source.text[start:a])
    if _called(node) == "range":
        last = args[0 if len(args) == 1 else 1]
        if not isinstance(last, ast.Constant):
            yield "boundary", source.replace(last, f"({source.of(last)}) - 1")
    for keyword in node.keywords:
        if keyword.arg and isinstance(keyword.value, ast.Constant):
            yield "keyword", _without(source, node, keyword)


def _without(source: _Source, call: ast.Call, keyword: ast.keyword) -> Edit:
    """Drop an argument with the comma that separates it."""
    start, end = source.span(keyword)
    after = re.match(r"\s*,\s*", source.text[end:])
    if after:
        return Edit(start, end + len(after[0]), "")
    before = re.search(r",\s*$", source.text[:start])
    return Edit(before.start() if before else start, end, "")


def _attribute(source: _Source, node: ast.Attribute) -> Iterator[tuple[str, Edit]]:
    _, end = source.span(node)
    if node.attr in OTHER:
        yield "opposite", Edit(end - len(node.attr), end, OTHER[node.attr])
    if node.attr == "inf":
        yield "constant", source.replace(node, f"(-{source.of(node)})")
    if node.attr == "T":
        yield "transpose", source.replace(node, source.of(node.value))


def _subscript(source: _Source, node: ast.Subscript) -> Iterator[tuple[str, Edit]]:
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for part in parts:
        if isinstance(part, ast.Slice):
            for bound, sign in ((part.lower, "+"), (part.upper, "-")):
                if bound is not None:
                    yield "boundary", source.replace(bound, "")
                    if not isinstance(bound, ast.Constant):
                        yield "boundary", source.replace(bound, f"({source.of(bound)}) {sign} 1")


def _choice(source: _Source, node: ast.IfExp) -> Iterator[tuple[str, Edit]]:
    yield "condition", source.replace(node, f"({source.of(node.body)})")
    yield "condition", source.replace(node, f"({source.of(node.orelse)})")


def _filter(source: _Source, node: ast.expr) -> Iterator[tuple[str, Edit]]:
    for part in node.generators:  # type: ignore[attr-defined]
        for test in part.ifs:
            yield "condition", source.replace(test, "True")
