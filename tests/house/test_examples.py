"""Every example runs, in a few seconds, and says what it should."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
SAYS = {
    "build_and_verify": ["exact on all 2^1000 inputs: True", "exact is False"],
    "learn_and": ["solved: True", "attention on the support: 0."],
    "bound_built_weights": ["T=   100: ln N", "T= 10000: ln N"],
    "covering_number": ["eps=0.05: 3 balls", "eps=0.2: 2 balls", "eps=0.5: 1 balls", "covering number 16"],
    "tiny_law": ["m_80"],
    "export_to_torch": ["same outputs"],
}


def test_every_example_is_known():
    assert {e.stem for e in EXAMPLES} <= set(SAYS)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.stem)
def test_example_runs(example, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(example), run_name="__main__")
    said = capsys.readouterr().out
    assert [part for part in SAYS[example.stem] if part not in said] == []
