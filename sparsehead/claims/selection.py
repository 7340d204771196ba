"""Heads that select the support, one claim per encoding; `verify` proves each on all 2^T inputs."""

import itertools
import math

import numpy as np

from ..certify import verify
from ..construct import build
from ..functions import (
    conjunction,
    disjunction,
    parity,
    random_function,
)
from ..rng import stream
from .claim import Context, Finding, claim, finding
from .representation import EXACT, built


@claim(
    "single-head",
    kind="proposition",
    where="paper appendix B, encoding (a)",
    statement="Encoding (a), deterministic positions: W_Q = R v_CLS e_1^T, W_K reads the positions of I, W_V the "
    "bit.",
)
def check_single_head(context: Context) -> Finding:
    f = parity((1, 4, 6), T=10)
    model = build(f)
    certificate = verify(model, f)
    leak = float(model.meta["leak"])
    return finding(
        certificate.exact and abs(certificate.leakage - leak) < 1e-12,
        paper="attention outside I is small",
        ours=f"leak {certificate.leakage:.6f}, chosen {leak:.6f}; error {certificate.max_error:.0e}",
        detail="A 3-parity at T = 10: the attention outside I is the same number on every input, the one "
        "asked for.",
    )


@claim(
    "single-head-random",
    kind="ours",
    where="replaces the paper's keys of encoding (a) for Delta > 0",
    statement="Encoding (a) with random, approximately orthonormal positions: keys dual to the positions of I "
    "instead of their sum. The scores inside I are then equal and d = O(s ln T) suffices.",
)
def check_single_head_random(context: Context) -> Finding:
    f = conjunction((10, 500, 900), T=1000)
    model = build(f, encoding="random", d=256, seed=context.seed)
    certificate = verify(model, f)
    delta = model.encoding.coherence()
    return finding(
        certificate.exact,
        paper="needs s Delta < 1",
        ours=f"exact with d = 256, Delta = {delta:.2f}",
        detail=f"T = 1000, s = 3, s Delta = {3 * delta:.2f}; certified over all 2^1000 inputs ({certificate.method}).",
        delta=delta,
    )


@claim(
    "single-head-trainable",
    kind="proposition",
    where="paper appendix B, encoding (b)",
    statement="Encoding (b), trainable positions: one direction marks I, all other positions are 0; d = 4 suffices.",
)
def check_single_head_trainable(context: Context) -> Finding:
    f = parity((7, 50_000, 99_999), T=100_000)
    model = build(f, encoding="trainable")
    certificate = verify(model, f)
    return finding(
        certificate.exact and model.d <= 5,
        paper="d independent of T",
        ours=f"d = {model.d} at T = 100,000; error {certificate.max_error:.0e}",
        detail=f"A 3-parity, certified over all 2^100000 inputs ({certificate.method}).",
    )


@claim(
    "single-head-bag",
    kind="proposition",
    where="paper appendix B, encoding (c)",
    statement="Encoding (c), bag of vectors: tokens of zero bits vanish, and one head gives tau v / (1 + tau v) "
    "exactly, without leakage.",
)
def check_single_head_bag(context: Context) -> Finding:
    f = conjunction((1, 4, 6), T=9)
    model = build(f, encoding="bag")
    scores, _ = model.cls_tables()
    eta = scores[[1, 4, 6], 1, 0]
    certificate = verify(model, f)
    error = float(np.abs(eta - math.log(1 + 10 / 3)).max())
    return finding(
        certificate.exact and error < 1e-12,
        paper="(r - s)/(r + 1)",
        ours=f"eta = ln(1 + N/s) = {eta[0]:.4f}; error {certificate.max_error:.0e}",
        detail="AND of 3 at T = 9 with N = 10 tokens: absent tokens take no part, so nothing leaks.",
    )


@claim(
    "single-head-bag-approximate",
    kind="proposition",
    where="paper appendix B, encoding (c), for Delta > 0",
    statement="Encoding (c) with approximately orthonormal rows: one head of value width s reads every bit apart, a "
    "present one above what an absent one can reach, and two ReLU units clean it.",
)
def check_single_head_bag_approximate(context: Context) -> Finding:
    f = parity((3, 40, 90), T=100)
    model = build(f, encoding="bag", d=256, seed=context.seed)
    certificate = verify(model, f)
    return finding(
        certificate.exact and model.H == 1,
        paper="R = log(8 T s (1 + Delta)/(g - s Delta))/(1 - s Delta)",
        ours=f"exact with d = 256, Delta = {model.encoding.coherence():.2f}",
        detail=f"A 3-parity at T = 100 in a bag of random vectors, certified ({certificate.method}).",
    )


@claim(
    "linear-head",
    kind="ours",
    where="not in the paper; cf. proposition 5.1, first item",
    statement="With sigma = identity, no ReLU anywhere, a head is within eps of AND and of OR with scores of size "
    "O(ln(T/eps)); interior thresholds are out of its reach, except by the sign of the output.",
)
def check_linear_head(context: Context) -> Finding:
    errors = {}
    for eps in (0.25, 0.05, 0.01):
        pairs = [
            (f, build(f, epsilon=eps)) for f in (conjunction((1, 4, 6), T=9), disjunction((1, 4, 6), T=9))
        ]
        errors[eps] = max(verify(model, f).max_error for f, model in pairs)
    return finding(
        all(error <= eps for eps, error in errors.items()),
        paper="-",
        ours=", ".join(f"{error:.3f} <= {eps}" for eps, error in errors.items()),
        detail="AND and OR of 3 at T = 9 without any ReLU, all 512 inputs.",
        errors={str(eps): error for eps, error in errors.items()},
    )


@claim(
    "s-heads",
    kind="proposition",
    where="paper appendix B, encodings (a) and (b) with s heads",
    statement="s heads, one position each: all slopes of the decoder are O(1), with 2s cleaning units and at most "
    "2^{s-1} minterms.",
)
def check_s_heads(context: Context) -> Finding:
    rng = stream(context.seed, "s-heads")
    functions = [random_function(T=8, s=3, rng=rng) for _ in range(8)]
    pairs = [(f, build(f, encoding=e, heads="s")) for f in functions for e in ("positional", "trainable")]
    return built(
        pairs,
        paper="s heads",
        what="8 random functions of 3 bits at T = 8, encodings (a) and (b).",
    )


@claim(
    "cancelling-heads",
    kind="ours",
    where="not in the paper",
    statement="Two heads, one selecting and one uniform: Z o_1 - N o_2 = sum over I of (e^eta_i - 1) b_i exactly, "
    "for any scale; the count without any ReLU.",
)
def check_cancelling_heads(context: Context) -> Finding:
    f = parity((1, 4, 6), T=9)
    model = build(f, heads="cancel")
    bits = np.array(list(itertools.product([0, 1], repeat=9)))
    count = model.cls_state(bits)[:, 0]
    error = float(np.abs(count - bits[:, [1, 4, 6]].sum(axis=1)).max())
    return finding(
        error < EXACT and verify(model, f).exact,
        paper="-",
        ours=f"the count of ones within {error:.0e}, before any ReLU",
        detail="Two heads at T = 9, all 512 inputs; the leakage of the first is subtracted by the second.",
    )
