"""Consistency of definitions: every special form is the general head with its own Score, Norm, phi_in and phi_out."""

import itertools
import math

import numpy as np

from sparsehead._base.rng import stream
from sparsehead._base.types import Array, Float
from sparsehead.capacity.norms import matrix_norm, matrix_norms
from sparsehead.heads import encoding as encodings
from sparsehead.heads import heads
from sparsehead.heads.block import Layer
from sparsehead.heads.heads import HeadWeights
from sparsehead.heads.model import Model

from .claim import ROUNDING, Claim, Context, Finding, claim, finding


def _case(context: Context, name: str) -> tuple[Float[Array, "T d"], HeadWeights, np.random.Generator]:
    rng = stream(context.seed, name)
    shapes = [(6, 3), (6, 3), (6, 4), (4, 6)]
    return rng.normal(size=(7, 6)), HeadWeights(*(rng.normal(size=s) for s in shapes)), rng


def _row_by_row(X: Float[Array, "T d"], W: HeadWeights, z: Float[Array, " d"]) -> Float[Array, " d"]:
    """Return the layer's output for the context z, computed with the general head alone."""
    return heads.attention_head(
        X,
        z,
        score=lambda x, z: float(z @ W.W_Q @ W.W_K.T @ x),
        norm=heads.softmax,
        phi_in=lambda x: W.W_V.T @ x,
        phi_out=lambda y: W.W_C.T @ heads.activation("relu")(y),
    )


def agreement(paper: str, error: float, detail: str) -> Finding:
    return finding(error < ROUNDING, paper=paper, ours=f"largest difference ${error:.1e}$", detail=detail)


@claim("matrix-norms", kind="definition", where="paper section 3, notation; notes section 2")
def check_matrix_norms(context: Context) -> Finding:
    """$||M||_{p,q}$ is the $q$-norm of the $p$-norms of the columns of a matrix $M$; so $||W||_{2,1}$ is the sum of
    column lengths and $||X^T||_{2,inf}$ the length of the longest row of $X$. Always spectral <= Frobenius <= (2,1)
    <= $sqrt(columns)$ Frobenius.
    """
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
        error < ROUNDING and ordered,
        paper="columns first",
        ours=f"{got[0]:.4g}, {got[1]:.4g}, {got[2]:.4g}, {got[3]:.4g} as by hand",
        detail="(2,1), (2,1) and (2,inf) of $M^T$, and (1,1) of [[3,0],[4,1],[0,0]]; the chain on random $M$.",
    )


@claim("attention-head", kind="definition", where="paper definition 3.1; notes definition 2.4")
def check_attention_head(context: Context) -> Finding:
    """A head maps tokens $x_1 .. x_T$ and a context $z$ to $y = phi_out( sum_t Norm(Score(x_1, z), .., Score(x_T,
    z))_t phi_in(x_t) )$: $Score$ gives each token a number, $Norm: R^T -> simplex$ makes weights of these numbers,
    and $phi_in$ and $phi_out$ are arbitrary functions.
    """
    X, W, rng = _case(context, "head")
    z = rng.normal(size=6)
    a = heads.softmax(np.array([z @ W.W_Q @ W.W_K.T @ x for x in X]))
    by_hand = W.W_C.T @ np.maximum(sum(a[t] * (W.W_V.T @ X[t]) for t in range(7)), 0)
    error = float(np.abs(_row_by_row(X, W, z) - by_hand).max())
    return agreement("the displayed sum", error, "The general head against its sum, term by term.")


@claim("self-attention", kind="definition", where="notes equation (1)")
def check_self_attention(context: Context) -> Finding:
    """Self-attention is the head with a token of the sequence as its context: $z = x_tau$, one output for each
    position $tau$.
    """
    X, W, _ = _case(context, "self")
    layer = heads.tf_layer(X, W)
    error = max(float(np.abs(_row_by_row(X, W, X[t]) - layer[t]).max()) for t in range(7))
    return agreement("$z = x_tau$", error, "Every row of the layer is the general head with $z = x_tau$.")


