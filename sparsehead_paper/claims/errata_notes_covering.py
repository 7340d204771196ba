"""Errata 1 to 10 of the notes (section 2): each check computes a case in which the printed statement fails."""

import itertools
import math

import numpy as np

from sparsehead.capacity.generalization import rademacher_closed, uniform_gap
from sparsehead.covering.cover import cover_graph, covering_number

from ..theory.function_classes import class_covering_number, evaluate
from ..theory.relations import (
    cover_vc_printed,
    empirical_rademacher,
    log_cover_fat,
    log_cover_vc,
    vc_dimension,
)
from .claim import Claim, Context, Finding, erratum, finding
from .covering import EXAMPLE_SETS


@erratum("errata-notes-1", where="notes section 2.1.1", about="pseudometric-cover")
def check_errata_notes_1(context: Context) -> Finding:
    """A pseudometric $d$ also needs $d(x, x) = 0$: $d = 1$ everywhere satisfies both printed axioms, but then no
    point covers even itself at $eps < 1$. Also, the covering number is a size, not a subset.
    """
    D = np.ones((4, 4))  # d(x, y) = 1 for all x and y, x = y included
    axioms = (D == D.T).all() and all(
        D[x, y] <= D[x, z] + D[z, y] for x in range(4) for y in range(4) for z in range(4)
    )
    covered = int((D <= 0.5).any(axis=0).sum())
    true = D - np.eye(4)  # the same with d(x, x) = 0
    sizes = [
        cover_graph(true <= eps, true > 2 * eps, values=np.empty((4, 0)), deadline=math.inf).size
        for eps in (0.5, 1.0)
    ]
    return finding(
        bool(axioms) and covered == 0 and sizes == [4, 1],
        paper="$d(x,y) = d(y,x)$ and the triangle inequality",
        ours=f"{covered} of 4 points covered by the whole set at $eps = 0.5$",
        detail="$d = 1$ everywhere satisfies both axioms; without $d(x, x) = 0$ a set need not cover "
        f"itself. With it the covering numbers at $eps = .5$ and 1 are {sizes[0]} and {sizes[1]}.",
    )


@erratum("errata-notes-2", where="notes section 2.1.2", about="covering-example")
def check_errata_notes_2(context: Context) -> Finding:
    """The point set changes between the two examples of covering numbers $N(eps)$ (3 becomes 0.3, 2.5 becomes
    0.65), and $N(0.5) = 2$ is false for both: it is 3 for the first set and 1 for the second. ${(.2, 3), (.6,
    2.5)}$ covers neither.
    """
    sizes = [covering_number(points, eps="0.5").size for points in EXAMPLE_SETS.values()]
    first = np.array(EXAMPLE_SETS["as printed"], dtype=np.float64)
    uncovered = float(np.linalg.norm(first[0] - first[1:], axis=1).min())
    return finding(
        sizes == [3, 1] and uncovered > 0.5,
        paper="$N(0.5) = 2$",
        ours=f"{sizes[0]} for the set as printed, {sizes[1]} as used",
        detail=f"(.5, .7) is {uncovered:.2f} away from the claimed cover {{(.2, 3), (.6, 2.5)}}.",
        sizes=sizes,
        distance=uncovered,
    )


@erratum("errata-notes-3", where="notes section 2.1.2, end", about="pseudometric-cover")
def check_errata_notes_3(context: Context) -> Finding:
    """'As $eps$ increases the covering number can only increase' is the wrong way round: an $eps$-cover is also an
    $eps'$-cover for every $eps' >= eps$.
    """
    second = EXAMPLE_SETS["as used at 0.5"]
    sizes = [covering_number(second, eps=eps).size or 0 for eps in ("0.05", "0.2", "0.5")]
    return finding(
        sizes == [3, 2, 1],
        paper="as $eps$ increases the number can only increase",
        ours=f"{sizes[0]}, {sizes[1]}, {sizes[2]} at $eps = .05, .2, .5$",
        detail="The notes' own second set.",
        sizes=sizes,
    )


