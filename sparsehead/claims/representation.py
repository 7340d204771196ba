"""What one head represents (paper proposition 5.1); `verify` proves each model on all 2^T inputs."""

import itertools
import math

from ..capacity.norms import product_norms
from ..certify import verify
from ..construct import build, units
from ..functions import (
    SparseFunction,
    conjunction,
    from_table,
    random_function,
    symmetric,
    threshold,
)
from ..model import Model
from ..rng import stream
from .claim import Context, Finding, claim, finding

EXACT = 1e-9  # rounding of slopes up to 2^(s+2) in float64 stays far below


def _worst(pairs: list[tuple[SparseFunction, Model]]) -> tuple[float, int]:
    """The largest certified error, and how many models are not exact."""
    found = [verify(model, f) for f, model in pairs]
    return max(c.max_error for c in found), sum(not c.exact for c in found)


def built(pairs: list[tuple[SparseFunction, Model]], *, paper: str, what: str) -> Finding:
    error, failed = _worst(pairs)
    return finding(
        failed == 0,
        paper=paper,
        ours=f"{len(pairs)} functions exact, largest error {error:.0e}"
        if not failed
        else f"{failed} not exact",
        detail=what,
        max_error=error,
    )


@claim(
    "sparse-representation",
    kind="proposition",
    where="paper proposition 5.1 and appendix B; notes proposition 5.5",
    statement="For each of the three encodings, bounded-norm attention represents s-sparse functions: monotone "
    "symmetric ones by f_tf-scalar approximately, symmetric and general ones by f_tf+mlp exactly. Ours: "
    "one head and 2 ReLU units per change of value for every s-sparse function.",
)
def check_sparse_representation(context: Context) -> Finding:
    tables = itertools.product([0, 1], repeat=8)
    functions = sorted({from_table(T=6, support=(0, 2, 5), table=t) for t in tables}, key=str)
    pairs = [(f, build(f)) for f in functions[:: context.options.get("stride", 1)]]
    some = functions[::8]
    pairs += [(f, build(f, encoding=e)) for f in some for e in ("trainable", "bag")]
    pairs += [(f, build(f, encoding="random", d=96, seed=context.seed)) for f in some]
    return built(
        pairs,
        paper="approximately or exactly, per class",
        what="All 256 functions of 3 bits at T = 6 with deterministic positions, every eighth in each other "
        "encoding; one head each, all 64 inputs.",
    )


@claim(
    "monotone-symmetric-representation",
    kind="proposition",
    where="paper proposition 5.1 and appendix B; notes proposition 5.5, first item",
    statement="f_tf-scalar, the head alone with no MLP, computes every threshold function of s bits.",
)
def check_monotone_symmetric_representation(context: Context) -> Finding:
    cases = [threshold(tuple(range(1, s + 1)), k, T=9) for s in (2, 3, 4) for k in range(1, s + 1)]
    pairs = [(f, build(f, encoding=e, readout="head")) for f in cases for e in ("positional", "bag")]
    most = max(units(model) for _, model in pairs)
    found = built(
        pairs,
        paper="approximately",
        what=f"Every threshold of 2, 3 and 4 bits at T = 9 by the head alone with sigma = ReLU, {most} units at most.",
    )
    return found if most <= 2 else finding(False, paper=found.paper, ours=f"{most} units")


@claim(
    "symmetric-representation",
    kind="proposition",
    where="paper proposition 5.1 and appendix B; notes proposition 5.5, second item",
    statement="f_tf+mlp with one head computes every symmetric s-sparse function exactly, with a decoder of size "
    "poly(s); ours needs at most 2s units.",
)
def check_symmetric_representation(context: Context) -> Finding:
    s, T = 4, 8
    support = (0, 3, 4, 7)
    values = [v for v in itertools.product([0, 1], repeat=s + 1) if len(set(v)) > 1]
    functions = [symmetric(support, v, T=T) for v in values]
    pairs = [(f, build(f)) for f in functions]
    most = max(units(model) for _, model in pairs)
    found = built(
        pairs,
        paper=f"4(s+1) + 2(s+1) = {6 * (s + 1)} units",
        what=f"All {len(pairs)} symmetric functions of {s} bits at T = {T}, one head and at most {most} units.",
    )
    return found if most <= 2 * s else finding(False, paper=found.paper, ours=f"{most} units")


@claim(
    "general-representation",
    kind="proposition",
    where="paper proposition 5.1 and appendix B; notes proposition 5.5, third item",
    statement="f_tf+mlp computes every s-sparse function exactly with a decoder of size 2^s poly(s): s heads in the "
    "paper's encodings (a) and (b), one in (c); ours one head and at most 2(2^s - 1) units in all three.",
)
def check_general_representation(context: Context) -> Finding:
    s, T, rng = 4, 8, stream(context.seed, "general")
    functions = [random_function(T=T, s=s, rng=rng) for _ in range(12)]
    pairs = [(f, build(f)) for f in functions] + [(f, build(f, method="paper")) for f in functions[:4]]
    ours, papers = (max(units(m) for _, m in part) for part in (pairs[:12], pairs[12:]))
    heads = {m.H for _, m in pairs[:12]}
    found = built(
        pairs,
        paper=f"s heads, 4 s 2^s + 2 2^s = {papers} units",
        what=f"12 random functions of {s} bits at T = {T}: one head, at most {ours} units; 4 by the paper's weights.",
    )
    right = ours <= 2 * (2**s - 1) and heads == {1}
    return found if right else finding(False, paper=found.paper, ours=f"{ours} units, {heads} heads")


@claim(
    "representation-norms",
    kind="proposition",
    where="paper proposition 5.1 and appendix B; notes proposition 5.5",
    statement="||W_Q||_F <= O(log(Ts)), ||W_K||, ||W_V||, ||W_C||_F <= O(s). Ours: ||W_QK||_F = |eta|_2, which is "
    "sqrt(s) ln(n(2s+1)/s) for symmetric functions: logarithmic in T.",
)
def check_representation_norms(context: Context) -> Finding:
    lengths = [10**2, 10**3, 10**4]
    norms = []
    for T in lengths:
        model = build(conjunction((1, 2, 3), T=T))
        layer = model.layers[0]
        norms.append(product_norms(layer.W_Q[0], layer.W_K[0]).frobenius)
    predicted = [math.sqrt(3) * math.log((T - 2) * 7 / 3) for T in lengths]
    slope = (norms[-1] - norms[0]) / math.log(lengths[-1] / lengths[0])
    worst = max(abs(a / b - 1) for a, b in zip(norms, predicted))
    return finding(
        worst < 1e-9 and abs(slope / math.sqrt(3) - 1) < 0.01,
        paper="O(log(Ts)) times O(s)",
        ours=f"||W_QK||_F = {', '.join(f'{n:.1f}' for n in norms)} at T = 10^2, 10^3, 10^4; {slope:.3f} per ln T",
        detail="AND of 3: sqrt(s) ln(n(2s+1)/s) with n = T - s + 1 attended irrelevant tokens, to all "
        "digits.",
        norms=norms,
        slope=slope,
    )
