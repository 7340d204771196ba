"""Errata of the paper's capacity part: printed forms that real heads and layers contradict."""

import math

import numpy as np

from sparsehead._base.rng import stream
from sparsehead.capacity.head_class import printed_corollary
from sparsehead.capacity.linear import log_cover_lower, log_cover_vector
from sparsehead.heads.heads import HeadWeights, tf_head, tf_layer

from .capacity import _log_covering
from .claim import Context, Finding, claim, finding


@claim("errata-paper-7", kind="erratum", where="paper A.17 (theorem 4.7)", about="multi-layer-capacity")
def check_errata_paper_7(context: Context) -> Finding:
    """The error made in layer $i$ is weighted by the product of the Lipschitz constants of the layers $j < i$ below it;
    it is the layers above, $j > i$, that amplify it. Factors $d^{2/3}$ and $k^{2/3}$ are left over from a bound on
    other norms: padding all vectors with zeros changes no function, and would change them.
    """
    rng = stream(context.seed, "errata-paper-7")
    d, c = 4, 10.0
    X, row = np.abs(rng.normal(size=(5, d))), np.eye(d)[0]
    zeros = np.zeros((d, d))
    first = HeadWeights(zeros, zeros, np.outer(np.ones(d), row), np.eye(d))
    off = HeadWeights(zeros, zeros, 1.01 * first.W_V, np.eye(d))
    second = HeadWeights(zeros, zeros, c * np.eye(d), np.eye(d))
    error = float(np.linalg.norm(tf_layer(X, off) - tf_layer(X, first), axis=1).max())
    after = [tf_layer(tf_layer(X, W), second) for W in (off, first)]
    amplified = float(np.linalg.norm(after[0] - after[1], axis=1).max()) / error
    below, above = 1.0, c  # products over j < 1, which is empty, and over j > 1
    padded = np.pad(X, ((0, 0), (0, 12)))
    wide = HeadWeights(*(np.pad(getattr(first, n), (0, 12)) for n in ("W_Q", "W_K", "W_V", "W_C")))
    same = float(np.abs(tf_layer(padded, wide)[:, :d] - tf_layer(X, first)).max())
    leftover = (16 / 4) ** (2 / 3)
    return finding(
        amplified > 1.5 * below and amplified <= above * (1 + 1e-9) and same < 1e-12 and leftover > 2,
        paper=f"weight {below:g} for the first of two layers; $d^(2/3)$ grows by {leftover:.2f} under padding",
        ours=f"the second layer multiplies the first one's error by {amplified:.3f}",
        detail="Layer 1 off by 1 %, layer 2 with $||W_V|| = 10$ and uniform attention. Tokens of width 4 "
        "padded to 16: the same outputs to $1e-12$.",
        amplified=amplified,
    )


@claim("errata-paper-8", kind="erratum", where="paper corollary 4.5", about="single-layer-capacity")
def check_errata_paper_8(context: Context) -> Finding:
    """The score's term lacks a factor $B_X^2 (B_X ||z||)$: scaled tokens with weights scaled back compute the same
    functions, and the printed bound falls below the number of heads that are $2 eps$ apart.

    All sign patterns on m sequences of two tokens, at B_X = 1000; the class is that of B_X = 1 in other units.
    """
    m, Q, eps, c = 400, 100.0, 0.25, 1000.0
    z, entry = np.array([0.0, 1.0]), Q / math.sqrt(m)
    outputs = []
    for sign in (-1.0, 1.0):
        kappa = np.array([sign * entry, 0.0])  # the plane of e_i and of the value, as in `score_packing`
        token = np.array([1.0, 1.0]) / math.sqrt(2)
        for scale in (1.0, c):
            X, W = scale * np.array([token, -token]), np.outer(z, kappa) / scale
            outputs.append(float(tf_head(X, z, W_QK=W, W_V=z[:, None] / scale, sigma="identity")[0]))
    same = abs(outputs[0] - outputs[1]) + abs(outputs[2] - outputs[3])
    packed = m * math.log(2)
    # z is fixed at length 1, so W_QK scales by 1/c; with z = x_tau it would be 1/c^2
    norms = {"V21": 1 / c, "V": 1 / c, "L": 1.0, "m": m, "T": 2, "eps": eps}
    printed = printed_corollary(BX=c, QK21=Q / c, **norms)
    ours = _log_covering(
        {"V21": 1 / c, "V": 1 / c, "QK": Q / c, "BX": c, "BZ": 1.0, "k": 1, "d": m + 1}, T=2, m=m, eps=eps
    )
    return finding(
        same < 1e-9 and outputs[2] - outputs[0] > 2 * eps and printed < packed <= ours,
        paper=f"$ln N <= {printed:.0f}$ with the constant 1",
        ours=f"$e^{packed:.0f}$ heads are more than $2 eps$ apart; our bound is ${ours:.3g}$",
        detail="Tokens 1000 long, $||W_QK|| = 1/10$, $||W_V|| = 1/1000$, $m = 400$, $eps = 1/4$: each of "
        "$2^400$ sign patterns of scores is a head of the class. As $B_X$ grows in these units, the printed "
        "form loses its score term.",
        printed=printed,
        packed=packed,
    )


@claim("errata-paper-9", kind="erratum", where="paper section 2", about="vector-cover")
def check_errata_paper_9(context: Context) -> Finding:
    """The remark that covering numbers grow like $C/eps^2$ lacks the logarithm: it is $ln N$ that does, and $N$ itself
    exceeds every multiple of $C/eps^2$.
    """
    N, rows = 10**4, []
    for eps in (0.2, 0.1, 0.05):
        rows.append(
            (eps**-2, log_cover_lower(a=1, b=1, eps=eps, N=N), log_cover_vector(a=1, b=1, eps=eps, N=N))
        )
    growth = rows[-1][1] / rows[0][1]
    return finding(
        all(low > math.log(1e6 * size) and low <= high for size, low, high in rows) and growth > 8,
        paper=f"$N = O({rows[-1][0]:.0f})$ at $eps = .05$",
        ours=f"$ln N$ is between {rows[-1][1]:.0f} and {rows[-1][2]:.0f} there",
        detail="Linear functions of unit norm on $10^4$ orthonormal points: a packing below and the perceptron cover "
        f"above. From $eps = .2$ to .05 $ln N$ grows {growth:.1f} times, as $1/eps^2$ does up to its logarithm.",
        rows=rows,
    )
