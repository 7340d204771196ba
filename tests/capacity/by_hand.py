"""A second, slow computation of a model's capacity, from the theory alone (docs/theory.md sections 1, 3, 4, 5).

It shares no code with `sparsehead.capacity`: no logarithms of norms, no stages, no thin QR. A model is a list of
`Step`s from the tokens to the output. Each step says which matrices it uses, on how many points of which length, how
far an error of each moves the step's own output, how far the step stretches an error of its input, and how long the
rows are that leave it. `items` multiplies the stretches of what follows into each weight p.
"""

import itertools
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import erf

SLOPES = np.linspace(-8, 8, 160_001)
LIPSCHITZ = {
    "identity": 1.0,
    "relu": 1.0,
    "tanh": 1.0,
    # the largest slope of x Phi(x), on a grid; the slope is flat there, so the grid costs less than 1e-9
    "gelu": float(
        (
            (1 + erf(SLOPES / math.sqrt(2))) / 2 + SLOPES * np.exp(-(SLOPES**2) / 2) / math.sqrt(2 * math.pi)
        ).max()
    ),
}


@dataclass
class Part:
    """One item: a matrix on N points of length at most b; an error of x there is p x at the output."""

    name: str
    W: np.ndarray
    b: float
    N: float
    p: float
    score: bool = False  # W is W_QK, a ball of matrices in the Frobenius norm


@dataclass
class Step:
    """Parts with the p they have at this step's output, its Lipschitz constant, the radius that leaves it."""

    parts: list[Part] = field(default_factory=list)
    stretch: float = 1.0
    radius: float = math.inf


def spectral(W):
    return math.sqrt(max(np.linalg.eigvalsh(W.T @ W).max(), 0.0))


def column_sum(W):
    """||W||_{2,1}, column by column."""
    return sum(math.sqrt(sum(x * x for x in column)) for column in W.T)


def longest_token(encoding):
    """Over both values of every bit, and [CLS]."""
    lengths = [math.sqrt(sum(x * x for x in encoding.cls))]
    for t, position in enumerate(np.eye(encoding.T, encoding.d, k=3) if encoding.P is None else encoding.P):
        for bit in (0, 1):
            token = encoding.E[bit] + position if encoding.kind != "bag" else bit * position
            lengths.append(math.sqrt(sum(x * x for x in token)))
            assert t < encoding.T
    return max(lengths)


def folded(norm, W, b):
    """LN(x) W + b = n(x) (diag(g) W) + (bias W + b), n the LayerNorm without weights; the bias, or None."""
    if norm is None:
        return W, b
    return np.diag(norm.gain) @ W, norm.bias @ W + (np.zeros(W.shape[1]) if b is None else b)


def appended(W, b, R):
    """The matrix with its bias as a last row, and the length of the points with a 1 appended (theory 1.3)."""
    if b is None or not np.any(b):
        return W, R
    return np.vstack([W, b]), math.sqrt(R * R + 1)


def normed(norm, R, d):
    """Radius and Lipschitz constant of a LayerNorm without weights (theory 4.4)."""
    return (R, 1.0) if norm is None else (math.sqrt(d), 1 / math.sqrt(norm.eps))


def value_parts(name, V, C, sigma, R, N, N_C):
    """Parts of the value path x -> sigma(x V) C, and its Lipschitz constant."""
    if sigma == "identity":
        return [Part(f"{name}.V", V @ C, R, N, 1.0)], spectral(V @ C)
    L = LIPSCHITZ[sigma]
    return [
        Part(f"{name}.V", V, R, N, L * spectral(C)),
        Part(f"{name}.C", C, L * spectral(V) * R, N_C, 1.0),
    ], L * spectral(V) * spectral(C)


def attention_step(layer, name, R, pairs, values, rows, softmax):
    """Every token a query: [x] + sum_h sigma(softmax(scores) x W_V) W_C + b_C (theory 4.3, 5.4)."""
    x, lip = normed(layer.norm_attention, R, layer.d)
    step = Step([], 1.0 if layer.residual else 0.0, R if layer.residual else 0.0)
    for h in range(layer.H):
        head = f"{name}.head{h}"
        Q, z = appended(  # type: ignore[call-arg]
            *folded(layer.norm_attention, layer.W_Q[h], None if layer.b_Q is None else layer.b_Q[h]), x
        )
        K, _ = folded(layer.norm_attention, layer.W_K[h], None)  # the keys' bias moves all scores alike
        V, v = appended(  # type: ignore[call-arg]
            *folded(layer.norm_attention, layer.W_V[h], None if layer.b_V is None else layer.b_V[h]), x
        )
        QK = Q @ K.T / layer.temperature
        found, path = value_parts(head, V, layer.W_C[h], layer.sigma, v, values, rows)
        step.parts += [Part(f"{head}.QK", QK, z * x, pairs, softmax * path * v, score=True), *found]
        step.stretch += lip * path * (1 + softmax * v * (x + z) * spectral(QK))
        step.radius += path * v
    if layer.b_C is not None and np.any(layer.b_C):
        step.parts.append(Part(f"{name}.b_C", layer.b_C[None], 1.0, 1, 1.0))
        step.radius += math.sqrt(sum(x * x for x in layer.b_C))
    return _projected(step, layer)


