"""The kernel is loaded only if it is the file that was built here; a bad one costs a line, never a crash."""

import ctypes
import hashlib
import json
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sparsehead.train.transformer import build, library
from sparsehead.train.transformer.engines import make_engine

from .support import needs_kernel, spec_of


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """A copy of what was built, which a test may spoil; and a loader that remembers nothing."""
    needs_kernel()
    shutil.copytree(build.BUILT, tmp_path / "built")
    monkeypatch.setattr(build, "BUILT", tmp_path / "built")
    fresh = library.library.__wrapped__
    monkeypatch.setattr(library, "library", fresh)
    return tmp_path / "built"


def every(folder):
    return sorted(folder.glob("kernel-*-float32.so"))


def spoil(folder, how):
    """Do the same to every float32 library, so that the one that would be loaded is among them."""
    for path in every(folder):
        whole = path.read_bytes()
        path.unlink()
        how(path, whole)


def planted(path, whole):
    """A library that is none of ours: the float64 one, which would load."""
    path.write_bytes(Path(str(path).replace("float32", "float64")).read_bytes())


SPOILT = {
    "planted": (planted, "not the file that was built here"),
    "truncated": (
        lambda path, whole: path.write_bytes(whole[: len(whole) // 2]),
        "not the file that was built",
    ),
    "empty": (lambda path, whole: path.write_bytes(b""), "not the file that was built here"),
    "one byte": (
        lambda path, whole: path.write_bytes(whole[:5000] + bytes([whole[5000] ^ 1]) + whole[5001:]),
        "not the file that was built here",
    ),
    "missing": (lambda path, whole: None, "cannot be opened"),
    "a folder": (lambda path, whole: path.mkdir(), "cannot be opened|not a regular file"),
    "a pipe": (lambda path, whole: os.mkfifo(path), "not a regular file"),
}


@pytest.mark.parametrize("kind", SPOILT)
def test_a_spoilt_library_is_never_loaded(copied, kind, monkeypatch):
    how, message = SPOILT[kind]
    spoil(copied, how)
    monkeypatch.setattr(ctypes, "CDLL", lambda path: pytest.fail(f"{path} was loaded"))
    found = library.library("float32")
    assert isinstance(found, library.Missing)
    assert any(part in found.reason for part in message.split("|")) and "builds it" in found.reason


def test_a_link_to_a_good_library_is_not_followed(copied, tmp_path):
    for path in every(copied):
        target = tmp_path / path.name
        path.rename(target)
        path.symlink_to(target)
    found = library.library("float32")
    assert isinstance(found, library.Missing) and "cannot be opened" in found.reason


def test_a_library_that_anybody_may_write_is_not_loaded(copied):
    for path in every(copied):
        path.chmod(0o777)
    found = library.library("float32")
    assert isinstance(found, library.Missing) and "anybody" in found.reason


@pytest.mark.parametrize("content", [b"\x7fELF no library", None])
def test_a_recorded_file_that_cannot_be_loaded_is_done_without(copied, content):
    """Its hash is right and the loader still refuses it: another architecture, or functions that are missing."""
    note = copied / build.MANIFEST
    record = json.loads(note.read_text())
    other = Path(np.__file__).parent / "_core"
    foreign = next(other.glob("_multiarray_umath*.so")).read_bytes() if content is None else content
    for path in every(copied):
        path.write_bytes(foreign)
        record["files"][path.name] = hashlib.sha256(foreign).hexdigest()
    note.write_text(json.dumps(record))
    found = library.library("float32")
    assert isinstance(found, library.Missing) and "cannot be loaded" in found.reason


@pytest.mark.parametrize("text", [None, "", "[]", '{"files": {}, "reason": "a test"}', "not JSON"])
def test_a_manifest_that_says_nothing_is_a_reason(copied, text):
    note = copied / build.MANIFEST
    note.unlink() if text is None else note.write_text(text)
    found = library.library("float32")
    assert isinstance(found, library.Missing) and "builds it" in found.reason


def test_changed_sources_are_not_run_with_an_old_kernel(copied, monkeypatch):
    monkeypatch.setattr(build, "FLAGS", [*build.FLAGS, "-DX"])
    found = library.library("float32")
    assert isinstance(found, library.Missing) and "have changed" in found.reason


def test_training_goes_on_in_torch_with_one_line(copied, caplog, monkeypatch):
    from sparsehead.train.transformer import compiled, engines

    spoil(copied, planted)
    monkeypatch.setattr(compiled, "library", library.library)
    engines._say_once.cache_clear()
    with caplog.at_level(logging.WARNING):
        made = make_engine(spec_of(0))
    assert made.made_by["engine"].startswith("torch") and len(caplog.records) == 1


def test_levels_are_chosen_by_name_and_agree(copied, monkeypatch):
    """Every level that this processor has: the same losses up to rounding, and each says which it is."""
    best = library.library("float32")
    losses = {}
    for level in build.levels():
        monkeypatch.setenv("SPARSEHEAD_KERNEL", level)
        found = library.library("float32")
        if isinstance(found, library.Missing):
            assert f"no {level}" in found.reason
            continue
        assert found.level == level
        from sparsehead.train.data import training_set
        from sparsehead.train.transformer.compiled import CompiledEngine

        spec = spec_of(0)
        made = CompiledEngine(spec, found, dtype="float32")
        made.start(spec, 0, training_set(spec))
        losses[level] = made.advance(5)
        assert made.made_by["instructions"] == level
    assert isinstance(best, library.Kernel) and best.level in losses
    for run in losses.values():  # five steps in float32 at other orders of summation
        assert np.allclose(run, losses[best.level], rtol=1e-5)
    monkeypatch.setenv("SPARSEHEAD_KERNEL", "off")
    assert library.library("float32") == library.Missing("SPARSEHEAD_KERNEL=off")
    monkeypatch.setenv("SPARSEHEAD_KERNEL", "pdp-11")
    missing = library.library("float32")
    assert isinstance(missing, library.Missing) and "pdp-11" in missing.reason


@pytest.mark.parametrize(
    ("compiler", "message"),
    [("no-such-compiler", "no C compiler"), ("false", "failed: exit code 1"), ("hang", "did not finish")],
)
def test_without_a_working_compiler_building_ends_with_a_reason(tmp_path, monkeypatch, compiler, message):
    monkeypatch.setattr(build, "BUILT", tmp_path / "built")
    monkeypatch.setenv("CC", compiler)
    if compiler == "hang":
        script = tmp_path / "hang"
        script.write_text("#!/bin/sh\nexec sleep 60\n")
        script.chmod(0o755)
        monkeypatch.setenv("CC", str(script))
        monkeypatch.setattr(build, "SECONDS", 0.01)
    elif compiler == "false" and shutil.which("false") is None:
        pytest.skip("there is no program called false here")
    record = build.build()
    assert record["files"] == {} and message in record["reason"]
    assert record == json.loads((tmp_path / "built" / build.MANIFEST).read_text())
    assert not list((tmp_path / "built").glob("*.so"))


def test_a_library_that_cannot_be_built_is_named_beside_the_others(tmp_path, monkeypatch):
    script = tmp_path / "cc"
    script.write_text(
        """#!/bin/sh
case "$*" in *-DDOUBLE*) echo "error: no doubles" >&2; exit 1;; esac
while [ "$1" != -o ]; do shift; done
echo a library > "$2"
"""
    )
    script.chmod(0o755)
    monkeypatch.setattr(build, "BUILT", tmp_path / "built")
    monkeypatch.setenv("CC", str(script))
    record = build.build()
    assert set(record["files"]) == {path.name for path in every(tmp_path / "built")}
    assert {name.replace("float64", "float32") for name in record["missing"]} == set(record["files"])
    assert all("no doubles" in why for why in record["missing"].values()) and record["reason"] == ""


def test_the_builder_needs_the_standard_library_alone():
    code = f"import runpy; runpy.run_path({str(build.__file__)!r}); import sys; print('numpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
