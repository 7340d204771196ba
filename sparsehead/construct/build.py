"""`build`: any sparse function as an attention head, written down."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from ..arguments import instance, real, shown, whole
from ..encoding import KINDS, RESERVED, Encoding, bag, positional, random_bag, random_positions
from ..errors import DomainError
from ..functions import SparseFunction, as_function
from ..memory import require_memory
from ..model import Model
from ..registry import Registry
from ..rng import stream
from .assemble import constant, provenance
from .attention import TooCoherent
from .compact import Construction
from .multi import s_positions

# A new construction is a file with a `Construction` in it, and a line here; `method` names it.
CONSTRUCTIONS: Registry[Construction] = Registry(
    "construction",
    {"compact": "sparsehead.construct.compact:compact", "paper": "sparsehead.construct.paper:paper"},
)
HEADS = ("one", "s", "cancel")
READOUTS = ("head", "mlp")
LADDER = 1.25  # d grows by this factor while a sufficient one is looked for
# Bytes at the peak of building and proving, for each position and head, and for each number in given rows; measured
# at T = 3*10^5 (positional 700, trainable 570, most of it for the proof) and for random rows of width 352 (15).
PER_POSITION, PER_COORDINATE = 720, 16
LEAST_EPSILON = 1e-100  # scores grow with ln(1/epsilon); weights below 1e-250 underflow
LARGEST = 2**28  # numbers in P beyond which no larger d is tried
TIMES_USUAL = 8  # nor a d beyond this many times the usual one: where that fails, so do larger ones


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
    """A one-layer model that computes f on every input, exactly (or within epsilon, if given).

    One head suffices for every f: it adds up the relevant bits with the integer weights of `best_code`, and two ReLU
    units per change of value decode the sum. `verify(model, f)` proves the result.

    Args:
        f: the function, or its expression, which then needs T.
        encoding: "positional" (one-hot, d = T + 3), "random" (unit rows, any d that is large enough; needs `seed`),
            "trainable" (d = 4 or 5), "bag" (one-hot; with d, random rows), or an `Encoding` to build for.
        d: width, where the encoding leaves it open.
        method: "compact", or "paper" for the printed construction with its errata repaired.
        heads: "one"; "s" for one head per relevant position; "cancel" for two heads whose leakage cancels.
        readout: "head" puts the ReLU units inside the head (f_tf-scalar), "mlp" after it (f_tf+mlp). By default the
            head alone serves functions that change value once, which are the threshold functions.
        epsilon: allow this error: AND, OR, NAND, NOR then need no ReLU at all; other functions stay exact.
        attends_cls: whether [CLS] is among the attended tokens.
        seed: names the random positions.
    Raises:
        DomainError: the arguments do not fit together, or d is too small; the message says what would work.
    Paper: sparse-representation, representation-norms

    >>> build("x2 ^ x5 ^ x11", T=16)
    <Model: 1 layer of 1 head, T=16, d=19; from build: x2 ^ x5 ^ x11>
    >>> build("x2 & x5", "trainable", T=1000).d
    4
    """
    f = as_function(f, T, asker="build")
    _check(f, encoding, method, heads, readout, epsilon)
    if d is not None:
        whole("d", d)
    if seed is not None:
        whole("seed", seed, least=0)
    instance("attends_cls", attends_cls, bool, "True or False")
    count = {"one": 1, "s": max(1, f.s), "cancel": 2}[heads]
    width = d if isinstance(encoding, str) and d is not None and encoding in ("random", "bag") else 0
    sizes = {"T": f.T, **({"d": width} if width else {})}
    require_memory("build", lambda T, d=0: float(T) * (PER_POSITION * count + PER_COORDINATE * d), **sizes)
    construct: Constructed = partial(
        CONSTRUCTIONS[method] if f.s else _constant,
        f, heads=heads, readout=readout, epsilon=epsilon, attends_cls=attends_cls,
    )  # fmt: skip
    if encoding == "random" or (encoding == "bag" and d is not None):
        model, notes = _random(f, encoding, d, seed, construct)
    else:
        model, notes = construct(_fixed(f, encoding, d), d=d if encoding == "trainable" else None)
    return replace(model, meta=provenance(f, method=method, heads=heads, **notes))


# Of an encoding, or None for trainable positions of width d: the model, and what to note about it.
Constructed = Callable[..., tuple[Model, dict[str, Any]]]


def _check(
    f: SparseFunction,
    encoding: str | Encoding,
    method: str,
    heads: str,
    readout: str | None,
    epsilon: int | float | None,
) -> None:
    if not isinstance(encoding, Encoding) and encoding not in KINDS:
        raise DomainError(f"encoding {shown(encoding)} is unknown; the encodings are {', '.join(KINDS)}.")
    for name, value, known in (("method", method, CONSTRUCTIONS), ("heads", heads, HEADS)):
        if value not in known:
            raise DomainError(f"{name} {value!r} is unknown; choose one of {', '.join(known)}.")
    if readout not in (None, *READOUTS):
        raise DomainError(f"readout {readout!r} is unknown; choose one of {', '.join(READOUTS)}.")
    if epsilon is not None and not real("epsilon", epsilon) > 0:
        raise DomainError(f"epsilon is an allowed error > 0, got {epsilon}; leave it out for an exact head.")
    if epsilon is not None and epsilon < LEAST_EPSILON:
        raise DomainError(
            f"epsilon = {epsilon:g} needs scores beyond the range of float64; give at least {LEAST_EPSILON:g}, or "
            "leave it out for an exact head."
        )
    if heads != "one" and readout == "head":
        raise DomainError(f"readout 'head' decodes inside one head; heads={heads!r} needs readout 'mlp'.")


def _fixed(f: SparseFunction, encoding: str | Encoding, d: int | None) -> Encoding | None:
    """The encoding that was given or named; None for trainable positions, which the construction writes."""
    if isinstance(encoding, Encoding):
        if encoding.T != f.T:
            raise DomainError(f"the function has T={f.T}, the encoding T={encoding.T}; they must agree.")
        return encoding
    if encoding == "trainable":
        return None
    if d not in (None, f.T + RESERVED):
        raise DomainError(
            f"encoding {encoding!r} is one-hot and has d = T + 3 = {f.T + RESERVED}, got d={d}; 'random' takes any d."
        )
    return positional(f.T) if encoding == "positional" else bag(f.T)


def _random(
    f: SparseFunction, kind: str, d: int | None, seed: int | None, construct: Constructed
) -> tuple[Model, dict[str, Any]]:
    """Random rows of width d; without d, of the usual width or the smallest above it, in steps, that works."""
    if seed is None:
        raise DomainError(f"encoding {kind!r} draws random rows and needs a seed, such as seed=0.")
    make = random_positions if kind == "random" else random_bag

    asked, usual = d, 32 * math.ceil(8 * max(1, f.s) * math.log(100 * f.T) / 32)
    d = usual if asked is None else asked
    try:
        return construct(make(f.T, d, rng=stream(seed, "positions", kind)), d=None)
    except DomainError as error:
        if not isinstance(error, TooCoherent) and d >= f.s + 4:
            raise
        found, width = None, max(d, f.s + RESERVED)
        while found is None and width * LADDER < min(LARGEST / f.T, TIMES_USUAL * usual):
            width = max(width + 1, int(LADDER * width))
            try:
                found = construct(make(f.T, width, rng=stream(seed, "positions", kind)), d=None)
            except DomainError:
                continue
        if found is None:
            raise
        if asked is None:
            return found
        raise DomainError(
            f"d={asked} is too small for s={f.s} of T={f.T} positions; the smallest d tried that works is {width}."
        ) from error


def _constant(
    f: SparseFunction, encoding: Encoding | None, *, d: int | None, attends_cls: bool, **_: Any
) -> tuple[Model, dict[str, Any]]:
    """The model of a function that reads no bit."""
    fixed = s_positions(f.T, (), max(4, d or 4)) if encoding is None else encoding
    return constant(fixed, float(f.values[0]), attends_cls=attends_cls), {}


def units(model: Model) -> int:
    """Hidden ReLU units: those of the decoder, or those inside the head."""
    inside = model.layers[-1].W_V.shape[-1] * model.H if model.layers[-1].sigma == "relu" else 0
    return inside + sum(dense.b.shape[0] for dense in model.decoder)
