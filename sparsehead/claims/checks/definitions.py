"""The definitions agree with one another: every special form is the general head with its parts filled in."""

import itertools

import numpy as np

from ... import encoding as encodings
from ...block import Layer
from ...capacity.norms import matrix_norm, matrix_norms
from ...functions import (
    conjunction,
    from_table,
    is_monotone,
    is_sparse,
    is_symmetric,
    majority,
    parity,
    sup_norm,
    uniform_distance,
)
from ...heads import (
    HeadWeights,
    activation,
    attention_head,
    mlp,
    project_rows,
    softmax,
    tf_deep,
    tf_head,
    tf_heads,
    tf_layer,
    tf_mlp,
    tf_scalar,
)
from ...model import Model
from ...rng import stream
from ...types import Array, Float
from ..claim import Context, Finding, finding

ROUNDING = 1e-12  # float64 sums of a few dozen products


def _case(context: Context, name: str) -> tuple[Float[Array, "T d"], HeadWeights, np.random.Generator]:
    rng = stream(context.seed, name)
    shapes = [(6, 3), (6, 3), (6, 4), (4, 6)]
    return rng.normal(size=(7, 6)), HeadWeights(*(rng.normal(size=s) for s in shapes)), rng


def _row_by_row(X: Float[Array, "T d"], W: HeadWeights, z: Float[Array, " d"]) -> Float[Array, " d"]:
    """The layer's output for the context z, from the general head and nothing else."""
    return attention_head(
        X,
        z,
        score=lambda x, z: float(z @ W.W_Q @ W.W_K.T @ x),
        norm=softmax,
        phi_in=lambda x: W.W_V.T @ x,
        phi_out=lambda y: W.W_C.T @ activation("relu")(y),
    )


def _agreement(label: str, paper: str, error: float, detail: str) -> Finding:
    return finding(
        label,
        error < ROUNDING,
        paper=paper,
        ours=f"largest difference {error:.1e}",
        detail=detail,
        error=error,
    )


def check_matrix_norms(context: Context) -> Finding:
    M = np.array([[3.0, 0.0], [4.0, 1.0], [0.0, 0.0]])
    got = [matrix_norm(M, 2, 1), matrix_norm(M.T, 2, 1), matrix_norm(M.T, 2, np.inf), matrix_norm(M, 1, 1)]
    error = float(np.abs(np.array(got) - [6, 3 + 17**0.5, 17**0.5, 8]).max())
    rng = stream(context.seed, "norms")
    chains = [matrix_norms(rng.normal(size=(5, n))) for n in (1, 3, 9)]
    ordered = all(
        n.spectral <= n.frobenius * (1 + ROUNDING) <= n.n21 * (1 + 2 * ROUNDING)
        and n.n21 <= n.columns**0.5 * n.frobenius * (1 + ROUNDING)
        for n in chains
    )
    return finding(
        "matrix-norms",
        error < ROUNDING and ordered,
        paper="columns first",
        ours=f"{got[0]:.4g}, {got[1]:.4g}, {got[2]:.4g}, {got[3]:.4g} as by hand",
        detail="||M||_{2,1}, ||M^T||_{2,1}, ||M^T||_{2,inf}, ||M||_{1,1} of [[3,0],[4,1],[0,0]]; the chain "
        "on random M.",
    )


def check_attention_head(context: Context) -> Finding:
    X, W, rng = _case(context, "head")
    z = rng.normal(size=6)
    a = softmax(np.array([z @ W.W_Q @ W.W_K.T @ x for x in X]))
    by_hand = W.W_C.T @ np.maximum(sum(a[t] * (W.W_V.T @ X[t]) for t in range(7)), 0)
    error = float(np.abs(_row_by_row(X, W, z) - by_hand).max())
    return _agreement(
        "attention-head", "the displayed sum", error, "The general head against its sum, term by term."
    )


def check_self_attention(context: Context) -> Finding:
    X, W, _ = _case(context, "self")
    layer = tf_layer(X, W)
    error = max(float(np.abs(_row_by_row(X, W, X[t]) - layer[t]).max()) for t in range(7))
    return _agreement(
        "self-attention", "z = x_tau", error, "Every row of the layer is the general head with z = x_tau."
    )


