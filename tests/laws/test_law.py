"""The law end to end: real trials, a real store, worker processes."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from sparsehead._base.errors import DomainError, TooLarge
from sparsehead.cli.app import app, main
from sparsehead.cli.law import _show
from sparsehead.floor.constants import per_ln_T
from sparsehead.floor.floor import Floor, floor
from sparsehead.laws.adaptive import Adaptive
from sparsehead.laws.fits import LawFit
from sparsehead.laws.law import LawResult, law
from sparsehead.laws.theory import floors, slopes
from sparsehead.laws.thresholds import Threshold
from sparsehead.store import Store
from sparsehead.train.spec import preset


@pytest.fixture(scope="module")
def exhaustive(tmp_path_factory):
    """The learner that tries every subset, on data as they come: its law is the information floor's."""
    db = tmp_path_factory.mktemp("law") / "results.db"
    policy = Adaptive(start=20, max_trials=64)
    call: dict[str, Any] = dict(T=[20, 50], s=3, db=db, learner="exhaustive", policy=policy, method="joint")
    began = []
    found = law("and", **call, progress=lambda p: began.append(p.total))
    assert any(began)
    return call, found


def test_the_exhaustive_learner_meets_the_information_floor(exhaustive):
    _, found = exhaustive
    assert found.in_paper
    # bits are 1 with p = 2^(-1/3), which balances AND of 3; simulation of P_opt gives 20 and 24 too
    assert {T: floor.m for T, floor in found.floor.items()} == {20: 20, 50: 24}
    for T, threshold in found.thresholds.items():
        assert threshold.low - 2 <= found.floor[T].m <= threshold.high + 2  # 64 trials


def test_repeating_a_law_runs_nothing_and_says_the_same(exhaustive):
    call, found = exhaustive
    began = []
    again = law("and", **call, progress=lambda p: began.append(p.total))
    assert again.cells == found.cells and again.thresholds == found.thresholds
    assert not any(began)


def test_the_policy_may_differ_at_single_context_lengths(exhaustive):
    call, found = exhaustive
    fewer = law("and", **call, exceptions={50: {"max_trials": 16}})
    assert fewer.thresholds[50].trials == 16 <= found.thresholds[50].trials


def test_each_length_can_be_measured_alone(exhaustive):
    call, found = exhaustive
    alone = law("and", **{**call, "method": "adaptive"})
    fewer = law("and", **{**call, "method": "adaptive"}, exceptions={50: {"max_trials": 16}})
    assert fewer.cells[20] == alone.cells[20] and fewer.thresholds[50].trials == 16
    assert {t.method for t in alone.thresholds.values()} == {"fitted"}
    assert {t.method for t in found.thresholds.values()} == {"joint"}


def test_one_or_two_lengths_are_measured_alone_unless_asked_otherwise(exhaustive):
    call, _ = exhaustive
    two = law("and", **{**call, "method": None})
    three = law("and", **{**call, "method": None, "T": [20, 30, 50]})
    assert {t.method for t in two.thresholds.values()} == {"fitted"}
    assert {t.method for t in three.thresholds.values()} == {"joint"}


def test_the_command_prints_the_documented_keys_and_draws_the_chart(exhaustive, tmp_path):
    call, _ = exhaustive
    chart = tmp_path / "law.svg"
    arguments = ["law", "and", "--s", "3", "--T", "20,50", "--learner", "exhaustive", "--start", "20",
                 "--trials", "64", "--db", str(call["db"]), "--out", str(chart), "--json"]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "sparsehead", *arguments], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert {"T", "m80", "low", "high", "trials"} <= set(result["thresholds"][0])
    assert set(result["fits"]) == {"log", "power", "linear"}
    assert {"params", "intervals", "aic"} <= set(result["fits"]["log"])
    assert [row["T"] for row in result["floor"]] == [20, 50] and result["seconds"] >= 0
    assert {row["status"] for row in result["floor"]} == {"lower bracket"}
    assert chart.read_text().startswith("<svg")


