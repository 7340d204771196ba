"""The README's blocks run: `python` as a doctest, `console` line by line. `sh` blocks are for people: they install, or
take minutes."""

import csv
import doctest
import re
import shlex
from pathlib import Path
from statistics import median

import pytest

from sparsehead.experiments.folder import read_results
from sparsehead.experiments.records import AttentionRecord, CurvesRecord, LawRecord

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", README, flags=re.M | re.S)


def test_python_blocks_run_as_printed():
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    assert blocks("python")
    for i, block in enumerate(blocks("python")):
        runner.run(doctest.DocTestParser().get_doctest(block, {}, f"README block {i}", "README.md", 0))
    assert runner.summarize(verbose=False).failed == 0
    assert runner.tries > 5


def test_console_blocks_run_as_printed(tmp_path, monkeypatch, capsys):
    """In one directory, one after the other; printed output, where there is any, must appear."""
    from sparsehead.cli.app import main

    monkeypatch.chdir(tmp_path)
    for block in blocks("console"):
        for command, *expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).+\n)*)", block, flags=re.M):
            program, *arguments = shlex.split(command, comments=True)
            assert program == "sparsehead"
            with pytest.raises(SystemExit) as exit_code:
                main(arguments)
            said = capsys.readouterr()
            assert exit_code.value.code == 0, f"{command}: {said.err}"
            assert [line for line in expected[0].splitlines() if line != "..." and line not in said.out] == []


def test_every_link_leads_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "docs" / "paper.md"]:
        links = re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text())
        assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_verb_in_the_readme_is_a_command():
    from sparsehead.cli.app import VERBS

    assert set(re.findall(r"\bsparsehead (\w+)", "\n".join(blocks("sh") + blocks("console")))) <= set(VERBS)
    assert set(re.findall(r"`sparsehead (\w+)", README)) <= set(VERBS)


def test_the_table_of_the_law_is_the_committed_result():
    with (ROOT / "results" / "law-decades.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) >= 5
    for row in rows:
        m80, low, high = (f"{float(row[name]):.1f}" for name in ("m80", "low", "high"))
        line = f"| {int(row['T']):,} | {m80} | {low} to {high} | {row['trials']} | {row['floor']} |"
        assert line in README


def test_the_figures_numbers_are_the_committed_results():
    """What the README says of the paper's figures, recomputed from results/."""

    folder = ROOT / "results"

    def slope(name):
        log = read_results(folder, name, LawRecord).fits["log"]
        return "{:.1f} [{:.1f}, {:.1f}]".format(log.params["b"], *log.intervals["b"])

    def solved(name):
        trials = read_results(folder, name, CurvesRecord).trials
        count = {m: sum(t.solved for t in trials if t.m == m) for m in (200, 50)}
        return f"{count[200]}/40 and {count[50]}/40"

    def total(name):
        runs = read_results(folder, name, AttentionRecord).runs
        return f"{median(run.total for run in runs):.3f}".removeprefix("0")

    assert f"| {slope('law')}; with dropout {slope('law-mingpt')} |" in README
    assert f"| {solved('curves')}; with dropout {solved('curves-mingpt')} |" in README
    assert (
        f"| {total('attention')} (median of ten seeds); with dropout {total('attention-mingpt')} |" in README
    )
    decades = read_results(folder, "law-decades", LawRecord).fits
    low, high = decades["power"].intervals["b"]
    a, b = decades["power"].params["a"], decades["power"].params["b"]
    assert f"m_80 = {a:.1f} T^{b:.3f}, exponent {low:.3f} to {high:.3f}" in README
    assert f"({decades['log'].delta_aic:.1f} AIC)" in README
