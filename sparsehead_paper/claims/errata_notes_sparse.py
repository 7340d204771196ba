"""Errata 19 to 25 of the notes (sections 5 and 6)."""

import itertools
import math

import numpy as np

from sparsehead._base.rng import stream
from sparsehead.construct import build
from sparsehead.floor.floor import fano
from sparsehead.functions import conjunction, is_symmetric, parse
from sparsehead.heads import encoding as encodings
from sparsehead.heads.heads import softmax

from .claim import Claim, Context, Finding, erratum, finding


@erratum("errata-notes-19", where="notes definitions 5.2, 5.4", about="symmetric")
def check_errata_notes_19(context: Context) -> Finding:
    """Definition 5.2, of functions $f$ that depend on $s$ of $T$ bits, lacks its conclusion 'implies $f(b) =
    f(b')$'; the range is $R$ in one place and $R^d$ in another; the other $T - s$ inputs are irrelevant, not
    relevant.
    """
    f = parse("x0 & !x1", T=3)
    a, b = np.array([1, 0, 0]), np.array([0, 1, 0])
    met = a[[0, 1]].sum() == b[[0, 1]].sum()
    return finding(
        bool(met) and f(a) != f(b) and not is_symmetric(f),
        paper="$|{i: b_i = 1}| = |{i: b'_i = 1}|$, full stop",
        ours="the counts agree and $f(b) != f(b')$",
        detail="x0 & !x1 on (1,0,0) and (0,1,0): the printed condition speaks of $b$ and $b'$ only and "
        "excludes no function.",
    )


@erratum("errata-notes-20", where="notes section 5, deterministic positions", about="encodings")
def check_errata_notes_20(context: Context) -> Finding:
    """$T + 3$ approximately orthonormal vectors ($T$ positions, two bits, [CLS]) need not be a basis: they can lie
    in a space of far fewer than $T + 3$ dimensions, and are then linearly dependent.
    """
    e = encodings.random_positions(400, 80, rng=stream(context.seed, "errata-20"))
    rows = np.vstack([e.positions(), e.E, e.cls])
    rank, delta = int(np.linalg.matrix_rank(rows)), e.coherence()
    return finding(
        rank == 80 and delta < 0.75,
        paper="$T + 3$ vectors are a basis of $R^d$",
        ours=f"{len(rows)} vectors of rank {rank}, $Delta = {delta:.2f}$",
        detail="$T = 400$ random unit positions in $d = 80$ dimensions.",
    )


@erratum("errata-notes-21", where="notes section 5, bag of vectors", about="encodings")
def check_errata_notes_21(context: Context) -> Finding:
    """The matrix $V$ of a bag of vectors is $T × d$, so its tokens are $X = diag(b) V$; $V diag(b)$ is defined only
    if $d = T$, and then masks columns instead of rows. The permutation acts from the left.
    """
    b = np.array([1, 0, 1, 1])
    e = encodings.bag(4)
    V = e.positions()
    defined = V.shape[1] == len(b)
    right = np.array_equal(e(b)[:4], np.diag(b) @ V)
    square = np.arange(16.0).reshape(4, 4)
    columns = not np.array_equal(square @ np.diag(b), np.diag(b) @ square)
    return finding(
        right and not defined and columns,
        paper="$X = V diag(b)$",
        ours="$X = diag(b) V$",
        detail=f"$V$ is {V.shape[0]} × {V.shape[1]}, $diag(b)$ 4 × 4: only one product exists. For square "
        "$V$ the other masks coordinates instead of positions.",
    )


@erratum("errata-notes-22", where="notes section 5, proposition 5.5", about="tf-mlp")
def check_errata_notes_22(context: Context) -> Finding:
    """The composition of a head and an MLP defines $f_tf+mlp$, not $f_mlp$. 'For any input mapping' must mean the
    three mappings listed, since nothing can be represented under a constant mapping. The score of a token $x$ and a
    context $z$ is $x^T W_K W_Q^T z$.
    """
    f, T = conjunction((1, 3), T=6), 6
    model = build(f, readout="mlp")
    layer, encoding, d = model.layers[0], model.encoding, model.d
    W_Q, W_K = (np.hstack([W[0], np.zeros((d, d - 1))]) for W in (layer.W_Q, layer.W_K))  # k = d
    errors = []
    for printed in (False, True):
        worst = 0.0
        for b in itertools.product([0, 1], repeat=T):
            X = encoding(np.array(b))
            scores = X @ (W_K.T @ W_Q if printed else W_K @ W_Q.T) @ encoding.cls
            y = layer.W_C[0].T @ (layer.W_V[0].T @ (X.T @ softmax(scores)))
            out = float(model.decoder[0](y[None])[0] @ model.w + model.bias)
            worst = max(worst, abs(out - float(f(np.array(b)))))
        errors.append(worst)
    return finding(
        errors[0] < 1e-9 and errors[1] > 0.4,
        paper="$x^T W_K^T W_Q z$",
        ours=f"error ${errors[0]:.0e}$ with $x^T W_K W_Q^T z$, {errors[1]:.2f} with the printed score",
        detail="A written head for the AND of two bits at $T = 6$, padded to $k = d$, all 64 inputs, its net applied "
        "to the head's output: $f_tf+mlp$. That a constant mapping represents only constants needs no computation.",
        errors=errors,
    )


def fewest_kinks(values: list[float]) -> int:
    """Return how many kinks (changes of slope) a piecewise linear function through (0, v_0), (1, v_1), .. needs.

    Linear interpolation has one kink per change of slope. For alternating values no function has fewer: it rises and
    falls in turn, and each change of direction needs a separate kink.
    """
    slopes = np.diff(values)
    return int((np.diff(slopes) != 0).sum())


