"""The fuzzing runner on a few inputs, what it watches for, what it found, and the summary of the last full run."""

import importlib.util
import json
import re
import sys
import time
from itertools import islice
from pathlib import Path
from random import Random

import pytest

import sparsehead as sh
from sparsehead._base.errors import DomainError, FileError, SparseheadError
from sparsehead.heads.model_file import packed
from sparsehead.laws.fits import LawFit
from sparsehead.laws.thresholds import Threshold
from sparsehead.train.spec import preset, target_function
from sparsehead_paper.studies.from_json import record_from

HERE = Path(__file__).parents[2] / "fuzz"
sys.path.insert(0, str(HERE))
import inputs  # noqa: E402
import targets  # noqa: E402
import watch  # noqa: E402

location = importlib.util.spec_from_file_location("fuzz_run", HERE / "run.py")
run = importlib.util.module_from_spec(location)
location.loader.exec_module(run)

FEW = 60  # inputs of a target


@pytest.mark.parametrize(
    "target",
    # tests/lab has fast tests of hostile requests
    [*targets.TARGETS[:-1], pytest.param(targets.TARGETS[-1], marks=pytest.mark.slow)],
    ids=lambda target: target.name,
)
def test_a_few_inputs_find_nothing(target, unchecked):
    share = (10 if target.name in ("lab API", "certificates") else FEW) / target.mutated
    tally, generated = run.fuzz(target.name, 3, share)
    assert tally.inputs >= 10 and generated >= 1
    assert [(found.what, found.where, found.data[:200]) for found in tally.findings.values()] == []


@pytest.mark.parametrize("target", targets.TARGETS[:-1], ids=lambda target: target.name)
def test_the_corpus_itself_is_accepted(target, unchecked):
    """Otherwise mutations would start from what is refused for another reason."""
    use, accepted = target.use(), 0
    for data in dict.fromkeys(target.corpus()):
        try:
            use(data)
            accepted += 1
        except SparseheadError:
            pass
    assert accepted >= 0.7 * len(dict.fromkeys(target.corpus()))


def test_the_watch_sees_what_it_looks_for(monkeypatch):
    monkeypatch.setattr(watch, "LIMIT", 0.02)

    def use(data):
        if data == b"raise":
            raise ZeroDivisionError
        if data == b"lines":
            raise DomainError("one\ntwo")
        if data == b"wrong":
            raise watch.Wrong("believed")
        if data == b"slow":
            end = time.process_time() + 0.05
            while time.process_time() < end:
                pass
        if data == b"refused":
            raise DomainError("no.")

    seen = watch.Watch(use)
    for data in (b"raise", b"lines", b"wrong", b"slow", b"refused", b"fine"):
        seen(data)
    found = {finding.data: finding.what for finding in seen.tally.findings.values()}
    assert set(found) == {b"raise", b"lines", b"wrong", b"slow"}
    assert found[b"raise"] == "ZeroDivisionError" and found[b"wrong"] == "believed"
    assert (seen.tally.inputs, seen.tally.accepted, seen.tally.refused) == (6, 1, 1)
    monkeypatch.setattr(watch, "LIMIT", 100.0)
    sizes = iter([10**9, 10**9 + watch.GROWTH + 1])  # not a real one: the process may have been larger before
    monkeypatch.setattr(watch, "_most_memory", lambda: next(sizes))
    seen(b"large")
    assert b"large" in {finding.data for finding in seen.tally.findings.values()}


def test_an_input_that_never_ends_is_ended(monkeypatch):
    monkeypatch.setattr(watch, "STOP", 0.05)

    def use(data):
        while True:
            pass

    seen = watch.Watch(use)
    seen(b"x")
    assert [finding.what for finding in seen.tally.findings.values()] == ["not finished after 0.05 s"]


def test_a_seed_names_the_inputs():
    def some(seed):
        return list(islice(inputs.mutations(targets.EXPRESSIONS, [b"x1"], Random(seed)), 50))

    assert some(1) == some(1) != some(2)


@pytest.mark.parametrize("value", [10**400, -(10**400), 2**1024])
def test_what_fuzzing_found_is_refused(value):
    """A whole number beyond the largest float, where a results file has a number, raised OverflowError."""
    row = json.loads(json.dumps({"T": 1, "m80": value, "low": None, "high": None}))
    with pytest.raises(FileError, match="not a number"):
        record_from(Threshold, row)


def used(fields):
    """A spec of these fields, its function and its architecture."""
    spec = preset("fast", **fields)
    return target_function(spec), spec.architecture


@pytest.mark.parametrize(
    "field", ["learner", "dropout", "target", "optimiser", "function", "encoding", "m", "init_std"]
)
def test_a_message_quotes_only_the_beginning_of_a_long_value(field, unchecked):
    """A learner's name of thousands of characters, or a rate of thousands of digits, was repeated as a whole."""
    value = -(10**3000) if field in ("dropout", "target", "m", "init_std") else "x" * 3000
    fields = {"function": "and", "s": 2, "T": 9, "m": 20, "seed": 1, field: value}
    with pytest.raises(SparseheadError) as refused:
        used(fields)
    assert len(str(refused.value)) < 400


FIT = {"params": {"y" * 3000: "z" * 3000}, "intervals": {}, "aic": 1.0, "delta_aic": 0.0}


@pytest.mark.parametrize(("kind", "row"), [(Threshold, {"x" * 3000: 1}), (LawFit, FIT)])
def test_a_long_name_in_a_results_file_is_cut(kind, row):
    with pytest.raises(FileError) as refused:
        record_from(kind, row)
    assert len(str(refused.value)) < 200


def test_a_model_has_one_file():
    """The metadata stood in an order that changed from one call to the next."""
    model = sh.build("x1 & x2", T=6)
    assert len({packed(model) for _ in range(12)}) == 1


def test_the_summary_is_that_of_a_full_run_without_findings():
    text = (HERE / "RESULT.md").read_text()
    count = int(re.search(r"inputs: ([\d,]+); findings: 0\n", text)[1].replace(",", ""))
    assert count >= 10**6
    for target in targets.TARGETS:
        assert f"| {target.name} |" in text
    assert "seed" in text and "date: 20" in text
