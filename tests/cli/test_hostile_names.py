"""Names and values that mean something to a terminal, a number parser or a shell, and damaged files beside them."""

import io
import os
import subprocess
import tomllib
from pathlib import Path

import pytest

from sparsehead._base.errors import FileError
from sparsehead.cli import app
from sparsehead.cli.output import console, status_console
from sparsehead_paper.claims.claim import Finding
from sparsehead_paper.commands.reproduce import show_story
from sparsehead_paper.report import page
from sparsehead_paper.report.reproduce import Reproduction, _read_run

ROOT = Path(__file__).parents[2]
MARKUP = "r[/b] [red]:cat:"


def printed(show):
    """What `show` prints to a console as the commands use it."""
    screen = console()
    screen.file, screen.width = io.StringIO(), 300
    show(screen)
    return screen.file.getvalue()


@pytest.mark.parametrize("make", [console, status_console])
def test_brackets_and_colons_are_printed_as_they_are(make):
    screen = make()
    screen.file = io.StringIO()
    screen.print(MARKUP)
    assert screen.file.getvalue() == MARKUP + "\n"


@pytest.mark.parametrize("make", [console, status_console])
def test_escape_codes_in_a_name_never_reach_the_terminal(make):
    screen = make()
    screen.file = io.StringIO()
    screen.print("wrote x\x1b[31m.csv\nand é\x9b")
    assert screen.file.getvalue() == "wrote x\\x1b[31m.csv\nand é\\x9b\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("figure", "é", "--out", "x\x1b[31m.csv"),
        ("build", "x0", "--T", "4", "--out", "x\x1b[31m.csv"),
        ("law\x1b[31m",),
    ],
)
def test_escape_codes_on_the_command_line_never_reach_the_terminal(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        app.main(list(arguments))
    said = capsys.readouterr().err
    assert ended.value.code == 2 and "\\x1b[31m" in said and "\x1b" not in said


def test_the_story_names_any_folder_and_has_a_line_for_each_statement():
    finding = Finding("covering-example", "differs", "2", "3", "")
    result = Reproduction((finding,), Path(MARKUP, "report.html"), 3.0, ("one trial failed",))
    lines = [line.rstrip() for line in printed(lambda screen: show_story(screen, result)).splitlines()]
    assert lines[-3:] == [
        "differs: covering-example",
        "one trial failed",
        f"3 s; the report is {MARKUP}/report.html",
    ]


def test_a_model_is_written_under_a_name_that_looks_like_markup(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="0"):
        app.main(["build", "x1 & x2", "--T", "6", "--out", "m[red].safetensors"])
    assert "written to m[red].safetensors" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text", ['{"stages": [1', "[]", "\0", '{"kind": "run", "schema": 99}', '"' + "[" * 5000]
)
def test_a_damaged_run_json_is_told_in_the_report(tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    said = _read_run(tmp_path)["Command"]
    assert said.startswith("not known: ") and "run.json" in said and "\n" not in said


def test_a_report_that_fails_leaves_nothing_new(tmp_path, monkeypatch):
    """A full disk while the page is written: the old page stays, and no other file does."""
    target = tmp_path / "report.html"
    target.write_text("old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match="No space left"):
        page.write_report(target, findings=[], claims=[], figures=[], run={})
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"] and target.read_text() == "old"


@pytest.mark.parametrize("value", ["9" * 23, "-" + "9" * 23, "1e400", "nan", "9" * 5000, "0x10", ""])
def test_a_condition_with_any_value_finds_nothing_or_is_one_line(tmp_path, monkeypatch, capsys, value):
    from sparsehead.store import Store
    from sparsehead.train.spec import preset

    with Store(tmp_path / "s.db") as store:
        store.add(preset("fast", function="and", s=2, T=8, m=20, seed=1), {"status": "solved"})
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        app.main(["results", "list", "--db", "s.db", "--where", f"T={value}"])
    said = capsys.readouterr()
    if ended.value.code == 0:
        assert said.out == "no outcomes match.\n"
    else:
        assert ended.value.code == 2 and said.err.startswith("sparsehead: ") and said.err.count("\n") == 1
    assert [file.name for file in tmp_path.iterdir()] == ["s.db"]


def run_chromium_script(folder: Path, **settings: str) -> bool:
    """Whether scripts/chromium.sh calls apt-get, on a system with a root user, apt-get and no browser."""
    (folder / "apt-get").write_text(f"#!/bin/sh\necho called >> {folder}/log\n")
    (folder / "id").write_text("#!/bin/sh\necho 0\n")
    for name in ("apt-get", "id"):
        (folder / name).chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", ROOT / "scripts" / "chromium.sh"], env={"PATH": str(folder), **settings}
    )
    assert done.returncode == 0
    return (folder / "log").exists()


@pytest.mark.parametrize(
    ("settings", "installs"), [({}, False), ({"CHROMIUM": "install"}, True), ({"CI": "true"}, True)]
)
def test_a_browser_is_installed_only_when_asked(tmp_path, settings, installs):
    assert run_chromium_script(tmp_path, **settings) == installs


def test_what_builds_the_package_is_pinned():
    requires = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert all("==" in name for name in requires)