def check_tf_layer(context: Context) -> Finding:
    X, W, _ = _case(context, "layer")
    S = X @ W.W_Q @ (X @ W.W_K).T
    A = np.exp(S) / np.exp(S).sum(axis=1, keepdims=True)
    error = float(np.abs(tf_layer(X, W) - np.maximum(A @ X @ W.W_V, 0) @ W.W_C).max())
    return _agreement(
        "tf-layer", "the matrix form", error, "The layer against softmax written out on one random case."
    )


def check_tf_scalar(context: Context) -> Finding:
    X, W, rng = _case(context, "scalar")
    w = rng.normal(size=6)
    error = abs(tf_scalar(X, W, w) - float(w @ _row_by_row(X, W, X[-1])))
    return _agreement(
        "tf-scalar", "w^T y_[CLS]", error, "[CLS] is the last row and is attended like the others."
    )


def check_tf_head(context: Context) -> Finding:
    X, W, _ = _case(context, "tf-head")
    eye = HeadWeights(W.W_Q @ W.W_K.T, np.eye(6), np.eye(6), np.eye(6))
    layer = tf_layer(X, eye)
    rows = [tf_head(X, X[t], W_QK=eye.W_Q, W_V=np.eye(6)) for t in range(7)]
    error = float(np.abs(np.array(rows) - layer).max())
    return _agreement("tf-head", "k = d, no W_C", error, "The head is the layer with W_C = I, row by row.")


def check_tf_heads(context: Context) -> Finding:
    X, W, rng = _case(context, "heads")
    V = HeadWeights(*(rng.normal(size=M.shape) for M in (W.W_Q, W.W_K, W.W_V, W.W_C)))
    error = float(np.abs(tf_heads(X, [W, V]) - tf_layer(X, W) - tf_layer(X, V)).max())
    return _agreement("tf-heads", "sum of heads", error, "Two heads with different weights, summed.")


def check_tf_mlp(context: Context) -> Finding:
    X, W, rng = _case(context, "mlp")
    W_1, W_2, w = rng.normal(size=(6, 5)), rng.normal(size=(5, 4)), rng.normal(size=4)
    y = tf_heads(X, [W, W], sigma="identity")[-1]
    hidden = [max(0.0, float(y @ W_1[:, j])) for j in range(5)]
    output = sum(w[j] * max(0.0, sum(h * W_2[i, j] for i, h in enumerate(hidden))) for j in range(4))
    error = max(abs(tf_mlp(X, [W, W], W_1, W_2, w) - output), abs(mlp(y, W_1, W_2, w) - output))
    return _agreement(
        "tf-mlp", "((y^T W_1)_+ W_2)_+ w", float(error), "Two heads, read by the net unit by unit."
    )


def check_tf_deep(context: Context) -> Finding:
    X, W, _ = _case(context, "deep")
    one = HeadWeights(W.W_Q, W.W_K, W.W_V, W.W_C)
    step = lambda Z: project_rows(  # noqa: E731
        np.maximum(project_rows(softmax(Z @ W.W_Q @ (Z @ W.W_K).T) @ Z @ W.W_V), 0) @ W.W_C
    )
    error = float(np.abs(tf_deep(X, [[one], [one], [one]]) - step(step(step(X)))).max())
    longest = float(np.linalg.norm(step(X), axis=1).max())
    return _agreement(
        "tf-deep",
        "unit-ball projection",
        max(error, longest - 1),
        f"Three layers; longest row {longest:.3f} <= 1.",
    )


def check_model(context: Context) -> Finding:
    rng = stream(context.seed, "model")
    W = HeadWeights(*(rng.normal(size=s) for s in [(9, 3), (9, 3), (9, 4), (4, 9)]))
    w = rng.normal(size=9)
    layer = Layer(W.W_Q[None], W.W_K[None], W.W_V[None], W.W_C[None], sigma="relu")
    model = Model(encodings.positional(6), (layer,), w)
    bits = np.array(list(itertools.product([0, 1], repeat=6)))
    slow = np.array([tf_scalar(model.encoding(b), W, w) for b in bits])
    error = float(np.abs(model(bits) - slow).max())
    return _agreement(
        "model", "f_tf-scalar", error, "All 64 inputs of T = 6, against the definition one at a time."
    )


