"""Covers of linear classes: algorithms that compute them, bounds on their size, and the split lemma."""

import math
from dataclasses import replace

import numpy as np

from sparsehead._base.rng import stream
from sparsehead.capacity.forms import covering
from sparsehead.capacity.items import Item, log_capacity
from sparsehead.capacity.norms import matrix_norm, matrix_norms, spectral_norm
from sparsehead.capacity.pricing import Pricing

from ..theory import linear
from ..theory.function_classes import class_packing_number
from ..theory.perceptron import MatrixCover, VectorCover
from ..theory.printed import item, split
from .claim import EXACT, Context, Finding, claim, finding


@claim("vector-cover", kind="ours", where="not in the paper; replaces A.10 with a smaller constant")
def check_vector_cover(context: Context) -> Finding:
    """On $N$ points of length at most $b$, the class ${x -> <w, x>: ||w|| <= a}$ has a proper $eps$-cover (one made
    of members of the class) of size $n$ with $ln n <= (ceil(r^2) - 1) ln(2N + 1)$, $r = a b/eps$; a perceptron
    finds the cover's element for a given $w$ in fewer than $r^2$ updates.
    """
    rng = stream(context.seed, "perceptron")
    right, share = True, 0.0
    for n, eps in ((40, 0.5), (40, 0.1), (17, 0.24), (65, 0.124)):
        for trial in range(6):
            X, w = rng.normal(size=(n, 6)), rng.normal(size=6)
            X, w = X / np.linalg.norm(X, axis=1, keepdims=True), w / np.linalg.norm(w)
            # Points e_i and k equal entries, each just above eps: every one of k updates is needed.
            if trial == 0:
                k = math.ceil(eps**-2) - 1
                X, w = np.eye(n + k), np.zeros(n + k)
                w[rng.permutation(n + k)[:k]] = k**-0.5
            found = VectorCover(X=X, eps=eps, a=1, b=1).element(w)
            right &= float(np.abs(X @ (w - found.v)).max()) <= eps * (1 + EXACT)
            right &= float(np.linalg.norm(found.v)) <= 1 + EXACT
            right &= bool(np.array_equal(VectorCover(X=X, eps=eps, a=1, b=1).replay(found.name), found.v))
            share = max(share, len(found.name) / (math.ceil(eps**-2) - 1))
    # one point: the class is an interval of length 2r, and ceil(r) balls of radius 1 cover it
    radii = (0.9, 1.0, 1.02, 1.4, 2.5, 8.0)
    exact = [(math.log(math.ceil(r)), linear.log_cover_vector(a=r, b=1, eps=1, N=1)) for r in radii]
    right &= all(low <= high for low, high in exact) and exact[1][1] == 0
    tight = exact[2][1] / exact[2][0]
    loose = max(
        linear.log_cover_vector(a=1, b=1, eps=eps, N=N) / linear.log_cover_lower(a=1, b=1, eps=eps, N=N)
        for eps, N in ((0.05, 10**6), (0.1, 10**4), (0.1, 10**8))
    )
    return finding(
        right and share == 1 and 1 <= tight < 2 and 1 < loose < 9,
        ours=f"elements lie in the class and are given by their names; at most {share:.2f} of the updates allowed; "
        f"{tight:.2f} times the exact $ln N$ on one point, at most {loose:.1f} times a packing's on many",
        detail="24 $w$ on up to 129 points, among them $w$ that need every update; intervals, whose covering numbers "
        "are known; $k$-sparse vectors on an orthonormal basis, which are more than $2 eps$ apart.",
    )


