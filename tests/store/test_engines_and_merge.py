"""One spec by two engines is two outcomes; stores unite into one."""

import importlib.util
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sparsehead._base.errors import StoreError
from sparsehead._base.provenance import engine_identity
from sparsehead.store import Store
from sparsehead.store.merge import merge
from sparsehead.store.results import find
from sparsehead.store.rows import FAILED, row_id, sealed
from sparsehead.train.spec import spec_id

location = importlib.util.spec_from_file_location("small", Path(__file__).parent / "small.py")
small = importlib.util.module_from_spec(location)
location.loader.exec_module(small)
outcome, spec = small.outcome, small.spec

V3 = {"engine": "compiled", "instructions": "x86-64-v3", "dtype": "float32", "device": "cpu"}
V4 = V3 | {"instructions": "x86-64-v4"}


def fill(path, seeds, engine=V3, **fields):
    with Store(path) as store:
        for seed in seeds:
            store.add(spec(seed), outcome(made_by=engine, **fields))
    return path


def test_outcomes_of_two_engines_stand_side_by_side(path):
    fill(path, [1], V3, steps=10)
    fill(path, [1], V4, steps=20)
    fill(path, [1], V4, steps=30)  # there already
    with Store(path, readonly=True) as store:
        assert len(store) == 2
        steps = {
            level["instructions"]: store.find([spec(1)], lambda _, level=level: level)  # type: ignore[misc]
            for level in (V3, V4)
        }
        assert {k: r[spec_id(spec(1))].outcome["steps"] for k, r in steps.items()} == {
            "x86-64-v3": 10,
            "x86-64-v4": 20,
        }
        assert not store.find([spec(1)], lambda _: {"engine": "tree"})
        assert store.find([spec(1)])[spec_id(spec(1))].outcome["steps"] == 10
        one, two = store.records()
        assert one.id != two.id and one.spec_id == two.spec_id == spec_id(spec(1))
        assert store.history(one.id) and find(store, two.id) == two
        with pytest.raises(StoreError, match="2 outcomes have ids"):
            find(store, one.spec_id)


def test_a_row_without_an_engine_has_the_id_of_its_spec(path):
    with Store(path) as store:
        store.add(spec(1), outcome(made_by=None))
        assert store.get(spec_id(spec(1))).id == spec_id(spec(1))
        assert not store.find([spec(1)], lambda _: V3) and store.find([spec(1)])


def test_an_id_that_belongs_to_another_engine_is_damage(path):
    fill(path, [1], V3)
    with Store(path) as store:
        row = store._db.execute("SELECT * FROM outcomes").fetchone()
        values = [v.decode() if isinstance(v, bytes) else v for v in row]
        store.add_rows([(sealed([row_id(values[1], V4), *values[1:-1]]), {})])
        with pytest.raises(StoreError, match="does not belong to its spec and engine"):
            list(store.records())


def test_identity_is_engine_instructions_dtype_and_device_not_the_version():
    assert engine_identity(V3 | {"version": "0.2.0", "commit": "abc"}) == engine_identity(V3)
    assert len({engine_identity(V3 | {name: "other"}) for name in V3} | {engine_identity(V3)}) == 5
    assert engine_identity({"version": "0.1.0"}) == engine_identity({"engine": "not recorded"}) == ""


def test_a_merge_is_a_union_and_can_be_repeated(tmp_path):
    a, b = fill(tmp_path / "a.db", [1, 2]), fill(tmp_path / "b.db", [2, 3])
    before = a.read_bytes(), b.read_bytes()
    into = tmp_path / "c.db"
    assert (merge([a, b], into).added, merge([a, b], into).added) == (3, 0)
    assert merge([b], into).known == 2
    with Store(into, readonly=True) as store:
        assert sorted(r.spec["seed"] for r in store.records()) == [1, 2, 3]
        assert all(store.history(r.id) == {"step": [10, 20], "loss": [0.5, 0.125]} for r in store.records())
    assert (a.read_bytes(), b.read_bytes()) == before


def test_contradictions_are_refused_by_id_and_nothing_is_written(tmp_path):
    a, b = fill(tmp_path / "a.db", [1, 2], seconds=1.0), fill(tmp_path / "b.db", [1], seconds=2.0)
    assert merge([a, b], tmp_path / "c.db").added == 2  # times may differ
    worse = fill(tmp_path / "d.db", [1, 5], steps=999)
    with Store(worse, readonly=True) as store:
        key = next(r.id for r in store.records() if r.spec["seed"] == 1)
    content = (tmp_path / "c.db").read_bytes()
    with pytest.raises(StoreError, match=f"1 outcomes contradict each other between the stores .{key}"):
        merge([worse], tmp_path / "c.db")
    assert (tmp_path / "c.db").read_bytes() == content
    with pytest.raises(StoreError, match="contradict"):
        merge([a, worse], tmp_path / "e.db")
    assert not (tmp_path / "e.db").exists()


def test_reasons_for_which_a_spec_was_given_up_do_not_contradict(tmp_path):
    """A spec that was given up counts as missing; on a cluster the reason names a host and a port."""
    paths = [tmp_path / "a.db", tmp_path / "b.db"]
    for path, reason in zip(paths, ("tcp://one:1 left the cluster", "tcp://two:2 left the cluster")):
        with Store(path) as store:
            store.add(spec(1), {"status": FAILED, "reason": reason}, engine={"engine": "none"})
    fill(paths[1], [2])
    assert merge(paths, tmp_path / "all.db").total == 2


def test_a_damaged_source_is_not_merged(tmp_path):
    a = fill(tmp_path / "a.db", [1, 2])
    data = bytearray(a.read_bytes())
    data[data.index(b'"steps": 20') + 9] ^= 1
    a.write_bytes(data)
    with pytest.raises(StoreError, match="results repair"):
        merge([a], tmp_path / "c.db")
    assert not (tmp_path / "c.db").exists()


def test_the_command_unites_and_refuses_in_one_line(tmp_path):
    from sparsehead.cli.app import app

    a = fill(tmp_path / "a.db", [1, 2])
    run = lambda *args: CliRunner().invoke(app, ["results", "merge", *map(str, args)])  # noqa: E731
    done = run(a, "--into", tmp_path / "c.db")
    assert done.exit_code == 0 and done.output.startswith("2 outcomes added")
    assert isinstance(run(tmp_path / "no.db", "--into", tmp_path / "c.db").exception, StoreError)
    assert isinstance(run(a, "--into", a).exception, StoreError)
