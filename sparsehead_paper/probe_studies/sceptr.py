"""Probe SCEPTR's sixteen encoders of T-cell receptors: do heads trained on real data differ from those on control data?

The controls: "shuffled data" pairs real alpha and beta chains at random, "synthetic data" are sequences drawn from a
generative model, "dropout noise only" drops no chains in training. The inputs here are CDR3 loops with germline ends
and random middles, equal for every model: alpha and beta if the model reads both chains, otherwise only one of them.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from sparsehead._base.rng import stream
from sparsehead._base.types import Array
from sparsehead.probing.probe import probe

from .packages import package_folder

AMINO = "ACDEFGHIKLMNPQRSTVWY"


def receptors(count: int = 16, seed: int = 0) -> list[tuple[str, str]]:
    """Return pairs of alpha and beta CDR3 loops."""
    alpha = ("CAV", "CAL", "CAE", "CAA"), ("GKLTF", "NKLIF", "RLMF", "AGKSTF")
    beta = ("CASS", "CSAR", "CAS", "CAWS"), ("NEQFF", "EQYF", "TEAFF", "TGELFF")
    rng = stream(seed, "receptors")

    def loop(ends: tuple[tuple[str, ...], tuple[str, ...]]) -> str:
        middle = "".join(rng.choice(list(AMINO), int(rng.integers(3, 8))))
        return str(rng.choice(ends[0])) + middle + str(rng.choice(ends[1]))

    return [(loop(alpha), loop(beta)) for _ in range(count)]


def chains_of(config: dict[str, Any], pair: tuple[str, str]) -> list[tuple[str, int]]:
    """Return the loops of a receptor that a model's tokeniser reads, each with the id of its compartment."""
    kind = config["data"]["tokeniser"]["class"]
    alpha, beta = pair
    known = {
        "CdrTokeniser": [(alpha, 3), (beta, 6)],
        "Cdr3Tokeniser": [(alpha, 1), (beta, 2)],
        "AlphaCdrTokeniser": [(alpha, 3)],
        "BetaCdrTokeniser": [(beta, 3)],
    }
    return known[kind]


def indices(chains: list[tuple[str, int]]) -> Array:
    """Return a (T, 4) array: token, position in its loop (from 1), length of the loop, compartment; [CLS] first."""
    # Token ids: 0 padding, 1 mask, 2 [CLS], then amino acids by letter.
    rows = [(2, 0, 0, 0)]
    for loop, compartment in chains:
        rows += [(3 + AMINO.index(a), i, len(loop), compartment) for i, a in enumerate(loop, 1)]
    return np.array(rows)


def embedded(state: dict[str, torch.Tensor], table: Array) -> Array:
    """Return the (T, d) input of the encoder's first layer, computed with the embedding in the state dict."""
    parts = {name.removeprefix("_token_embedder."): value.numpy() for name, value in state.items()}
    token, position, length, compartment = table.T
    if "position_embedding.position_embedding_matrix" in parts:
        d = parts["token_embedding.weight"].shape[1]
        added = parts["token_embedding.weight"][token] + parts["compartment_embedding.weight"][compartment]
        return (added + parts["position_embedding.position_embedding_matrix"][position]) * np.sqrt(d)
    relative = np.where(position > 0, (position - 1) / np.maximum(length - 1, 1), 0.0)[:, None]
    if "_blosum_embedding._blosum_embeddings" in parts:
        special = parts["_blosum_embedding._special_token_embeddings.weight"]
        letters = (
            parts["_blosum_embedding._blosum_embeddings"][token] + special[np.where(token < 3, token, 0)]
        )
    else:
        letters = parts["_token_embedding._token_embeddings"][token]
    places = parts["_compartment_embedding._token_embeddings"][compartment]
    W = state["_self_attention_stack._initial_projector.weight"].numpy()
    return np.concatenate([letters, relative, places], axis=1) @ W.T


def encoder_of(state: dict[str, torch.Tensor], heads: int) -> nn.TransformerEncoder:
    """Return the attention layers of a state dict as an nn.TransformerEncoder."""
    inner = {
        name.split("_self_attention_stack.layers.")[1]: value
        for name, value in state.items()
        if ".layers." in name
    }
    layers = 1 + max(int(name.split(".")[0]) for name in inner)
    d, wide = inner["0.linear1.weight"].shape[1], inner["0.linear1.weight"].shape[0]
    layer = nn.TransformerEncoderLayer(d, heads, wide, batch_first=True)
    model = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
    model.load_state_dict({f"layers.{name}": value for name, value in inner.items()})
    return model.eval()


def load_variant(folder: Path) -> tuple[nn.TransformerEncoder, dict[str, torch.Tensor], dict[str, Any]]:
    """Return the encoder, the whole state dict and the configuration of one variant."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    state = torch.load(folder / "state_dict.pt", map_location="cpu", weights_only=True)
    heads = config["model"]["self_attention_stack"]["initargs"]["nhead"]
    return encoder_of(state, heads), state, config


def sceptr_study() -> dict[str, Any]:
    """Probe the heads of every variant on the same receptors; compare their scores with those of SCEPTR itself."""
    requirement = "sceptr==1.2.0"
    folder = package_folder("sceptr", requirement) / "_model_saves"
    rows: list[dict[str, Any]] = []
    pairs = receptors()
    for path in sorted(p for p in folder.iterdir() if (p / "state_dict.pt").is_file()):
        model, state, config = load_variant(path)
        tokens = [embedded(state, indices(chains_of(config, pair))) for pair in pairs]
        found = probe(model, tokens=tokens, bounds=False)
        rows += [{"variant": path.name, **row} for row in found.rows()]
    names = sorted({row["variant"] for row in rows})
    return {
        "name": "SCEPTR",
        "model": requirement,
        "s": 4,
        "receptors": len(pairs),
        "controls": ["SCEPTR_shuffled_data", "SCEPTR_synthetic_data", "SCEPTR_dropout_noise_only"],
        "variants": [_variant_summary(name, rows) for name in names],
        "rows": rows,
    }


def _variant_summary(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return medians over heads and Mann-Whitney's p against SCEPTR, although heads of a model are not independent."""
    from scipy.stats import mannwhitneyu  # slow to import, and only used here

    heads = [row for row in rows if row["variant"] == name]
    reference = [row for row in rows if row["variant"] == "SCEPTR"]
    found: dict[str, Any] = {"variant": name, "heads": len(heads)}
    for field in ("score", "score_random_weights", "score_shuffled_input", "effective_support", "sink_first"):
        found[field] = float(np.median([row[field] for row in heads]))
    for field in ("score", "effective_support"):
        test = mannwhitneyu([row[field] for row in heads], [row[field] for row in reference])
        found[f"p_{field}"] = float(test.pvalue)
    return found