@claim("parametric-cover", kind="ours", where="not in the paper; classical")
def check_parametric_cover(context: Context) -> Finding:
    """The class of vector-cover (vectors of length at most $a$, points of length at most $b$) in $d$ dimensions has
    a proper $eps$-cover of size $n$ with $ln n <= d ln(1 + 2 a b/eps)$ for any number of points: counting
    parameters gives the smaller bound at practical sizes.
    """
    rng = stream(context.seed, "parametric")
    W = rng.normal(size=(300, 2))
    W /= np.maximum(1, np.linalg.norm(W, axis=1, keepdims=True))
    X = rng.normal(size=(12, 2))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    packed = class_packing_number((W @ X.T)[:, :, None], r=0.4, time_limit=2.0).lower
    limit = linear.log_cover_parametric(a=1, b=1, eps=0.2, d=2)
    # one dimension: an interval of length 2r; d dimensions seen through a basis: a cube of side 2r/sqrt d in it
    radii = (1.0, 1.02, 1.9, 3.0, 100.0)
    lines = [(math.log(math.ceil(r)), linear.log_cover_parametric(a=r, b=1, eps=1, d=1)) for r in radii]
    cubes = [
        (d * math.log(math.ceil(r / math.sqrt(d))), linear.log_cover_parametric(a=r, b=1, eps=1, d=d))
        for d in (2, 5, 20)
        for r in (10.0, 1e3, 1e6)
    ]
    below = all(low <= high for low, high in lines + cubes) and lines[0][1] == 0
    tight = lines[1][1] / lines[1][0]
    return finding(
        math.log(packed) <= limit and below and tight < 2,
        ours=f"$ln {packed} = {math.log(packed):.2f} <= {limit:.2f}$; {tight:.2f} times the exact $ln N$ of "
        "an interval",
        detail="Exact covering numbers of intervals and of cubes inside the ball, and a packing at $2 eps$ "
        "of 300 sampled functions, against $d ln(1 + 2r)$.",
    )


@claim("zhang-cover", kind="theorem", where="paper lemma A.10 (Zhang 2002, theorem 4); notes equation (8)")
def check_zhang_cover(context: Context) -> Finding:
    """The class of vector-cover (vectors of length at most $a$, $N$ points of length at most $b$) has an
    $eps$-cover of size $n$ with $ln n <= 36 (a b/eps)^2 ln(2 ceil(4 a b/eps + 2) N + 1)$: logarithmic in the number
    of points, independent of the dimension.
    """
    rng = stream(context.seed, "zhang")
    ratios, right = [], True
    for eps in (0.05, 0.1, 0.3):
        for N in (100, 10**4, 10**6):
            low, ours, zhang = (
                f(a=1, b=1, eps=eps, N=N)
                for f in (linear.log_cover_lower, linear.log_cover_vector, linear.log_cover_zhang)
            )
            printed = 36 / eps**2 * math.log(2 * math.ceil(4 / eps + 2) * N + 1)
            right &= low <= ours <= zhang and abs(zhang / printed - 1) < 1e-9
            ratios.append(zhang / ours)
    for p, q in ((2.0, 2.0), (4.0, 4 / 3)):
        W, X = rng.normal(size=(200, 4)), rng.normal(size=(30, 4))
        W /= np.linalg.norm(W, ord=q, axis=1, keepdims=True)
        X /= np.linalg.norm(X, ord=p, axis=1, keepdims=True)
        packed = class_packing_number((W @ X.T)[:, :, None], r=0.2, time_limit=1.0).lower
        right &= math.log(packed) <= linear.log_cover_zhang(a=1, b=1, eps=0.1, N=30, p=p)
        grown = linear.log_cover_zhang(a=1, b=1, eps=0.1, N=30, p=p) / linear.log_cover_zhang(
            a=1, b=1, eps=0.1, N=30
        )
        right &= abs(grown - (p - 1)) < 1e-9
    right &= all(
        math.log(math.ceil(r)) <= linear.log_cover_zhang(a=r, b=1, eps=1, N=1)
        for r in (0.01, 0.5, 1.01, 3.0, 1e3)
    )
    return finding(
        right,
        paper="$36 (a b/eps)^2 ln(..)$",
        ours=f"{min(ratios):.0f} to {max(ratios):.0f} times the perceptron cover",
        detail="Lower bound <= perceptron cover <= the printed formula on a grid of $eps$ and $N$; "
        "intervals; packings of 200 functions with $(p, q) = (2, 2)$ and $(4, 4/3)$. A quoted theorem: "
        "nothing else depends on it.",
    )


