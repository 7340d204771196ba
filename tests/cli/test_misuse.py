# ruff: noqa: E501
# mypy: disable-error-code="arg-type,call-overload,dict-item,index,list-item"
"""Misuse in Python: every public function, called wrongly, says which argument is wrong and what would work."""

import re
from functools import cache

import numpy as np
import pytest

import sparsehead as sh

pytestmark = pytest.mark.usefixtures("unchecked")  # users have no checker of annotations


@cache
def f():
    return sh.parse("x1 & x2", T=8)


@cache
def model():
    return sh.build(f())


@cache
def module():
    import torch

    return torch.nn.MultiheadAttention(16, 4)


def state(**changes):
    """A state dict of one attention layer with d = 4, two heads; an argument replaces a tensor, None drops it."""
    tensors = {"q.weight": np.ones((4, 4)), "k.weight": np.ones((4, 4)), "v.weight": np.ones((4, 4)),
               "proj.weight": np.ones((4, 4))}  # fmt: skip
    tensors |= {name.replace("_", "."): value for name, value in changes.items()}
    return {name: value for name, value in tensors.items() if value is not None}


NORMS = {"V21": 1, "V": 1, "QK": 1, "BX": 1}
LEARN = {"m": 10, "seed": 0, "T": 8}

# (what the message must name, the call)
WRONG = {
    "build": [
        ("T together with", lambda: sh.build("x1&x2")), ("f", lambda: sh.build(None)), ("f", lambda: sh.build(model())),
        ("T", lambda: sh.build("x1", T="a")), ("T", lambda: sh.build("x1", T=8.5)), ("T", lambda: sh.build(f(), T=9)),
        ("encoding", lambda: sh.build(f(), 3)), ("encoding", lambda: sh.build(f(), "nonsense")),
        ("d", lambda: sh.build(f(), "random", d="x", seed=0)), ("d", lambda: sh.build(f(), "random", d=-1, seed=0)),
        ("seed", lambda: sh.build(f(), "random", seed="a")), ("seed", lambda: sh.build(f(), "random", seed=-1)),
        ("epsilon", lambda: sh.build(f(), epsilon="x")), ("epsilon", lambda: sh.build(f(), epsilon=float("nan"))),
        ("attends_cls", lambda: sh.build(f(), attends_cls="no")), ("method", lambda: sh.build(f(), method=3)),
        ("heads", lambda: sh.build(f(), heads=4)), ("readout", lambda: sh.build(f(), readout=1)),
    ],
    "law": [
        ("function", lambda: sh.law(3, T=[50])), ("T", lambda: sh.law("and", s=2)),
        ("T", lambda: sh.law("and", s=2, T="50")), ("T", lambda: sh.law("and", s=2, T=["a"])),
        ("T", lambda: sh.law("and", s=2, T=[50.5])), ("T", lambda: sh.law("and", s=2, T=[-5])),
        ("s", lambda: sh.law("and", s="2", T=[50])), ("workers", lambda: sh.law("and", s=2, T=[50], workers="2")),
        ("seed", lambda: sh.law("and", s=2, T=[50], seed="a")), ("db", lambda: sh.law("and", s=2, T=[50], db=3)),
        ("nand", lambda: sh.law("nand", s=2, T=[50])), ("policy", lambda: sh.law("and", s=2, T=[50], start=12)),  # type: ignore[call-arg]
        ("foo", lambda: sh.law("and", s=2, T=[50], foo=3)), ("policy", lambda: sh.law("and", s=2, T=[50], policy=3)),  # type: ignore[call-arg]
        ("method", lambda: sh.law("and", s=2, T=[50], method=3)), ("dropout", lambda: sh.law("and", s=2, T=[50], dropout="a")),
    ],
    "verify": [
        ("model", lambda: sh.verify(f(), model())), ("f", lambda: sh.verify(model(), None)),
        ("x9", lambda: sh.verify(model(), "x1&x9")), ("method", lambda: sh.verify(model(), f(), method=3)),
        ("T", lambda: sh.verify(model(), sh.parse("x1", T=9))),
    ],
    "bound": [
        ("heads", lambda: sh.bound(module(), m=1000)), ("BX", lambda: sh.bound(module(), m=1000, heads=4, T=9)),
        ("T", lambda: sh.bound(module(), m=1000, heads=4, norms={"BX": 1})), ("layer", lambda: sh.bound(module(), m=9, heads=4, layer="no")),
        ("heads", lambda: sh.bound(model(), m=1000, heads=2)), ("weights", lambda: sh.bound(3, m=1000)), ("model", lambda: sh.bound(m=1000)),
        ("m", lambda: sh.bound(model(), m="x")), ("m", lambda: sh.bound(model(), m=-1)),
        ("m", lambda: sh.bound(model(), m=10.5)), ("delta", lambda: sh.bound(model(), m=10, delta="x")),
        ("delta", lambda: sh.bound(model(), m=10, delta=2)), ("margin", lambda: sh.bound(model(), m=10, margin="x")),
        ("eps", lambda: sh.bound(model(), m=10, eps=float("nan"))), ("form", lambda: sh.bound(model(), m=10, form=3)),
        ("norms", lambda: sh.bound(norms=3, m=10, T=10)), ("V", lambda: sh.bound(norms={**NORMS, "V": "x"}, m=10, T=10)),
        ("T", lambda: sh.bound(norms=NORMS, m=10, T="x")), ("T", lambda: sh.bound(norms=NORMS, m=10)),
        ("H", lambda: sh.bound(norms={**NORMS, "H": "q"}, m=10, T=10)),
        ("accuracy", lambda: sh.bound(model(), m=10, accuracy="x")),
    ],
    "norms": [
        ("heads", lambda: sh.norms(module())), ("heads", lambda: sh.norms(module().state_dict(), heads=-1)),
        ("heads", lambda: sh.norms(state(), heads=0)), ("heads", lambda: sh.norms(state(), heads=2.0)),
        ("heads", lambda: sh.norms(state(), heads=3)), ("heads", lambda: sh.norms(model(), heads=2)),
        ("weights", lambda: sh.norms(None)), ("read", lambda: sh.norms("no such file", heads=2)), ("weights", lambda: sh.norms([1, 2], heads=2)),
        ("key", lambda: sh.norms(state(k_weight=np.ones((3, 4))), heads=2)),
        ("output", lambda: sh.norms(state(proj_weight=np.ones((3, 4))), heads=2)),
        ("query", lambda: sh.norms(state(q_weight=np.ones(4)), heads=2)),
        ("v.weight", lambda: sh.norms(state(v_weight="a"), heads=2)),
        ("v.weight", lambda: sh.norms(state(v_weight=None), heads=2)),
        ("bias", lambda: sh.norms(state(q_bias=np.ones(5)), heads=2)),
        ("NaN", lambda: sh.norms(state(q_weight=np.full((4, 4), np.nan)), heads=2)),
        ("attention weights", lambda: sh.norms({1: 2}, heads=2)),
    ],
    "learn": [
        ("T", lambda: sh.learn("x1&x2", m=10, seed=0)), ("f", lambda: sh.learn(3, **LEARN)),
        ("m", lambda: sh.learn("x1", **LEARN | {"m": "a"})), ("m", lambda: sh.learn("x1", **LEARN | {"m": 10.5})),
        ("m", lambda: sh.learn("x1", **LEARN | {"m": 0})), ("seed", lambda: sh.learn("x1", **LEARN | {"seed": "a"})),
        ("seed", lambda: sh.learn("x1", **LEARN | {"seed": -1})), ("T", lambda: sh.learn("x1", **LEARN | {"T": 8.5})),
        ("d", lambda: sh.learn("x1", **LEARN, d="a")), ("dropout", lambda: sh.learn("x1", **LEARN, dropout="a")),
        ("dropout", lambda: sh.learn("x1", **LEARN, dropout=float("nan"))), ("dtype", lambda: sh.learn("x1", **LEARN, dtype=3)),
        ("device", lambda: sh.learn("x1", **LEARN, device=3)), ("preset", lambda: sh.learn("x1", **LEARN, preset=3)),
        ("progress", lambda: sh.learn("x1", **LEARN, progress=3)), ("noise", lambda: sh.learn("x1", **LEARN, noise=2.0)),
        ("record_every", lambda: sh.learn("x1", **LEARN, record_every="a")), ("nonsense", lambda: sh.learn("x1", **LEARN, nonsense=1)),
        ("online", lambda: sh.learn("x1", **LEARN, online="yes")), ("learner", lambda: sh.learn("x1", **LEARN, learner=3)),
    ],
    "parse": [
        ("T", lambda: sh.parse("x1", T="a")), ("T", lambda: sh.parse("x1", T=8.5)), ("T", lambda: sh.parse("x1", T=0)),
        ("text", lambda: sh.parse(3, T=8)), ("T", lambda: sh.parse("x0", T=True)), ("T", lambda: sh.parse("x0", T=np.True_)),
    ],
    "functions": [
        ("support", lambda: sh.conjunction(3, T=8)), ("support", lambda: sh.disjunction("ab", T=8)),
        ("T", lambda: sh.conjunction((0, 1), T="x")), ("support", lambda: sh.majority(None, T=8)),
        ("k", lambda: sh.threshold((0, 1), "x", T=8)), ("values", lambda: sh.symmetric((0, 1), 3, T=8)),
        ("support", lambda: sh.from_table(T=8, support=3, table=[0, 1])), ("table", lambda: sh.from_table(T=8, support=(0,), table=3)),
        ("positions", lambda: sh.parity([0.5], T=8)), ("positions", lambda: sh.parity(["a"], T=8)),
        ("T", lambda: sh.random_function(T="a", s=2, rng=np.random.default_rng(0))),
        ("s", lambda: sh.random_function(T=8, s="b", rng=np.random.default_rng(0))),
        ("rng", lambda: sh.random_function(T=8, s=2, rng=3)),
    ],
    "covering_number": [
        ("points", lambda: sh.covering_number(3, eps=1)), ("points", lambda: sh.covering_number(None, eps=1)),
        ("eps", lambda: sh.covering_number([[1]], eps="a")), ("eps", lambda: sh.covering_number([[1]], eps=float("inf"))),
        ("p", lambda: sh.covering_number([[1]], eps=1, p="a")), ("time_limit", lambda: sh.covering_number([[1]], eps=1, time_limit="a")),
        ("points", lambda: sh.covering_number([[1], ["a"]], eps=1)),
    ],
    "files": [
        ("path", lambda: sh.load(3)), ("path", lambda: sh.load(None)), ("Model", lambda: sh.save(3, "never.safetensors")),
        ("path", lambda: sh.save(model(), 3)),
    ],
    "read": [
        ("model", lambda: sh.read(3, seed=0)), ("seed", lambda: sh.read(model(), seed="a")),
        ("T", lambda: sh.read(lambda bits: bits[:, 0], seed=0)), ("T", lambda: sh.read(lambda bits: bits[:, 0], seed=0, T="a")),
        ("most", lambda: sh.read(model(), seed=0, most="a")), ("p", lambda: sh.read(model(), seed=0, p="a")),
    ],
    "others": [
        ("model", lambda: sh.to_torch(3)), ("dtype", lambda: sh.to_torch(model(), dtype=3)), ("f", lambda: sh.Task(3, 0.5)),
        ("p", lambda: sh.Task(f(), "x")), ("noise", lambda: sh.Task(f(), 0.5, "x")), ("f", lambda: sh.Task.balanced(3)), ("T", lambda: sh.Task.balanced("x1")),
    ],
}  # fmt: skip
CALLS = [(group, i) for group, calls in WRONG.items() for i in range(len(calls))]


@pytest.mark.parametrize(("group", "i"), CALLS, ids=lambda part: str(part))
def test_a_wrong_call_names_the_argument(group, i, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name, call = WRONG[group][i]
    with pytest.raises(sh.SparseheadError) as caught:
        call()
    assert re.search(rf"\b{re.escape(name)}\b", str(caught.value)), str(caught.value)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 500
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [n for n in sh.__all__ if n not in ("SparseheadError",)])
def test_an_unknown_argument_is_pythons_own_error_or_ours(name):
    with pytest.raises((TypeError, sh.SparseheadError)):
        getattr(sh, name)(no_such_argument=1)


def test_build_takes_an_expression_with_T():
    assert str(sh.verify(sh.build("x1 & x2", T=8), f()).correct) == "True"
    assert sh.build(f(), T=8).T == 8


def test_norms_takes_a_module():
    found = sh.norms(module(), heads=4)
    assert [len(heads) for heads in found.values()] == [4]
