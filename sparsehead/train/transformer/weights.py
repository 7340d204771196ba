"""Make a flat row of initial weights from a spec, and a `Model` from a row, without torch."""

import hashlib
import math
from typing import Any

import numpy as np

from ..._base.errors import DomainError
from ..._base.rng import stream
from ..._base.types import Array, Float
from ...heads.block import Layer, LayerNorm, Mlp, finish_attention, finish_mlp
from ...heads.encoding import ENCODINGS, KINDS, RESERVED, Encoding
from ...heads.model import Model
from ..architecture import OWN, OWN_BAG, Architecture
from ..spec import TrainSpec
from .gated import begin, gated_attention, gated_encoding
from .layout import Segment, layout

Weights = dict[str, Float[Array, "..."]]


def own_name(e: Encoding) -> str:
    """Return the name of a user-defined encoding in a spec: its kind and a hash of its numbers."""
    numbers = b"".join(x.astype("<f8").tobytes() for x in (e.E, e.positions(), e.cls))
    return (OWN if e.additive else OWN_BAG) + hashlib.sha256(numbers).hexdigest()[:16]


def fixed_encoding(spec: TrainSpec) -> Encoding:
    """Return the fixed encoding that the spec names."""
    a = spec.architecture
    named = ENCODINGS.get(a.encoding)
    if named is None or named.make is None:
        raise DomainError(
            f"the encoding {a.encoding} was given as an object, which is not stored; pass encoding= to learn again."
        )
    made = named.make(a.T, a.d, stream(spec.seed, "encoding"))
    if (made.T, made.d, made.additive) != (a.T, a.d, not a.is_bag):
        raise DomainError(
            f"the encoding {a.encoding!r} made T={made.T}, d={made.d}, kind {made.kind!r}; asked for T={a.T}, d={a.d}."
        )
    return made


def sinusoids(n: int, d: int, std: float) -> Float[Array, "n d"]:
    """Return a matrix whose row t holds sin(t w) and cos(t w) for frequencies w from 1 to 10^-4.

    The entries are scaled to root mean square `std`.
    """
    pairs = (d + 1) // 2
    angle = np.arange(n)[:, None] * 10.0 ** (-4 * np.arange(pairs) / pairs)
    rows = np.stack([np.sin(angle), np.cos(angle)], axis=2).reshape(n, 2 * pairs)[:, :d]
    return math.sqrt(2) * std * rows


def _drawn(spec: TrainSpec, s: Segment, rng: np.random.Generator) -> Float[Array, "..."] | float:
    """The initial values of one segment."""
    if s.kind in ("one", "zero"):
        return float(s.kind == "one")
    if s.kind == "embedding":
        return (1.0 if spec.init == "torch-default" else spec.init_std) * rng.standard_normal(s.shape)
    if spec.init == "mingpt":
        return 0.0 if s.is_bias else spec.init_scale * spec.init_std * rng.standard_normal(s.shape)
    return spec.init_scale * rng.uniform(-1, 1, s.shape) / math.sqrt(s.fan_in)


def initial(spec: TrainSpec, restart: int, own: Encoding | None = None) -> Float[Array, " n"]:
    """Draw a row of initial weights from stream(seed, "init", restart); see `TrainSpec.init`.

    `own` is the encoding that the spec names, if it was given as an object.   Paper: law-and
    """
    a = spec.architecture
    at, rng = layout(a), stream(spec.seed, "init", restart)
    row = np.zeros(at.size)
    p = at.views(row)
    for segment in at.segments:
        if a.trains_encoding or segment.kind != "embedding":
            p[segment.name][...] = _drawn(spec, segment, rng)
    if a.is_gated:
        begin(p, spec, lambda shares: _margin(p, a, shares))
    elif a.trains_encoding and not a.trains_positions:
        rows = sinusoids(a.T + 1, a.d, 1.0 if spec.init == "torch-default" else spec.init_std)
        p["P"][...], p["P_cls"][...] = rows[:-1].T, rows[-1]
    elif not a.trains_encoding:
        e = fixed_encoding(spec) if own is None else own
        p["E"][...], p["P"][...] = np.vstack([e.E, e.cls]), e.positions().T
    return row


def _margin(p: Weights, a: Architecture, shares: Float[Array, " H"]) -> float:
    """The output of a gated model for given shares of its heads."""
    layer = _layer(p, 0, a)
    assert layer.b_V is not None
    mixed = [(b + s * V.sum(axis=0))[None] for b, s, V in zip(layer.b_V, shares, layer.W_V, strict=True)]
    z = finish_mlp(finish_attention(np.zeros((1, a.d)), mixed, layer), layer)
    final = _norm(p, "f", a)
    return float((z if final is None else final(z))[0] @ (p["head"][1] - p["head"][0]))


def _by_head(x: Float[Array, "..."], a: Architecture) -> Float[Array, "H *rest"]:
    """Reorder (.., kH) in storage order to (H, .., k)."""
    return np.moveaxis(x.reshape(*x.shape[:-1], a.k, a.H), -1, 0).copy()


def _norm(p: Weights, place: str, a: Architecture) -> LayerNorm | None:
    return LayerNorm(p[f"g_{place}"].copy(), p[f"c_{place}"].copy(), a.eps) if a.norm else None


def _layer(p: Weights, i: int, a: Architecture) -> Layer:
    names = ("W_1", "b_1", "W_2", "b_2")
    mlp = Mlp(**{n: p[f"{n}.{i}"].copy() for n in names}, activation="gelu") if a.mlp else None
    attention: dict[str, Any] = gated_attention(p, a) if a.is_gated else {
        **{f"W_{x}": _by_head(p[f"W_{x}.{i}"], a) for x in "QKV"},
        **({f"b_{x}": _by_head(p[f"b_{x}.{i}"], a) for x in "QKV"} if a.bias else {}),
    }  # fmt: skip
    return Layer(
        **attention,
        W_C=_by_head(p[f"W_C.{i}"].T, a).swapaxes(1, 2).copy(),
        b_C=p[f"b_C.{i}"].copy() if a.bias else None,
        temperature=a.temperature,
        sigma=a.sigma,
        residual=a.residual,
        norm_attention=None if a.is_gated else _norm(p, f"1.{i}", a),
        norm_mlp=_norm(p, f"2.{i}", a) if a.mlp else None,
        mlp=mlp,
    )


def to_model(
    a: Architecture,
    row: Float[Array, " n"],
    meta: dict[str, object] | None = None,
    own: Encoding | None = None,
) -> Model | None:
    """Convert a row of weights to a float64 `Model`, whose output is logit 1 minus logit 0; None if not finite."""
    if not np.isfinite(row).all():
        return None
    p = layout(a).views(row.astype(np.float64))
    one_hot = a.encoding in ("positional", "bag") and a.d == a.T + RESERVED
    # An encoding of a plugin has fixed rows, like "random".
    kind = a.encoding if a.encoding in KINDS else "bag" if a.is_bag else "random"
    if a.is_gated:
        own = gated_encoding(p, a)
    elif own is None:
        cls, positions = p["E"][2] + p["P_cls"], None if one_hot else p["P"].T.copy()
        own = Encoding(kind=kind, T=a.T, E=p["E"][:2].copy(), P=positions, cls=cls)
    return Model(
        encoding=own,
        layers=tuple(_layer(p, i, a) for i in range(a.L)),
        w=p["head"][1] - p["head"][0],
        final_norm=_norm(p, "f", a),
        threshold=0.0,
        meta=dict(meta or {}),
    )
