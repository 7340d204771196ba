"""A model as an oracle that maps bits to labels and counts queries."""

from typing import Any

import numpy as np

from .._base import arguments
from .._base.errors import DomainError, ShapeError
from .._base.types import Array, Float, Shaped
from ..certify.certificate import spell_bits
from ..functions import Predict
from ..heads.evaluate import evaluator
from ..heads.model import Model
from ..importing.network import Network, check_probabilities


class Oracle:
    """The labels of a model, or of any function from bits (n, T) to n numbers.

    Args:
        model: a `Model` (label 1 if the output exceeds its threshold), or a callable.
        T: length of the input; not needed for a Model.
        threshold: a callable's label is 1 if its output exceeds this. None means 1/2; outputs outside [0, 1]
            are then refused.
    Attributes:
        queries: number of inputs evaluated so far.
    """

    def __init__(
        self, model: Model | Network | Predict, T: int | None = None, *, threshold: float | int | None = None
    ) -> None:
        self._guessing = threshold is None and not isinstance(model, Model | Network)
        if isinstance(model, Model | Network):
            if threshold is not None:
                raise DomainError(
                    f"threshold={threshold} is for a function of bits; a {type(model).__name__} has its own, "
                    f"{model.threshold:g}."
                )
            if T not in (None, model.T):
                raise DomainError(f"the model reads T={model.T} bits, but T={T} was asked for.")
            self.T, self.threshold = model.T, model.threshold
            self._outputs = evaluator(model) if isinstance(model, Model) else model
        elif callable(model):
            if T is None:
                raise DomainError(
                    "a function of bits needs T, the length of its input; a Model knows its own."
                )
            self.T, self._outputs = T, model
            self.threshold = 0.5 if threshold is None else arguments.real("threshold", threshold)
        else:
            raise DomainError(
                f"model is a Model, the path of a model file or a function of bits; got {arguments.shown(model)}."
            )
        self.queries = 0

    def __call__(self, bits: Shaped[Array, "n T"]) -> Shaped[Array, " n"]:
        """Return labels, uint8.

        Raises:
            DomainError: an output is NaN or infinite (the message names an input); or a callable's outputs leave
                [0, 1] and no threshold was given.
            ShapeError: a callable returned another shape than (n,) or (n, 1).
        """
        if not len(bits):
            return np.empty(0, dtype=np.uint8)
        outputs = _as_numbers(self._outputs(bits))
        if outputs.shape == (len(bits), 1):
            outputs = outputs[:, 0]
        if outputs.shape != (len(bits),):
            raise ShapeError(
                f"{len(bits)} inputs need {len(bits)} outputs; the function answered with shape {outputs.shape}."
            )
        self.queries += len(bits)
        if not np.isfinite(outputs).all():
            where = int(np.flatnonzero(~np.isfinite(outputs))[0])
            raise DomainError(
                f"the model's output is {outputs[where]} on the input {spell_bits(bits[where])}; "
                "a model with NaN or infinite outputs computes no function."
            )
        if self._guessing:
            check_probabilities(outputs)
        return (outputs > self.threshold).astype(np.uint8)


def _as_numbers(answers: Any) -> Float[Array, "*shape"]:
    """Return the outputs of a function as float64; texts, complex numbers and ragged lists are refused."""
    try:
        array = np.asarray(answers)
        if array.dtype.kind not in "fiubO":
            raise TypeError
        return array.astype(np.float64)
    except (TypeError, ValueError):
        raise DomainError(
            f"a function of bits answers with one real number for each input; got {arguments.shown(answers)}."
        ) from None


def flip_shares(
    predict: Predict, bits: Shaped[Array, "n T"], labels: Shaped[Array, " n"], positions: list[int]
) -> dict[int, float]:
    """Return for each position the share of these inputs whose label changes when the position is flipped."""
    n, T = bits.shape
    together = max(1, 2**24 // (n * T))  # positions in one call: 16 MB of bits
    shares: dict[int, float] = {}
    for i in range(0, len(positions), together):
        part = positions[i : i + together]
        flipped = np.repeat(bits[None], len(part), axis=0)
        flipped[np.arange(len(part)), :, part] ^= 1
        changed = predict(flipped.reshape(-1, T)).reshape(len(part), n) != labels
        shares |= dict(zip(part, changed.mean(axis=1).tolist(), strict=True))
    return shares
