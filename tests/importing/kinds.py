"""Random networks of each importable kind: arguments for `from_torch`, and the outputs computed without it."""

from types import SimpleNamespace

import torch
from torch import nn

from sparsehead.functions import assignments

from .lens import HookedTransformer, config

D = 8


def spread(module, generator):
    """Weights large enough that outputs depend on the bits; float64."""
    module = module.double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(0.6 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return module


def embedded(make):
    """A kind that reads embedded tokens, [CLS] last."""

    def kind(rng, T):
        generator = torch.Generator().manual_seed(int(rng.integers(2**31)))
        module = spread(make(rng), generator).train(False)
        E, P, w = (torch.as_tensor(rng.standard_normal(shape)) for shape in ((3, D), (T, D), (D,)))
        X = torch.stack(
            [torch.stack([*(E[int(b)] + P[t] for t, b in enumerate(bits)), E[2]]) for bits in assignments(T)]
        )
        first = next(m for m in module.modules() if isinstance(m, nn.MultiheadAttention)).batch_first
        Z = X if first else X.transpose(0, 1)
        with torch.no_grad():
            out = module(Z, Z, Z)[0] if isinstance(module, nn.MultiheadAttention) else module(Z)
        states = out[:, -1] if first else out[-1]
        return module, dict(embeddings=E, positions=P, readout=w), (states @ w).numpy()

    return kind


def attention(rng):
    return nn.MultiheadAttention(
        D, int(rng.choice([1, 2, 4])), bias=bool(rng.integers(2)), batch_first=bool(rng.integers(2))
    )


def layer(rng, *, norm_first, batch_first=True):
    return nn.TransformerEncoderLayer(
        D, int(rng.choice([1, 2, 4])), 12, activation=str(rng.choice(["relu", "gelu"])), norm_first=norm_first,
        batch_first=batch_first, bias=bool(rng.integers(2)),
    )  # fmt: skip


def encoder(rng, *, norm_first):
    norm = nn.LayerNorm(D) if norm_first and rng.integers(2) else None
    one = layer(rng, norm_first=norm_first, batch_first=bool(rng.integers(2)))
    return nn.TransformerEncoder(one, 2, norm=norm, enable_nested_tensor=False)


def tokens(make, *, before=(), after=(2,), at=-1, logits=False):
    """A kind that reads token ids; ids 0 and 3 stand for the bits."""

    def kind(rng, T):
        generator = torch.Generator().manual_seed(int(rng.integers(2**31)))
        module = spread(make(rng, T + len(before) + len(after)), generator).train(False)
        w = torch.as_tensor(rng.standard_normal(D))
        ids = torch.tensor(
            [[*before, *([0, 3][b] for b in bits), *after] for bits in assignments(T).tolist()]
        )
        asked = dict(tokens=(0, 3), before=before, after=after, at=at, T=T)
        with torch.no_grad():
            if isinstance(module, HookedTransformer):
                scores = module(ids)[:, at]
            elif logits:
                scores = module(input_ids=ids).logits[:, at]
            else:
                state = module(input_ids=ids).last_hidden_state[:, at]
                return module, dict(**asked, readout=(w, 0.25)), (state @ w + 0.25).numpy()
        return module, asked, (scores[:, 3] - scores[:, 0]).numpy()

    return kind


def bert(rng, length):
    from transformers import BertConfig, BertModel

    return BertModel(
        BertConfig(
            vocab_size=5, hidden_size=D, num_hidden_layers=1, num_attention_heads=2, intermediate_size=12,
            max_position_embeddings=length + 2, hidden_act=str(rng.choice(["gelu", "relu", "gelu_new"])),
        ),
        add_pooling_layer=False,
    )  # fmt: skip


def gpt2(layers, activations):
    def make(rng, length):
        from transformers import GPT2Config, GPT2LMHeadModel

        return GPT2LMHeadModel(
            GPT2Config(
                vocab_size=5, n_positions=length + 2, n_embd=D, n_layer=layers, n_head=2, bos_token_id=None,
                eos_token_id=None, activation_function=str(rng.choice(activations)),
            )
        )  # fmt: skip

    return make


def llama(rng, length):
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=5, hidden_size=D, intermediate_size=12, num_hidden_layers=2, num_attention_heads=2,
            num_key_value_heads=1, max_position_embeddings=length + 2, bos_token_id=None, eos_token_id=None,
        )
    )  # fmt: skip


