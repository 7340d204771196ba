"""Transformer blocks of other libraries, and their conversion to an equivalent `Model`, if there is one.

With attention A, MLP M, norms N_1 and N_2, and optionally N_0 on the tokens and N_f at the end:

    pre-norm     U = X + A(N_1 X),     out = U + M(N_2 U)
    post-norm    U = N_1(X + A(X)),    out = N_2(U + M(U))

A Model has pre-norm blocks. A single post-norm block whose output is read at a fixed token can be converted too:

  * the residual X at this token does not depend on the bits, so it can be added to b_C;
  * act(x) - act(-x) = x for ReLU, GELU and its approximation by tanh, so that 2d more units let the MLP add its input
    to its output;
  * N_0 becomes the norm before the attention, N_1 the norm before the MLP, and N_2 the final norm.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._base.types import Array, Float
from ..heads.block import Layer, LayerNorm, Mlp
from ..heads.encoding import Encoding
from ..heads.model import Model


class NoModel(Exception):
    """No equivalent Model exists, for the reason in the message; caught by `from_torch`, which returns a Network."""


@dataclass(frozen=True, eq=False)
class Block:
    """One block: heads, optional MLP and norms; `post`: whether norms follow the addition of the residual."""

    heads: Layer
    mlp: Mlp | None = None
    norm_1: LayerNorm | None = None
    norm_2: LayerNorm | None = None
    post: bool = False
    residual: bool = True


@dataclass(frozen=True, eq=False)
class Stack:
    """A sequence of blocks; `causal`: whether a token attends only to itself and to earlier tokens."""

    blocks: tuple[Block, ...]
    token_norm: LayerNorm | None = None
    final_norm: LayerNorm | None = None
    causal: bool = False


@dataclass(frozen=True, eq=False)
class Readout:
    """The function state -> state @ w + bias; outputs above `threshold` predict 1."""

    w: Float[Array, " d"]
    bias: float
    threshold: float


def model_of(stack: Stack, encoding: Encoding, readout: Readout, meta: dict[str, Any]) -> Model:
    """Return the Model with the outputs of the stack at the last token, [CLS].

    Raises:
        NoModel: there is no such Model.
    """
    if stack.causal and len(stack.blocks) > 1:
        raise NoModel("a causal mask hides later tokens in all but the last block; a Model masks nothing")
    make = _post_norm if any(block.post for block in stack.blocks) else _pre_norm
    layers, final_norm = make(stack, encoding)
    return Model(
        encoding=encoding, layers=layers, w=readout.w, bias=readout.bias, final_norm=final_norm,
        threshold=readout.threshold, meta=meta,
    )  # fmt: skip


def _pre_norm(stack: Stack, encoding: Encoding) -> tuple[tuple[Layer, ...], LayerNorm | None]:
    if stack.token_norm is not None:
        raise NoModel("its tokens are normalised before the first residual; a Model adds them as they are")
    layers = tuple(
        replace(b.heads, residual=b.residual, norm_attention=b.norm_1, norm_mlp=b.norm_2, mlp=b.mlp)
        for b in stack.blocks
    )
    return layers, stack.final_norm


def _post_norm(stack: Stack, encoding: Encoding) -> tuple[tuple[Layer, ...], LayerNorm | None]:
    if len(stack.blocks) > 1:
        raise NoModel("its norms come after the residuals in more than one block; a Model's come before")
    if stack.final_norm is not None:
        raise NoModel("two norms follow each other at its end; a Model has one")
    (block,) = stack.blocks
    read = encoding.cls if stack.token_norm is None else stack.token_norm(encoding.cls)
    b_C = read if block.heads.b_C is None else block.heads.b_C + read
    layer = replace(
        block.heads, b_C=b_C, norm_attention=stack.token_norm, norm_mlp=block.norm_1, mlp=_carrying(block.mlp)
    )
    return (layer,), block.norm_2


def _carrying(mlp: Mlp | None) -> Mlp:
    """Return the function x -> x + mlp(x) as one MLP."""
    if mlp is None or mlp.activation not in ("relu", "gelu", "gelu_tanh"):
        raise NoModel("its norms come after the residuals, and its MLP is not one of ReLUs or GELUs")
    d = len(mlp.W_1)
    both = np.hstack([np.eye(d), -np.eye(d)])
    return replace(
        mlp,
        W_1=np.hstack([mlp.W_1, both]),
        b_1=np.concatenate([mlp.b_1, np.zeros(2 * d)]),
        W_2=np.vstack([mlp.W_2, both.T]),
    )
