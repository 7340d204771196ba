"""Extract the weights of BERT, GPT-2 (transformers) and HookedTransformer (TransformerLens) as a `Stack`.

Models are recognised by their attributes; neither library is imported.
"""

from typing import Any

import numpy as np

from .._base.types import Array
from ..capacity.state_dicts import attention_layers
from ..heads.block import Layer, LayerNorm, Mlp
from .arrangement import Arrangement, TokenModel
from .modules import arrays
from .stack import Block, NoModel, Readout, Stack


def is_hooked(module: Any) -> bool:
    """Return whether `module` is a HookedTransformer of TransformerLens."""
    return all(hasattr(module, name) for name in ("cfg", "blocks", "unembed", "embed"))


def sizes_of(module: Any) -> tuple[int, int | None, int]:
    """Return the size of the vocabulary, the longest input (None if no limit is known) and the width of states."""
    if is_hooked(module):
        return int(module.cfg.d_vocab), int(module.cfg.n_ctx), int(module.cfg.d_model)
    config = module.config
    longest = getattr(config, "max_position_embeddings", None)
    return int(config.vocab_size), None if longest is None else int(longest), int(config.hidden_size)


def token_model_of(module: Any) -> TokenModel:
    """Return the blocks and embeddings of a supported architecture.

    Raises:
        NoModel: the architecture is not supported, or has a part that no Model has.
    """
    if is_hooked(module):
        return _hooked(module)
    kind = module.config.model_type
    if kind == "llama":
        raise NoModel("it rotates queries and keys by their places, and its MLP multiplies two branches")
    makers = {"bert": _bert, "gpt2": _gpt2}
    if kind not in makers:
        raise NoModel(f"models of type {kind} are run as they are; {' and '.join(makers)} are converted")
    return makers[kind](arrays(module.base_model), module.config)


def logit_readout(module: Any, arrangement: Arrangement) -> Readout:
    """Return the read-out of the last state whose output is the logit of bit 1 minus the logit of bit 0.

    Raises:
        NoModel: the logits are not a linear function of the last state.
    """
    zero, one = arrangement.bits
    if is_hooked(module):
        W, b = (tensor.detach().cpu().double().numpy() for tensor in (module.unembed.W_U, module.unembed.b_U))
        return Readout(W[:, one] - W[:, zero], float(b[one] - b[zero]), 0.0)
    head: Any = getattr(module, "lm_head", None) or getattr(module, "score", None)
    if not hasattr(head, "weight"):
        raise NoModel("its logits are not a linear map of its last state")
    first, second = (0, 1) if head is getattr(module, "score", None) else (zero, one)
    W = head.weight.detach().cpu().double().numpy()
    b = np.zeros(len(W)) if head.bias is None else head.bias.detach().cpu().double().numpy()
    return Readout(W[second] - W[first], float(b[second] - b[first]), 0.0)


def _norm(state: dict[str, Array], name: str, eps: float) -> LayerNorm:
    return LayerNorm(state[f"{name}.weight"], state[f"{name}.bias"], eps=float(eps))


def _known_activation(name: Any) -> str:
    # The names of transformers and TransformerLens, and ours.
    known = {
        "relu": "relu",
        "gelu": "gelu",
        "tanh": "tanh",
        **dict.fromkeys(("gelu_new", "gelu_pytorch_tanh"), "gelu_tanh"),
    }
    if name not in known:
        raise NoModel(f"its activation {name} is not one of {', '.join(known)}")
    return known[name]


def _bert(state: dict[str, Array], config: Any) -> TokenModel:
    act, eps = _known_activation(config.hidden_act), config.layer_norm_eps
    if getattr(config, "is_decoder", False):
        raise NoModel("it is used as a decoder")
    blocks = []
    for prefix, found in attention_layers(state, heads=None, config=config):
        at = prefix.removesuffix(".attention.self")
        W_1, W_2 = (state[f"{at}.{part}.dense.weight"].T for part in ("intermediate", "output"))
        b_1, b_2 = (state[f"{at}.{part}.dense.bias"] for part in ("intermediate", "output"))
        norm_1, norm_2 = (
            _norm(state, f"{at}.{part}.LayerNorm", eps) for part in ("attention.output", "output")
        )
        blocks.append(Block(found.layer, Mlp(W_1, b_1, W_2, b_2, act), norm_1, norm_2, post=True))
    places = (
        state["embeddings.position_embeddings.weight"] + state["embeddings.token_type_embeddings.weight"][0]
    )
    stack = Stack(tuple(blocks), token_norm=_norm(state, "embeddings.LayerNorm", eps))
    return TokenModel(stack, state["embeddings.word_embeddings.weight"], places)


