"""README and docs/: `python` blocks run as doctests, `console` blocks line by line, in order, one directory per page.

`sh` blocks are for people: they install, or take minutes. Output printed in a console block must appear; "..." stands
for lines that are left out. Every page stands in a table of contents, and every link inside the
repository leads somewhere.
"""

import doctest
import re
import shlex
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from sparsehead.capacity.forms import FORMS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts)
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.py"))
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", flags=re.M | re.S)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).+\n)*)", flags=re.M)
WITH_BLOCKS = [page for page in [ROOT / "README.md", *PAGES] if BLOCK.search(page.read_text())]


def name_of(page):
    return str(page.relative_to(ROOT))


def run_python(block, names, where):
    said: list[Any] = []
    test = doctest.DocTestParser().get_doctest(block, names, where, where, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    runner.run(test, out=said.append, clear_globs=False)
    assert runner.tries > 0, f"{where}: a python block without >>> runs nothing"
    assert runner.summarize(verbose=False).failed == 0, "".join(said)
    names.update(test.globs)


def run_console(block, where, capsys):
    from sparsehead.cli.app import main

    commands = COMMAND.findall(block)
    assert commands, f"{where}: a console block without $ runs nothing"
    for command, expected in commands:
        program, *arguments = shlex.split(command, comments=True)
        assert program == "sparsehead"
        with pytest.raises(SystemExit) as exit_code:
            main(arguments)
        said = capsys.readouterr()
        assert exit_code.value.code == 0, f"{where}: {command}: {said.err}"
        printed = {" ".join(line.split()) for line in said.out.splitlines()}
        wanted = [" ".join(line.split()) for line in expected.splitlines() if line != "..."]
        assert [line for line in wanted if line not in printed] == [], said.out


@pytest.mark.parametrize("page", WITH_BLOCKS, ids=name_of)
def test_blocks_run_as_printed(page, tmp_path, monkeypatch, capsys):
    if "import pandas" in page.read_text():
        pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(FORMS, "_listed", {})  # forms that a page registers are for that page
    monkeypatch.setattr(FORMS, "_loaded", dict(FORMS._loaded))
    names: dict[Any, Any] = {"__name__": "__main__"}
    for i, (kind, block) in enumerate(BLOCK.findall(page.read_text())):
        where = f"{name_of(page)}, block {i + 1}"
        if kind == "python":
            run_python(block, names, where)
        else:
            run_console(block, where, capsys)


def test_no_block_is_of_a_kind_that_nobody_runs():
    kinds = {
        (name_of(p), kind) for p in PAGES for kind in re.findall(r"^```(\w[^\n]*)$", p.read_text(), re.M)
    }
    assert {kind for _, kind in kinds} <= {"python", "console", "sh", "text"}


@pytest.fixture
def notebook_pages():
    sys.path.insert(0, str(DOCS / "extensions"))
    try:
        import percent

        yield percent
    finally:
        sys.path.remove(str(DOCS / "extensions"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda n: n.stem)
def test_notebooks_run_and_show_their_output(notebook, notebook_pages):
    page = notebook_pages.page(notebook.read_text(), notebook.name)
    assert page.count(":class: output") >= 2
    assert page.count("<svg") + page.count("data:image/svg+xml") >= 1
    assert page.startswith("# ")


def test_a_cell_that_fails_ends_the_build(notebook_pages):
    with pytest.raises(ZeroDivisionError):
        notebook_pages.page("# %%\n1 / 0\n", "broken.py")
    assert "2" in notebook_pages.page("# %%\na = 1\na + 1\n", "sound.py")


def toctree(page):
    """The pages that a page's tables of contents name."""
    blocks = re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text(), flags=re.M | re.S)
    kept = re.compile(r"<!-- generated: page (\w+) -->")
    text = kept.sub(lambda m: m[1] if (page.parent / f"{m[1]}.md").exists() else "", "\n".join(blocks))
    entries = [line for line in text.splitlines() if line and not line.startswith(":")]
    return [(page.parent / entry).resolve() for entry in entries]


def test_every_page_stands_in_a_table_of_contents():
    listed = {entry for page in PAGES for entry in toctree(page)}
    there = {page.with_suffix("").resolve() for page in [*PAGES, *NOTEBOOKS]}
    assert listed - there == set()
    assert there - listed == {(DOCS / "index").resolve()}


LINK = re.compile(r"\]\((?!\w+:)([^)\s]+)\)")


@cache
def anchors(page):
    """The anchors that headings of a page make, on a code host and in the site alike."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_every_link_leads_somewhere():
    documents = [
        ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "results/README.md")
    ]
    for page in [*documents, *PAGES]:
        text = re.sub(r"`[^`\n]*`", "", page.read_text())
        for link in LINK.findall(text):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            assert target.exists(), f"{name_of(page)}: {link}"
            generated = "<!-- generated:" in target.read_text() if target.suffix == ".md" else True
            assert not anchor or generated or anchor in anchors(target), f"{name_of(page)}: {link}"


def test_every_file_and_folder_named_in_a_document_is_there():
    """A path in backticks starts at the root of the checkout or in one of the two packages."""
    starts = [ROOT, ROOT / "sparsehead", ROOT / "sparsehead_paper"]
    pages = [*PAGES, *ROOT.glob("*.md"), ROOT / "results" / "README.md"]
    named = [
        (page.name, path)
        for page in pages
        if page.name.lower() != "changelog.md"  # which tells of files as they were
        for path in re.findall(
            r"(?<!`)`([a-z_]+/(?:[\w-]+/)*(?:[\w-]+\.py)?)(?:::\w+)?`(?!`)", page.read_text()
        )
    ]
    assert len(named) >= 50
    assert [(page, path) for page, path in named if not any((at / path).exists() for at in starts)] == []
