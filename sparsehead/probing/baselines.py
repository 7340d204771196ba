"""What the same measurements give on models without structure: the numbers that stand beside every number.

random weights: the same model with the entries of each weight matrix in random order. Every matrix keeps its
entries, and so its Frobenius norm; biases and LayerNorms, which are vectors, stay as they are. shuffled input: the
same tokens in another order (`inputs.shuffled`). uniform attention: the same values, each allowed position with the
same weight (measured beside the head itself, in `statistics`).
"""

import copy
from dataclasses import replace

import numpy as np
import torch

from .._base.rng import stream
from .._base.types import Array
from ..heads.block import Layer
from .load import Source
from .modules import sites_of, weights_of_layer
from .recompute import LayerWeights


def randomised(source: Source, seed: int) -> Source:
    """The model with the entries of each of its weight matrices in random order."""
    rng = stream(seed, "random weights")
    if source.module is not None:
        module = copy.deepcopy(source.module)
        with torch.no_grad():
            for parameter in module.parameters():
                if parameter.dim() >= 2:
                    flat = parameter.reshape(-1)[torch.as_tensor(rng.permutation(parameter.numel()))]
                    parameter.copy_(flat.reshape(parameter.shape))
        _, sites = sites_of(module)
        return replace(source, module=module, sites=sites, weights=tuple(site.weights for site in sites))
    if source.model is not None:
        model = replace(
            source.model, layers=tuple(_random_layer(layer, rng) for layer in source.model.layers)
        )
        return replace(source, model=model, weights=tuple(weights_of_layer(layer) for layer in model.layers))
    return replace(source, weights=tuple(_random_weights(w, rng) for w in source.weights))


def _random_layer(layer: Layer, rng: np.random.Generator) -> Layer:
    W_Q, W_K, W_V, W_C = (_moved(W, rng) for W in (layer.W_Q, layer.W_K, layer.W_V, layer.W_C))
    return replace(layer, W_Q=W_Q, W_K=W_K, W_V=W_V, W_C=W_C)


def _random_weights(weights: LayerWeights, rng: np.random.Generator) -> LayerWeights:
    matrices = (weights.W_Q, weights.W_K, weights.W_V, weights.W_O)
    W_Q, W_K, W_V, W_O = (torch.as_tensor(_moved(W.numpy(), rng)) for W in matrices)
    return replace(weights, W_Q=W_Q, W_K=W_K, W_V=W_V, W_O=W_O)


def _moved(array: Array, rng: np.random.Generator) -> Array:
    return rng.permutation(array.reshape(-1)).reshape(array.shape)
