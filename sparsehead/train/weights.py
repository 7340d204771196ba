"""Between a row of the ensemble and the rest of the library: initialisation in, `Model` out."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from .. import encoding as encodings
from ..architecture import Architecture
from ..block import Layer, LayerNorm, Mlp
from ..encoding import Encoding
from ..errors import ShapeError
from ..model import Model
from ..rng import stream
from ..spec import TrainSpec
from ..types import Array, Float
from .parameters import Ensemble, layout


def fixed_encoding(a: Architecture, *, rng: np.random.Generator) -> Encoding:
    """The encoding that is not trained: one-hot for d = T + 3, else random unit rows."""
    if a.encoding == "positional":
        return encodings.positional(a.T)
    if a.encoding == "random":
        return encodings.random_positions(a.T, a.d, rng=rng)
    return encodings.bag(a.T) if a.d == a.T + encodings.RESERVED else encodings.random_bag(a.T, a.d, rng=rng)


def initial(spec: TrainSpec, restart: int) -> Float[Array, " n"]:
    """A row of fresh weights from stream(seed, "init", restart): normal matrices and embeddings, unit gains.

    Theory heads start wider than 0.02 only if `init_std` says so.   Paper: law-and
    """
    a = spec.architecture
    rng = stream(spec.seed, "init", restart)
    row = np.zeros(layout(a).size)
    p = Ensemble(a, torch.from_numpy(row)[None])
    for segment in p.layout.segments:
        if segment.init == "one":
            p[segment.name].fill_(1.0)
        elif segment.init == "normal" and (a.trains_encoding or segment.name not in ("E", "P", "P_cls")):
            p[segment.name].copy_(torch.from_numpy(spec.init_std * rng.standard_normal(segment.shape)))
    if not a.trains_encoding:
        e = fixed_encoding(a, rng=stream(spec.seed, "encoding"))
        p["E"][0].copy_(torch.from_numpy(np.vstack([e.E, e.cls])))
        p["P"][0].copy_(torch.from_numpy(e.positions().T.copy()))
    return row


def _by_head(x: Tensor, a: Architecture) -> Float[Array, "H *rest"]:
    """(..., kH) in storage order -> (H, ..., k)."""
    return x.unflatten(-1, (a.k, a.H)).movedim(-1, 0).double().cpu().numpy().copy()


def _array(x: Tensor) -> Float[Array, "*shape"]:
    return x.double().cpu().numpy().copy()


def _norm(p: Ensemble, gain: str, bias: str) -> LayerNorm | None:
    a = p.architecture
    return LayerNorm(_array(p[gain][0]), _array(p[bias][0]), a.eps) if a.norm else None


def _layer(p: Ensemble, i: int) -> Layer:
    a = p.architecture
    mlp = None
    if a.mlp:
        W_1, b_1, W_2, b_2 = (_array(p[f"{name}.{i}"][0]) for name in ("W_1", "b_1", "W_2", "b_2"))
        mlp = Mlp(W_1=W_1, b_1=b_1, W_2=W_2, b_2=b_2, activation="gelu")
    biases: dict[str, Any] = {f"b_{x}": _by_head(p[f"b_{x}.{i}"][0], a) for x in "QKV"} if a.bias else {}
    matrices: dict[str, Any] = {f"W_{x}": _by_head(p[f"W_{x}.{i}"][0], a) for x in "QKV"}
    return Layer(
        **matrices,
        W_C=_by_head(p[f"W_C.{i}"][0].mT, a).swapaxes(1, 2).copy(),
        **biases,
        b_C=_array(p[f"b_C.{i}"][0]) if a.bias else None,
        temperature=a.temperature,
        sigma=a.sigma,
        residual=a.residual,
        norm_attention=_norm(p, f"g_1.{i}", f"c_1.{i}"),
        norm_mlp=_norm(p, f"g_2.{i}", f"c_2.{i}") if a.mlp else None,
        mlp=mlp,
    )


def to_model(p: Ensemble, meta: dict[str, object] | None = None) -> Model:
    """The weights of a one-row ensemble as a `Model`, in float64; its output is logit 1 minus logit 0."""
    if p.n_runs != 1:
        raise ShapeError(f"a model is made of one run's weights, got {p.n_runs} rows.")
    a = p.architecture
    E, P = _array(p["E"][0]), _array(p["P"][0].mT)
    cls = E[2] + _array(p["P_cls"][0])
    one_hot = a.encoding in ("positional", "bag") and a.d == a.T + encodings.RESERVED
    head = _array(p["head"][0])
    return Model(
        encoding=Encoding(kind=a.encoding, T=a.T, E=E[:2].copy(), P=None if one_hot else P, cls=cls),
        layers=tuple(_layer(p, i) for i in range(a.L)),
        w=head[1] - head[0],
        final_norm=_norm(p, "g_f", "c_f"),
        threshold=0.0,
        meta=dict(meta or {}),
    )
