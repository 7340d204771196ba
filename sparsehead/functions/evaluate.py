"""Compute the truth table of a syntax tree for all 2^s inputs at once, without recursion.

A plane is an array with the values of one node for all inputs, eight values in a byte.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Optional

import numpy as np

from .._base.types import Array, Shaped

Plane = Shaped[Array, " bytes"]  # the values of one subexpression: one bit for each of the 2^s assignments


class Node(NamedTuple):
    """One operation with at most two operands; a chain of nodes represents an operator with more.

    Args:
        op: "variable", "constant", "not", "and", "xor", "or"; "count" (an empty count of ones), "add" (adds one
            operand to a count), "at_least" (compares a count with `value`).
        value: the position of a variable, the value of a constant, the k of "at_least".
        column: the column of a variable in the text, counted from 1.
        need: number of planes in memory while the node is evaluated; at most log2 of the number of nodes.
    """

    op: str
    value: int = 0
    left: Optional["Node"] = None
    right: Optional["Node"] = None
    need: int = 0
    column: int = 0


def unary(op: str, child: Node, value: int = 0) -> Node:
    return Node(op, value, left=child, need=max(child.need, 1))


def binary(op: str, left: Node, right: Node) -> Node:
    need = left.need + 1 if left.need == right.need else max(left.need, right.need)
    return Node(op, left=left, right=right, need=need)


def variables(root: Node) -> Iterator[Node]:
    """Yield the leaves that are variables, in no particular order."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.op == "variable":
            yield node
        stack += [child for child in (node.left, node.right) if child is not None]


def evaluate(root: Node, support: Sequence[int]) -> Shaped[Array, " N"]:
    """Return the truth table over `support`, which must contain every variable of the tree.

    Of two operands, the one that needs more planes is evaluated first. A tree of n nodes therefore never needs more
    than about log2 n planes at once, however it is nested.
    """
    s = len(support)
    planes = {t: _plane(i, s) for i, t in enumerate(support)}
    zeros = np.zeros(max(1, 2**s // 8), dtype=np.uint8)
    values: list[Any] = []
    todo = [(root, False)]
    while todo:
        node, ready = todo.pop()
        if node.op == "variable":
            values.append(planes[node.value])
        elif node.op == "constant":
            values.append(~zeros if node.value else zeros)
        elif node.op == "count":
            values.append([])
        elif ready:
            _apply(node, values, zeros)
        else:
            todo.append((node, True))
            children = [child for child in (node.left, node.right) if child is not None]
            todo += [(child, False) for child in (reversed(children) if not _right_first(node) else children)]
    return np.unpackbits(values[0], count=2**s, bitorder="little")


def _right_first(node: Node) -> bool:
    return node.left is not None and node.right is not None and node.right.need > node.left.need


def _apply(node: Node, values: list[Any], zeros: Plane) -> None:
    """Replace the operands of `node`, on top of the stack `values`, by its result."""
    last = values.pop()
    if node.op == "not":
        return values.append(~last)
    if node.op == "at_least":
        return values.append(_compare(last, node.value, zeros))
    first = values.pop()
    left, right = (last, first) if _right_first(node) else (first, last)
    if node.op == "and":
        values.append(left & right)
    elif node.op == "xor":
        values.append(left ^ right)
    elif node.op == "or":
        values.append(left | right)
    else:
        values.append(_add(left, right))


def _plane(i: int, s: int) -> Plane:
    """Return the plane of variable i over all assignments of s variables; bit j belongs to assignment j."""
    if i < 3:
        return np.full(max(1, 2**s // 8), (0xAA, 0xCC, 0xF0)[i], dtype=np.uint8)
    block = np.repeat(np.array([0x00, 0xFF], dtype=np.uint8), 2 ** (i - 3))
    return np.tile(block, 2 ** (s - i - 1))


def _add(levels: list[list[Plane]], carry: Plane) -> list[list[Plane]]:
    """Return a count plus one operand. Level i holds up to two planes of weight 2^i; three become a sum and a carry."""
    for i in range(len(levels) + 1):
        if i == len(levels):
            levels.append([])
        levels[i].append(carry)
        if len(levels[i]) < 3:
            break
        a, b, c = levels[i]
        levels[i] = [a ^ b ^ c]
        carry = (a & b) | (c & (a ^ b))
    return levels


def _compare(levels: list[list[Plane]], k: int, zeros: Plane) -> Plane:
    """Return the plane that is 1 for assignments whose count is at least k."""
    digits: list[Plane] = []
    carries: list[Plane] = []
    while len(digits) < len(levels) or carries:
        here = carries + (levels[len(digits)] if len(digits) < len(levels) else [])
        total, carries = here[0], []
        for plane in here[1:]:
            carries.append(total & plane)
            total = total ^ plane
        digits.append(total)
    if k >= 2 ** len(digits):
        return zeros if k > 0 else ~zeros
    reached = ~zeros  # whether the digits up to i form a number >= the same digits of k; equality counts
    for i, digit in enumerate(digits):
        reached = digit & reached if k >> i & 1 else digit | reached
    return reached
