"""Covering and packing numbers: points or functions on a sample come in, exact numbers and covers go out.

Read in this order:

points_file               a CSV file of points
metrics                   points as exact numbers, and which of them lie within eps of each other
cover, external           minimal covers with centres in the set (the public `covering_number`) and anywhere
function_classes          the same for a class of functions on a sample
relations, shattering     VC and fat-shattering dimension against covering numbers
"""

from .cover import Cover, covering_number

__all__ = ["Cover", "covering_number"]
