"""The command line as its users meet it: help in 80 columns, numbers as people type them, completion, file names."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
import typer.main

from sparsehead.cli.app import app, main
from sparsehead.cli.completion import SHELLS, VARIABLE
from sparsehead.cli.options import whole_number
from sparsehead.train.spec import SETTINGS

ROOT = typer.main.get_command(app)


def commands(command=ROOT, path=()):
    """Every command with its words, groups included."""
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*path, name))


EVERY = dict(commands())
LEAVES = {path: command for path, command in EVERY.items() if not getattr(command, "commands", None)}


def said(capsys, *arguments):
    with pytest.raises(SystemExit) as done:
        main(list(arguments))
    out, err = capsys.readouterr()
    return done.value.code, out, err


@pytest.mark.parametrize("path", EVERY, ids=lambda path: " ".join(path) or "sparsehead")
def test_help_fits_80_columns_and_nothing_is_cut(path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = said(capsys, *path, "-h")
    assert (code, err) == (0, "") and "--help" in out
    assert [line for line in out.splitlines() if len(line) > 80] == []
    assert not re.search(r"\w\.\.\.$", out, flags=re.M), "a text was cut"
    assert out == said(capsys, *path, "--help")[1]


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_every_option_says_what_it_is_for(path):
    assert [p.name for p in LEAVES[path].params if not getattr(p, "help", None) and p.name != "help"] == []


@pytest.mark.parametrize("path", [p for p in LEAVES if p != ("lab",)], ids=" ".join)
def test_every_command_that_prints_a_result_has_json(path):
    assert "--json" in {option for p in LEAVES[path].params for option in p.opts}


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_every_command_that_writes_a_file_has_force(path):
    """A folder that `reproduce` resumes in, and a store, which is added to, are not replaced."""
    names = {p.name for p in LEAVES[path].params}
    if names & {"out", "chart"} and path != ("reproduce",):
        assert "force" in names


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("300", 300),
        ("1e6", 10**6),
        ("10_000", 10_000),
        (" 2.5e3 ", 2500),
        ("-4", -4),
        ("1E1000", 10**1000),
        (7, 7),
    ],
)
def test_whole_numbers_as_people_type_them(text, number):
    assert whole_number(text) == number and type(whole_number(text)) is int


@pytest.mark.parametrize(
    "text", ["20.9", "1e-3", "abc", "", "nan", "inf", "1e1001", "1e999999", "0x10", "1,000"]
)
def test_what_is_no_whole_number_is_refused(text):
    with pytest.raises(typer.BadParameter, match="no whole number; write it as"):
        whole_number(text)


def test_every_whole_number_of_every_command_goes_through_the_one_parser():
    hints = {
        path: {
            name
            for name, hint in command.callback.__annotations__.items()
            if "int" in re.findall(r"\w+", str(hint))
        }
        for path, command in LEAVES.items()
    }
    assert sum(map(len, hints.values())) >= 40
    for path, names in hints.items():
        for p in LEAVES[path].params:
            if p.name in names and p.opts[0].startswith("-") and p.metavar != "BOOLEAN":
                with pytest.raises(typer.TyperException, match="no whole number"):
                    LEAVES[path].make_context("x", [p.opts[0], "abc"], resilient_parsing=False)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("bild",), r"No such command 'bild'\. Did you mean 'build'\? `sparsehead -h` shows the usage\."),
        (("build",), r"Missing argument 'expression'\. `sparsehead build -h`"),
        (("build", "x1", "--T", "8", "--encodng", "bag"), r"No such option: --encodng\. Did you mean --encoding\?"),
        (("learn", "x1", "--T", "8", "--lr", "1"), r"No such option: --lr\. Did you mean --learning-rate\?"),
        (("law", "and", "--T", "8", "--n-steps", "9"), r"No such option: --n-steps\. Did you mean --steps\?"),
        (("learn", "x1", "--T", "8", "--m", "9", "--heads", "0"), r"--heads is a whole number >= 1; got 0\."),
        (("law", "and", "--T", "8", "--learner", "tre"), r"--learner is one of .*; got 'tre'\. Did you mean 'tree'\?"),
        (("law", "adn", "--T", "8"), r"the families are and, .* Did you mean 'and'\?"),
        (("build", "x1", "--T", "8", "--encoding", "bga"), r"encoding is one of .*; got 'bga'\. Did you mean 'bag'\?"),
        (("bound", "--m", "1e6x", "--T", "9", "--norms", "V=1"), "'1e6x' is no whole number; write it as"),
        (("results", "lst"), r"Did you mean 'list'\? `sparsehead results -h`"),
        (("lab", "--jobs", "100"), "out of range; it is a whole number from 1 to 64"),
        (("completion", "tcsh"), "completion knows bash, zsh, fish; got 'tcsh'"),
        (("build", "x1", "--T", "8", "--out", "head.pt"), r"models are safetensors files; name it head\.safetensors"),
        (("learn", "x1", "--T", "8", "--m", "9", "--out", "head.bin"), r"name it head\.safetensors"),
    ],
)  # fmt: skip
def test_a_slip_is_one_line_that_says_what_would_work(arguments, says, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = said(capsys, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1) and re.search(says, err), err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("verb", "without"),
    [("learn", {"function", "seed"}), ("law", {"function", "T", "m", "seed", "online", "keep_training"})],
)
def test_every_setting_is_an_option_under_the_heading_of_its_group(verb, without, capsys):
    options = {option: p for p in LEAVES[(verb,)].params for option in p.opts}
    wanted = {name: each for name, each in SETTINGS.items() if name not in without}
    for each in wanted.values():
        assert options[each.option].rich_help_panel == each.group
    out = said(capsys, verb, "-h")[1]
    headings = re.findall(r"^(\w+):$", out, flags=re.M)
    assert set(headings) >= {each.group for each in wanted.values()} and len(set(headings)) == len(headings)
    assert "[default: 16; best, gated: 4]" in " ".join(out.split())


def test_settings_that_are_given_reach_the_library_by_name(monkeypatch):
    given = {}

    def law(function, **settings):
        given.update(settings)
        raise KeyboardInterrupt

    monkeypatch.setattr("sparsehead.laws.law.law", law)
    words = "law and --T 8,9 --s 2 --layers 2 --noise 0.1 --p 0.3 --mlp 0 --no-norm --eps 1e-6 --steps 1e3"
    with pytest.raises(SystemExit):
        main(words.split())
    settings = {
        name: value for name, value in given.items() if name in SETTINGS and name not in ("T", "seed")
    }
    assert settings == {
        "s": 2, "L": 2, "noise": 0.1, "p": 0.3, "mlp": 0, "norm": False, "adam_eps": 1e-6, "n_steps": 1000,
    }  # fmt: skip


def test_bound_takes_a_million_as_1e6(capsys):
    norms = ("--T", "1e3", "--norms", "V21=2,V=1,QK=3,BX=1.5", "--json")
    assert json.loads(said(capsys, "bound", "--m", "1e6", *norms)[1])["m"] == 10**6


@pytest.mark.parametrize("shell", SHELLS)
def test_a_completion_script_is_one_that_its_shell_reads(shell, capsys, tmp_path):
    code, script, _ = said(capsys, "completion", shell)
    assert code == 0 and VARIABLE in script and "sparsehead" in script
    if shutil.which(shell):
        (tmp_path / "script").write_text(script)
        assert subprocess.run([shell, "-n", tmp_path / "script"], capture_output=True).returncode == 0


@pytest.mark.parametrize("asked", [(), ("law",), ("results",), ("results", "list")])
def test_every_command_is_described_without_docstrings_too(asked):
    command = [sys.executable, "-OO", "-m", "sparsehead", *asked, "--help"]
    ran = subprocess.run(command, capture_output=True, text=True)
    after_usage = ran.stdout.split("\n\n")[1]
    assert after_usage.startswith("  ") and after_usage.strip().endswith("."), ran.stdout


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("sparsehead bui", "build"), ("sparsehead build --enc", "--encoding"), ("sparsehead law --warm", "--warmup"),
        ("sparsehead law pari", "parity"), ("sparsehead learn --preset min", "mingpt"),
        ("sparsehead law --learner exh", "exhaustive"), ("sparsehead learn --optimiser ada", "adamw"),
        ("sparsehead learn --engine comp", "compiled"), ("sparsehead build --encoding tr", "trainable"),
    ],
)  # fmt: skip
def test_the_shell_is_told_what_may_follow(words, found):
    asked = {VARIABLE: "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    ran = subprocess.run(
        [sys.executable, "-m", "sparsehead"], env=os.environ | asked, capture_output=True, text=True
    )
    assert found in ran.stdout.split(), ran.stderr
