"""`sparsehead figure`: names, formats, and one line when something is wrong."""

import json
from pathlib import Path

import pytest

from sparsehead._base.errors import FileError
from sparsehead.cli.app import main
from sparsehead_paper.report.catalogue import draw
from sparsehead_paper.studies.folder import default_folder


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as exit:
        main(list(arguments))
    printed = capsys.readouterr()
    return exit.value.code, printed.out, printed.err


def test_list_names_every_figure(capsys):
    from sparsehead_paper.report.catalogue import FIGURES

    code, out, _ = run(capsys, "figure", "--list")
    assert code == 0
    # a line that goes on starts with spaces
    assert [line.split()[0] for line in out.splitlines() if line[:1].strip()] == list(FIGURES)
    code, out, _ = run(capsys, "figure", "--list", "--json")
    assert [f["name"] for f in json.loads(out)["figures"]] == list(FIGURES)


@pytest.mark.parametrize(
    ("suffix", "start"), [("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF"), ("html", b"<!DOCTYPE")]
)
def test_figure_is_written_in_the_format_of_its_name(capsys, tmp_path, results, suffix, start):
    out = tmp_path / f"law.{suffix}"
    code, printed, _ = run(capsys, "figure", "law", "--out", str(out), "--results", str(results), "--json")
    assert code == 0
    assert out.read_bytes().startswith(start)
    assert json.loads(printed)["bytes"] == out.stat().st_size


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("law", "--out", "law.gif"), "figures are written as .svg, .png, .pdf or .html"),
        (("law", "--results", "/nowhere"), "is not there yet"),
        (("nonsense",), "there is no figure 'nonsense'"),
        (("cover-small", "--out", "/nowhere/f.svg"), "cannot write /nowhere/f.svg"),
        ((), "figure needs a NAME"),
    ],
)
def test_mistakes_get_one_line_and_exit_code_2(capsys, tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    code, _, err = run(capsys, "figure", *arguments)
    assert code == 2
    assert says in err
    assert len(err.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "option"), [("law", " --only law"), ("law-grid", " --only law-grid")])
def test_missing_results_name_the_command_that_writes_them_there(name, option, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileError) as caught:
        draw(name)
    assert f"`sparsehead reproduce{option} --out results` measures it" in str(caught.value)


def test_a_figure_shows_your_own_run_before_the_committed_results(results, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert default_folder() == Path("results")
    (tmp_path / "reproduction").symlink_to(results)
    assert default_folder() == Path("reproduction")
    with pytest.raises(SystemExit) as ended:
        main(["figure", "success"])
    assert ended.value.code == 0
    assert "from reproduction/success.json" in capsys.readouterr().out
