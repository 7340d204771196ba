"""Parse text into a syntax tree by the Lark grammar; explain errors of syntax.

This module is imported when the first expression is parsed, since building the parser takes a moment.
"""

import re
from functools import cache, partial, reduce
from pathlib import Path
from typing import Any

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from .._base.errors import ParseError
from .evaluate import Node, binary, unary


def read(text: str) -> Node | tuple[str, list[Node]]:
    """Return the tree of an expression; for table(0x1e, x2, x5) return its digits and its variables."""
    if not text.strip():
        raise ParseError("the expression is empty; write for example x2 & x5 & x11.")
    length = len(re.sub(r"0x[0-9a-fA-F]+", "", text))
    longest = 100_000  # without the digits of table(0x...), which grow as 2^s
    if length > longest:
        raise ParseError(
            f"the expression has {length:,} characters, at most {longest:,} are allowed; "
            "give a truth table to from_table instead."
        )
    try:
        return _parser().parse(text)  # type: ignore[return-value]  # the transformer runs inside
    except UnexpectedInput as error:
        raise ParseError(_explain(text, error)) from None
    except _Misfit as error:
        token, reason = error.args
        raise ParseError(
            f"{reason} at column {token.start_pos + 1}: {quote(text, token.start_pos)}."
        ) from None


@cache
def _parser() -> Lark:
    grammar = Path(__file__).with_name("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", transformer=_Build())


class _Misfit(Exception):
    """The grammar accepts a token that `parse` does not, such as the constant 12; args are (token, reason)."""


def _number(token: Token, digits: str) -> int:
    stripped = digits.lstrip("0") or "0"
    if len(stripped) > 15:  # Python refuses to convert thousands of digits
        raise _Misfit(token, f"a number of {len(stripped)} digits is out of range")
    return int(stripped)


class _Build(Transformer[Token, Node]):
    """Build nodes while Lark parses, so that no tree is walked recursively; each method handles one grammar rule."""

    def start(self, children: list[Any]) -> Node:
        return children[0]

    def table(self, children: list[Any]) -> tuple[str, list[Node]]:
        return str(children[0]), [self.variable([token]) for token in children[1:]]

    def variable(self, children: list[Any]) -> Node:
        token = children[0]
        return Node("variable", _number(token, token[1:]), column=token.start_pos + 1)

    def constant(self, children: list[Any]) -> Node:
        token = children[0]
        value = {"0": 0, "1": 1, "true": 1, "false": 0}.get(token.lower())
        if value is None:
            raise _Misfit(
                token, f"the constants are 0 and 1, and variables are written x3; got {clip(token)}"
            )
        return Node("constant", value)

    def negated(self, children: list[Any]) -> Node:
        return unary("not", children[0])

    def conjunction(self, children: list[Any]) -> Node:
        return reduce(partial(binary, "and"), children)

    def exclusive(self, children: list[Any]) -> Node:
        return reduce(partial(binary, "xor"), children)

    def disjunction(self, children: list[Any]) -> Node:
        return reduce(partial(binary, "or"), children)

    def majority(self, children: list[Any]) -> Node:
        return _at_least(len(children) // 2 + 1, children)

    def at_least(self, children: list[Any]) -> Node:
        return _at_least(_number(children[0], children[0]), children[1:])


def _at_least(k: int, operands: list[Node]) -> Node:
    return unary("at_least", reduce(partial(binary, "add"), operands, Node("count")), k)


def clip(text: str, width: int = 24) -> str:
    """Return the text shortened to `width` printable characters, for a message."""
    shown = "".join(c if c.isprintable() else " " for c in text[: width + 1])
    return shown if len(text) <= width else shown[:width] + "..."


def quote(text: str, start: int) -> str:
    """Return the text around `start`, with the word at `start` between >> and <<."""
    word = _word(text, start)
    before = clip(text[:start][::-1], 24)[::-1]
    return f"{before}>>{clip(word)}<<{clip(text[start + len(word) :])}"


def _word(text: str, start: int) -> str:
    found = re.compile(r"\w+|\S|$").match(text, start)
    return found.group() if found else ""


def _explain(text: str, error: UnexpectedInput) -> str:
    """Return one line that explains a syntax error: the text found, its place, and the expected symbols."""
    start, expected = _failure(text, error)
    word = _word(text, start)
    where = f"column {start + 1}: {quote(text, start)}"
    opened = _unclosed(text[:start])
    if word == ")" and opened is None:
        return f'")" at {where} closes nothing.'
    if not word and opened is not None and "VARIABLE" not in expected:
        return f'"(" at column {opened + 1} is never closed: {quote(text, opened)}.'
    what = f"unexpected {clip(word)!r}" if word else "the expression ends too early"
    return f"{what} at {where}; expected {_wanted(expected, opened is not None)}."


def _failure(text: str, error: UnexpectedInput) -> tuple[int, set[str]]:
    """Return where the parser stopped, and the terminals that it expected there."""
    if isinstance(error, UnexpectedCharacters):
        return error.pos_in_stream or 0, set(error.allowed or ())
    if isinstance(error, UnexpectedToken):
        ended = error.token.type == "$END"
        return len(text.rstrip()) if ended else error.token.start_pos or 0, set(error.expected)
    raise error


def _wanted(expected: set[str], inside: bool) -> str:
    """Return the expected terminals in words; `inside` says whether a parenthesis is open."""
    if "VARIABLE" in expected:
        more = ', 0, 1, "!", "(", maj(...) or atleast(k, ...)' if "NUMBER" in expected else ""
        return f"a variable such as x3{more}"
    if "NUMBER" in expected:
        return "a whole number k, as in atleast(2, x1, x5, x7)"
    if "HEX" in expected:
        return "the table in hexadecimal, as in table(0x6, x2, x5)"
    operator = '"&" (and), "^" (xor), "|" (or)'
    if "_AND" in expected:
        return operator + (' or ")"' if inside else "")
    names = {"LPAR": '"("', "RPAR": '")"', "COMMA": '","'}
    return " or ".join(sorted(names[name] for name in expected if name in names)) or f"{operator} or the end"


def _unclosed(text: str) -> int | None:
    """Return the index of the last "(" without a matching ")"; None if there is none."""
    stack: list[int] = []
    for place, character in enumerate(text):
        if character == "(":
            stack.append(place)
        elif character == ")" and stack:
            stack.pop()
    return stack[-1] if stack else None
