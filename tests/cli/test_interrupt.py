"""Ctrl-C: exit code 130, one line, no traceback, whenever it comes.

Before our first line runs, Python itself answers the signal: it dies of it, or prints a traceback in which no file of
ours occurs. Neither can be prevented by a program, so these tests tell the two apart by what is printed.
"""

import os
import signal
import subprocess
import sys

import pytest

LEARN = ["learn", "x0 ^ x1 ^ x2 ^ x3 ^ x4", "--T", "400", "--m", "300"]
BUILD = ["build", "x1 & x2", "--T", "10"]
LINE = "sparsehead: interrupted; nothing was written.\n"


def start(arguments, **environment):
    return subprocess.Popen(
        [sys.executable, "-m", "sparsehead", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
    )  # fmt: skip


@pytest.mark.parametrize(
    "module", ["typer", "rich.console", "sparsehead.cli.app", "numpy", "numpy.linalg", "torch._C"]
)
def test_an_interrupt_during_an_import_is_one_line(module):
    """Python reports each import on standard error once it is done; the signal is sent when the module appears."""
    process = start(LEARN, PYTHONPROFILEIMPORTTIME="1")
    for line in process.stderr:
        if line.split("|")[-1].strip() == module:
            break
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=60)
    said = "".join(line for line in rest.splitlines(keepends=True) if not line.startswith("import time:"))
    assert process.returncode == 130
    assert said == LINE


def test_an_interrupt_during_the_work_is_one_line():
    """The progress line says when training has begun."""
    process = start(LEARN, TERM="xterm", FORCE_COLOR="1")
    seen = ""
    while "step" not in seen:
        seen += process.stderr.read(1)
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=60)
    assert process.returncode == 130
    assert rest.endswith(LINE) and "Traceback" not in rest


@pytest.mark.parametrize("arguments", [BUILD, LEARN], ids=["build", "learn"])
@pytest.mark.parametrize("delay", [0.0, 0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.6, 1.0, 1.5])
def test_an_interrupt_at_any_moment_ends_cleanly(arguments, delay):
    process = start(arguments)
    try:
        process.wait(delay)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    if process.returncode == 130:
        assert said == LINE
    elif process.returncode != 0:
        assert f"sparsehead{os.sep}cli" not in said and LINE not in said  # Python had not reached our code


def test_a_second_interrupt_does_not_wait_for_the_clean_up():
    """The command ignores KeyboardInterrupt, as a blocking library call would; the second Ctrl-C ends it."""
    code = (
        "import time, sys, sparsehead.cli.app as app, sparsehead.cli.entry as entry\n"
        "def stubborn():\n"
        "    while True:\n"
        "        try:\n"
        "            print('ready', flush=True); time.sleep(60)\n"
        "        except KeyboardInterrupt: pass\n"
        "app.main = stubborn\n"
        "entry.main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for _ in range(2):
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, LINE)


def test_an_interrupt_where_python_cannot_raise_is_not_lost():
    code = (
        "import os, signal, sparsehead.cli.app as app, sparsehead.cli.entry as entry\n"
        "class Dying:\n"
        "    def __del__(self): os.kill(os.getpid(), signal.SIGINT)\n"
        "def run():\n"
        "    Dying()\n"
        "    raise SystemExit(0)\n"
        "app.main = run\n"
        "entry.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, LINE)


def test_an_interrupt_after_the_work_changes_nothing():
    code = (
        "import atexit, os, signal, sys, sparsehead.cli.entry as entry\n"
        "atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))\n"
        "sys.argv = ['sparsehead', '--version']\n"
        "entry.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("sparsehead 0.")


def test_an_interrupt_during_an_import_raises_nothing(tmp_path):
    """Inside a library's start-up in C++ an exception would be fatal: the process ends with the line instead."""
    (tmp_path / "fragile.py").write_text(
        "import os, signal\n"
        "try:\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "except KeyboardInterrupt:\n"
        "    print('an exception was raised inside the import', flush=True)\n"
    )
    code = (
        "import signal, sys, sparsehead.cli.entry as entry\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "signal.signal(signal.SIGINT, entry._interrupt)\n"
        "import fragile\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", LINE)
