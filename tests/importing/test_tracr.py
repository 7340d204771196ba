"""Parameters that Tracr compiled, and the open miscompilation of its issue 25, which `verify` finds."""

import numpy as np
import pytest

import sparsehead as sh
from sparsehead.functions import assignments, from_table
from sparsehead.importing.arrangement import arranged
from sparsehead.importing.stack import Readout
from sparsehead.importing.tracr import run_tracr, tracr_model

from .tracr_weights import INDICES, TOKENS, output, params, program


def answer(tokens):
    """The compiled model's answer at every place behind BOS: the argmax of its outputs, as Tracr decodes it."""
    model = tracr_model(params(), 1)
    found = []
    for place in range(len(tokens)):
        # The tokens stand before one bit, so that any sequence can be asked; the bit is the last token or another one.
        ids = [TOKENS.index(t) for t in ("BOS", *tokens)]
        asked = arranged((ids[-1], 5), ids[:-1], (), T=1, at=1 + place, vocabulary=6, longest=6)
        zero = np.zeros((1, 1), dtype=np.int64)
        outputs = [run_tracr(model, asked, Readout(output(v), 0.0, 0.5))(zero)[0] for v in INDICES]
        found.append(int(np.argmax(outputs)))
    return found


def test_the_weights_answer_as_the_issue_prints():
    """["BOS", 2, 3, 0, 1] where the program says 2, 3, None, None."""
    assert program([1, 2, 3, 4]) == [2, 3, None, None]
    assert answer([1, 2, 3, 4])[:2] == [2, 3]
    assert answer([1, 2, 3, 4])[3] == 1
    # The third answer is a tie of equal leaks over the indices 0 to 3, of which Tracr takes the first.
    model = tracr_model(params(), 1)
    asked = arranged((3, 5), [4, 0, 1, 2], (), T=1, at=3, vocabulary=6, longest=6)
    zero = np.zeros((1, 1), dtype=np.int64)
    leaks = [run_tracr(model, asked, Readout(output(v), 0.0, 0.5))(zero)[0] for v in INDICES]
    assert leaks[:4] == pytest.approx([leaks[0]] * 4) and 0 < leaks[0] < 1e-6 and leaks[4] < leaks[0]


def says_one(zero, one):
    """Whether the program's last value is 1, for four tokens that are `zero` or `one`."""
    table = [program([(zero, one)[b] for b in bits])[-1] == 1 for bits in assignments(4)]
    return from_table(T=4, support=range(4), table=np.array(table, dtype=np.uint8))


def compiled(zero, one, *, against):
    """The compiled model on the same tokens: value 1 against another one, as the argmax decides between them."""
    return sh.from_torch(
        params(), tokens=(TOKENS.index(zero), TOKENS.index(one)), before=[TOKENS.index("BOS")], T=4, heads=1,
        readout=output(1) - output(against), threshold=0,
    )  # fmt: skip


def test_verify_finds_the_miscompilation():
    """With the tokens 1 and 4: index 4 does not exist, the program says None, and the compiled model says 1."""
    network, f = compiled(1, 4, against=0), says_one(1, 4)
    found = sh.verify(network, f)
    assert found.correct is False and found.method == "exhaustive"
    tokens = [(1, 4)[b] for b in found.counterexample]
    assert program(tokens)[-1] is None and network.predict(found.counterexample[None])[0] == 1
    assert answer(tokens)[-1] == 1


def test_verify_accepts_what_is_compiled_rightly():
    """With the tokens 1 and 2 every index exists, no None occurs, and the value is 1 or 2."""
    assert sh.verify(compiled(1, 2, against=2), says_one(1, 2)).correct is True


def test_without_bos_a_model_computes_the_same():
    """One fixed token that is read: a Model of two layers, equal to the parameters run by themselves."""
    asked = dict(tokens=(0, 1), after=[2], T=3, heads=1, readout=output(1) - output(0), threshold=1e-3)
    model = sh.from_torch(params(), **asked)
    assert isinstance(model, sh.Model) and model.L == 2 and model.meta["distance"] <= 1e-12