def hooked(**fixed):
    def make(rng, length):
        norm = [None, "LN", "LNPre"][rng.integers(3)]
        return HookedTransformer(
            config(
                n_ctx=length + 1, normalization_type=norm, act_fn=str(rng.choice(["relu", "gelu"])), **fixed
            )
        )

    return make


def tracr(rng, T):
    """Random parameters under Tracr's names, and their outputs computed by torch, head by head."""
    H, k, V = int(rng.integers(1, 3)), 3, 5
    params = {
        "token_embed": {"embeddings": rng.standard_normal((V, D))},
        "pos_embed": {"embeddings": rng.standard_normal((T + 1, D))},
    }
    for i in range(2):
        shapes = {
            "attn/query": (D, H * k),
            "attn/key": (D, H * k),
            "attn/value": (D, H * k),
            "attn/linear": (H * k, D),
        }
        for name, (rows, columns) in {**shapes, "mlp/linear_1": (D, 6), "mlp/linear_2": (6, D)}.items():
            w, b = 0.5 * rng.standard_normal((rows, columns)), 0.5 * rng.standard_normal(columns)
            params[f"transformer/layer_{i}/{name}"] = {"w": w, "b": b}
    causal, w = bool(rng.integers(2)), rng.standard_normal(D)
    ids = torch.tensor([[4, *([0, 3][b] for b in bits)] for bits in assignments(T).tolist()])
    X = torch.as_tensor(params["token_embed"]["embeddings"])[ids] + torch.as_tensor(
        params["pos_embed"]["embeddings"]
    )
    for i in range(2):
        at = {n: [torch.as_tensor(a) for a in p.values()] for n, p in params.items() if f"layer_{i}/" in n}
        q, kk, v = (X @ at[f"transformer/layer_{i}/attn/{n}"][0] + at[f"transformer/layer_{i}/attn/{n}"][1]
                    for n in ("query", "key", "value"))  # fmt: skip
        mask = torch.tril(torch.ones(T + 1, T + 1)).bool() if causal else torch.ones(T + 1, T + 1).bool()
        parts = [
            nn.functional.scaled_dot_product_attention(a, b, c, attn_mask=mask)
            for a, b, c in zip(q.split(k, -1), kk.split(k, -1), v.split(k, -1))
        ]
        out, bias = at[f"transformer/layer_{i}/attn/linear"]
        X = X + torch.cat(parts, -1) @ out + bias
        (W_1, b_1), (W_2, b_2) = (at[f"transformer/layer_{i}/mlp/linear_{j}"] for j in (1, 2))
        X = X + torch.relu(X @ W_1 + b_1) @ W_2 + b_2
    compiled = SimpleNamespace(params=params, model_config=SimpleNamespace(num_heads=H, causal=causal))
    return compiled, dict(tokens=(0, 3), before=[4], T=T, readout=w), (X[:, -1] @ torch.as_tensor(w)).numpy()


# By name: how to make one, and whether a Model computes the same.
KINDS = {
    "attention": (embedded(attention), True),
    "pre-norm layer": (embedded(lambda rng: layer(rng, norm_first=True)), True),
    "post-norm layer": (embedded(lambda rng: layer(rng, norm_first=False)), True),
    "pre-norm encoder": (embedded(lambda rng: encoder(rng, norm_first=True)), True),
    "post-norm encoder": (embedded(lambda rng: encoder(rng, norm_first=False)), False),
    "BERT, [CLS] first": (tokens(bert, before=(2,), after=(), at=0), True),
    "BERT, [CLS] and [SEP]": (tokens(bert, before=(2,), after=(1,), at=0), False),
    "GPT-2 of one layer": (tokens(gpt2(1, ["relu", "gelu", "gelu_new"]), logits=True), True),
    "GPT-2 of two layers": (tokens(gpt2(2, ["gelu_new"]), before=(4,), logits=True), False),
    "Llama": (tokens(llama, before=(4,), logits=True), False),
    "HookedTransformer": (tokens(hooked()), True),
    "attention-only HookedTransformer": (tokens(hooked(attn_only=True, use_attn_scale=False)), True),
    "bidirectional HookedTransformer": (tokens(hooked(n_layers=2, attention_dir="bidirectional")), True),
    "causal HookedTransformer": (tokens(hooked(n_layers=2)), False),
    "Tracr": (tracr, False),
}