def test_the_table_says_open_ends_a_misfit_and_both_floors():
    rows = (Threshold(8, None, None, 28.0, 24, "at most 28: no failure in 24 trials"),
            Threshold(16, None, 31.0, None, 24), Threshold(32, 40.0, 30.0, 50.0, 24))  # fmt: skip
    fits = {
        "log": LawFit({"a": 1.0, "b": 2.0, "slope": 6.25}, {"b": (1.5, None), "slope": (4.5, None)}, 9.0, 3.5)
    }
    record = LawResult(
        thresholds={row.T: row for row in rows}, fits=fits, best="log", note="", floor={8: Floor(8, 11, 13, 5, 7)},
        cells={}, seconds=1.0,
    )  # fmt: skip

    def shown(record):
        _show(Console(file=(said := StringIO()), width=200), record)
        return [re.split(r" {2,}", line.strip()) for line in said.getvalue().splitlines()]

    header, first, second, third, *_, law_line, steepness, _ = shown(record)
    assert header == ["T", "m_80", "95 % interval", "trials", "floor, 5 runs", "one answer"]
    assert first[1:] == ["-", "at most 28.0", "24", "7", "11..13", "at most 28: no failure in 24 trials"]
    assert (second[2], third[2]) == ("at least 31.0", "30.0 to 50.0")
    assert law_line[-2:] == ["b in [1.5, ?]", "AIC +3.5"]
    assert steepness == ["steepness: the share of solved trials has slope 6.2 [4.5, ?] in ln m"]
    assert record.steepness == (6.25, 4.5, None) and replace(record, best=None).steepness is None
    assert shown(replace(record, floor={}))[0] == header[:4]
    assert shown(replace(record, floor={8: Floor(8, 11, 13, 1, 11)}))[0][4:] == ["floor"]
    refuted = replace(record, best=None, note="misfit: the curve bends")
    assert refuted.misfit == "misfit: the curve bends" and record.misfit == ""
    assert "AIC" not in str(shown(refuted)) and shown(refuted)[-2] == [refuted.misfit]
    noted = replace(rows[2], note="one side is open; misfit: a lapse")
    assert replace(record, thresholds={32: noted}).misfit == "misfit: a lapse"


def test_floors_and_constants_are_those_of_the_function_that_is_measured():
    """With its noise; a learner without repeats gives one answer, another one as many as a trial has runs."""

    def trials(function, **settings):
        return lambda T, m, seed: preset(
            "fast", function=function, T=T, m=m, seed=seed, noise=0.1, **settings
        )

    one = trials("majority", s=3, learner="greedy")
    assert floors(one, [20]) == {20: floor("majority", s=3, T=20, p=0.5, noise=0.1)}
    assert slopes(one, 20) == per_ln_T("majority", s=3, p=0.5, noise=0.1).finite()
    several = trials("x0 & !x5", learner="tree", restarts=3)
    assert (
        floors(several, [20])[20].guesses == 3
        and slopes(several, 20)["elimination"] > slopes(several, 20)["position"]
    )
    assert floors(trials("junta", s=3), [20]) == slopes(trials("junta", s=3), 20) == {}


def test_families_without_a_floor_or_a_uniqueness_test_are_measured_too(tmp_path):
    found = law(
        "junta",
        T=[8],
        s=3,
        db=tmp_path / "r.db",
        learner="tree",
        workers=1,
        policy=Adaptive(start=30, max_trials=16),
    )
    assert found.floor == found.slopes == {} and found.fits == {}
    assert "a law needs at least two context lengths" in found.note
    assert found.thresholds[8].trials == 16


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (dict(T=[], s=3), "at least one context length"),
        (dict(T=[20]), "needs a support size s"),
        (dict(T=[20], s=3, method="guess"), "joint, adaptive, grid"),
        (dict(T=[20], s=30), "s=30"),
        (dict(T=[20], s=3, learner="oracle"), "the learners are"),
        (dict(T=[20], s=3, preset="slow"), "the presets are fast, paper, literal, mingpt, best, gated"),
    ],
)
def test_misuse_is_refused_before_anything_is_written(call, says, tmp_path):
    with pytest.raises(DomainError, match=says):
        law("and", db=tmp_path / "r.db", **call)
    assert list(tmp_path.iterdir()) == []


