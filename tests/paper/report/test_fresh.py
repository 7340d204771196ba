"""What the report says of measured claims: their origin, fresh trials, and counts that add up."""

import re
from pathlib import Path
from typing import Any

import pytest

from sparsehead.laws.curves import Cell
from sparsehead_paper.claims.claim import Finding
from sparsehead_paper.claims.measured import FILES
from sparsehead_paper.claims.registry import CLAIMS, Context, run_checks
from sparsehead_paper.claims.tally import tally
from sparsehead_paper.report.backing import Backing, backings, fresh_sentence
from sparsehead_paper.report.catalogue import draw
from sparsehead_paper.report.page import report_html
from sparsehead_paper.report.reproduce import Reproduction
from sparsehead_paper.report.story import story
from sparsehead_paper.studies.agreement import Agreement, Count, Shares
from sparsehead_paper.studies.folder import committed, default_folder, read_results, write_results
from sparsehead_paper.studies.input_laws import CellsOfLaw, InputCellsRecord
from sparsehead_paper.studies.law_stage import LawsRecord, SuccessRecord
from sparsehead_paper.studies.spot import UNCHECKED

GOOD, BAD = (Agreement((Shares((Count("T = 100", (30, 32), (k, 12)),)),)) for k in (11, 4))


@pytest.fixture(scope="module")
def findings():
    """The measured claims, judged by the committed results."""
    return run_checks(FILES, context=Context(options={"results": str(committed())}))


def test_the_counts_of_statements_add_up_to_their_number(findings):
    """Three groups in one line: recomputed, measured, and without anything to compute."""
    found = findings + [
        Finding(c.label, "holds", "", "") for c in CLAIMS.values() if c.label not in FILES and c.check
    ]
    said = tally(CLAIMS.values(), found, FILES).sentence()
    groups = (
        r"(\d+) statements: (\d+) recomputed here \((.*)\) \+ (\d+) measured \((.*)\) \+ (\d+) with nothing"
    )
    total, recomputed, how, measured, verdicts, none = re.match(groups, said).groups()
    assert int(total) == sum(claim.kind not in ("erratum", "neighbour") for claim in CLAIMS.values()) == 111
    assert int(recomputed) + int(measured) + int(none) == 111
    assert int(measured) == sum(map(int, re.findall(r"\d+", verdicts)))
    assert int(measured) == sum(CLAIMS[label].kind != "neighbour" for label in FILES)
    assert int(recomputed) == sum(map(int, re.findall(r"\d+", how)))


def test_no_measured_claim_is_without_a_result_and_each_says_how_it_was_measured(findings):
    behind = backings(committed(), {}, compared=True)
    for finding in findings:
        assert finding.verdict not in ("not run", "fails"), finding
        text = behind[FILES[finding.label]].text()
        assert re.match(r"Measured 2026-11-\d\d on (two busy cores|Intel)", text)
        assert "`sparsehead reproduce --only " in text
        assert "Not run again here: " in text
    assert UNCHECKED["functions"] in behind["functions"].text()


def test_no_card_of_the_story_is_undecided_or_not_run(findings):
    """Cards agree with results/README.md: the thresholds are met, by a power of T; curves and parity hold."""
    chapters = {
        chapter.title: chapter for chapter in story(findings, backings(committed(), {}, compared=True))
    }
    measured = ("Law", "Curves", "Attention", "Parity", "Reading")
    assert [chapters[name].verdict for name in measured] == ["differs", "holds", "differs", "holds", "holds"]
    law = chapters["Law"]
    assert (law.claim, law.figure) == ("law-matched", "law-matched")
    assert (
        law.ours
        == "23.7 [19.5, 28.1]; 18 of the paper's 18 points are met; a power of $T$ describes it better"
    )
    assert all("Measured 2026" in chapters[name].origin for name in measured)


def test_fresh_trials_are_told_on_card_row_figure_and_at_the_end(findings):
    for check, short, mark in (
        (GOOD, "12 fresh trials agree", "✓ fresh trials agree"),
        (BAD, "12 fresh trials do not agree", "✗ fresh trials do not agree"),
    ):
        behind = {"law-matched": Backing("Measured long ago.", check)}
        assert story(findings, behind)[0].fresh == short
        page = report_html(findings=findings, claims=CLAIMS.values(), figures=[], run={}, backing=behind)
        # a row each for the claims law-matched and law-bars, and one card
        assert page.count(mark) == 2 and page.count("Measured long ago.") == 3
        end = Reproduction(tuple(findings), Path("r.html"), 1.0, (), behind)
        counts = "1 agree, 0 do not." if check.agrees else "0 agree, 1 do not: law-matched."
        assert f"12 fresh trials of 1 committed results: {counts}" in end.summary()
        assert [row["agrees"] for row in end.to_dict()["fresh"]] == [check.agrees]
    assert fresh_sentence({"law": Backing("")}) == ""


def test_what_needs_more_data_is_called_so(findings):
    page = report_html(findings=findings, claims=CLAIMS.values(), figures=[], run={})
    assert "? more data needed</span>" in page and "? undecided" not in page
    assert "more data needed: law-matched-beyond" in Reproduction(tuple(findings), Path("r"), 1.0).summary()


def test_fresh_trials_are_drawn_on_the_committed_law(results, tmp_path):
    write_results(tmp_path, "law-best", SuccessRecord({100: [Cell(60, 7, 8)]}))
    before, after = (draw("law-best", results, fresh).to_dict() for fresh in (None, tmp_path))
    assert after["datasets"].pop("fresh") == [{"T": 100, "m": 60, "solved": "7/8", "trials": 8}]
    assert after["datasets"] == before["datasets"]
    added = [layer for layer in after["vconcat"][-1]["layer"] if layer["data"] == {"name": "fresh"}]
    assert {layer["mark"]["type"] for layer in added} == {"point", "text"}
    assert "Magenta" in " ".join(after["title"]["subtitle"])
    assert draw("law", results, tmp_path).to_dict() == draw("law", results).to_dict()  # has no fresh trials


def test_the_order_of_settings_stays_with_fresh_trials(tmp_path):
    from sparsehead_paper.studies.parity import MATCHED_READING, ParitySettingRun, ParitySettingsRecord

    write_results(
        tmp_path,
        "parity-settings",
        ParitySettingsRecord((ParitySettingRun(MATCHED_READING, 10, 0, 200, 1000),), 1),
    )
    chart = draw("parity-settings", committed(), tmp_path).to_dict()
    *_, points, fresh = chart["hconcat"][0]["layer"]
    assert fresh["data"] == {"name": "fresh"}
    assert fresh["encoding"]["y"]["sort"] == points["encoding"]["y"]["sort"]
    assert points["encoding"]["y"]["sort"][0] == MATCHED_READING


def test_every_kind_of_fresh_record_can_be_drawn(tmp_path):
    """Committed records pass for fresh ones of their own kind."""
    from sparsehead_paper.figures.fresh import FRESH

    for name, (kind, _) in FRESH.items():
        if kind is not SuccessRecord:
            record: Any
            if kind is InputCellsRecord:
                laws = read_results(committed(), name, LawsRecord).laws
                record = InputCellsRecord(tuple(CellsOfLaw(law.label, law.cells) for law in laws))
            else:
                record = read_results(committed(), name, kind)
            write_results(tmp_path, name, record)
            assert draw(name, committed(), tmp_path).to_dict()["datasets"]["fresh"], name


def test_a_folder_of_fresh_trials_alone_has_no_results_to_draw(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reproduction" / "fresh").mkdir(parents=True)
    assert default_folder() == Path("results")