@erratum("errata-notes-4", where="notes section 2.1.2, end", about="pseudometric-cover")
def check_errata_notes_4(context: Context) -> Finding:
    """'More spread out, hence larger' holds for scaling a set $T$, $N(c T, eps) = N(T, eps/c)$, but not for adding
    points: with centres in the set, $N({-1, 1}, 1) = 2$ and $N({-1, 0, 1}, 1) = 1$.
    """
    two, three = (covering_number(p, eps=1).size for p in ([-1, 1], [-1, 0, 1]))
    scaled = [covering_number(3 * np.array([-1.0, 0.5, 1.0]), eps=3 * e).size for e in (0.4, 0.6, 1.6)]
    plain = [covering_number(np.array([-1.0, 0.5, 1.0]), eps=e).size for e in (0.4, 0.6, 1.6)]
    return finding(
        (two, three) == (2, 1) and scaled == plain,
        paper="a set that spans more has a larger number",
        ours=f"$N({{-1, 1}}, 1) = {two}$, $N({{-1, 0, 1}}, 1) = {three}$",
        detail="Adding a point lowered the proper covering number; only scaling set and $eps$ together keeps it.",
    )


@erratum("errata-notes-5", where="notes section 2.1.2, after definition 2.1", about="covering-number")
def check_errata_notes_5(context: Context) -> Finding:
    """The point to cover is the vector of all $m$ values $f(z_i)$ of a function, not each single value: the
    functions from $m$ points to $+-1$ have two values, but covering number $2^m$.
    """
    m = 5
    functions = [lambda z, n=n: 1.0 - 2.0 * (n >> z & 1) for n in range(2**m)]
    values = evaluate(functions, range(m))
    jointly = class_covering_number(values, eps=0.5).size
    pooled = covering_number(np.unique(values), eps=0.5).size
    return finding(
        jointly == 2**m and pooled == 2,
        paper="imagine every $f(z_i)$ as a point",
        ours=f"{jointly} centres, where the pooled values need {pooled}",
        detail=f"All $+-1$ functions on $m = {m}$ points.",
    )


errata_notes_6 = Claim(
    "errata-notes-6",
    kind="erratum",
    where="notes section 2.1",
    statement="$N(T, eps, d)$, $N_2(T, eps, .)$ and $N_2(eps, T, .)$ are one quantity, the covering number of "
    "a set $T$ at radius $eps$ in a metric $d$, with its arguments permuted: a matter of notation, with nothing to "
    "compute.",
    text_only=True,
)


@erratum("errata-notes-7", where="notes lemma 2.3", about="generalization")
def check_errata_notes_7(context: Context) -> Finding:
    """The lemma on generalisation needs a bounded, Lipschitz loss: unbounded functions with the squared loss have
    no such bound on the gap $eps_gen(f)$ between risk and training risk. The $O~$ hides a factor $ln m$ from the
    entropy integral.

    Counterexample: F = {0} has ln N = 0, so C_F = 0 and only the confidence term is left; y is large with small
    probability.
    """
    m, delta = 1000, 0.1
    rare, size = 1 / (10 * m), 1e4
    unseen = (1 - rare) ** m
    gap, promised = rare * size**2, uniform_gap(0.0, m=m, delta=delta)
    repaired = uniform_gap(0.0, m=m, delta=delta, b=size**2)  # the loss is at most 10^8
    return finding(
        unseen > delta and gap > 100 * promised and gap <= repaired,
        paper=f"gap $<= {promised:.3f}$ up to logarithms",
        ours=f"gap {gap:.0f} with probability {unseen:.3f}",
        detail="The class of the zero function with squared loss, $y = 10^4$ once in $10 m$ samples: bounded "
        f"functions, an unbounded loss. The bound that knows losses up to $10^8$ allows ${repaired:.3g}$.",
        gap=gap,
        probability=unseen,
    )


