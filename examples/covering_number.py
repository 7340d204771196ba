"""Covering numbers of a point set and of a function class, exactly."""

import itertools

import sparsehead as sh
from sparsehead.covering.function_classes import class_covering_number, evaluate

points = [["0.5", "0.7"], ["0.2", "0.3"], ["0.6", "0.65"]]  # decimals as text are compared exactly
for eps in ("0.05", "0.2", "0.5"):
    cover = sh.covering_number(points, eps=eps)
    print(f"eps={eps}: {cover.size} balls, centres {cover.centers}")

signs = [lambda z, f=f: f[z] for f in itertools.product([-1.0, 1.0], repeat=4)]
values = evaluate(signs, range(4))
print(f"all +-1 functions on 4 points: covering number {class_covering_number(values, eps=0.5).size}")
