"""When a loss curve has fallen for good."""

from bisect import bisect_right
from collections.abc import Sequence
from statistics import median

WINDOW = 10  # steps over which the loss is smoothed


def learned_step(
    steps: Sequence[int | float], losses: Sequence[int | float], level: float, *, window: int = WINDOW
) -> int | None:
    """The first step whose loss is below `level` and from which the smoothed loss stays below it to the end of the run.

    None if there is none. The smoothed loss at a recorded step is the median of the losses recorded there and in the
    `window` steps that follow, fewer at the end. A dip or a spike of a few steps therefore changes nothing, and a loss
    that falls and comes back counts from its last fall. The last recorded loss must itself be below the level. `steps`
    ascend; a thinned curve is judged by the records that it has.

    >>> learned_step(range(8), [1, 0, 1, 1, 1, 0, 0, 0], 0.5, window=2)
    5
    """
    found = None
    for i in range(len(steps) - 1, -1, -1):
        if not median(losses[i : bisect_right(steps, steps[i] + window)]) < level:
            break
        if losses[i] < level:
            found = int(steps[i])
    return found
