"""Models made to fool `verify`: large, tiny, tied and NaN weights, several heads and layers, built heads tampered."""

from dataclasses import replace
from typing import Any

import numpy as np

from sparsehead._base.errors import SparseheadError
from sparsehead.construct import build
from sparsehead.functions import SparseFunction, assignments, from_table, random_function
from sparsehead.heads.block import Layer, LayerNorm, Mlp
from sparsehead.heads.encoding import bag, positional, trainable
from sparsehead.heads.model import Dense, Model

BUILDS: tuple[dict[str, Any], ...] = (
    {},
    {"readout": "head"},
    {"encoding": "trainable"},
    {"encoding": "bag"},
    {"heads": "s"},
    {"heads": "cancel"},
    {"method": "paper"},
    {"attends_cls": False},
    {"encoding": "random", "d": 40, "seed": 0},
)


def size(rng, low=-2.0, high=2.0):
    """A factor 10^x, now and then a huge or tiny one."""
    if rng.random() < 0.08:
        return 10.0 ** rng.choice([-200, -170, -100, -30, 30, 100, 170, 200])
    return 10.0 ** rng.uniform(low, high)


def weights(rng, *shape):
    """Normal, tied to a coarse grid, sparse, or of one size and both signs."""
    kind = rng.integers(4)
    x = rng.normal(size=shape)
    if kind == 1:
        x = np.round(x)
    if kind == 2:
        x = x * (rng.random(shape) < 0.4)
    if kind == 3:
        x = np.sign(x)
    return x


def some_encoding(rng, T):
    kind = rng.integers(4)
    if kind == 0:
        return positional(T)
    if kind == 1:
        return bag(T)
    d = int(rng.integers(2, 6))
    scale = 10.0 ** rng.uniform(-1, 1)
    return trainable(scale * weights(rng, T, d), weights(rng, 2, d), weights(rng, d))


def some_layer(rng, d, *, practical):
    H, k, v = (int(rng.choice([1, 2, 3], p=[0.6, 0.3, 0.1])) for _ in range(3))
    parts = {
        "W_Q": size(rng, -1, 1.5) * weights(rng, H, d, k),
        "W_K": size(rng, -1, 1.5) * weights(rng, H, d, k),
        "W_V": size(rng) * weights(rng, H, d, v),
        "W_C": size(rng) * weights(rng, H, v, d),
        "sigma": str(rng.choice(["identity", "relu", "tanh", "gelu"], p=[0.4, 0.4, 0.1, 0.1])),
        "residual": bool(rng.random() < 0.3),
        "temperature": float(rng.choice([1.0, 2.0, 0.1])),
        "project": bool(rng.random() < 0.1),
    }
    if rng.random() < 0.3:
        parts |= {
            "b_Q": weights(rng, H, k),
            "b_K": weights(rng, H, k),
            "b_V": weights(rng, H, v),
            "b_C": weights(rng, d),
        }
    if practical:
        f = int(rng.integers(2, 6))

        def norm():
            eps = float(rng.choice([1e-5, 1e-12, 0.0], p=[0.8, 0.1, 0.1]))
            return LayerNorm(1 + 0.3 * rng.normal(size=d), 0.3 * rng.normal(size=d), eps=eps)

        mlp = Mlp(
            weights(rng, d, f),
            weights(rng, f),
            size(rng, -1, 1) * weights(rng, f, d),
            weights(rng, d),
            str(rng.choice(["gelu", "relu"])),
        )
        if rng.random() < 0.7:
            parts["mlp"] = mlp
        if rng.random() < 0.6:
            parts["norm_attention"] = norm()
        if rng.random() < 0.6:
            parts["norm_mlp"] = norm()
    return Layer(**parts)


def random_model(rng, T, *, practical=False, depth=1):
    encoding = some_encoding(rng, T)
    layers = tuple(some_layer(rng, encoding.d, practical=practical) for _ in range(depth))
    decoder, width = [], encoding.d
    for _ in range(int(rng.integers(0, 3))):
        units = int(rng.integers(1, 5))
        decoder.append(Dense(size(rng, -1, 1) * weights(rng, width, units), weights(rng, units)))
        width = units
    norm = (
        LayerNorm(weights(rng, encoding.d), weights(rng, encoding.d))
        if practical and rng.random() < 0.4
        else None
    )
    return Model(encoding, layers, w=size(rng, -1, 1) * weights(rng, width), bias=float(rng.normal()), final_norm=norm,
                 decoder=tuple(decoder), attends_cls=bool(rng.random() < 0.7))  # fmt: skip


