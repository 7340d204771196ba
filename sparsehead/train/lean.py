"""Judge, from the correlations of bits and label, whether a run that has fitted its training set can still succeed.

For a function that rises with every bit, such as AND, OR and majority, each relevant bit correlates positively with the
label. A run that attends to bits with negative correlations, or to all bits equally, fits noise. The lean of a model is
the mean of the positions' correlations, weighted by attention, minus their unweighted mean.
"""

from collections.abc import Iterator

import numpy as np

from .._base.types import Array, Float, Shaped
from ..functions.task import Sample
from ..heads.model import Model


def agreement(sample: Sample) -> Float[Array, " T"]:
    """Return the correlation of each position's bit with the label; 0 if the bit is constant.   Paper: failures-sign"""
    bits, labels = sample
    y = labels - labels.mean(dtype=np.float64)
    shares = bits.mean(axis=0, dtype=np.float64)
    # a column of zeros and ones with mean p has the sum of squares m p (1 - p) about its mean
    scale = np.sqrt(len(bits) * shares * (1 - shares) * (y**2).sum())
    products = sum(y[rows] @ part for rows, part in _parts(bits))
    return np.divide(products, scale, out=np.zeros_like(scale), where=scale > 0)


def lean(model: Model, sample: Sample, by_position: Float[Array, " T"]) -> float:
    """Return the mean of `by_position` weighted by attention, minus its unweighted mean, for a one-layer model.

    A position's weight is the attention of [CLS] to it, summed over heads and samples. Uniform attention has lean 0. If
    on some sample all scores of a head are more than 700 below its largest score of any token, the head is left out.
    """
    scores = model.cls_scores()  # of 2T + 1 tokens, which serve all samples
    e = np.exp(scores - scores.max(axis=(0, 1)))
    tables = [np.hstack([e[:-1, b], by_position[:, None] * e[:-1, b]]) for b in (0, 1)]
    mass, leaning = 0.0, 0.0
    for _, bits in _parts(sample[0]):
        sums = bits @ tables[1] + (1 - bits) @ tables[0]
        positions, products = np.split(sums, 2, axis=1)
        whole = positions + e[-1, 0]
        share = np.divide(1.0, whole, out=np.zeros_like(whole), where=whole > 0)
        mass += float((positions * share).sum())
        leaning += float((products * share).sum())
    return leaning / mass - float(by_position.mean()) if mass > 0 else 0.0


class LeanRule:
    """The rule by which a run counts as lost, made from `TrainSpec.least_lean`."""

    def __init__(self, sample: Sample, least: float) -> None:
        self._sample, self._least, self._by_position = sample, least, agreement(sample)

    def lost(self, model: Model | None, steps: int) -> bool:
        """Return whether the lean is too small for a run that fitted its training set `steps` steps ago."""
        if model is None or model.L != 1:
            return False
        return lean(model, self._sample, self._by_position) < self._least * steps / 1000


def _parts(bits: Shaped[Array, "m T"], numbers: int = 2**22) -> Iterator[tuple[slice, Float[Array, "n T"]]]:
    """Yield rows and their bits as floats, about `numbers` at a time."""
    size = max(1, numbers // bits.shape[1])
    for start in range(0, len(bits), size):
        rows = slice(start, start + size)
        yield rows, bits[rows].astype(np.float64)
