"""`build`: construct an attention head that computes a given sparse function."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .._base.arguments import choice, instance, real, whole
from .._base.errors import DomainError
from .._base.memory import require_memory
from .._base.plugins import Registry
from .._base.rng import stream
from ..functions import SparseFunction, as_function
from ..heads.block import Layer
from ..heads.encoding import ENCODINGS, RESERVED, Encoding
from ..heads.model import Model
from .attention import TooNarrow, trainable_positions
from .compact import Construction

# A new construction is a file with a `Construction` in it, and a line here; `method` names it.
CONSTRUCTIONS: Registry[Construction] = Registry(
    "construction",
    {"compact": "sparsehead.construct.compact:compact", "paper": "sparsehead.construct.paper:paper"},
)
LEAST_EPSILON = 1e-100  # scores grow with ln(1/epsilon); weights below 1e-250 underflow
# From an encoding (None: trainable positions of width d) to the model and the notes in its `meta`.
OnEncoding = Callable[..., tuple[Model, dict[str, Any]]]


def build(
    f: SparseFunction | str,
    encoding: str | Encoding = "positional",
    *,
    T: int | None = None,
    d: int | None = None,
    method: str = "compact",
    heads: str = "one",
    readout: str | None = None,
    epsilon: int | float | None = None,
    attends_cls: bool = True,
    seed: int | None = None,
) -> Model:
    """Return a one-layer model that computes f on every input, exactly (or within epsilon, if given).

    One head suffices for every f: it sums the relevant bits with the integer weights of `best_code`, and two ReLU units
    per change of f's value along that sum decode it. `verify(model, f)` proves the result.

    Args:
        f: the function, or its expression, which then needs T.
        encoding: "positional" (one-hot, d = T + 3), "random" (unit rows, any d that is large enough; needs `seed`),
            "trainable" (d = 4 or 5), "bag" (one-hot; another d: random rows, which need `seed`), another name in
            `encoding.ENCODINGS` (needs `seed`), or an `Encoding`.
        d: embedding width, if the encoding does not determine it.
        method: "compact", or "paper" for the paper's construction with its errors corrected.
        heads: "one"; "s" for one head per relevant position; "cancel" for two heads whose leakage cancels.
        readout: "head" puts the ReLU units inside the head (f_tf-scalar), "mlp" after it (f_tf+mlp). The default is
            "head" for threshold functions, whose value changes once along the sum, else "mlp".
        epsilon: allow this error: AND, OR, NAND, NOR then need no ReLU at all; other functions stay exact.
        attends_cls: whether [CLS] is among the attended tokens.
        seed: for random positions.
    Raises:
        DomainError: the arguments are inconsistent, or d is too small; the message says what would work.
    Paper: sparse-representation, representation-norms

    >>> build("x2 ^ x5 ^ x11", T=16)
    <Model: 1 layer of 1 head, T=16, d=19; from build: x2 ^ x5 ^ x11>
    >>> build("x2 & x5", "trainable", T=1000).d
    4
    """
    f = as_function(f, T, asker="build")
    _check(encoding, method, heads, readout, epsilon)
    if d is not None:
        whole("d", d)
    if seed is not None:
        whole("seed", seed, least=0)
    instance("attends_cls", attends_cls, bool, "True or False")
    # Bytes at the peak of building and proving, for each position and head, and for each number in drawn rows; measured
    # at T = 3*10^5 (positional 700, trainable 570, most of it for the proof) and for random rows of width 352 (15).
    count = {"one": 1, "s": max(1, f.s), "cancel": 2}[heads]
    named = None if isinstance(encoding, Encoding) else ENCODINGS[encoding]
    draws = named is not None and named.make is not None and named.width is None
    sizes = {"T": f.T, "d": d} if draws and d is not None else {"T": f.T}
    require_memory("build", lambda T, d=0: float(T) * (720 * count + 16 * d), **sizes)
    on: OnEncoding = partial(
        CONSTRUCTIONS[method] if f.s else _constant,
        f, heads=heads, readout=readout, epsilon=epsilon, attends_cls=attends_cls,
    )  # fmt: skip
    if isinstance(encoding, str):
        model, notes = _on_named(f, encoding, d, seed, on)
    elif encoding.T == f.T:
        model, notes = on(encoding, d=None)
    else:
        raise DomainError(f"the function has T={f.T}, the encoding T={encoding.T}; they must agree.")
    meta = {"source": "build", "function": str(f), "T": f.T, "support": list(f.support), "method": method}
    return replace(model, meta={**meta, "heads": heads, **notes})


def _check(encoding: Any, method: str, heads: str, readout: str | None, epsilon: int | float | None) -> None:
    if not isinstance(encoding, Encoding):
        choice("encoding", encoding, ENCODINGS)
    choice("method", method, CONSTRUCTIONS)
    choice("heads", heads, ("one", "s", "cancel"))
    if readout is not None:
        choice("readout", readout, ("head", "mlp"))
    if epsilon is not None and not real("epsilon", epsilon) > 0:
        raise DomainError(f"epsilon is an allowed error > 0, got {epsilon}; leave it out for an exact head.")
    if epsilon is not None and epsilon < LEAST_EPSILON:
        raise DomainError(
            f"epsilon = {epsilon:g} needs scores beyond the range of float64; give at least {LEAST_EPSILON:g}, or "
            "leave it out for an exact head."
        )
    if heads != "one" and readout == "head":
        raise DomainError(f"readout 'head' decodes inside one head; heads={heads!r} needs readout 'mlp'.")


def _on_named(
    f: SparseFunction, name: str, d: int | None, seed: int | None, on: OnEncoding
) -> tuple[Model, dict[str, Any]]:
    """Return the model on the encoding of this name, of width d or, if d is None, of the first sufficient width."""
    make, fixed = ENCODINGS[name].make, ENCODINGS[name].width
    if make is None:
        return on(None, d=d)
    width = d if fixed is None else fixed(f.T)
    if fixed is not None and d not in (None, width):
        raise DomainError(f"encoding {name!r} has d = {width} at T={f.T}, got d={d}; 'random' takes any d.")
    if name == "bag" and d is None:
        width = f.T + RESERVED
    one_hot = name in ("positional", "bag") and width == f.T + RESERVED
    if seed is None and not one_hot:
        raise DomainError(f"encoding {name!r} draws random rows and needs a seed, such as seed=0.")

    def construct(width: int) -> tuple[Model, dict[str, Any]]:
        return on(make(f.T, width, stream(seed or 0, "positions", name)), d=None)

    usual = 32 * math.ceil(8 * max(1, f.s) * math.log(100 * f.T) / 32)
    width = usual if width is None else width
    try:
        return construct(width)
    except TooNarrow as error:
        if fixed is not None:
            raise
        width = max(width, f.s + RESERVED)
        # Where eight times the usual width fails, so do larger ones; P is to have fewer than 2^28 numbers.
        while 1.25 * width < min(2**28 / f.T, 8 * usual):
            width = max(width + 1, int(1.25 * width))
            try:
                found = construct(width)
            except TooNarrow:
                continue
            if d is None:
                return found
            raise DomainError(
                f"d={d} is too small for s={f.s} of T={f.T} positions; the smallest d tried that works is {width}."
            ) from error
        raise


def _constant(
    f: SparseFunction, encoding: Encoding | None, *, d: int | None, attends_cls: bool, **_: Any
) -> tuple[Model, dict[str, Any]]:
    """Return the model of a constant function: zero weights, and the constant as the bias of the read-out."""
    if encoding is None:
        encoding = trainable_positions(f.T, (), np.zeros((0, 1)), d=d)
    zero = np.zeros((1, encoding.d, 1))
    layer = Layer(W_Q=zero, W_K=zero, W_V=zero, W_C=np.zeros((1, 1, encoding.d)))
    w = np.zeros(encoding.d)
    return Model(encoding, (layer,), w=w, bias=float(f.values[0]), attends_cls=attends_cls), {}


def units(model: Model) -> int:
    """Return the number of ReLU units, in the decoder or inside the head."""
    inside = model.layers[-1].W_V.shape[-1] * model.H if model.layers[-1].sigma == "relu" else 0
    return inside + sum(dense.b.shape[0] for dense in model.decoder)
