"""One attention layer of any network as a class of heads: measured norms in, a `HeadClass`'s norms out.

The layer maps a query z and tokens X to the sum over heads h of  W_VO,h^T X^T softmax(X W_QK,h^T z)  with
W_VO = W_V W_C, so it is the class of `head_class` with H heads, sigma the identity, and W_VO in the place of W_V. Each
norm is the largest among the heads. Biases of query and value are rows of the matrices, met by a 1 that is appended to
the tokens, whose length then is sqrt(B_X^2 + 1).
"""

import math
from collections.abc import Mapping
from typing import Any

from ..arguments import choice
from ..errors import DomainError
from ..logs import Real, check_norm
from .norms import HeadNorms
from .state_dicts import norms as norms_of

TOKEN_LENGTH = (
    "weights do not say how long the tokens are: give norms={'BX': ..}; behind a LayerNorm with gains up to g and no "
    "bias it is g sqrt(d)."
)


def layer_class(
    weights: Mapping[str, Any],
    *,
    heads: int | None,
    layer: str | None,
    given: Mapping[str, Real],
) -> tuple[dict[str, Real], str]:
    """The norms of one attention layer for `head_class`, and which layer it is.

    Args:
        weights: a state dict.
        heads: heads of the layer.
        layer: its name, as `norms` has it; needed where there are several.
        given: norms that the weights do not have, or that are to replace measured ones; BX is needed.
    Paper: single-layer-capacity, multi-head-capacity
    """
    measured = norms_of(weights, heads=heads)
    if layer is None and len(measured) > 1:
        names = list(measured)
        shown = ", ".join(names[:4]) + (", .." if len(names) > 4 else "")
        raise DomainError(f"the weights have {len(names)} attention layers; give layer=, one of {shown}.")
    name = next(iter(measured)) if layer is None else choice("layer", layer, tuple(measured))
    if "BX" not in given:
        raise DomainError(TOKEN_LENGTH)
    of_heads = measured[name]
    biased = any(h.VO.rows > h.QK.columns or h.QK.rows > h.QK.columns for h in of_heads)
    lengths = {key: check_norm(key, given[key]) for key in ("BX", "BZ") if key in given}
    longer = {key: math.hypot(value, 1.0) if biased else value for key, value in lengths.items()}
    return {**_largest(of_heads), **given, **longer}, name or "(the only one)"


def _largest(of_heads: tuple[HeadNorms, ...]) -> dict[str, Real]:
    """Every norm, the largest among the heads; a class of heads that all satisfy it contains this layer."""
    first = of_heads[0]
    return {
        "V21": max(h.VO.n21 for h in of_heads),
        "V": max(h.VO.spectral for h in of_heads),
        "V11": max(h.VO.n11 for h in of_heads),
        "QK": max(h.QK.frobenius for h in of_heads),
        "QK21": max(h.QK.n21_T for h in of_heads),
        "QK11": max(h.QK.n11 for h in of_heads),
        "H": len(of_heads),
        "k": first.VO.columns,
        # Rows, biases included: the number of parameters that form `parametric` counts.
        "d": max(first.QK.rows, first.VO.rows),
    }
