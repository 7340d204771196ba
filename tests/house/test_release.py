"""`make release-check`: the version in three files, and that a failed step is named and the others still run."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def release():
    spec = importlib.util.spec_from_file_location("release_check", ROOT / "scripts" / "release_check.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(folder, *, package="1.2.0", cited="1.2.0", section="1.2.0, 2031-05-06"):
    (folder / "sparsehead").mkdir(exist_ok=True)
    (folder / "sparsehead" / "__init__.py").write_text(f'"""Heads."""\n__version__ = "{package}"\n')
    (folder / "CITATION.cff").write_text(f"cff-version: 1.2.0\nversion: {cited}\n")
    (folder / "CHANGELOG.md").write_text(
        f"# Changelog\n\n## {section}\n\n- A line.\n\n## 1.1.0, 2030-01-01\n"
    )
    return folder


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({}, []),
        ({"cited": "1.1.0"}, ["CITATION.cff has version 1.1.0, the package 1.2.0"]),
        (
            {"section": "1.1.0, 2030-01-01"},
            ["the newest section of CHANGELOG.md is 1.1.0, the package 1.2.0"],
        ),
        ({"section": "1.2.0, unreleased"}, ['says 1.2.0 is "unreleased": put the date there']),
        (
            {"package": "2.0.0"},
            ["CITATION.cff has version 1.2.0", "CHANGELOG.md is 1.2.0, the package 2.0.0"],
        ),
    ],
)
def test_the_three_files_must_name_one_version_and_its_date(release, tmp_path, said, words):
    wrong = release.disagreements(write(tmp_path, **said))
    assert len(wrong) == len(words)
    assert all(word in sentence for word, sentence in zip(words, wrong, strict=True))


def test_all_steps_run_and_those_that_failed_are_named(release, monkeypatch, capsys):
    def fail():
        raise release.Failed("it broke")

    steps = {"first": fail, "second": lambda: None, "third": lambda: release.run("false")}
    monkeypatch.setattr(release, "STEPS", steps)
    assert release.check(steps) == ["first", "third"]
    lines = capsys.readouterr().out.splitlines()
    assert "it broke" in lines and any(line.startswith("second") and line.endswith("ok") for line in lines)
    assert any("false ended with code 1" in line for line in lines)


def test_make_release_check_runs_it():
    recipe = (ROOT / "Makefile").read_text().partition("release-check: ")[2]
    assert "scripts/release_check.py" in recipe.splitlines()[1]
