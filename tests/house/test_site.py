"""The documentation site: it is configured, its generated parts are complete, and (slow) it builds without warnings."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from sparsehead_paper.report.mathematics import spaced

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
OUTSIDE = re.compile(
    r"<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=[\"'](?:https?:)?//[^\"']+", re.I
)


@pytest.fixture
def extensions():
    """The folder of the site's own extensions on the path."""
    sys.path.insert(0, str(DOCS / "extensions"))
    yield
    sys.path.remove(str(DOCS / "extensions"))


def test_the_configuration_loads_with_every_extension_of_ours():
    pytest.importorskip("sphinx")
    from sphinx.config import Config
    from sphinx.util.tags import Tags

    before = list(sys.path)
    try:
        config = Config.read(DOCS, overrides={}, tags=Tags())
    finally:
        sys.path[:] = before
    own = {path.stem for path in (DOCS / "extensions").glob("*.py")}
    assert own <= set(config.extensions)
    assert config.project == "sparsehead"


def test_every_command_is_in_the_reference(extensions):
    import generated

    from sparsehead.cli.app import RESULTS, VERBS

    text = generated.commands("")
    verbs = [*VERBS, "results", "reproduce", "figure"]
    assert [verb for verb in verbs if f"## sparsehead {verb}\n" not in text] == []
    assert text.count("Usage: sparsehead") == len(verbs) + len(RESULTS)
    assert "### results export\n" in text


def test_every_public_name_and_what_it_returns_is_in_the_reference(extensions):
    import generated

    import sparsehead

    text = generated.api("")
    named = {name.rsplit(".")[-1] for name in re.findall(r"^\.\. auto\w+:: (\S+)$", text, flags=re.M)}
    assert set(sparsehead.__all__) <= named
    assert {"Run", "Reading", "Certificate", "Bound"} <= named


def test_docstrings_are_text_and_not_markup(extensions):
    import docstrings

    lines = [
        "The norm ||M||_{2,1} of `W_V`.",
        "",
        "Args:",
        "    m, seed: samples; and",
        "        a name.",
        "Paper: a-b",
    ]
    said = "\n".join(docstrings.rst(lines))
    assert r"\|\|M\|\|\_{2,1} of ``W_V``" in said
    assert "``m``, ``seed``\n    samples; and\n    a name." in said
    assert ":doc:`a-b </paper>`" in said


def test_attributes_that_the_theme_leaves_out_are_added(extensions):
    import accessible

    given = '<aside class="sidebar-drawer"><p class="caption" role="heading">A</p></aside><aside class="toc-drawer x">'
    assert accessible.completed(given) == (
        '<aside class="sidebar-drawer" aria-label="All pages"><p class="caption" role="heading" aria-level="2">A</p>'
        '</aside><aside aria-label="On this page" class="toc-drawer x">'
    )
    assert accessible.completed(accessible.completed(given)).count("aria-level") == 1


def test_parameters_of_a_long_signature_are_lines_and_no_definitions(extensions):
    import accessible

    given = '<dt class="sig">f(\n\n<dl>\n<dd>T: int,</dd>\n<dd>m: int,</dd>\n</dl>\n)</dt>'
    assert accessible.completed(given) == (
        '<dt class="sig">f(\n\n<div class="parameters">\n<div>T: int,</div>\n<div>m: int,</div>\n</div>\n)</dt>'
    )


def test_names_of_functions_keep_their_distance():
    assert spaced(r"k \ln N + \log_2 T") == r"k\, \ln\, N + \log_2\, T"
    assert spaced(r"\ln(2N) \le \max(a, b)") == r"\ln(2N) \le \max(a, b)"


def test_links_in_a_document_are_turned_to_where_the_page_stands(extensions, tmp_path):
    import generated

    text = generated.repository_file("README.md")
    assert "](tutorial.md)" in text
    assert "](../results/story.svg)" in text
    assert "](docs/" not in text


def test_documents_that_link_to_each_other_are_all_pages(extensions):
    """Sphinx warns of a link to a document that is no page; here without building the site."""
    import generated

    for path in generated.PAGES:
        targets = re.findall(r"\]\((?!\w+:|#)([^)#\s]+\.md)", generated.repository_file(path))
        assert [target for target in targets if not (DOCS / target).exists() or ".." in target] == [], path


@pytest.mark.slow
def test_the_site_builds_offline_without_a_warning(tmp_path):
    pytest.importorskip("furo")
    build = [
        sys.executable,
        "-m",
        "sphinx",
        "-E",
        "-W",
        "--keep-going",
        "-q",
        "-b",
        "html",
        "-d",
        str(tmp_path / "tree"),
    ]
    done = subprocess.run([*build, str(DOCS), str(tmp_path / "html")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = {
        p.relative_to(tmp_path / "html").as_posix(): p.read_text()
        for p in (tmp_path / "html").rglob("*.html")
    }
    assert {"index.html", "tutorial.html", "reference/api.html", "notebooks/one_head.html"} <= set(pages)
    assert {name: OUTSIDE.findall(text) for name, text in pages.items() if OUTSIDE.search(text)} == {}
    assert (
        "<math" in pages["tutorial.html"]
        and "<math" in pages["paper.html"]
        and "<math" in pages["notation.html"]
    )
    assert (
        pages["theory.html"].count('<div class="math">') > 20
        and "$" not in pages["theory.html"].partition("<article")[2]
    )
    assert pages["notebooks/one_head.html"].count('<div class="chart"><svg') == 2
    assert all(
        'role="heading">' not in text and text.count("<aside aria-label") <= 1 for text in pages.values()
    )
    # every link between pages leads to a file
    for name, text in pages.items():
        for link in re.findall(r'href="([^"#?:]+\.html)', text):
            assert (tmp_path / "html" / name).parent.joinpath(link).resolve().exists(), f"{name}: {link}"