def test_an_expression_says_itself_how_many_positions_it_reads(tmp_path):
    call: dict[str, Any] = {
        "T": 10,
        "learner": "exhaustive",
        "workers": 1,
        "policy": Adaptive(start=12, max_trials=8),
    }
    with pytest.raises(DomainError, match=r"reads 2 positions, but s \(--s\) is 5; leave s out"):
        law("x1 & x3", s=5, db=tmp_path / "r.db", **call)
    assert list(tmp_path.iterdir()) == []
    with_s = law("x1 & x3", s=2, db=tmp_path / "r.db", **call)
    without = law("x1 & x3", db=tmp_path / "r.db", **call)
    assert (with_s.cells, with_s.target) == (without.cells, without.target)
    with Store(tmp_path / "r.db", readonly=True) as store:
        assert len(store) == with_s.thresholds[10].trials  # the second call found every trial done


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--trials", "0"), "max_trials (--trials) is a whole number >= 1; got 0."),
        (("--width", "nan"), "width (--width) is a finite number > 0; got nan."),
        (("--db", "same.html", "--out", "same.html"), "cannot write same.html: it is the store (--db);"),
        (("--db", "same.html", "--out", "./same.html", "--force"), "it is the store (--db); give the chart another"),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_or_written_is_one_line(options, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["law", "and", "--s", "2", "--T", "10", *options])
    out, err = capsys.readouterr()
    assert (ended.value.code, out, err.count("\n")) == (2, "", 1) and says in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("db", ["o", "o/report.html", "o/../o/run.json"])
def test_the_files_of_reproduce_never_replace_the_store(db, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "sparsehead_paper.report.reproduce.reproduce", lambda *_, **__: 1 / 0
    )  # nothing is measured
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", "--quick", "--out", "o", "--db", db])
    _, err = capsys.readouterr()
    assert (ended.value.code, err.count("\n")) == (2, 1) and "it is the store (--db)" in err
    assert list(tmp_path.iterdir()) == []


SETTINGS = {
    "--positions": ("positions", "sinusoidal"), "--d": ("d", 32), "--heads": ("H", 8), "--k": ("k", 8),
    "--dropout": ("dropout", 0.2), "--optimiser": ("optimiser", "sgd"), "--learning-rate": ("learning_rate", 0.5),
    "--weight-decay": ("weight_decay", 0.25), "--decay": ("decay", "all"), "--eps": ("adam_eps", 1e-3),
    "--clip": ("clip", 0.0), "--init": ("init", "torch"), "--init-scale": ("init_scale", 2.0), "--stall": ("stall", 7),
    "--steps": ("n_steps", 70), "--restarts": ("restarts", 2),
}  # fmt: skip


@pytest.mark.parametrize("given", [{}, SETTINGS], ids=["none", "all"])
def test_the_command_passes_every_setting_on_and_leaves_the_rest_to_the_preset(given, monkeypatch):
    asked = {}
    monkeypatch.setattr("sparsehead.laws.law.law", lambda *_, **call: asked.update(call) or 1 / 0)
    options = [str(part) for option, (_, value) in given.items() for part in (option, value)]
    CliRunner().invoke(app, ["law", "and", "--s", "3", "--T", "20", "--preset", "mingpt", *options])
    names = {name for name, _ in SETTINGS.values()}
    assert {name: value for name, value in asked.items() if name in names} == dict(given.values())
    assert asked["preset"] == "mingpt"


def test_a_law_that_memory_cannot_hold_is_refused_by_its_name(tmp_path):
    with pytest.raises(TooLarge, match="law in 2 processes with T=10000000"):
        law("and", T=[10**7], s=3, db=tmp_path / "r.db")
    assert list(tmp_path.iterdir()) == []
