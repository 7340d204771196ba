"""Check a certificate: that a one-layer attention model computes a function of s bits on every one of its 2^T inputs.

    python check.py MODEL.safetensors CERTIFICATE.json      exit code 0: it holds; 1: it does not; 2: unreadable

This file needs Python's standard library alone. It trusts nothing in the certificate: each number in it is a claim, and
each claim is checked with whole numbers. What is checked is the model in exact arithmetic, its weights being the
float64 numbers in the file; the float64 evaluation differs from it by rounding, which is not the subject here.

The model. Token (t, b) is the token at position t with bit b; [CLS] is one more. Head h gives token (t, b) the weight
w = exp(score) and the value v in R^k, and mixes the values of the tokens of an input x to

    m_h(x) = sum w v / sum w          over t with b = x_t, and [CLS] if it is attended to.

The output is a chain of affine maps and ReLUs of these mixed values.

The proof. Fix the s bits that f reads: a pattern, which stands for 2^(T-s) inputs. For a linear form g . m_h and a
number U, no input of the pattern exceeds U if

    F(U) = sum over t of the larger of w (g . v - U) over the bits b that the pattern allows   <=  0,

because g . m_h - U has the sign of sum w (g . v - U). The certificate names U, and L from below, for every form that is
needed: first those inside the ReLUs, one after the other, then the output. A ReLU whose form cannot be negative passes
it on; one whose form cannot be positive gives 0; any other gives something between 0 and its upper bound.
"""

import hashlib
import json
import struct
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

BITS = 256  # weights and values are enclosed between multiples of 2^-BITS
ONE = 1 << BITS
FORMAT = "certificate of sparsehead, version 1"
Vector = list[Fraction]
Form = tuple[
    dict[tuple[int, int], Fraction], Fraction, Fraction
]  # coefficients of mixed values; constant from, to
Bounds = Callable[[int, tuple[Fraction, ...]], tuple[Fraction, Fraction]]  # head, g -> L, U


class Refused(Exception):
    """Why a certificate does not hold, or a file cannot be read."""


def read_model(raw: bytes) -> dict[str, Any]:
    """The parts of a model file: numbers as fractions, tensors as nested lists."""
    (n,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + n])
    content = json.loads(header.pop("__metadata__")["sparsehead"])
    return _part(content["model"], {name: _tensor(raw[8 + n :], entry) for name, entry in header.items()})


def _tensor(data: bytes, entry: dict[str, Any]) -> Any:
    code, width = {"F64": ("d", 8), "F32": ("f", 4)}[entry["dtype"]]
    start, end = entry["data_offsets"]
    flat = [Fraction(x) for x in struct.unpack(f"<{(end - start) // width}{code}", data[start:end])]
    for size in reversed(entry["shape"][1:]):
        flat = [flat[i : i + size] for i in range(0, len(flat), size)]  # type: ignore[misc]
    return flat


