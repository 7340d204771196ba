"""Covering numbers of a point set and of a function class, exactly."""

import itertools
import math

import sparsehead as sh

points = [["0.5", "0.7"], ["0.2", "0.3"], ["0.6", "0.65"]]  # decimals as text are compared exactly
for eps in ("0.05", "0.2", "0.5"):
    cover = sh.covering_number(points, eps=eps)
    print(f"eps={eps}: {cover.size} balls, centres {cover.centers}")

# a function on 4 points is the vector of its values; two differ by their largest difference at a point
signs = list(itertools.product([-1, 1], repeat=4))
cover = sh.covering_number(signs, eps="0.5", p=math.inf)
print(f"all +-1 functions on 4 points: covering number {cover.size}")
