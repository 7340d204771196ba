"""Statements of neighbouring papers that are judged by results files: learners of tokens with pointers."""

import math

import numpy as np

from ..studies.interpreters import one_thread
from ..studies.pointers import LEARNED, TEST, TRAINING, PointersRecord
from ..theory import pointers
from .claim import Context, Finding, judged, neighbour
from .measured import results


@neighbour(
    "token-regression-heads", where="arXiv 2503.11272: H = q heads suffice, H = Omega(q) are necessary"
)
def check_token_regression_heads(context: Context) -> Finding:
    """The task is to list the q vectors that q pointers name. For H = 1 .. q, the error of H trained heads whose scores
    depend only on positions and pointers is the share $1 - H/q$ of the variance, the least possible; so q heads learn
    to list all q vectors. All are trained for the same number of steps.
    """
    data = results(context, "pointers", PointersRecord)
    q, d = 4, 2
    found = data.by_heads()
    if set(found) != set(range(1, q + 2)):
        return judged(
            "undecided", ours=f"H = {', '.join(map(str, found))}", detail="Not every H is trained yet."
        )
    floors = {H: pointers.share_missed(H, d, q=q, d=d) for H in found}
    # Standard error of a mean of TEST chi-squares with q d - H d degrees of freedom, over q d
    errors_of = {H: math.sqrt(2 * max(0, q - H) * d / TEST) / (q * d) for H in found}
    undercut = min(min(es) - floors[H] + 5 * errors_of[H] for H, es in found.items())
    excess = max(sorted(es)[len(es) // 2] - floors[H] for H, es in found.items())
    fresh = _fresh_errors(context.seed)
    again = all(abs(error - pointers.share_missed(H, 1, q=2, d=1)) < 0.1 for H, error in fresh.items())
    verdict = "holds" if undercut >= 0 and excess < 0.05 and again else "refuted"
    ours = "; ".join(f"H = {H}: {sorted(es)[len(es) // 2]:.3f}" for H, es in found.items())
    detail = (
        f"Median relative error; theory {', '.join(f'{floors[H]:.2f}' for H in found)}. N = 8, q = 4, d = 2. "
        f"Trained here, N = 4, q = 2, d = 1: {', '.join(f'H = {H}: {error:.3f}' for H, error in fresh.items())}."
    )
    return judged(verdict, paper="H = q; H = Omega(q)", ours=ours, detail=detail, figure="pointers")


def _fresh_errors(seed: int) -> dict[int, float]:
    """Train one and two heads for a second to list two of four numbers; return their relative errors."""
    from ..studies.token_learners import Problem, trained

    with one_thread():
        return {
            H: trained(
                Problem(learner="heads", N=4, q=2, ordered=True, heads=H, steps=250),
                [(2 + seed, 0)],
                test=2000,
            )[0]
            for H in (1, 2)
        }


@neighbour(
    "token-laws",
    where="arXiv 2503.11272: samples polylog N for heads, N d for feed-forward, N^Omega(1) for recurrent",
)
def check_token_laws(context: Context) -> Finding:
    """To output the one of N numbers that a pointer names (q = 1) with a relative error below 1/4, trained heads need
    fewer samples than a feed-forward and a recurrent net at N = 16, and from N = 4 to 16 their number of samples grows
    by a smaller factor. From N = 64 to 512 it grows by less than N does.
    """
    data = results(context, "pointers", PointersRecord)
    found = {
        name: {N: data.threshold(name, N, 1) for N in (4, 8, 16)}
        for name in ("heads", "feed-forward", "recurrent")
    }
    far = [data.threshold("heads", N, 1) for N in (64, 512)]
    if not all(end and end[0] for ends in (*(row.values() for row in found.values()), far) for end in ends):
        return _undecided(found)
    ends = {name: [end or (0, 0) for end in row.values()] for name, row in found.items()}
    growth = {name: _growth(row[0], row[-1]) for name, row in ends.items()}
    long = _growth(far[0] or (0, 0), far[1] or (0, 0))
    others = [name for name in ends if name != "heads"]
    fewer = [_less(ends["heads"][-1], ends[name][-1]) for name in others]
    slower = [_less(growth["heads"], growth[name]) for name in others]
    verdicts = [*fewer, *slower, _less(long, (8, 8))]
    enough = {name: np.median(data.errors(name, 16, 1, 0)) for name in ends}
    m = 91
    again = _fresh_averages(context.seed, m)
    verdicts.append("yes" if again["heads"] < LEARNED <= again["feed-forward"] else "open")
    verdict = "refuted" if "no" in verdicts else "holds" if set(verdicts) == {"yes"} else "undecided"
    ours = "; ".join(f"{name}: {', '.join(f'({a}, {b}]' for a, b in row)}" for name, row in ends.items())
    factors = ", ".join(f"{name} {low:.2g} to {high:.2g}" for name, (low, high) in growth.items())
    by_q = "; ".join(
        f"{name}: {', '.join(f'({end[0]}, {end[1]}]' if end else '?' for end in row)}"
        for name, row in ((name, [data.threshold(name, 8, q) for q in (1, 2, 4)]) for name in ends)
    )
    detail = (
        f"The m between which the median error of five runs falls below {LEARNED}, N = 4, 8, 16. Factors of growth: "
        f"{factors}; heads from N = 64 to 512: {long[0]:.2g} to {long[1]:.2g}. N = 8, q = 1, 2, 4: {by_q}. Errors at "
        f"N = 16 with fresh samples at every step: {', '.join(f'{name} {x:.3f}' for name, x in enough.items())}. "
        f"Trained here, N = 8, m = {m}: {', '.join(f'{name} {x:.2f}' for name, x in again.items())}."
    )
    return judged(verdict, paper="polylog N; N d; N^Omega(1)", ours=ours, detail=detail, figure="pointers")


def _fresh_averages(seed: int, m: int) -> dict[str, float]:
    """Return relative errors of a head and of a feed-forward net, trained here from m samples at N = 8, q = 1."""
    from ..studies.token_learners import Problem, trained

    with one_thread():
        return {
            name: trained(
                Problem(learner=name, N=8, q=1, **{**TRAINING[name], "steps": 800}),
                [(20 + seed, m)],
                test=1000,
            )[0]
            for name in ("heads", "feed-forward")
        }


def _growth(first: tuple[float, float], last: tuple[float, float]) -> tuple[float, float]:
    """Return the least and the largest ratio of two numbers that lie in these ranges."""
    return last[0] / first[1], last[1] / first[0]


def _less(one: tuple[float, float], other: tuple[float, float]) -> str:
    """Return whether a number in the first range is smaller than one in the second: "yes", "no", or "open" if the
    ranges overlap.
    """
    return "yes" if one[1] <= other[0] else "no" if one[0] >= other[1] else "open"


def _undecided(found: dict[str, dict[int, tuple[int, int] | None]]) -> Finding:
    """Return the finding for results in which some learner has no cell, or no learned cell, at some N."""
    ours = "; ".join(
        f"{name}: {', '.join(f'N = {N}: ({end[0]}, {end[1]}]' for N, end in row.items() if end) or 'none yet'}"
        for name, row in found.items()
    )
    detail = "Not every learner has learned a cell at every N; `sparsehead reproduce --only pointers --add` goes on."
    return judged(
        "undecided", paper="polylog N; N d; N^Omega(1)", ours=ours, detail=detail, figure="pointers"
    )
