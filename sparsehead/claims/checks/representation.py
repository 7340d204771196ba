"""Heads written down and proved on every input. `verify` enumerates while 2^T is small and is exact beyond."""

import itertools
import math

import numpy as np

from ...capacity.norms import product_norms
from ...certify import verify
from ...construct import build, units
from ...construct.code import best_code
from ...construct.decoder import plateaus
from ...construct.paper import bump
from ...functions import (
    SparseFunction,
    conjunction,
    disjunction,
    from_table,
    parity,
    random_function,
    symmetric,
    threshold,
)
from ...model import Model
from ...rng import stream
from ..claim import Context, Finding, finding

EXACT = 1e-9  # rounding of slopes up to 2^(s+2) in float64 stays far below


def _worst(pairs: list[tuple[SparseFunction, Model]]) -> tuple[float, int]:
    """The largest certified error, and how many models are not exact."""
    found = [verify(model, f) for f, model in pairs]
    return max(c.max_error for c in found), sum(not c.exact for c in found)


def _built(label: str, pairs: list[tuple[SparseFunction, Model]], *, paper: str, what: str) -> Finding:
    error, failed = _worst(pairs)
    return finding(
        label,
        failed == 0,
        paper=paper,
        ours=f"{len(pairs)} functions exact, largest error {error:.0e}"
        if not failed
        else f"{failed} not exact",
        detail=what,
        max_error=error,
    )


def check_sparse_representation(context: Context) -> Finding:
    tables = itertools.product([0, 1], repeat=8)
    functions = sorted({from_table(T=6, support=(0, 2, 5), table=t) for t in tables}, key=str)
    pairs = [(f, build(f)) for f in functions[:: context.options.get("stride", 1)]]
    some = functions[::8]
    pairs += [(f, build(f, encoding=e)) for f in some for e in ("trainable", "bag")]
    pairs += [(f, build(f, encoding="random", d=96, seed=context.seed)) for f in some]
    return _built(
        "sparse-representation",
        pairs,
        paper="approximately or exactly, per class",
        what="All 256 functions of 3 bits at T = 6 with deterministic positions, every eighth in each other "
        "encoding; one head each, all 64 inputs.",
    )


def check_monotone_symmetric_representation(context: Context) -> Finding:
    cases = [threshold(tuple(range(1, s + 1)), k, T=9) for s in (2, 3, 4) for k in range(1, s + 1)]
    pairs = [(f, build(f, encoding=e, readout="head")) for f in cases for e in ("positional", "bag")]
    most = max(units(model) for _, model in pairs)
    found = _built(
        "monotone-symmetric-representation",
        pairs,
        paper="approximately",
        what=f"Every threshold of 2, 3 and 4 bits at T = 9 by the head alone with sigma = ReLU, {most} units at most.",
    )
    return found if most <= 2 else finding(found.label, False, paper=found.paper, ours=f"{most} units")


def check_symmetric_representation(context: Context) -> Finding:
    s, T = 4, 8
    support = (0, 3, 4, 7)
    values = [v for v in itertools.product([0, 1], repeat=s + 1) if len(set(v)) > 1]
    functions = [symmetric(support, v, T=T) for v in values]
    pairs = [(f, build(f)) for f in functions]
    most = max(units(model) for _, model in pairs)
    found = _built(
        "symmetric-representation",
        pairs,
        paper=f"4(s+1) + 2(s+1) = {6 * (s + 1)} units",
        what=f"All {len(pairs)} symmetric functions of {s} bits at T = {T}, one head and at most {most} units.",
    )
    return found if most <= 2 * s else finding(found.label, False, paper=found.paper, ours=f"{most} units")


def check_general_representation(context: Context) -> Finding:
    s, T, rng = 4, 8, stream(context.seed, "general")
    functions = [random_function(T=T, s=s, rng=rng) for _ in range(12)]
    pairs = [(f, build(f)) for f in functions] + [(f, build(f, method="paper")) for f in functions[:4]]
    ours, papers = (max(units(m) for _, m in part) for part in (pairs[:12], pairs[12:]))
    heads = {m.H for _, m in pairs[:12]}
    found = _built(
        "general-representation",
        pairs,
        paper=f"s heads, 4 s 2^s + 2 2^s = {papers} units",
        what=f"12 random functions of {s} bits at T = {T}: one head, at most {ours} units; 4 by the paper's weights.",
    )
    right = ours <= 2 * (2**s - 1) and heads == {1}
    return (
        found
        if right
        else finding(found.label, False, paper=found.paper, ours=f"{ours} units, {heads} heads")
    )


