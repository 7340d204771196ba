"""From a selection and a decoder to a `Model`."""

import math
from typing import Any

import numpy as np

from ..block import Layer
from ..encoding import Encoding
from ..functions import SparseFunction
from ..model import Dense, Model
from ..ranges import Choices, extremes
from ..types import Array, Float
from .attention import Selection
from .decoder import Decoder


def query_and_key(
    encoding: Encoding, key: Float[Array, " d"]
) -> tuple[Float[Array, "d 1"], Float[Array, "d 1"]]:
    """W_Q and W_K of width k = 1 and equal norms with [CLS]^T W_Q W_K^T x = <key, x>."""
    cls = encoding.cls / (encoding.cls @ encoding.cls)
    size = math.sqrt(np.linalg.norm(key) / np.linalg.norm(cls)) or 1.0
    return (size * cls)[:, None], (key / size)[:, None]


def choices_of(
    encoding: Encoding, selection: Selection, support: tuple[int, ...], *, attends_cls: bool
) -> Choices:
    """The scores and values that the head meets, token by token."""
    tokens, cls = encoding.project(np.stack([selection.key, selection.value], axis=1))
    table = np.concatenate([tokens, np.broadcast_to(cls, (1, 2, 2))])
    if not attends_cls:
        table[-1, :, 0] = -np.inf
    return Choices.of(table[..., 0], table[..., 1], support)


def intervals(
    encoding: Encoding, selection: Selection, support: tuple[int, ...], *, attends_cls: bool
) -> tuple[Float[Array, " patterns"], Float[Array, " patterns"]]:
    """The smallest and the largest o of each pattern of the relevant bits, over all inputs."""
    choices = choices_of(encoding, selection, support, attends_cls=attends_cls)
    return extremes(choices, largest=False), extremes(choices, largest=True)


def with_mlp(encoding: Encoding, selection: Selection, decoder: Decoder, *, attends_cls: bool) -> Model:
    """f_tf+mlp: the head puts o on the first axis, one ReLU layer decodes it.

    Paper: symmetric-representation, general-representation
    """
    W_Q, W_K = query_and_key(encoding, selection.key)
    axis = np.eye(1, encoding.d)
    layer = Layer(W_Q=W_Q[None], W_K=W_K[None], W_V=selection.value[None, :, None], W_C=axis[None])
    dense = Dense(W=np.repeat(axis.T, len(decoder.kinks), axis=1), b=-decoder.kinks)
    return Model(
        encoding, (layer,), w=decoder.slopes, bias=decoder.start, decoder=(dense,), attends_cls=attends_cls
    )


def head_alone(encoding: Encoding, selection: Selection, decoder: Decoder, *, attends_cls: bool) -> Model:
    """f_tf-scalar with sigma = ReLU: the decoder's units are the head's own value coordinates.

    Tokens whose pairing with E_0 + E_1 (+ [CLS]) is 1 carry a constant, so unit k has the value vector
    w - t_k (E_0 + E_1 + [CLS]). Where the encoding has no such constant (a bag of vectors, or positions that
    are not orthogonal to the bits) the value bias b_V takes its place.
    Paper: single-head, monotone-symmetric-representation
    """
    W_Q, W_K = query_and_key(encoding, selection.key)
    W_V = np.repeat(selection.value[:, None], len(decoder.kinks), axis=1)
    one = encoding.E.sum(axis=0) + (encoding.cls if attends_cls else 0)
    tokens, cls = encoding.project(one[:, None])
    constant = np.abs(tokens - 1).max() < 1e-14 and (not attends_cls or abs(cls[0] - 1) < 1e-14)
    b_V = None
    if constant:
        W_V = W_V - np.outer(one, decoder.kinks)
    else:
        b_V = -decoder.kinks[None]
    W_C = np.zeros((len(decoder.kinks), encoding.d))
    W_C[:, 0] = decoder.slopes
    layer = Layer(W_Q=W_Q[None], W_K=W_K[None], W_V=W_V[None], W_C=W_C[None], b_V=b_V, sigma="relu")
    return Model(encoding, (layer,), w=np.eye(1, encoding.d)[0], bias=decoder.start, attends_cls=attends_cls)


def constant(encoding: Encoding, value: float, *, attends_cls: bool) -> Model:
    """A function of no bits: a head that looks at everything alike and is not read."""
    zero = np.zeros((1, encoding.d, 1))
    layer = Layer(W_Q=zero, W_K=zero, W_V=zero, W_C=np.zeros((1, 1, encoding.d)))
    return Model(encoding, (layer,), w=np.zeros(encoding.d), bias=value, attends_cls=attends_cls)


def provenance(f: SparseFunction, **more: Any) -> dict[str, Any]:
    """What `Model.meta` says about a written model."""
    return {"source": "build", "function": str(f), "T": f.T, "support": list(f.support), **more}
