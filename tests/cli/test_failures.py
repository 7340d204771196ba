"""The failure boundary: whatever goes wrong in a command is one line and exit code 2; --debug shows where."""

import errno
import os
import subprocess
import sys

import pytest

from sparsehead._base.errors import DomainError
from sparsehead.cli import app
from sparsehead.cli.entry import interruption

FAILURES = {
    "memory": (MemoryError("Unable to allocate 745. GiB"), "not enough memory (Unable to allocate 745. GiB)"),
    "memory, no text": (MemoryError(), "not enough memory (allocation failed)"),
    "torch memory": (RuntimeError("DefaultCPUAllocator: not enough memory: you tried"), "not enough memory"),
    "file": (OSError(errno.ENOSPC, "No space left on device", "out.svg"), "out.svg: No space left on device"),
    "recursion": (RecursionError("maximum recursion depth exceeded"), "nested too deeply"),
    "overflow": (OverflowError("int too large to convert to float"), "too large (int too large to convert"),
    "ours": (DomainError("two\nlines [b]"), "two lines [b]"),
}


@pytest.fixture
def command(capsys, monkeypatch):
    """Runs `main` with a command that raises `error`."""

    def run(error, *options):
        def failing(_):
            raise error

        monkeypatch.setattr(app, "_run", failing)
        with pytest.raises(SystemExit) as ended:
            app.main(["build", *options])
        return ended.value.code, capsys.readouterr().err

    return run


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_one_line_and_exit_code_2(name, command):
    error, sentence = FAILURES[name]
    code, said = command(error)
    assert code == 2
    assert said.startswith("sparsehead: ") and said.count("\n") == 1 and sentence in said


@pytest.mark.parametrize("name", FAILURES)
def test_debug_shows_the_traceback_as_well(name, command):
    code, said = command(FAILURES[name][0], "--debug")
    assert code == 2 and "Traceback (most recent call last)" in said
    assert FAILURES[name][1] in said.splitlines()[-1]


@pytest.mark.parametrize(
    "error", [ZeroDivisionError("division by zero"), RuntimeError("a bug"), KeyError("a")]
)
def test_a_mistake_of_ours_keeps_its_traceback(error, command):
    code, said = command(error)
    assert code == 1 and "Traceback (most recent call last)" in said


def test_an_interrupt_is_130_and_says_what_it_leaves(command):
    assert command(KeyboardInterrupt()) == (130, "sparsehead: interrupted; nothing was written.\n")
    assert interruption(["--debug", "law", "and"]) == "interrupted; what was finished is kept."


def shell(command, **options):
    run = f"{sys.executable} -m sparsehead {command}"
    return subprocess.run(run, shell=True, capture_output=True, text=True, timeout=120, **options)


BUILD = "build 'x1 & x2' --T 9"


@pytest.mark.parametrize("options", ["", " --json"])
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_standard_output_is_one_line(options):
    done = shell(f"{BUILD}{options} > /dev/full")
    assert done.returncode == 2
    assert done.stderr == "sparsehead: the system refused: No space left on device.\n"


@pytest.mark.parametrize("options", ["", " --json"])
def test_a_reader_that_goes_away_is_no_failure(options, tmp_path):
    """The reader has closed its end before the command prints: it waits for it to end, by way of a FIFO."""
    done = shell(f"{BUILD}{options} | true; exit $PIPESTATUS", executable="/bin/bash")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_standard_output_is_no_traceback():
    assert "Traceback" not in shell(f"{BUILD} >&-").stderr


def test_a_standard_error_that_fails_leaves_the_exit_code():
    assert shell("bild 2>&-").returncode == 2


@pytest.mark.parametrize(
    "command",
    [
        "law and --s 2 --T 99999999999999999999",
        "law and --s 2 --T 20.9",
        "law and --s 2 --T 1e400",
        "law and --s 2 --T 100,",
        "law and --s 2 --T nan",
        "build x1 --T " + "9" * 5000,
        "build x1 --T 20.9",
        "learn x1 --T 20 --m 1e400",
        "bound " + "n" * 300 + " --m 100",
        "bound " + "d/" * 3000 + "m --m 100",
        "cover " + "n" * 300 + " --eps 1",
        "cover points.csv --eps 1e400",
        "cover wide.csv --eps 1",
        "cover fifo --eps 1",
        "cover /dev/zero --eps 1",
        "bound fifo --m 100",
        "results list --db " + "n" * 300,
        "reproduce --no-train --out points.csv",
        "reproduce --no-train --out points.csv/x",
        "reproduce --no-train --out " + "n" * 300,
        "figure dictator --out " + "n" * 300 + ".svg",
        "figure law --results " + "n" * 300,
        "figure law --results fifo",
    ],
    ids=lambda text: text[:40],
)
def test_extreme_arguments_are_one_line(command, tmp_path, monkeypatch, capsys):
    (tmp_path / "points.csv").write_text("0,1\n1,0\n")
    (tmp_path / "wide.csv").write_text("1" * 140_000 + "\n")
    os.mkfifo(tmp_path / "fifo")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        app.main(command.split())
    said = capsys.readouterr().err
    assert ended.value.code == 2, said
    assert said.startswith("sparsehead: ") and said.count("\n") == 1 and len(said) < 500
