"""Trials: restarts, checks that stop early without changing a verdict, histories, specs."""

import json
import math
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

from sparsehead._base.errors import DomainError
from sparsehead.functions import parse
from sparsehead.train.data import FreshBatches, Holdout, check_on, training_set
from sparsehead.train.learn import learn, read_back
from sparsehead.train.loop import run_trials
from sparsehead.train.spec import TrainSpec, preset, spec_id, target_function, task_of

SMALL = {"function": "and", "s": 2, "T": 20, "d": 16, "H": 4, "k": 4, "mlp": 32, "holdout": 2000}


def spec_of(**settings):
    return preset("fast", **{**SMALL, "m": 100, "seed": 0, **settings})


def test_a_solved_trial_says_when_and_where_it_looks():
    seen = []
    (outcome,) = run_trials([spec_of()], on_outcome=lambda spec, o: seen.append((spec, o)), mass_every=10)
    assert outcome.status == "solved" and outcome.steps % 10 == 0 and outcome.val_accuracy > 0.99
    assert seen == [(spec_of(), outcome)] and outcome.spec_id == spec_id(spec_of())
    assert 0 < outcome.support_mass <= 1
    assert outcome.history["check_step"][-1] == outcome.steps == outcome.history["mass_step"][-1]
    assert len(outcome.history["norm_QK_21"]) == len(outcome.history["support_mass"])
    json.dumps(asdict(outcome), allow_nan=False)


def test_a_trial_that_never_learns_spends_its_restarts():
    (outcome,) = run_trials([spec_of(m=8, unique=False, n_steps=20, restarts=3)])
    assert outcome.status == "budget_spent" and outcome.restarts_used == 3 and outcome.steps == 20
    assert outcome.val_accuracy < 0.99


def test_best_of_five_is_the_first_restart_that_succeeds():
    spec = spec_of(m=16, seed=3, n_steps=80, stall=0)  # a trial that needs its third restart
    (whole,), (fewer,) = run_trials([spec]), run_trials([replace(spec, restarts=2)])
    assert whole.solved and whole.restarts_used == 3
    assert not fewer.solved and fewer.restarts_used == 2


def test_outcomes_do_not_depend_on_order():
    specs = [spec_of(seed=seed, m=m) for seed in range(3) for m in (40, 100)]
    key = [(o.status, o.steps, o.val_accuracy, o.history["loss"]) for o in run_trials(specs)]
    again = run_trials(specs[::-1])[::-1]
    assert key == [(o.status, o.steps, o.val_accuracy, o.history["loss"]) for o in again]


def test_early_stopping_gives_the_verdict_of_the_whole_holdout():
    spec = spec_of(holdout=3000)
    holdout, rng = Holdout(spec), np.random.default_rng(0)
    chunks = [holdout.chunk(i) for i in range(len(holdout.sizes))]
    assert sum(holdout.sizes) == 3000
    for rate in (0.0, 0.005, 0.009, 0.0099, 0.0101, 0.012, 0.05, 0.5):
        wrong = [rng.random(len(labels)) < rate for _, labels in chunks]
        answers = iter([labels ^ flips for (_, labels), flips in zip(chunks, wrong, strict=True)])
        accuracy, solved = check_on(lambda bits, answers=answers: next(answers), holdout, spec.allowed_errors)  # type: ignore[misc]
        true = 1 - sum(flips.sum() for flips in wrong) / 3000
        assert solved == (true > 0.99)
        if solved:
            assert accuracy == pytest.approx(true, abs=1e-12)


@pytest.mark.parametrize("errors", [29, 30])
def test_the_last_error_decides(errors):
    spec = spec_of(holdout=3000)  # 29 errors leave more than 0.99, 30 do not
    holdout, left = Holdout(spec), [errors]

    def predict(bits):
        _, labels = next(
            c for c in chunks if c[0] is bits or (c[0].shape == bits.shape and (c[0] == bits).all())
        )
        wrong = min(left[0], len(labels))
        left[0] -= wrong
        return labels ^ (np.arange(len(labels)) < wrong)

    chunks = [holdout.chunk(i) for i in range(len(holdout.sizes))]
    assert check_on(predict, holdout, spec.allowed_errors)[1] == (errors == 29)


def test_allowed_errors_is_exact():
    assert spec_of(holdout=10_000).allowed_errors == 99  # 100 errors are 0.99, which does not exceed 0.99
    assert spec_of(holdout=100).allowed_errors == 0
    assert spec_of(holdout=1000, target=0.5).allowed_errors == 499


def test_holdout_chunks_are_the_same_however_they_are_asked_for():
    spec = spec_of(T=50)
    one, other = Holdout(spec), Holdout(spec)
    last = len(one.sizes) - 1
    late = one.chunk(last)
    for i in range(last):
        other.chunk(i)
    assert all((a == b).all() for a, b in zip(late, other.chunk(last), strict=True))
    # Kept packed, unpacked again.
    assert all((a == b).all() for a, b in zip(late, one.chunk(last), strict=True))


def test_holdout_labels_are_clean():
    spec = spec_of(noise=0.3)
    bits, labels = Holdout(spec).chunk(0)
    assert (target_function(spec)(bits) == labels).all()
    bits, labels = training_set(spec)
    assert not (target_function(spec)(bits) == labels).all()


def test_streams_are_separate():
    spec = spec_of()
    assert (training_set(spec)[0] == training_set(replace(spec, n_steps=7))[0]).all()
    a, b = FreshBatches(spec, 0), FreshBatches(spec, 0)
    assert (a()[0] == b()[0]).all() and not (a()[0] == FreshBatches(spec, 0)()[0]).all()
    assert not (FreshBatches(spec, 0)()[0] == FreshBatches(spec, 1)()[0]).all()


