"""The page Data: a table that is uploaded is described, and its formula is what `sparsehead learn --data` prints."""

import json
from urllib.parse import quote

import pytest

from sparsehead.cli.app import main
from sparsehead.lab.endpoints import data as page

from .test_browser import visit  # noqa: F401  (a fixture)

ASKED = "label=ill&cut=age%3D49.5&onehot=city&seed=3"


def test_the_columns_of_the_example_are_described(api):
    content = api.get("/api/data/example").content
    assert content.decode() == page.example_table()
    found = api.send("/api/data/columns", content, "text/csv").json()
    assert found["rows"] == 300
    kinds = {one["name"]: one["kind"] for one in found["columns"]}
    assert (kinds["age"], kinds["city"], kinds["smokes"], kinds["ill"]) == (
        "numbers",
        "categories",
        "bits",
        "bits",
    )
    of = {one["name"]: one for one in found["columns"]}
    assert of["age"]["middle"] == 49.5
    assert of["city"] == {
        "name": "city", "kind": "categories", "middle": None, "values": ["east", "north", "south"],
    }  # fmt: skip
    assert len(of["age"]["values"]) == 50


@pytest.mark.slow
def test_the_page_and_the_command_find_the_same_formula(api, tmp_path, capsys):
    (tmp_path / "t.csv").write_text(page.example_table())
    found = api.send(f"/api/data?{ASKED}", page.example_table().encode(), "text/csv").json()
    options = ["--label", "ill", "--threshold", "age=49.5", "--onehot", "city", "--seed", "3"]
    with pytest.raises(SystemExit):
        main(["learn", "--data", str(tmp_path / "t.csv"), *options, "--engine", "compiled", "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert {**found, "seconds": 0} == {
        **printed, "seconds": 0, "verdict": found["verdict"], "methods": found["methods"],
    }  # fmt: skip
    assert found["reading"]["formula"] == "smokes & (`age>49.5` | male)"
    assert found["methods"][0]["says"] == found["reading"]["formula"]


def test_tables_are_refused_with_a_sentence(api):
    table = b"a,b\n" + b"0,1\n1,0\n" * 20
    gap = b"a,b\n" + b"0,\n" * 20
    for path, content, status, words in (
        ("/api/data/columns", b"0,1\n1,0\n", 422, "begins with numbers"),
        ("/api/data/columns", gap, 422, "'b' has no value in row 1"),
        ("/api/data?label=c", table, 422, "no column 'c'"),
        ("/api/data?label=b&cut=a", table, 422, "COLUMN=CUT"),
        ("/api/data?label=b&onehot=x", table, 422, "'x'"),
        ("/api/data?label=b", table[:20], 422, "at least 20"),
        (f"/api/data?label={quote('b')}&positive=7", table, 422, "never '7'"),
    ):
        answer = api.send(path, content, "text/csv")
        assert (answer.status_code, words in answer.text) == (status, True), answer.text
        assert "/tmp" not in answer.text and "table.csv" not in answer.text
    names = ",".join(f"c{i}" for i in range(1000))
    large = f"{names}\n" + "".join(",".join("01"[i % 2] for _ in range(1000)) + "\n" for i in range(1002))
    answer = api.send("/api/data?label=c0", large.encode(), "text/csv")
    assert answer.status_code == 413 and "sparsehead learn --data" in answer.text


@pytest.mark.browser
def test_a_table_dropped_on_another_page_is_learned_from(visit):  # noqa: F811
    rows = "\n".join(
        f"{a},{b},{c},{'yes' if a & (b | c) else 'no'}" for a in (0, 1) for b in (0, 1) for c in (0, 1)
    )
    drop = """(text) => {
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File([text], "mine.csv"));
        const event = new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true });
        document.querySelector("footer").dispatchEvent(event);
    }"""
    v = visit("/claims?label=tf-head")
    v.page.evaluate(drop, "rain,wind,cold,stay in\n" + "\n".join([rows] * 12))
    v.wait_text("[data-formula]", "stay in = rain & (")
    assert "/data" in v.page.url
    # the page's own example, were it asked for, could arrive later than the file and take its place
    assert not any("/api/data/example" in url for url in v.requests)
    assert "cold" in v.text("[data-formula]") and "wind" in v.text("[data-formula]")
    v.page.get_by_label("The label that counts as 1").select_option("no")
    v.page.click("text=Find the formula")
    v.wait_text("[data-formula]", "!rain | ")
