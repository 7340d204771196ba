"""Results files are data: what looks like a script in one of them is shown as text and never runs."""

import json
import re
from pathlib import Path

import pytest

from sparsehead.cli.app import main
from sparsehead.figures.render import embedded, policy
from sparsehead.floor.floor import Floor
from sparsehead.laws.law import LawResult
from sparsehead.laws.thresholds import Threshold
from sparsehead_paper.studies.folder import write_results

SCRIPT = "</script><script>document.body.dataset.owned='yes'</script>"
LAW = LawResult(
    thresholds={
        T: Threshold(T, 40.0 + i, 38.0, 44.0, 12, SCRIPT, 0.8) for i, T in enumerate((100, 300, 1000))
    },
    fits={},
    best=None,
    note=SCRIPT,
    floor={100: Floor(100, 20, 22)},
    cells={},
    seconds=1.0,
    target=SCRIPT,
)


@pytest.fixture
def page(tmp_path, monkeypatch):
    """The page of a law whose results hold the script."""
    monkeypatch.chdir(tmp_path)
    write_results(Path(), "law", LAW)
    with pytest.raises(SystemExit) as ended:
        main(["figure", "law", "--results", ".", "--out", "law.html"])
    assert ended.value.code == 0
    return tmp_path / "law.html"


def test_the_page_has_no_script_but_its_own(page):
    text = page.read_text()
    assert "owned" in text  # it is there, as data
    assert SCRIPT not in text and "<script>document" not in text
    own = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(own) == 2
    assert f'<meta http-equiv="Content-Security-Policy" content="{policy(*own)}">' in text
    data = re.search(r'id="spec">(.*?)</script>', text, re.DOTALL)[1]
    assert json.loads(data)
    assert not set("<>&") & set(data)  # neither half of a tag: "</script " alone would end the data


def test_the_policy_runs_named_scripts_only_and_fetches_nothing():
    rules = dict(part.strip().split(" ", 1) for part in policy("a", "b").split(";"))
    assert rules["default-src"] == "'none'" and "'unsafe-inline'" not in rules["script-src"]
    assert rules["script-src"].count("'sha256-") == 2
    assert policy("a") != policy("b")


@pytest.mark.parametrize("text", [SCRIPT, "<!--", "a & b", "]]>", '"quotes"', "\u2028"])
def test_embedded_text_comes_back_and_holds_no_markup(text):
    made = embedded({"x": text})
    assert json.loads(made) == {"x": text}
    assert not set("<>&") & set(made)


@pytest.mark.browser
def test_neither_the_escaped_nor_a_planted_script_runs(page, browser):
    """The second page has the script in it as markup: the policy alone must stop it."""
    planted = page.with_name("planted.html")
    planted.write_text(
        page.read_text().replace(
            '<div id="chart">', '<script>document.body.dataset.owned="yes"</script><div id="chart">'
        )
    )
    for path in (page, planted):
        tab = browser.new_page()
        tab.goto(path.as_uri())
        tab.wait_for_selector("#chart svg")
        assert tab.evaluate("document.body.dataset.owned") is None
        tab.close()
