"""`sparsehead results`: what it prints, and how it says no."""

import importlib.util
import json
import os
import sqlite3
from pathlib import Path

import pytest

from sparsehead.cli.app import main
from sparsehead.store import Store

location = importlib.util.spec_from_file_location("small", Path(__file__).parent / "small.py")
small = importlib.util.module_from_spec(location)
location.loader.exec_module(small)
edit, outcome, spec, key_of = small.edit, small.outcome, small.spec, small.key_of


@pytest.fixture
def results(path, capsys):
    """A function that runs a command on a store of three outcomes: (exit code, standard output, standard error)."""
    with Store(path) as store:
        for seed, T in enumerate((50, 100, 300)):
            store.add(spec(seed, T=T), outcome())

    def run(*arguments, db=path):
        with pytest.raises(SystemExit) as exit_code:
            main(["results", *map(str, arguments), "--db", str(db)])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return exit_code.value.code, said.out, said.err

    return run


def test_list_prints_ids_that_show_accepts(results):
    rows = json.loads(results("list", "--json")[1])["experiments"]
    assert [row["id"] for row in rows] == [key_of(spec(i, T=T)) for i, T in enumerate((50, 100, 300))]
    code, out, _ = results("list")
    assert code == 0 and len(out.splitlines()) == 4
    for row, line in zip(rows, out.splitlines()[1:]):
        assert row["id"] in line and row["created"].endswith("Z") and row["created"] in line
        assert line.endswith(row["settings"])
    shown = json.loads(results("show", rows[1]["id"][:10], "--json")[1])
    assert (shown["T"], shown["seed"], shown["history"]["loss"]) == (100, 1, [0.5, 0.125])


def test_each_outcome_has_a_line_with_its_date(results):
    rows = json.loads(results("list", "--each", "--json")[1])["outcomes"]
    assert [(row["seed"], row["status"]) for row in rows] == [(i, "solved") for i in range(3)]
    out = results("list", "--each")[1]
    assert all(row["id"] in out and row["created"] in out for row in rows) and len(out.splitlines()) == 4
    assert all(row["created"].endswith("Z") and row["created"][10] == "T" for row in rows)


def test_dates_are_iso_8601_and_origins_are_told(results, tmp_path):
    code, out, _ = results("show", key_of(spec(0)))
    assert code == 0 and "created" in out and "engine" in out and "version" in out
    results("export", tmp_path / "o.json")
    row = json.loads((tmp_path / "o.json").read_text())[0]
    assert row["created"][:2] == "20" and row["created"].endswith("Z") and row["device"] == "cpu"


@pytest.mark.parametrize(
    ("conditions", "Ts"),
    [
        (["T=100"], [100]),
        (["T=50", "T=300"], [50, 300]),
        (["T=50", "T=100", "seed=1"], [100]),
        (["T=99999999999999999999999"], []),
        (["T=1e999"], []),
        (["p=null"], [50, 100, 300]),
        (["online=false"], [50, 100, 300]),
        (["online=False", "unique=True"], [50, 100, 300]),
        (["optimiser=adamw", "init=mingpt", "init_scale=1.0"], [50, 100, 300]),
        (["positions=trainable", "decay=matrices", "adam_eps=1e-8"], [50, 100, 300]),
        (["optimiser=sgd", "optimiser=adam"], []),
        (["function=[and]"], []),
    ],
)
def test_conditions_on_one_name_are_alternatives_and_on_several_all_hold(results, conditions, Ts):
    options = [part for text in conditions for part in ("--where", text)]
    code, out, _ = results("list", *options, "--json")
    assert code == 0 and [row["T"] for row in json.loads(out)["experiments"]] == Ts
    if not Ts:
        assert results("list", *options)[1] == "no outcomes match.\n"


def test_every_setting_that_the_list_prints_is_a_condition(results, path):
    """The words of the settings column, each put behind --where, keep the row that they were printed for."""
    others = {"optimiser": "adam", "decay": "all", "adam_eps": 1e-3, "unique": False, "clip": 0.0, "p": 0.25}
    with Store(path) as store:
        store.add(spec(7, **others), outcome())
    rows = json.loads(results("list", "--json")[1])["experiments"]
    assert [row["settings"] for row in rows[:3]] == ["stall=100"] * 3
    words = rows[3]["settings"].split()
    assert {"optimiser=adam", "unique=False", "adam_eps=0.001"} <= set(words)
    for word in words:
        assert rows[3] in json.loads(results("list", "--where", word, "--json")[1])["experiments"]
    options = [part for word in words for part in ("--where", word)]
    assert json.loads(results("list", *options, "--json")[1])["experiments"] == rows[3:]


