"""A model as an oracle: bits in, one label out, every question counted."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arguments import shown
from ..certify.certificate import spell_bits
from ..errors import DomainError, ShapeError
from ..evaluate import evaluator
from ..model import Model
from ..types import Array, Float, Shaped

Predict = Callable[[Shaped[Array, "n T"]], Shaped[Array, " n"]]
HALF = 0.5  # a plain function of bits answers 1 where its value exceeds this


class Oracle:
    """The labels of a model, or of any function from bits (n, T) to n numbers.

    Args:
        model: a `Model` (label 1 where the output exceeds its threshold), or a callable (1 where it exceeds 1/2).
        T: length of the input; a Model knows its own.
    Attributes:
        queries: how many inputs have been evaluated so far.
    """

    def __init__(self, model: Model | Predict, T: int | None = None) -> None:
        if isinstance(model, Model):
            if T not in (None, model.T):
                raise DomainError(f"the model reads T={model.T} bits, but T={T} was asked for.")
            self.T, self.threshold, self._outputs = model.T, model.threshold, evaluator(model)
        elif callable(model):
            if T is None:
                raise DomainError(
                    "read needs the length T of the input together with a function; a Model knows its own."
                )
            self.T, self.threshold, self._outputs = T, HALF, model
        else:
            raise DomainError(
                f"read takes a Model, the path of a model file, or a function of bits; got {type(model).__name__}."
            )
        self.queries = 0

    def __call__(self, bits: Shaped[Array, "n T"]) -> Shaped[Array, " n"]:
        """Labels, uint8.

        Raises:
            DomainError: an output is NaN or infinite, so that there is no label; names an input.
            ShapeError: a callable answered with another number of values.
        """
        if not len(bits):
            return np.empty(0, dtype=np.uint8)
        outputs = _as_numbers(self._outputs(bits))
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
        return (outputs > self.threshold).astype(np.uint8)


def _as_numbers(answers: Any) -> Float[Array, "*shape"]:
    """Answers of a function as float64; texts, complex numbers and ragged lists are refused."""
    try:
        array = np.asarray(answers)
        if array.dtype.kind not in "fiubO":
            raise TypeError
        return array.astype(np.float64)
    except (TypeError, ValueError):
        raise DomainError(
            f"a function of bits answers with one real number for each input; got {shown(answers)}."
        ) from None