@erratum("errata-notes-8", where="notes section 2.2.1", about="vc-cover")
def check_errata_notes_8(context: Context) -> Finding:
    """The bound $(e m/VC)^VC$ on the covers of a class of VC dimension $VC$ on $m$ points needs $m >= VC$ and $eps <
    1$: at $m = 1$, $VC = 4$ the bound is 0.21, but a cover has at least one function. The constant $e$ is Euler's
    number.
    """
    patterns = np.array(list(itertools.product([0.0, 1.0], repeat=4)))
    d, on_one = vc_dimension(patterns), class_covering_number(patterns[:, :1, None], eps=0.5).size
    printed = cover_vc_printed(m=1, d=d)
    sauer = [round(math.exp(log_cover_vc(m=m, d=d, eps=0.5))) for m in (1, 4)]
    return finding(
        d == 4
        and abs(printed - (math.e / 4) ** 4) < 1e-12
        and printed < 1
        and on_one == 2
        and sauer == [2, 16],
        paper=f"$(e m/VC)^VC = {printed:.2f}$",
        ours=f"{on_one} patterns on one point",
        detail="$m = 1$, $VC = 4$: fewer than one function, for a class that makes both patterns.",
        printed=printed,
    )


@erratum("errata-notes-9", where="notes section 2.2.2", about="fat-cover")
def check_errata_notes_9(context: Context) -> Finding:
    """In the exponent of the bound by the fat-shattering dimension $d$, 'de' must be $d eps$, the logarithm must
    have base 2, and $m >= d$ is needed: as printed, the bound is below $1e-40$ at $m = 1$, $d = 8$, while
    $N_inf([0,1]^X, .1, 1) = 5$ for all functions to $[0,1]$.
    """
    m, d, eps = 1, 8, 0.1
    log2_term = math.log2(2 * math.e * m / (d * math.e))
    printed = [
        2 * (m * (2 / eps + 1) ** 2) ** math.ceil(d * log) for log in (log2_term, log2_term * math.log(2))
    ]
    true = covering_number([f"{i}/100" for i in range(101)], eps="1/10").size
    repaired = log_cover_fat(m=m, d=d, eps=eps)
    # on one point no more than b = 21 levels and nothing at all: y = 22, so 2 (b^2)^5
    expected = math.log(2) + 5 * math.log(21**2)
    return finding(
        max(printed) < 1e-28 and printed[0] < 1e-40 and true == 5 and abs(repaired - expected) < 1e-9,
        paper=f"below ${max(printed):.0e}$ with the natural logarithm, ${printed[0]:.0e}$ with log2",
        ours=f"$N_inf([0,1]^X, .1, 1) = {true}$",
        detail="The printed exponent at $m = 1$, $d = 8$, $eps = .1$. On one point the class is the "
        f"interval $[0, 1]$. The bound for all $m$ and $d$ gives $e^{repaired:.1f}$.",
        printed=printed,
    )


@erratum("errata-notes-10", where="notes section 2.2.3", about="rademacher-cover")
def check_errata_notes_10(context: Context) -> Finding:
    """In the bound on the Rademacher complexity of functions up to $A$ on $m$ points with $ln N(eps) <= C/eps^2$,
    the factor $1 + log(A sqrt(m/C))$ is negative for $A sqrt(m/C) < 1/e$; the positive part of the logarithm is
    meant. With proper covers the bound's constant is $c = e sqrt(2)$.

    The class is that of all 2^m functions with values +-A on m points. With its smallest C the printed bound,
    c sqrt(C/m) (1 + log(A sqrt(m/C))), is positive; the lemma also allows a C 20 times larger, where it is negative.
    """
    A, m = 0.1, 8
    values = A * np.array(list(itertools.product([-1.0, 1.0], repeat=m)))
    exact, C = empirical_rademacher(values), 20 * 4 * A * A * m * math.log(2)
    factor = 1 + math.log(A * math.sqrt(m / C))
    ours = rademacher_closed(log_C=math.log(C), A=A, m=m)
    return finding(
        factor < 0 < exact <= ours * (1 + 1e-12) and ours <= A,
        paper=f"$c sqrt(C/m)$ times {factor:.2f}",
        ours=f"$R = {exact:.2f} <= {ours:.2f}$",
        detail="All functions with values $+-.1$ on 8 points, $ln N <= C/eps^2$ with room to spare: the "
        "printed factor is negative, the complexity over all $2^8$ signs is not. $|f| <= A$ alone gives $A$.",
        factor=factor,
        exact=exact,
    )
