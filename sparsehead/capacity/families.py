"""The architectures that are built in, by the `model_type` of their configuration, and those of installed packages.

`norms` and `bound` accept every entry; `probe` accepts those that are `probed`, recomputes heads and compares them
with the model's own on every run. For each entry a test compares the scores with those of the package transformers
(tests/probing/test_scores.py).
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from .._base.arguments import shown
from .._base.errors import DomainError
from .._base.plugins import Registry, imported
from .architecture import Architecture, unscaled

DOOR = "an Architecture of your own (architecture=, --architecture package.module:name) names its parts in a few lines"


def _gpt2_scale(config: Any, layer: int, k: int) -> float:
    scale = 1 / math.sqrt(k) if getattr(config, "scale_attn_weights", True) else 1.0
    return scale / (layer + 1) if getattr(config, "scale_attn_by_inverse_layer_idx", False) else scale


def _granite_scale(config: Any, layer: int, k: int) -> float:
    return float(getattr(config, "attention_multiplier", 1.0))


def _gemma_scale(config: Any, layer: int, k: int) -> float:
    """Return 1/sqrt(n), where n is given by the configuration of Gemma 2 or 3, or is k if it is not given."""
    return float(getattr(config, "query_pre_attn_scalar", None) or k) ** -0.5


def _gemma_cap(config: Any) -> float | None:
    return getattr(config, "attn_logit_softcapping", None)


def _mpt_scale(config: Any, layer: int, k: int) -> float:
    attention = getattr(config, "attn_config", None)
    if getattr(attention, "clip_qkv", None):
        raise DomainError("this MPT clips its queries, keys and values (clip_qkv); norms need linear ones.")
    return float(getattr(attention, "softmax_scale", None) or 1 / math.sqrt(k))


def _t5_mask(module: Any, arguments: Mapping[str, Any], T: int) -> Any:
    """Return the mask plus T5's bias by distance; the first layer computes the bias and passes it to the others."""
    bias, mask = arguments.get("position_bias"), arguments.get("mask")
    bias = module.compute_bias(T, T) if bias is None else bias
    return (bias if mask is None else bias + mask)[0]


def _run_t5(model: Any, ids: Any) -> Any:
    """Run the model. A decoder, if there is one, gets the encoder's ids, so that both attend over the same tokens."""
    if not model.config.is_encoder_decoder:
        return model(input_ids=ids)[0]
    found = model(input_ids=ids, decoder_input_ids=ids, use_cache=False, output_hidden_states=True)
    return found.decoder_hidden_states[-1]


def picture_shape(config: Any) -> tuple[int, int, int, int, int]:
    """Return channels, rows and columns of patches, height and width of a patch in pixels."""
    sizes = [x if isinstance(x, list | tuple) else (x, x) for x in (config.image_size, config.patch_size)]
    (height, width), (h, w) = sizes
    return int(config.num_channels), height // h, width // w, int(h), int(w)


def _run_vit(model: Any, patches: Any) -> Any:
    """Run the model on the picture made of the patches (1, T, numbers per patch), row by row."""
    channels, rows, columns, h, w = picture_shape(model.config)
    parts = patches.reshape(rows, columns, channels, h, w).permute(2, 0, 3, 1, 4)
    return model(pixel_values=parts.reshape(1, channels, rows * h, columns * w))[0]


