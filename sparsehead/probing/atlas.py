"""The atlas of bounds for attention layers and heads of a probed network, and spectral proxies for all of its layers.

Each layer or head is a class of its own, as in `capacity`; the spectral proxies are for whole networks, and need the
two matrices of the MLP that follows each attention layer.
"""

import re

import numpy as np
from torch import nn

from .._base.errors import DomainError
from .._base.types import Array, Float
from ..capacity.atlas import Atlas, atlas
from ..capacity.bound import one_head
from ..capacity.spectra import LayerSpectra, edelman, layer_spectra, spectrum
from ..capacity.state_dicts import Attention
from .load import Source


def head_atlas(
    source: Source,
    layer: int,
    head: int | None,
    *,
    T: int,
    m: int,
    radius: float,
    seen: Float[Array, "... T"] | None = None,
) -> Atlas:
    """Return the atlas of an attention layer, or of one of its heads, on sequences of T tokens of norm up to radius.

    Args:
        seen: attention weights that occur, for form sensitivity; None leaves that form out.
    """
    weights = source.weights[layer]
    found = weights.as_layer()
    alone = found if head is None else one_head(found, head)
    attention = Attention(alone, weights.positions, (), weights.outside)
    return atlas(attention, m=m, T=T, norms={"BX": radius}, attention=seen)


def network_proxies(source: Source) -> dict[str, float]:
    """Return the spectral proxy of the network and the proxy for the paper's bound, by name.

    Raises:
        DomainError: the network is not a stack of attention layers, each with an MLP of two matrices.
    """
    layers = network_spectra(source)
    return {"spectrum": spectrum(layers, source.weights[0].d), "edelman": edelman(layers)}


def network_spectra(source: Source) -> list[LayerSpectra]:
    """Return the spectra of every layer of the network, the first layer first; biases and LayerNorms are left out."""
    if source.module is None:
        raise DomainError(
            "the spectral proxies need the MLPs of the network: give a folder or a torch module, not a state dict or "
            "a model of this library (for that, sparsehead.atlas has them)."
        )
    if any(weights.sigma != "identity" for weights in source.weights):
        raise DomainError("the spectral proxies are for linear values.")
    named = dict(source.module.named_modules())
    prefixes = [_layer_of(site.name) for site in source.sites]
    if len(set(prefixes)) < len(prefixes):
        raise DomainError(
            "the spectral proxies are for layers of one attention module each, with its own MLP."
        )
    return [
        layer_spectra(weights.as_layer(), *_mlp(named, prefix))
        for prefix, weights in zip(prefixes, source.weights, strict=True)
    ]


def _layer_of(attention: str) -> str:
    """Return the name up to and including the number of the layer, with a dot; empty if there is no number."""
    numbered = re.match(r".*?\.?\d+(?=\.|$)", attention)
    return "" if numbered is None else f"{numbered.group()}."


def _mlp(named: dict[str, nn.Module], prefix: str) -> tuple[Float[Array, "d n"], Float[Array, "n d"]]:
    """Return the two matrices of the MLP of one layer, acting on rows from the right."""
    # names of the two linear maps of an MLP without a gate, within a layer: BERT's, GPT-2's, torch's and others'
    layouts = (
        ("intermediate.dense", "output.dense"), ("mlp.c_fc", "mlp.c_proj"), ("linear1", "linear2"), ("fc1", "fc2"),
        ("ffn.lin1", "ffn.lin2"), ("mlp.dense_h_to_4h", "mlp.dense_4h_to_h"), ("mlp.fc1", "mlp.fc2"),
        ("ffn", "ffn_output"),
    )  # fmt: skip
    for first, second in layouts:
        parts = named.get(prefix + first), named.get(prefix + second)
        M_in, M_out = (getattr(part, "weight", None) for part in parts)
        if isinstance(M_in, nn.Parameter) and isinstance(M_out, nn.Parameter):
            stored = type(parts[0]).__name__ == "Conv1D"  # transformers' GPT-2 stores (in, out)
            W_1, W_2 = (np.asarray(M.detach().double().numpy()) for M in (M_in, M_out))
            return (W_1, W_2) if stored else (W_1.T, W_2.T)
    raise DomainError(
        f"layer {prefix.rstrip('.')} has no MLP of two matrices under a known name; the spectral proxies need one."
    )
