"""Capacity statements on cases small enough to search, cover exactly, or count."""

import math

import numpy as np

from ...capacity import bound
from ...capacity.items import item, log_capacity
from ...capacity.lipschitz import (
    attention_lipschitz,
    head_error_bound,
    jacobian_entries,
    layer_norm_lipschitz,
    softmax_l1_bound,
)
from ...capacity.norms import spectral_norm
from ...covering.function_classes import class_covering_number, evaluate_parameters
from ...covering.shattering import shatters
from ...heads import HeadWeights, layer_norm, softmax, tf_head, tf_layer
from ...rng import stream
from ...types import Array, Float
from ..claim import Context, Finding, finding

ROUNDING = 1 + 1e-9
NORMS = {"V21": 2.0, "V": 1.0, "QK": 5.0, "BX": 1.5}


def _log_covering(norms: dict[str, float], *, T: int = 100, m: int = 1000, form: str = "ours") -> float:
    """ln N_inf of the heads with these norms."""
    return bound(norms=norms, T=T, m=m, form=form).log_covering or math.nan


def check_head_assumptions(context: Context) -> Finding:
    rng = stream(context.seed, "jacobian")
    worst = largest = 0.0
    for T in (2, 5, 40):
        p = softmax(rng.normal(size=T) * 2)
        total = float(np.abs(np.diag(p) - np.outer(p, p)).sum())
        worst, largest = max(worst, abs(total - jacobian_entries(p))), max(largest, total)
    uniform = jacobian_entries(np.full(1000, 1e-3))
    return finding(
        "head-assumptions",
        worst < 1e-12 and max(largest, uniform) < 2,
        paper="||J softmax||_{1,1} <= 2",
        ours=f"2 (1 - sum p^2), {uniform:.3f} at T = 1000",
        detail="The sum of the Jacobian's entries against the formula; it tends to 2 and stays below.",
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
        "softmax-lipschitz",
        worst <= ROUNDING and abs(tight - 1) < 1e-12,
        paper="constant 2",
        ours=f"constant 1; worst ratio {worst:.3f} searched, {tight:.6f} attained",
        detail="||softmax(a) - softmax(b)||_1 over 2 tanh(||a - b||_inf / 2): 3000 random pairs, and two "
        "scores exchanged.",
        worst=worst,
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
        "head-lipschitz",
        worst <= ROUNDING and abs(tight - 1) < 1e-12,
        paper="C_Norm = 2",
        ours=f"C_Norm = 1; worst ratio {worst:.3f} of 300, {tight:.6f} attained",
        detail="Random heads with both parameters changed; equality at X = (1, -1), W_V = 1.",
        worst=worst,
    )


def check_token_aggregation(context: Context) -> Finding:
    rng = stream(context.seed, "aggregation")
    X, kappa, other = rng.normal(size=(4, 7, 3)), rng.normal(size=3), rng.normal(size=3)
    nested = max(max(abs(float(x @ kappa - x @ other)) for x in sequence) for sequence in X)
    flat = float(np.abs(X.reshape(28, 3) @ (kappa - other)).max())
    return finding(
        "token-aggregation",
        abs(nested - flat) < 1e-12,
        paper="max_i max_t = max_{i,t}",
        ours=f"{nested:.6f} = {flat:.6f}",
        detail="m = 4 sequences of T = 7 tokens as 28 points.",
    )


def check_head_capacity(context: Context) -> Finding:
    """Tokens in [-1, 1], |v| <= 1: B_X = B_in = L_out = 1, so eps_s + eps_in = eps covers the head."""
    rng = stream(context.seed, "capacity")
    X = rng.uniform(-1, 1, size=(3, 4, 1))
    keys, values = np.linspace(-3, 3, 9), np.linspace(-1, 1, 9)
    points = list(X.reshape(-1))
    scores = evaluate_parameters(lambda x, k: k * x, keys, points)
    inputs = evaluate_parameters(lambda x, v: v * x, values, points)

    def head(x: Float[Array, "T 1"], theta: tuple[float, float]) -> Float[Array, " 1"]:
        W_QK, W_V = (np.array([[entry]]) for entry in theta)
        return tf_head(x, np.ones(1), W_QK=W_QK, W_V=W_V, sigma="identity")

    heads = evaluate_parameters(head, [(k, v) for k in keys for v in values], list(X))
    product = class_covering_number(scores, eps=0.5).upper * class_covering_number(inputs, eps=0.25).upper
    size = class_covering_number(heads, eps=0.75).upper
    return finding(
        "head-capacity",
        size <= product,
        paper="ln N(head) <= ln N(Score) + ln N(in)",
        ours=f"ln {size} <= ln {product}",
        detail="81 heads on 3 sequences of 4 tokens; exact covers of scores (eps 0.5), values (0.25) and "
        "heads (0.75).",
    )


