"""Errata 19 to 25 of the notes (sections 5 and 6)."""

import itertools
import math

import numpy as np

from .. import encoding as encodings
from ..functions import conjunction, is_symmetric, parse
from ..heads import HeadWeights, tf_scalar
from ..rng import stream
from .claim import Claim, Context, Finding, claim, finding


@claim(
    "errata-notes-19",
    kind="erratum",
    where="notes definitions 5.2, 5.4",
    statement="Definition 5.2 lacks its conclusion 'implies f(b) = f(b')'; the range is R in one place and R^d in "
    "another; the other T - s inputs are irrelevant, not relevant.",
    about="symmetric",
)
def check_errata_notes_19(context: Context) -> Finding:
    f = parse("x0 & !x1", T=3)
    a, b = np.array([1, 0, 0]), np.array([0, 1, 0])
    met = a[[0, 1]].sum() == b[[0, 1]].sum()
    return finding(
        bool(met) and f(a) != f(b) and not is_symmetric(f),
        paper="|{i: b_i = 1}| = |{i: b'_i = 1}|, full stop",
        ours="the counts agree and f(b) != f(b')",
        detail="x0 & !x1 on (1,0,0) and (0,1,0): the printed condition speaks of b and b' only and excludes "
        "no function.",
    )


@claim(
    "errata-notes-20",
    kind="erratum",
    where="notes section 5, deterministic positions",
    statement="T + 3 approximately orthonormal vectors need not be a basis: they fit into far fewer than T + 3 "
    "dimensions, and are then linearly dependent.",
    about="encodings",
)
def check_errata_notes_20(context: Context) -> Finding:
    e = encodings.random_positions(400, 80, rng=stream(context.seed, "errata-20"))
    rows = np.vstack([e.positions(), e.E, e.cls])
    rank, delta = int(np.linalg.matrix_rank(rows)), e.coherence()
    return finding(
        rank == 80 and delta < 0.75,
        paper="T + 3 vectors are a basis of R^d",
        ours=f"{len(rows)} vectors of rank {rank}, Delta = {delta:.2f}",
        detail="T = 400 random unit positions in d = 80 dimensions.",
        delta=delta,
    )


@claim(
    "errata-notes-21",
    kind="erratum",
    where="notes section 5, bag of vectors",
    statement="V is T x d, so X = diag(b) V; V diag(b) is not even defined unless d = T, and then it masks columns. "
    "The permutation acts from the left.",
    about="encodings",
)
def check_errata_notes_21(context: Context) -> Finding:
    b = np.array([1, 0, 1, 1])
    e = encodings.bag(4)
    V = e.positions()
    defined = V.shape[1] == len(b)
    right = np.array_equal(e(b)[:4], np.diag(b) @ V)
    square = np.arange(16.0).reshape(4, 4)
    columns = not np.array_equal(square @ np.diag(b), np.diag(b) @ square)
    return finding(
        right and not defined and columns,
        paper="X = V diag(b)",
        ours="X = diag(b) V",
        detail=f"V is {V.shape[0]} x {V.shape[1]}, diag(b) 4 x 4: only one product exists. For square V the other "
        "masks coordinates instead of positions.",
    )


@claim(
    "errata-notes-22",
    kind="erratum",
    where="notes section 5, proposition 5.5",
    statement="The composition defines f_tf+mlp, not f_mlp; 'for any input mapping' means the three listed: a "
    "constant mapping represents nothing. The score is x^T W_K W_Q^T z.",
    about="tf-mlp",
)
def check_errata_notes_22(context: Context) -> Finding:
    rng = stream(context.seed, "errata-22")
    W = HeadWeights(*(rng.normal(size=s) for s in [(5, 2), (5, 2), (5, 3), (3, 5)]))
    w, X = rng.normal(size=5), rng.normal(size=(5, 5))
    f = conjunction((0, 2), T=4)
    outputs = {tf_scalar(X, W, w) for _ in itertools.product([0, 1], repeat=4)}  # X does not depend on b
    labels = {int(f(np.array(b))) for b in itertools.product([0, 1], repeat=4)}
    defined = W.W_K.shape[0] == W.W_Q.shape[1]
    return finding(
        len(outputs) == 1 and len(labels) == 2 and not defined,
        paper="for any input mapping; x^T W_K^T W_Q z",
        ours=f"{len(outputs)} output for {len(labels)} labels",
        detail="A constant mapping represents no function but constants. For d x k matrices with k < d the "
        "printed score is not defined.",
    )


