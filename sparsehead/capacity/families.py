"""The layout of attention weights in each known architecture: one entry per family.

An entry gives the names of the weights, the scale of scores, the order of columns in a fused projection, and how
positions enter. `norms` and `bound` accept every family; `probe` accepts families with `probed` set, recomputes their
heads and compares these with the model's output on every run. For each entry a test compares the scores with those of
the package transformers (tests/probing/test_scores.py).
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .._base.errors import DomainError

# by `ModelFamily.positions`: why such a layer is outside the class of the bound
OUTSIDE = {
    "rotary": "rotary positions turn queries and keys by their place, which the bound's class does not: outside its "
    "assumptions, figures are those of the same weights without the rotation",
    "relative bias": "a relative position bias is added to the scores, which the bound's class does not have: outside "
    "its assumptions, figures are those of the same weights without it",
}
Scale = Callable[[Any, int, int], float]  # configuration (None if there is none), layer, width k of a head


def outside(positions: str) -> tuple[str, ...]:
    """Return why a layer with such positions is outside the bound's class; empty if it is inside."""
    return (OUTSIDE[positions],) if positions in OUTSIDE else ()


def _by_width(config: Any, layer: int, k: int) -> float:
    return 1 / math.sqrt(k)


def _unscaled(config: Any, layer: int, k: int) -> float:
    return 1.0


def _gpt2_scale(config: Any, layer: int, k: int) -> float:
    scale = 1 / math.sqrt(k) if getattr(config, "scale_attn_weights", True) else 1.0
    return scale / (layer + 1) if getattr(config, "scale_attn_by_inverse_layer_idx", False) else scale


def _granite_scale(config: Any, layer: int, k: int) -> float:
    return float(getattr(config, "attention_multiplier", 1.0))


def _mpt_scale(config: Any, layer: int, k: int) -> float:
    attention = getattr(config, "attn_config", None)
    if getattr(attention, "clip_qkv", None):
        raise DomainError("this MPT clips its queries, keys and values (clip_qkv); norms need linear ones.")
    return float(getattr(attention, "softmax_scale", None) or 1 / math.sqrt(k))


@dataclass(frozen=True)
class ModelFamily:
    """Facts about one architecture.

    module: a pattern for the end of an attention module's name. query, output: the names of its query (or fused)
    matrix and of its output projection, relative to the module ("../" goes up one level).
    positions: "absolute" (tokens alone carry them), "rotary" or "relative bias". scale: the factor of scores.
    order: of the columns of a fused matrix, "thirds" (query, key, value) or "codegen" (four blocks, each query, value,
    key). shared: several layers call one module (ALBERT).
    """

    module: str
    query: str
    output: str
    positions: str = "absolute"
    scale: Scale = _by_width
    order: str = "thirds"
    shared: bool = False
    probed: bool = False

    def names(self, prefix: str) -> tuple[str, str]:
        """Return the names of the query weight and of the output weight in the module `prefix`."""
        stem, path = prefix, self.output
        while path.startswith("../"):
            stem, path = stem.rpartition(".")[0], path[3:]
        return f"{prefix}.{self.query}.weight", f"{stem}.{path}.weight" if stem else f"{path}.weight"

    def is_at(self, prefix: str) -> bool:
        """Return whether `prefix` is the name of an attention module of this family."""
        return re.fullmatch(rf"(.*\.)?({self.module})", prefix) is not None


MODEL_FAMILIES: dict[str, ModelFamily] = {
    **dict.fromkeys(
        ("bert", "roberta"), ModelFamily("attention.self", "query", "../output.dense", probed=True)
    ),
    "distilbert": ModelFamily("attention", "q_lin", "out_lin", probed=True),
    "albert": ModelFamily("attention", "query", "dense", shared=True, probed=True),
    "mpnet": ModelFamily("attention.attn", "q", "o", "relative bias", probed=True),
    "gpt2": ModelFamily("attn", "c_attn", "c_proj", scale=_gpt2_scale, probed=True),
    **dict.fromkeys(
        ("llama", "mistral", "qwen2"), ModelFamily("self_attn", "q_proj", "o_proj", "rotary", probed=True)
    ),
    "gemma": ModelFamily("self_attn", "q_proj", "o_proj", "rotary"),
    "granite": ModelFamily("self_attn", "q_proj", "o_proj", "rotary", _granite_scale),
    "electra": ModelFamily("attention.self", "query", "../output.dense"),
    **dict.fromkeys(("opt", "bart"), ModelFamily("self_attn", "q_proj", "out_proj")),
    "gpt_neo": ModelFamily("attn.attention", "q_proj", "out_proj", scale=_unscaled),
    "gptj": ModelFamily("attn", "q_proj", "out_proj", "rotary"),
    "codegen": ModelFamily("attn", "qkv_proj", "out_proj", "rotary", order="codegen"),
    "mpt": ModelFamily("attn", "Wqkv", "out_proj", "relative bias", _mpt_scale),
    "t5": ModelFamily("(Self|EncDec)Attention", "q", "o", "relative bias", _unscaled),
}


def supported() -> str:
    """Return the names of the models that `probe` accepts, for messages."""
    kinds = ", ".join(kind for kind, family in MODEL_FAMILIES.items() if family.probed)
    return f"{kinds}, nn.TransformerEncoder, and state dicts"


def check_probed(kind: Any) -> None:
    """Refuse a model type that `probe` cannot run."""
    if kind not in MODEL_FAMILIES or not MODEL_FAMILIES[kind].probed:
        raise DomainError(f"probe does not know models of type {kind!r}; it reads {supported()}.")


def family_of(kind: Any) -> ModelFamily:
    """Return the family of a model type; raise DomainError if the type, and so its scores, are unknown."""
    if kind not in MODEL_FAMILIES:
        known = ", ".join(MODEL_FAMILIES)
        raise DomainError(
            f"it is not known how models of type {kind!r} compute their scores; known are {known}."
        )
    return MODEL_FAMILIES[kind]


def family_by_names(state: Mapping[str, Any], prefix: str) -> tuple[str, ModelFamily]:
    """Return name and entry of the first family whose weight names occur in `prefix`; plain attention if none does."""
    for kind, family in MODEL_FAMILIES.items():
        if family.is_at(prefix) and all(name in state for name in family.names(prefix)):
            return kind, family
    return "plain attention", ModelFamily("", "", "")
