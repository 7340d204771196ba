"""Statements of neighbouring papers that are judged by results files: learners of tokens with pointers."""

import math

import numpy as np

from ..studies.interpreters import one_thread
from ..studies.pointers import LEARNED, TEST, PointersRecord
from ..theory import pointers
from .claim import Context, Finding, judged, neighbour
from .measured import results


@neighbour(
    "token-regression-heads", where="arXiv 2503.11272: H = q heads suffice, H = Omega(q) are necessary"
)
def check_token_regression_heads(context: Context) -> Finding:
    """For H = 1 .. q, the error of H trained heads whose scores depend only on positions and pointers is the share $1 -
    H/q$ of the variance, the least possible; so q heads learn to list all q vectors. All are trained for the same
    number of steps.
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
    """To output one of N numbers (q = 1) with a relative error below 1/4, trained heads need fewer samples than a
    feed-forward and a recurrent net at N = 16, and from N = 4 to 16 their number of samples grows by a smaller factor.
    """
    data = results(context, "pointers", PointersRecord)
    found = {
        name: {N: data.threshold(name, N, 1) for N in (4, 8, 16)}
        for name in ("heads", "feed-forward", "recurrent")
    }
    if any(end is None for ends in found.values() for end in ends.values()):
        return _undecided(found)
    ends = {name: [end or (0, 0) for end in row.values()] for name, row in found.items()}
    last = {name: row[-1] for name, row in ends.items()}
    others = [name for name in ends if name != "heads"]
    fewer = all(last["heads"][1] <= last[name][0] for name in others)
    growth = {name: row[-1][1] / row[0][1] for name, row in ends.items()}
    slower = all(growth["heads"] < growth[name] for name in others)
    enough = {name: np.median(data.errors(name, 16, 1, 0)) for name in ends}
    verdict = "holds" if fewer and slower else "refuted"
    ours = "; ".join(f"{name}: {', '.join(f'({a}, {b}]' for a, b in row)}" for name, row in ends.items())
    detail = (
        f"m at which the median error of three runs falls below {LEARNED}, N = 4, 8, 16. Factors of growth: "
        f"{', '.join(f'{name} {x:g}' for name, x in growth.items())}. Errors at N = 16 with fresh samples at every "
        f"step: {', '.join(f'{name} {x:.3f}' for name, x in enough.items())}."
    )
    return judged(verdict, paper="polylog N; N d; N^Omega(1)", ours=ours, detail=detail, figure="pointers")


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