def check_single_head(context: Context) -> Finding:
    f = parity((1, 4, 6), T=10)
    model = build(f)
    certificate = verify(model, f)
    leak = float(model.meta["leak"])
    return finding(
        "single-head",
        certificate.exact and abs(certificate.leakage - leak) < 1e-12,
        paper="attention outside I is small",
        ours=f"leak {certificate.leakage:.6f}, chosen {leak:.6f}; error {certificate.max_error:.0e}",
        detail="A 3-parity at T = 10: the attention outside I is the same number on every input, the one "
        "asked for.",
    )


def check_single_head_random(context: Context) -> Finding:
    f = conjunction((10, 500, 900), T=1000)
    model = build(f, encoding="random", d=256, seed=context.seed)
    certificate = verify(model, f)
    delta = model.encoding.coherence()
    return finding(
        "single-head-random",
        certificate.exact,
        paper="needs s Delta < 1",
        ours=f"exact with d = 256, Delta = {delta:.2f}",
        detail=f"T = 1000, s = 3, s Delta = {3 * delta:.2f}; certified over all 2^1000 inputs ({certificate.method}).",
        delta=delta,
    )


def check_single_head_trainable(context: Context) -> Finding:
    f = parity((7, 50_000, 99_999), T=100_000)
    model = build(f, encoding="trainable")
    certificate = verify(model, f)
    return finding(
        "single-head-trainable",
        certificate.exact and model.d <= 5,
        paper="d independent of T",
        ours=f"d = {model.d} at T = 100,000; error {certificate.max_error:.0e}",
        detail=f"A 3-parity, certified over all 2^100000 inputs ({certificate.method}).",
    )


def check_single_head_bag(context: Context) -> Finding:
    f = conjunction((1, 4, 6), T=9)
    model = build(f, encoding="bag")
    scores, _ = model.cls_tables()
    eta = scores[[1, 4, 6], 1, 0]
    certificate = verify(model, f)
    error = float(np.abs(eta - math.log(1 + 10 / 3)).max())
    return finding(
        "single-head-bag",
        certificate.exact and error < 1e-12,
        paper="(r - s)/(r + 1)",
        ours=f"eta = ln(1 + N/s) = {eta[0]:.4f}; error {certificate.max_error:.0e}",
        detail="AND of 3 at T = 9 with N = 10 tokens: absent tokens take no part, so nothing leaks.",
    )


def check_single_head_bag_approximate(context: Context) -> Finding:
    f = parity((3, 40, 90), T=100)
    model = build(f, encoding="bag", d=256, seed=context.seed)
    certificate = verify(model, f)
    return finding(
        "single-head-bag-approximate",
        certificate.exact and model.H == 1,
        paper="R = log(8 T s (1 + Delta)/(g - s Delta))/(1 - s Delta)",
        ours=f"exact with d = 256, Delta = {model.encoding.coherence():.2f}",
        detail=f"A 3-parity at T = 100 in a bag of random vectors, certified ({certificate.method}).",
    )


def check_linear_head(context: Context) -> Finding:
    errors = {}
    for eps in (0.25, 0.05, 0.01):
        pairs = [
            (f, build(f, epsilon=eps)) for f in (conjunction((1, 4, 6), T=9), disjunction((1, 4, 6), T=9))
        ]
        errors[eps] = max(verify(model, f).max_error for f, model in pairs)
    return finding(
        "linear-head",
        all(error <= eps for eps, error in errors.items()),
        paper="-",
        ours=", ".join(f"{error:.3f} <= {eps}" for eps, error in errors.items()),
        detail="AND and OR of 3 at T = 9 without any ReLU, all 512 inputs.",
        errors={str(eps): error for eps, error in errors.items()},
    )


def check_s_heads(context: Context) -> Finding:
    rng = stream(context.seed, "s-heads")
    functions = [random_function(T=8, s=3, rng=rng) for _ in range(8)]
    pairs = [(f, build(f, encoding=e, heads="s")) for f in functions for e in ("positional", "trainable")]
    return _built(
        "s-heads",
        pairs,
        paper="s heads",
        what="8 random functions of 3 bits at T = 8, encodings (a) and (b).",
    )


