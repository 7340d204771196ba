"""Weights as they enter a layer or a model: finite float64 numbers, in shapes that fit each other.

Certificates are about float64 arithmetic on the weights as they are. NumPy multiplies arrays of another precision in
that precision, so such weights become float64 on entry, once, with the same values.
"""

from dataclasses import fields

import numpy as np

from .._base.errors import DomainError, ShapeError


def to_float64(part: object, where: str) -> None:
    """Make every array of a frozen dataclass float64; refuse one that does not hold real numbers."""
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
    """Refuse an array of `part` that has another shape, or holds a number that is not finite."""
    for name, shape in wants.items():
        array = getattr(part, name)
        if array is None:
            continue
        if array.shape != shape:
            raise ShapeError(f"{where} has {name} of shape {array.shape}; its other weights need {shape}.")
    for field in fields(part):  # type: ignore[arg-type]
        array = getattr(part, field.name)
        if isinstance(array, np.ndarray) and not np.isfinite(array).all():
            raise DomainError(
                f"{where} has NaN or infinite entries in {field.name}; weights must be finite numbers."
            )