def check_pseudo_dimension(context: Context) -> Finding:
    lengths = [4, 8, 16, 32, 64]
    done = [T for T in lengths if shatters(T)]
    return finding(
        "pseudo-dimension",
        done == lengths,
        paper="T = 4, 8, 16, 32",
        ours=f"shattered at T = {', '.join(map(str, done))}",
        detail="All 2^floor(log2 T) patterns above and below 1/2 by heads in d = 3.",
    )


def check_single_layer_capacity(context: Context) -> Finding:
    logs = {T: _log_covering(NORMS, T=T) for T in (10**2, 10**4, 10**8)}
    scaled = _log_covering({"V21": 0.2, "V": 0.1, "QK": 0.05, "BX": 15.0}) / logs[100]
    growth = logs[10**8] / logs[10**4]
    return finding(
        "single-layer-capacity",
        abs(scaled - 1) < 1e-9 and 1 < growth < math.log(1e11) / math.log(1e7),
        paper="grows like log(mT)",
        ours=f"T = 10^4 to 10^8 multiplies ln N by {growth:.3f}",
        detail="V21 = 2, V = 1, QK = 5, B_X = 1.5, m = 1000. Scaling X by 10 and the weights back changes "
        "nothing.",
        log_covering={str(T): v for T, v in logs.items()},
    )


def check_positional_capacity(context: Context) -> Finding:
    added, longer = _log_covering({**NORMS, "BP": 0.5}), _log_covering({**NORMS, "BX": 2.0})
    return finding(
        "positional-capacity",
        abs(added / longer - 1) < 1e-12,
        paper="B_X + B_P",
        ours=f"{added:.6g} = {longer:.6g}",
        detail="B_X = 1.5 with positions of length 0.5, against B_X = 2.",
    )


def check_multi_head_capacity(context: Context) -> Finding:
    one, three = _log_covering(NORMS), _log_covering({**NORMS, "H": 3})
    with_zero = log_capacity([item("a", c=2, p=3), item("zero", c=0, p=5)])
    return finding(
        "multi-head-capacity",
        abs(three / one - 27) < 1e-9 and abs(with_zero - log_capacity([item("a", c=2, p=3)])) < 1e-12,
        paper="(sum_h ..)^3",
        ours=f"three equal heads cost {three / one:.4f} times one",
        detail="Items concatenate: H equal heads give H^3, and an item of a zero weight gives nothing.",
    )


def check_multi_layer_capacity(context: Context) -> Finding:
    """How much one self-attention layer stretches a change of its rows, against the constant of the theorem."""
    rng = stream(context.seed, "layers")
    worst = 0.0
    for _ in range(300):
        X = rng.normal(size=(5, 3))
        X /= np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
        Y = X + rng.normal(size=(5, 3)) * 0.05
        Y /= np.maximum(1, np.linalg.norm(Y, axis=1, keepdims=True))
        Q, K, V = rng.normal(size=(3, 3, 3))
        W = HeadWeights(Q, K, V, np.eye(3))
        moved = np.linalg.norm(
            tf_layer(X, W, sigma="identity") - tf_layer(Y, W, sigma="identity"), axis=1
        ).max()
        limit = attention_lipschitz(V=spectral_norm(W.W_V), QK=spectral_norm(W.W_Q @ W.W_K.T), R=1)
        worst = max(worst, float(moved / np.linalg.norm(X - Y, axis=1).max()) / limit)
    return finding(
        "multi-layer-capacity",
        0 < worst <= ROUNDING,
        paper="||W_V|| (1 + 4 ||W_QK||) a layer",
        ours=f"||W_V|| (1 + 2 ||W_QK||); worst ratio {worst:.3f} of 300",
        detail="Rows in the unit ball, moved a little: the layer never stretches the change by more than "
        "the constant.",
        worst=worst,
    )


def check_layer_norm(context: Context) -> Finding:
    eps, d = 1e-2, 4
    gain, bias = np.ones(d), np.zeros(d)
    step = 1e-5 * np.array([1.0, -1.0, 1.0, -1.0])
    moved = np.linalg.norm(layer_norm(step, gain, bias, eps=eps)) / np.linalg.norm(step)
    ratio = float(moved) / layer_norm_lipschitz(eps=eps)
    return finding(
        "layer-norm",
        0.9999 < ratio <= ROUNDING,
        paper="-",
        ours=f"{ratio:.6f} of the constant, next to 0",
        detail="eps_ln = 0.01: a tiny step from the zero row is stretched by 1/sqrt(eps_ln).",
    )


def check_trauger_tewari(context: Context) -> Finding:
    norms = {**NORMS, "V11": 4.0, "QK11": 10.0}
    short, long = (_log_covering(norms, T=T, form="trauger-tewari") for T in (10, 10**9))
    return finding(
        "trauger-tewari",
        short == long,
        paper="no T",
        ours=f"ln N = {short:.4g} at T = 10 and at T = 10^9",
        detail="The items of this form are priced by Maurey's lemma, which does not count points.",
    )
