"""The command line's manners: quick help, one-line errors, exit codes."""

import os
import resource
import signal
import subprocess
import sys
import time

import pytest

RUN = [sys.executable, "-m", "sparsehead"]


def run(*arguments, **options):
    return subprocess.run([*RUN, *arguments], capture_output=True, text=True, timeout=120, **options)


def test_version_and_help():
    assert run("--version").stdout.startswith("sparsehead 0.")
    shown = run("--help")
    assert shown.returncode == 0 and "build, learn, bound, read" in shown.stdout
    assert run().stdout == shown.stdout


def test_help_is_quick_and_imports_nothing_heavy():
    code = (
        "import sys, sparsehead.cli.app as a\n"
        "try: a.main(['--help'])\nexcept SystemExit: pass\n"
        "heavy = {'torch', 'numpy', 'scipy', 'altair', 'sklearn', 'lark'} & set(sys.modules)\n"
        "sys.exit(', '.join(heavy) or 0)"
    )
    best = 9.0
    for _ in range(3):  # the machine may be shared: the quickest of three, in processor time
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        assert done.returncode == 0, done.stderr
    assert best < 0.5


@pytest.mark.parametrize(
    "arguments",
    [("bild",), ("--nonsense",), ("cover",), ("build", "x1 &", "--T", "5"), ("build", "x99", "--T", "50"),
     ("bound", "nothing.safetensors", "--m", "10"), ("build", "x1 & x2", "--T", "abc")],
)  # fmt: skip
def test_a_mistake_is_one_line_and_exit_code_2(arguments, tmp_path):
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == "" and done.stderr.count("\n") == 1 and done.stderr.startswith("sparsehead: ")
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_exits_130_without_a_traceback():
    process = subprocess.Popen(
        [*RUN, "learn", "x0 ^ x1 ^ x2 ^ x3 ^ x4", "--T", "400", "--m", "300"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    time.sleep(6)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Traceback" not in err and "interrupted" in err
