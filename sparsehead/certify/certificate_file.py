"""Certificate files for `check`: for each pattern of the relevant bits, the bounds that the proof needs.

A file is one JSON object:

    format      "certificate of sparsehead, version 1"
    model       SHA-256 of the model file, in hexadecimal
    support     the positions that the function reads, ascending
    max_error   the claim: |output - f| is at most this on every input, in exact arithmetic
    patterns    for each of the 2^s patterns: bits, such as "101", in the order of the support; value, that of f;
                bounds, pairs [L, U] for the linear forms of mixed values, in the order in which `check.output_range`
                needs them, one pair for each head of a form. The claim is that a form lies between the sums of L and U

Numbers are float64 in hexadecimal, such as "0x1.8p+1", so that nothing is rounded on the way.
"""

import hashlib
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from .._base.errors import DomainError
from .._base.types import Array, Float
from ..functions import SparseFunction
from .check import (
    BITS,
    FORMAT,
    Head,
    Parts,
    Refused,
    never_exceeds,
    output_range,
    read_model,
    sum_never_exceeds,
)

ONE = 1 << BITS


def certificate_content(raw: bytes, f: SparseFunction) -> dict[str, Any]:
    """Make the content of a certificate file for a model, given as the bytes of its file.

    Raises:
        DomainError: the checker does not know such models, or the bounds do not prove that the model computes f.
    """
    model = read_model(raw)
    heads = [Head(model, h) for h in range(len(model["layers"][0]["W_Q"]))]
    rows, error = [], Fraction(0)
    for bits, value in zip(product((0, 1), repeat=f.s), _values(f)):
        row, low, high = _pattern(model, heads, dict(zip(f.support, bits)))
        if not (low > model["threshold"] if value else high <= model["threshold"]):
            raise DomainError(
                f"no certificate file: with bits {bits} at {f.support} the output is only known to lie between "
                f"{float(low):.6g} and {float(high):.6g}."
            )
        error = max(error, high - value, value - low)
        rows.append({"bits": "".join(map(str, bits)), "value": value, "bounds": row})
    claimed = np.nextafter(float(error), np.inf)
    support = [int(i) for i in f.support]
    return {
        "format": FORMAT, "model": hashlib.sha256(raw).hexdigest(), "support": support,
        "max_error": float(claimed).hex(), "patterns": rows,
    }  # fmt: skip


def _values(f: SparseFunction) -> list[int]:
    """Return f on every pattern of its support, in the order of itertools.product."""
    inputs = np.zeros((2**f.s, f.T), dtype=np.uint8)
    inputs[:, list(f.support)] = np.array(list(product((0, 1), repeat=f.s)), dtype=np.uint8).reshape(
        2**f.s, f.s
    )
    return [int(value) for value in f(inputs)]


def _pattern(
    model: dict[str, Any], heads: list[Head], pattern: dict[int, int]
) -> tuple[list[list[str]], Fraction, Fraction]:
    """Return the bounds of one pattern, as written in the file, and the range of outputs that they imply."""
    row: list[list[str]] = []

    def bounds(parts: Parts) -> tuple[Fraction, Fraction]:
        U = _least_bounds(heads, parts, pattern)
        L = [-x for x in _least_bounds(heads, [(h, tuple(-x for x in g)) for h, g in parts], pattern)]
        row.extend([a.hex(), b.hex()] for a, b in zip(L, U))
        return sum(map(Fraction, L), Fraction(0)), sum(map(Fraction, U), Fraction(0))

    try:
        return row, *output_range(model, bounds)
    except Refused as reason:
        raise DomainError(
            f"no certificate file: {reason}. The result of verify holds without one; "
            "docs/howto/certificates.md lists the models that can have a file."
        ) from None


def _least_bounds(heads: list[Head], parts: Parts, pattern: dict[int, int]) -> list[float]:
    """Return one number per head; their sum is an upper bound of the linear form over all inputs of the pattern.

    Heads are bounded one by one, or all together if that gives a smaller sum.
    """
    alone = [_least_bound(heads[h], g, pattern) for h, g in parts]
    if len(parts) < 2:
        return alone
    together = _joint_bounds(heads, parts, pattern)
    return alone if together is None or sum(alone) <= sum(together) else together


def _joint_bounds(heads: list[Head], parts: Parts, pattern: dict[int, int]) -> list[float] | None:
    """Return one number per head, such that their sum is a proved bound of the sum of the heads' forms; None if none is
    found.

    The search starts from the forms' values at the input that would be worst if attention did not depend on bits.
    """
    allowed = np.ones((len(heads[0].weights), 2), dtype=bool)
    allowed[list(pattern), [1 - bit for bit in pattern.values()]] = False
    weights = [_floats(heads[h].weights) for h, _ in parts]
    shares = [w / np.where(allowed, w, 0).max(axis=1).sum() for w in weights]
    terms = np.array([share * _floats(heads[h].form(g)) for share, (h, g) in zip(shares, parts)])
    worst = np.where(allowed, terms.sum(axis=0), -np.inf).argmax(axis=1)
    start = [float(each[np.arange(len(worst)), worst].sum()) for each in terms]
    step = float(
        max(np.spacing(np.abs(terms).max(axis=2).sum()), 2.0**-250)
    )  # a bound on the rounding of the sums above
    for _ in range(12):
        raised = [*start[:-1], start[-1] + step]
        if sum_never_exceeds([heads[h].gains(g, Fraction(U), pattern) for (h, g), U in zip(parts, raised)]):
            return raised
        step *= 16
    return None


def _least_bound(head: Head, g: tuple[Fraction, ...], pattern: dict[int, int]) -> float:
    """Return an upper bound of g . m over the pattern, where m is the head's mixed value.

    The bound is the zero U of F(U), the sum over positions of the largest w (g . v - U), raised until `check` accepts
    it.
    """
    allowed = np.ones((len(head.weights), 2), dtype=bool)
    allowed[list(pattern), [1 - bit for bit in pattern.values()]] = False
    values = _floats(head.form(g))
    low, high = values[allowed].min(), values[allowed].max()
    largest, weights = float(np.nextafter(high, np.inf)), _floats(head.weights)
    while low < (middle := low + (high - low) / 2) < high:
        gain = np.where(allowed, weights * (values - middle), -np.inf).max(axis=1).sum()
        low, high = (middle, high) if gain > 0 else (low, middle)
    step = max(np.spacing(abs(high)), 2.0**-250)
    for _ in range(300):
        candidate = min(float(high + step), largest + 2.0**-250)
        if never_exceeds(head.gains(g, Fraction(candidate), pattern)):
            return candidate
        step *= 16
    raise DomainError("no certificate file: the values of a head are too small or too large for the checker.")


def _floats(enclosures: list[list[tuple[int, int]]]) -> Float[Array, "n 2"]:
    """Return the upper ends of the enclosures as float64 numbers."""
    try:
        return np.array([[ends[1] / ONE for ends in pair] for pair in enclosures])
    except OverflowError:
        raise DomainError("no certificate file: a value of a head is larger than a float64 number.") from None
