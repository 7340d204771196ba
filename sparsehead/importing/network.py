"""`Network`: a function of bits that another library computes, in the form that `read` and `verify` accept."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .._base.arguments import real, whole
from .._base.display import Card, WithCard
from .._base.errors import DomainError, ShapeError
from .._base.types import Array, Float, Int, Shaped
from ..functions import check_bits
from ..heads.model_file import load

Run = Callable[[Int[Array, "n T"]], Float[Array, "..."]]


@dataclass(frozen=True, eq=False, repr=False)
class Network(WithCard):
    """A function from bits (n, T) to n outputs, computed by another library in its own arithmetic.

    `read` treats it like any function of bits. `verify` runs it on all 2^T inputs up to T = 16 (20 on request), and on
    a selection of inputs for larger T. Statements about exact arithmetic cannot be proved for a Network.

    Args:
        T: length of the input.
        run: maps bits (n, T), int64, to n numbers.
        threshold: outputs above it predict 1.
        guessed: whether the threshold is the default, 1/2; outputs outside [0, 1] are then refused.
        why: one sentence on why no Model is equivalent.
        source: the type of the original object, such as "LlamaModel".

    >>> network = Network(4, lambda bits: bits[:, 1] * bits[:, 3], why="a product", source="NumPy")
    >>> network.predict(np.array([[0, 1, 0, 1], [1, 1, 1, 0]]))
    array([1, 0])
    """

    T: int
    run: Run
    threshold: float = 0.5
    guessed: bool = False
    why: str = ""
    source: str = ""

    def __repr__(self) -> str:
        return f"<Network: {self.source}, T={self.T}; {self.why}>"

    def _card(self) -> Card:
        facts = {"source": self.source, "T": self.T, "threshold": self.threshold}
        return Card("Network", [self.why], facts)

    def __call__(self, bits: Shaped[Array, "..."]) -> Float[Array, " n"]:
        """Return the outputs, float64.

        Raises:
            DomainError: an entry is not 0 or 1, the network fails, or no threshold was given and an output is outside
                [0, 1].
            ShapeError: `bits` or the outputs have another shape.
        """
        checked = check_bits(bits, self.T).astype(np.int64)
        if checked.ndim != 2:
            raise ShapeError(
                f"bits of shape {checked.shape} arrived; pass (n, {self.T}), one sequence per row."
            )
        if not len(checked):
            return np.empty(0)
        outputs = np.asarray(self.run(checked), dtype=np.float64)
        outputs = outputs[:, 0] if outputs.shape == (len(checked), 1) else outputs
        if outputs.shape != (len(checked),):
            raise ShapeError(
                f"{len(checked)} inputs need {len(checked)} outputs; {self.source or 'the network'} answered with "
                f"shape {outputs.shape}."
            )
        if self.guessed:
            check_probabilities(outputs)
        return outputs

    def predict(self, bits: Shaped[Array, "..."]) -> Int[Array, " n"]:
        """Return 1 if the output exceeds the threshold, else 0, for each example."""
        return (self(bits) > self.threshold).astype(np.int64)


def check_probabilities(outputs: Float[Array, " n"]) -> None:
    """Raise if an output is outside [0, 1], since 1/2 is then no sensible threshold; NaN and infinity are ignored."""
    finite = outputs[np.isfinite(outputs)]
    # A probability in float32 may round to a little more than 1.
    if len(finite) and (finite.min() < 0 or finite.max() > 1 + 1e-6):
        raise DomainError(
            f"the function's outputs range from {finite.min():.4g} to {finite.max():.4g}, so they are neither "
            "bits nor probabilities; say above which value the label is 1: threshold=0 for logits and signs, "
            "threshold=.5 for scores around 0 and 1."
        )


def is_module(value: Any) -> bool:
    """Return whether `value` is a torch module, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)


def as_network(model: Any, T: int | None = None, *, threshold: float | int | None = None) -> Any:
    """Return the Model in a file or in a module made by `to_torch`, or a `Network` for another torch module, which must
    map bits (n, T) to numbers; return anything else unchanged.

    Raises:
        DomainError: a module is given without T, or fails on bits. FileError: as for `load`.
    """
    if isinstance(model, str | os.PathLike):
        return load(Path(model))
    if hasattr(model, "to_model") and is_module(model):
        return model.to_model()
    if isinstance(model, Network):
        if T not in (None, model.T):
            raise DomainError(f"the network reads T={model.T} bits, but T={T} was asked for.")
        return (
            model
            if threshold is None
            else replace(model, threshold=real("threshold", threshold), guessed=False)
        )
    if not is_module(model):
        return model
    if T is None:
        raise DomainError(
            f"a {type(model).__name__} does not say how many bits it reads; give T= to `read`, a function made with "
            "T= to `verify`, or wrap it: sh.from_torch(net, T=..)."
        )
    from .running import module_of_bits

    return module_of_bits(model, whole("T", T), threshold=threshold)
