"""Models of this library are measured where they read: at [CLS]."""

from dataclasses import replace

import pytest

import sparsehead as sh
from sparsehead.cli.probe import cells
from sparsehead.probing.measure import CLS_ONLY
from sparsehead.probing.result import ranked


def test_a_written_head_is_a_sparse_variable_by_default():
    model = sh.build("x1 & x4", T=8)
    found = sh.probe(model, bounds=False)
    (head,) = found.heads
    assert head.score(2) == pytest.approx(1, abs=0.02) and head.measured.support == (1, 4)
    assert head.measured.rows == found.sequences and CLS_ONLY in found.notes
    assert head.baselines["uniform_attention"].score[2] < 0.5


def test_other_rows_are_measured_if_asked_for():
    model = sh.build("x1 & x4", T=8)
    every = sh.probe(model, bounds=False, baselines=False, queries=range(9))
    assert every.heads[0].measured.rows == 9 * every.sequences and CLS_ONLY not in every.notes


def test_total_influence_is_on_the_positions_that_a_model_reads():
    found = sh.probe(sh.build("x1 & x4", T=8), bounds=False, baselines=False, total=8)
    depends = found.heads[0].influence["total"]
    assert len(depends.positions) == 8 and depends.support == (1, 4)
    assert set(found.heads[0].measured.support) <= set(range(8))
    assert depends.correlation > 0 and depends.overlap >= 0.5


def test_only_our_own_models_have_this_default(tiny):
    found = sh.probe(tiny("bert"), tokens=[list(range(12))], baselines=False, bounds=False)
    assert found.heads[0].measured.rows == 12 and CLS_ONLY not in found.notes


def test_what_one_row_cannot_tell_is_none_and_not_zero():
    """One row has no variation, the first row no previous token, the last row no next one."""
    model = sh.build("x1 & x4", T=8)
    found = sh.probe(model, tokens=[[0, 1] * 4], baselines=False, bounds=False)
    (last,) = found.heads
    assert last.measured.score == {} and last.score(2) is None
    assert last.measured.next is None and last.measured.previous is not None
    first = sh.probe(model, tokens=[[0, 1] * 4], baselines=False, bounds=False, queries=[0]).heads[0]
    assert first.measured.previous is None and first.measured.next is not None
    assert "first by score" not in repr(found) and found.to_dict()["heads"][0]["measured"]["next"] is None
    row = found.rows()[0]
    assert (row["score"], row["next"]) == (None, None) and cells(row)[1] == cells(row)[8] == "-"


def test_heads_without_a_score_come_last():
    found = sh.probe(sh.build("x1 & x4", T=8), bounds=False, baselines=False).heads[0]
    unknown = replace(found, head=1, measured=replace(found.measured, score={}))
    worst = replace(found, head=2, measured=replace(found.measured, score={4: 0.0}))
    assert [head.head for head in ranked([unknown, worst, found], 4)] == [0, 2, 1]
