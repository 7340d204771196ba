"""Exact covering and packing numbers of finite sets of points, with covers.

Read in this order:

points_file               a CSV file of points
metrics                   points as exact numbers, and which pairs lie within eps of each other
cover, external           minimal covers with centres in the set (the public `covering_number`), or anywhere
"""

from .cover import Cover, covering_number

__all__ = ["Cover", "covering_number"]
