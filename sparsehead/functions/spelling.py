"""Write a truth table as an expression that `parse` reads: the shortest of a few readable forms.

x2 & x5          one term, or x2 | x5, or at least k of some literals: atleast(k, ...), maj(...)
x2 ^ x5          parity
x2 & x5 | !x7    an OR of ANDs, an AND of ORs, or a xor of ANDs
maj(..) ^ x12    such forms of different variables, joined by one operator
table(0x1ee, ..) bit j of the number is entry j of the table: only if the other forms need too many terms
"""

import re
from collections.abc import Iterable, Sequence

import numpy as np

from .._base.types import Array, Shaped
from .decompose import decompose
from .minimise import Cube, cubes, shortest_cubes
from .tables import halves, moebius, ones

MAX_TERMS = 32  # a formula with more terms tells a reader less than its table


def spell(support: Sequence[int], table: Shaped[Array, " N"]) -> str:
    """Return an expression of the function that depends on every position of `support`."""
    if not support:
        return str(int(table[0]))
    short = _at_least(support, table) or _parity(support, table)
    if short:
        return short
    forms = [_or_of_ands(support, table), _and_of_ors(support, table)]
    forms += [_xor_of_ands(support, table), _symmetric(support, table), _composed(support, table)]
    readable = [form for form in forms if form is not None]
    return min(readable, key=len) if readable else _table(support, table)


def _names(support: Iterable[int]) -> str:
    return ", ".join(f"x{t}" for t in support)


def _literals(support: Sequence[int], cube: Cube) -> list[str]:
    """Return the literals of a cube, in order of position."""
    positive = cube[0]
    marks = [(t, "" if positive >> i & 1 else "!") for i, t in enumerate(support) if sum(cube) >> i & 1]
    return [f"{mark}x{t}" for t, mark in marks]


def _in_order(terms: Iterable[Cube]) -> list[Cube]:
    """Return the terms sorted by length, then by their positions."""

    def rank(cube: Cube) -> tuple[int, list[int], int]:
        places = [i for i in range(sum(cube).bit_length()) if sum(cube) >> i & 1]
        return len(places), places, cube[1]

    return sorted(terms, key=rank)


def _negate(form: str) -> str:
    return form[1:] if form.startswith("!") else f"!{form}"


def _at_least(support: Sequence[int], table: Shaped[Array, " N"]) -> str | None:
    """Return an AND, an OR, maj() or atleast(), if the table means "at least k of some literals hold"; else None."""
    s = len(support)
    negated = 0
    for i in range(s):
        low, high = halves(table, i)
        if (low > high).any():
            if (low < high).any():
                return None  # neither increasing nor decreasing in variable i
            negated |= 1 << i
    raised = table[np.arange(2**s) ^ negated]
    count = ones(s)
    k = int(count[raised == 1].min())
    if not np.array_equal(raised, count >= k):
        return None
    names = [f"{'!' if negated >> i & 1 else ''}x{t}" for i, t in enumerate(support)]
    if k in (1, s):
        return (" & " if k == s else " | ").join(names)
    # Use fewer "!": at least k of s literals hold iff fewer than s-k+1 of their negations do.
    if 2 * sum(name.startswith("!") for name in names) > s:
        return "!" + _call(s - k + 1, [_negate(name) for name in names])
    return _call(k, names)


def _call(k: int, names: Sequence[str]) -> str:
    if k == len(names) // 2 + 1:
        return f"maj({', '.join(names)})"
    return f"atleast({k}, {', '.join(names)})"


def _parity(support: Sequence[int], table: Shaped[Array, " N"]) -> str | None:
    if not np.array_equal(table, (ones(len(support)) & 1) ^ table[0]):
        return None
    return ("!" if table[0] else "") + " ^ ".join(f"x{t}" for t in support)


def _cubes(table: Shaped[Array, " N"]) -> list[Cube] | None:
    """Return the shortest cover if it is found quickly, else an irredundant one; None if it has too many terms."""
    irredundant = cubes(table, most=4 * MAX_TERMS)
    if irredundant is None:
        return None
    found = shortest_cubes(table) or irredundant
    return found if len(found) <= MAX_TERMS else None


