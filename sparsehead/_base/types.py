"""The array types that signatures use: jaxtyping shapes over NumPy arrays, checked while tests run.

A one-axis shape opens with a space (`Float[Array, " T"]`). Annotations stay real objects: postponing them
would make the checker skip dataclasses silently. Letters in shape strings are those of docs/notation.md.
"""

from jaxtyping import Bool, Float, Int, Shaped
from numpy import ndarray as Array

__all__ = ["Array", "Bool", "Float", "Int", "Shaped"]
