"""When the support appears while a model is trained: in the labels that depend on it, and in attention.

At one moment of training the support *leads* in a quantity when each of its positions has more of it than every other
position that is compared. The quantities are

influence    share of random inputs whose label changes when the position is flipped
attention    mean attention weight on the position, over inputs and heads

and the positions compared are those with the most attention. The step from which the support leads until training ends
is when it appears.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.types import Array, Float, Shaped
from ..functions import Predict

OTHERS = 64  # positions outside the support that are compared
INPUTS = 32  # inputs on which influence is measured
BITS = 2**24  # bits evaluated at once
HALFWAY = 0.75  # validation accuracy half way between guessing balanced labels and knowing them


def look(
    predict: Predict, attention: Float[Array, " T"], support: Sequence[int], bits: Shaped[Array, "n T"]
) -> dict[str, float]:
    """The least influence and attention on the support, and the greatest elsewhere, at one moment.

    Args:
        predict: labels (n,) of bits (n, T).
        attention: mean weight on each position.
        support: the positions that the function reads; at least one.
        bits: inputs to flip positions of; the first INPUTS are used.
    Returns:
        support_attention, other_attention, support_influence, other_influence. With nothing outside the support
        the others have 0.   Paper: support-appears
    """
    inside = sorted(support)
    outside = np.setdiff1d(np.argsort(-attention, kind="stable")[: OTHERS + len(inside)], inside)[:OTHERS]
    influence = _influences(predict, bits[:INPUTS], [*inside, *outside.tolist()])
    s = len(inside)
    rest = np.delete(attention, inside)
    return {
        "support_attention": float(attention[inside].min()),
        "other_attention": float(rest.max(initial=0.0)),
        "support_influence": float(influence[:s].min()),
        "other_influence": float(influence[s:].max(initial=0.0)),
    }


def _influences(
    predict: Predict, bits: Shaped[Array, "n T"], positions: list[int]
) -> Float[Array, " positions"]:
    """The share of these inputs whose label a flip of each position changes; many positions in one call."""
    n, T = bits.shape
    labels = predict(bits)
    together = max(1, BITS // (n * T))
    shares = []
    for i in range(0, len(positions), together):
        part = positions[i : i + together]
        flipped = np.repeat(bits[None], len(part), axis=0)
        flipped[np.arange(len(part)), :, part] ^= 1
        changed = predict(flipped.reshape(-1, T)).reshape(len(part), n) != labels
        shares.append(changed.mean(axis=1))
    return np.concatenate(shares)


@dataclass(frozen=True)
class Appearance:
    """Steps from which something holds until training ends; None where it does not hold at the end.

    Args:
        influence, attention: the support leads in it.
        accuracy: validation accuracy is at least 3/4, half way between guessing and knowing.
    """

    influence: int | None
    attention: int | None
    accuracy: int | None

    def sentence(self) -> str:
        """The three in one line.

        >>> Appearance(40, None, 50).sentence()
        'the support leads in influence from step 40, in attention not yet; accuracy passes 3/4 at step 50'
        """
        influence, attention = (
            "not yet" if step is None else f"from step {step}" for step in (self.influence, self.attention)
        )
        passes = "has not passed 3/4 yet" if self.accuracy is None else f"passes 3/4 at step {self.accuracy}"
        return f"the support leads in influence {influence}, in attention {attention}; accuracy {passes}"


def appearance(history: Mapping[str, Sequence[Any]]) -> Appearance | None:
    """When the support appeared, from a trial's history; None where nothing was looked at.   Paper: support-appears"""
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
    """The first step from which `holds` is True to the end.

    >>> for_good([10, 20, 30, 40], [True, False, True, True]), for_good([10], [False])
    (30, None)
    """
    found = None
    for step, true in zip(reversed(steps), reversed(holds), strict=True):
        if not true:
            break
        found = int(step)
    return found
