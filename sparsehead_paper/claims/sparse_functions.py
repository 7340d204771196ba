"""Definitions of section 5: sparse and symmetric functions, approximation, encodings of bits."""

import itertools

import numpy as np

from sparsehead._base.rng import stream
from sparsehead.construct.paper import smallest_distance
from sparsehead.functions import (
    from_table,
    is_monotone,
    is_sparse,
    is_symmetric,
    parity,
    sup_norm,
    uniform_distance,
)
from sparsehead.heads import encoding as encodings
from sparsehead.heads.heads import HeadWeights, tf_scalar

from ..theory.printed import smallest_step
from .claim import ROUNDING, Claim, Context, Finding, claim, finding
from .definitions import agreement


@claim("sparse-function", kind="definition", where="paper section 5; notes definition 5.1")
def check_sparse_function(context: Context) -> Finding:
    """$f: {0,1}^T -> Y$ is $s$-sparse if it depends only on the bits at a set $I$ of $s$ positions."""
    f = from_table(T=6, support=(1, 4, 5), table=(0, 1, 1, 0, 0, 1, 1, 0))  # position 5 does not matter
    bits = np.array(list(itertools.product([0, 1], repeat=6)))
    same = all(f(a) == f(b) for a in bits for b in bits if (a[[1, 4]] == b[[1, 4]]).all())
    right = f.support == (1, 4) and is_sparse(f, 2) and is_sparse(f, 3) and not is_sparse(f, 1) and same
    return finding(
        right,
        paper="depends on I only",
        ours=f"support {f.support} of (1, 4, 5)",
        detail="The support is minimal, and equal bits there give equal values, for all pairs of inputs at $T = 6$.",
    )


@claim("symmetric", kind="definition", where="paper section 5; notes definition 5.2")
def check_symmetric(context: Context) -> Finding:
    """An $s$-sparse $f$ is symmetric if its value depends only on how many bits of $I$ are 1; monotone if in addition
    it never decreases when a bit changes from 0 to 1.
    """

    def slowly(table: tuple[int, ...]) -> bool:
        by_count: dict[int, set[int]] = {}
        for index, value in enumerate(table):
            by_count.setdefault(index.bit_count(), set()).add(value)
        return all(len(values) == 1 for values in by_count.values())

    def rises(table: tuple[int, ...]) -> bool:
        pairs = [(i, i | 1 << j) for i in range(8) for j in range(3)]
        return all(table[i] <= table[j] for i, j in pairs)

    tables = list(itertools.product([0, 1], repeat=8))
    functions = {t: from_table(T=5, support=(0, 2, 3), table=t) for t in tables}
    wrong = sum(f.s == 3 and is_symmetric(f) != slowly(t) for t, f in functions.items())
    wrong += sum(is_monotone(f) != rises(t) for t, f in functions.items())
    both = sum(f.s == 3 and is_symmetric(f) and is_monotone(f) for f in functions.values())
    return finding(
        wrong == 0 and both == 3,
        paper="depends on the count of ones",
        ours=f"{wrong} of {len(tables)} tables on 3 bits judged otherwise; {both} are symmetric and monotone",
        detail="Against the definitions by counting and by raising one bit; the three are OR, majority and AND.",
    )


@claim("gamma-monotone", kind="definition", where="paper appendix B, before lemma B.2 (our reading)")
def check_gamma_monotone(context: Context) -> Finding:
    """A symmetric real function with value $h(r)$ at $r$ ones is $gamma$-strictly monotone if $h(r + 1) >= h(r) +
    gamma$ for every $r$. The targets of the one-head constructions have this property: $-(1/s) sum chi_i$ with
    $gamma = 2/s$, where $chi_i$ is 1 for $b_i = 0$ and -1 for $b_i = 1$, and $(r - s)/(r + 1)$ with $gamma = 1/s$.
    """
    off = 0.0
    for s in (1, 2, 3, 5, 8):
        r = np.arange(s + 1)
        off = max(
            off, abs(smallest_step(2 * r / s - 1) * s / 2 - 1), abs(smallest_step((r - s) / (r + 1)) * s - 1)
        )
    flat = smallest_step(np.array([0.0, 1.0, 1.0, 2.0]))
    falls = smallest_step(np.array([0.0, 3.0, 2.0]))
    return finding(
        off < ROUNDING and flat == 0 and falls == -1,
        paper="$gamma$-strictly monotone",
        ours=f"$2/s$ and $1/s$ to ${off:.0e}$ for $s = 1, 2, 3, 5, 8$",
        detail="A function that stays constant has $gamma = 0$, one that falls a negative one.",
    )


@claim("gamma-injective", kind="definition", where="paper appendix B, before lemma B.2 (our reading)")
def check_gamma_injective(context: Context) -> Finding:
    """A vector-valued function of the bits in $I$ is $gamma$-injective if its values at different patterns are at
    least $gamma$ apart in $l_inf$. The targets of the constructions for general functions have this property:
    $(chi_i)_i$ with $gamma = 2$, where $chi_i$ is 1 for $b_i = 0$ and -1 for $b_i = 1$, and $((b_i - 1)/(r + 1))_i$
    with $gamma = 1/s$, where $r$ is the number of ones.
    """
    off = 0.0
    for s in (1, 2, 3, 4, 5):
        b = np.array(list(itertools.product([0.0, 1.0], repeat=s)))
        bag = (b - 1) / (b.sum(axis=1, keepdims=True) + 1)
        for targets, gamma in ((1 - 2 * b, 2.0), (bag, 1 / s)):
            pairs = itertools.combinations(targets, 2)
            slow = min(max(abs(x - y) for x, y in zip(p, q, strict=True)) for p, q in pairs)
            off = max(off, abs(smallest_distance(targets) - slow), abs(slow / gamma - 1))
    twice = smallest_distance(np.array([[0.0, 1.0], [2.0, 3.0], [0.0, 1.0]]))
    off = max(off, abs(smallest_distance(np.array([[0.0, 0.0], [0.3, 0.2], [1.0, 1.0]])) - 0.3))
    return finding(
        off < ROUNDING and twice == 0,
        paper="$gamma$-injective",
        ours=f"2 and $1/s$ to ${off:.0e}$ for $s = 1$ to 5",
        detail="Every pair of patterns by hand; a function that takes a value twice has $gamma = 0$.",
    )


