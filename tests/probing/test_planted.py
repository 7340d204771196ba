"""A built head planted into a random model is found first, with its support."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import sparsehead as sh
from sparsehead.heads.block import Layer

T = 64


def random_layer(rng, H, d, k):
    """Random heads whose scores spread by about one, 0.42^2 sqrt(8) times two lengths of 1.4."""
    return {
        "W_Q": 0.42 * rng.normal(size=(H, d, k)),
        "W_K": 0.42 * rng.normal(size=(H, d, k)),
        "W_V": 0.3 * rng.normal(size=(H, d, k)) / np.sqrt(d),
        "W_C": 0.3 * rng.normal(size=(H, k, d)),
    }


def function_of(rng):
    """AND or OR of two to four positions, and the share of ones at which it is as often 0 as 1."""
    s = int(rng.integers(2, 5))
    support = sorted(rng.choice(T, s, replace=False).tolist())
    p = 0.5 ** (1 / s)
    if rng.integers(2):
        return sh.conjunction(support, T=T), tuple(support), p
    return sh.disjunction(support, T=T), tuple(support), 1 - p


def planted(seed, *, layers=2, H=4):
    """A random model of residual layers without LayerNorm with one built head: (model, where, support, p)."""
    rng = np.random.default_rng(seed)
    f, support, p = function_of(rng)
    built = sh.build(f)
    source = built.layers[0]
    d, k = source.d, max(8, source.W_Q.shape[2])
    where = (int(rng.integers(layers)), int(rng.integers(H)))
    stack = []
    for i in range(layers):
        weights = random_layer(rng, H, d, k)
        if i == where[0]:
            for name, W in (
                ("W_Q", source.W_Q[0] / source.temperature),
                ("W_K", source.W_K[0]),
                ("W_V", source.W_V[0]),
            ):
                weights[name][where[1]] = np.pad(W, ((0, 0), (0, k - W.shape[1])))
            W_C = source.W_C[0]
            weights["W_C"][where[1]] = np.pad(W_C, ((0, k - W_C.shape[0]), (0, 0)))
        stack.append(Layer(**weights, residual=True, sigma=source.sigma))
    model = replace(built, layers=tuple(stack), decoder=(), w=rng.normal(size=d), final_norm=None)
    return model, where, support, p


def found_first(seed):
    model, where, support, p = planted(seed)
    bits = (np.random.default_rng([seed, 1]).random((16, T)) < p).astype(int)
    first = sh.probe(model, tokens=bits, queries=[-1], baselines=False, bounds=False).heads[0]
    return (first.layer, first.head) == where, first.measured.support == support


def test_planted_heads_are_found_first_with_their_support():
    assert [found_first(seed) for seed in range(5)] == [(True, True)] * 5


@pytest.mark.slow
def test_a_hundred_planted_heads_are_found_first_with_their_support():
    assert [found_first(seed) for seed in range(100)] == [(True, True)] * 100


def test_a_head_planted_into_a_torch_encoder_is_found(encoder):
    """nn.TransformerEncoder, first layer. It has no activation behind the values, so the head's first column is
    planted, the mean of the bits that it reads; its scores are divided by sqrt(k).
    """
    rng = np.random.default_rng(3)
    f = sh.conjunction([5, 17, 40], T=T)
    built = sh.build(f)
    source = built.layers[0]
    d, H = built.d + (-built.d) % 4, 4
    k = d // H
    model = encoder(d=d, heads=H, layers=2)
    module = model.layers[0].self_attn
    with torch.no_grad():
        module.in_proj_bias.zero_()
        for part, W in enumerate(
            (source.W_Q[0] / source.temperature * k**0.5, source.W_K[0], source.W_V[0][:, :1])
        ):
            rows = slice(part * d + 2 * k, part * d + 3 * k)
            module.in_proj_weight[rows] = 0
            module.in_proj_weight[rows][: W.shape[1], : W.shape[0]] = torch.as_tensor(W.T).float()
        module.out_proj.weight[:, 2 * k : 3 * k] = 0
        W_C = source.W_C[0][:1]
        module.out_proj.weight[: W_C.shape[1], 2 * k : 2 * k + W_C.shape[0]] = torch.as_tensor(W_C.T).float()
    tokens = [
        np.pad(built.encoding(bits), ((0, 0), (0, d - built.d))) for bits in rng.integers(0, 2, (24, T))
    ]
    first = sh.probe(model, tokens=tokens, queries=[-1], baselines=False, bounds=False).heads[0]
    assert (first.layer, first.head) == (0, 2) and first.measured.support == (5, 17, 40)