def log_sign_patterns(points: int, inputs: int, widths: tuple[int, ...]) -> float:
    """Return ln of a bound on the labellings of `points` points by ReLU nets with these hidden widths.

    Warren (1968): W real parameters give M >= W polynomials of degree D at most (8 e M D / W)^W sign patterns. Given
    the signs of all earlier units, a unit in layer l at one point is a polynomial of degree l in the parameters.
    """
    total, parameters, before = 0.0, 0, inputs
    for layer, width in enumerate((*widths, 1), start=1):
        parameters += (before + 1) * width
        polynomials = max(points * width, parameters)
        total += parameters * math.log(8 * math.e * polynomials * layer / parameters)
        before = width
    return total


@erratum("errata-notes-23", where="notes proposition 5.5, proof sketch", about="general-representation")
def check_errata_notes_23(context: Context) -> Finding:
    """$O(s^2)$ neurons do not suffice for all functions of $s$ bits: there are $2^(2^s)$ such functions, and a ReLU net
    of fixed depth with $W$ parameters labels $2^s$ points in at most $(c 2^s)^(O(W))$ ways. Two hidden layers of $s^2$
    units each fail at 28 bits; on the scalar output of one head they fail at 5 bits.
    """
    needed = {s: fewest_kinks([float(i % 2) for i in range(2**s)]) for s in (5, 6, 8)}
    spare = {s: 2**s * math.log(2) / log_sign_patterns(2**s, s, (s**2, s**2)) for s in (20, 28, 40)}
    # what small nets can do: all labellings of two points by one unit, of four by two units of two inputs
    possible = log_sign_patterns(2, 1, (1,)) >= math.log(4) and log_sign_patterns(4, 2, (2,)) >= math.log(16)
    return finding(
        all(n == 2**s - 2 > s**2 for s, n in needed.items())
        and spare[28] > 1
        and spare[40] > 100
        and possible,
        paper="$O(s^2)$ neurons in the worst case",
        ours=", ".join(f"$s={s}$: ${n} > {s**2}$" for s, n in needed.items())
        + f"; two layers: {spare[28]:.1f} times too many bits of choice at $s = 28$",
        detail="One hidden layer on the head's scalar, values alternating along its $2^s$ levels: one unit "
        "per kink. Two hidden layers of $s^2$ units: $ln 2^(2^s)$ over the logarithm of Warren's count.",
        needed={str(s): n for s, n in needed.items()},
        spare={str(s): x for s, x in spare.items()},
    )


@erratum("errata-notes-24", where="notes section 5, end", about="sample-lower-bound")
def check_errata_notes_24(context: Context) -> Finding:
    """The number of bits that name one of $C(T, s)$ supports, $log2 C(T, s)$, is of the order $s log(T/s)$, not $s log
    T$: at $s = T$ the number is 0. For AND a label has only $H(2^{-s})$ bits of information, where $H$ is the binary
    entropy.
    """
    bits = {s: math.log2(math.comb(100, s)) for s in (3, 50, 100)}
    entropy = -(1 / 8) * math.log2(1 / 8) - (7 / 8) * math.log2(7 / 8)
    # to name a support of C(100, s) with probability close to 1 takes log2 C(100, s) / H(2^-s) labels
    surely = 1 - 1e-9
    needed = {s: fano("and", s=s, T=100, p=0.5, target=surely) for s in (3, 100)}
    return finding(
        bits[100] == 0
        and bits[50] < 0.3 * 50 * math.log2(100)
        and 0.54 < entropy < 0.55
        and needed == {3: math.ceil(bits[3] / entropy - 1e-6), 100: 0},
        paper="$s log T$",
        ours=f"$T = 100$: {bits[3]:.1f}, {bits[50]:.1f}, {bits[100]:.0f} bits at $s = 3, 50, 100$",
        detail=f"$s log2 T$ would be {3 * math.log2(100):.1f}, {50 * math.log2(100):.1f}, {100 * math.log2(100):.1f}. "
        f"A label of a 3-AND of fair bits carries {entropy:.3f} bits, so {needed[3]} labels are needed.",
        bits={str(s): b for s, b in bits.items()},
    )


@erratum("errata-notes-25", where="notes section 6", about="sparse-function")
def check_errata_notes_25(context: Context) -> Finding:
    """$N = C(T, s)$, the number of supports, grows like $T^s$, not like $T$. Validation accuracy distinguishes success
    from failure; training accuracy reaches 100 % in both cases. The $log T$ experiment is the AND task, not parity.
    """
    sizes = [math.comb(T, 3) for T in (100, 1000, 10000)]
    slope = math.log(sizes[2] / sizes[1]) / math.log(10)
    inputs = np.array(list(itertools.product([0, 1], repeat=8)))
    tables = {conjunction(I, T=8)(inputs).tobytes() for I in itertools.combinations(range(8), 3)}
    return finding(
        abs(slope - 3) < 0.01 and len(tables) == math.comb(8, 3),
        paper="$N$ is proportional to $T$",
        ours=f"$N$ grows like $T^{slope:.3f}$",
        detail=f"$C(T, 3)$ from $T = 1000$ to 10000; at $T = 8$ the {len(tables)} ANDs of three positions "
        "are as many different functions. (curves-and has the training accuracies.)",
        sizes=sizes,
    )


errata_notes_26 = Claim(
    "errata-notes-26",
    kind="erratum",
    where="notes references",
    statement="[LPM15] is attention between two sequences, not self-attention; [BM02] is about Rademacher "
    "complexities, not covers; the attribution of [Hau14] is doubtful.",
    text_only=True,
)
