"""Checks of the weights of a layer or a model: finite float64 numbers, in consistent shapes.

Certificates are about float64 arithmetic. NumPy multiplies arrays of lower precision in that precision, so all weights
are converted to float64, which does not change their values, when a layer or a model is made.
"""

from dataclasses import fields

import numpy as np

from .._base.errors import DomainError, ShapeError


def to_float64(part: object, where: str) -> None:
    """Convert every array of a frozen dataclass to float64 in place; raise if an array does not have real numbers."""
    for field in fields(part):  # type: ignore[arg-type]
        array = getattr(part, field.name)
        if not isinstance(array, np.ndarray) or array.dtype == np.float64:
            continue
        if array.dtype.kind not in "fiub":
            raise DomainError(
                f"{where} has {field.name} of {array.dtype} values; weights must be real numbers."
            )
        object.__setattr__(part, field.name, array.astype(np.float64))


def check_shapes(part: object, wants: dict[str, tuple[int, ...]], where: str) -> None:
    """Raise if an array of `part` has another shape than in `wants`, or contains NaN or infinity."""
    for name, shape in wants.items():
        array = getattr(part, name)
        if array is not None and array.shape != shape:
            raise ShapeError(f"{where} has {name} of shape {array.shape}; its other weights need {shape}.")
    for field in fields(part):  # type: ignore[arg-type]
        array = getattr(part, field.name)
        if isinstance(array, np.ndarray) and not np.isfinite(array).all():
            raise DomainError(
                f"{where} has NaN or infinite entries in {field.name}; weights must be finite numbers."
            )