def _gpt2(state: dict[str, Array], config: Any) -> TokenModel:
    act, eps = _known_activation(config.activation_function), config.layer_norm_epsilon
    if getattr(config, "add_cross_attention", False):
        raise NoModel("it attends to a second sequence")
    blocks = []
    for prefix, found in attention_layers(state, heads=None, config=config):
        at = prefix.removesuffix(".attn")
        (W_1, b_1), (W_2, b_2) = (
            (state[f"{at}.mlp.{name}.weight"], state[f"{at}.mlp.{name}.bias"]) for name in ("c_fc", "c_proj")
        )
        norm_1, norm_2 = (_norm(state, f"{at}.{name}", eps) for name in ("ln_1", "ln_2"))
        blocks.append(Block(found.layer, Mlp(W_1, b_1, W_2, b_2, act), norm_1, norm_2))
    stack = Stack(tuple(blocks), final_norm=_norm(state, "ln_f", eps), causal=True)
    return TokenModel(stack, state["wte.weight"], state["wpe.weight"])


def _hooked(module: Any) -> TokenModel:
    cfg, state = module.cfg, arrays(module)
    for name, plain in (("positional_embedding_type", "standard"), ("parallel_attn_mlp", False), ("gated_mlp", False),
                        ("use_local_attn", False), ("final_rms", False), ("n_key_value_heads", None)):  # fmt: skip
        if getattr(cfg, name, plain) != plain:
            raise NoModel(
                f"its configuration has {name}={getattr(cfg, name)}; a Model has {name}={plain} only"
            )
    if cfg.normalization_type not in (None, "LN", "LNPre"):
        raise NoModel(f"its norm is {cfg.normalization_type}; a Model has LayerNorms")
    blocks = tuple(_hooked_block(cfg, state, f"blocks.{i}", i) for i in range(cfg.n_layers))
    final = _hooked_norm(cfg, state, "ln_final")
    causal = getattr(cfg, "attention_dir", "causal") == "causal"
    stack = Stack(blocks, final_norm=final, causal=causal)
    return TokenModel(stack, state["embed.W_E"], state["pos_embed.W_pos"])


def _hooked_norm(cfg: Any, state: dict[str, Array], name: str) -> LayerNorm | None:
    """Return the LayerNorm called `name`; with gain 1 and bias 0 for LNPre, whose weights are folded into others."""
    if cfg.normalization_type is None:
        return None
    gain = state.get(f"{name}.w", np.ones(cfg.d_model))
    return LayerNorm(gain, state.get(f"{name}.b", np.zeros(cfg.d_model)), eps=float(cfg.eps))


def _hooked_block(cfg: Any, state: dict[str, Array], at: str, index: int) -> Block:
    scale = float(getattr(cfg, "attn_scale", np.sqrt(cfg.d_head))) if cfg.use_attn_scale else 1.0
    scale *= index + 1 if getattr(cfg, "scale_attn_by_inverse_layer_idx", False) else 1
    W_Q, W_K, W_V, W_O = (state[f"{at}.attn.W_{name}"] for name in "QKVO")
    b_Q, b_K, b_V, b_O = (state[f"{at}.attn.b_{name}"] for name in "QKVO")
    heads = Layer(W_Q, W_K, W_V, W_O, b_Q, b_K, b_V, b_O, temperature=scale)
    norm_1, norm_2 = (_hooked_norm(cfg, state, f"{at}.{name}") for name in ("ln1", "ln2"))
    if cfg.attn_only:
        return Block(heads, norm_1=norm_1)
    W_1, b_1, W_2, b_2 = (state[f"{at}.mlp.{name}"] for name in ("W_in", "b_in", "W_out", "b_out"))
    return Block(heads, Mlp(W_1, b_1, W_2, b_2, _known_activation(cfg.act_fn)), norm_1, norm_2)