def _shipped() -> dict[str, Architecture]:
    self_attention = Architecture(
        module="self_attn", query="q_proj", key="k_proj", value="v_proj", output="o_proj", positions="rotary"
    )
    bert = Architecture(
        module=r"attention\.self", query="query", key="key", value="value", output="../output.dense"
    )
    normed = replace(self_attention, query_norm="q_norm", key_norm="k_norm")
    opt = replace(self_attention, output="out_proj", positions="absolute", probed=False)
    return {
        **dict.fromkeys(("bert", "roberta", "electra"), bert),
        "distilbert": Architecture(
            module="attention", query="q_lin", key="k_lin", value="v_lin", output="out_lin"
        ),
        "albert": replace(bert, module="attention", output="dense", shared=True),
        "mpnet": Architecture(
            module=r"attention\.attn", query="q", key="k", value="v", output="o", positions="relative bias"
        ),
        "gpt2": Architecture(
            module="attn", query="c_attn", output="c_proj", input_first=True, scale=_gpt2_scale
        ),
        **dict.fromkeys(("llama", "mistral", "qwen2", "gemma"), self_attention),
        "granite": replace(self_attention, scale=_granite_scale),
        "gemma2": replace(self_attention, scale=_gemma_scale, cap=_gemma_cap),
        "qwen3": normed,
        "gemma3_text": replace(normed, scale=_gemma_scale),
        "phi3": Architecture(
            module="self_attn", query="qkv_proj", output="o_proj", order="query first", positions="rotary"
        ),
        "gpt_neox": Architecture(
            module="attention", query="query_key_value", output="dense", order="by head", positions="rotary"
        ),
        "t5": Architecture(
            module="SelfAttention", cross="EncDecAttention", query="q", key="k", value="v", output="o",
            positions="relative bias", scale=unscaled, mask=_t5_mask, run=_run_t5,
        ),
        "vit": replace(
            self_attention, module="attention", positions="absolute", tokens="pictures", extra=1, run=_run_vit
        ),
        **dict.fromkeys(("opt", "bart"), opt),
        "gpt_neo": replace(opt, module=r"attn\.attention", scale=unscaled),
        "gptj": replace(opt, module="attn", positions="rotary"),
        "codegen": Architecture(
            module="attn", query="qkv_proj", output="out_proj", order="codegen", positions="rotary", probed=False
        ),
        "mpt": Architecture(
            module="attn", query="Wqkv", output="out_proj", positions="relative bias", scale=_mpt_scale,
            probed=False,
        ),
    }  # fmt: skip


ARCHITECTURES: Registry[Architecture] = Registry("architecture", _shipped())
# models of several parts: the part whose attention is read, and its type
PARTS = {"gemma3": ("language_model", "gemma3_text")}


def supported() -> str:
    """Return the names of the models that `probe` accepts, for messages."""
    # those of installed packages are named, not imported
    kinds = [
        kind for kind in ARCHITECTURES if not ARCHITECTURES.is_builtin(kind) or ARCHITECTURES[kind].probed
    ]
    return ", ".join([*kinds, *PARTS, "nn.TransformerEncoder"]) + ", and state dicts"


def check_probed(kind: Any) -> None:
    """Raise if `probe` cannot run a model of this type."""
    if kind is None:
        raise DomainError(f"the configuration has no model_type; probe reads {supported()}; {DOOR}.")
    known = isinstance(kind, str) and (kind in PARTS or kind in ARCHITECTURES)
    if not known or not ARCHITECTURES[PARTS[kind][1] if kind in PARTS else kind].probed:
        raise DomainError(
            f"probe does not know models of type {shown(kind)}; it reads {supported()}; {DOOR}."
        )


def find_architecture(given: Any) -> Architecture | None:
    """Return the architecture `given` as an object, as a name, or as "package.module:name"; None if it is None."""
    found = given
    if isinstance(given, str):
        found = imported(given, what="architecture") if ":" in given else ARCHITECTURES.find(given)
    if found is not None and not isinstance(found, Architecture):
        raise DomainError(
            "architecture is an Architecture (sparsehead.extend), the name of one such as 'llama', or "
            f"'package.module:name'; got {shown(found)}."
        )
    return found


def architecture_of(kind: Any) -> Architecture:
    """Return the architecture of a model type; raise DomainError for an unknown type, whose scores are unknown too."""
    if not isinstance(kind, str) or kind not in ARCHITECTURES:
        known = ", ".join(ARCHITECTURES)
        raise DomainError(
            f"it is not known how models of type {kind!r} compute their scores; known are {known}."
        )
    return ARCHITECTURES[kind]


def architecture_by_names(state: Mapping[str, Any], prefix: str) -> tuple[str, Architecture | None]:
    """Return model type and architecture of the first entry that fits the weights' names at `prefix`, or None."""
    for kind, found in _builtin():
        weights = [f"{found.at(prefix, name)}.weight" for name in (found.query, found.output)]
        normed = any(f"{prefix}.{name}.weight" in state for name in ("q_norm", "k_norm"))
        if found.reads(prefix) and all(name in state for name in weights) and normed == bool(found.norms):
            return kind, found
    return "plain attention", None


def _builtin() -> Iterator[tuple[str, Architecture]]:
    return ((kind, ARCHITECTURES[kind]) for kind in ARCHITECTURES if ARCHITECTURES.is_builtin(kind))