def cls_step(model, m, first, softmax):
    """One layer read at [CLS] (theory D4'): a score is <kappa, x>, the residual a constant.

    first: the first linear map of the read-out (W, b) where nothing nonlinear lies between, else None.
    """
    layer, encoding = model.layers[0], model.encoding
    tokens = 2 * model.T + (1 if model.attends_cls else 0)
    x, lip = normed(layer.norm_attention, longest_token(encoding), model.d)
    two_hot = encoding.kind == "trainable" and layer.norm_attention is None
    x = math.sqrt(2) if two_hot else x
    z = encoding.cls if layer.norm_attention is None else layer.norm_attention(encoding.cls)
    step = Step([], 0.0, 0.0)
    for h in range(layer.H):
        head = f"layer0.head{h}"
        q = z @ layer.W_Q[h] + (0 if layer.b_Q is None else layer.b_Q[h])
        kappa = folded(layer.norm_attention, layer.W_K[h], None)[0] @ q / layer.temperature
        V, b_V = folded(layer.norm_attention, layer.W_V[h], None if layer.b_V is None else layer.b_V[h])
        if two_hot:
            kappa, V = two_hot_rows(encoding) @ kappa, two_hot_rows(encoding) @ V
        V, v = appended(V, b_V, x)
        C = layer.W_C[h] if first is None else layer.W_C[h] @ first[0]
        found, path = value_parts(head, V, C, layer.sigma, v, min(m, tokens), m)
        length = math.sqrt(sum(kappa**2))
        step.parts += [Part(f"{head}.QK", kappa[:, None], x, tokens, softmax * path * v), *found]
        step.stretch += lip * path * (1 + softmax * v * length)
        step.radius += path * v
    constant = (0 if layer.b_C is None else layer.b_C) + (encoding.cls if layer.residual else 0)
    constant = np.zeros(model.d) + constant
    constant = constant if first is None else constant @ first[0] + first[1]
    if np.any(constant):
        step.parts.append(Part("constant", constant[None], 1.0, 1, 1.0))
        step.radius += math.sqrt(sum(constant**2))
    return _projected(step, layer)


def _projected(step, layer):
    return Step(step.parts, step.stretch, min(step.radius, 1.0) if layer.project else step.radius)


def two_hot_rows(encoding):
    """A token is one row for its bit plus one for its position: a two-hot vector, of length sqrt 2, times this."""
    positions = np.eye(encoding.T, encoding.d, k=3) if encoding.P is None else encoding.P
    return np.array([*encoding.E, *positions, encoding.cls])


def embedding_step(model):
    M = two_hot_rows(model.encoding)
    return Step(
        [Part("embedding", M, math.sqrt(2), 2 * model.T + 1, 1.0)], math.nan, spectral(M) * math.sqrt(2)
    )


def mlp_step(layer, name, R, N):
    x, lip = normed(layer.norm_mlp, R, layer.d)
    L = LIPSCHITZ[layer.mlp.activation]
    W_1, x = appended(*folded(layer.norm_mlp, layer.mlp.W_1, layer.mlp.b_1), x)  # type: ignore[call-arg]
    W_2, hidden = appended(layer.mlp.W_2, layer.mlp.b_2, L * spectral(W_1) * x)
    res = 1.0 if layer.residual else 0.0
    parts = [
        Part(f"{name}.mlp.W_1", W_1, x, N, L * spectral(W_2)),
        Part(f"{name}.mlp.W_2", W_2, hidden, N, 1.0),
    ]
    stretch = res + lip * L * spectral(W_1) * spectral(W_2)
    return _projected(Step(parts, stretch, res * R + spectral(W_2) * hidden), layer)


def read_steps(model, R, m, done):
    """The decoder's ReLU layers from number `done` on, and w."""
    steps, norm = [], model.final_norm
    maps = [(f"decoder{i}", dense.W, dense.b) for i, dense in enumerate(model.decoder)]
    for name, W, b in [*maps, ("w", model.w[:, None], np.array([model.bias]))][done:]:
        x, lip = normed(norm, R, len(W))
        W, x = appended(*folded(norm, W, b), x)  # type: ignore[call-arg]
        steps.append(Step([Part(name, W, x, m, 1.0)], lip * spectral(W), spectral(W) * x))
        R, norm = steps[-1].radius, None
    return steps


