"""Edits of a source text at the exact place of a node."""

import ast
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    """Replace the characters start..end of a file by `new`."""

    start: int
    end: int
    new: str


class Source:
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
