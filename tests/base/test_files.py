"""One writer for every output: what it refuses, what it leaves behind when it fails, and that nothing else writes."""

import ast
import errno
import os
import resource
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from sparsehead._base import files
from sparsehead._base.errors import FileError
from sparsehead._base.files import check_source, check_target, make_folder, write_whole
from sparsehead.cli.app import main

PACKAGE = Path(files.__file__).parent
OLD, NEW = b"what was there before", b"the new content"


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """Runs one command in tmp_path, in this process; returns its exit code and what it said on standard error."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        said = capsys.readouterr()
        run.printed = said.out  # type: ignore[attr-defined]
        return ended.value.code, said.err

    return run


def one_line(code, said):
    assert code == 2, said
    assert said.count("\n") == 1 and said.startswith("sparsehead: "), said
    return said


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "old.txt"
    path.write_bytes(OLD)
    return path


def test_a_new_file_is_written_whole_and_alone(tmp_path):
    path = tmp_path / "new.txt"
    assert write_whole(path, NEW) == path
    assert path.read_bytes() == NEW and os.listdir(tmp_path) == ["new.txt"]
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


def test_an_existing_file_is_replaced_only_with_force(old):
    with pytest.raises(
        FileError,
        match=r"it exists \(\d+ bytes, of [-:\dTZ]+\); --force \(in Python",
    ):
        write_whole(old, NEW)
    assert old.read_bytes() == OLD
    old.chmod(0o640)
    write_whole(old, NEW, force=True)
    assert old.read_bytes() == NEW and stat.S_IMODE(old.stat().st_mode) == 0o640


def special(folder, kind):
    """A path of this kind, or a skip where the system does not let us make one."""
    path = folder / "special"
    if kind == "a folder":
        path.mkdir()
    elif kind == "a FIFO":
        os.mkfifo(path)
    elif kind == "a socket":
        with socket.socket(socket.AF_UNIX) as end:
            end.bind(os.path.relpath(path))
    else:
        try:
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        except (OSError, AttributeError):
            pytest.skip("a device node can be made by root only")
    return path


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("kind", ["a folder", "a FIFO", "a socket", "a device"])
def test_what_is_not_a_regular_file_is_refused_even_with_force(tmp_path, monkeypatch, kind, linked):
    monkeypatch.chdir(tmp_path)  # the name of a socket is limited to about 100 characters
    path = special(tmp_path, kind)
    before = path.lstat()
    target = path
    if linked:
        target = tmp_path / "link"
        target.symlink_to(path)
    with pytest.raises(FileError, match=f"it is {kind}, not a regular file"):
        write_whole(target, NEW, force=True)
    after = path.lstat()
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
    assert len(os.listdir(tmp_path)) == 1 + linked


def test_a_device_outside_is_refused_before_anything_is_opened():
    with pytest.raises(FileError, match="it is a device"):
        check_target("/dev/null", force=True)


def test_a_link_to_a_regular_file_is_written_through(old, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(old)
    with pytest.raises(FileError, match="it exists"):
        write_whole(link, NEW)
    write_whole(link, NEW, force=True)
    assert link.is_symlink() and old.read_bytes() == NEW and not old.is_symlink()


def test_dangling_and_circular_links_are_refused(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nothing")
    with pytest.raises(FileError, match=r"it is a link to .*nothing, which does not exist"):
        write_whole(link, NEW, force=True)
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    with pytest.raises(FileError, match="cannot write"):
        write_whole(circle, NEW, force=True)
    assert sorted(os.listdir(tmp_path)) == ["circle", "link"]


BAD_NAMES = [
    "",
    ".",
    "..",
    "/",
    "folder/",
    "old.txt/x",
    "no/such/folder/x",
    "x" * 300,
    "y\0z",
    "d/" * 3000 + "x",
]


@pytest.mark.parametrize("name", BAD_NAMES, ids=lambda name: repr(name[:12]))
def test_names_that_cannot_be_written_are_one_line(name, old, monkeypatch):
    monkeypatch.chdir(old.parent)
    for act in (check_target, lambda path: write_whole(path, NEW, force=True)):
        with pytest.raises(FileError) as caught:
            act(name)
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 400
    assert os.listdir(old.parent) == ["old.txt"] and old.read_bytes() == OLD


@pytest.mark.parametrize("name", ["n" * 255, "été ☃.txt", "-rf", "a b\tc"])
def test_unusual_names_are_written(name, tmp_path):
    write_whole(tmp_path / name, NEW)
    assert os.listdir(tmp_path) == [name]


def test_a_read_only_folder_is_refused_before_the_work(old, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anywhere, so the answer is set
    with pytest.raises(FileError, match="is read-only"):
        check_target(old.parent / "new.txt")


@pytest.mark.parametrize(
    ("where", "code"), [("fsync", errno.ENOSPC), ("replace", errno.EROFS), ("open", errno.EROFS)]
)
def test_a_failing_system_leaves_the_old_file_and_no_other(old, monkeypatch, where, code):
    def failing(*_, **__):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, where, failing)
    with pytest.raises(FileError, match=f"{os.strerror(code)}; nothing was written"):
        write_whole(old, NEW, force=True)
    monkeypatch.undo()
    assert os.listdir(old.parent) == ["old.txt"] and old.read_bytes() == OLD


def test_an_interrupt_leaves_no_temporary_file(old, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(old, NEW, force=True)
    assert os.listdir(old.parent) == ["old.txt"] and old.read_bytes() == OLD


def test_a_file_that_appears_during_the_write_is_kept(tmp_path, monkeypatch):
    path, flush = tmp_path / "x", os.fsync

    def appear(handle):
        path.write_bytes(OLD)
        flush(handle)

    monkeypatch.setattr(os, "fsync", appear)
    with pytest.raises(FileError, match="it exists"):
        write_whole(path, NEW)
    assert path.read_bytes() == OLD and os.listdir(tmp_path) == ["x"]


def test_folders_are_made_or_refused_in_one_line(old, tmp_path):
    assert make_folder(tmp_path / "a" / "b").is_dir()
    for bad in (old, old / "x", "n" * 300, "y\0z"):
        with pytest.raises(FileError, match="cannot write"):
            make_folder(bad)


def test_only_regular_files_are_read(old, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert check_source(old, wanted="a text") == old
    with pytest.raises(FileError, match="at most 3 are read"):
        check_source(old, wanted="a text", most=3)
    with pytest.raises(FileError, match="it is a FIFO, not a regular file; give a text"):
        check_source(special(tmp_path, "a FIFO"), wanted="a text")
    for bad in (tmp_path, tmp_path / "gone", "x" * 300, "y\0z"):
        with pytest.raises(FileError, match="cannot read"):
            check_source(bad, wanted="a text")


# The commands: the target is checked before the work, so each of these ends at once.
WRITERS = {
    "build": ["build", "x1", "--T", "8", "--out"],
    "learn": ["learn", "x1 & x2", "--T", "8", "--m", "50", "--out"],
    "law": ["law", "and", "--s", "2", "--T", "8,16", "--out"],
    "figure": ["figure", "dictator", "--out"],
    "export": ["results", "export"],
}


@pytest.mark.parametrize("verb", WRITERS)
def test_commands_refuse_an_existing_output_before_they_work(verb, tmp_path, command):
    endings = {"export": "csv", "build": "safetensors", "learn": "safetensors"}
    name = f"out.{endings.get(verb, 'svg')}"
    (tmp_path / name).write_bytes(OLD)
    said = one_line(*command(*WRITERS[verb], name))
    assert "it exists (" in said and "); --force" in said
    assert command.printed == ""  # a result would be printed before the error, so none was computed
    assert os.listdir(tmp_path) == [name] and (tmp_path / name).read_bytes() == OLD


def test_force_replaces(tmp_path, command):
    (tmp_path / "m.safetensors").write_bytes(OLD)
    assert command(*WRITERS["build"], "m.safetensors", "--force")[0] == 0
    assert (tmp_path / "m.safetensors").stat().st_size > 100 and os.listdir(tmp_path) == ["m.safetensors"]


@pytest.mark.parametrize("name", ["", ".", "/", "file/x", "n" * 300, "fifo"])
def test_build_survives_bad_targets(name, tmp_path, command):
    (tmp_path / "file").write_bytes(OLD)
    os.mkfifo(tmp_path / "fifo")
    one_line(*command(*WRITERS["build"], name, "--force"))
    assert sorted(os.listdir(tmp_path)) == ["fifo", "file"] and stat.S_ISFIFO(
        (tmp_path / "fifo").stat().st_mode
    )


def test_a_full_disk_is_one_line(tmp_path):
    """A limit on the size of files stands for the full disk: the write fails in the middle."""
    out = tmp_path / "m.safetensors"
    out.write_bytes(OLD)
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))  # noqa: E731
    build = [sys.executable, "-B", "-m", "sparsehead", *WRITERS["build"], str(out), "--force"]
    done = subprocess.run(build, capture_output=True, text=True, timeout=120, preexec_fn=limit)
    said = one_line(done.returncode, done.stderr)
    assert "nothing was written" in said
    assert out.read_bytes() == OLD and os.listdir(tmp_path) == [out.name]


# What makes, changes or removes a file; the writer is the only one to do so.
WRITING = {"write_text", "write_bytes", "touch", "mkdir", "makedirs", "unlink", "rename", "replace", "rmdir",
           "symlink_to", "hardlink_to", "save_file", "savetxt", "savez", "to_csv", "to_parquet", "mkstemp", "mkdtemp",
           "NamedTemporaryFile", "TemporaryDirectory", "TemporaryFile", "copyfile", "copy2", "move",
           "rmtree", "fdopen"}  # fmt: skip
# Where it has to be otherwise, and why.
EXEMPT = {
    ("cli/app.py", "os.open"): "/dev/null in the place of a standard output that cannot be written",
    ("lab/jobs.py", "job.touch"): "no file: notes that a job has news",
    ("lab/sandbox.py", "os.fdopen"): "the pipe to the parent",
    (
        "lab/sandbox.py",
        "tempfile.TemporaryDirectory",
    ): "what a visitor sent, in a folder that goes with the request",
    ("lab/sandbox.py", "path.write_bytes"): "the same",
    (
        "lab/server.py",
        "tempfile.TemporaryDirectory",
    ): "the page that leads the browser to the lab, readable by its user",
    ("lab/server.py", "page.touch"): "the same",
    ("lab/server.py", "page.write_text"): "the same",
    ("lab/journal.py", "path.replace"): "a damaged journal gets another name",
    ("sweep/tls.py", "tempfile.TemporaryDirectory"): "keys and scratch files of a cluster, gone when it ends",
    ("lab/worker.py", "os.fdopen"): "the pipe to the parent",
    ("sweep/worker.py", "os.fdopen"): "the pipe to the parent",
    ("sweep/local.py", "os.fdopen"): "the pipe from a worker",
    ("train/transformer/build.py", "*"): "the kernel: made by a compiler, in the package's own folder",
    ("train/transformer/library.py", "os.open"): "reads the kernel, never through a link",
    ("train/transformer/library.py", "os.fdopen"): "the same",
}


def writing_calls(source: str):
    """Calls that may write to a file: the names above on anything but a text, and `open` with a mode other than r."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        last = name.rpartition(".")[2]
        if last == "open" and name != "webbrowser.open":
            mode = next((k.value for k in node.keywords if k.arg == "mode"), None)
            place = 1 if name == "open" else 0
            if mode is None and len(node.args) > place:
                mode = node.args[place]
            if name == "os.open" or (mode is not None and ast.unparse(mode).strip("'\"") not in ("r", "rb")):
                yield name
        elif last == "replace":
            # str.replace takes two texts, dataclasses.replace is a bare name; os.replace and Path.replace are left
            if name == "os.replace" or ("." in name and len(node.args) == 1 and not node.keywords):
                yield name
        elif last in WRITING or name == "os.remove":  # other things with a `remove` are lists and pools
            yield name


@pytest.mark.parametrize("file", sorted(PACKAGE.rglob("*.py")), ids=lambda f: str(f.relative_to(PACKAGE)))
def test_nothing_else_writes_files(file):
    place = str(file.relative_to(PACKAGE))
    if place == "files.py":
        return
    found = [c for c in writing_calls(file.read_text()) if {(place, c), (place, "*")}.isdisjoint(EXEMPT)]
    assert found == []


@pytest.mark.parametrize(
    "source",
    ["open(p, 'w')", "p.open('ab')", "open(p, mode='x')", "p.write_text(t)", "part.replace(path)", "os.replace(a, b)",
     "os.open(p, 1)", "os.makedirs(p)", "os.remove(p)", "shutil.move(a, b)", "tempfile.mkstemp()"],
)  # fmt: skip
def test_the_scan_sees_what_it_looks_for(source):
    assert list(writing_calls(source))


@pytest.mark.parametrize("source", ["open(p)", "p.open('rb')", "t.replace('a', 'b')", "replace(spec, m=3)"])
def test_the_scan_lets_reading_pass(source):
    assert not list(writing_calls(source))