def steps(model, m, softmax=1.0):
    """The model from its tokens to its output; softmax is the constant of 4.1 (1, in the paper 2)."""
    first, T = model.layers[0], model.T
    trained = model.encoding.kind == "trainable"
    if model.L == 1:
        found = [embedding_step(model)] if trained and first.norm_attention is not None else []
        merged = first.mlp is None and not first.project and model.final_norm is None
        dense = model.decoder[0] if model.decoder else None
        read = (model.w[:, None], np.array([model.bias])) if dense is None else (dense.W, dense.b)
        found.append(cls_step(model, m, read if merged else None, softmax))
        if first.mlp is not None:
            found.append(mlp_step(first, "layer0", found[-1].radius, m))
        return found + (read_steps(model, found[-1].radius, m, 1 if merged else 0))
    found = [embedding_step(model)] if trained else []
    R = found[0].radius if trained else longest_token(model.encoding)
    attended = T + (1 if model.attends_cls else 0)
    tokens = 2 * T + (1 if model.attends_cls else 0)
    for i, layer in enumerate(model.layers):
        rows = m if i == model.L - 1 else m * (T + 1)  # the last layer is read at [CLS] alone
        pairs, values = rows * attended, rows
        if i == 0:
            # there are few distinct tokens, each a query ([CLS] too) and, where attended, a key
            pairs, values = min(pairs, (2 * T + 1) * tokens), min(values, tokens)
        found.append(attention_step(layer, f"layer{i}", R, pairs, values, rows, softmax))
        if layer.mlp is not None:
            found.append(mlp_step(layer, f"layer{i}", found[-1].radius, rows))
        R = found[-1].radius
    return found + read_steps(model, R, m, 0)


def items(model, m, softmax=1.0):
    """All parts in order, with p at the model's output."""
    found: list[Any] = []
    S = 1.0
    for step in reversed(steps(model, m, softmax)):
        found[:0] = [Part(k.name, k.W, k.b, k.N, k.p * S, k.score) for k in step.parts]
        S *= step.stretch
    return found


def Lambda(d, N):
    """(ln^{1/3}(d + 1) + ln^{1/3}(2 N d + 1))^3 (theory 3.4)."""
    return (math.log(d + 1) ** (1 / 3) + math.log(2 * N * d + 1) ** (1 / 3)) ** 3


def price(part, form):
    """r and lambda of c = r^2 lambda, and the dimension: what the form charges for one part."""
    W, (rows, columns) = part.W, part.W.shape
    dim = min(rows * columns, part.N) if part.score else columns * min(rows, part.N)
    if form == "trauger-tewari":
        return sum(abs(x) for x in W.flat) * part.b, 4 * math.log(2 * rows * columns + 1), dim
    if form == "paper":
        size = column_sum(W.T) if part.score else column_sum(W)
        return size * part.b, math.log((rows if part.score else columns) * part.N), dim
    if part.score:
        return math.sqrt(sum(x * x for x in W.flat)) * part.b, math.log(2 * part.N + 1), dim
    return column_sum(W) * part.b, math.log(2 * part.N + 1) if columns == 1 else Lambda(columns, part.N), dim


def closed(terms, eps):
    """(sum c^{1/3} p^{2/3})^3 / eps^2 over (r, lambda, dim, p)."""
    return sum((r * r * lam) ** (1 / 3) * p ** (2 / 3) for r, lam, _, p in terms) ** 3 / eps**2


def least(terms, eps, *, parametric_only):
    """The least sum of prices over all splits, by trying every choice of price for every part.

    A part costs lambda (rho/y)^2, or dim ln(1 + 2 rho/y), or nothing at y = rho = r p/eps. With the choices fixed the
    sum is convex in the shares y, which are found by bisection over the common slope.
    """
    terms = [(r * p / eps, lam, dim) for r, lam, dim, p in terms if r * p > 0]
    kinds = ("volume", "nothing") if parametric_only else ("square", "volume", "nothing")
    best = math.inf
    for choice in itertools.product(kinds, repeat=len(terms)):
        room = 1 - sum(t[0] for t, kind in zip(terms, choice, strict=True) if kind == "nothing")
        rest = [(*t, kind) for t, kind in zip(terms, choice, strict=True) if kind != "nothing"]
        if room >= 0 and not rest:
            return 0.0
        if room > 0:
            best = min(best, _convex(rest, room))
    return best


def _convex(rest, room):
    low, high = -200.0, 200.0
    for _ in range(200):
        middle = (low + high) / 2
        if sum(_share(*t, math.exp(middle)) for t in rest) > room:  # type: ignore[call-arg]
            low = middle
        else:
            high = middle
    shares = [_share(*t, math.exp(high)) for t in rest]  # type: ignore[call-arg]
    costs = [
        lam * (rho / y) ** 2 if kind == "square" else dim * math.log(1 + 2 * rho / y)
        for (rho, lam, dim, kind), y in zip(rest, shares, strict=True)
    ]
    return sum(costs)


def _share(rho, lam, dim, kind, mu):
    """The y at which the price falls with slope mu."""
    if kind == "square":
        return (2 * lam * rho**2 / mu) ** (1 / 3)
    a = (
        2 * dim * rho / mu
    )  # 2 dim rho/(y^2 + 2 rho y) = mu: y = -rho + sqrt(rho^2 + a), without the difference
    return a / (rho + math.sqrt(rho**2 + a))
