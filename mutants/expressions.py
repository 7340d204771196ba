"""Small changes of one expression: each kind of node has an operator of its own."""

import ast
import re
from collections.abc import Iterator

from edits import Edit, Source

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


def called(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def expression_edits(source: Source, node: ast.expr) -> Iterator[tuple[str, Edit]]:
    kinds = {
        ast.BinOp: _arithmetic, ast.Compare: _comparison, ast.BoolOp: _boolean,
        ast.UnaryOp: _unary, ast.Constant: _constant, ast.Call: _call, ast.Attribute: _attribute,
        ast.Subscript: _subscript, ast.IfExp: _choice, ast.ListComp: _filter, ast.GeneratorExp: _filter,
        ast.SetComp: _filter, ast.DictComp: _filter,
    }  # fmt: skip
    if type(node) in kinds:
        yield from kinds[type(node)](source, node)


def _arithmetic(source: Source, node: ast.BinOp) -> Iterator[tuple[str, Edit]]:
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


def _comparison(source: Source, node: ast.Compare) -> Iterator[tuple[str, Edit]]:
    left = node.left
    for operator, right in zip(node.ops, node.comparators, strict=True):
        old, *others = COMPARISONS[type(operator)]
        for new in others:
            if edit := source.between(left, right, old, new):
                yield "comparison", edit
        left = right


def _boolean(source: Source, node: ast.BoolOp) -> Iterator[tuple[str, Edit]]:
    old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    for left, right in zip(node.values, node.values[1:], strict=False):
        if edit := source.between(left, right, old, new):
            yield "boolean", edit
    for part in node.values:
        yield "boolean", source.replace(part, "True" if old == "and" else "False")


def _unary(source: Source, node: ast.UnaryOp) -> Iterator[tuple[str, Edit]]:
    yield "unary", source.replace(node, f"({source.of(node.operand)})")


def _constant(source: Source, node: ast.Constant) -> Iterator[tuple[str, Edit]]:
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


def _call(source: Source, node: ast.Call) -> Iterator[tuple[str, Edit]]:
    args = node.args
    if isinstance(node.func, ast.Name) and node.func.id in OTHER:
        yield "opposite", source.replace(node.func, OTHER[node.func.id])
    starred = any(isinstance(arg, ast.Starred) for arg in args[:2])
    if len(args) >= 2 and not starred and called(node) not in SYMMETRIC:
        (start, a), (b, end) = source.span(args[0]), source.span(args[1])
        yield "swap", Edit(start, end, source.text[b:end] + source.text[a:b] + source.text[start:a])
    if called(node) == "range":
        last = args[0 if len(args) == 1 else 1]
        if not isinstance(last, ast.Constant):
            yield "boundary", source.replace(last, f"({source.of(last)}) - 1")
    for keyword in node.keywords:
        if keyword.arg and isinstance(keyword.value, ast.Constant):
            yield "keyword", _without(source, node, keyword)


def _without(source: Source, call: ast.Call, keyword: ast.keyword) -> Edit:
    """Drop an argument with the comma that separates it."""
    start, end = source.span(keyword)
    after = re.match(r"\s*,\s*", source.text[end:])
    if after:
        return Edit(start, end + len(after[0]), "")
    before = re.search(r",\s*$", source.text[:start])
    return Edit(before.start() if before else start, end, "")


def _attribute(source: Source, node: ast.Attribute) -> Iterator[tuple[str, Edit]]:
    _, end = source.span(node)
    if node.attr in OTHER:
        yield "opposite", Edit(end - len(node.attr), end, OTHER[node.attr])
    if node.attr == "inf":
        yield "constant", source.replace(node, f"(-{source.of(node)})")
    if node.attr == "T":
        yield "transpose", source.replace(node, source.of(node.value))


def _subscript(source: Source, node: ast.Subscript) -> Iterator[tuple[str, Edit]]:
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for part in parts:
        if isinstance(part, ast.Slice):
            for bound, sign in ((part.lower, "+"), (part.upper, "-")):
                if bound is not None:
                    yield "boundary", source.replace(bound, "")
                    if not isinstance(bound, ast.Constant):
                        yield "boundary", source.replace(bound, f"({source.of(bound)}) {sign} 1")


def _choice(source: Source, node: ast.IfExp) -> Iterator[tuple[str, Edit]]:
    yield "condition", source.replace(node, f"({source.of(node.body)})")
    yield "condition", source.replace(node, f"({source.of(node.orelse)})")


def _filter(source: Source, node: ast.expr) -> Iterator[tuple[str, Edit]]:
    for part in node.generators:  # type: ignore[attr-defined]
        for test in part.ifs:
            yield "condition", source.replace(test, "True")