@claim("linear-cover", kind="lemma", where="paper lemma 4.6; notes lemma 3.3")
def check_linear_cover(context: Context) -> Finding:
    """For matrices $W$ with $d_1$ rows, the class ${x -> W x: ||W^T||_{2,1} <= B_W}$ on $N$ points of length at
    most $B_X$ has an $eps$-cover of size $n$ with $ln n <~ (B_X B_W / eps)^2 ln(d_1 N)$; our bound is $(B_X B_W /
    eps)^2 (ln^{1/3}(d_1 + 1) + ln^{1/3}(2 N d_1 + 1))^3$, proved by an algorithm that returns the cover's element.
    """
    rng = stream(context.seed, "matrix")
    right, worst = True, 0.0
    for trial in range(9):
        X, W, alpha, S = rng.normal(size=(20, 4)), rng.normal(size=(3, 4)), 0.25, None
        if trial % 2:  # orthogonal rows: without the projection, elements exceed the spectral norm
            X, alpha = X + 2 * rng.normal(size=4), 0.05
            W = np.linalg.qr(rng.normal(size=(5, 5)))[0][:, :4]
            S = spectral_norm(W)
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        B = matrix_norm(W.T, 2, 1)
        r = (1.3, 3.0, 5.0)[trial % 3] if S is None else 4.5
        eps = B / r
        found = MatrixCover(X=X, eps=eps, B=B, b=1, S=S, alpha=alpha).element(W)
        error = float(np.linalg.norm(X @ (W - found.V).T, axis=1).max())
        right &= error <= eps * (1 + EXACT) and matrix_norm(found.V.T, 2, 1) <= B * (1 + EXACT)
        right &= S is None or spectral_norm(found.V) <= S * (1 + EXACT)
        again = MatrixCover(X=X, eps=eps, B=B, b=1, S=S, alpha=alpha).replay(found.budgets, found.name)
        right &= bool(np.array_equal(again, found.V))
        right &= sum(found.budgets) <= r**2 / alpha * (1 + EXACT)
        right &= len(found.name) <= math.ceil((r / (1 - math.sqrt(alpha))) ** 2 * (1 + EXACT)) - 1
        worst = max(worst, len(found.name) / max(1, found.most))
    ratios = []
    for d_1, N, eps in ((1, 10**6, 0.0992), (1, 100, 0.3), (3, 10**4, 0.1), (64, 10**6, 0.1)):
        low = linear.log_cover_lower(a=1, b=1, eps=eps, N=N)  # all of B in one row
        counted = linear.log_cover_matrix(B=1, b=1, eps=eps, d_1=d_1, N=N)
        closed = linear.log_cover_matrix_closed(B=1, b=1, eps=eps, d_1=d_1, N=N)
        right &= low <= counted <= closed
        ratios.append((counted / low, closed / counted))
    # many distinct (budgets, names): the count must allow for all that occur
    names = set()
    for _ in range(300):
        W = rng.normal(size=(2, 2))
        W *= rng.uniform() / matrix_norm(W.T, 2, 1)
        seen = MatrixCover(X=np.eye(2), eps=0.4, B=1, b=1).element(W)
        names.add((seen.budgets, seen.name))
    right &= math.log(len(names)) <= linear.log_cover_matrix(B=1, b=1, eps=0.4, d_1=2, N=2, alpha=0.25)
    closed = linear.log_cover_matrix_closed(B=1, b=1, eps=0.1, d_1=64, N=10**6)
    return finding(
        right and ratios[0][0] < 8 and max(r for _, r in ratios) < 4,
        paper="$(B b/eps)^2 ln(d_1 N)$, constant open",
        ours=f"$(B b/eps)^2 Lambda$; $ln N <= {closed:.0f}$ at $eps = .1$, $d_1 = 64$, $N = 10^6$; the "
        f"algorithm's own count is {ratios[0][0]:.1f} times a packing's",
        detail="9 random $W$: the element found lies in the class, errs by at most $eps$, is given by its name, with "
        f"at most {worst:.2f} of the updates allowed. Packing <= names of the algorithm <= closed form.",
    )