@claim("bounded-function", kind="definition", where="paper section 5; notes definition 5.3")
def check_bounded_function(context: Context) -> Finding:
    """A function $f$ of $T$ bits is $B$-bounded if $||f(b)||_inf <= B$ for every input $b$."""
    norms = [sup_norm(from_table(T=3, support=(), table=(0,))), sup_norm(parity((0, 2), T=3))]
    return finding(norms == [0.0, 1.0], paper="$||f||_inf <= B$", ours=f"{norms[0]}, {norms[1]}",
                   detail="The constant 0 and a parity; every 0/1 function is 1-bounded.")  # fmt: skip


@claim("uniform-approximation", kind="definition", where="paper section 5; notes definition 5.4")
def check_uniform_approximation(context: Context) -> Finding:
    """A function $f^$ of tokens approximates a function $f$ of $T$ bits $eps$-uniformly under an encoding $b ->
    X(b)$ of bits as tokens if $||f^ (X(b)) - f(b)||_inf <= eps$ for every one of the $2^T$ inputs.
    """
    bits = np.array(list(itertools.product([0, 1], repeat=4)))
    tables = list(itertools.product([0, 1], repeat=4))
    functions = [from_table(T=4, support=pair, table=t) for pair in ((0, 2), (1, 2)) for t in tables]
    wrong = sum(
        uniform_distance(f, g) != float(np.abs(f(bits).astype(int) - g(bits).astype(int)).max())
        for f in functions
        for g in functions
    )
    return finding(
        wrong == 0,
        paper="sup over all $b$",
        ours=f"{wrong} of {len(functions) ** 2} pairs judged otherwise",
        detail="All functions of two bits on two supports of $T = 4$ against one another, all 16 inputs.",
    )


@claim("encodings", kind="definition", where="paper section 5; notes section 5")
def check_encodings(context: Context) -> Finding:
    """An encoding $b -> X(b)$ maps $T$ bits to tokens: (a) deterministic positions, $X = E_b + P$, the vector $E_0$
    or $E_1$ of each bit plus that of its position; (b) the same with $P$ trainable; (c) bag of vectors, $X =
    diag(b) V$, one vector for each bit that is 1. The rows $v_i$ of $P$ or $V$ are approximately orthonormal (all
    $|<v_i, v_j>| <= Delta$); $E_0$, $E_1$ and [CLS] are exactly orthogonal to everything.
    """
    rng = stream(context.seed, "encodings")
    b = np.array([1, 0, 1, 1, 0])
    a = encodings.random_positions(5, 40, rng=rng)
    c = encodings.random_bag(5, 40, rng=rng)
    error = float(np.abs(a(b)[:5] - (a.E[b] + a.positions())).max())
    error = max(error, float(np.abs(c(b)[:5] - np.diag(b) @ c.positions()).max()))
    reserved = np.vstack([a.E, a.cls])
    error = max(error, float(np.abs(reserved @ a.positions().T).max()), encodings.positional(5).coherence())
    rows = np.vstack([a.positions(), reserved])
    error = max(error, abs(a.coherence() - float(np.abs(rows @ rows.T - np.eye(8)).max())))
    onehot = encodings.positional(5)
    table, cls = onehot.project(np.eye(8))
    both = np.array([onehot(np.full(5, bit))[:5] for bit in (0, 1)]).transpose(1, 0, 2)
    error = max(error, float(np.abs(table - both).max()), float(np.abs(cls - onehot(b)[5]).max()))
    return finding(
        error < ROUNDING and a.coherence() > 0,
        paper="$X = E_b + P$; $X = diag(b) V$",
        ours=f"$Delta = 0$ one-hot, {a.coherence():.3f} for random rows at $d = 40$",
        detail="Tokens against the displays; $E_0$, $E_1$ and [CLS] are exactly orthogonal to the random rows.",
    )


@claim("bag-symmetry", kind="remark", where="paper section 5; notes section 5")
def check_bag_symmetry(context: Context) -> Finding:
    """The output of a scalar Transformer on a bag of vectors $diag(b) V$ (one row of $V$ for each bit that is 1)
    does not depend on the order of its tokens: permuting the rows of $diag(b) V$ changes nothing.
    """
    rng = stream(context.seed, "bag")
    W = HeadWeights(*(rng.normal(size=s) for s in [(9, 3), (9, 3), (9, 4), (4, 9)]))
    w, X = rng.normal(size=9), encodings.bag(6)(np.array([1, 0, 1, 1, 0, 1]))
    order = np.r_[rng.permutation(6), 6]
    error = abs(tf_scalar(X[order], W, w) - tf_scalar(X, W, w))
    return agreement("$f(Pi diag(b) V) = f(diag(b) V)$", error, "One random permutation of the rows.")


sparse_reading = Claim(
    "sparse-reading",
    kind="figure",
    where="notes figure 4",
    statement="A head that reads $s$ of $T$ tokens and ignores the others.",
)
