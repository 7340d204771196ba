"""Capacity statements on cases small enough to search, cover exactly, or count."""

import math

import numpy as np

from ..capacity import bound
from ..capacity.items import item, log_capacity
from ..capacity.lipschitz import (
    attention_lipschitz,
)
from ..capacity.norms import spectral_norm
from ..covering.function_classes import class_covering_number, evaluate_parameters
from ..covering.shattering import shatters
from ..heads import HeadWeights, tf_head, tf_layer
from ..rng import stream
from ..types import Array, Float
from .claim import Context, Finding, claim, finding
from .lipschitz import ROUNDING

NORMS = {"V21": 2.0, "V": 1.0, "QK": 5.0, "BX": 1.5}


def _log_covering(norms: dict[str, float], *, T: int = 100, m: int = 1000, form: str = "ours") -> float:
    """ln N_inf of the heads with these norms."""
    return bound(norms=norms, T=T, m=m, form=form).log_covering or math.nan


@claim(
    "token-aggregation",
    kind="remark",
    where="paper, proof of theorem 4.2; notes section 3.1",
    statement="A maximum over samples of a maximum over positions is one maximum over mT tokens; hence covers of "
    "Score and phi_in on mT points serve the head, and T enters only through their logarithm.",
)
def check_token_aggregation(context: Context) -> Finding:
    rng = stream(context.seed, "aggregation")
    X, kappa, other = rng.normal(size=(4, 7, 3)), rng.normal(size=3), rng.normal(size=3)
    nested = max(max(abs(float(x @ kappa - x @ other)) for x in sequence) for sequence in X)
    flat = float(np.abs(X.reshape(28, 3) @ (kappa - other)).max())
    return finding(
        abs(nested - flat) < 1e-12,
        paper="max_i max_t = max_{i,t}",
        ours=f"{nested:.6f} = {flat:.6f}",
        detail="m = 4 sequences of T = 7 tokens as 28 points.",
    )


@claim(
    "head-capacity",
    kind="theorem",
    where="paper theorem 4.2; notes section 3.1",
    statement="For every split of eps, ln N(F_head; eps) <= ln N(F_Score; eps_s; mT points) + ln N(F_in; eps_in; mT "
    "points) with L_out (C_Norm B_in B_X eps_s + eps_in) = eps, phi_out being fixed. A scalar output "
    "divides eps by B_w.",
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
        size <= product,
        paper="ln N(head) <= ln N(Score) + ln N(in)",
        ours=f"ln {size} <= ln {product}",
        detail="81 heads on 3 sequences of 4 tokens; exact covers of scores (eps 0.5), values (0.25) and "
        "heads (0.75).",
    )


@claim(
    "pseudo-dimension",
    kind="proposition",
    where="paper proposition 4.4",
    statement="Without norm bounds, d = 3 suffices for pseudo-dimension >= floor(log2 T): points on a circle that "
    "carry the bits of their own index are shattered by queries of length T^2.",
)
def check_pseudo_dimension(context: Context) -> Finding:
    lengths = [4, 8, 16, 32, 64]
    done = [T for T in lengths if shatters(T)]
    return finding(
        done == lengths,
        paper="T = 4, 8, 16, 32",
        ours=f"shattered at T = {', '.join(map(str, done))}",
        detail="All 2^floor(log2 T) patterns above and below 1/2 by heads in d = 3.",
    )


@claim(
    "single-layer-capacity",
    kind="corollary",
    where="paper corollary 4.5; notes section 3.2",
    statement="ln N(F_tf-head; eps) <= (L_sigma B_X / eps)^2 [ (B_V^{2,1})^{2/3} Lambda^{1/3} + (B_QK B_Z B_X "
    "B_V)^{2/3} ln^{1/3}(2 N_S + 1) ]^3 with N_S <= mT: T enters through a logarithm only.",
)
def check_single_layer_capacity(context: Context) -> Finding:
    logs = {T: _log_covering(NORMS, T=T) for T in (10**2, 10**4, 10**8)}
    scaled = _log_covering({"V21": 0.2, "V": 0.1, "QK": 0.05, "BX": 15.0}) / logs[100]
    growth = logs[10**8] / logs[10**4]
    return finding(
        abs(scaled - 1) < 1e-9 and 1 < growth < math.log(1e11) / math.log(1e7),
        paper="grows like log(mT)",
        ours=f"T = 10^4 to 10^8 multiplies ln N by {growth:.3f}",
        detail="V21 = 2, V = 1, QK = 5, B_X = 1.5, m = 1000. Scaling X by 10 and the weights back changes "
        "nothing.",
        log_covering={str(T): v for T, v in logs.items()},
    )


@claim(
    "positional-capacity",
    kind="corollary",
    where="paper A.11",
    statement="With a fixed table of positions added to the tokens, B_X becomes B_X + B_P in every term.",
)
def check_positional_capacity(context: Context) -> Finding:
    added, longer = _log_covering({**NORMS, "BP": 0.5}), _log_covering({**NORMS, "BX": 2.0})
    return finding(
        abs(added / longer - 1) < 1e-12,
        paper="B_X + B_P",
        ours=f"{added:.6g} = {longer:.6g}",
        detail="B_X = 1.5 with positions of length 0.5, against B_X = 2.",
    )


@claim(
    "multi-head-capacity",
    kind="corollary",
    where="paper A.12; notes section 4",
    statement="The sum of H heads: the items of all heads in one list, (sum_h [..])^3 / eps^2. A head with zero "
    "weights adds nothing.",
)
def check_multi_head_capacity(context: Context) -> Finding:
    one, three = _log_covering(NORMS), _log_covering({**NORMS, "H": 3})
    with_zero = log_capacity([item("a", c=2, p=3), item("zero", c=0, p=5)])
    return finding(
        abs(three / one - 27) < 1e-9 and abs(with_zero - log_capacity([item("a", c=2, p=3)])) < 1e-12,
        paper="(sum_h ..)^3",
        ours=f"three equal heads cost {three / one:.4f} times one",
        detail="Items concatenate: H equal heads give H^3, and an item of a zero weight gives nothing.",
    )


@claim(
    "multi-layer-capacity",
    kind="theorem",
    where="paper theorem 4.7 and A.17",
    statement="Depth L: the items of every block, each weighted by the Lipschitz constants of the blocks above it, "
    "||W_V|| (1 + 2 B_X^2 ||W_QK||) per attention (the paper: 1 + 4 ||W_QK||).",
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
        0 < worst <= ROUNDING,
        paper="||W_V|| (1 + 4 ||W_QK||) a layer",
        ours=f"||W_V|| (1 + 2 ||W_QK||); worst ratio {worst:.3f} of 300",
        detail="Rows in the unit ball, moved a little: the layer never stretches the change by more than "
        "the constant.",
        worst=worst,
    )


@claim(
    "trauger-tewari",
    kind="remark",
    where="Trauger and Tewari 2024, cited for comparison",
    statement="A capacity bound without T exists under ||W_QK||_{1,1}: Maurey's sparsification instead of a cover "
    "of mT points.",
)
def check_trauger_tewari(context: Context) -> Finding:
    norms = {**NORMS, "V11": 4.0, "QK11": 10.0}
    short, long = (_log_covering(norms, T=T, form="trauger-tewari") for T in (10, 10**9))
    return finding(
        short == long,
        paper="no T",
        ours=f"ln N = {short:.4g} at T = 10 and at T = 10^9",
        detail="The items of this form are priced by Maurey's lemma, which does not count points.",
    )
