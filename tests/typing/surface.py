"""What a type checker sees of the public names; checked by mypy in `make lint`, never run.

Every `type: ignore` here must be needed (warn_unused_ignores): a name that does not exist is an error.
"""

from typing import assert_type

import numpy as np

import sparsehead as sh
from sparsehead.capacity import Bound
from sparsehead.certify import Certificate
from sparsehead.covering import Cover
from sparsehead.experiments.law import LawResult
from sparsehead.reading import Reading
from sparsehead.train.outcome import Run

f = sh.parse("x1 & x2", T=8)
assert_type(f, sh.SparseFunction)
model = sh.build(f)
assert_type(model, sh.Model)
assert_type(sh.verify(model, f), Certificate)
assert_type(sh.read(model, seed=0), Reading)
assert_type(sh.bound(model, m=100), Bound)
assert_type(sh.covering_number(np.zeros((2, 2)), eps=0.5), Cover)
assert_type(sh.learn(f, m=50, seed=0), Run)
assert_type(sh.law("and", s=2, T=[10, 20], seed=0), LawResult)
sh.pars("x1", T=8)  # type: ignore[attr-defined]
sh.build(f, encodin="bag")  # type: ignore[call-arg]