def _or_of_ands(support: Sequence[int], table: Shaped[Array, " N"]) -> str | None:
    found = _cubes(table)
    if found is None:
        return None
    return " | ".join(" & ".join(_literals(support, cube)) for cube in _in_order(found))


def _and_of_ors(support: Sequence[int], table: Shaped[Array, " N"]) -> str | None:
    """Return an AND of ORs: by De Morgan's law from the OR of ANDs of the complement; None if that is too long."""
    found = _cubes(1 - table)
    if found is None:
        return None
    clauses = [_literals(support, cube) for cube in _in_order((n, p) for p, n in found)]
    return " & ".join(c[0] if len(c) == 1 else f"({' | '.join(c)})" for c in clauses)


def _xor_of_ands(support: Sequence[int], table: Shaped[Array, " N"]) -> str | None:
    """Return the shortest xor of ANDs in which each variable is either always or never negated."""
    s = len(support)
    index = np.arange(2**s)
    polarities = range(2**s) if s <= 6 else (0,)  # all 2^s choices only while they are few
    forms = [_xor_with(support, table[index ^ negated], negated) for negated in polarities]
    readable = [form for form in forms if form is not None]
    return min(readable, key=lambda form: (len(form), form.count("!"))) if readable else None


def _xor_with(support: Sequence[int], table: Shaped[Array, " N"], negated: int) -> str | None:
    """Return the xor of ANDs (algebraic normal form) for a table over literals; variables in `negated` get a "!"."""
    monomials = np.flatnonzero(moebius(table)).tolist()
    if len(monomials) > MAX_TERMS:
        return None
    terms = _in_order((m & ~negated, m & negated) for m in monomials)
    return _xor([" & ".join(_literals(support, term)) or "1" for term in terms])


def _xor(terms: list[str]) -> str:
    """Return the terms joined by "^"; a leading 1 becomes a "!" before the next term if that term has no "&"."""
    if terms[0] == "1" and len(terms) > 1 and "&" not in terms[1]:
        terms = [_negate(terms[1]), *terms[2:]]
    return " ^ ".join(terms)


def _symmetric(support: Sequence[int], table: Shaped[Array, " N"]) -> str | None:
    """Return a symmetric function as the xor of atleast(k, ..) over the k at which its value changes; else None."""
    s = len(support)
    by_count = table[2 ** np.arange(s + 1) - 1]
    if not np.array_equal(table, by_count[ones(s)]):
        return None
    changes = [int(k) for k in np.flatnonzero(np.diff(by_count)) + 1]
    terms = [f"atleast({k}, {_names(support)})" for k in changes]
    return _xor((["1"] if by_count[0] else []) + terms)


def _composed(support: Sequence[int], table: Shaped[Array, " N"]) -> str | None:
    """Return forms of parts that read different variables, joined by the operator that joins the parts; else None."""
    found = decompose(table)
    if found is None:
        return None
    operator, parts = found
    forms = [spell([support[i] for i in inside], part) for inside, part in parts]
    if operator == "^":  # two negated parts are the same as two that are not
        others = [spell([support[i] for i in inside], 1 - part) for inside, part in parts]
        gains = [len(form) - len(other) for form, other in zip(forms, others, strict=True)]
        order = sorted(range(len(parts)), key=gains.__getitem__, reverse=True)
        for i, j in zip(order[::2], order[1::2], strict=False):
            if gains[i] + gains[j] > 0:
                forms[i], forms[j] = others[i], others[j]
    return f" {operator} ".join(
        f"({form})" if _loosest(form) < "|^&".index(operator) else form for form in forms
    )


def _loosest(form: str) -> int:
    """Return the position in "|^&" of the operator outside all parentheses that binds least; 3 without an operator."""
    outside = re.sub(r"\([^()]*\)", "", form)
    while "(" in outside:
        outside = re.sub(r"\([^()]*\)", "", outside)
    return min(("|^&".index(sign) for sign in outside if sign in "|^&"), default=3)


def _table(support: Sequence[int], table: Shaped[Array, " N"]) -> str:
    digits = np.packbits(table, bitorder="little")[::-1].tobytes().hex()
    return f"table(0x{digits}, {_names(support)})"
