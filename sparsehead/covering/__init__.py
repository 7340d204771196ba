"""Covering and packing numbers: points come in, exact numbers and covers go out.

Read in this order:

points_file               a CSV file of points
metrics                   points as exact numbers, and which of them lie within eps of each other
cover, external           minimal covers with centres in the set (the public `covering_number`) and anywhere
"""

from .cover import Cover, covering_number

__all__ = ["Cover", "covering_number"]
