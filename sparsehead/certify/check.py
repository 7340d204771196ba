"""Check a certificate: that a one-layer attention model computes a function of s bits on every one of its 2^T inputs.

    python check.py MODEL.safetensors CERTIFICATE.json      exit code 0: it holds; 1: it does not; 2: unreadable

This file needs only Python's standard library. It trusts nothing in the certificate: each number in it is a claim, and
each claim is checked with whole numbers. The claims are about the model in exact arithmetic, with the float64 weights
of the file as exact numbers. Rounding in a float64 evaluation of the model is not considered.

The model. Token (t, b) is the token at position t with bit b; [CLS] is one more. Head h gives token (t, b) the weight
w = exp(score) and the value v in R^k, and mixes the values of the tokens of an input x to

    m_h(x) = sum w v / sum w          over t with b = x_t, and [CLS] if it is attended to.

The output is a chain of affine maps and ReLUs of these mixed values.

The proof. Fix the s bits that f reads: a pattern, which 2^(T-s) inputs share. For a linear form g . m_h and a number U,
no input of the pattern exceeds U if

    F(U) = sum over t of the larger of w (g . v - U) over the bits b that the pattern allows   <=  0,

because g . m_h - U has the sign of sum w (g . v - U). A form of several heads is bounded by the sum of their U. Each U
is proved in this way, or all at once: sum_h (g_h . m_h - U_h) is at most the sum over t of the larger, over b, of sum_h
w_h (g_h . v_h - U_h) / D_h, where D_h = sum w_h is replaced by its least or its largest value, whichever makes the term
larger. The certificate states U, and a lower bound L, for every form that is needed: the inputs of the ReLUs in order,
then the output. A ReLU returns its input if that cannot be negative, 0 if it cannot be positive, and else a number
between 0 and the upper bound of its input.
"""

import hashlib
import json
import re
import struct
import sys
from collections.abc import Callable, Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import islice, product
from math import prod
from pathlib import Path
from typing import Any

BITS = 256  # weights and values are enclosed between multiples of 2^-BITS
FORMAT = "certificate of sparsehead, version 1"
# The fields of each part of a model: a number means a tensor with so many axes, a name means a part, a name in brackets
# a list of parts, a type a value of that type.
PARTS: dict[str, dict[str, Any]] = {
    "Model": {"encoding": "Encoding", "layers": ["Layer"], "w": 1, "bias": float, "final_norm": "LayerNorm",
              "decoder": ["Dense"], "threshold": float, "attends_cls": bool, "meta": dict},
    "Encoding": {"kind": str, "T": int, "E": 2, "P": 2, "cls": 1}, "LayerNorm": {"gain": 1, "bias": 1, "eps": float},
    "Layer": {"W_Q": 3, "W_K": 3, "W_V": 3, "W_C": 3, "b_Q": 2, "b_K": 2, "b_V": 2, "b_C": 1, "temperature": float,
              "sigma": str, "residual": bool, "project": bool, "norm_attention": "LayerNorm", "norm_mlp": "LayerNorm",
              "mlp": "Mlp"},
    "Mlp": {"W_1": 2, "b_1": 1, "W_2": 2, "b_2": 1, "activation": str}, "Dense": {"W": 2, "b": 1},
}  # fmt: skip
Vector = list[Fraction]
Gain = tuple[int, tuple[int, int]]  # g . v - U, and the two ends of a weight
Form = tuple[dict[tuple[int, int], Fraction], Fraction, Fraction]  # coefficients; a constant, from and to
Parts = list[tuple[int, tuple[Fraction, ...]]]  # heads and their g
Ends = tuple[Fraction, Fraction]
Bounds = Callable[[Parts], Ends]  # L and U of the sum


class Refused(Exception):
    """The error that says why a certificate does not hold."""


def needs(condition: bool, reason: str) -> None:
    """Refuse the certificate for this reason unless the condition is true."""
    if not condition:
        raise Refused(reason)


def whole(x: Any, least: int, most: int = 2**53) -> bool:
    """Return whether x is an integer from `least` to `most`; False for a bool."""
    return type(x) is int and least <= x <= most


