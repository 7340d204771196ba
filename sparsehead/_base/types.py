"""The array types that signatures use: jaxtyping shapes over NumPy arrays, checked while tests run.

A one-axis shape starts with a space (`Float[Array, " T"]`). Do not postpone annotations (`from __future__ import
annotations`): the checker would silently skip dataclasses. docs/notation.md explains the letters in shape strings.
"""

from jaxtyping import Bool, Float, Int, Shaped
from numpy import ndarray as Array

__all__ = ["Array", "Bool", "Float", "Int", "Shaped"]