def large_scores(rng, T):
    """One scalar whose bits move scores by 20 to 2000: the range of a head that Dinkelbach's iteration gets wrong."""
    encoding = positional(T)
    d = encoding.d
    W_Q, W_K, W_V = np.zeros((1, d, 1)), np.zeros((1, d, 1)), np.zeros((1, d, 1))
    W_Q[0, 2] = 1.0
    W_K[0, rng.integers(2)] = rng.choice([20, 30, 40, 60, 100, 200, 600, 800, 2000]) * rng.choice([-1, 1])
    W_K[0, 3:] = rng.choice([0.0, 1.0, 10.0]) * rng.normal(size=(T, 1))
    W_V[0, 1], W_V[0, 3:, 0] = rng.choice([0.0, 1.0]), rng.choice([0.01, 1.0, 0.0]) * np.arange(T)
    axis = np.eye(1, d)
    layer = Layer(W_Q=W_Q, W_K=W_K, W_V=W_V, W_C=axis[None])
    return Model(encoding, (layer,), w=axis[0], attends_cls=bool(rng.random() < 0.5))


def built_model(rng, T):
    f = random_function(T=T, s=int(rng.integers(1, min(4, T) + 1)), rng=rng)
    try:
        return build(f, **BUILDS[rng.integers(len(BUILDS))]), f
    except SparseheadError:
        return build(f), f


def tampered(rng, model):
    """A built model with one thing changed: scales that cancel, moved weights, steps made steep, units made tiny."""
    layer = model.layers[0]
    kind = rng.integers(7)
    c = 10.0 ** rng.choice([-170, -100, -14, -8, -3, 3, 8, 14, 100, 150])
    if kind == 0:
        layer = replace(layer, W_Q=layer.W_Q * c, W_K=layer.W_K * rng.choice([1.0, 1 / c, 1.001]))
    elif kind == 1:
        layer = replace(
            layer, W_V=layer.W_V * c, b_V=None if layer.b_V is None else layer.b_V * c, W_C=layer.W_C / c
        )
    elif kind == 2:
        layer = replace(
            layer, W_K=layer.W_K + 10.0 ** rng.uniform(-16, 0.5) * rng.normal(size=layer.W_K.shape)
        )
    elif kind == 3:
        layer = replace(layer, W_V=layer.W_V + 10.0 ** rng.uniform(-16, 0) * rng.normal(size=layer.W_V.shape))
    elif kind == 4 and model.decoder:
        first = model.decoder[0]
        steep = Dense(first.W * c, first.b * c)
        if len(model.decoder) == 1:
            return replace(model, decoder=(steep,), w=model.w / c)
        after = replace(model.decoder[1], W=model.decoder[1].W / c)
        return replace(model, decoder=(steep, after, *model.decoder[2:]))
    elif kind == 5 and model.decoder:
        first = model.decoder[0]
        return replace(
            model,
            decoder=(
                Dense(first.W, first.b + 10.0 ** rng.uniform(-17, -1) * rng.normal(size=first.b.shape)),
                *model.decoder[1:],
            ),
        )
    else:
        # a further unit that is steep, and wakes up near an end of what the head can mix
        units = len(model.w)
        if len(model.decoder) == 1:
            first = model.decoder[0]
            reach = np.abs(first.b[rng.integers(units)]) + 10.0 ** rng.uniform(-16, -1) * rng.choice([-1, 1])
            W = np.hstack([first.W, first.W[:, :1]])
            slope = 10.0 ** rng.uniform(0, 16) * rng.choice([-1, 1])
            return replace(
                model, decoder=(Dense(W, np.append(first.b, -reach)),), w=np.append(model.w, slope)
            )
        layer = replace(layer, W_C=layer.W_C * (1 + 10.0 ** rng.uniform(-16, -1)))
    return replace(model, layers=(layer, *model.layers[1:]))