def strict_json(text: str) -> Any:
    """Parse JSON; reject repeated keys, NaN and infinity, which JSON readers treat differently."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        needs(len(dict(pairs)) == len(pairs), "a key of a JSON object occurs twice")
        return dict(pairs)

    return json.loads(text, object_pairs_hook=once, parse_constant=int)  # int("NaN") raises ValueError


def read_model(raw: bytes) -> dict[str, Any]:
    """Return the parts of a model file: numbers as fractions, tensors as nested lists."""
    (n,) = struct.unpack("<Q", raw[:8])
    needs(n <= len(raw) - 8, "the header is longer than the file")
    header, data = strict_json(raw[8 : 8 + n].decode()), raw[8 + n :]
    content = strict_json(header.pop("__metadata__")["sparsehead"])
    needs(whole(content["schema"], 2, 2), "the model file has another schema than 2")
    end, tensors = 0, {}
    for name, entry in header.items():
        tensors[name] = _tensor(data, entry, end)
        end = entry["data_offsets"][1]
    needs(end == len(data), "the tensors do not fill the file")
    model: dict[str, Any] = _part(content["model"], tensors, "Model")
    _check_shapes(model["encoding"], model["layers"][0])
    return model


def _tensor(data: bytes, entry: dict[str, Any], start: int) -> Any:
    """Return a tensor of the file; each tensor starts where the previous one ends."""
    code, width = {"F64": ("d", 8), "F32": ("f", 4)}[entry["dtype"]]
    (begin, end), shape = entry["data_offsets"], entry["shape"]
    needs(whole(end, 0) and whole(begin, start, start), "tensors overlap, or are not one after the other")
    needs(all(whole(size, 1) for size in shape), "a tensor's shape is not a list of positive numbers")
    needs(prod(shape) * width == end - begin, "a tensor's shape does not fit its size")
    flat = [Fraction(x) for x in struct.unpack(f"<{prod(shape)}{code}", data[begin:end])]
    for size in reversed(shape[1:]):
        flat = [flat[i : i + size] for i in range(0, len(flat), size)]  # type: ignore[misc]
    return flat


def _part(node: dict[str, Any], tensors: dict[str, Any], kind: Any, name: str = "model") -> Any:
    """Return the value of a node of the structure, after checking that it has the kind that PARTS names."""
    may_lack = ("P", "b_Q", "b_K", "b_V", "b_C", "norm_attention", "norm_mlp", "mlp", "final_norm")
    if node == {"value": None} and name in may_lack:
        return None
    keys = {list: {"tuple"}, str: {"part", "fields"}, int: {"tensor"}}.get(type(kind), {"value"})
    needs(node.keys() == keys, f"{name} is malformed")
    if isinstance(kind, list):
        return [_part(inner, tensors, kind[0]) for inner in node["tuple"]]
    if isinstance(kind, str):
        needs(node["part"] == kind and node["fields"].keys() == PARTS[kind].keys(), f"{name} is not a {kind}")
        return {key: _part(node["fields"][key], tensors, inner, key) for key, inner in PARTS[kind].items()}
    if isinstance(kind, int):
        needs(len(_shape(tensors[node["tensor"]])) == kind, f"{name} has not {kind} axes")
        return tensors[node["tensor"]]
    value = node["value"]
    good = type(value) is kind or (kind is float and type(value) is int)
    needs(good and (type(value) is not int or whole(abs(value), 0)), f"{name} is not of type {kind.__name__}")
    return Fraction(value) if kind is float else value


def _shape(array: Any) -> tuple[int, ...]:
    return (len(array), *_shape(array[0])) if isinstance(array, list) else ()


def _check_shapes(encoding: dict[str, Any], layer: dict[str, Any]) -> None:
    """Raise if parts do not fit together, or numbers are out of range."""
    T, d, (H, _, k), v = encoding["T"], len(encoding["cls"]), _shape(layer["W_Q"]), _shape(layer["W_V"])[2]
    known = {"E": (2, d), "P": (T, d), "W_Q": (H, d, k), "W_K": (H, d, k), "W_V": (H, d, v), "W_C": (H, v, d),
             "b_Q": (H, k), "b_K": (H, k), "b_V": (H, v), "b_C": (d,)}  # fmt: skip
    for name, array in (encoding | layer).items():
        needs(name not in known or array is None or _shape(array) == known[name], f"{name} has a wrong shape")
    needs(T >= 1 and (encoding["P"] is not None or d == T + 3), "T does not fit the encoding")
    needs(layer["temperature"] > 0, "the temperature is not positive")
    needs(encoding["kind"] in ("positional", "random", "trainable", "bag"), "the encoding is not known")


def dot(a: Vector, b: Vector) -> Fraction:
    """Return the sum of a_i b_i."""
    return sum((x * y for x, y in zip(a, b, strict=True) if x and y), Fraction(0))


class Head:
    """One head: enclosures of the weights and values of every token; the last row is [CLS], if it is attended to."""

    def __init__(self, model: dict[str, Any], h: int) -> None:
        layer, encoding, cls = model["layers"][0], model["encoding"], model["encoding"]["cls"]
        W_Q, W_K, W_V = (layer[name][h] for name in ("W_Q", "W_K", "W_V"))
        b_Q, b_K = (layer[name][h] if layer[name] else [Fraction(0)] * len(W_K[0]) for name in ("b_Q", "b_K"))
        b_V = layer["b_V"][h] if layer["b_V"] else [Fraction(0)] * len(W_V[0])
        query = [(dot(cls, c) + b) / layer["temperature"] for *c, b in zip(*W_Q, b_Q, strict=True)]
        columns = [[dot(row, query) for row in W_K], *map(list, zip(*W_V, strict=True))]
        shift = [dot(b_K, query), *b_V]
        tokens = list(_tokens(encoding, columns))
        if model["attends_cls"]:
            tokens.append([[dot(cls, c) for c in columns]] * 2)
        table = [[[x + s for x, s in zip(token, shift, strict=True)] for token in pair] for pair in tokens]
        top = max(token[0] for pair in table for token in pair)
        known = {score: exp_bounds(score - top) for score in {token[0] for pair in table for token in pair}}
        self.weights = [[known[token[0]] for token in pair] for pair in table]
        self.values = [[token[1:] for token in pair] for pair in table]
        self._forms: dict[tuple[Fraction, ...], list[list[tuple[int, int]]]] = {}

    def form(self, g: tuple[Fraction, ...]) -> list[list[tuple[int, int]]]:
        """Return an enclosure of g . v for every token."""
        if g not in self._forms:
            self._forms[g] = [[enclosed(dot(list(g), v)) for v in pair] for pair in self.values]
        return self._forms[g]

    def gains(self, g: tuple[Fraction, ...], U: Fraction, pattern: dict[int, int]) -> list[list[Gain]]:
        """Return an upper bound of g . v - U, and the weight, for each position and each bit of the pattern."""
        low, _ = enclosed(U)  # F decreases in U, so rounding U down makes the check stricter
        bits = [(pattern[t],) if t in pattern else (0, 1) for t in range(len(self.weights))]
        rows = zip(self.form(g), self.weights, bits, strict=True)
        return [[(values[b][1] - low, weights[b]) for b in allowed] for values, weights, allowed in rows]


def never_exceeds(gains: list[list[Gain]]) -> bool:
    """Return whether F(U) <= 0 is proved, so that no input of the pattern has g . m > U."""
    return sum(max(gain * weight[gain > 0] for gain, weight in pair) for pair in gains) <= 0


def sum_never_exceeds(heads: list[list[list[Gain]]]) -> bool:
    """Return whether it is proved for all heads at once that no input of the pattern has sum g_h . m_h > sum U_h."""
    tables = []
    for gains in heads:
        # The largest and the least total weight: a gain below 0 is divided by the first, one above by the second.
        D = [sum(end(w[i] for _, w in pair) for pair in gains) for i, end in ((1, max), (0, min))]
        if D[1] == 0:
            return False
        tables.append([[-(-gain * w[gain > 0] // D[gain > 0]) for gain, w in pair] for pair in gains])
    return sum(max(map(sum, zip(*pairs, strict=True))) for pairs in zip(*tables, strict=True)) <= 0


def _tokens(encoding: dict[str, Any], columns: list[Vector]) -> Iterator[list[Vector]]:
    """Yield, for each position, the products of its two tokens with the columns."""
    ends = [[dot(e, c) for c in columns] for e in encoding["E"]]
    for t in range(encoding["T"]):
        # Without P, positions are one-hot behind three reserved coordinates.
        place = [c[3 + t] if encoding["P"] is None else dot(encoding["P"][t], c) for c in columns]
        added = [[x + y for x, y in zip(place, end, strict=True)] for end in ends]
        yield [[Fraction(0)] * len(columns), place] if encoding["kind"] == "bag" else added


def enclosed(x: Fraction) -> tuple[int, int]:
    """Return the multiples of 2^-BITS next to x, below and above."""
    scaled = x.numerator << BITS
    return scaled // x.denominator, -(-scaled // x.denominator)


def exp_bounds(x: Fraction) -> tuple[int, int]:
    """Enclose exp(x) for x <= 0 between multiples of 2^-BITS.

    For y = x / 2^n in (-1/2, 0] the Taylor series alternates and its terms decrease. A computed term is at most 4 units
    of 2^-P below the true one, so once it is 0, the rest of the series is at most 4 units. Then square n times.
    """
    n = (-x.numerator // x.denominator).bit_length() + 1
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
    """Return the chain after the mixed values as (W, b, whether a ReLU follows), W by rows; None means the identity."""
    layer, mlp = model["layers"][0], model["layers"][0]["mlp"]
    odd = [layer["norm_attention"], layer["norm_mlp"], model["final_norm"], layer["project"] or None]
    needs(len(model["layers"]) == 1, "this checker knows models of one layer")
    needs(odd == [None] * 4, "this checker knows models without LayerNorm and projection")
    known = layer["sigma"] in ("identity", "relu") and (mlp is None or mlp["activation"] == "relu")
    needs(known, "this checker knows ReLU and the identity as activations")
    needs(mlp is None or not layer["residual"], "this checker knows no residual around an MLP")
    cls = [x if layer["residual"] else Fraction(0) for x in model["encoding"]["cls"]]
    offset = [x + y for x, y in zip(layer["b_C"], cls, strict=True)] if layer["b_C"] else cls
    found: list[tuple[Any, Any, bool]] = [(None, None, True)] if layer["sigma"] == "relu" else []
    found.append(([row for head in layer["W_C"] for row in head], offset, False))
    found += [(mlp["W_1"], mlp["b_1"], True), (mlp["W_2"], mlp["b_2"], False)] if mlp else []
    found += [(dense["W"], dense["b"], True) for dense in model["decoder"]]
    found.append(([[x] for x in model["w"]], [model["bias"]], False))
    width = len(layer["W_V"]) * len(layer["W_V"][0][0])
    for W, b, _ in found:
        needs(W is None or _shape(W) == (width, len(b)), "the model's matrices do not fit together")
        width = width if W is None else len(b)
    return found


def output_range(model: dict[str, Any], bounds: Bounds) -> Ends:
    """Return the range of outputs over a pattern; `bounds` is called for each form that is needed, in a fixed order."""
    chain = stages(model)
    (H, _, k), zero = _shape(model["layers"][0]["W_V"]), Fraction(0)
    forms: dict[int, Form] = {i: ({divmod(i, k): Fraction(1)}, zero, zero) for i in range(H * k)}
    needed: list[list[int]] = [[0]]  # from the output backwards: the coordinates that matter
    for W, _, _ in reversed(chain):
        last = needed[0]
        needed.insert(0, last if W is None else [a for a, row in enumerate(W) if any(row[c] for c in last)])
    for (W, b, relu), columns in zip(chain, needed[1:], strict=True):
        if W is not None:
            forms = {c: _combined(forms, [row[c] for row in W], b[c]) for c in columns}
        if relu:
            for c, form in forms.items():
                low, high = _range(form, k, bounds)
                forms[c] = form if low >= 0 else ({}, zero, max(zero, high))
    return _range(forms[0], k, bounds)


def _combined(forms: dict[int, Form], weights: Vector, bias: Fraction) -> Form:
    coefficients: dict[tuple[int, int], Fraction] = {}
    low = high = bias
    for a, w in enumerate(weights):
        if w:
            inner, *ends = forms[a]
            for place, x in inner.items():
                coefficients[place] = coefficients.get(place, Fraction(0)) + w * x
            low, high = low + min(w * end for end in ends), high + max(w * end for end in ends)
    return {place: x for place, x in coefficients.items() if x}, low, high


def _range(form: Form, k: int, bounds: Bounds) -> Ends:
    coefficients, low, high = form
    heads = sorted({place[0] for place in coefficients})
    L, U = bounds([(h, tuple(coefficients.get((h, j), Fraction(0)) for j in range(k))) for h in heads])
    return low + L, high + U


def check(raw: bytes, text: bytes) -> str:
    """Check a certificate against a model file; return a sentence that says what holds, or raise Refused."""
    certificate, keys = strict_json(text.decode()), {"format", "model", "support", "max_error", "patterns"}
    needs(isinstance(certificate, dict), "the certificate is not a JSON object")
    needs(certificate.get("format") == FORMAT, f"the certificate's format is not {FORMAT!r}")
    needs(certificate.keys() == keys, "the certificate has unknown or missing entries")
    needs(certificate["model"] == hashlib.sha256(raw).hexdigest(), "the certificate belongs to another model")
    support, rows, error = certificate["support"], certificate["patterns"], _number(certificate["max_error"])
    model = read_model(raw)
    T, threshold = model["encoding"]["T"], model["threshold"]
    ascending = all(whole(i, 0, T - 1) for i in support) and support == sorted(set(support))
    needs(ascending and len(support) <= 30, "the support is not a list of ascending positions, at most 30")
    every = product("01", repeat=len(support)) if len(rows) == 1 << len(support) else []
    complete = [row["bits"] for row in rows] == ["".join(bits) for bits in every]
    needs(complete, "the certificate does not hold every pattern of the support once, in ascending order")
    heads = [Head(model, h) for h in range(len(model["layers"][0]["W_Q"]))]
    for row in rows:
        bits, value = row["bits"], row["value"]
        needs(whole(value, 0, 1) and row.keys() == {"bits", "value", "bounds"}, f"row {bits} is malformed")
        low, high = _proved_range(model, heads, row, dict(zip(support, map(int, bits), strict=True)))
        outputs = f"pattern {bits}: outputs from {digits(low, ROUND_FLOOR)} to {digits(high, ROUND_CEILING)}"
        needs(low > threshold if value else high <= threshold, f"{outputs} do not all predict {value}")
        needs(max(high - value, value - low) <= error, f"{outputs} exceed the claimed error")
    ones = [row["bits"] for row in rows if row["value"]]
    where = f"({', '.join(f'x{i}' for i in support)}) is {' or '.join(ones[:8])}{' ..' if ones[8:] else ''}"
    f = f"1 where {where}, else 0" if 0 < len(ones) < len(rows) else "1" if ones else "0"
    true = f"|output - f| <= {digits(error, ROUND_CEILING)} and the prediction is f"
    return f"holds: on all 2^{T} inputs {true}, in exact arithmetic, with f = {f}."


def _proved_range(model: Any, heads: list[Head], row: dict[str, Any], pattern: dict[int, int]) -> Ends:
    """Return the range of outputs from the certificate's bounds; check each bound when it is used."""
    claims = iter(row["bounds"])

    def proved(parts: Parts, U: Vector) -> bool:
        gains = [heads[h].gains(g, u, pattern) for (h, g), u in zip(parts, U, strict=True)]
        return all(map(never_exceeds, gains)) or sum_never_exceeds(gains)

    def bounds(parts: Parts) -> Ends:
        taken = list(islice(claims, len(parts)))
        where = f"pattern {row['bits']}, heads {[h for h, _ in parts]}"
        needs([len(claim) for claim in taken] == [2] * len(parts), f"{where}: a bound is missing")
        L, U = ([_number(claim[i]) for claim in taken] for i in (0, 1))
        needs(proved(parts, U), f"{where}: the upper bound is not proved")
        negative = [(h, tuple(-x for x in g)) for h, g in parts]
        needs(proved(negative, [-x for x in L]), f"{where}: the lower bound is not proved")
        return sum(L, Fraction(0)), sum(U, Fraction(0))

    found = output_range(model, bounds)
    needs(next(claims, None) is None, f"pattern {row['bits']} has more bounds than the proof needs")
    return found


