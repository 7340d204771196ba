"""What a type checker sees of the public names; checked by mypy in `make lint`, never run.

Every `type: ignore` here must be needed (warn_unused_ignores): a name that does not exist is an error.
"""

from typing import Any, assert_type

import numpy as np
import torch
from sklearn.tree import DecisionTreeClassifier

import sparsehead as sh
from sparsehead._base.frame import Frame
from sparsehead.capacity import Bound, Norms
from sparsehead.capacity.atlas import Atlas
from sparsehead.capacity.check_form import FormCheck
from sparsehead.capacity.forms import bilinear, linear
from sparsehead.certify import Certificate
from sparsehead.covering import Cover
from sparsehead.laws.data_curve import DataCurve
from sparsehead.laws.law import LawResult
from sparsehead.reading import Reading
from sparsehead.train.data_run import TableRun
from sparsehead.train.outcome import Run

f = sh.parse("x1 & x2", T=8)
assert_type(f, sh.SparseFunction)
model = sh.build(f)
assert_type(model, sh.Model)
assert_type(sh.verify(model, f), Certificate)
assert_type(sh.read(model, seed=0), Reading)
assert_type(sh.bound(model, m=100), Bound)
assert_type(sh.bound(model, m=100, form=sh.Form("ours again", linear, bilinear)), Bound)
assert_type(sh.atlas(model, m=100), Atlas)
assert_type(sh.check_form("ours"), FormCheck)
sh.bound(model, m=100, form=3)  # type: ignore[arg-type]
assert_type(sh.covering_number(np.zeros((2, 2)), eps=0.5), Cover)
assert_type(sh.learn(f, m=50, seed=0), Run)
assert_type(sh.learn(np.zeros((20, 2)), np.zeros(20), seed=0), TableRun)
assert_type(sh.learn(sh.dataset("t.csv", "y"), seed=0), TableRun)
assert_type(sh.learning_curve("t.csv", "y", seed=0), DataCurve)
assert_type(sh.law("and", s=2, T=[10, 20], seed=0), LawResult)
assert_type(sh.law(f, T=8, preset="fast"), LawResult)
assert_type(sh.module(lambda T: torch.nn.Linear(T, 1), steps=10, batch=4), sh.Learner)
assert_type(sh.learn(f, m=50, seed=0, learner=sh.module(lambda T: torch.nn.Linear(T, 1))), Run)
assert_type(sh.learn(f, m=50, seed=0, learner=DecisionTreeClassifier()), Run)
assert_type(sh.law("and", s=2, T=8, learner=lambda bits, labels, rng: lambda b: b[:, 0]), LawResult)
sh.module(lambda T: torch.nn.Linear(T, 1), step=10)  # type: ignore[call-arg]
sh.learn(f, m=50, seed=0, learner=3)  # type: ignore[call-overload]
assert_type(sh.verify("model.safetensors", "x1 & x2"), Certificate)
assert_type(sh.norms(model), Norms)
assert_type(sh.norms({"in_proj_weight": np.zeros((6, 2))}, heads=1), Norms)
assert_type(sh.bound("model.safetensors", m=100).to_frame(), Frame)
assert_type(sh.learn("x1", T=8, m=50, seed=0).to_frame()["step"], list[Any])
assert_type(sh.to_torch(model).to_model(), sh.Model)
assert_type(sh.from_torch(sh.to_torch(model), T=8), sh.Model | sh.Network)
assert_type(sh.verify(sh.to_torch(model), f), Certificate)
assert_type(sh.read(sh.to_torch(model), seed=0), Reading)
assert_type(sh.Task.balanced("x1 & x2", T=8), sh.Task)
assert_type(sh.load("model.safetensors").T, int)
sh.bound(3, m=100)  # type: ignore[arg-type]
sh.verify(model, 3)  # type: ignore[arg-type]
sh.pars("x1", T=8)  # type: ignore[attr-defined]
sh.build(f, encodin="bag")  # type: ignore[call-arg]
sh.learn(f, m=50, seed=0, learning_rte=0.1)  # type: ignore[call-overload]
sh.learn(f, m=50, seed=0, H="four")  # type: ignore[call-overload]
sh.law("and", s=2, T=8, encoding="bag", learning_rte=0.1)  # type: ignore[call-arg]