def test_a_condition_that_cannot_hold_is_refused_and_nothing_is_written(results, tmp_path):
    for command in (["list"], ["export", tmp_path / "o.csv"]):
        code, out, err = results(*command, "--where", "T=abc")
        assert (code, out, err.count("\n")) == (2, "", 1) and "a whole number" in err and "'abc'" in err
    assert not (tmp_path / "o.csv").exists()


def test_an_export_never_replaces_the_store(results, path, tmp_path):
    store = path.rename(tmp_path / "o.csv")
    (tmp_path / "link.csv").symlink_to(store)
    before = store.read_bytes()
    for out in ("o.csv", "link.csv"):
        code, _, err = results("export", tmp_path / out, "--force", db=store)
        assert (code, err.count("\n")) == (2, 1) and "it is the store (--db)" in err
    assert store.read_bytes() == before


def test_a_damaged_row_is_named_and_the_others_are_printed(results, path, tmp_path):
    edit(path, "UPDATE outcomes SET outcome = replace(outcome, 'solved', 'Solved') WHERE rowid = 2")
    key = key_of(spec(1, T=100))
    for command in (["list"], ["list", "--each"], ["export", tmp_path / "o.csv"], ["check"]):
        code, out, err = results(*command)
        assert code == 2 and out and err.count("\n") == 1
        assert key in err and "checksum" in err and "results repair" in err
    assert len((tmp_path / "o.csv").read_text().splitlines()) == 3  # the names, and the two sound rows
    assert results("show", key)[0] == 2 and results("show", key_of(spec(0)))[0] == 0
    code, out, _ = results("repair", tmp_path / "new.db")
    assert code == 0 and "2 sound outcomes copied" in out
    assert results("check", db=tmp_path / "new.db")[:2] == (0, "2 outcomes are sound\n")


def test_markup_and_escapes_in_rows_do_not_reach_the_terminal(path, results):
    """A spec's function is free text; here it colours the terminal, sets its title and opens a tag."""
    evil = "[red]x0[/red] \x1b[31m\x1b]0;owned\x07 [/b]"
    with Store(path) as store:
        text, key = small.spec_text(spec(7), function=evil)
        row = small.row_of(text, key)
        store.add_rows([(row, {})])
    for command in (["list"], ["list", "--each"], ["show", key]):
        code, out, _ = results(*command)
        assert code == 0 and "\x1b" not in out and "\x07" not in out
        assert "[red]" in "".join(out.split())


@pytest.mark.parametrize("kind", ["missing", "FIFO", "text", "damaged", "folder"])
def test_what_is_no_store_is_one_line(results, tmp_path, path, kind):
    place = tmp_path / "other.db"
    if kind == "FIFO":
        os.mkfifo(place)
    elif kind == "text":
        place.write_text("no store")
    elif kind == "damaged":
        place.write_bytes(path.read_bytes()[:4096] + b"\xff" * 20_000)
    elif kind == "folder":
        place.mkdir()
    for command in (
        ["list"],
        ["show", "ab"],
        ["export", tmp_path / "o.csv"],
        ["check"],
        ["repair", tmp_path / "n.db"],
    ):
        code, out, err = results(*command, db=place)
        assert code == 2 and out == "" and err.count("\n") == 1
    assert not (tmp_path / "o.csv").exists() and not (tmp_path / "n.db").exists()


def test_the_advice_names_commands_that_exist(results, tmp_path, capsys):
    err = results("list", db=tmp_path / "nope.db")[2]
    assert "`sparsehead law`" in err and "`sparsehead reproduce`" in err and "learn" not in err
    for verb in ("law", "reproduce"):
        with pytest.raises(SystemExit):
            main([verb, "--help"])
        assert "--db" in capsys.readouterr().out
    assert "`sparsehead results list --each`" in results("show", "zz")[2]


def test_reading_leaves_no_files(results, path):
    results("list")
    results("check")
    assert [file.name for file in path.parent.iterdir()] == ["results.db"]
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA journal_mode").fetchone()[0] == "delete"
    db.close()
