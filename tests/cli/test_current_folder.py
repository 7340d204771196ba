"""Files in the current folder are data: no command imports one, and neither do the processes that it starts."""

import json
import os
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from sparsehead._base.errors import SparseheadError
from sparsehead.sweep import LocalSweep
from sparsehead.train.spec import TrainSpec

ROOT = Path(__file__).parents[2]
# What a command or one of its processes imports early: of the standard library, of ours, of what we use.
NAMES = (
    "ast", "asyncio", "json", "multiprocessing", "pathlib", "pickle", "random", "runpy", "signal", "socket", "sqlite3",
    "subprocess", "tempfile", "threading", "typing", "dask", "distributed", "fastapi", "numpy", "sklearn", "sparsehead",
    "torch", "tornado", "uvicorn", "yaml",
)  # fmt: skip
LAW = "law and --s 2 --T 8 --learner exhaustive --method adaptive --trials 8 --json"


@pytest.fixture
def hostile(tmp_path):
    """A folder whose modules leave their names in a file beside it, and a script such as pip makes for the command."""
    folder, marker = tmp_path / "hostile", tmp_path / "marker"
    folder.mkdir()
    for name in NAMES:
        (folder / f"{name}.py").write_text(f"open({str(marker)!r}, 'a').write({name + ' '!r})\n")
    script = tmp_path / "bin" / "sparsehead"
    script.parent.mkdir()
    script.write_text("from sparsehead.cli.entry import main\nif __name__ == '__main__':\n    main()\n")
    return folder, marker, script


def started(hostile, *arguments, command=None, **variables):
    """The command in that folder, as a process; `variables` are added to its environment."""
    folder, _, script = hostile
    command = command or [sys.executable, str(script)]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONSAFEPATH"} | {"PYTHONPATH": str(ROOT)}
    environment |= variables
    return subprocess.Popen(
        [*command, *arguments], cwd=folder, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def untouched(hostile):
    """Whether no module of the folder ran."""
    return not hostile[1].exists() or hostile[1].read_text()


@pytest.mark.parametrize("where", [("--workers", "2"), ("--cluster", "local:1")], ids=["workers", "local"])
def test_law_runs_no_file_of_the_current_folder(hostile, where):
    """On a cluster also where Dask's configuration requires encryption, which `local:N` has."""
    if "--cluster" in where:
        pytest.importorskip("distributed")
        if shutil.which("openssl") is None:
            pytest.skip("no openssl")
    process = started(hostile, *LAW.split(), *where, DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION="True")
    out, err = process.communicate(timeout=300)
    assert untouched(hostile) is True and process.returncode == 0, err
    assert json.loads(out)["thresholds"][0]["trials"] == 8


def test_a_lab_with_a_job_and_an_upload_runs_no_file_of_the_current_folder(hostile):
    pytest.importorskip("fastapi")
    process = started(hostile, "lab", "--no-browser", "--port", "0")
    try:
        base, token = process.stdout.readline().strip().split("/?token=")

        def ask(path, body=None, kind="application/json"):
            headers = {"authorization": f"Bearer {token}", "content-type": kind}
            request = urllib.request.Request(base + path, body, headers)
            return urllib.request.urlopen(request, timeout=120).read()

        assert json.loads(ask("/api/cover/points", b"1,2\n3,4\n", "text/csv"))["points"] == [
            ["1", "2"],
            ["3", "4"],
        ]
        asked = {"T": [8], "s": 2, "learner": "exhaustive", "trials": 8, "workers": 1}
        job = json.loads(ask("/api/jobs/law", json.dumps(asked).encode()))["id"]
        assert b"event: result" in ask(f"/api/jobs/{job}/events")
    finally:
        process.terminate()
        process.communicate(timeout=60)
    assert untouched(hostile) is True


def test_python_m_drops_the_current_folder_before_a_command_is_imported(hostile):
    """Python itself imports the package from there, and what the package's first lines need: those are not hostile."""
    folder = hostile[0]
    for path in folder.glob("*.py"):
        if path.stem not in ("json", "numpy", "sqlite3", "subprocess", "torch"):
            path.unlink()
    process = started(hostile, "build", "x0 & x1", "--T", "4", command=[sys.executable, "-m", "sparsehead"])
    _, err = process.communicate(timeout=300)
    assert untouched(hostile) is True and process.returncode == 0, err


@pytest.mark.parametrize("explicit", [False, True])
def test_a_runner_of_ones_own_is_found_by_pythonpath_alone(hostile, monkeypatch, explicit):
    folder, marker, _ = hostile
    (folder / "own_runner.py").write_text(
        f"open({str(marker)!r}, 'a').write('own')\ndef run(*_, **__): pass\n"
    )
    for path in folder.glob("*.py"):
        if explicit and path.stem != "own_runner":
            path.unlink()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *([str(folder)] if explicit else [])]))
    spec = TrainSpec(function="x0", T=4, m=4, seed=0)
    with LocalSweep(folder / "a.db", workers=1, runner="own_runner:run") as sweep:
        if explicit:
            sweep.run([spec])
            assert marker.read_text() == "own"
        else:
            with pytest.raises(
                SparseheadError, match="own_runner:run cannot be loaded: No module named 'own_runner'"
            ):
                sweep.run([spec])
            assert untouched(hostile) is True
