"""Errata 11 to 18 of the notes (sections 2.3 to 4)."""

import math

import numpy as np

from sparsehead._base.rng import stream
from sparsehead._base.types import Array, Float
from sparsehead.capacity import bound
from sparsehead.heads.heads import HeadWeights, attention_head, softmax, tf_head, tf_heads, tf_layer

from ..theory.function_classes import class_covering_number, evaluate_parameters
from ..theory.linear import log_cover_lower
from .claim import Claim, Context, Finding, erratum, finding


@erratum("errata-notes-11", where="notes figure 3, definition 2.4", about="attention-head")
def check_errata_notes_11(context: Context) -> Finding:
    """The modules are $f_tf-head$, $f_tf-layer$, $f_tf-scalar$; a head maps $X^T × Z$ to $Y$, not $X$ to $Y$ ($X$:
    tokens, $Z$: contexts, $Y$: outputs): its output depends on the whole sequence and on the context.
    """
    rng = stream(context.seed, "errata-11")
    token = rng.normal(size=3)

    def head(X: Float[Array, "T d"], z: Float[Array, " d"]) -> Float[Array, " d"]:
        same = lambda x: x  # noqa: E731
        return attention_head(X, z, score=lambda x, z: float(x @ z), norm=softmax, phi_in=same, phi_out=same)

    alone = head(token[None], token)  # attention over one token is 1: the output is the token
    company = [head(np.vstack([token, rng.normal(size=(3, 3))]), token) for _ in range(20)]
    X = rng.normal(size=(4, 3))
    contexts = [head(X, z) for z in rng.normal(size=(20, 3))]
    values = len(np.unique(np.round(company, 6), axis=0)), len(np.unique(np.round(contexts, 6), axis=0))
    inside = all((X.min(axis=0) - 1e-12 <= y).all() and (y <= X.max(axis=0) + 1e-12).all() for y in contexts)
    return finding(
        values == (20, 20) and inside and float(np.abs(alone - token).max()) < 1e-12,
        paper="$f: X -> Y$",
        ours="$f: X^T × Z -> Y$",
        detail="One token in 20 sequences and one sequence under 20 contexts: 20 outputs each, all of them "
        "averages of the tokens. A map from $X$ would have one.",
    )


@erratum("errata-notes-12", where="notes assumption 3.1, equation (3)", about="head-capacity")
def check_errata_notes_12(context: Context) -> Finding:
    """The parameters $theta_out$ of $phi_out$ range over a set, but the product cover covers only the parameters
    $theta_s$ of the score and $theta_in$ of $phi_in$: with one score, one $phi_in$ and $phi_out(y) = c y$, $c$ in $[0,
    1]$, the product cover would give $N = 1$. $phi_out$ must be fixed, or covered too.
    """
    values = evaluate_parameters(lambda y, c: c * y, np.linspace(0, 1, 101), [1.0])
    size = class_covering_number(values, eps=0.1).size
    return finding(
        size == 5,
        paper="$N = 1$ (the product of two one-element covers)",
        ours=f"$N = {size}$",
        detail="One score, one $phi_in$, $phi_out = c y$ with $c$ in ${0, .01, .., 1}$, attended value 1, $eps = 0.1$.",
        size=size,
    )


@erratum("errata-notes-13", where="notes section 3.1, display of theorem 4.2", about="head-capacity")
def check_errata_notes_13(context: Context) -> Finding:
    """The $=$ between covering numbers must be $<=$: the product of two covers is a cover, but rarely the smallest one.
    The infimum over divisions of $eps$ between the two covers is missing, and so are the constants.
    """
    X, z = np.array([[1.0], [-1.0]]), np.ones(1)
    score = lambda X, kappa: (kappa * X)[:, 0]  # noqa: E731
    values = evaluate_parameters(score, [0.0, 10.0], [X])
    outputs = evaluate_parameters(
        lambda X, q: tf_head(X, z, W_QK=np.array([[q]]), W_V=np.zeros((1, 1))), [0.0, 10.0], [X]
    )
    product, smallest = (
        class_covering_number(values, eps=0.4).size,
        class_covering_number(outputs, eps=0.4).size,
    )
    return finding(
        product == 2 and smallest == 1,
        paper="$log |C_head| = log |C_Score| + log |C_in|$",
        ours=f"{smallest} head, {product} scores",
        detail="Two scores far apart under $W_V = 0$: the product cover has two elements, the class has one.",
    )


@erratum("errata-notes-14", where="notes equation (8)", about="vector-cover")
def check_errata_notes_14(context: Context) -> Finding:
    """In the cover of linear functions (vector-cover, with vectors of length up to $a$ on $N$ points of length up
    to $b$), the left side must be $ln N_inf$, not $N_inf$: on the unit vectors $x_i = e_i$ with $a = b = 1$ and
    $eps = 0.2$ the covering number is at least $C(N, 6) 2^6$, while the printed right side is $O(log N)$.
    """
    sizes = [10**4, 10**6, 10**8]
    lower = [log_cover_lower(a=1, b=1, eps=0.2, N=N) for N in sizes]
    printed = [25 * math.log(5 * N) for N in sizes]
    slope = (lower[2] - lower[0]) / math.log(1e4)
    return finding(
        all(math.exp(low) > 1e6 * high for low, high in zip(lower, printed)) and abs(slope - 6) < 0.01,
        paper=f"$N <= O({printed[1]:.0f})$ at a million points",
        ours=f"$N >= e^{lower[1]:.0f}$, growing like $N^{slope:.2f}$",
        detail="$x_i = e_i$, $a = b = 1$, $eps = 0.2$: $C(N, 6) 2^6$ vectors are pairwise more than $2 eps$ apart.",
        log_lower=lower,
    )


