"""Baselines: the measurements repeated on models or inputs whose structure was destroyed.

random weights: the model with the entries of each weight matrix in random order. Every matrix keeps its entries, and
so its Frobenius norm; biases and LayerNorms are not changed. shuffled input: the tokens of each sequence in random
order (`inputs.shuffled`). uniform attention: equal weight on every position that the mask allows (`statistics`).
"""

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from .._base.rng import stream
from ..heads.block import Layer
from .load import Source
from .modules import sites_of, weights_of_layer


def randomised(source: Source, seed: int) -> Source:
    """Return the model with the entries of each weight matrix in random order."""
    rng = stream(seed, "random weights")
    if source.module is not None:
        module = copy.deepcopy(source.module)
        with torch.no_grad():
            for parameter in module.parameters():
                if parameter.dim() >= 2:
                    flat = parameter.reshape(-1)[torch.as_tensor(rng.permutation(parameter.numel()))]
                    parameter.copy_(flat.reshape(parameter.shape))
        sites = sites_of(module, source.architecture, source.heads)
        return replace(source, module=module, sites=sites, weights=tuple(site.weights for site in sites))
    if source.model is not None:
        layers = tuple(_random_layer(layer, rng) for layer in source.model.layers)
        weights = tuple(weights_of_layer(layer) for layer in layers)
        return replace(source, model=replace(source.model, layers=layers), weights=weights)
    layers = tuple(_random_layer(w.as_layer(), rng) for w in source.weights)
    pairs = zip(layers, source.weights, strict=True)
    return replace(
        source, weights=tuple(weights_of_layer(layer, w.positions, w.outside) for layer, w in pairs)
    )


def _random_layer(layer: Layer, rng: np.random.Generator) -> Layer:
    matrices = {name: getattr(layer, name) for name in ("W_Q", "W_K", "W_V", "W_C")}
    moved: Any = {name: rng.permutation(W.ravel()).reshape(W.shape) for name, W in matrices.items()}
    return replace(layer, **moved)
