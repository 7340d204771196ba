"""Decoders of a head's output (bumps, plateaus, codes), and the certificate over all inputs."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from sparsehead._base.rng import stream
from sparsehead._base.types import Array
from sparsehead.certify import verify
from sparsehead.construct import build, units
from sparsehead.construct.code import best_code, count_changes
from sparsehead.construct.decoder import plateaus
from sparsehead.construct.paper import bump, bump_net, smallest_distance
from sparsehead.functions import SparseFunction, assignments, conjunction, from_table, parity, random_function
from sparsehead.heads.block import Layer
from sparsehead.heads.encoding import positional
from sparsehead.heads.model import Dense, Model

from .claim import EXACT, Context, Finding, claim, finding


@claim("bump", kind="lemma", where="paper lemma B.7 (the one-dimensional bump; our reading of the numbering)")
def check_bump(context: Context) -> Finding:
    """For $delta > 0$ and the ramp $nu$ from 0 to 1 made of two ReLU units, $psi(x) = nu(x) + nu(2 delta - x) - 1$
    is 1 on $[0, 2 delta]$, 0 outside $[-delta, 3 delta]$, and linear in between.
    """
    error = 0.0
    for delta in (0.05, 0.25, 2.0):
        x = np.linspace(-4 * delta, 6 * delta, 2001)
        straight = np.interp(x, [-delta, 0, 2 * delta, 3 * delta], [0, 1, 1, 0])
        error = max(error, float(np.abs(bump(x, delta) - straight).max()))
    return finding(
        error < 1e-12,
        paper="1 near the target, 0 away from it",
        ours=f"the trapezium within ${error:.0e}$",
        detail="$delta = .05, .25, 2$, 2001 points each; errata-paper-1 has the printed form.",
    )


@claim("bump-net", kind="lemma", where="paper lemma B.8 (our reading of the numbering)")
def check_bump_net(context: Context) -> Finding:
    """For $n$ targets in $R^{d_f}$ with a value each, pairwise at least $g$ apart in $l_inf$ and of size at most
    $B$, and $delta = g/4$, a net of hidden widths $4 n d_f$ and $2n$ gives each target's value exactly within
    $delta$ of it (in $l_inf$) and 0 at points farther than $2 delta$ from all targets. Weights and biases of the
    first layer are at most $B/delta + 2$, of the second layer at most $2 d_f$, and entries of the read-out $w$ at
    most the largest value.
    """
    rng = stream(context.seed, "bump-net")
    error, off, shapes = 0.0, 0.0, set()
    for d_f, n in ((1, 5), (2, 6), (3, 8), (5, 6)):
        targets = rng.permutation(8**d_f)[:n, None] // 8 ** np.arange(d_f) % 8 * 1.5 - 5.0
        values = rng.normal(size=n)
        g, B = smallest_distance(targets), float(np.abs(targets).max())
        (one, two), w = bump_net(targets, values, g / 4, d_f)
        near = targets[:, None] + rng.choice([-1, -0.5, 0, 1], size=(n, 60, d_f)) * g / 4
        error = max(error, float(np.abs(two(one(near)) @ w - values[:, None]).max()))
        far = rng.uniform(-7, 7, size=(4000, d_f))
        far = far[(np.abs(far[:, None] - targets).max(axis=2) >= g / 2).all(axis=1)]
        error = max(error, float(np.abs(two(one(far)) @ w).max()))
        allowed = (B / (g / 4) + 2, 2 * d_f, np.abs(values).max())
        found = (
            *(max(np.abs(layer.W).max(), np.abs(layer.b).max()) for layer in (one, two)),
            np.abs(w).max(),
        )
        off = max(off, *(abs(float(a / b) - 1) for a, b in zip(found, allowed, strict=True)))
        shapes.add((one.b.shape[0] / (n * d_f), two.b.shape[0] / n))
    return finding(
        error < 1e-11 and off < 1e-12 and shapes == {(4.0, 2.0)},
        paper="exact within $g/4$, widths $4 n d_f$ and $2n$",
        ours=f"error ${error:.0e}$ inside and outside; the largest entries are the stated ones to ${off:.0e}$",
        detail="$d_f = 1, 2, 3, 5$, 5 to 8 random targets: corners and insides of the cubes, 4000 other points.",
    )


@claim("exact-decoder", kind="ours")
def check_exact_decoder(context: Context) -> Finding:
    """A piecewise linear decoder with two ReLU units per change of value is constant on every interval that can
    contain the head's output; placed inside the head, with activation $sigma = ReLU$, it needs no MLP.
    """
    rng = stream(context.seed, "decoder")
    low = np.sort(rng.uniform(0, 10, size=12))
    high = low + 0.8 * np.diff(low, append=11)
    values = rng.integers(0, 2, size=12).astype(np.float64)
    decoder = plateaus(low, high, values)
    inside = np.linspace(low, high, 25)
    error = float(np.abs(decoder(inside) - values).max())
    changes = int((np.diff(values) != 0).sum())
    f = parity((1, 3, 4), T=8)
    alone = build(f, readout="head")
    inside_the_head = verify(alone, f).exact and alone.decoder == () and units(alone) == 6
    return finding(
        error < EXACT and len(decoder.kinks) == 2 * changes and inside_the_head,
        paper="bumps: 6 units a value",
        ours=f"{len(decoder.kinks)} units for {changes} changes, error ${error:.0e}$",
        detail="12 random intervals with random values, 25 points in each; and a 3-parity at $T = 8$ by 6 "
        "units inside the head, without an MLP, all inputs.",
    )


@claim("best-code", kind="ours")
def check_best_code(context: Context) -> Finding:
    """A code is a set of weights with which a head sums the relevant bits. The fewer times $f$ changes its value along
    this sum, the smaller is the decoder. One change is enough exactly for linear threshold functions, of which there
    are 104 on three bits; parity needs $s$ changes; no real weights do better.
    """
    tables = [from_table(T=3, support=(0, 1, 2), table=t) for t in itertools.product([0, 1], repeat=8)]
    thresholds = sum(f.s == 0 or best_code(f.values).changes == 1 for f in tables)
    odd = [best_code(parity(tuple(range(s)), T=s).values).changes for s in (2, 3, 4)]
    rng = stream(context.seed, "codes")
    weights = rng.integers(-(10**6), 10**6, size=(3000, 3))
    functions = [f for f in tables if f.s == 3][::5]
    beaten = sum(int(count_changes(f.values, weights).min()) < best_code(f.values).changes for f in functions)
    return finding(
        thresholds == 104 and odd == [2, 3, 4] and beaten == 0,
        ours=f"{thresholds} of 256 functions of 3 bits change at most once; parities of 2 to 4 bits {odd} times",
        detail=f"3000 random weightings beat the code of {beaten} of {len(functions)} functions. One change is two "
        "ReLU units.",
    )


@claim("exact-certificate", kind="ours")
def check_exact_certificate(context: Context) -> Finding:
    """For a one-layer model, bounds on the outputs over all $2^T$ inputs are proved for each pattern of the $s$
    relevant bits, in time $O(2^s T)$; they hold in exact arithmetic and in float64 with its rounding errors, and are
    attained for a scalar decoder of a single head.
    """
    rng = stream(context.seed, "certificate")
    worst, every = 0.0, assignments(11)
    for _ in range(6):
        f, g = (random_function(T=11, s=3, rng=rng) for _ in range(2))
        model = build(f)
        for target in (f, g):
            slow, fast = (verify(model, target, method=m) for m in ("exhaustive", "patterns"))
            worst = max(worst, abs(slow.max_error - fast.max_error))
            right = bool((f(every) == target(every)).all())
            if (
                slow.correct is not right
                or fast.correct is not right
                or right is (fast.counterexample is not None)
            ):
                worst = math.inf
    believed = [name for name, model, f in treacherous_models() if _believed(model, f)]
    return finding(
        worst < EXACT and not believed,
        ours=f"largest disagreement with enumeration ${worst:.0e}$; "
        + (f"falsely believed: {', '.join(believed)}" if believed else "no treacherous model is believed"),
        detail="Six heads at $T = 11$, each against its own function and against another: same error, same "
        "verdict, and a counterexample whenever the answer is no. Then models that float64 hides: scores "
        "that overflow, that bits move by 60 and 800, kinks in units of $1e-170$, a plane that looks like a "
        "line at $1e-14$, a step $5e-8$ wide, slopes of $2e15$.",
    )


def _believed(model: Model, f: SparseFunction) -> bool:
    """Return whether a verification method accepts `model`, which does not compute f."""
    found = [verify(model, f, method=m) for m in ("exhaustive", "patterns")]
    return any(c.correct or c.exact for c in found)


def treacherous_models() -> Iterator[tuple[str, Model, SparseFunction]]:
    """Yield models at T = 12 that are wrong (the first for AND, the others for the constant 0) in ways easily missed.

    The last model is right in exact arithmetic, but not in float64.
    """
    T, zero = 12, from_table(T=12, support=(0,), table=(0, 0))
    f = conjunction((2, 5, 11), T=T)
    layer = build(f).layers[0]
    yield (
        "overflow",
        replace(build(f), layers=(replace(layer, W_Q=layer.W_Q * 1e200, W_K=layer.W_K * 1e200),)),
        f,
    )
    for score in (60.0, 800.0):
        yield f"scores moved by {score:g}", _bit_reader(T, score), zero
    for unit in (1.0, 1e-170):
        tent = (unit * np.ones(3), -unit * np.array([0.4, 0.5, 0.6]), np.array([10.0, -20.0, 10.0]) / unit)
        yield f"a tent in units of {unit:g}", _bit_reader(T, 0.0, tent), zero
    for scale in (1.0, 1e-14):
        yield f"a plane at scale {scale:g}", _plane_reader(T, scale), zero
    step = (np.ones(2), -np.array([1 - 5e-8, 1.0]), np.array([1.0, -1.0]) / 5e-8)
    yield "a step of width 5e-8", _bit_reader(T, 0.0, step), zero
    steep = (np.array([1.0, 3.0]), np.array([0.3, 0.9]), np.array([6e15, -2e15]))
    yield "slopes of 2e15", _bit_reader(T, 0.0, steep), zero


def _bit_reader(T: int, score: float, units: tuple[Array, Array, Array] | None = None) -> Model:
    """Return a head that averages bits; zeros have score `score`. `units`: slopes, offsets, read-out of ReLU units."""
    encoding = positional(T)
    d = encoding.d
    W_Q, W_K, W_V = np.eye(1, d, 2).T[None], score * np.eye(1, d).T[None], np.eye(1, d, 1).T[None]
    layer = Layer(W_Q=W_Q, W_K=W_K, W_V=W_V, W_C=np.eye(1, d)[None])
    if units is None:
        return Model(encoding, (layer,), w=np.eye(1, d)[0], attends_cls=False)
    slopes, offsets, w = units
    dense = Dense(np.outer(np.eye(1, d)[0], slopes), offsets)
    return Model(encoding, (layer,), w=w, decoder=(dense,), attends_cls=False)


def _plane_reader(T: int, scale: float) -> Model:
    """Return a head whose values fill a plane, scaled by `scale`; a ReLU of each coordinate is read separately."""
    encoding = positional(T)
    d = encoding.d
    zero = np.zeros((1, d, 1))
    W_V = np.zeros((1, d, 2))
    W_V[0, 3:, 0], W_V[0, 3:, 1] = np.cos(np.arange(T)), np.sin(np.arange(T))
    W_V[0, 1] = (2.0, -3.0)
    W_C = np.zeros((1, 2, d))
    W_C[0, :, 0] = 30.0
    layer = Layer(W_Q=zero, W_K=zero, W_V=W_V * scale, W_C=W_C / scale, sigma="relu")
    return Model(encoding, (layer,), w=np.eye(1, d)[0], attends_cls=False)