errata_notes_15 = Claim(
    "errata-notes-15",
    kind="erratum",
    where="notes lemma 3.3",
    statement="A matrix $W$ in $R^{d_1 × d_2}$ acts on $x$ in $R^{d_2}$; printed is $R^{d_1}$: a dimension in a "
    "formula, with nothing to compute.",
    text_only=True,
)


@erratum("errata-notes-16", where="notes equation (10)", about="single-layer-capacity")
def check_errata_notes_16(context: Context) -> Finding:
    """The score is bilinear: doubling the query $z$ doubles the score, so the bound must contain $||z||$. To
    combine the terms, the split lemma is needed.
    """
    weights = np.linspace(-1, 1, 41)
    sizes = [
        class_covering_number(evaluate_parameters(lambda z, w: z * w, weights, [z]), eps=0.25).upper
        for z in (1.0, 2.0, 4.0)
    ]
    # grids of step .05, .1 and .2: a centre covers 5, 2 and 1 points on either side, so 11, 5 and 3 of the 41
    return finding(
        sizes == [math.ceil(41 / n) for n in (11, 5, 3)],
        paper="a bound in $B_X$ and $B_W$ alone",
        ours=f"$N = {sizes[0]}, {sizes[1]}, {sizes[2]}$ for $|z| = 1, 2, 4$",
        detail="$score = z w x$ with $x = 1$, $|w| <= 1$, $eps = 1/4$: the same $B_X$ and $B_W$, another $||z||$.",
        sizes=sizes,
    )


def _printed(B_X: float, Q: float, V: float, V21: float) -> float:
    """Return the bound displayed in the notes without its logarithm, at eps = 1."""
    return B_X**2 * (V21 ** (2 / 3) + (Q * V) ** (2 / 3)) ** 3


def _ours(B_X: float, Q: float, V: float, V21: float) -> float:
    return (
        bound(norms={"V21": V21, "V": V, "QK": Q, "BX": B_X}, T=100, m=100, form="ours").log_covering
        or math.nan
    )


@erratum("errata-notes-17", where="notes section 3.2, head bound", about="single-layer-capacity")
def check_errata_notes_17(context: Context) -> Finding:
    """The term of $W_QK$ lacks $B_X ||z||$, for tokens of length up to $B_X$ and a query $z$: multiplying the
    inputs by $c$, $W_QK$ by $1/c^2$ and $W_V$ by $1/c$ does not change the class, but changes the printed bound.
    """
    c, (Q, V, V21) = 10.0, (5.0, 1.0, 2.0)
    rng = stream(context.seed, "errata-17")
    X, W_QK, W_V = rng.normal(size=(5, 3)), rng.normal(size=(3, 3)), rng.normal(size=(3, 2))
    same = tf_head(c * X, c * X[0], W_QK=W_QK / c**2, W_V=W_V / c) - tf_head(X, X[0], W_QK=W_QK, W_V=W_V)
    printed = _printed(c, Q / c**2, V / c, V21 / c) / _printed(1.0, Q, V, V21)
    ours = _ours(c, Q / c**2, V / c, V21 / c) / _ours(1.0, Q, V, V21)
    return finding(
        float(np.abs(same).max()) < 1e-12 and abs(ours - 1) < 1e-9 and printed < 0.5,
        paper=f"the bound changes by {printed:.2f}",
        ours=f"the bound changes by {ours:.6f}",
        detail="$(B_X, W_QK, W_V)$ and $(10 B_X, W_QK / 100, W_V / 10)$ are one class, function by function.",
        ours_ratio=ours,
    )


@erratum("errata-notes-18", where="notes section 4", about="multi-layer-capacity")
def check_errata_notes_18(context: Context) -> Finding:
    """The displayed class is multi-head, not multi-layer: errors of heads add, errors of layers are multiplied by the
    Lipschitz constants of the layers above.
    """
    rng = stream(context.seed, "errata-18")
    X = rng.normal(size=(5, 4))
    W = HeadWeights(*(rng.normal(size=(4, 4)) for _ in range(4)))
    off = HeadWeights(W.W_Q, W.W_K, W.W_V, W.W_C * 1.01)
    second = HeadWeights(0 * W.W_Q, 0 * W.W_K, 10 * np.eye(4), np.eye(4))

    def size(Y: Float[Array, "T d"]) -> float:
        return float(np.linalg.norm(Y, axis=1).max())

    error = size(tf_layer(X, off) - tf_layer(X, W))
    heads_error = size(tf_heads(X, [off, second]) - tf_heads(X, [W, second]))
    through = [tf_layer(tf_layer(X, V), second, sigma="identity") for V in (off, W)]
    layers_error = size(through[0] - through[1])
    return finding(
        abs(heads_error / error - 1) < 1e-9 and layers_error > 1.5 * error,
        paper="$H$ layers: sum the $H$ coverings",
        ours=f"error × {heads_error / error:.2f} beside a head, × {layers_error / error:.2f} under a layer",
        detail="The second part averages its inputs and multiplies by 10. Beside it the error stays, under "
        "it the error grows.",
        heads=heads_error / error,
        layers=layers_error / error,
    )
