"""Tiny random models of each family."""

from typing import Any

import pytest
import torch
from torch import nn

VOCABULARY, LONGEST = 100, 80
COMMON: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": LONGEST,
}
GROUPED = ("llama", "mistral", "qwen2", "gemma", "granite", "gemma2", "gemma3_text", "qwen3", "phi3")
IDS: dict[str, Any] = {"bos_token_id": 0, "eos_token_id": 1}


def _config(kind, options):
    config = _plain_config(kind)
    for name, value in options.items():
        setattr(config, name, value)
    return config


def _plain_config(kind):
    import transformers as tf  # heavy: only where a family is needed

    if kind == "distilbert":
        sizes: dict[str, Any] = {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48}
        return tf.DistilBertConfig(vocab_size=VOCABULARY, max_position_embeddings=LONGEST, **sizes)
    if kind == "gpt2":
        return tf.GPT2Config(
            vocab_size=VOCABULARY, n_embd=32, n_layer=2, n_head=4, n_positions=LONGEST, **IDS
        )
    if kind in ("gptj", "codegen"):
        kinds, sizes = (
            {"gptj": tf.GPTJConfig, "codegen": tf.CodeGenConfig},
            {"n_embd": 32, "n_layer": 2, "n_head": 4},
        )
        return kinds[kind](vocab_size=VOCABULARY, n_positions=LONGEST, rotary_dim=4, **sizes, **IDS)
    if kind == "gpt_neo":
        # the second layer attends to a window of 5 tokens
        layers: dict[str, Any] = {
            "num_layers": 2,
            "num_heads": 4,
            "attention_types": [[["global", "local"], 1]],
            "window_size": 5,
        }
        return tf.GPTNeoConfig(
            vocab_size=VOCABULARY, hidden_size=32, max_position_embeddings=LONGEST, **layers, **IDS
        )
    if kind == "mpt":
        return tf.MptConfig(vocab_size=VOCABULARY, d_model=32, n_heads=4, n_layers=2, max_seq_len=LONGEST)
    if kind == "t5":
        sizes = {"d_model": 32, "d_kv": 6, "d_ff": 48, "num_layers": 2, "num_heads": 4}
        return tf.T5Config(vocab_size=VOCABULARY, decoder_start_token_id=0, **sizes)  # type: ignore[call-arg]
    if kind == "bart":
        heads: dict[str, Any] = {
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 2,
            "encoder_layers": 1,
            "decoder_layers": 1,
        }
        return tf.BartConfig(vocab_size=VOCABULARY, d_model=32, max_position_embeddings=LONGEST, **heads)
    if kind == "vit":
        sizes = {
            name: value
            for name, value in COMMON.items()
            if name not in ("vocab_size", "max_position_embeddings")
        }
        return tf.ViTConfig(image_size=12, patch_size=4, num_channels=2, **sizes)
    if kind == "opt":
        return tf.OPTConfig(**{**COMMON, "ffn_dim": 48, "word_embed_proj_dim": 32})
    classes = {
        "electra": tf.ElectraConfig,
        "gemma": tf.GemmaConfig,
        "granite": tf.GraniteConfig,
        "bert": tf.BertConfig,
        "roberta": tf.RobertaConfig,
        "albert": tf.AlbertConfig,
        "mpnet": tf.MPNetConfig,
        "llama": tf.LlamaConfig,
        "mistral": tf.MistralConfig,
        "qwen2": tf.Qwen2Config,
        "qwen3": tf.Qwen3Config,
        "gemma2": tf.Gemma2Config,
        "gemma3_text": tf.Gemma3TextConfig,
        "phi3": tf.Phi3Config,
        "gpt_neox": tf.GPTNeoXConfig,
    }
    more: dict[str, dict[str, Any]] = {
        "albert": {"embedding_size": 16, "num_hidden_groups": 2},
        "roberta": {"pad_token_id": 1},
        "electra": {"embedding_size": 16},
        "gemma": {"head_dim": 10},
        "granite": {"attention_multiplier": 0.7},
        # windows shorter than the sequence; the second layer of Gemma 2 and 3 attends to all tokens
        "gemma2": {
            "head_dim": 10,
            "query_pre_attn_scalar": 7,
            "attn_logit_softcapping": 3.0,
            "sliding_window": 5,
        },
        "gemma3_text": {
            "head_dim": 10,
            "query_pre_attn_scalar": 7,
            "sliding_window": 5,
            "layer_types": ["sliding_attention", "full_attention"],
        },
        "qwen3": {"head_dim": 6},
        "phi3": {
            "pad_token_id": 0,
            "sliding_window": 6,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5},
        },
        "gpt_neox": {
            "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}
        },
    }
    grouped: dict[str, Any] = {"num_key_value_heads": 2, **IDS} if kind in GROUPED else {}
    return classes[kind](**COMMON, **more.get(kind, {}), **grouped)


def tiny_model(kind, *, seed=0, scale=6.0, **options):
    """A random model of a family whose attention is not nearly uniform: matrices and biases are scaled up.

    options are set in its configuration.
    """
    import transformers as tf

    torch.manual_seed(seed)
    model = tf.AutoModel.from_config(_config(kind, options), attn_implementation="eager").eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() >= 2:
                parameter.mul_(scale)
            elif name.endswith("bias"):
                parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def random_encoder(*, seed=0, layers=2, d=32, heads=4, batch_first=True, norm_first=False):
    """A random nn.TransformerEncoder."""
    torch.manual_seed(seed)
    options: dict[str, Any] = {"dim_feedforward": 48, "batch_first": batch_first, "norm_first": norm_first}
    layer = nn.TransformerEncoderLayer(d, heads, **options)
    model = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() >= 2:
                parameter.copy_(torch.randn_like(parameter) / d**0.5 * 1.5)
    return model


@pytest.fixture(scope="session")
def tiny():
    """The function that makes a tiny model of a family."""
    return tiny_model


@pytest.fixture(scope="session")
def encoder():
    """The function that makes a random nn.TransformerEncoder."""
    return random_encoder
