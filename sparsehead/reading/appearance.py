"""The step at which the support appears while a model is trained: in its labels, and in its attention.

At one step of training the support *leads* in a quantity if the quantity is larger at each position of the support than
at those 64 other positions that have the most attention. The quantities are

influence    share of random inputs whose label changes when the position is flipped
attention    mean attention weight on the position, over inputs and heads

The support appears at the step from which it leads until training ends.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.types import Array, Float, Shaped
from ..functions import Predict
from .queries import flip_shares

OTHERS = 64  # positions outside the support that are compared, those with the most attention
HALFWAY = 0.75  # validation accuracy half way between guessing balanced labels and knowing them


def look(
    predict: Predict, attention: Float[Array, " T"], support: Sequence[int], bits: Shaped[Array, "n T"]
) -> dict[str, float]:
    """Return the least influence and attention on the support, and the greatest at other positions, at one step.

    Args:
        attention: mean weight on each position.
        support: the positions that the function reads; at least one.
        bits: inputs in which positions are flipped; the first 32 are used.
    Returns:
        support_attention, other_attention, support_influence, other_influence; other_* are 0 if every position is in
        the support.   Paper: support-appears
    """
    inside = sorted(support)
    outside = np.setdiff1d(np.argsort(-attention, kind="stable")[: OTHERS + len(inside)], inside)[:OTHERS]
    first, s = bits[:32], len(inside)
    shares = flip_shares(predict, first, predict(first), [*inside, *outside.tolist()])
    influence = np.array(list(shares.values()))
    rest = np.delete(attention, inside)
    return {
        "support_attention": float(attention[inside].min()),
        "other_attention": float(rest.max(initial=0.0)),
        "support_influence": float(influence[:s].min()),
        "other_influence": float(influence[s:].max(initial=0.0)),
    }


@dataclass(frozen=True)
class Appearance:
    """For each of three conditions the step from which it holds until training ends; None if it fails at the end.

    Args:
        influence, attention: the support leads in this quantity.
        accuracy: validation accuracy is at least 3/4, half-way between guessing and 1.
    """

    influence: int | None
    attention: int | None
    accuracy: int | None

    def sentence(self) -> str:
        """Return all three steps in one line.

        >>> Appearance(40, None, 50).sentence()
        'the support leads in influence from step 40, in attention not yet; accuracy passes 3/4 at step 50'
        """
        influence, attention = (
            "not yet" if step is None else f"from step {step}" for step in (self.influence, self.attention)
        )
        passes = "has not passed 3/4 yet" if self.accuracy is None else f"passes 3/4 at step {self.accuracy}"
        return f"the support leads in influence {influence}, in attention {attention}; accuracy {passes}"


def appearance(history: Mapping[str, Sequence[Any]]) -> Appearance | None:
    """Return the steps at which the support appeared, from a trial's history; None if it was never measured.

    Paper: support-appears
    """
    steps = history.get("mass_step", ())
    if not steps or not history.get("support_influence"):
        return None
    leads = {
        name: [a > b for a, b in zip(history[f"support_{name}"], history[f"other_{name}"], strict=True)]
        for name in ("influence", "attention")
    }
    learned = [accuracy >= HALFWAY for accuracy in history["val_accuracy"]]
    return Appearance(
        for_good(steps, leads["influence"]),
        for_good(steps, leads["attention"]),
        for_good(history["check_step"], learned),
    )


def for_good(steps: Sequence[Any], holds: Sequence[bool]) -> int | None:
    """Return the first step from which `holds` is True to the end; None if there is none.

    >>> for_good([10, 20, 30, 40], [True, False, True, True]), for_good([10], [False])
    (30, None)
    """
    found = None
    for step, true in zip(reversed(steps), reversed(holds), strict=True):
        if not true:
            break
        found = int(step)
    return found
