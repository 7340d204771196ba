"""The report in a real browser: opened from disk it draws every chart, filters, downloads, and asks nobody for help."""

import csv
import io
from typing import Any

import pytest

from sparsehead_paper.claims.claim import Finding
from sparsehead_paper.claims.registry import CLAIMS
from sparsehead_paper.report.catalogue import FIGURES, draw_all
from sparsehead_paper.report.page import write_report

pytestmark = pytest.mark.browser
READY = "body[data-ready=yes]"


@pytest.fixture(scope="module")
def report(drawn, tmp_path_factory):
    """The page of every claim and every figure, on made-up results."""
    verdicts = ("holds", "differs", "fails", "not run")
    findings = [Finding(label, verdicts[i % 4], "1", "1.0 [0.9, 1.1]") for i, label in enumerate(CLAIMS)]
    path = tmp_path_factory.mktemp("report") / "report.html"
    run = {"Command": "sparsehead reproduce"}
    return write_report(path, findings=findings, claims=CLAIMS.values(), figures=drawn, run=run)


class Visit:
    """A page, with everything that it complained about or asked for."""

    def __init__(self, browser, path, width, scheme="light"):
        self.page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.errors: list[Any] = []
        self.requests: list[Any] = []
        self.page.on(
            "console", lambda m: self.errors.append(m.text) if m.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda e: self.errors.append(str(e)))
        self.page.on("request", lambda r: self.requests.append(r.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector(READY)


@pytest.fixture(scope="module")
def wide(browser, report):
    return Visit(browser, report, 1280)


@pytest.fixture(scope="module")
def narrow(browser, report):
    return Visit(browser, report, 400)


@pytest.fixture(params=["wide", "narrow"])
def visit(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize(("ci", "way_out"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)])
def test_a_missing_browser_skips_the_tests_but_fails_them_in_ci(ci, way_out, without_browser, monkeypatch):
    monkeypatch.setenv("CI", ci)
    with pytest.raises(way_out, match="there is no browser"):
        without_browser("there is no browser")


def test_no_error_and_no_request_but_the_file(visit, report):
    assert visit.errors == []
    assert visit.requests == [report.as_uri()]


def test_every_chart_is_drawn(visit):
    drawn = visit.page.evaluate(
        """() => [...document.querySelectorAll("[data-chart]")].map((box) => {
            const svg = box.querySelector("svg"), size = svg.getBoundingClientRect();
            const marks = svg.querySelectorAll("path, text").length;
            return [box.dataset.chart, box.dataset.drawn, marks, size.width, size.height];
        })"""
    )
    assert [name for name, *_ in drawn] == list(FIGURES)
    for name, state, marks, width, height in drawn:
        assert state == "yes", name
        assert marks > 10 and width > 150 and height > 80, (name, marks, width, height)


def test_nothing_is_wider_than_the_page(visit):
    overflow = visit.page.evaluate(
        """() => {
            const room = document.documentElement.clientWidth;
            const wide = [...document.querySelectorAll("main *, header *")]
                .filter((e) => e.getBoundingClientRect().right > room + 1 && !e.closest("thead, .long-formula math"));
            return [document.documentElement.scrollWidth - room, wide.slice(0, 5).map((e) => e.outerHTML.slice(0, 90))];
        }"""
    )
    assert overflow == [0, []]


def test_the_first_screen_tells_the_story(wide):
    bottoms = wide.page.eval_on_selector_all(
        ".chapter", "all => all.map((e) => e.getBoundingClientRect().bottom)"
    )
    assert len(bottoms) == 8
    assert max(bottoms) <= 900
    sizes = wide.page.eval_on_selector_all(".thumb img", "all => all.map((e) => e.naturalWidth)")
    assert len(sizes) == 7
    assert min(sizes) > 100


def test_the_first_figure_is_within_two_screens(visit):
    top = visit.page.evaluate("document.querySelector('figure').getBoundingClientRect().top + window.scrollY")
    assert top < 1800


def test_mathematics_is_typeset(wide):
    assert wide.page.locator("#claims math msub, #claims math msubsup").count() > 50
    box = wide.page.locator("#claims math:visible").first.bounding_box()
    assert box["width"] > 3 and box["height"] > 4


def test_the_contents_stay_in_sight(wide):
    wide.page.evaluate("document.querySelector('#errata').scrollIntoView()")
    top = wide.page.evaluate("document.querySelector('.contents').getBoundingClientRect().top")
    wide.page.evaluate("window.scrollTo(0, 0)")
    assert 0 <= top < 60


@pytest.mark.parametrize("width", [1280, 400])
def test_dark_mode_is_dark_and_readable(browser, report, width):
    """Text and page differ by at least 7 : 1 in luminance; charts are turned round."""
    visit = Visit(browser, report, width, "dark")
    colours = visit.page.evaluate(
        """() => {
            const luminance = (colour) => {
                const [r, g, b] = colour.match(/[0-9.]+/g).map((v) => v / 255)
                    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            };
            const style = getComputedStyle(document.body);
            return [luminance(style.color), luminance(style.backgroundColor)];
        }"""
    )
    assert (colours[0] + 0.05) / (colours[1] + 0.05) > 7
    assert "invert" in visit.page.evaluate("getComputedStyle(document.querySelector('.chart svg')).filter")
    assert visit.errors == []


def test_filter_by_verdict_kind_and_words(wide):
    page = wide.page
    rows = page.locator(".claims tbody tr:visible")
    total = sum(c.kind != "erratum" for c in CLAIMS.values())
    assert rows.count() == total
    page.select_option("#verdict", "fails")
    failing = rows.count()
    assert 0 < failing < total
    assert page.locator("#shown").inner_text() == f"{failing} of {total} shown"
    page.select_option("#verdict", "")
    page.select_option("#kind", "definition")
    assert rows.count() == sum(c.kind == "definition" for c in CLAIMS.values())
    page.select_option("#kind", "")
    page.fill("#words", "covering-example eps")
    assert rows.count() == 1
    page.fill("#words", "no claim says this")
    assert rows.count() == 0
    page.fill("#words", "")
    assert rows.count() == total


def test_filter_works_on_a_narrow_page(narrow):
    narrow.page.fill("#words", "covering-example eps")
    assert narrow.page.locator(".claims tbody tr:visible").count() == 1
    narrow.page.fill("#words", "")


def test_the_data_behind_a_chart_are_downloaded_as_csv(wide):
    with wide.page.expect_download() as found:
        wide.page.click('button[data-of="law"][data-set="thresholds"]')
    rows = list(csv.DictReader(io.StringIO(found.value.path().read_text())))
    assert found.value.suggested_filename == "law-thresholds.csv"
    assert [row["T"] for row in rows] == ["100", "300", "1000"]
    assert float(rows[0]["low"]) < float(rows[0]["m"]) < float(rows[0]["high"])


def test_charts_answer_to_the_pointer(wide):
    point = wide.page.locator("#figure-norms svg .mark-symbol path").first
    point.scroll_into_view_if_needed()
    point.hover()
    wide.page.wait_for_selector("#vg-tooltip-element.visible")
    assert "builder" in wide.page.locator("#vg-tooltip-element").inner_text()


def test_charts_are_redrawn_when_the_window_narrows(browser, report):
    visit = Visit(browser, report, 1280)
    before = visit.page.locator("#figure-law svg").bounding_box()["width"]
    visit.page.set_viewport_size({"width": 400, "height": 900})
    visit.page.wait_for_function(
        "document.querySelector('#figure-law svg').getBoundingClientRect().width < 390"
    )
    assert before > 500
    assert visit.errors == []


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_axe_finds_nothing(browser, report, width, scheme):
    """Looks at four figures and eight rows of each table: with all of them axe takes half an hour."""
    from axe_core_python.sync_playwright import Axe

    visit = Visit(browser, report, width, scheme)
    visit.page.evaluate(
        """() => {
            [...document.querySelectorAll("figure")].slice(4).forEach((one) => one.remove());
            for (const rows of document.querySelectorAll("tbody")) {
                [...rows.children].slice(8).forEach((one) => one.remove());
            }
        }"""
    )
    found = Axe().run(visit.page)["violations"]
    assert [(one["id"], [n["html"][:120] for n in one["nodes"][:3]]) for one in found] == []


def test_an_empty_report_opens_without_errors(browser, tmp_path):
    path = write_report(
        tmp_path / "r.html", findings=[], claims=[], figures=draw_all(tmp_path, ["law"]), run={}
    )
    visit = Visit(browser, path, 1280)
    assert visit.errors == []
    assert "No claim has been checked yet" in visit.page.inner_text("header")
    assert "Not drawn yet" in visit.page.inner_text("#figures")
    assert "law.json is not there yet" in visit.page.inner_text("#figure-law")