def check_sparse_function(context: Context) -> Finding:
    f = from_table(T=6, support=(1, 4, 5), table=(0, 1, 1, 0, 0, 1, 1, 0))  # position 5 does not matter
    bits = np.array(list(itertools.product([0, 1], repeat=6)))
    same = all(f(a) == f(b) for a in bits for b in bits if (a[[1, 4]] == b[[1, 4]]).all())
    right = f.support == (1, 4) and is_sparse(f, 2) and is_sparse(f, 3) and not is_sparse(f, 1) and same
    return finding(
        "sparse-function",
        right,
        paper="depends on I only",
        ours=f"support {f.support} of (1, 4, 5)",
        detail="A table on three positions that ignores one: the support is minimal, and equal bits there "
        "give equal values for all pairs of inputs of T = 6.",
    )


def check_symmetric(context: Context) -> Finding:
    def slowly(table: tuple[int, ...]) -> bool:
        by_count: dict[int, set[int]] = {}
        for index, value in enumerate(table):
            by_count.setdefault(index.bit_count(), set()).add(value)
        return all(len(values) == 1 for values in by_count.values())

    tables = list(itertools.product([0, 1], repeat=8))
    wrong = [t for t in tables if from_table(T=5, support=(0, 2, 3), table=t).s == 3
             and is_symmetric(from_table(T=5, support=(0, 2, 3), table=t)) != slowly(t)]  # fmt: skip
    named = is_symmetric(parity((0, 1, 3), T=5)) and not is_monotone(parity((0, 1, 3), T=5))
    named = named and is_monotone(majority((0, 1, 3), T=5)) and is_monotone(conjunction((0, 1), T=5))
    return finding(
        "symmetric",
        not wrong and named,
        paper="depends on the count of ones",
        ours=f"{len(wrong)} of {len(tables)} tables on 3 bits judged otherwise",
        detail="Against the definition by counting; parity is symmetric but not monotone, majority and AND "
        "are both.",
    )


def check_bounded_function(context: Context) -> Finding:
    norms = [sup_norm(from_table(T=3, support=(), table=(0,))), sup_norm(parity((0, 2), T=3))]
    return finding("bounded-function", norms == [0.0, 1.0], paper="||f||_inf <= B", ours=f"{norms[0]}, {norms[1]}",
                   detail="The constant 0 and a parity; every 0/1 function is 1-bounded.")  # fmt: skip


def check_uniform_approximation(context: Context) -> Finding:
    bits = np.array(list(itertools.product([0, 1], repeat=5)))
    f, g = conjunction((0, 2), T=5), conjunction((0, 2, 4), T=5)
    direct = float(np.abs(f(bits) - g(bits)).max())
    right = uniform_distance(f, g) == direct == 1 and uniform_distance(f, f) == 0
    return finding("uniform-approximation", right, paper="sup over all b", ours=f"{direct:g} for AND_2 and AND_3",
                   detail="The supremum over all 32 inputs of T = 5; 0 for a function and itself.")  # fmt: skip


def check_encodings(context: Context) -> Finding:
    rng = stream(context.seed, "encodings")
    b = np.array([1, 0, 1, 1, 0])
    a = encodings.random_positions(5, 40, rng=rng)
    c = encodings.random_bag(5, 40, rng=rng)
    error = float(np.abs(a(b)[:5] - (a.E[b] + a.positions())).max())
    error = max(error, float(np.abs(c(b)[:5] - np.diag(b) @ c.positions()).max()))
    reserved = np.vstack([a.E, a.cls])
    error = max(error, float(np.abs(reserved @ a.positions().T).max()), encodings.positional(5).coherence())
    return finding(
        "encodings",
        error < ROUNDING and a.coherence() > 0,
        paper="X = E_b + P; X = diag(b) V",
        ours=f"Delta = 0 one-hot, {a.coherence():.3f} for random rows at d = 40",
        detail="Tokens against the displays; E_0, E_1 and [CLS] are exactly orthogonal to the random rows.",
        delta=a.coherence(),
    )


def check_bag_symmetry(context: Context) -> Finding:
    rng = stream(context.seed, "bag")
    W = HeadWeights(*(rng.normal(size=s) for s in [(9, 3), (9, 3), (9, 4), (4, 9)]))
    w, X = rng.normal(size=9), encodings.bag(6)(np.array([1, 0, 1, 1, 0, 1]))
    order = np.r_[rng.permutation(6), 6]
    error = abs(tf_scalar(X[order], W, w) - tf_scalar(X, W, w))
    return _agreement(
        "bag-symmetry", "f(Pi diag(b) V) = f(diag(b) V)", error, "One random permutation of the rows."
    )