def fewest_kinks(values: list[float]) -> int:
    """Kinks that a piecewise linear function through (0, v_0), (1, v_1), .. needs: slope changes at interior points.

    Interpolating with a kink per change of slope is enough; for values that alternate, none can be saved: the
    function rises and falls in turn, so between two neighbouring turns there is a kink of its own.
    """
    slopes = np.diff(values)
    return int((np.diff(slopes) != 0).sum())


@claim(
    "errata-notes-23",
    kind="erratum",
    where="notes proposition 5.5, proof sketch",
    statement="O(s^2) neurons cannot serve all functions of s bits: 2^(2^s) functions have to be told apart, and a "
    "ReLU net of fixed depth with W parameters has VC dimension O(W log W).",
    about="general-representation",
)
def check_errata_notes_23(context: Context) -> Finding:
    needed = {s: fewest_kinks([float(i % 2) for i in range(2**s)]) for s in (5, 6, 8)}
    return finding(
        all(n > s**2 for s, n in needed.items()),
        paper="O(s^2) neurons in the worst case",
        ours=", ".join(f"s={s}: {n} > {s**2}" for s, n in needed.items()),
        detail="One hidden layer on the head's scalar, values alternating along its 2^s levels: one unit "
        "per kink. For any fixed depth the VC dimension says the same: 2^s points have to be shattered.",
        needed={str(s): n for s, n in needed.items()},
    )


@claim(
    "errata-notes-24",
    kind="erratum",
    where="notes section 5, end",
    statement="log2 C(T, s) is of the order s log(T/s), not s log T: at s = T it is 0. For AND a label carries only "
    "H(2^-s) bits.",
    about="sample-lower-bound",
)
def check_errata_notes_24(context: Context) -> Finding:
    bits = {s: math.log2(math.comb(100, s)) for s in (3, 50, 100)}
    entropy = -(1 / 8) * math.log2(1 / 8) - (7 / 8) * math.log2(7 / 8)
    return finding(
        bits[100] == 0 and bits[50] < 0.3 * 50 * math.log2(100) and 0.54 < entropy < 0.55,
        paper="s log T",
        ours=f"T = 100: {bits[3]:.1f}, {bits[50]:.1f}, {bits[100]:.0f} bits at s = 3, 50, 100",
        detail=f"s log2 T would be {3 * math.log2(100):.1f}, {50 * math.log2(100):.1f}, {100 * math.log2(100):.1f}. "
        f"A label of a 3-AND of fair bits carries {entropy:.3f} bits.",
        bits={str(s): b for s, b in bits.items()},
    )


@claim(
    "errata-notes-25",
    kind="erratum",
    where="notes section 6",
    statement="N = C(T, s), which grows like T^s, not in proportion to T; what succeeds at 100 % is validation, "
    "training accuracy does either way; the log T experiment is the AND task, not parity.",
    about="sparse-function",
)
def check_errata_notes_25(context: Context) -> Finding:
    sizes = [math.comb(T, 3) for T in (100, 1000, 10000)]
    slope = math.log(sizes[2] / sizes[1]) / math.log(10)
    return finding(
        abs(slope - 3) < 0.01,
        paper="N is proportional to T",
        ours=f"N grows like T^{slope:.3f}",
        detail="C(T, 3) from T = 1000 to 10000. (curves-and has the training accuracies.)",
        sizes=sizes,
    )


ERRATA_NOTES_26 = Claim(
    "errata-notes-26",
    kind="erratum",
    where="notes references",
    statement="[LPM15] is attention between two sequences, not self-attention; [BM02] is about Rademacher "
    "complexities, not covers; the attribution of [Hau14] is doubtful.",
    text_only=True,
)
