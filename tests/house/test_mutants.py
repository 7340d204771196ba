"""The list of deliberate breakages: each fits the code as it is, and names a claim or a test that exists."""

import ast
import functools
import importlib.util
import re
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from sparsehead_paper.claims.claim import marked_tests
from sparsehead_paper.claims.registry import CLAIMS

ROOT = Path(__file__).parents[2]
LATER = ", before a change"


@pytest.fixture(scope="module")
def run():
    """mutants/run.py, which is a script and no part of the package."""
    spec = importlib.util.spec_from_file_location("mutants_run", ROOT / "mutants" / "run.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def quantitative():
    """The labels of claims with something to compute: they have a check."""
    return {label for label, claim in CLAIMS.items() if claim.check}


def test_every_breakage_fits_the_code(run):
    assert list(run.problems(run.load())) == []


@functools.cache
def functions_in(path):
    return {n.name for n in ast.walk(ast.parse((ROOT / path).read_text())) if isinstance(n, ast.FunctionDef)}


def test_every_breakage_names_what_exists(run):
    mutants = run.load()
    assert [m.name for m in mutants if m.claim and (m.claim not in CLAIMS or not CLAIMS[m.claim].check)] == []
    for mutant in (m for m in mutants if m.test):
        path, _, name = mutant.test.partition("::")
        assert not name or name.split("[")[0] in functions_in(path), mutant.name


def test_every_quantitative_claim_has_a_breakage(run):
    """One that names the claim, or one that names a test which stands behind it."""
    mutants = run.load()
    named = {m.claim for m in mutants}
    tests = {m.test.partition("[")[0] for m in mutants if m.test}
    assert {x for x in quantitative() - named if tests.isdisjoint(marked_tests(CLAIMS[x]))} == set()


@pytest.fixture(scope="module")
def rows():
    """By name, what the committed table says caught a breakage; "" for nothing."""
    text = (ROOT / "mutants" / "RESULT.md").read_text()
    found = re.findall(r"^\| `([A-Za-z0-9-]+)` \|.*\| ([^|]+) \| [0-9.]+ \|$", text, re.M)
    return {name: "" if by.startswith("**nothing**") else by.replace(":: ", "::") for name, by in found}


def test_nearly_all_of_the_committed_table_is_caught(run, rows):
    """At least 95 % of RESULT.md, which has at least 380 rows; new entries may wait for a run."""
    assert len(rows) >= 380
    assert sum(map(bool, rows.values())) >= 0.95 * len(rows)
    assert set(rows) <= {m.name for m in run.load()}


def test_every_quantitative_claim_noticed_a_breakage_in_the_committed_table(rows):
    """Its own check did, or a test which stands behind it."""
    by = {text.removesuffix(LATER).partition("[")[0] for text in rows.values()}
    noticed = {
        x
        for x in quantitative()
        if f"check {x}" in by or any(f"test {t}" in by for t in marked_tests(CLAIMS[x]))
    }
    assert quantitative() - noticed == set()


def test_a_breakage_is_undone_to_the_byte_and_never_shares_bytecode(run, tmp_path):
    file = tmp_path / "a.py"
    file.write_text("x = 1\n")
    before = file.stat()
    with run.Breakage(tmp_path, "a.py", "1", "2"):
        assert file.read_text() == "x = 2\n"
        assert int(file.stat().st_mtime) != int(before.st_mtime)
    assert file.read_text() == "x = 1\n"
    assert file.stat().st_mtime_ns == before.st_mtime_ns


def test_a_question_is_answered_in_a_fork_and_an_error_is_no_answer(run, tmp_path):
    assert run.ask(tmp_path, lambda: [str(Path.cwd()), sys.path[0]], 60) == [str(tmp_path)] * 2
    assert Path.cwd() != tmp_path
    with pytest.raises(run.Unanswered, match="ZeroDivisionError"):
        run.ask(tmp_path, lambda: 1 / 0, 60)
    with pytest.raises(run.TimedOut, match="no answer within"):
        run.ask(tmp_path, lambda: time.sleep(600), 0.1)


def test_no_answer_in_time_catches_nothing(run, tmp_path, monkeypatch):
    (tmp_path / "f.py").write_text("1")
    m = run.Mutant("a", "x", "f.py", "1", "2", "why", claim="c", test="t")
    monkeypatch.setattr(run, "judge", lambda labels: time.sleep(600))
    monkeypatch.setattr(run, "run_tests", lambda tests, *more: time.sleep(600))
    found = run.attempt(m, tmp_path, {"c": "holds"}, set(), 0.1)
    assert found.by == ""
    assert found.note == "no answer: no answer within 0 s; no answer within 0 s"


def test_a_result_is_kept_until_the_breakage_or_its_file_changes(run, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "RESULTS", tmp_path / "results.json")
    first, second = run.load()[:2]
    run.remember(run.Result(first, "check x", "fails", 1.0), run.key(first))
    run.remember(run.Result(second, "", "holds", 1.0), run.key(second))
    assert run.remembered([first, second]) == {first.name: run.Result(first, "check x", "fails", 1.0)}
    assert set(run.remembered([first, second], survivors=True)) == {first.name, second.name}
    assert run.remembered([replace(first, new="other")]) == {}


def test_what_is_wrong_with_a_list_is_said(run):
    bad = run.Mutant("a", "x", "sparsehead/_base/rng.py", "no such text", "no such text", "why")
    assert list(run.problems([bad, bad]))[:4] == [
        "x: the name is used twice",
        "x: `old` occurs 0 times in sparsehead/_base/rng.py, not once",
        "x: `new` is `old`",
        "x: names neither a claim nor a test",
    ]
    with pytest.raises(run.Broken, match="no breakage matches"):
        run.load(areas=["no-such-area"])


def test_survivors_stand_first_in_the_table(run):
    m = run.Mutant("a", "x", "f.py", "1", "2", "one | two", claim="tf-layer")
    results = [run.Result(m, "check tf-layer", "fails: 3", 1.0), run.Result(m, "", "holds: 1", 2.0)]
    text = run.table(results)
    assert "1 of 2 caught (50.0%), 1 not" in text
    rows = [line for line in text.splitlines() if line.startswith("| `x`")]
    assert "**nothing** (holds: 1)" in rows[0] and "check tf-layer" in rows[1]
    assert "one \\| two" in rows[0]