def test_fresh_samples_every_step_learn_too():
    run = learn(
        "x1 ^ x4",
        T=8,
        m=256,
        seed=0,
        online=True,
        d=16,
        H=4,
        k=4,
        mlp=64,
        n_steps=800,
        restarts=2,
        learning_rate=3e-3,
        record_every=1,
    )
    assert run.solved and len(run.history["loss"]) == run.steps
    assert (
        run.model.predict(np.eye(8, dtype=np.uint8)) == parse("x1 ^ x4", T=8)(np.eye(8, dtype=np.uint8))
    ).all()


def test_stalled_runs_are_given_up():
    spec = spec_of(m=12, unique=False, restarts=1, n_steps=2000, seed=1, stall=0)
    (full,), (cut,) = run_trials([spec]), run_trials([replace(spec, stall=100)])
    assert not full.solved and full.steps == 2000
    assert cut.status == "budget_spent" and cut.steps < 2000


def test_warm_up_slows_the_first_steps():
    fast, slow = run_trials([spec_of(n_steps=10, restarts=1), spec_of(n_steps=10, restarts=1, warmup=100)])
    assert fast.history["loss"] != slow.history["loss"]


def test_specs_are_their_contents():
    a, b = spec_of(), spec_of()
    assert a == b and spec_id(a) == spec_id(b) and len(spec_id(a)) == 16
    assert spec_id(a) != spec_id(spec_of(seed=1)) != spec_id(spec_of(m=101))
    assert TrainSpec(**json.loads(json.dumps(asdict(a)))) == a
    assert task_of(a).p == pytest.approx(math.sqrt(0.5))


@pytest.mark.parametrize(("name", "key"), [("fast", "bd32cfb416492fdf"), ("mingpt", "27766e2ac78dcd4d")])
def test_ids_of_presets_stay_the_same(name, key):
    """A preset whose settings change no longer finds the trials that are stored."""
    assert spec_id(preset(name, function="and", s=3, T=100, m=50, seed=1)) == key


def test_the_eps_of_preset_best_falls_with_T_unless_it_is_given():
    at = [preset("best", function="and", s=3, T=T, m=50, seed=0).adam_eps for T in (100, 10_000)]
    assert at == [0.01, 0.0001]
    assert preset("best", function="and", s=3, T=100, m=50, seed=0, adam_eps=0.5).adam_eps == 0.5
    with pytest.raises(DomainError, match="T"):
        preset("best", function="and", s=3, T=0, m=50, seed=0)


def test_the_presets_that_read_the_paper():
    """Both have dropout and runs of full length; they differ in decay, clipping and initialisation."""
    for name, decay, clip, init in (
        ("paper", ("adamw", "matrices", 1e-4), 1.0, "torch-default"),
        ("literal", ("adam", "all", 1e-4), 0.0, "mingpt"),
        ("mingpt", ("adamw", "matrices", 1e-4), 1.0, "mingpt"),
    ):
        spec = preset(name, **SMALL, m=1, seed=0)
        assert (spec.optimiser, spec.decay, spec.weight_decay) == decay
        assert (spec.clip, spec.init) == (clip, init)
        assert (spec.dropout, spec.learning_rate, spec.stall) == (0.1, 1e-3, 0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"m": 0}, "m is a whole number >= 1; got 0"),
        ({"dropout": 1.0}, "dropout"),
        ({"learner": "oracle"}, "oracle"),
        ({"s": None}, "support size"),
        ({"target": 1.0}, "target"),
        ({"learning_rate": 0.0}, "learning_rate is a finite number > 0; got 0"),
        ({"beta_1": 1.0}, "beta_1 is a finite number >= 0 and < 1; got 1"),
        ({"lr": 0.1}, "did you mean 'learning_rate'"),
    ],
)
def test_specs_that_cannot_be_meant_are_refused(settings, message):
    with pytest.raises(DomainError, match=message):
        spec_of(**settings)


def test_learn_refuses_what_it_does_not_know():
    with pytest.raises(DomainError, match="hheads"):
        learn("x1 & x2", T=8, m=10, seed=0, hheads=2)  # type: ignore[call-overload]
    with pytest.raises(DomainError, match="context length"):
        learn("x1 & x2", m=10, seed=0)
    with pytest.raises(DomainError, match="T=9"):
        learn(parse("x1", T=8), T=9, m=10, seed=0)


@pytest.mark.parametrize("encoding", ["positional", "random", "bag"])
def test_theory_heads_train_on_fixed_encodings(encoding):
    bare: Any = {
        "norm": False,
        "mlp": 0,
        "residual": False,
        "bias": False,
        "scaled": False,
        "sigma": "relu",
    }
    run = learn("x3 | x11", T=20, m=200, seed=0, encoding=encoding, H=1, k=8, d=40, init_std=0.2, **bare)
    assert run.solved
    layer = run.model.layers[0]
    assert layer.norm_attention is None and layer.b_Q is None and layer.mlp is None and layer.temperature == 1
    assert run.model.encoding.kind == encoding


def test_a_solved_run_is_read_back_with_its_certificate():
    run = learn("x2 & x7", T=24, m=120, seed=3)
    assert run.solved
    reading = read_back(run)
    assert str(reading.function) == "x2 & x7"
    assert reading.p == run.model.meta["p"] == 0.5**0.5
    assert reading.certificate.m == 120
    assert reading.certificate.mistakes == 0
    assert reading.certificate.model_bound < 0.3


def test_a_run_without_a_model_has_no_reading():
    assert read_back(learn("x2 & x7", T=24, m=120, seed=3, learner="tree")) is None
