"""Models whose values overflow float64, or nearly, on the way to a harmless output.

Magnitudes up to 1.7e308 are placed on purpose: a large map followed by a small one, large values that cancel (heads,
biases, tokens), large rows before a LayerNorm or a projection, a [CLS] token that is not attended to, small maps in a
row behind large values. In exact arithmetic most of these models compute their function; float64 may not.
"""

from dataclasses import replace

import numpy as np

from sparsehead._base.errors import SparseheadError
from sparsehead.functions import SparseFunction, assignments, from_table
from sparsehead.heads.block import Layer, LayerNorm, Mlp
from sparsehead.heads.encoding import bag, positional, trainable
from sparsehead.heads.model import Dense, Model

if __package__:
    from .fooling_models import built_model, weights
else:
    from fooling_models import built_model, weights  # type: ignore[no-redef]

KINDS = (
    "pair",
    "pair",
    "pair",
    "cancel heads",
    "cancel biases",
    "norm",
    "project",
    "cls",
    "underflow",
    "built",
    "swallowed",
    "swallowed",
)


def factor(rng):
    """10^x, most often at the end of float64's range or at its root, so that some inputs overflow and others do not."""
    low, high = ((307.3, 308.25), (153.3, 154.8), (100, 308))[rng.choice(3, p=[0.6, 0.2, 0.2])]
    return float(10.0 ** rng.uniform(low, high))


def base(rng, T):
    """A model of ordinary size with a random choice of parts."""
    kind = rng.integers(4)
    if kind < 2:
        encoding = positional(T) if kind == 0 else bag(T)
    else:
        d = int(rng.integers(2, 5))
        P = weights(rng, T, d) * (rng.random((T, 1)) < rng.choice([0.15, 1.0]))
        encoding = trainable(P, weights(rng, 2, d), weights(rng, d) * (rng.random() < 0.7))
    d, H = encoding.d, int(rng.choice([1, 2, 3], p=[0.5, 0.35, 0.15]))
    k, v = (int(rng.integers(1, 3)) for _ in range(2))
    moves = rng.choice([0.0, 1.0, 30.0])
    parts = {
        "W_Q": weights(rng, H, d, k),
        "W_K": moves * weights(rng, H, d, k),
        "W_V": weights(rng, H, d, v),
        "W_C": weights(rng, H, v, d),
        "sigma": str(rng.choice(["identity", "relu", "gelu"], p=[0.6, 0.3, 0.1])),
        "residual": bool(rng.random() < 0.25),
    }
    for name, shape in (("b_Q", (H, k)), ("b_K", (H, k)), ("b_V", (H, v)), ("b_C", (d,))):
        if rng.random() < 0.4:
            parts[name] = weights(rng, *shape)
    if rng.random() < 0.25:
        f = int(rng.integers(1, 4))
        act = str(rng.choice(["relu", "gelu"]))
        parts["mlp"] = Mlp(weights(rng, d, f), weights(rng, f), weights(rng, f, d), weights(rng, d), act)
    decoder, width = [], d
    for _ in range(int(rng.integers(0, 4))):
        units = int(rng.integers(1, 4))
        decoder.append(Dense(weights(rng, width, units), weights(rng, units)))
        width = units
    return Model(encoding, (Layer(**parts),), w=weights(rng, width), bias=float(rng.normal()), decoder=tuple(decoder),
                 attends_cls=bool(rng.random() < 0.6))  # fmt: skip


