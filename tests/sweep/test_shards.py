"""A law in parts: the merged stores hold what one run would have made."""

from typing import Any

import pytest

from sparsehead._base.errors import DomainError, ParseError
from sparsehead.laws.adaptive import Adaptive
from sparsehead.laws.law import law
from sparsehead.store import Store
from sparsehead.store.merge import merge
from sparsehead.sweep.shards import Shard, parse_shard

SMALL: dict[str, Any] = {
    "s": 2,
    "learner": "exhaustive",
    "workers": 1,
    "policy": Adaptive(start=12, max_trials=8),
}


def content(path):
    with Store(path, readonly=True) as store:
        rows = {r.id: {**r.outcome, "seconds": 0} for r in store.records()}
        assert len(rows) == len(store)
    return rows


def test_parts_are_disjoint_and_unite_to_the_whole():
    parts = [Shard(i, 3).part(range(10)) for i in (1, 2, 3)]
    assert sorted(i for part in parts for i in part) == list(range(10))


@pytest.mark.parametrize(
    "text", ["", "3", "0/2", "3/2", "a/b", "1/0", "-1/2", "1/2/3", "1.0/2", "1/" + "9" * 40]
)
def test_other_texts_are_refused(text):
    with pytest.raises(ParseError, match="--shard is i/n"):
        parse_shard(text)


@pytest.mark.slow  # test_cluster compares shards too
def test_shards_merged_equal_one_run(tmp_path):
    law("and", T=[8, 10, 12], db=tmp_path / "whole.db", method="adaptive", **SMALL)
    for i in (1, 2):
        law("and", T=[8, 10, 12], db=tmp_path / f"{i}.db", method="adaptive", shard=f"{i}/2", **SMALL)
    merge([tmp_path / "1.db", tmp_path / "2.db"], tmp_path / "merged.db")
    assert content(tmp_path / "merged.db") == content(tmp_path / "whole.db")
    before = (tmp_path / "merged.db").read_bytes()
    law("and", T=[8, 10, 12], db=tmp_path / "merged.db", method="adaptive", **SMALL)
    assert (tmp_path / "merged.db").read_bytes() == before  # nothing was left to run


def test_what_cannot_be_parted_is_refused(tmp_path):
    with pytest.raises(DomainError, match="needs method adaptive"):
        law("and", T=[8, 10, 12], db=tmp_path / "a.db", shard="1/2", **SMALL)
    with pytest.raises(DomainError, match="nothing to do"):
        law("and", T=[8, 10], db=tmp_path / "a.db", shard="3/3", method="adaptive", **SMALL)
