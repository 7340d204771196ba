"""The list of deliberate breakages: each fits the code as it is, and names a claim or a test that exists."""

import ast
import importlib.util
import sys
from pathlib import Path

import pytest

from sparsehead.claims.registry import CLAIMS

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def run():
    """mutants/run.py, which is a script and no part of the package."""
    spec = importlib.util.spec_from_file_location("mutants_run", ROOT / "mutants" / "run.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_every_breakage_fits_the_code(run):
    assert list(run.problems(run.load())) == []


def test_every_breakage_names_what_exists(run):
    mutants = run.load()
    assert [m.name for m in mutants if m.claim and (m.claim not in CLAIMS or not CLAIMS[m.claim].check)] == []
    for mutant in (m for m in mutants if m.test):
        path, _, name = mutant.test.partition("::")
        tree = ast.parse((ROOT / path).read_text())
        names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert not name or name.split("[")[0] in names, mutant.name


def test_what_is_wrong_with_a_list_is_said(run):
    bad = run.Mutant("a", "x", "sparsehead/rng.py", "no such text", "no such text", "why")
    assert list(run.problems([bad, bad]))[:4] == [
        "x: the name is used twice",
        "x: `old` occurs 0 times in sparsehead/rng.py, not once",
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
