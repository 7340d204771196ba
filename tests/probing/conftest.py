"""Tiny random models of each family."""

import pytest
import torch
from torch import nn

VOCABULARY, LONGEST = 100, 80
COMMON = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": LONGEST,
}
IDS = {"bos_token_id": 0, "eos_token_id": 1}


def _config(kind):
    import transformers as tf  # heavy: only where a family is needed

    if kind == "distilbert":
        sizes = {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48}
        return tf.DistilBertConfig(vocab_size=VOCABULARY, max_position_embeddings=LONGEST, **sizes)
    if kind == "gpt2":
        return tf.GPT2Config(
            vocab_size=VOCABULARY, n_embd=32, n_layer=2, n_head=4, n_positions=LONGEST, **IDS
        )
    classes = {
        "bert": tf.BertConfig,
        "roberta": tf.RobertaConfig,
        "albert": tf.AlbertConfig,
        "mpnet": tf.MPNetConfig,
        "llama": tf.LlamaConfig,
        "mistral": tf.MistralConfig,
        "qwen2": tf.Qwen2Config,
    }
    more = {"albert": {"embedding_size": 16, "num_hidden_groups": 2}, "roberta": {"pad_token_id": 1}}
    grouped = {"num_key_value_heads": 2, **IDS} if kind in ("llama", "mistral", "qwen2") else {}
    return classes[kind](**COMMON, **more.get(kind, {}), **grouped)


def tiny_model(kind, *, seed=0, scale=6.0):
    """A random model of a family whose attention is not nearly uniform: matrices and biases are scaled up."""
    import transformers as tf

    torch.manual_seed(seed)
    model = tf.AutoModel.from_config(_config(kind), attn_implementation="eager").eval()
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
    options = {"dim_feedforward": 48, "batch_first": batch_first, "norm_first": norm_first}
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
