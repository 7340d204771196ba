"""The page as text: everything is in it, nothing points outside, nothing from outside is taken for markup."""

import json
import re

import pytest

from sparsehead._base.errors import FileError
from sparsehead.figures.bounds import bound_terms_chart
from sparsehead_paper.claims.claim import Claim, Finding
from sparsehead_paper.report.catalogue import Drawn
from sparsehead_paper.report.page import report_html, write_report

# Real labels, so that the code and the tests behind them are found; the statements are made up.
CLAIMS = [
    Claim("law-and", "figure", "paper figure 2", "m grows like $log T$"),
    Claim(
        "softmax-lipschitz", "lemma", "paper A.1", "<b>softmax</b> is 1-Lipschitz", check=lambda context: None
    ),
    Claim("practical-block", "definition", "paper 6", "what trains"),
    Claim("errata-notes-3", "erratum", "notes 2.1", "more eps, fewer balls"),
]
FINDINGS = [
    Finding("law-and", "differs", "29.65 per $ln T$", "27.1 [24.0, 30.2]", "fitted to 4 T"),
    Finding("errata-notes-3", "holds", "can only increase", "$N(.05) = 3 > N(.5) = 1$"),
]
FIGURES = [
    Drawn("bound-terms", "A bound by term.", bound_terms_chart([{"name": "</script><b>", "share": 1.0}])),
    Drawn(
        "law", "The law.", None, "results/law.json is not there yet; `sparsehead reproduce` measures it", True
    ),
    Drawn("parity", "Parity.", None, "results/parity.json is damaged"),
]
RUN = {"Command": "sparsehead reproduce", "Time": "9 min", "Machine": "two cores"}


@pytest.fixture(scope="module")
def page():
    return report_html(
        findings=FINDINGS, claims=CLAIMS, figures=FIGURES, run=RUN, problems=["Half of the sweep is missing."]
    )


def body(page):
    """The page's own markup, without scripts."""
    return re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)


def test_the_story_shows_figures_small_and_links_to_those_that_are_not_drawn(page):
    links = dict(re.findall(r'<a class="thumb" href="#figure-([^"]*)"[^>]*>(.*?)</a>', page))
    assert len(links) == 7
    assert [name for name, inside in links.items() if inside] == ["bound-terms"]
    assert links["bound-terms"].startswith('<img src="data:image/png;base64,')


def test_a_claim_has_statement_numbers_verdict_code_and_test(page):
    row = re.search(r'<tr data-verdict="differs".*?</tr>', page, re.DOTALL)[0]
    for text in (
        "law-and m grows like log t",  # as the filter sees it
        "grows like <math",
        "29.65 per <math",
        "27.1 [24.0, 30.2]",
        "differs",
        "sparsehead.laws.law:law",
        "tests/paper/studies/test_collect.py::test_the_law_verdict",
    ):
        assert text in row


def test_a_claim_without_a_finding_was_not_run(page):
    assert '<tr data-verdict="not run" data-kind="lemma"' in page
    assert '<tr data-verdict="no check" data-kind="definition"' in page


def test_errata_have_their_demonstration_outside_the_table(page):
    section = page[page.index('<section id="errata">') : page.index('<section id="run">')]
    for text in (
        ", fewer balls",
        "can only increase",
        "&#x0003E;",  # the sign of N(.05) = 3 > N(.5) = 1, typeset
        "tests/paper/claims/test_errata.py::test_errata_notes_3",
    ):
        assert text in section
    assert "errata-notes-3" not in page[: page.index('<section id="errata">')]
    assert "Manuel Paez and Desmond DeVaul" in section  # the source is named


def test_what_was_run_and_problems_are_told(page):
    for text in (
        "sparsehead reproduce",
        "9 min",
        "two cores",
        "Half of the sweep is missing.",
        "results/law.json is not there yet",
    ):
        assert text in body(page)


def test_what_is_not_measured_yet_is_listed_and_what_broke_stands_on_top(page):
    top, below = body(page).split('<section id="figures">')
    assert "results/law.json" not in top
    assert "Figure parity could not be drawn: results/parity.json is damaged" in top
    assert "<code>sparsehead reproduce</code> measures it" in below
    assert '<figure id="figure-law"' not in below


def test_nothing_is_taken_for_markup(page):
    assert "&lt;b&gt;softmax" in page
    assert "<b>softmax" not in page
    specs = re.search(r'<script type="application/json" id="specs">(.*?)</script>', page, re.DOTALL)[1]
    assert json.loads(specs)["bound-terms"]["datasets"]["items"][0]["name"] == "</script><b>"


def test_what_was_run_is_escaped():
    bad = "<img src=x onerror=alert(1)>"
    made = report_html(findings=[], claims=[], figures=[], run={bad: bad}, problems=[bad])
    assert "<img" not in body(made)
    assert body(made).count("&lt;img") == 3


def test_nothing_points_outside(page):
    assert not re.search(r"""(src|href)\s*=\s*["'](?!#|data:)""", body(page))
    assert "default-src 'none'" in page
    assert page.count("window.vegaEmbed=") == 1  # one copy of the charts' code


def test_the_story_comes_first_then_figures_claims_and_errata(page):
    places = [page.index(f'<section id="{name}"') for name in ("story", "figures", "claims", "errata", "run")]
    assert places == sorted(places)
    story = page[places[0] : places[1]]
    for title in ("Law", "Curves", "Attention", "Parity", "Representation", "Capacity", "Reading"):
        assert f">{title}</a>" in story
    assert "≈ differs" in story
    assert "○ not run" in story


def test_definitions_are_the_last_chapter_of_claims(page):
    chapters = re.findall(r'<section class="of-claims" id="([a-z-]+)">', page)
    assert chapters == ["claims-experiments", "claims-capacity", "claims-definitions"]


def test_data_behind_each_chart_can_be_downloaded(page):
    assert 'data-save="csv" data-of="bound-terms" data-set="items"' in page


def test_an_empty_run_still_makes_a_page():
    page = report_html(findings=[], claims=[], figures=[], run={})
    for text in (
        "No claim has been checked yet",
        "holds no claims",
        "holds no errata",
        "Nothing is recorded",
    ):
        assert text in page


def test_an_older_page_survives_a_failure(tmp_path):
    target = tmp_path / "report.html"
    target.mkdir()
    with pytest.raises(FileError, match=r"cannot write .* it is a folder"):
        write_report(target, findings=[], claims=[], figures=[], run={})
    assert target.is_dir()
