"""Each verb is one call in Python, with the answer that the command prints with --json."""

import json
import math
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import sparsehead as sh
from sparsehead.certify.written import certify_written
from sparsehead.cli.app import main
from sparsehead.floor.floor import floor
from sparsehead.laws.adaptive import Adaptive
from sparsehead.train.learn import outcome_values, read_back
from sparsehead_paper.claims.registry import CLAIMS
from sparsehead_paper.report.catalogue import FIGURES
from sparsehead_paper.report.reproduce import reproduce

POINTS = [["0.5", "0.7"], ["0.2", "0.3"], ["0.6", "0.65"]]


@pytest.fixture
def command(capsys, tmp_path, monkeypatch):
    """What `sparsehead ARGUMENTS --json` prints, in a folder with a model and a table of points."""
    monkeypatch.chdir(tmp_path)
    sh.save(sh.build("x1 & !x4", T=9), "head.safetensors")
    (tmp_path / "points.csv").write_text("".join(",".join(point) + "\n" for point in POINTS))

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main([*arguments, "--json"])
        assert ended.value.code == 0
        return json.loads(capsys.readouterr().out)

    return run


def plain(answer):
    return json.loads(json.dumps(answer.to_dict()))


def test_build(command):
    found = command("build", "x2 ^ x5", "--T", "12", "--encoding", "trainable")
    assert found.pop("out") is None
    f = sh.parse("x2 ^ x5", T=12)
    assert found == plain(certify_written(sh.build(f, "trainable"), f))


def test_bound(command):
    found = command("bound", "head.safetensors", "--m", "1000", "--form", "ours")
    assert found.pop("floor") is None
    assert found == plain(sh.bound(sh.load("head.safetensors"), m=1000, form="ours"))


def test_bound_has_the_floor_of_the_function_that_is_asked_for(command):
    asked = ("bound", "head.safetensors", "--m", "1000", "--form", "ours")
    T = sh.load("head.safetensors").T
    found = command(*asked, "--function", "majority", "--s", "3")["floor"]
    assert (found["m"], found["enough"]) == (
        floor("majority", s=3, T=T, p=0.5).m,
        floor("majority", s=3, T=T, p=0.5).enough,
    )
    assert found["per_ln_T"]["information"] == pytest.approx(3 / math.log(2))
    assert command(*asked, "--s", "2")["floor"] == command(*asked, "--function", "x0 & x1")["floor"]


def test_read(command):
    found = command("read", "head.safetensors")
    assert found == plain(sh.read(sh.load("head.safetensors"), seed=0))
    model = sh.load("head.safetensors")
    bits = (np.random.default_rng(0).random((60, model.T)) < 0.3).astype(np.uint8)
    labels = model.predict(bits)
    Path("rows.csv").write_text("".join(f"{''.join(map(str, row))},{y}\n" for row, y in zip(bits, labels)))
    held_out = command("read", "head.safetensors", "--data", "rows.csv", "--held-out")
    assert held_out == plain(sh.read(model, seed=0, data=(bits, labels), held_out=True))
    assert held_out["certificate"]["model_bound"] == pytest.approx(1 - 0.05 ** (1 / 60))


def test_cover(command):
    assert command("cover", "points.csv", "--eps", "0.5") == plain(sh.covering_number(POINTS, eps="0.5"))


def test_what_learn_is_not_told_is_left_to_the_preset(monkeypatch):
    """Preset "best" has a rate and a number of steps of its own."""
    given = {}

    def learn(function, **settings):
        given.update(settings)
        raise KeyboardInterrupt

    monkeypatch.setattr("sparsehead.train.learn.learn", learn)
    with pytest.raises(SystemExit):
        main(["learn", "x1", "--T", "9", "--m", "30", "--preset", "best"])
    assert given["preset"] == "best"
    assert not {"n_steps", "learning_rate", "stall"} & set(given)


def test_learn(command):
    found = command("learn", "x1", "--T", "5", "--m", "40", "--learner", "tree", "--seed", "3")
    run = sh.learn("x1", T=5, m=40, learner="tree", seed=3)
    same = json.loads(json.dumps(outcome_values(run.outcome, read_back(run))))
    assert {**found, "seconds": 0} == {**same, "seconds": 0}


def test_law(command):
    asked = ["--s", "1", "--T", "4,6", "--learner", "exhaustive", "--start", "12", "--trials", "8"]
    found = command("law", "and", *asked, "--workers", "1", "--db", "command.db")
    policy = Adaptive(start=12, max_trials=8)
    same = sh.law("and", s=1, T=[4, 6], learner="exhaustive", policy=policy, workers=1, db="python.db")
    assert {**found, "seconds": 0} == {**plain(same), "seconds": 0}


@pytest.fixture
def two_claims():
    """All others are gone for one test; they come back in their order, which checks run in."""
    before = list(CLAIMS)
    two = {label: CLAIMS[label] for label in ("tf-scalar", "law-and")}
    with patch.dict(CLAIMS, two, clear=True):
        yield
    assert list(CLAIMS) == before


def test_reproduce(command, two_claims, monkeypatch):
    """Without training, with two claims and one figure: what is checked, drawn and reported does not depend on more."""
    monkeypatch.setattr("sparsehead_paper.report.catalogue.FIGURES", {"cover-small": FIGURES["cover-small"]})
    found = command("reproduce", "--no-train", "--db", "r.db", "--out", "made")
    quiet: dict[str, Any] = {"report": lambda *_: None, "say": lambda _: None}
    same = reproduce("default", db=Path("r.db"), folder=Path("made"), workers=2, train=False, **quiet)
    assert {row["label"]: row["verdict"] for row in found["findings"]} == {
        "tf-scalar": "holds",
        "law-and": "not run",
    }
    assert Path(found["report"]).read_text().lstrip().lower().startswith("<!doctype html>")
    assert {**found, "seconds": 0} == {**plain(same), "seconds": 0}