def swallowed(rng, T):
    """Heads that attend to one position each and cancel, a large bias, and a ReLU that turns infinity into 0."""
    d, H = 3, int(rng.integers(1, 4))
    P, K, V = np.zeros((T, d)), np.zeros((H, d, 1)), np.zeros((H, d, 1))
    places = rng.choice(T, size=2, replace=False)
    P[places[0], 1] = P[places[1], 2] = 1.0
    axes = rng.integers(1, d, H)
    K[np.arange(H), axes, 0], V[:, 0, 0] = rng.choice([5.0, 40.0, 400.0]), rng.choice([-1.0, 1.0], H)
    c = factor(rng)
    C, b = np.zeros((H, 1, d)), np.zeros(d)
    C[:, 0, 0], b[0] = times(rng.uniform(-1.2, 1.2, H), c), times(rng.uniform(-1.2, 1.2), c)
    layer = Layer(np.zeros((H, d, 1)), K, V, C, b_Q=np.ones((H, 1)), b_C=b, project=bool(rng.random() < 0.15))
    small = np.zeros((d, 1))
    small[0] = rng.choice([-1.0, rng.uniform(-2, 2)]) / c
    first = Dense(
        small, rng.choice([np.abs(small[0]) * 1.79e308 * rng.integers(1, 5), rng.uniform(-3, 3, 1)])
    )
    second = Dense(rng.uniform(-4, 4, (1, 1)), rng.uniform(-3, 3, 1))
    E = np.array([[0.0, 0, 0], [1, 0, 0]])
    norm = LayerNorm(np.ones(d), np.zeros(d)) if rng.random() < 0.15 else None
    return Model(trainable(P, E, np.zeros(d)), (layer,), w=rng.choice([-1.0, 1.0], 1), bias=1.0, final_norm=norm,
                 decoder=(first, second)[: int(rng.integers(1, 3))], attends_cls=False)  # fmt: skip


def maps(model):
    """Names of the affine maps in the order in which the model applies them; biases belong to the map before."""
    middle = ["W_1", "W_2"] if model.layers[0].mlp is not None else []
    return ["W_V", "W_C", *middle, *range(len(model.decoder)), "w"]


def times(x, c):
    """x c, kept within float64: a model's weights are finite numbers."""
    most = np.finfo(float).max
    return np.clip(x * c, -most, most)


def scaled(model, name, c, b=1.0):
    """The model with one map multiplied by c, and its bias by b."""
    layer = model.layers[0]
    if name == "w":
        return replace(model, w=times(model.w, c), bias=float(times(model.bias, b)))
    if isinstance(name, int):
        old = model.decoder[name]
        dense = Dense(times(old.W, c), times(old.b, b))
        return replace(model, decoder=(*model.decoder[:name], dense, *model.decoder[name + 1 :]))
    part = layer.mlp if name in ("W_1", "W_2") else layer
    factors = {name: c, "b" + name[1:]: b}
    changed = {k: times(getattr(part, k), x) for k, x in factors.items() if getattr(part, k) is not None}
    part = replace(part, **changed)
    return replace(model, layers=(replace(layer, mlp=part) if name in ("W_1", "W_2") else part,))


def placed(rng, model, kind):
    """The model with large numbers put in one place and taken back later."""
    layer, c = model.layers[0], factor(rng)
    names = maps(model)
    if kind == "pair":
        i = int(rng.integers(len(names) - 1))
        j = int(rng.integers(i + 1, len(names)))
        for name in names[i:j]:
            # biases between the two maps are scaled as well, so that exact arithmetic computes what it did
            model = scaled(model, name, c if name == names[i] else 1.0, c)
        return scaled(model, names[j], 1 / c)
    if kind == "cancel heads" and layer.H > 1:
        W_C = layer.W_C.copy()
        W_C[1] = -W_C[0]
        model = replace(model, layers=(replace(layer, W_C=W_C),))
        if rng.random() < 0.5:
            shared = {n: np.repeat(getattr(layer, n)[:1], layer.H, axis=0) for n in ("W_V",)}
            model = replace(model, layers=(replace(model.layers[0], b_V=None, **shared),))
        return scaled(scaled(model, "W_C", c, c), names[2], 1 / c)
    if kind == "cancel biases":
        b = rng.choice([-1.0, 1.0], model.d) * 10.0 ** rng.uniform(307, 308.2)
        cls = -b if rng.random() < 0.5 else model.encoding.cls
        model = replace(
            model,
            encoding=replace(model.encoding, cls=cls),
            layers=(replace(layer, b_C=b, residual=bool(rng.random() < 0.7)),),
        )
        return scaled(model, names[2], 1 / c)
    if kind == "norm":
        norm = LayerNorm(
            weights(rng, model.d) + 0.5, weights(rng, model.d), eps=float(rng.choice([1e-5, 1.0]))
        )
        where = rng.integers(4)
        if where == 0:
            norm = replace(norm, gain=times(norm.gain, c))
            return scaled(replace(model, final_norm=norm), 0 if model.decoder else "w", 1 / c)
        if where == 1:
            encoding = replace(model.encoding, E=times(model.encoding.E, c))
            return replace(
                model, encoding=encoding, layers=(replace(layer, norm_attention=norm, residual=False),)
            )
        if where == 2 and layer.mlp is not None:
            model = replace(model, layers=(replace(layer, norm_mlp=norm),))
        else:
            model = replace(model, final_norm=norm)
        return scaled(model, "W_C", float(c * rng.choice([1.0, 1e-150])))
    if kind == "project":
        return scaled(replace(model, layers=(replace(layer, project=True),)), "W_C", c)
    if kind == "cls":
        encoding = replace(model.encoding, cls=times(model.encoding.cls, c))
        W_Q = layer.W_Q / c if rng.random() < 0.7 else 0 * layer.W_Q
        model = replace(model, encoding=encoding, layers=(replace(layer, W_Q=W_Q),))
        return replace(model, attends_cls=bool(rng.random() < 0.2))
    if kind == "underflow" and len(names) > 3:
        model = scaled(model, "W_V", 1e300, 1e300)
        for name in names[1:3]:
            model = scaled(model, name, 10.0 ** -rng.integers(160, 220))
        return scaled(model, names[3], 10.0 ** rng.integers(60, 140))
    return scaled(scaled(model, "W_C", c, c), names[2], 1 / c)