@claim("score-cover", kind="lemma", where="paper, proof of corollary 4.5 (appendix A, before A.10)")
def check_score_cover(context: Context) -> Finding:
    """Scores $(x, z) -> z^T W x$ are linear in $W$ with the point $z x^T$: on $N$ pairs of a token $x$ of length at
    most $B_X$ and a context $z$ of length at most $B_Z$ they have an $eps$-cover of size $n$ with $ln n <= (||W||_F
    B_X B_Z / eps)^2 ln(2N + 1)$, with the Frobenius norm and without $log d$; the paper has $||W^T||_{2,1}$ and
    $log(d N)$.
    """
    rng = stream(context.seed, "scores")
    right, worst = True, 0.0
    for eps in (0.7, 0.3):
        W, X, Z = rng.normal(size=(3, 3)), rng.normal(size=(15, 3)), rng.normal(size=(15, 3))
        W /= np.linalg.norm(W)
        X, Z = (M / np.linalg.norm(M, axis=1, keepdims=True) for M in (X, Z))
        points = np.einsum("ni,nj->nij", Z, X).reshape(15, 9)
        found = VectorCover(X=points, eps=eps, a=1, b=1).element(W.ravel())
        off = np.einsum("ni,ij,nj->n", Z, W - found.v.reshape(3, 3), X)
        right &= float(np.abs(off).max()) <= eps * (1 + EXACT) and len(found.name) < eps**-2
        right &= float(np.linalg.norm(found.v)) <= 1 + EXACT
        worst = max(worst, len(found.name) * eps**2)
    price = Pricing("ours")
    for d, N, size in ((1, 1, 1.02), (1, 1, 3.0), (4, 50, 2.0)):
        norms = replace(matrix_norms(np.eye(d)), frobenius=size / 6)
        c = price.bilinear(f"W{d}{size}", norms, log_b=math.log(6.0), log_N=math.log(N), log_p=0.0).c
        # on one pair the class is an interval; on orthogonal pairs it contains one
        right &= math.log(math.ceil(size)) <= c and abs(c / (size**2 * math.log(2 * N + 1)) - 1) < 1e-9
    return finding(
        right,
        paper="$||W^T||_{2,1}$, $log(d N)$",
        ours=f"$||W||_F$, $ln(2N + 1)$: {1.02**2 * math.log(3) / math.log(2):.2f} times the exact $ln N$ of "
        "an interval",
        detail=f"$W$ found from its update names, with at most {worst:.2f} of the updates allowed; exact "
        "covering numbers where the class is an interval.",
    )


@claim("split-lemma", kind="lemma", where="paper lemma A.8")
def check_split_lemma(context: Context) -> Finding:
    """For positive $c_k$ and $p_k$, the minimum of $sum_k c_k / x_k^2$ subject to $sum_k p_k x_k = eps$ is $(sum_k
    c_k^{1/3} p_k^{2/3})^3 / eps^2$, attained at $x_k$ proportional to $(c_k / p_k)^{1/3}$: the best division of
    $eps$ among covers with $ln N = c_k / x_k^2$.
    """
    rng = stream(context.seed, "split")
    c, p, eps = rng.uniform(0.1, 10, size=4), rng.uniform(0.1, 10, size=4), 0.7
    items = [item(f"{k}", c=float(c[k]), p=float(p[k])) for k in range(4)]
    closed = math.exp(log_capacity(items)) / eps**2
    at_split = float((c / np.array(split(items, eps)) ** 2).sum())
    tried = rng.dirichlet(np.ones(4), size=5000) * eps / p
    best = float((c / tried**2).sum(axis=1).min())
    # two classes of radius .7 do not fit into eps = 1 together: one takes .7 for nothing, the other .3
    pair = [Item(name, math.log(0.7), 1.0, 0.0, 5.0) for name in "ab"]
    together = covering(pair, eps=1.0, form="minimum").log_covering / (5 * math.log(1 + 2 * 0.7 / 0.3))
    return finding(
        abs(at_split / closed - 1) < 1e-9 and best >= closed / (1 + EXACT) and abs(together - 1) < 1e-9,
        paper="$g^3/C^2$",
        ours=f"{closed:.4g}; the best of 5000 random splits is {best / closed:.3f} times that",
        detail="The closed form is attained at the stated split and by no random one undercut.",
    )
