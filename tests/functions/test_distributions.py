# mypy: disable-error-code="arg-type,list-item,return-value"
"""Tasks with a distribution of the user's own: p by position, samplers, noise in labels and in bits."""

import numpy as np
import pytest

import sparsehead as sh
from sparsehead.functions.inputs import is_importable, p_text, read_inputs, sampler_text
from sparsehead.train.spec import TrainSpec, preset, spec_id, spec_text, task_of, task_settings

F = sh.parse("x0 & x2", T=4)
P = (0.9, 0.5, 0.2, 0.0)


def pairs_equal(n, T, rng):
    """Bits in which every odd position repeats the one before it."""
    return np.repeat(rng.integers(0, 2, (n, (T + 1) // 2)), 2, axis=1)[:, :T]


def test_each_position_has_its_own_share_of_ones():
    task = sh.Task(F, list(P))
    bits, labels = task.sample(20_000, rng=np.random.default_rng(0))
    # five standard deviations of a share of 20,000 draws are at most .018
    assert np.abs(bits.mean(axis=0) - P).max() < 0.018 and not bits[:, 3].any()
    assert task.positive_rate == pytest.approx(0.9 * 0.2)
    assert abs(labels.mean() - task.positive_rate) < 0.018 and task.shared_p is None


def test_equal_shares_have_the_rate_of_one_p():
    for text in ("x0 & x2", "maj(x0, x1, x3)", "x1 ^ x3", "1"):
        f = sh.parse(text, T=4)
        one, each = sh.Task(f, 0.3, 0.1), sh.Task(f, np.full(4, 0.3), 0.1)
        assert each.positive_rate == pytest.approx(one.positive_rate, abs=1e-12)


def test_a_sampler_draws_the_inputs():
    task = sh.Task(F, sampler=pairs_equal, noise=0.1)
    bits, labels = task.sample(5000, rng=np.random.default_rng(1))
    assert (bits[:, 0] == bits[:, 1]).all() and bits.dtype == labels.dtype == np.uint8
    assert 0.07 < (labels != F(bits)).mean() < 0.13
    with pytest.raises(sh.SparseheadError, match="is unknown"):
        _ = task.positive_rate
    assert "Task" in task._repr_html_()


def test_noise_in_bits_comes_after_the_label():
    clean, noisy = sh.Task(F, 0.5), sh.Task(F, 0.5, feature_noise=0.2)
    bits, labels = clean.sample(20_000, rng=np.random.default_rng(2))
    seen, same = noisy.sample(20_000, rng=np.random.default_rng(2))
    assert (labels == same).all() and (labels == F(bits)).all()
    shares = (bits != seen).mean(axis=0)
    assert np.abs(shares - 0.2).max() < 0.015  # five standard deviations


def test_without_new_noise_a_task_draws_what_it_always_drew():
    bits, labels = sh.Task(F, 0.3, 0.1).sample(6, rng=np.random.default_rng(3))
    rng = np.random.default_rng(3)
    draws = rng.integers(0, 256, size=(6, 4), dtype=np.uint8)
    assert not (draws == 76).any()  # a tie would take one more draw
    assert (bits == (draws < 76)).all() and (labels == F(bits) ^ (rng.random(6) < 0.1)).all()


def test_the_id_of_an_older_trial_does_not_change():
    spec = TrainSpec(function="x1", T=4, m=9, seed=0)
    assert "inputs" not in spec_text(spec) and "feature_noise" not in spec_text(spec)
    others = [
        TrainSpec(function="x1", T=4, m=9, seed=0, **new)
        for new in ({"inputs": "p:0.5"}, {"feature_noise": 0.1})
    ]
    assert len({spec_id(each) for each in [spec, *others]}) == 3


@pytest.mark.parametrize(
    "task",
    [sh.Task(F, 0.3, 0.1), sh.Task(F, P, 0.1, 0.2), sh.Task(F, sampler=pairs_equal), sh.Task.balanced(F)],
    ids=["one p", "each p", "sampler", "balanced"],
)
def test_a_spec_has_the_task_that_it_was_made_of(task):
    spec = preset("fast", m=20, seed=1, **task_settings(task))
    assert task_of(spec) == task


def test_texts_of_distributions_are_read_back():
    assert read_inputs(p_text(P), 4) == P and read_inputs("p:0.1", 3) == (0.1,) * 3
    text = sampler_text(pairs_equal)
    assert read_inputs(text, 4) is pairs_equal
    # closures with the same source are different samplers, and each is found again
    made = [lambda n, T, rng, k=k: np.full((n, T), k) for k in (0, 1)]
    texts = [sampler_text(each) for each in made]
    assert len(set(texts)) == 2 and texts == [sampler_text(each) for each in made]
    assert [read_inputs(text, 4) for text in texts] == made
    assert read_inputs("os.path:join", 4) is __import__("os").path.join
    with pytest.raises(sh.SparseheadError, match="has changed"):
        read_inputs("os.path:join@00000000", 4)


def test_a_learner_of_named_sets_is_judged_on_the_holdout_when_bits_differ():
    run = sh.learn(
        sh.Task(sh.parse("x0 & x2", T=6), [0.8, 0.5, 0.7, 0.5, 0.3, 0.5]), m=80, seed=0, learner="greedy"
    )
    assert run.solved and run.outcome.val_accuracy > 0.99
    with pytest.raises(sh.SparseheadError, match="bits that share one p"):
        sh.learn(sh.Task(sh.parse("x0 & x2", T=4), P), m=50, seed=0, learner="comp", unique=False)


def test_a_task_is_learned_and_read():
    from sparsehead.train.learn import read_back

    task = sh.Task(sh.parse("x1 & x4", T=12), [0.6, 0.8] * 6, noise=0.02, feature_noise=0.01)
    run = sh.learn(task, m=300, seed=3, n_steps=200)
    assert run.solved and run.spec.feature_noise == 0.01 and run.model.meta["p"] is None
    reading = read_back(run)
    assert reading.formula == "x1 & x4" and reading.certificate.model_bound is None


def test_a_law_of_tasks_has_no_floor_unless_bits_share_one_p(tmp_path):
    from sparsehead.laws import Adaptive

    policy = Adaptive(start=12, max_trials=8)
    asked = {"T": 8, "learner": "tree", "policy": policy, "workers": 1}
    one = sh.law(task_of=lambda T: sh.Task(sh.parse("x0 & x2", T=T), 0.7), db=tmp_path / "a.db", **asked)
    each = sh.law(
        task_of=lambda T: sh.Task(sh.parse("x0 & x2", T=T), [0.7, 0.5] * 4), db=tmp_path / "b.db", **asked
    )
    assert one.floor and not each.floor and not each.slopes
    assert one.target == each.target == "x0 & x2" and each.thresholds[8].trials == 8


WRONG = [
    ("either p or a sampler", lambda: sh.Task(F)),
    ("either p or a sampler", lambda: sh.Task(F, 0.5, sampler=pairs_equal)),
    ("sampler is a function", lambda: sh.Task(F, sampler=3)),
    ("p needs T=4 probabilities, one for each position, each from 0 to 1; got 3", lambda: sh.Task(F, [0.5] * 3)),
    ("each from 0 to 1", lambda: sh.Task(F, [0.5, 0.5, 0.5, 1.5])),
    ("each p is a finite number", lambda: sh.Task(F, [0.5, 0.5, 0.5, "a"])),
    ("each p is a finite number", lambda: sh.Task(F, [0.5, 0.5, 0.5, float("nan")])),
    ("p is a finite number", lambda: sh.Task(F, "0.5")),
    ("below 1/2, got feature_noise=0.5", lambda: sh.Task(F, 0.5, feature_noise=0.5)),
    ("feature_noise", lambda: sh.Task(F, 0.5, feature_noise=-0.1)),
    ("a sampler returns bits of shape \\(5, 4\\)", lambda: sample(lambda n, T, rng: np.zeros((n + 1, T), int))),
    ("4|last axis", lambda: sample(lambda n, T, rng: np.zeros((n, 3), int))),
    ("0 nor 1|0 or 1|zeros and ones|neither", lambda: sample(lambda n, T, rng: np.full((n, T), 2))),
    ("the task determines noise", lambda: sh.learn(sh.Task(F, 0.5), m=9, seed=0, noise=0.1)),
    ("both say how bits are drawn", lambda: sh.learn(F, m=9, seed=0, p=0.5, inputs="p:0.5")),
    ("numbers separated by commas", lambda: sh.learn(F, m=9, seed=0, inputs="p:0.5;0.6")),
    ("package.module:name", lambda: sh.learn(F, m=9, seed=0, inputs="nowhere:f")),
    ("package.module:name", lambda: sh.learn(F, m=9, seed=0, inputs="os:nothing")),
    ("package.module:name", lambda: sh.learn(F, m=9, seed=0, inputs="")),
    ("task_of is a function of T", lambda: sh.law(task_of=3, T=8)),
    ("at least one context length", lambda: sh.law(task_of=lambda T: sh.Task(F, 0.5))),
    ("what task_of returns is a Task", lambda: sh.law(task_of=lambda T: F, T=8)),
    ("returned a task with T=4", lambda: sh.law(task_of=lambda T: sh.Task(F, 0.5), T=8)),
    ("task_of determines noise", lambda: sh.law(task_of=lambda T: sh.Task(F, 0.5), T=4, noise=0.1)),
    ("task_of determines s", lambda: sh.law(task_of=lambda T: sh.Task(F, 0.5), T=4, s=2)),
    ("task_of determines function", lambda: sh.law("or", task_of=lambda T: sh.Task(F, 0.5), T=4)),
    ("must import the sampler", lambda: sh.law(task_of=lambda T: sh.Task(F, sampler=lambda n, T, rng: 0), T=4)),
]  # fmt: skip


def sample(sampler):
    return sh.Task(F, sampler=sampler).sample(5, rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("says", "call"), WRONG, ids=[f"{i}-{says[:20]}" for i, (says, _) in enumerate(WRONG)]
)
@pytest.mark.usefixtures("unchecked")
def test_a_wrong_distribution_is_one_line(says, call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(sh.SparseheadError, match=says) as refused:
        call()
    assert "\n" not in str(refused.value) and list(tmp_path.iterdir()) == []


def test_what_other_processes_can_import():
    from sparsehead.functions.task import conjunction_p

    assert is_importable(sampler_text(conjunction_p)) and not is_importable(sampler_text(lambda n, T, rng: 0))