def _part(node: dict[str, Any], tensors: dict[str, Any]) -> Any:
    if "tensor" in node:
        return tensors[node["tensor"]]
    if "fields" in node:
        return {name: _part(inner, tensors) for name, inner in node["fields"].items()}
    if "tuple" in node:
        return [_part(inner, tensors) for inner in node["tuple"]]
    value = node["value"]
    return Fraction(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def dot(a: Vector, b: Vector) -> Fraction:
    """sum of a_i b_i."""
    return sum((x * y for x, y in zip(a, b, strict=True) if x and y), Fraction(0))


class Head:
    """One head: weights and values of every token, enclosed; the last row is [CLS]'s, where it is attended."""

    def __init__(self, model: dict[str, Any], h: int) -> None:
        layer, encoding = model["layers"][0], model["encoding"]
        cls, key = encoding["cls"], list(zip(*layer["W_K"][h], strict=True))
        bias = layer["b_Q"][h] if layer["b_Q"] else [Fraction(0)] * len(key)
        query = [
            dot(cls, list(column)) + b
            for column, b in zip(zip(*layer["W_Q"][h], strict=True), bias, strict=True)
        ]
        kappa = [dot(list(row), query) / layer["temperature"] for row in layer["W_K"][h]]
        columns = [kappa, *map(list, zip(*layer["W_V"][h], strict=True))]
        shift = [dot(layer["b_K"][h], query) / layer["temperature"] if layer["b_K"] else Fraction(0)]
        shift += layer["b_V"][h] if layer["b_V"] else [Fraction(0)] * (len(columns) - 1)
        table = [
            [[x + s for x, s in zip(token, shift, strict=True)] for token in pair]
            for pair in _tokens(encoding, columns)
        ]
        if model["attends_cls"]:
            table.append([[dot(cls, c) + s for c, s in zip(columns, shift, strict=True)]] * 2)
        top = max(token[0] for pair in table for token in pair)
        known: dict[Fraction, tuple[int, int]] = {}
        for pair in table:
            for token in pair:
                known[token[0]] = known.get(token[0]) or exp_bounds(token[0] - top)
        self.T = int(encoding["T"])
        self.weights = [[known[token[0]] for token in pair] for pair in table]
        self.values = [[token[1:] for token in pair] for pair in table]
        self._forms: dict[tuple[Fraction, ...], list[list[tuple[int, int]]]] = {}

    def form(self, g: tuple[Fraction, ...]) -> list[list[tuple[int, int]]]:
        """g . v of every token, enclosed."""
        if g not in self._forms:
            self._forms[g] = [[enclosed(dot(list(g), v)) for v in pair] for pair in self.values]
        return self._forms[g]

    def never_exceeds(self, g: tuple[Fraction, ...], U: Fraction, pattern: dict[int, int]) -> bool:
        """Whether F(U) <= 0, so that no input of the pattern has g . m > U."""
        low, _ = enclosed(U)  # F falls as U grows, so a smaller U is the harder claim
        total = 0
        for t, (values, weights) in enumerate(zip(self.form(g), self.weights, strict=True)):
            allowed = (pattern[t],) if t in pattern else (0, 1) if t < self.T else (0,)
            terms = []
            for b in allowed:
                gain = values[b][1] - low
                terms.append(gain * weights[b][gain > 0])
            total += max(terms)
        return total <= 0


def _tokens(encoding: dict[str, Any], columns: list[Vector]) -> Iterator[list[list[Fraction]]]:
    """For each position the products of its two tokens with the columns."""
    ends = [[dot(e, c) for c in columns] for e in encoding["E"]]
    for t in range(int(encoding["T"])):
        if encoding["P"] is None:  # one-hot positions behind three reserved coordinates
            place = [c[3 + t] for c in columns]
        else:
            place = [dot(encoding["P"][t], c) for c in columns]
        if encoding["kind"] not in ("positional", "random", "trainable", "bag"):
            raise Refused(f"the encoding {str(encoding['kind'])[:40]!r} is not known")
        if encoding["kind"] == "bag":
            yield [[Fraction(0)] * len(columns), place]
        else:
            yield [[x + y for x, y in zip(place, end, strict=True)] for end in ends]


def enclosed(x: Fraction) -> tuple[int, int]:
    """The multiples of 2^-BITS next to x, from below and from above."""
    scaled = x.numerator << BITS
    return scaled // x.denominator, -(-scaled // x.denominator)


def exp_bounds(x: Fraction) -> tuple[int, int]:
    """exp(x) for x <= 0, between multiples of 2^-BITS.

    With y = x / 2^n in (-1/2, 0] the Taylor series alternates and its terms fall. A computed term is at most 4 units of
    2^-P below the true one, so where it is 0 the rest of the series is at most 4 units. Then n squarings.
    """
    n = max(0, (-x.numerator // x.denominator).bit_length() + 1)
    if n > 12:  # x < -2000: below 2^-BITS
        return 0, 1
    P = BITS + 64
    z = (-x.numerator << P) // (x.denominator << n)  # |y| in units, rounded down: by less than one
    term, total, k = 1 << P, 0, 0
    while term:
        total += -term if k % 2 else term
        k += 1
        term = (term * z >> P) // k
    low, high = total - 4 * k - 4, total + 4 * k + 4  # the last 4: the rest of the series
    for _ in range(n):
        low, high = low * low >> P, -(-high * high >> P)
    return max(0, low >> 64), -(-high >> 64)


def stages(model: dict[str, Any]) -> list[tuple[Any, Any, bool]]:
    """The chain behind the mixed values as (W, b, ReLU after it), W by rows; None for W stands for the identity."""
    layer = model["layers"][0]
    odd = [layer["norm_attention"], layer["norm_mlp"], model["final_norm"], layer["project"] or None]
    if len(model["layers"]) != 1 or any(part is not None for part in odd):
        raise Refused("this checker knows models of one layer without LayerNorm and projection")
    mlp = layer["mlp"]
    if layer["sigma"] not in ("identity", "relu") or (mlp and mlp["activation"] != "relu"):
        raise Refused("this checker knows ReLU and the identity as activations")
    if mlp and layer["residual"]:
        raise Refused("this checker knows no residual around an MLP")
    cls = model["encoding"]["cls"]
    offset = layer["b_C"] or [Fraction(0)] * len(cls)
    if layer["residual"]:
        offset = [x + y for x, y in zip(offset, cls, strict=True)]
    found: list[tuple[Any, Any, bool]] = [(None, None, True)] if layer["sigma"] == "relu" else []
    found.append(([row for head in layer["W_C"] for row in head], offset, False))
    if mlp:
        found += [(mlp["W_1"], mlp["b_1"], True), (mlp["W_2"], mlp["b_2"], False)]
    found += [(dense["W"], dense["b"], True) for dense in model["decoder"]]
    found.append(([[x] for x in model["w"]], [model["bias"]], False))
    width = len(layer["W_V"]) * len(layer["W_V"][0][0])
    for W, b, _ in found:
        if W is not None and (len(W) != width or any(len(row) != len(b) for row in W)):
            raise Refused("the shapes of the model's matrices do not fit together")
        width = width if W is None else len(b)
    return found


def output_range(model: dict[str, Any], bounds: Bounds) -> tuple[Fraction, Fraction]:
    """The output over all inputs of a pattern, from the bounds of the forms that it needs, asked in a fixed order."""
    chain = stages(model)
    layer = model["layers"][0]
    k = len(layer["W_V"][0][0])
    zero, one = Fraction(0), Fraction(1)
    forms: dict[int, Form] = {i: ({(i // k, i % k): one}, zero, zero) for i in range(len(layer["W_V"]) * k)}
    needed: list[list[int]] = [[0]]  # from the output backwards: the coordinates that matter
    for W, _, _ in reversed(chain):
        columns = needed[0]
        needed.insert(
            0, columns if W is None else [a for a, row in enumerate(W) if any(row[c] for c in columns)]
        )
    for (W, b, relu), columns in zip(chain, needed[1:], strict=True):
        if W is not None:
            forms = {c: _combined(forms, [row[c] for row in W], b[c]) for c in columns}
        if relu:
            forms = {c: _relu(form, _range(form, k, bounds)) for c, form in forms.items()}
    return _range(forms[0], k, bounds)


def _combined(forms: dict[int, Form], weights: Vector, bias: Fraction) -> Form:
    coefficients: dict[tuple[int, int], Fraction] = {}
    low = high = bias
    for a, w in enumerate(weights):
        if not w:
            continue
        inner, inner_low, inner_high = forms[a]
        for place, x in inner.items():
            coefficients[place] = coefficients.get(place, Fraction(0)) + w * x
        ends = (w * inner_low, w * inner_high)
        low, high = low + min(ends), high + max(ends)
    return {place: x for place, x in coefficients.items() if x}, low, high


def _range(form: Form, k: int, bounds: Bounds) -> tuple[Fraction, Fraction]:
    coefficients, low, high = form
    for h in sorted({place[0] for place in coefficients}):
        L, U = bounds(h, tuple(coefficients.get((h, j), Fraction(0)) for j in range(k)))
        low, high = low + L, high + U
    return low, high


def _relu(form: Form, ends: tuple[Fraction, Fraction]) -> Form:
    if ends[0] >= 0:
        return form
    return {}, Fraction(0), max(Fraction(0), ends[1])


def check(raw: bytes, certificate: dict[str, Any]) -> str:
    """One sentence that says what holds.

    Raises:
        Refused: it does not, and why.
    """
    if certificate.get("format") != FORMAT:
        raise Refused(f"the certificate's format is {str(certificate.get('format'))[:40]!r}, not {FORMAT!r}")
    if certificate["model"] != hashlib.sha256(raw).hexdigest():
        raise Refused("the certificate belongs to another model file")
    model = read_model(raw)
    layer = model["layers"][0]
    if len({len(layer[name]) for name in ("W_Q", "W_K", "W_V", "W_C")}) != 1:
        raise Refused("the model's matrices belong to different numbers of heads")
    heads = [Head(model, h) for h in range(len(layer["W_Q"]))]
    T, support = heads[0].T, certificate["support"]
    if support != sorted(set(support)) or not all(type(i) is int and 0 <= i < T for i in support):
        raise Refused("the support is not a list of ascending positions")
    patterns = {row["bits"]: row for row in certificate["patterns"]}
    if sorted(patterns) != ["".join(bits) for bits in product("01", repeat=len(support))]:
        raise Refused("the certificate does not hold every pattern of the support's bits once")
    claimed, threshold = _number(certificate["max_error"]), model["threshold"]
    for bits, row in patterns.items():
        low, high = output_range(model, _checked(heads, row, dict(zip(support, map(int, bits), strict=True))))
        value = row["value"]
        if value not in (0, 1) or not (low > threshold if value else high <= threshold):
            raise Refused(
                f"pattern {bits}: outputs from {float(low)!r} to {float(high)!r} do not all predict {value}"
            )
        if max(high - value, value - low) > claimed:
            raise Refused(
                f"pattern {bits}: outputs from {float(low)!r} to {float(high)!r} exceed the claimed error"
            )
    ones = [bits for bits in sorted(patterns) if patterns[bits]["value"]]
    names = ", ".join(f"x{i}" for i in support)
    where = (
        f"1 where ({names}) is {' or '.join(ones[:8])}{' ..' if len(ones) > 8 else ''}, else 0"
        if ones
        else "0"
    )
    return f"holds: on all 2^{T} inputs |output - f| <= {float(claimed):.3g} and the prediction is f, with f = {where}."


def _checked(heads: list[Head], row: dict[str, Any], pattern: dict[int, int]) -> Bounds:
    """The certificate's bounds in their order, each refused unless it is true."""
    claims = iter(row["bounds"])

    def bounds(h: int, g: tuple[Fraction, ...]) -> tuple[Fraction, Fraction]:
        claim = next(claims, None)
        if claim is None:
            raise Refused(f"pattern {row['bits']}: a bound is missing")
        L, U = map(_number, claim)
        if not heads[h].never_exceeds(g, U, pattern):
            raise Refused(f"pattern {row['bits']}, head {h}: the upper bound {float(U)!r} is not proved")
        if not heads[h].never_exceeds(tuple(-x for x in g), -L, pattern):
            raise Refused(f"pattern {row['bits']}, head {h}: the lower bound {float(L)!r} is not proved")
        return L, U

    return bounds


def _number(text: str) -> Fraction:
    """A float64 number written in hexadecimal, such as 0x1.8p+1."""
    return Fraction(float.fromhex(text))


UNREADABLE = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    struct.error,
    RecursionError,
)


def read_certificate(path: Path) -> dict[str, Any]:
    """The JSON object in a file."""
    content = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(content, dict):
        raise ValueError("the certificate is not a JSON object")
    return content


def main(arguments: list[str]) -> int:
    """Check the two files that are named."""
    if len(arguments) != 2:
        print("usage: check.py MODEL.safetensors CERTIFICATE.json", file=sys.stderr)
        return 2
    try:
        print(check(Path(arguments[0]).read_bytes(), read_certificate(Path(arguments[1]))))
    except Refused as reason:
        print(f"does not hold: {reason}.")
        return 1
    except UNREADABLE as error:
        print(f"cannot be read: {type(error).__name__}: {str(error)[:120]}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
