"""Wrong uses of `plant` and of what it returns: one line each that says what would work."""

from typing import Any

import numpy as np
import pytest

import sparsehead
from sparsehead._base.errors import SparseheadError

sh: Any = sparsehead  # a type checker would refuse many of these uses
F = sh.parse("x1 & x4", T=9)
PLANTED = sh.plant(F, difficulty=0, seed=0)


def bits(T, s):
    return sh.parse(" ^ ".join(f"x{t}" for t in range(s)), T=T)


PLANT = {
    "no T": (lambda: sh.plant("x1 & x4", seed=0), "needs the context length T"),
    "T of text": (lambda: sh.plant("x1 & x4", T="9", seed=0), "T"),
    "T of half": (lambda: sh.plant("x1 & x4", T=9.5, seed=0), "T"),
    "T below": (lambda: sh.plant("x1 & x4", T=0, seed=0), "T"),
    "T negative": (lambda: sh.plant("x1 & x4", T=-3, seed=0), "T"),
    "T too short": (lambda: sh.plant("x1 & x4", T=3, seed=0), "x4 at column 6 is outside"),
    "T twice": (lambda: sh.plant(F, T=10, seed=0), "the function reads T=9 bits"),
    "no function": (lambda: sh.plant(None, T=9, seed=0), "f is a SparseFunction"),
    "a list": (lambda: sh.plant([1, 4], T=9, seed=0), "f is a SparseFunction"),
    "a model": (lambda: sh.plant(sh.build(F), seed=0), "f is a SparseFunction"),
    "a lambda": (lambda: sh.plant(lambda b: b[:, 1], T=9, seed=0), "f is a SparseFunction"),
    "an unfinished text": (lambda: sh.plant("x1 &", T=9, seed=0), "x1 &"),
    "an empty text": (lambda: sh.plant("", T=9, seed=0), ""),
    "code": (lambda: sh.plant("__import__('os')", T=9, seed=0), ""),
    "a constant": (lambda: sh.plant("x1 | ~x1", T=9, seed=0), "reads 0"),
    "all positions": (lambda: sh.plant("x0 & x1", T=2, seed=0), "1 to 1 of T=2 positions; this one reads 2"),
    "one position": (lambda: sh.plant("x0", T=1, seed=0), "T >= 2"),
    "nine bits": (lambda: sh.plant(bits(30, 9), seed=0), "1 to 8 of T=30 positions; this one reads 9"),
    "heads by number": (lambda: sh.plant(F, heads=2, seed=0), "heads is one of one, s; got 2"),
    "heads cancel": (lambda: sh.plant(F, heads="cancel", seed=0), "heads is one of one, s"),
    "heads misspelt": (lambda: sh.plant(F, heads="onne", seed=0), "Did you mean 'one'"),
    "no heads": (lambda: sh.plant(F, heads=None, seed=0), "heads is one of"),
    "distractors by text": (
        lambda: sh.plant(F, distractors="silent", seed=0),
        "a number or a sequence of kinds",
    ),
    "distractors by digits": (
        lambda: sh.plant(F, distractors="2", seed=0),
        "a number or a sequence of kinds",
    ),
    "distractors true": (lambda: sh.plant(F, distractors=True, seed=0), "a number or a sequence of kinds"),
    "half a distractor": (lambda: sh.plant(F, distractors=1.5, seed=0), "distractors is a whole number >= 0"),
    "fewer than none": (lambda: sh.plant(F, distractors=-1, seed=0), "distractors is a whole number >= 0"),
    "too many": (lambda: sh.plant(F, distractors=99, seed=0), "198 irrelevant positions, T=9 leaves 7"),
    "too many kinds": (lambda: sh.plant(F, distractors=["cancel"] * 4, seed=0), "8 irrelevant positions"),
    "an unknown kind": (
        lambda: sh.plant(F, distractors=["loud"], seed=0),
        "silent, constant, cancel; got 'loud'",
    ),
    "a misspelt kind": (lambda: sh.plant(F, distractors=["silnt"], seed=0), "Did you mean 'silent'"),
    "a kind by number": (lambda: sh.plant(F, distractors=[1], seed=0), "silent, constant, cancel; got 1"),
    "kinds by count": (lambda: sh.plant(F, distractors={"silent": 2}, seed=0), "sequence of kinds"),
    "nested kinds": (lambda: sh.plant(F, distractors=[["silent"]], seed=0), "silent, constant, cancel"),
    "bytes": (lambda: sh.plant(F, distractors=b"silent", seed=0), "sequence of kinds"),
    "difficulty above": (lambda: sh.plant(F, difficulty=1.01, seed=0), "from 0 to 1; got 1.01"),
    "difficulty below": (lambda: sh.plant(F, difficulty=-0.1, seed=0), "from 0 to 1; got -0.1"),
    "difficulty nan": (lambda: sh.plant(F, difficulty=float("nan"), seed=0), "difficulty is a finite number"),
    "difficulty infinite": (lambda: sh.plant(F, difficulty=float("inf"), seed=0), "difficulty"),
    "difficulty by word": (lambda: sh.plant(F, difficulty="hard", seed=0), "difficulty is a finite number"),
    "difficulty by digits": (lambda: sh.plant(F, difficulty="0.5", seed=0), "difficulty is a finite number"),
    "difficulty true": (lambda: sh.plant(F, difficulty=True, seed=0), "difficulty is a finite number"),
    "no difficulty": (lambda: sh.plant(F, difficulty=None, seed=0), "difficulty is a finite number"),
    "difficulties": (lambda: sh.plant(F, difficulty=[0, 1], seed=0), "difficulty is a finite number"),
    "complex": (lambda: sh.plant(F, difficulty=1j, seed=0), "difficulty is a finite number"),
    "d of text": (lambda: sh.plant(F, d="16", seed=0), "d is a whole number >= 1"),
    "d of half": (lambda: sh.plant(F, d=16.5, seed=0), "d is a whole number >= 1"),
    "d of nothing": (lambda: sh.plant(F, d=0, seed=0), "d is a whole number >= 1"),
    "d below the axes": (lambda: sh.plant(F, d=4, seed=0), "d is at least 5 here"),
    "d below more axes": (lambda: sh.plant(F, heads="s", d=5, seed=0), "d is at least 6 here"),
    "d too small": (lambda: sh.plant("x1 & x4", T=300, d=6, seed=0), "the smallest d tried that works is"),
    "d too large": (lambda: sh.plant(F, d=10**13, seed=0), "plant with T=9, d=10000000000000 needs about"),
    "seed of text": (lambda: sh.plant(F, seed="0"), "seed is a whole number >= 0"),
    "seed below": (lambda: sh.plant(F, seed=-1), "seed is a whole number >= 0"),
    "seed of half": (lambda: sh.plant(F, seed=0.5), "seed is a whole number >= 0"),
    "seed true": (lambda: sh.plant(F, seed=True), "seed is a whole number >= 0"),
    "no seed": (lambda: sh.plant(F, seed=None), "seed is a whole number >= 0"),
}
PLANTED_USES = {
    "dtype": (lambda: PLANTED.torch(dtype="float16"), "dtype is one of float64, float32"),
    "dtype by number": (lambda: PLANTED.torch(dtype=32), "dtype is one of float64, float32"),
    "too few scores": (lambda: PLANTED.score([1.0, 2.0]), r"scores of shape (2,) arrived; T=9 needs (9,)"),
    "with [CLS]": (lambda: PLANTED.score(np.zeros(10)), "scores of shape (10,)"),
    "turned round": (lambda: PLANTED.score(np.zeros((9, 4))), "scores of shape (9, 4)"),
    "by head": (lambda: PLANTED.score(np.zeros((2, 3, 9))), "scores of shape (2, 3, 9)"),
    "no examples": (lambda: PLANTED.score(np.zeros((0, 9))), "scores of shape (0, 9)"),
    "nothing": (lambda: PLANTED.score([]), "scores of shape (0,)"),
    "none": (lambda: PLANTED.score(None), "scores are numbers, one for each of T=9 positions"),
    "a number": (lambda: PLANTED.score(3.0), "scores of shape ()"),
    "text": (lambda: PLANTED.score("x1, x4"), "scores are numbers"),
    "texts": (lambda: PLANTED.score(["a"] * 9), "scores are numbers"),
    "by name": (lambda: PLANTED.score({"x1": 1.0}), "scores are numbers"),
    "ragged": (lambda: PLANTED.score([[1.0], [1.0, 2.0]]), "scores are numbers"),
    "complex": (lambda: PLANTED.score(np.zeros(9) * 1j), "scores are numbers"),
    "nan": (lambda: PLANTED.score([float("nan")] * 9), "scores hold NaN or infinite"),
    "infinite": (lambda: PLANTED.score([float("inf")] + [0.0] * 8), "scores hold NaN or infinite"),
    "other bits": (lambda: PLANTED.model(np.full((1, 9), 2)), "bits"),
}
USES = {**{f"plant, {name}": use for name, use in PLANT.items()}, **PLANTED_USES}


@pytest.mark.parametrize("name", USES)
@pytest.mark.usefixtures("unchecked")
def test_a_wrong_use_gets_one_line_that_says_what_would_work(name):
    use, said = USES[name]
    if "dtype" in name:
        pytest.importorskip("torch")
    with pytest.raises(SparseheadError) as error:
        use()
    message = str(error.value)
    assert said in message and "\n" not in message and len(message) < 400, message


def test_there_are_at_least_fifty_of_them():
    assert len(USES) >= 50
