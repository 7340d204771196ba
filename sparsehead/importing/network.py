"""`Network`: a function of bits that another library computes, with what `read` and `verify` need to know about it."""

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
    """bits (n, T) -> (n,), computed by another library in its own arithmetic.

    `read` takes it as it takes a function of bits. `verify` runs it on all 2^T inputs up to T = 16 (20 on request) and
    on chosen ones beyond. What holds for exact arithmetic cannot be proved about it.

    Args:
        T: length of the input.
        run: from bits (n, T), int64, to n numbers.
        threshold: outputs above it predict 1.
        guessed: the threshold is a guess; outputs outside [0, 1] are refused.
        why: one sentence on why it is not a Model.
        source: what it was made of, such as "LlamaModel".

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
        """The outputs, float64.

        Raises:
            DomainError: an entry is not 0 or 1, the network fails, or its outputs leave [0, 1] without a threshold.
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
        """1 where the output exceeds the threshold, else 0."""
        return (self(bits) > self.threshold).astype(np.int64)


def check_probabilities(outputs: Float[Array, " n"]) -> None:
    """Refuse outputs outside [0, 1], which 1/2 does not cut into labels; NaN and infinity are for the caller."""
    finite = outputs[np.isfinite(outputs)]
    # A probability in float32 may round to a little more than 1.
    if len(finite) and (finite.min() < 0 or finite.max() > 1 + 1e-6):
        raise DomainError(
            f"the function's outputs range from {finite.min():.4g} to {finite.max():.4g}, so they are neither "
            "bits nor probabilities; say above which value the label is 1: threshold=0 for logits and signs, "
            "threshold=.5 for scores around 0 and 1."
        )


def is_module(value: Any) -> bool:
    """Whether it is a torch module; torch is not imported to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)


def as_network(model: Any, T: int | None = None, *, threshold: float | int | None = None) -> Any:
    """The Model in the file of that path or behind a module of `to_torch`; another torch module, which maps bits (n, T)
    to numbers, as a `Network`; anything else as it is.

    Raises:
        DomainError: a module comes without T, or fails on bits. FileError: as for `load`.
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
