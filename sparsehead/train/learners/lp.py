"""LP: relax "the smallest set that explains all tests" to a linear program; return the s positions of largest weight.

Without noise (Malioutov and Malyutov 2012) COMP's positions get weights in [0, 1] with the least sum such that every
positive test contains a total weight of at least 1. With label noise, a slack for each test is added to a positive
test's weight, or subtracted from a negative test's. The authors trade slacks against the sum by a free parameter; here
the sum is s, and the slacks are minimised.

The program is first solved for a few positions. Positions with negative reduced cost are added until there are none,
which proves that the weights are optimal for all positions (column generation).
"""

import numpy as np

from ..._base.types import Array, Float, Int, Shaped
from ...functions import Predict
from ...functions.task import Sample
from ..spec import TrainSpec
from .group_tests import group_tests, tests_memory
from .learner import Learner

ADDED = 200  # columns that are added at a time


def fit(spec: TrainSpec, sample: Sample, attempt: int) -> Predict:
    tests = group_tests(spec, sample)
    if tests.noise:
        positions = np.arange(tests.inside.shape[1])
        weights = relaxed(tests.inside, tests.positive, total=tests.s)
    else:
        positions = tests.possible()
        explained = tests.explained_by(positions)
        weights = relaxed(explained, np.ones(len(explained), dtype=bool), total=None)
    return tests.answer(positions[np.argsort(-np.round(weights, 6), kind="stable")[: tests.s]])


def relaxed(
    inside: Shaped[Array, "m n"], positive: Shaped[Array, " m"], *, total: int | None
) -> Float[Array, " n"]:
    """Return the optimal weights: with `total`, those of sum `total` with the least slacks; else those of least sum.

    Without `total` a unit of slack costs 2. The dual price of a test is at most 1, the cost of a column that it
    contains, so the optimum has no slack if every test contains a column.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, hstack, identity

    m, n = inside.shape
    sign = np.where(positive, -1.0, 1.0)  # rows are  -sum - slack <= -1  (positive)  and  sum - slack <= 0
    chosen: Int[Array, " k"] = np.argsort(-(-sign @ inside), kind="stable")[: min(ADDED, n)]
    cost, slack_cost = (1.0, 2.0) if total is None else (0.0, 1.0)
    while True:
        k = len(chosen)
        rows = hstack([csr_array(sign[:, None] * inside[:, chosen]), -identity(m)], format="csr")
        equal = (
            {} if total is None else {"A_eq": np.r_[np.ones(k), np.zeros(m)][None], "b_eq": [float(total)]}
        )
        found = linprog(
            np.r_[np.full(k, cost), np.full(m, slack_cost)], A_ub=rows, b_ub=np.where(positive, -1.0, 0.0),
            bounds=[(0, 1)] * k + [(0, None)] * m, method="highs", **equal,
        )  # fmt: skip
        price = cost - (sign * found.ineqlin.marginals) @ inside
        if total is not None:
            price -= found.eqlin.marginals[0]
        price[chosen] = 0.0
        entering = np.argsort(price, kind="stable")[:ADDED]
        entering = entering[price[entering] < -1e-7]  # the tolerance of HiGHS
        if not len(entering):
            break
        chosen = np.r_[chosen, entering]
    weights = np.zeros(n)
    weights[chosen] = found.x[:k]
    return weights


LP = Learner(fit=fit, repeats=False, as_drawn=True, memory=tests_memory)
