"""Results files: committed ones come back to the last digit, others are refused with a sentence that says why."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from sparsehead._base.errors import FileError
from sparsehead._base.jsonable import ResultsRecord, json_values
from sparsehead.laws.curves import Cell
from sparsehead.laws.thresholds import Threshold
from sparsehead_paper.studies.folder import read_results, write_results
from sparsehead_paper.studies.from_json import record_from
from sparsehead_paper.studies.law_stage import SuccessRecord
from sparsehead_paper.studies.records import RECORDS

RESULTS = Path(__file__).parents[3] / "results"
# Summaries of benchmarks/, which nothing in the package reads.
BENCHMARKS = (
    "engine",
    "failure-rule",
    "law-design",
    "law-wall",
    "norms_vs_weightwatcher",
    "scale",
)
COMMITTED = sorted(file.stem for file in RESULTS.glob("*.json") if file.stem not in BENCHMARKS)


def kind_of(name):
    return RECORDS.get(name) or RECORDS[name.split("-")[0]]


@pytest.mark.parametrize("name", COMMITTED)
def test_committed_results_are_read_to_the_last_digit(name):
    text = (RESULTS / f"{name}.json").read_text()
    written = json.loads(text)
    read = json_values(read_results(RESULTS, name, kind_of(name)))
    written.pop("schema", None)
    if "complete" not in read:  # in the file for its readers, not part of this record
        written.pop("complete")
    assert json.dumps(only(read, written)) == json.dumps(written)


def only(read, written):
    """What was read, without fields that the file does not have: it was written before they were."""
    if isinstance(written, dict):
        return {key: only(read[key], written[key]) for key in written}
    return [only(*pair) for pair in zip(read, written, strict=True)] if isinstance(written, list) else read


RECORD = SuccessRecord(
    cells={100: [Cell(50, 3, 4)], 300: [Cell(50, 0, 4)]},
    thresholds={100: Threshold(100, 1 / 3, None, 1e-300, 8, "a note", None)},
)


def test_a_record_comes_back_as_it_was_written(tmp_path):
    path = write_results(tmp_path / "new", "success", RECORD)
    assert read_results(tmp_path / "new", "success", SuccessRecord) == RECORD
    assert json.loads(path.read_text())["schema"] == 1


def changed(**fields):
    return {"schema": 1, **json_values(RECORD), **fields}


CELL = {"T": 100, "m": 50, "solved": 3, "trials": 4}


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (changed(schema=2), "has schema 2, this version of sparsehead reads 1; make it again with `sparsehead"),
        (changed(schema="1"), "has schema '1', this version"),
        (changed(more=3), "has the field 'more', which SuccessRecord does not have"),
        ({"schema": 1}, "lacks the field 'cells' of SuccessRecord"),
        (changed(cells=3), "the object.cells is '3', not a list"),
        (changed(cells=[4]), "the object.cells[0] is '4', not an object"),
        (changed(cells=[{**CELL, "m": 50.5}]), "the object.cells[0].m is '50.5', not a whole number"),
        (changed(cells=[{**CELL, "m": True}]), "the object.cells[0].m is 'True', not a whole number"),
        (changed(cells=[{**CELL, "T": "100"}]), "the object.cells[0].T is '100', not a whole number"),
        (changed(cells=[{**CELL, "solved": 5}]), "the object.cells[0]: a cell needs m >= 1 and 0 <= solved <= trials"),
        (
            changed(thresholds=[{"T": 1, "m80": float("nan"), "low": None, "high": None}]),
            ".m80 is 'nan', not a number",
        ),
    ],
)  # fmt: skip
def test_another_file_is_refused_and_told(data, says, tmp_path):
    (tmp_path / "success.json").write_text(json.dumps(data))
    with pytest.raises(FileError) as refused:
        read_results(tmp_path, "success", SuccessRecord)
    assert says in str(refused.value) and "\n" not in str(refused.value)
    assert f"`sparsehead reproduce --only law-grid --out {tmp_path}`" in str(refused.value)


@dataclass(frozen=True)
class Second(ResultsRecord):
    schema = 2
    pairs: dict[str, tuple[float | None, int]]


def test_every_kind_has_its_own_schema(tmp_path):
    (tmp_path / "law.json").write_text('{"pairs": {}}')
    with pytest.raises(FileError, match="has schema 1, this version of sparsehead reads 2"):
        read_results(tmp_path, "law", Second)
    write_results(tmp_path, "law", Second({"a": (None, 3)}))
    assert read_results(tmp_path, "law", Second).pairs == {"a": (None, 3)}


def test_a_tuple_of_fixed_length_has_that_length():
    with pytest.raises(FileError, match=r"pairs\.a has 1 items, not 2"):
        record_from(Second, {"pairs": {"a": [1.0]}})
    assert record_from(Second, {"pairs": {"a": [1, 2]}}) == Second({"a": (1.0, 2)})  # 1 is a number
