"""Combine a selection (key and value vectors) and a decoder into a `Model`.

o is the head's scalar output. f_tf+mlp has ReLU layers after the heads (`heads.tf_mlp`), f_tf-scalar has none
(`heads.tf_scalar`).
"""

import math

import numpy as np

from .._base.errors import DomainError
from .._base.types import Array, Float
from ..heads.block import Layer
from ..heads.encoding import Encoding
from ..heads.model import Dense, Model
from ..heads.ranges import Choices, extremes
from .attention import Selection, TooNarrow
from .decoder import Decoder


def query_and_key(
    encoding: Encoding, key: Float[Array, " d"]
) -> tuple[Float[Array, "d 1"], Float[Array, "d 1"]]:
    """Return W_Q and W_K, of width k = 1 and equal norms, such that [CLS]^T W_Q W_K^T x = <key, x>."""
    cls = encoding.cls / (encoding.cls @ encoding.cls)
    size = math.sqrt(np.linalg.norm(key) / np.linalg.norm(cls)) or 1.0
    return (size * cls)[:, None], (key / size)[:, None]


def intervals(selection: Selection) -> tuple[Float[Array, " patterns"], Float[Array, " patterns"]]:
    """Return the smallest and the largest head output o over all inputs, for each pattern of the relevant bits.

    Raises:
        TooNarrow: the scores are too far apart for float64, which happens if an irrelevant score is nearly as large as
            a relevant one.
    """
    tokens, cls = selection.encoding.project(np.stack([selection.key, selection.value], axis=1))
    table = np.concatenate([tokens, np.broadcast_to(cls, (1, 2, 2))])
    if not selection.attends_cls:
        table[-1, :, 0] = -np.inf
    choices = Choices.of(table[..., 0], table[..., 1], selection.support)
    try:
        return extremes(choices, largest=False), extremes(choices, largest=True)
    except DomainError as error:
        raise TooNarrow(str(error)) from error


def one_head(selection: Selection) -> Layer:
    """Return the layer with one head, which writes its output o to the first coordinate."""
    W_Q, W_K = query_and_key(selection.encoding, selection.key)
    axis = np.eye(1, selection.encoding.d)
    return Layer(W_Q=W_Q[None], W_K=W_K[None], W_V=selection.value[None, :, None], W_C=axis[None])


def decoded(encoding: Encoding, layer: Layer, decoder: Decoder, *, attends_cls: bool) -> Model:
    """Return a model f_tf+mlp: `layer` writes its scalar output o to coordinate 0, and one ReLU layer decodes o."""
    axis = np.eye(1, encoding.d)
    dense = Dense(W=np.repeat(axis.T, len(decoder.kinks), axis=1), b=-decoder.kinks)
    return Model(
        encoding, (layer,), w=decoder.slopes, bias=decoder.start, decoder=(dense,), attends_cls=attends_cls
    )


def with_mlp(selection: Selection, decoder: Decoder) -> Model:
    """Return a model f_tf+mlp with one head.   Paper: symmetric-representation, general-representation"""
    return decoded(selection.encoding, one_head(selection), decoder, attends_cls=selection.attends_cls)


def head_alone(selection: Selection, decoder: Decoder) -> Model:
    """Return a model f_tf-scalar with sigma = ReLU: the decoder's units are the head's value coordinates.

    Unit k is ReLU(o - t_k), where o is the selection's output and t_k a kink of the decoder. If the inner product of
    every token with c = E_0 + E_1 (+ [CLS]) is 1, unit k has the value vector w - t_k c, where w is the selection's
    value vector; so c supplies the constant t_k. In other encodings (a bag of vectors, positions that are not
    orthogonal to the bits) the value bias b_V is -t_k.
    Paper: single-head, monotone-symmetric-representation
    """
    encoding, attends_cls = selection.encoding, selection.attends_cls
    W_Q, W_K = query_and_key(encoding, selection.key)
    W_V = np.repeat(selection.value[:, None], len(decoder.kinks), axis=1)
    one = encoding.E.sum(axis=0) + (encoding.cls if attends_cls else 0)
    tokens, cls = encoding.project(one[:, None])
    b_V = None
    if np.abs(tokens - 1).max() < 1e-14 and (not attends_cls or abs(cls[0] - 1) < 1e-14):
        W_V = W_V - np.outer(one, decoder.kinks)
    else:
        b_V = -decoder.kinks[None]
    W_C = np.zeros((len(decoder.kinks), encoding.d))
    W_C[:, 0] = decoder.slopes
    layer = Layer(W_Q=W_Q[None], W_K=W_K[None], W_V=W_V[None], W_C=W_C[None], b_V=b_V, sigma="relu")
    return Model(encoding, (layer,), w=np.eye(1, encoding.d)[0], bias=decoder.start, attends_cls=attends_cls)
