"""One version: in sparsehead/__init__.py; what else names it agrees."""

import re
import tomllib
from pathlib import Path

import sparsehead

ROOT = Path(__file__).parents[2]


def test_the_build_takes_the_version_from_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" not in project["project"] and project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "sparsehead/__init__.py"


def test_the_citation_names_it():
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.M)
    assert cited is not None and cited[1].strip() == sparsehead.__version__