def _number(text: str) -> Fraction:
    """Parse a float64 number in hexadecimal, such as 0x1.8p+1."""
    found = re.findall(r"\A(-?)0x([01])\.([0-9a-f]{1,13})p([+-][0-9]{1,4})\Z", text)
    needs(len(found) == 1, "a number of the certificate is not written like 0x1.8p+1")
    sign, ahead, behind, exponent = found[0]
    return int(f"{sign}{ahead}{behind}", 16) * Fraction(2) ** (int(exponent) - 4 * len(behind))


def digits(x: Fraction, rounding: str) -> str:
    """Write x with three digits, rounded in the direction that keeps the statement about it true."""
    quotient = Context(prec=3, rounding=rounding).divide(Decimal(x.numerator), Decimal(x.denominator))
    return f"{quotient:.2e}" if x else "0"


UNREADABLE = (
    OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, struct.error, RecursionError
)  # fmt: skip


def main(arguments: list[str]) -> int:
    """Check the two files named by the arguments; return the exit code."""
    if len(arguments) != 2:
        print("usage: check.py MODEL.safetensors CERTIFICATE.json", file=sys.stderr)
        return 2
    try:
        print(check(*(Path(path).read_bytes() for path in arguments)))
    except Refused as reason:
        print(f"does not hold: {reason}.")
        return 1
    except UNREADABLE as error:
        print(f"cannot be read: {type(error).__name__}: {str(error)[:120]}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
