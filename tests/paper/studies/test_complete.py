"""Every committed results file says whether it is complete."""

import json
from pathlib import Path

import pytest

FILES = sorted((Path(__file__).parents[3] / "results").glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_results_file_says_whether_it_is_complete(path):
    content = json.loads(path.read_text())
    assert isinstance(content["complete"], bool)
    if "planned" in content:
        assert content["complete"] == (len(content["runs"]) == content["planned"])


def test_a_file_whose_trials_were_not_kept_says_so():
    content = json.loads((FILES[0].parent / "functions.json").read_text())
    kept = all(law.get("cells") for law in content["laws"])
    assert kept or "cannot be recomputed" in content["state"]
