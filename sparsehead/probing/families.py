"""Where each architecture keeps its attention: one entry per family, and the only place that knows.

A new family is one entry, if its heads compute what `recompute` says; `probe` compares its own output with the model's
on every run and refuses a model for which they differ.
"""

from dataclasses import dataclass

ROTARY, BIAS = "rotary", "relative bias"


@dataclass(frozen=True)
class ModelFamily:
    """Names inside one architecture.

    module: how the name of an attention module ends. query, key, value: its parts; equal names are one fused matrix.
    output: the output projection, as seen from the attention module ("../" goes up one level).
    shared: several layers call one module (ALBERT).
    """

    module: str
    query: str
    key: str
    value: str
    output: str
    causal: bool = False
    shared: bool = False
    positions: str = "absolute"


_BERT = ModelFamily("attention.self", "query", "key", "value", "../output.dense")
_LLAMA = ModelFamily("self_attn", "q_proj", "k_proj", "v_proj", "o_proj", causal=True, positions=ROTARY)

MODEL_FAMILIES: dict[str, ModelFamily] = {
    "bert": _BERT,
    "roberta": _BERT,
    "distilbert": ModelFamily("attention", "q_lin", "k_lin", "v_lin", "out_lin"),
    "albert": ModelFamily("attention", "query", "key", "value", "dense", shared=True),
    "mpnet": ModelFamily("attention.attn", "q", "k", "v", "o", positions=BIAS),
    "gpt2": ModelFamily("attn", "c_attn", "c_attn", "c_attn", "c_proj", causal=True),
    "llama": _LLAMA,
    "mistral": _LLAMA,
    "qwen2": _LLAMA,
}
SUPPORTED = f"{', '.join(MODEL_FAMILIES)}, nn.TransformerEncoder, and state dicts"
