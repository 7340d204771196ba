"""Other learners behind the same interface, and the command."""

import json

import pytest
import typer.main

from sparsehead._base.errors import DomainError
from sparsehead.cli.app import app, main
from sparsehead.heads.model_file import load
from sparsehead.train.learn import learn
from sparsehead.train.loop import run_trials
from sparsehead.train.spec import PRESETS, TrainSpec, preset


@pytest.mark.parametrize("learner", ["mlp", "logistic", "tree", "exhaustive"])
def test_every_learner_learns_an_easy_conjunction(learner):
    spec = preset("fast", function="and", s=2, T=12, m=400, seed=0, learner=learner, holdout=1000)
    (outcome,) = run_trials([spec])
    assert outcome.solved and outcome.support_mass is None and outcome.train_accuracy > 0.95


def test_an_lstm_runs_to_its_verdict():
    spec = preset(
        "fast", function="and", s=1, T=4, m=50, seed=0, learner="lstm", restarts=1, holdout=200, learning_rate=0.01,
        n_steps=200,
    )  # fmt: skip
    assert run_trials([spec])[0].solved


def test_logistic_regression_cannot_do_parity():
    spec = preset("fast", function="parity", s=2, T=10, m=300, seed=0, learner="logistic", holdout=1000)
    (outcome,) = run_trials([spec])
    assert outcome.status == "budget_spent" and outcome.restarts_used == 5 and outcome.val_accuracy < 0.7


def test_the_exhaustive_learner_wants_a_family_it_can_search():
    with pytest.raises(DomainError, match="exhaustive"):
        run_trials([preset("fast", function="majority", s=3, T=10, m=50, seed=0, learner="exhaustive")])


def ran(*words):
    """The command in this process; its exit code."""
    with pytest.raises(SystemExit) as ended:
        main(["learn", *words])
    return ended.value.code


def test_learn_prints_one_json_object_and_writes_the_model(tmp_path, capsys):
    out = tmp_path / "model.safetensors"
    assert ran("x1 & x4", "--T", "12", "--m", "200", "--seed", "3", "--out", str(out), "--json") == 0
    result = json.loads(capsys.readouterr().out)
    keys = {"solved", "steps", "seconds", "train_accuracy", "val_accuracy", "support_mass", "restarts_used"}
    assert keys <= set(result) and result["solved"] is True
    assert load(out).T == 12


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("x1 & x40", "--T", "12", "--m", "20"), "x40"),
        (("x1 & x4", "--T", "12", "--m", "0"), "m is a whole number >= 1; got 0."),
        (("x1 & x4", "--T", "12", "--m", "20", "--heads", "0"), "--heads is a whole number >= 1; got 0."),
        (("x1 & x4", "--T", "12", "--m", "20", "--steps", "9", "--chart", "a.svg"), "every 10 steps"),
        (("x1 & x4", "--T", "12", "--m", "20", "--preset", "slow"), "fast, paper, literal, mingpt, best"),
        (("x1 & x4", "--T", "12", "--m", "20", "--out", "/nowhere/m.safetensors"), "/nowhere"),
        (("x1 & x4", "--T", "12", "--m", "20", "--threads", "0"), "thread"),
    ],
)
def test_bad_input_is_one_line_and_code_two(words, message, capsys):
    assert ran(*words) == 2
    errors = capsys.readouterr().err
    assert message in errors and len(errors.strip().splitlines()) == 1


class Asked(Exception):
    """What `learn` was called with."""


@pytest.mark.parametrize("name", PRESETS)
def test_the_command_leaves_every_setting_to_the_preset(name, monkeypatch):
    def asked(expression, **settings):
        raise Asked(settings)

    monkeypatch.setattr("sparsehead.train.learn.learn", asked)
    words = ["learn", "x1 & x4", "--T", "12", "--m", "20", "--preset", name]
    with pytest.raises(Asked) as caught:
        typer.main.get_command(app).main(words, standalone_mode=False)
    (given,) = caught.value.args
    fields = {key: value for key, value in given.items() if key in TrainSpec.__dataclass_fields__}
    wanted = preset(name, function="x1 & x4", T=12, m=20, seed=0)
    assert preset(name, function="x1 & x4", **fields) == wanted


def test_a_run_that_diverged_leaves_no_model_and_says_so(tmp_path, capsys):
    out = tmp_path / "model.safetensors"
    words = ("--T", "10", "--m", "100", "--learning-rate", "1e300", "--steps", "20", "--restarts", "1")
    assert ran("x1 & x2", *words, "--out", str(out), "--json") == 2
    said = capsys.readouterr()
    result = json.loads(said.out)
    assert result["status"] == "diverged" and result["model"] is result["val_accuracy"] is None
    assert "was not written: training diverged" in said.err and not out.exists()


def test_a_network_warms_up_as_the_transformer_does():
    """With a warm-up that is longer than the run, the loss falls less; the first step is the same for both."""
    losses = [
        learn("x1 & x4", T=12, m=60, seed=3, n_steps=60, learner="mlp", restarts=1, record_every=1,
              keep_training=True, warmup=w)
        for w in (0, 200)
    ]  # fmt: skip
    fast, slow = (run.history["loss"] for run in losses)
    assert slow[0] == fast[0] and slow[15] > fast[15] + 0.01


def test_what_takes_no_steps_has_no_fresh_samples():
    with pytest.raises(DomainError, match="a tree is fitted to one training set"):
        learn("x1 & x4", T=12, m=60, seed=3, learner="tree", online=True)
