"""Long inputs within 4 GB, and GGUF files through transformers."""

import subprocess
import sys

import numpy as np
import pytest
import torch

import sparsehead as sh
from sparsehead.probing.load import source_of
from sparsehead.probing.running import check, run

LONG = """
import resource, sys
import torch, transformers
import sparsehead as sh
T, layers = int(sys.argv[1]), int(sys.argv[2])
torch.manual_seed(0)
config = transformers.LlamaConfig(vocab_size=500, hidden_size=768, num_hidden_layers=layers, num_attention_heads=12,
    num_key_value_heads=4, intermediate_size=768, max_position_embeddings=T, bos_token_id=0, eos_token_id=1)
model = transformers.LlamaModel(config).eval()
found = sh.probe(model, tokens=[torch.randint(0, 500, (T,)).numpy()], baselines=False)
assert found.longest == T and found.recomputed_error < 1e-4
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.slow
@pytest.mark.parametrize("T", [512, 2048])
def test_long_inputs_stay_below_four_gigabytes(T):
    """Twelve heads of width 64, two layers; attention of one layer at a time."""
    ran = subprocess.run(
        [sys.executable, "-c", LONG, str(T), "2"], capture_output=True, text=True, timeout=900
    )
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) < 4096  # megabytes, the libraries included


def test_layers_are_handed_over_one_at_a_time(tiny):
    """When layer i is visited, layer i + 1 has not run, and nothing keeps the earlier layers' attention."""
    model, seen, order = tiny("bert"), [], []
    for i, layer in enumerate(model.encoder.layer):
        layer.register_forward_hook(lambda m, a, o, i=i: order.append(("ran", i)))
    run(
        source_of(model),
        np.arange(10),
        lambda call: (order.append(("visited", call.layer)), seen.append(call)),  # type: ignore[arg-type]
    )
    assert order == [("visited", 0), ("ran", 0), ("visited", 1), ("ran", 1)]
    assert all(call.mask is None or call.mask.dim() == 2 for call in seen)


def write_gguf(path, model):
    """The weights of a tiny Llama as llama.cpp keeps them: rows of query and key in another order."""
    import gguf

    c = model.config
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(c.max_position_embeddings)
    writer.add_embedding_length(c.hidden_size)
    writer.add_block_count(c.num_hidden_layers)
    writer.add_feed_forward_length(c.intermediate_size)
    writer.add_head_count(c.num_attention_heads)
    writer.add_head_count_kv(c.num_key_value_heads)
    writer.add_layer_norm_rms_eps(c.rms_norm_eps)
    writer.add_vocab_size(c.vocab_size)
    state = {name: value.numpy() for name, value in model.state_dict().items()}

    def turned(W, heads):
        return W.reshape(heads, 2, -1, W.shape[1]).swapaxes(1, 2).reshape(W.shape)

    names = {
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm",
        "self_attn.q_proj": "attn_q",
    }
    names |= {"self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output"}
    names |= {"mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
    writer.add_tensor("token_embd.weight", state["embed_tokens.weight"])
    writer.add_tensor("output_norm.weight", state["norm.weight"])
    for i in range(c.num_hidden_layers):
        for ours, theirs in names.items():
            W = state[f"layers.{i}.{ours}.weight"]
            heads = {"attn_q": c.num_attention_heads, "attn_k": c.num_key_value_heads}.get(theirs)
            writer.add_tensor(f"blk.{i}.{theirs}.weight", W if heads is None else turned(W, heads))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_gguf_files_are_read_through_transformers(tiny, tmp_path):
    pytest.importorskip("gguf")
    model = tiny("llama")
    write_gguf(tmp_path / "tiny.gguf", model)
    found, wanted = source_of(tmp_path / "tiny.gguf"), source_of(model)
    assert found.family == "llama"
    for a, b in zip(found.weights, wanted.weights, strict=True):
        for name in ("W_Q", "W_K", "W_V", "W_O"):
            assert torch.allclose(getattr(a, name), getattr(b, name), atol=1e-6), name
    ids = np.arange(3, 20)
    run(found, ids, check)  # type: ignore[arg-type]
    assert torch.allclose(run(found, ids), run(wanted, ids), atol=1e-4)
    with pytest.raises(sh.SparseheadError, match="no folder in which a tokenizer could be"):
        sh.probe(tmp_path / "tiny.gguf", text="words")
