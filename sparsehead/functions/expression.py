"""`parse`: from an expression to a function. Text is parsed, never evaluated as code."""

import numpy as np

from .._base.arguments import instance, shown, whole
from .._base.errors import DomainError, ParseError
from .._base.types import Array, Shaped
from .evaluate import Node, evaluate, variables
from .sparse import SparseFunction, from_table
from .tables import check_s


def parse(text: str, *, T: int) -> SparseFunction:
    """Return the function of T bits that `text` describes; variables on which it does not depend are dropped.

    Operators, from the tightest: not `!`, and `&`, xor `^`, or `|` (or these words). Operands: positions x0, x1, ..;
    the constants 0 and 1 (or false, true); parentheses, to any depth; maj(...), which is 1 iff more than half of its
    operands are 1; atleast(k, ...), which is 1 iff at least k of them are. White space is ignored.
    A whole text may also be table(0x1ee, x2, x5, x7): bit j of the number is entry j of the truth table.

    The text has at most 100,000 characters and mentions at most 20 positions.

    Raises:
        ParseError: the text is not in this language, or names a position outside range(T); the message says where.

    >>> f = parse("x2 & !x5 ^ (x7 | x11)", T=16)
    >>> f.support, f(np.zeros(16, dtype=int)), parse("x1 & x2 | x1", T=4).support
    ((2, 5, 7, 11), 0, (1,))
    """
    from .syntax import clip, quote, read  # Lark is loaded with the first expression

    instance("text", text, str, "an expression such as 'x1 & x2'")
    whole("T", T)
    tree = read(text)
    leaves = list(variables(tree)) if isinstance(tree, Node) else tree[1]
    for leaf in sorted(leaves, key=lambda leaf: leaf.column):
        if leaf.value >= T:
            raise ParseError(
                f"x{leaf.value} at column {leaf.column} is outside the input: {quote(text, leaf.column - 1)}; "
                f"T={T} has the positions x0 to x{T - 1}."
            )
    support = sorted({leaf.value for leaf in leaves})
    check_s(len(support), f"the expression {clip(text)} mentions")
    if isinstance(tree, Node):
        return from_table(T=T, support=support, table=evaluate(tree, support))
    digits, named = tree
    return from_table(T=T, support=[leaf.value for leaf in named], table=_table(digits, len(named)))


def as_function(f: SparseFunction | str, T: int | None = None, *, asker: str) -> SparseFunction:
    """Return `f`, or the function of T bits that the expression `f` describes; errors name the caller, `asker`."""
    if isinstance(f, str):
        if T is None:
            raise DomainError(f"{asker} needs the context length T together with the expression {shown(f)}.")
        return parse(f, T=T)
    instance("f", f, SparseFunction, "or a text such as 'x1 & x2' together with T=")
    if T not in (None, f.T):
        raise DomainError(f"the function reads T={f.T} bits, but T={shown(T)} was asked for.")
    return f


def _table(digits: str, s: int) -> Shaped[Array, " N"]:
    """Return the 2^s bits of a hexadecimal number, lowest first; raise a ParseError if it has more."""
    check_s(s, "table(...) names")
    number = int(digits, 16)
    if number.bit_length() > 2**s:
        raise ParseError(f"a table over {s} positions has 2^{s} bits, the number has {number.bit_length()}.")
    packed = np.frombuffer(number.to_bytes(max(1, 2**s // 8), "little"), dtype=np.uint8)
    return np.unpackbits(packed, count=2**s, bitorder="little")
