"""A certificate as a theorem: a file for the proof assistant Coq that states and proves what a model computes.

The file holds the model's numbers, which are exact, the bounds of the certificate, and the theorem

    forall b : list bool, length b = T -> Rabs (output head b - f b) <= eps

over the real numbers. Its proof runs the checker of the folder proofs/, where the checker is proved correct. A theorem
that Coq accepts therefore depends on Coq and on the definitions in proofs/Head.v, but on nothing in this package.
"""

import re
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING
from fractions import Fraction
from pathlib import Path
from typing import Any

from .._base.errors import DomainError
from ..functions import SparseFunction, minimise
from .certificate_file import certificate_content
from .check import BITS, digits, read_model, stages

MOST_NUMBERS = 100_000_000  # products of Coq; half as many (T = 3000, one-hot) took 3 minutes and 1.5 GB


def theorem_content(raw: bytes, f: SparseFunction) -> str:
    """Return a file for Coq with the theorem that a model computes f; `raw` are the bytes of the model's file.

    Raises:
        DomainError: the model has no certificate for f, or is too large to be written out.
    """
    model = read_model(raw)
    _check_size(model)
    try:
        certificate = certificate_content(raw, f)
    except DomainError as error:
        raise DomainError(str(error).replace("no certificate file", "no file for Coq", 1)) from None
    T, eps = model["encoding"]["T"], Fraction(float.fromhex(certificate["max_error"]))
    claims = [
        _list(f"({_float(low)}, {_float(high)})" for low, high in row["bounds"])
        for row in certificate["patterns"]
    ]
    template = Path(__file__).with_name("theorem.template").read_text(encoding="utf-8")
    return template.format(
        T=T, function=f, digits=digits(eps, ROUND_CEILING), sha=certificate["model"], formula=_formula(f),
        model=_model(model), eps=_number(eps), bits=BITS, support=_list(map(str, f.support)),
        rule=_rule(f), claims=_lines(claims, 2),
    )  # fmt: skip


def check_module_name(path: str | Path) -> None:
    """Raise an error if coqc would refuse the file's name, which must be an identifier, since a file is a module."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*\.v", Path(path).name):
        raise DomainError(
            f"coqc takes files named like head_50.v, with letters, digits and _; got {Path(path).name!r}."
        )


def _check_size(model: dict[str, Any]) -> None:
    """Raise an error if the model is too large for Coq, which multiplies every token by every matrix."""
    layer, encoding = model["layers"][0], model["encoding"]
    width = sum(len(W[0]) for W in (*layer["W_K"], *layer["W_V"]))
    numbers = 2 * encoding["T"] * len(encoding["cls"]) * width
    if numbers > MOST_NUMBERS:
        raise DomainError(
            f"no file for Coq: 2 T d times the width of keys and values is {numbers}, and at most {MOST_NUMBERS} is "
            "practical; `--out` writes a certificate for `sparsehead check`, which takes any size."
        )


def _model(model: dict[str, Any]) -> str:
    """Return the model as a record in Coq."""
    layer, encoding = model["layers"][0], model["encoding"]
    chain = stages(model)
    relu = chain[0][0] is None
    T = encoding["T"]
    bits = (
        "Bag"
        if encoding["kind"] == "bag"
        else f"Additive {' '.join(f'({_vector(e)})' for e in encoding['E'])}"
    )
    positions = f"one_hot_positions {T}" if encoding["P"] is None else _lines(map(_vector, encoding["P"]), 4)
    fields = {
        "bits_as": bits,
        "positions": positions,
        "cls": _vector(encoding["cls"]),
        "attends_cls": _truth(model["attends_cls"]),
        "heads": _lines([_head(layer, h) for h in range(len(layer["W_Q"]))], 4),
        "temperature": _number(layer["temperature"]),
        "relu_of_mix": _truth(relu),
        "decoder": _lines([_layer(*stage) for stage in chain[relu:]], 4),
    }
    return "  {| " + ";\n     ".join(f"{name} := {value}" for name, value in fields.items()) + " |}."


def _head(layer: dict[str, Any], h: int) -> str:
    parts = []
    for name in "QKV":
        W = layer[f"W_{name}"][h]
        b = layer[f"b_{name}"][h] if layer[f"b_{name}"] else [Fraction(0)] * len(W[0])
        parts += [f"W_{name} := {_matrix(W)}", f"b_{name} := {_vector(b)}"]
    return "{| " + ";\n        ".join(parts) + " |}"


def _layer(W: list[list[Fraction]], b: list[Fraction], relu: bool) -> str:
    return f"{{| weights := {_matrix(W)};\n        bias := {_vector(b)}; relu := {_truth(relu)} |}}"


def _matrix(W: list[list[Fraction]]) -> str:
    """Return a matrix, given by rows, as Coq's list of its columns."""
    columns = [list(column) for column in zip(*W, strict=True)]
    listed = [(i, column) for i, column in enumerate(columns) if any(column)]
    if 2 * len(listed) < len(columns):
        return f"columns {len(columns)} {len(W)} {_list(f'({i}%nat, {_vector(column)})' for i, column in listed)}"
    return _list(map(_vector, columns))


def _vector(v: list[Fraction]) -> str:
    listed = [(i, x) for i, x in enumerate(v) if x]
    if 2 * len(listed) < len(v) - 4:
        return f"entries {len(v)} {_list(f'({i}%nat, {_number(x)})' for i, x in listed)}"
    return _list(map(_number, v))


def _number(x: Fraction) -> str:
    """Return a number, whose denominator is a power of two, as an exact number in Coq.

    >>> _number(Fraction(-3, 8)), _number(Fraction(12))
    ('-0x3p-3', '12')
    """
    exponent = x.denominator.bit_length() - 1
    if not exponent:
        return str(x.numerator)
    return f"{'-' * (x < 0)}0x{abs(x.numerator):x}p-{exponent}"


def _float(text: str) -> str:
    return _number(Fraction(float.fromhex(text)))


def _formula(f: SparseFunction) -> str:
    """Return f as an OR of ANDs of `x i`, in Coq."""
    return _or_of_ands(f, [f"x {i}" for i in f.support])


def _rule(f: SparseFunction) -> str:
    """Return f as a function of the list of its relevant bits, in Coq."""
    names = [f"x{i}" for i in f.support]
    return f"match x with {_list(names)} => {_or_of_ands(f, names)} | _ => false end"


def _or_of_ands(f: SparseFunction, names: Sequence[str]) -> str:
    cubes = minimise.shortest_cubes(f.values)
    if cubes is None:
        cubes = minimise.cubes(f.values, most=2**f.s) or []
    terms = []
    for positive, negative in cubes:
        literals = [
            name if positive >> i & 1 else f"negb ({name})"
            for i, name in enumerate(names)
            if (positive | negative) >> i & 1
        ]
        terms.append(" && ".join(literals) or "true")
    return " || ".join(f"({term})" for term in terms) if len(terms) > 1 else "".join(terms) or "false"


def _truth(value: bool) -> str:
    return "true" if value else "false"


def _list(items: Iterable[str]) -> str:
    return f"[{'; '.join(items)}]"


def _lines(items: Iterable[str], indent: int) -> str:
    """Return a Coq list with one item on each line."""
    return f"[\n{' ' * indent}" + f";\n{' ' * indent}".join(items) + "]"