@claim("tf-layer", kind="definition", where="paper definition 3.2; notes definition 2.5")
def check_tf_layer(context: Context) -> Finding:
    """For tokens in the rows of $X$, $Y = sigma( RowSoftmax( X W_Q (X W_K)^T ) X W_V ) W_C$: at every position the
    head with $Score(x, z) = z^T W_Q W_K^T x$, softmax as $Norm$, $phi_in(x) = W_V^T x$ and $phi_out = W_C^T
    sigma(.)$, where $sigma$ is Lipschitz with $sigma(0) = 0$.
    """
    X, W, _ = _case(context, "layer")
    S = X @ W.W_Q @ (X @ W.W_K).T
    A = np.exp(S) / np.exp(S).sum(axis=1, keepdims=True)
    error = float(np.abs(heads.tf_layer(X, W) - np.maximum(A @ X @ W.W_V, 0) @ W.W_C).max())
    return agreement("the matrix form", error, "The layer against softmax written out on one random case.")


@claim(
    "tf-scalar", kind="definition", where="paper section 3, scalar output; notes definition 2.5, last line"
)
def check_tf_scalar(context: Context) -> Finding:
    """$f_tf-scalar$ adds one token [CLS], which is itself attended, to a layer's sequence and returns $w^T
    y_[CLS]$: the layer's output at [CLS], read by a vector $w$.
    """
    X, W, rng = _case(context, "scalar")
    w = rng.normal(size=6)
    error = abs(heads.tf_scalar(X, W, w) - float(w @ _row_by_row(X, W, X[-1])))
    return agreement("$w^T y_[CLS]$", error, "[CLS] is the last row and is attended like the others.")


@claim("tf-head", kind="definition", where="paper section 4, with corollary 4.5; notes section 3.2")
def check_tf_head(context: Context) -> Finding:
    """$f_tf-head(X, z) = sigma( W_V^T X^T softmax( X W_QK^T z ) )$: the layer's output for a context $z$, with
    $W_QK = W_Q W_K^T$, key width $k$ equal to the token width $d$, and without $W_C$.
    """
    X, W, _ = _case(context, "tf-head")
    eye = HeadWeights(W.W_Q @ W.W_K.T, np.eye(6), np.eye(6), np.eye(6))
    layer = heads.tf_layer(X, eye)
    rows = [heads.tf_head(X, X[t], W_QK=eye.W_Q, W_V=np.eye(6)) for t in range(7)]
    error = float(np.abs(np.array(rows) - layer).max())
    return agreement("$k = d$, no $W_C$", error, "The head is the layer with $W_C = I$, row by row.")


@claim("tf-heads", kind="definition", where="paper appendix A (A.12); notes section 4")
def check_tf_heads(context: Context) -> Finding:
    """Multi-head attention: the sum of $H$ heads, each with its own weights."""
    X, W, rng = _case(context, "heads")
    V = HeadWeights(*(rng.normal(size=M.shape) for M in (W.W_Q, W.W_K, W.W_V, W.W_C)))
    error = float(np.abs(heads.tf_heads(X, [W, V]) - heads.tf_layer(X, W) - heads.tf_layer(X, V)).max())
    return agreement("sum of heads", error, "Two heads with different weights, summed.")


