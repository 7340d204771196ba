"""The command line's manners: quick help, one-line errors, exit codes."""

import os
import signal
import subprocess
import sys

import pytest

RUN = [sys.executable, "-m", "sparsehead"]


def run(*arguments, **options):
    return subprocess.run([*RUN, *arguments], capture_output=True, text=True, timeout=300, **options)


def test_version_and_help():
    assert run("--version").stdout.startswith("sparsehead 0.")
    shown = run("--help")
    assert shown.returncode == 0 and "build, learn, bound, read" in shown.stdout
    assert run().stdout == shown.stdout


def test_help_imports_nothing_heavy():
    """Help is quick because it loads little. Modules are counted, not seconds: the count is the same on any machine."""
    code = (
        "import sys, sparsehead.cli.app as a\n"
        "try: a.main(['--help'])\nexcept SystemExit: pass\n"
        "heavy = {'torch', 'numpy', 'scipy', 'altair', 'sklearn', 'lark'} & set(sys.modules)\n"
        "sys.exit(', '.join(heavy) or (len(sys.modules) > 800 and f'{len(sys.modules)} modules') or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


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


# `learn` as a user runs it, except that its progress line also writes to standard output, so that the test knows
# when training is under way.
ANNOUNCED = """
import sys
from sparsehead.cli import app, training
show = training.TrainingDisplay.__call__
def announce(line, state):
    print("step", state["step"], flush=True)
    show(line, state)
training.TrainingDisplay.__call__ = announce
app.main(sys.argv[1:])
"""


def test_ctrl_c_while_training_exits_130_and_leaves_no_process():
    """So many restarts that no machine finishes before the signal arrives; the signal follows the first check."""
    words = ["x0 ^ x1 ^ x2 ^ x3 ^ x4", "--T", "60", "--m", "300", "--steps", "1000", "--restarts", "1000000"]
    process = subprocess.Popen(
        [sys.executable, "-c", ANNOUNCED, "learn", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    try:
        assert process.stdout.readline().startswith("step "), process.communicate()[1]
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    assert "Traceback" not in err and "interrupted" in err
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
