"""How far a head moves when its parameters or inputs do (paper assumption 4.1 and lemma 4.3)."""

import numpy as np

from ..capacity.lipschitz import (
    head_error_bound,
    jacobian_entries,
    layer_norm_lipschitz,
    softmax_l1_bound,
)
from ..capacity.norms import spectral_norm
from ..heads import layer_norm, softmax, tf_head
from ..rng import stream
from .claim import Context, Finding, claim, finding

ROUNDING = 1 + 1e-9


@claim(
    "head-assumptions",
    kind="assumption",
    where="paper assumption 4.1; notes assumption 3.1",
    statement="phi_out is L_out-Lipschitz, ||phi_in(a)|| <= B_in ||a||, and Norm is differentiable with ||J "
    "Norm||_{1,1} <= C_Norm. For softmax that norm is 2(1 - sum p_i^2) < 2.",
)
def check_head_assumptions(context: Context) -> Finding:
    rng = stream(context.seed, "jacobian")
    worst = largest = 0.0
    for T in (2, 5, 40):
        p = softmax(rng.normal(size=T) * 2)
        total = float(np.abs(np.diag(p) - np.outer(p, p)).sum())
        worst, largest = max(worst, abs(total - jacobian_entries(p))), max(largest, total)
    uniform = jacobian_entries(np.full(1000, 1e-3))
    return finding(
        worst < 1e-12 and max(largest, uniform) < 2,
        paper="||J softmax||_{1,1} <= 2",
        ours=f"2 (1 - sum p^2), {uniform:.3f} at T = 1000",
        detail="The sum of the Jacobian's entries against the formula; it tends to 2 and stays below.",
    )


@claim(
    "softmax-lipschitz",
    kind="lemma",
    where="paper assumption 4.1, where softmax has C_Norm = 2",
    statement="||softmax(a) - softmax(b)||_1 <= 2 tanh(||a - b||_inf / 2) <= ||a - b||_inf: what the capacity "
    "proofs need of softmax holds with constant 1, where the paper uses 2.",
)
def check_softmax_lipschitz(context: Context) -> Finding:
    rng = stream(context.seed, "softmax")
    worst = 0.0
    for _ in range(3000):
        T = int(rng.integers(2, 30))
        a = rng.normal(size=T) * rng.choice([0.1, 1, 5])
        step = rng.choice([-1.0, 1.0], size=T) * rng.uniform(0.01, 4)
        moved = float(np.abs(softmax(a + step) - softmax(a)).sum())
        worst = max(worst, moved / softmax_l1_bound(float(np.abs(step).max())))
    h = np.array([0.5, -0.5])
    tight = float(np.abs(softmax(h) - softmax(-h)).sum()) / softmax_l1_bound(1.0)
    return finding(
        worst <= ROUNDING and abs(tight - 1) < 1e-12,
        paper="constant 2",
        ours=f"constant 1; worst ratio {worst:.3f} searched, {tight:.6f} attained",
        detail="||softmax(a) - softmax(b)||_1 over 2 tanh(||a - b||_inf / 2): 3000 random pairs, and two "
        "scores exchanged.",
        worst=worst,
    )


@claim(
    "head-lipschitz",
    kind="lemma",
    where="paper lemma 4.3; notes lemma 3.2",
    statement="Changing the parameters moves the head's output by at most C_Norm L_out B_in B_X max_t |change of "
    "score| + L_out max_t ||change of phi_in(x_t)||; for softmax C_Norm = 1 suffices.",
)
def check_head_lipschitz(context: Context) -> Finding:
    rng = stream(context.seed, "lipschitz")
    worst = 0.0
    for _ in range(300):
        X, z = rng.normal(size=(6, 3)), rng.normal(size=3)
        Q, V = rng.normal(size=(3, 3)), rng.normal(size=(3, 2))
        Q_, V_ = Q + 0.3 * rng.normal(size=(3, 3)), V + 0.3 * rng.normal(size=(3, 2))
        moved = tf_head(X, z, W_QK=Q, W_V=V) - tf_head(X, z, W_QK=Q_, W_V=V_)
        limit = head_error_bound(
            score_error=float(np.abs(X @ (Q - Q_).T @ z).max()),
            in_error=float(np.linalg.norm(X @ (V - V_), axis=1).max()),
            B_in=spectral_norm(V),
            B_X=float(np.linalg.norm(X, axis=1).max()),
        )
        worst = max(worst, float(np.linalg.norm(moved)) / limit)
    pair, one = np.array([[1.0], [-1.0]]), np.ones((1, 1))
    outputs = [tf_head(pair, np.ones(1), W_QK=k * one, W_V=one, sigma="identity")[0] for k in (0.5, -0.5)]
    tight = float(outputs[0] - outputs[1]) / head_error_bound(score_error=1.0, in_error=0.0)
    return finding(
        worst <= ROUNDING and abs(tight - 1) < 1e-12,
        paper="C_Norm = 2",
        ours=f"C_Norm = 1; worst ratio {worst:.3f} of 300, {tight:.6f} attained",
        detail="Random heads with both parameters changed; equality at X = (1, -1), W_V = 1.",
        worst=worst,
    )


@claim(
    "layer-norm",
    kind="ours",
    where="not in the paper, whose Pi stands in for it",
    statement="LayerNorm with eps_ln in place of Pi: Lipschitz with constant max|gain| / sqrt(eps_ln), attained at "
    "0, and rows of length at most sqrt(d) max|gain| + |bias|.",
)
def check_layer_norm(context: Context) -> Finding:
    eps, d = 1e-2, 4
    gain, bias = np.ones(d), np.zeros(d)
    step = 1e-5 * np.array([1.0, -1.0, 1.0, -1.0])
    moved = np.linalg.norm(layer_norm(step, gain, bias, eps=eps)) / np.linalg.norm(step)
    ratio = float(moved) / layer_norm_lipschitz(eps=eps)
    return finding(
        0.9999 < ratio <= ROUNDING,
        paper="-",
        ours=f"{ratio:.6f} of the constant, next to 0",
        detail="eps_ln = 0.01: a tiny step from the zero row is stretched by 1/sqrt(eps_ln).",
    )
