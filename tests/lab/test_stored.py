"""What the lab shows before anything was run: stored runs, their proofs, and a law."""

import json

import pytest

from sparsehead.certify.check import Refused, check
from sparsehead.lab.stored import EXAMPLES, known_records, stored_runs
from sparsehead.train.learn import learn_spec
from sparsehead.train.spec import TrainSpec


@pytest.fixture(scope="module")
def runs():
    return {record.spec["m"]: record for record in known_records(EXAMPLES) if "lab/model" in record.arrays}


def test_the_examples_are_what_training_gives(runs):
    assert {m: record.solved for m, record in runs.items()} == {300: True, 14: False}
    for record in runs.values():
        again = learn_spec(TrainSpec(**record.spec)).outcome
        assert again.status == record.outcome["status"]
        # another instruction set rounds otherwise
        assert abs(again.val_accuracy - record.outcome["val_accuracy"]) < 0.1


def test_the_run_with_too_few_samples_fits_them_and_fails(api, runs):
    found = api.get(f"/api/learn/{runs[14].id}").json()
    assert found["train_accuracy"] == 1 and found["val_accuracy"] < 0.8 and found["reading"] is None


def test_a_stored_run_is_listed_shown_read_probed_and_proved(api, runs):
    key = runs[300].id
    listed = api.get("/api/learn").json()["runs"]
    assert {"id": key, "function": "x5 & x20 & x30", "T": 50, "m": 300, "seed": 0, "solved": True,
            "source": "example"} in listed  # fmt: skip
    shown = api.get(f"/api/learn/{key}").json()
    assert shown["id"] == key and shown["reading"]["proved"] and len(shown["attention"]["rows"]) > 10
    assert api.get(f"/api/learn/{key}/reading").json()["function"] == "x5 & x20 & x30"
    assert api.get(f"/api/learn/{key}/heads?s=4").json()["rows"][0]["score"] > 0.9
    model = api.post(f"/api/learn/{key}/model").content
    said = check(model, api.post(f"/api/learn/{key}/certificate").content)
    assert said.startswith("holds: on all 2^50 inputs") and "(x5, x20, x30) is 111" in said


def test_a_run_that_was_trained_again_is_listed_once_as_the_users_own():
    again = stored_runs(EXAMPLES)
    assert [run["source"] for run in again] == ["store", "store"]
    assert len({run["id"] for run in again}) == 2


def test_what_is_not_proved_has_no_certificate_and_what_is_not_stored_is_not_found(api, runs):
    refused = api.post(f"/api/learn/{runs[14].id}/certificate")
    assert refused.status_code == 422 and "no certificate file" in refused.json()["error"]
    for path in ("", "/reading", "/heads"):
        assert api.get(f"/api/learn/{'0' * 16}{path}").status_code == 404


def test_the_law_that_comes_with_the_lab_is_the_last_of_the_series(api):
    series = api.get("/api/law").json()["series"]
    assert series[-1]["source"] == "example" and series[-1]["name"].endswith("(example)")
    law = api.get(f"/api/law/{series[-1]['id']}").json()
    assert [row["T"] for row in law["thresholds"]] == [30, 100, 300]
    assert all(row["m80"] > 0 for row in law["thresholds"])


def test_the_certificate_of_a_built_head_is_checked_by_the_command(api):
    asked = {"function": "x2 & !x5", "T": 9}
    model, answer = api.post("/api/build/model", asked).content, api.post("/api/build/certificate", asked)
    assert 'filename="head.cert.json"' in answer.headers["content-disposition"]
    assert check(model, answer.content).startswith("holds: on all 2^9 inputs")
    with pytest.raises(Refused):
        check(model, json.dumps(answer.json() | {"support": [2, 6]}).encode())