def poisoned(rng, model):
    """NaN or infinity in one weight, written past the constructor's check."""
    layer = model.layers[0]
    arrays = [
        layer.W_Q,
        layer.W_K,
        layer.W_V,
        layer.W_C,
        model.w,
        model.encoding.E,
        *(dense.W for dense in model.decoder),
    ]
    copies = [a.copy() for a in arrays]
    target = copies[rng.integers(len(copies))]
    target[tuple(rng.integers(n) for n in target.shape)] = rng.choice([np.nan, np.inf, -np.inf])
    q, k, v, c, w, E, *dense = copies
    changed = replace(model)
    object.__setattr__(changed, "w", w)
    parts = replace(layer)
    for name, value in zip(("W_Q", "W_K", "W_V", "W_C"), (q, k, v, c)):
        object.__setattr__(parts, name, value)
    encoding = replace(model.encoding)
    object.__setattr__(encoding, "E", E)
    decoder = tuple(replace(old) for old in model.decoder)
    for old, W in zip(decoder, dense):
        object.__setattr__(old, "W", W)
    for name, value in (("layers", (parts, *model.layers[1:])), ("encoding", encoding), ("decoder", decoder)):
        object.__setattr__(changed, name, value)
    return changed


def labelled(rng, model, T):
    """A function and a threshold at which the model is right, or wrong by a hair."""
    with np.errstate(all="ignore"):
        outputs = model(assignments(T))
    finite = outputs[np.isfinite(outputs)]
    support = tuple(
        sorted(int(i) for i in rng.choice(T, size=int(rng.integers(0, min(3, T) + 1)), replace=False))
    )
    label = int(rng.integers(2))
    f = from_table(T=T, support=support, table=(label,) * 2 ** len(support))
    if len(finite) == 0:
        return model, f
    extreme = float(finite.max() if label == 0 else finite.min())
    hair = rng.choice([0.0, 1e-17, 1e-16, 1e-15, 1e-13, 1e-10, 1e-6, 0.01, 1.0]) * max(
        abs(extreme), rng.choice([1e-300, 1.0])
    )
    kind = rng.integers(3)
    if kind == 0:
        # all outputs within about 1e-9 of the label
        spread = float(np.abs(finite - finite.mean()).max()) or 1.0
        scale = 1e-9 * rng.choice([0.3, 0.999999, 1.000001, 3.0]) / spread
        bias = label + (model.bias - float(finite.mean())) * scale
        if np.isfinite(scale) and np.isfinite(bias):
            return replace(model, w=model.w * scale, bias=bias), f
    if kind == 1 and np.ptp(finite) > 0:
        middle = float(rng.choice(finite))
        table = f_of_outputs(outputs, middle, T, support)
        return replace(model, threshold=middle + hair * rng.choice([-1, 1])), table
    threshold = extreme + (hair if rng.random() < 0.6 else -hair) * (1 if label == 0 else -1)
    return replace(model, threshold=threshold if np.isfinite(threshold) else 0.5), f


def f_of_outputs(outputs, threshold, T, support) -> SparseFunction:
    """The table over the support that agrees best with the model's predictions."""
    number = assignments(T)[:, list(support)].astype(int) @ (1 << np.arange(len(support)))
    votes = np.bincount(number, weights=np.where(outputs > threshold, 1.0, -1.0), minlength=2 ** len(support))
    return from_table(T=T, support=support, table=tuple(int(x > 0) for x in votes))


FAMILIES = ("random", "practical", "deep", "scores", "built", "tampered", "poisoned")
SHARES = (0.3, 0.15, 0.05, 0.12, 0.08, 0.22, 0.08)


def draw(rng) -> tuple[str, Model, SparseFunction]:
    """A family's name, a model and a function."""
    family = str(rng.choice(FAMILIES, p=SHARES))
    T = int(rng.choice([2, 3, 4, 5, 6, 7, 8, 10, 12], p=[0.2, 0.3, 0.25, 0.12, 0.06, 0.03, 0.02, 0.01, 0.01]))
    if family == "deep":
        return (
            family,
            *labelled(
                rng, random_model(rng, min(T, 4), practical=bool(rng.random() < 0.5), depth=2), min(T, 4)
            ),
        )
    if family == "scores":
        return (family, *labelled(rng, large_scores(rng, T), T))
    if family in ("built", "tampered"):
        model, f = built_model(rng, max(T, 3))
        if family == "tampered":
            model = tampered(rng, model)
            if rng.random() < 0.15:
                return (family, *labelled(rng, model, max(T, 3)))
        return family, model, f
    model, f = labelled(rng, random_model(rng, T, practical=family == "practical"), T)
    if family == "poisoned":
        if rng.random() < 0.5:
            model, f = built_model(rng, max(T, 3))
        model = poisoned(rng, model)
    return family, model, f
