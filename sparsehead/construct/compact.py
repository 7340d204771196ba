"""The compact construction: few heads, small norms, and a decoder with two ReLU units per change of value."""

import math
from typing import Any, Protocol, runtime_checkable

import numpy as np

from .._base.errors import DomainError
from ..functions import SparseFunction
from ..heads.encoding import Encoding
from ..heads.model import Model
from .assemble import head_alone, intervals, with_mlp
from .attention import (
    Selection,
    TooNarrow,
    additive_selection,
    bag_selection,
    default_leak,
    trainable_positions,
    trainable_selection,
)
from .code import Code, best_code
from .decoder import Decoder, plateaus
from .linear import linear_head, linear_kind
from .multi import bag_bits, cancelling_heads, s_heads


@runtime_checkable
class Construction(Protocol):
    """A function that constructs a model of f; packages register it in the group `sparsehead.constructions`.

    `build --method NAME` calls it for functions of s >= 1 bits, with the arguments of `build`, and proves on all 2^T
    inputs that the returned model computes f.
    """

    def __call__(
        self,
        f: SparseFunction,
        encoding: Encoding | None,
        *,
        d: int | None,
        heads: str,
        readout: str | None,
        epsilon: int | float | None,
        attends_cls: bool,
    ) -> tuple[Model, dict[str, Any]]:
        """Return the model and entries for its `meta`; encoding=None requests trainable positions of width d."""


def compact(
    f: SparseFunction,
    encoding: Encoding | None,
    *,
    d: int | None,
    heads: str,
    readout: str | None,
    epsilon: int | float | None,
    attends_cls: bool,
) -> tuple[Model, dict[str, Any]]:
    """Return a model with one head that sums the relevant bits, decoded by plateaus; or, depending on `heads` and
    `epsilon`, a model of `multi` or `linear`. With a random bag of vectors, each bit is read separately.
    """
    random_bag = encoding is not None and not encoding.additive and encoding.P is not None
    within = epsilon if linear_kind(f) is not None and (encoding is None or encoding.additive) else None
    if heads != "one" or random_bag or within is not None:
        axes = np.eye(f.s)  # one for each relevant position
        fixed = trainable_positions(f.T, f.support, axes, d=d) if encoding is None else encoding
        if heads != "one" or random_bag or within is None:
            return _bit_by_bit(f, fixed, heads, attends_cls=attends_cls), {}
        return linear_head(f, fixed, epsilon=within, attends_cls=attends_cls), {"epsilon": within}
    code = best_code(f.values)
    selection, decoder, leak = _separate(f, encoding, code, d=d, attends_cls=attends_cls)
    alone = readout == "head" or (readout is None and code.changes == 1)
    return (head_alone if alone else with_mlp)(selection, decoder), {
        "code": list(code.weights),
        "readout": "head" if alone else "mlp",
        "leak": leak,
        "gap": decoder.gap,
        "rho": selection.rho if math.isfinite(selection.rho) else None,
    }


def _bit_by_bit(f: SparseFunction, encoding: Encoding, heads: str, *, attends_cls: bool) -> Model:
    """Return a model that reads each relevant bit separately, or two heads whose leakage cancels."""
    if encoding.additive:
        if heads == "s":
            return s_heads(f, encoding, attends_cls=attends_cls)
        return cancelling_heads(f, encoding, best_code(f.values, signs=False), attends_cls=attends_cls)
    if heads == "s":
        raise DomainError(
            "in a bag of vectors one head reads every bit separately; heads='s' is for other encodings."
        )
    if heads == "cancel":
        raise DomainError("a bag of vectors has no leakage to cancel; heads='one' is exact there.")
    return bag_bits(f, encoding, attends_cls=attends_cls)


def _separate(
    f: SparseFunction, encoding: Encoding | None, code: Code, *, d: int | None, attends_cls: bool
) -> tuple[Selection, Decoder, float]:
    """Return selection, decoder and leak, with a leak small enough to separate the head's outputs.

    Up to 12 leaks are tried, each half of the one before, until the gap between outputs is at least 1/(8 sum |c_i|). If
    no leak reaches that, the one with the largest gap is taken.
    """
    leak, best = default_leak(code), None
    for _ in range(12):
        if encoding is None:
            selection = trainable_selection(f.T, f.support, code, leak=leak, attends_cls=attends_cls, d=d)
        elif encoding.additive:
            selection = additive_selection(encoding, f.support, code, leak=leak, attends_cls=attends_cls)
        else:
            selection = bag_selection(encoding, f.support, code, attends_cls=attends_cls)
        low, high = intervals(selection)
        try:
            decoder = plateaus(low, high, f.values)
        except DomainError:
            decoder = None
        if decoder is not None and (best is None or decoder.gap > best[1].gap):
            best = (selection, decoder, leak)
        if best is not None and best[1].gap >= code.tilt:
            return best
        leak /= 2
    if best is None:
        raise TooNarrow(f"d={selection.encoding.d} is too small for T={f.T} and these positions.")
    return best
