"""Ten questions of a newcomer are answered within two clicks from README, by pages and names that exist."""

import re
import shlex
from pathlib import Path

import pytest
import typer.main

from sparsehead.cli.app import app
from sparsehead_paper.report.catalogue import FIGURES

ROOT = Path(__file__).parents[2]
QUESTIONS = ROOT / "docs" / "questions.md"
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)")
# What each question is about: its answer, and then a page that the answer links to, must have these words.
ANSWERS = {
    "Which function does a model compute": ("sparsehead read", "own-checkpoint.md", "sh.read("),
    "How many samples": ("sparsehead law", "tutorial.md", "m_80"),
    "Why is the bound vacuous": ("times more samples", "theory.md", "Occam"),
    "Is that proved": ("measured", "evidence.md", "## Assumed"),
    "my own module": ("sh.module", "own-learner.md", "sh.module("),
    "my own data": ("--data", "own-data.md", "learn("),
    "my own checkpoint": ("sparsehead probe", "any-checkpoint.md", "Architecture("),
    "resume": ("Repeat the command", "scale.md", "merge"),
    "cluster": ("--shard", "scale.md", "TLS"),
    "cite": ("--version", "CITATION.cff", "version:"),
}


def links(page):
    return {(page.parent / target).resolve() for target in LINK.findall(page.read_text())}


def answers():
    _, *parts = re.split(r"^## (.+)$", QUESTIONS.read_text(), flags=re.M)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_readme_links_to_the_questions():
    assert QUESTIONS in links(ROOT / "README.md")
    assert len(answers()) == 10


@pytest.mark.parametrize("question", ANSWERS)
def test_a_question_is_answered_there_and_on_the_page_behind(question):
    (text,) = [text for heading, text in answers().items() if question in heading]
    said, page, behind = ANSWERS[question]
    assert said in text
    (target,) = {(QUESTIONS.parent / found).resolve() for found in LINK.findall(text) if found.endswith(page)}
    assert behind in target.read_text()


@pytest.mark.parametrize("page", ["questions", "evidence", "gallery"])
def test_the_options_that_a_page_names_exist(page):
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    text = (ROOT / "docs" / f"{page}.md").read_text()
    lines = [shlex.split(line) for line in re.findall(r"`sparsehead ([a-z][^`]*)`", text)]
    assert len(lines) >= 5
    for verb, *rest in lines:
        known = {option for parameter in commands[verb].params for option in parameter.opts}
        assert {word for word in rest if word.startswith("--")} <= known, (verb, rest)


def test_the_gallery_shows_every_committed_figure():
    text = (ROOT / "docs" / "gallery.md").read_text()
    assert "<!-- generated: charts -->" in text
    drawn = {path.stem for path in (ROOT / "results").glob("*.svg")}
    assert len(drawn & FIGURES.keys()) >= 20
