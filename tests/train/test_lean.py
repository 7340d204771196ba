"""Runs that are lost: the lean against its definition, the rule in a trial, and where it does not apply."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from sparsehead.heads.model import Model
from sparsehead.train.data import training_set
from sparsehead.train.lean import _parts, agreement, lean
from sparsehead.train.loop import run_trials
from sparsehead.train.spec import PRESETS, TrainSpec, preset, spec_id
from sparsehead.train.transformer.engines import make_engine
from sparsehead.train.transformer.layout import layout
from sparsehead.train.transformer.weights import to_model
from sparsehead.train.trial import Trial
from sparsehead_paper.studies import law_stage, plans
from sparsehead_paper.studies.law_stage import Law, Laws
from sparsehead_paper.studies.spot import spots
from sparsehead_paper.studies.stage import Experiment, Workplace

from .support import random_row, random_sample, spec_of

NEAR = {"function": "and", "s": 3, "T": 60, "m": 26, "restarts": 1, "n_steps": 800}


def lean_by_definition(model: Model, sample) -> float:
    """The correlations by NumPy's own routine, the weights sample by sample."""
    bits, labels = sample
    each = [np.corrcoef(column, labels)[0, 1] if np.ptp(column) else 0.0 for column in bits.T]
    weights = model.attention(bits)[:, :, :-1].sum(axis=(0, 1))
    return float(weights @ each / weights.sum() - np.mean(each))


@pytest.mark.parametrize("size", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("gate", ["none", "both"])
def test_the_lean_is_that_of_its_definition(gate, size):
    spec = spec_of(gate=gate, signs="random", d=18)
    sample = random_sample(spec)
    sample[0][:, 3], sample[0][:, 4] = 1, 0  # constant bits correlate with nothing
    model = to_model(spec.architecture, random_row(spec, size=size))
    by_position = agreement(sample)
    assert (by_position[3], by_position[4]) == (0, 0)
    expected = lean_by_definition(model, sample)
    assert abs(expected) > 1e-5
    assert lean(model, sample, by_position) == pytest.approx(expected, abs=1e-12)


def test_large_training_sets_are_taken_in_parts(monkeypatch):
    spec = spec_of()
    sample, model = random_sample(spec), to_model(spec.architecture, random_row(spec))
    whole = agreement(sample), lean(model, sample, agreement(sample))
    monkeypatch.setattr("sparsehead.train.lean._parts", partial(_parts, numbers=5 * spec.T))
    assert agreement(sample) == pytest.approx(whole[0], abs=1e-14)
    assert lean(model, sample, whole[0]) == pytest.approx(whole[1], abs=1e-14)


def test_uniform_attention_has_no_lean():
    spec = spec_of()
    sample, row = random_sample(spec), random_row(spec)
    layout(spec.architecture).views(row)["W_Q.0"][...] = 0
    layout(spec.architecture).views(row)["b_Q.0"][...] = 0
    assert lean(to_model(spec.architecture, row), sample, agreement(sample)) == pytest.approx(0, abs=1e-12)


def run_watched(spec: TrainSpec):
    """The outcome without the rule, and the first step at which the rule of 0.02 would have ended the run."""
    sample, fitted, ended = training_set(spec), [], []

    def watch(trial: Trial) -> None:
        if trial.solved_at is None and trial.loss < 0.01:
            fitted.append(trial.step)
            if lean_by_definition(trial.engine.model({}), sample) < 0.02 * (trial.step - fitted[0]) / 1000:
                ended.append(trial.step)

    outcome = Trial(spec, make_engine(spec)).run(watch=watch)
    return outcome, ended[0] if ended else None


def test_a_lost_run_is_ended_at_the_step_that_the_definition_says():
    spec = preset("best", seed=10, least_lean=0.0, **NEAR)
    full, ends = run_watched(spec)
    assert not full.solved and full.steps == 800 and ends is not None and ends < 700
    (cut,) = run_trials([replace(spec, least_lean=0.02)])
    assert cut.status == "budget_spent" and cut.steps == ends
    checks = full.history["val_accuracy"][: ends // 10]
    assert cut.history["val_accuracy"] == checks  # up to its end the run is the same
    (next_one,) = run_trials([replace(spec, least_lean=0.02, restarts=2, n_steps=ends)])
    assert next_one.restarts_used == 2  # and the next initialisation is tried


def test_a_run_that_wins_is_left_alone():
    spec = preset("best", seed=3, least_lean=0.0, **NEAR)
    plain, ruled = run_trials([spec, replace(spec, least_lean=0.02)])
    assert plain.solved and (plain.steps, plain.history) == (ruled.steps, ruled.history)


@pytest.mark.parametrize(
    "changes",
    [{"function": "x3 & !x7", "s": None}, {"online": True}, {"L": 2, "T": 12}, {"learner": "mlp"}],
    ids=lambda changes: "-".join(changes),
)
def test_the_rule_does_not_judge_what_it_is_not_for(changes, monkeypatch):
    """Functions that fall with a bit, fresh batches, two layers, learners without attention."""
    monkeypatch.setattr("sparsehead.train.lean.lean", lambda *_: -1.0)  # any run that is judged is lost
    small = {"m": 12, "unique": False, "n_steps": 60, "restarts": 1, "holdout": 300, "least_lean": 1.0}
    (outcome,) = run_trials([spec_of(**{"T": 31, "learning_rate": 1e-2, **small, **changes})])
    assert outcome.solved or outcome.steps == 60
    (judged,) = run_trials([spec_of(T=31, learning_rate=1e-2, **small)])
    assert not judged.solved and judged.steps < 60


def test_no_preset_has_the_rule_and_ids_of_trials_stay_the_same():
    at = {name: preset(name, function="and", s=3, T=100, m=50, seed=1).least_lean for name in PRESETS}
    assert at == dict.fromkeys(PRESETS, 0.0)
    full = preset("best", function="and", s=3, T=100, m=50, seed=1, least_lean=0.0)
    assert spec_id(full) == "d974c17a9575f68e"  # of the same trial before the rule


def test_studies_measure_full_length_runs():
    """Committed results come from runs that no rule ends; fresh trials beside them are run alike."""
    stages = [*plans.plan("full"), *(spot.experiment for spot in spots("default"))]
    specs = [spec for stage in stages if isinstance(stage, Experiment) for spec in stage.specs]
    assert len(specs) > 1000 and {spec.least_lean for spec in specs} == {0.0}


def test_laws_of_studies_measure_full_length_runs(monkeypatch, tmp_path):
    given = []
    monkeypatch.setattr(law_stage, "law", lambda *_, **settings: given.append(settings))
    for stage in plans.plan("full"):
        for one in (
            stage.laws.values() if isinstance(stage, Laws) else [stage] if isinstance(stage, Law) else []
        ):
            one.measure(Workplace(tmp_path / "none.db", tmp_path))
    assert len(given) > 50 and {settings["least_lean"] for settings in given} == {0.0}