def check_cancelling_heads(context: Context) -> Finding:
    f = parity((1, 4, 6), T=9)
    model = build(f, heads="cancel")
    bits = np.array(list(itertools.product([0, 1], repeat=9)))
    count = model.cls_state(bits)[:, 0]
    error = float(np.abs(count - bits[:, [1, 4, 6]].sum(axis=1)).max())
    return finding(
        "cancelling-heads",
        error < EXACT and verify(model, f).exact,
        paper="-",
        ours=f"the count of ones within {error:.0e}, before any ReLU",
        detail="Two heads at T = 9, all 512 inputs; the leakage of the first is subtracted by the second.",
    )


def check_bump(context: Context) -> Finding:
    delta = 0.25
    x = np.array([-delta, 0.0, delta, 2 * delta, 3 * delta])
    values = bump(x, delta)
    return finding(
        "bump",
        bool(np.allclose(values, [0, 1, 1, 1, 0], atol=1e-12)),
        paper="1 near the target, 0 away from it",
        ours=f"psi = {', '.join(f'{v:g}' for v in values)} at -delta, 0, delta, 2 delta, 3 delta",
        detail="The repaired bump; errata-paper-1 has the printed one.",
    )


def check_exact_decoder(context: Context) -> Finding:
    rng = stream(context.seed, "decoder")
    low = np.sort(rng.uniform(0, 10, size=12))
    high = low + 0.8 * np.diff(low, append=11)
    values = rng.integers(0, 2, size=12).astype(np.float64)
    decoder = plateaus(low, high, values)
    inside = np.linspace(low, high, 25)
    error = float(np.abs(decoder(inside) - values).max())
    changes = int((np.diff(values) != 0).sum())
    return finding(
        "exact-decoder",
        error < EXACT and len(decoder.kinks) == 2 * changes,
        paper="bumps: 6 units a value",
        ours=f"{len(decoder.kinks)} units for {changes} changes, error {error:.0e}",
        detail="12 random intervals with random values, 25 points in each.",
    )


def check_best_code(context: Context) -> Finding:
    def linear(weights: tuple[int, ...], level: int) -> np.ndarray:
        bits = np.array(list(itertools.product([0, 1], repeat=len(weights))))[:, ::-1]
        return (bits @ np.array(weights) >= level).astype(np.uint8)

    cases = [linear(w, k) for w, k in [((1, 1, 1), 2), ((2, 1, 1), 3), ((3, -1, 2), 2), ((1, 2, 2, 3), 4)]]
    thresholds = {best_code(t).changes for t in cases}
    odd = best_code(np.array([n.bit_count() % 2 for n in range(16)], dtype=np.uint8)).changes
    return finding(
        "best-code",
        thresholds == {1} and odd == 4,
        paper="-",
        ours=f"1 change for four linear thresholds, {odd} for the 4-parity",
        detail="One change of value is two ReLU units; parity changes at every count.",
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
        "representation-norms",
        worst < 1e-9 and abs(slope / math.sqrt(3) - 1) < 0.01,
        paper="O(log(Ts)) times O(s)",
        ours=f"||W_QK||_F = {', '.join(f'{n:.1f}' for n in norms)} at T = 10^2, 10^3, 10^4; {slope:.3f} per ln T",
        detail="AND of 3: sqrt(s) ln(n(2s+1)/s) with n = T - s + 1 attended irrelevant tokens, to all "
        "digits.",
        norms=norms,
        slope=slope,
    )


def check_exact_certificate(context: Context) -> Finding:
    rng = stream(context.seed, "certificate")
    worst = 0.0
    for _ in range(6):
        f, g = (random_function(T=11, s=3, rng=rng) for _ in range(2))
        model = build(f)
        for claim in (f, g):
            slow, fast = (verify(model, claim, method=m) for m in ("exhaustive", "patterns"))
            worst = max(worst, abs(slow.max_error - fast.max_error))
            if slow.correct != fast.correct or (slow.correct is False and fast.counterexample is None):
                worst = math.inf
    return finding(
        "exact-certificate",
        worst < EXACT,
        paper="-",
        ours=f"largest disagreement with enumeration {worst:.0e}",
        detail="Six heads at T = 11, each against its own function and against another: same error, same "
        "verdict, and a counterexample whenever the answer is no.",
    )