def draw(rng, T: int) -> tuple[str, Model, SparseFunction]:
    """A kind's name, a model, and a constant function of up to three positions or a built head's own function."""
    kind = str(rng.choice(KINDS))
    support = tuple(sorted(int(i) for i in rng.choice(T, size=int(rng.integers(0, 3)), replace=False)))
    f = from_table(T=T, support=support, table=(int(rng.integers(2)),) * 2 ** len(support))
    with np.errstate(all="ignore"):
        if kind == "built":
            try:
                model, f = built_model(rng, T)
            except SparseheadError:
                return draw(rng, T)
            return kind, placed(rng, model, str(rng.choice(KINDS[:9]))), f
        if kind == "swallowed":
            return kind, swallowed(rng, T), f
        return kind, placed(rng, base(rng, T), kind), f


def probes(rng, f: SparseFunction, copies: int = 24):
    """Every input up to T = 12; beyond, each pattern of relevant bits with the rest plain, one-hot and random."""
    if f.T <= 12:
        return assignments(f.T)
    one_hot = np.eye(f.T, dtype=np.uint8)
    share = rng.random((copies, 1))
    rest = np.concatenate(
        [np.zeros((1, f.T)), np.ones((1, f.T)), one_hot, 1 - one_hot, rng.random((copies, f.T)) < share]
    )
    patterns = assignments(f.s)
    bits = np.repeat(rest, len(patterns), axis=0).astype(np.uint8)
    bits[:, list(f.support)] = np.tile(patterns, (len(rest), 1))
    return bits


def labelled(rng, model, f, outputs):
    """The read-out or threshold moved so that these outputs, in long double, are f's or nearly so."""
    label = float(f.values[0])
    outputs = outputs[np.isfinite(outputs)]
    if len(outputs) == 0 or len(set(f.values.tolist())) > 1:
        return model
    low, high = float(outputs.min()), float(outputs.max())
    if rng.random() < 0.5:
        # within about 1e-9 of the label
        spread = (high - low) or 1.0
        scale = 1e-9 * rng.choice([0.1, 0.9, 1.5]) / spread
        moved = label + (model.bias - (low / 2 + high / 2)) * scale
        if np.isfinite(scale) and np.isfinite(moved):
            return replace(model, w=model.w * scale, bias=moved)
    room = rng.choice([1e-12, 1e-3, 0.5]) * max(1.0, abs(low), abs(high))
    threshold = high + room if label == 0 else low - room
    return replace(model, threshold=threshold if np.isfinite(threshold) else 0.5)