@claim("tf-mlp", kind="definition", where="paper section 5; notes section 5")
def check_tf_mlp(context: Context) -> Finding:
    """$f_tf+mlp$: the output $y$ at [CLS] of a head, or of $s$ heads side by side, read by a three-layer ReLU net
    $((y^T W_1)_+ W_2)_+ w$, where $(.)_+$ is the ReLU.
    """
    X, W, rng = _case(context, "mlp")
    W_1, W_2, w = rng.normal(size=(6, 5)), rng.normal(size=(5, 4)), rng.normal(size=4)
    y = heads.tf_heads(X, [W, W], sigma="identity")[-1]
    hidden = [max(0.0, float(y @ W_1[:, j])) for j in range(5)]
    output = sum(w[j] * max(0.0, sum(h * W_2[i, j] for i, h in enumerate(hidden))) for j in range(4))
    error = max(abs(heads.tf_mlp(X, [W, W], W_1, W_2, w) - output), abs(heads.mlp(y, W_1, W_2, w) - output))
    return agreement("$((y^T W_1)_+ W_2)_+ w$", float(error), "Two heads, read by the net unit by unit.")


@claim("tf-deep", kind="definition", where="paper section 4, with theorem 4.7")
def check_tf_deep(context: Context) -> Finding:
    """Depth $L$: block $i$ maps the tokens $g_i$ to $g_{i+1} = Pi( sigma( Pi( f(g_i) ) ) W_C )$, where $f$ is
    self-attention without $sigma$ and $W_C$, and $Pi$ projects each row to the unit ball, in place of LayerNorm.
    """
    X, W, _ = _case(context, "deep")
    one = HeadWeights(W.W_Q, W.W_K, W.W_V, W.W_C)

    def into_ball(Y: Array) -> Array:
        return np.array([row / length if (length := math.sqrt(sum(row**2))) > 1 else row for row in Y])

    def step(Z: Array) -> Array:
        mixed = heads.softmax(Z @ W.W_Q @ (Z @ W.W_K).T) @ Z @ W.W_V
        return into_ball(np.tanh(into_ball(mixed)) @ W.W_C)

    # long rows and short ones: those inside the ball stay where they are
    cases = [
        (heads.tf_deep(size * X, [[one]] * 3, sigma="tanh"), step(step(step(size * X)))) for size in (1, 0.05)
    ]
    error = float(max(np.abs(ours - theirs).max() for ours, theirs in cases))
    longest = float(np.linalg.norm(step(X), axis=1).max())
    return agreement(
        "unit-ball projection", max(error, longest - 1), f"Three layers; longest row ${longest:.3f} <= 1$."
    )


@claim("model", kind="ours")
def check_model(context: Context) -> Finding:
    """Any of the modules above, with its encoding and read-out, is represented by one immutable Model, evaluated on
    the $2T + 1$ tokens that occur (two for each of $T$ positions, and [CLS]) instead of on $m$ sequences; its
    outputs equal those of the definitions.
    """
    rng = stream(context.seed, "model")
    W = HeadWeights(*(rng.normal(size=s) for s in [(9, 3), (9, 3), (9, 4), (4, 9)]))
    w = rng.normal(size=9)
    layer = Layer(W.W_Q[None], W.W_K[None], W.W_V[None], W.W_C[None], sigma="relu")
    model = Model(encodings.positional(6), (layer,), w)
    bits = np.array(list(itertools.product([0, 1], repeat=6)))
    slow = np.array([heads.tf_scalar(model.encoding(b), W, w) for b in bits])
    error = float(np.abs(model(bits) - slow).max())
    return agreement(
        "$f_tf-scalar$", error, "All 64 inputs of $T = 6$, against the definition one at a time."
    )


attention_modules = Claim(
    "attention-modules",
    kind="figure",
    where="paper figure 1; notes figure 3",
    statement="Three modules side by side: a head with a general context, a self-attention layer, and a "
    "layer read at [CLS]; scores in grey, normalised weights in blue.",
)


practical_block = Claim(
    "practical-block",
    kind="definition",
    where="paper, setup of the experiments",
    statement="The experiments train a block with LayerNorm before attention and before the MLP, biases, scores "
    "divided by $sqrt(k)$ ($k$: the width of a head), a GELU MLP of width $4 d$ ($d$: the width of a token), residuals "
    "and a final LayerNorm: the minGPT block, to which the paper points.",
)
