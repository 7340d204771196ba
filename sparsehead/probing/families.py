"""Where each architecture keeps its attention: one entry per family, and the only place that knows.

A new family is one entry, if its heads compute what `recompute` says; `probe` compares its own output with the model's
on every run and refuses a model for which they differ.
"""

from dataclasses import dataclass

ROTARY, BIAS = "rotary", "relative bias"


@dataclass(frozen=True)
class Family:
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


_BERT = Family("attention.self", "query", "key", "value", "../output.dense")
_LLAMA = Family("self_attn", "q_proj", "k_proj", "v_proj", "o_proj", causal=True, positions=ROTARY)

FAMILIES: dict[str, Family] = {
    "bert": _BERT,
    "roberta": _BERT,
    "distilbert": Family("attention", "q_lin", "k_lin", "v_lin", "out_lin"),
    "albert": Family("attention", "query", "key", "value", "dense", shared=True),
    "mpnet": Family("attention.attn", "q", "k", "v", "o", positions=BIAS),
    "gpt2": Family("attn", "c_attn", "c_attn", "c_attn", "c_proj", causal=True),
    "llama": _LLAMA,
    "mistral": _LLAMA,
    "qwen2": _LLAMA,
}
SUPPORTED = f"{', '.join(FAMILIES)}, nn.TransformerEncoder, and state dicts"
