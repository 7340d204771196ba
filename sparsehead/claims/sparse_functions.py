"""Definitions of section 5: sparse and symmetric functions, approximation, encodings of bits."""

import itertools

import numpy as np

from .. import encoding as encodings
from ..functions import (
    conjunction,
    from_table,
    is_monotone,
    is_sparse,
    is_symmetric,
    majority,
    parity,
    sup_norm,
    uniform_distance,
)
from ..heads import (
    HeadWeights,
    tf_scalar,
)
from ..rng import stream
from .claim import Claim, Context, Finding, claim, finding
from .definitions import ROUNDING, agreement


@claim(
    "sparse-function",
    kind="definition",
    where="paper section 5; notes definition 5.1",
    statement="f: {0,1}^T -> Y is s-sparse if it depends only on the bits in a set I of s positions.",
)
def check_sparse_function(context: Context) -> Finding:
    f = from_table(T=6, support=(1, 4, 5), table=(0, 1, 1, 0, 0, 1, 1, 0))  # position 5 does not matter
    bits = np.array(list(itertools.product([0, 1], repeat=6)))
    same = all(f(a) == f(b) for a in bits for b in bits if (a[[1, 4]] == b[[1, 4]]).all())
    right = f.support == (1, 4) and is_sparse(f, 2) and is_sparse(f, 3) and not is_sparse(f, 1) and same
    return finding(
        right,
        paper="depends on I only",
        ours=f"support {f.support} of (1, 4, 5)",
        detail="A table on three positions that ignores one: the support is minimal, and equal bits there "
        "give equal values for all pairs of inputs of T = 6.",
    )


@claim(
    "symmetric",
    kind="definition",
    where="paper section 5; notes definition 5.2",
    statement="An s-sparse f is symmetric if its value depends only on how many bits of I are 1; monotone if in "
    "addition it never falls when a bit rises.",
)
def check_symmetric(context: Context) -> Finding:
    def slowly(table: tuple[int, ...]) -> bool:
        by_count: dict[int, set[int]] = {}
        for index, value in enumerate(table):
            by_count.setdefault(index.bit_count(), set()).add(value)
        return all(len(values) == 1 for values in by_count.values())

    tables = list(itertools.product([0, 1], repeat=8))
    wrong = [t for t in tables if from_table(T=5, support=(0, 2, 3), table=t).s == 3
             and is_symmetric(from_table(T=5, support=(0, 2, 3), table=t)) != slowly(t)]  # fmt: skip
    named = is_symmetric(parity((0, 1, 3), T=5)) and not is_monotone(parity((0, 1, 3), T=5))
    named = named and is_monotone(majority((0, 1, 3), T=5)) and is_monotone(conjunction((0, 1), T=5))
    return finding(
        not wrong and named,
        paper="depends on the count of ones",
        ours=f"{len(wrong)} of {len(tables)} tables on 3 bits judged otherwise",
        detail="Against the definition by counting; parity is symmetric but not monotone, majority and AND "
        "are both.",
    )


@claim(
    "bounded-function",
    kind="definition",
    where="paper section 5; notes definition 5.3",
    statement="f is B-bounded if ||f(b)||_inf <= B for every b.",
)
def check_bounded_function(context: Context) -> Finding:
    norms = [sup_norm(from_table(T=3, support=(), table=(0,))), sup_norm(parity((0, 2), T=3))]
    return finding(norms == [0.0, 1.0], paper="||f||_inf <= B", ours=f"{norms[0]}, {norms[1]}",
                   detail="The constant 0 and a parity; every 0/1 function is 1-bounded.")  # fmt: skip


@claim(
    "uniform-approximation",
    kind="definition",
    where="paper section 5; notes definition 5.4",
    statement="f^ approximates f eps-uniformly under b -> X(b) if ||f^(X(b)) - f(b)||_inf <= eps for every one of "
    "the 2^T inputs.",
)
def check_uniform_approximation(context: Context) -> Finding:
    bits = np.array(list(itertools.product([0, 1], repeat=5)))
    f, g = conjunction((0, 2), T=5), conjunction((0, 2, 4), T=5)
    direct = float(np.abs(f(bits) - g(bits)).max())
    right = uniform_distance(f, g) == direct == 1 and uniform_distance(f, f) == 0
    return finding(right, paper="sup over all b", ours=f"{direct:g} for AND_2 and AND_3",
                   detail="The supremum over all 32 inputs of T = 5; 0 for a function and itself.")  # fmt: skip


@claim(
    "encodings",
    kind="definition",
    where="paper section 5; notes section 5",
    statement="b -> X(b): (a) deterministic positions, X = E_b + P; (b) the same with P trainable; (c) bag of "
    "vectors, X = diag(b) V. Rows are approximately orthonormal (all |<v_i, v_j>| <= Delta); E_0, E_1 and "
    "[CLS] are exactly orthogonal to everything.",
)
def check_encodings(context: Context) -> Finding:
    rng = stream(context.seed, "encodings")
    b = np.array([1, 0, 1, 1, 0])
    a = encodings.random_positions(5, 40, rng=rng)
    c = encodings.random_bag(5, 40, rng=rng)
    error = float(np.abs(a(b)[:5] - (a.E[b] + a.positions())).max())
    error = max(error, float(np.abs(c(b)[:5] - np.diag(b) @ c.positions()).max()))
    reserved = np.vstack([a.E, a.cls])
    error = max(error, float(np.abs(reserved @ a.positions().T).max()), encodings.positional(5).coherence())
    return finding(
        error < ROUNDING and a.coherence() > 0,
        paper="X = E_b + P; X = diag(b) V",
        ours=f"Delta = 0 one-hot, {a.coherence():.3f} for random rows at d = 40",
        detail="Tokens against the displays; E_0, E_1 and [CLS] are exactly orthogonal to the random rows.",
        delta=a.coherence(),
    )


@claim(
    "bag-symmetry",
    kind="remark",
    where="paper section 5; notes section 5",
    statement="A scalar Transformer on a bag of vectors does not see the order of its tokens: permuting the rows of "
    "diag(b) V changes nothing.",
)
def check_bag_symmetry(context: Context) -> Finding:
    rng = stream(context.seed, "bag")
    W = HeadWeights(*(rng.normal(size=s) for s in [(9, 3), (9, 3), (9, 4), (4, 9)]))
    w, X = rng.normal(size=9), encodings.bag(6)(np.array([1, 0, 1, 1, 0, 1]))
    order = np.r_[rng.permutation(6), 6]
    error = abs(tf_scalar(X[order], W, w) - tf_scalar(X, W, w))
    return agreement("f(Pi diag(b) V) = f(diag(b) V)", error, "One random permutation of the rows.")


SPARSE_READING = Claim(
    "sparse-reading",
    kind="figure",
    where="notes figure 4",
    statement="A head that reads s of T tokens and ignores the others.",
)
