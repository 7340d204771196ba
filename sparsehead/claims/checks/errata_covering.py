"""Errata 1 to 10 of the notes (section 2): each check exhibits the case in which the printed sentence fails."""

import inspect
import math

import numpy as np

from ...capacity.generalization import rademacher_closed
from ...covering.covers import covering_number
from ...covering.function_classes import class_covering_number, evaluate
from ...covering.relations import cover_vc_printed, log_cover_vc
from ..claim import Context, Finding, finding
from .covering import FIRST, SECOND


def check_errata_notes_1(context: Context) -> Finding:
    D = np.ones((4, 4))  # d(x, y) = 1 for all x and y, x = y included
    axioms = (D == D.T).all() and all(
        D[x, y] <= D[x, z] + D[z, y] for x in range(4) for y in range(4) for z in range(4)
    )
    covered = int((D <= 0.5).any(axis=0).sum())
    return finding(
        "errata-notes-1",
        bool(axioms) and covered == 0,
        paper="d(x,y) = d(y,x) and the triangle inequality",
        ours=f"{covered} of 4 points covered by the whole set at eps = 0.5",
        detail="d = 1 everywhere satisfies both axioms; without d(x, x) = 0 a set need not cover itself.",
    )


def check_errata_notes_2(context: Context) -> Finding:
    sizes = [covering_number(points, eps="0.5").size for points in (FIRST, SECOND)]
    first = np.array(FIRST, dtype=np.float64)
    uncovered = float(np.linalg.norm(first[0] - first[1:], axis=1).min())
    return finding(
        "errata-notes-2",
        sizes == [3, 1] and uncovered > 0.5,
        paper="N(0.5) = 2",
        ours=f"{sizes[0]} for the set as printed, {sizes[1]} as used",
        detail=f"(.5, .7) is {uncovered:.2f} away from the claimed cover {{(.2, 3), (.6, 2.5)}}.",
        sizes=sizes,
        distance=uncovered,
    )


def check_errata_notes_3(context: Context) -> Finding:
    sizes = [covering_number(SECOND, eps=eps).size or 0 for eps in ("0.05", "0.2", "0.5")]
    return finding(
        "errata-notes-3",
        sizes == [3, 2, 1],
        paper="as eps increases the number can only increase",
        ours=f"{sizes[0]}, {sizes[1]}, {sizes[2]} at eps = .05, .2, .5",
        detail="The notes' own second set.",
        sizes=sizes,
    )


def check_errata_notes_4(context: Context) -> Finding:
    two, three = (covering_number(p, eps=1).size for p in ([-1, 1], [-1, 0, 1]))
    scaled = [covering_number(3 * np.array([-1.0, 0.5, 1.0]), eps=3 * e).size for e in (0.4, 0.6, 1.6)]
    plain = [covering_number(np.array([-1.0, 0.5, 1.0]), eps=e).size for e in (0.4, 0.6, 1.6)]
    return finding(
        "errata-notes-4",
        (two, three) == (2, 1) and scaled == plain,
        paper="a set that spans more has a larger number",
        ours=f"N({{-1, 1}}, 1) = {two}, N({{-1, 0, 1}}, 1) = {three}",
        detail="Adding a point lowered the proper covering number; only scaling set and eps together keeps "
        "it.",
    )


def check_errata_notes_5(context: Context) -> Finding:
    m = 5
    functions = [lambda z, n=n: 1.0 - 2.0 * (n >> z & 1) for n in range(2**m)]
    values = evaluate(functions, range(m))
    jointly = class_covering_number(values, eps=0.5).size
    pooled = covering_number(np.unique(values), eps=0.5).size
    return finding(
        "errata-notes-5",
        jointly == 2**m and pooled == 2,
        paper="imagine every f(z_i) as a point",
        ours=f"{jointly} centres, where the pooled values need {pooled}",
        detail=f"All +-1 functions on m = {m} points.",
    )


def check_errata_notes_6(context: Context) -> Finding:
    parameters = inspect.signature(covering_number).parameters
    named = parameters["eps"].kind is inspect.Parameter.KEYWORD_ONLY
    return finding(
        "errata-notes-6",
        named and next(iter(parameters)) == "points",
        paper="N(T, eps, d), N_2(T, eps, .), N_2(eps, T, .)",
        ours="covering_number(points, eps=..)",
        detail="One order of arguments; eps cannot be given without its name.",
    )


def check_errata_notes_7(context: Context) -> Finding:
    """F = {0}: ln N = 0, so C_F = 0 and only the confidence term is left; y is rarely, but then very, large."""
    m, delta = 1000, 0.1
    rare, size = 1 / (10 * m), 1e4
    unseen = (1 - rare) ** m
    gap, promised = rare * size**2, math.sqrt(math.log(1 / delta) / m)
    return finding(
        "errata-notes-7",
        unseen > delta and gap > 100 * promised,
        paper=f"gap <= {promised:.3f} up to logarithms",
        ours=f"gap {gap:.0f} with probability {unseen:.3f}",
        detail="The class of the zero function with squared loss, y = 10^4 once in 10 m samples: bounded "
        "functions, an unbounded loss.",
        gap=gap,
        probability=unseen,
    )


def check_errata_notes_8(context: Context) -> Finding:
    printed, true = cover_vc_printed(m=1, d=4), math.exp(log_cover_vc(m=1, d=4, eps=0.5))
    return finding(
        "errata-notes-8",
        printed < 1 and round(true) == 2,
        paper=f"(em/VC)^VC = {printed:.2f}",
        ours=f"{true:.0f} patterns on one point",
        detail="m = 1, VC = 4: fewer than one function, for a class that makes both patterns.",
        printed=printed,
    )


def check_errata_notes_9(context: Context) -> Finding:
    m, d, eps = 1, 8, 0.1
    log2_term = math.log2(2 * math.e * m / (d * math.e))
    printed = [
        2 * (m * (2 / eps + 1) ** 2) ** math.ceil(d * log) for log in (log2_term, log2_term * math.log(2))
    ]
    true = covering_number([f"{i}/100" for i in range(101)], eps="1/10").size
    return finding(
        "errata-notes-9",
        max(printed) < 1e-28 and printed[0] < 1e-40 and true == 5,
        paper=f"below {max(printed):.0e} with the natural logarithm, {printed[0]:.0e} with log2",
        ours=f"N_inf([0,1]^X, .1, 1) = {true}",
        detail="The printed exponent at m = 1, d = 8, eps = .1. On one point the class is the interval [0, "
        "1].",
        printed=printed,
    )


def check_errata_notes_10(context: Context) -> Finding:
    A, C, m = 0.1, 100.0, 100
    factor = 1 + math.log(A * math.sqrt(m / C))
    ours = rademacher_closed(log_C=math.log(C), A=A, m=m)
    return finding(
        "errata-notes-10",
        factor < 0 < ours,
        paper=f"c sqrt(C/m) times {factor:.2f}",
        ours=f"R <= {ours:.2f}",
        detail="A = .1, C = m: the printed factor is negative, a Rademacher complexity never is. |f| <= A "
        "alone gives A.",
        factor=factor,
    )
