"""The study of parity with intermediate labels, small: its fast sums against the definition, and its four parts."""

import math
from dataclasses import replace

import numpy as np
import pytest

from sparsehead._base.rng import stream
from sparsehead_paper.studies import plans
from sparsehead_paper.studies import taught_parity as study
from sparsehead_paper.studies.folder import committed, read_results
from sparsehead_paper.studies.stage import Workplace
from sparsehead_paper.studies.taught_parity import (
    TaughtParity,
    TaughtParityRecord,
    at_children,
    directions,
    gradient_sums,
    one_step,
    own_steps,
    random_bits,
    trained_directly,
    units,
)
from sparsehead_paper.theory import taught_parity as taught

SMALL = TaughtParity(
    ds=(16,), ks=(4,), sizes=(4, 256), repeats=3, own_repeats=1, direct=(2, 4), direct_steps=60
)


@pytest.mark.parametrize("live", [[True] * 7, [True, False, True, True, False, False, False]])
def test_the_sums_give_the_gradient_of_the_definition_over_the_tokens_that_are_live(live):
    d, k = 12, 8
    seen = taught.tokens(random_bits(200, d, np.random.default_rng(0)).astype(float), k)
    labels, live = seen[:, d:], np.array(live)
    found = directions(gradient_sums(seen, labels, live), len(seen), live)
    for q, w in enumerate(found):
        columns = [*range(d), *(d + np.flatnonzero(live[:q]))]
        expected = np.zeros(d + q)
        expected[columns] = units(taught.gradient(seen[:, columns], labels[:, q]))
        np.testing.assert_allclose(w, expected, atol=1e-12)


def test_random_bits_are_signs_and_balanced():
    bits = random_bits(4000, 13, np.random.default_rng(0))
    assert set(np.unique(bits)) == {-1.0, 1.0} and bits.shape == (4000, 13)
    assert abs(bits.mean(axis=0)).max() < 4 / np.sqrt(4000)
    assert abs(np.corrcoef(bits.T) - np.eye(13)).max() < 5 / np.sqrt(4000)


@pytest.mark.claim("taught-own-steps")
def test_steps_without_true_values_end_with_the_children():
    d, k = 24, 8
    found = own_steps(d, k, 400 * d, np.random.default_rng(0))
    for w, mask in zip(found, at_children(d, k), strict=True):
        np.testing.assert_array_equal(w, mask)


@pytest.mark.claim("untaught-parity")
def test_direct_training_solves_a_parity_of_two():
    d = 10
    (w,) = trained_directly(d, 2, 500, 200, np.random.default_rng(0))
    assert set(np.argsort(w)[-2:]) == {0, 1}


@pytest.mark.claim("taught-one-step")
def test_the_stage_writes_what_it_measures(tmp_path):
    place = Workplace(tmp_path / "t.db", tmp_path, report=lambda title, progress: None)
    assert SMALL.run(place) == []
    found = read_results(tmp_path, "taught-parity", TaughtParityRecord)
    assert not found.complete
    few, many = found.steps
    assert (few.n, many.n) == (64, 4096)
    assert few.solved < many.solved == many.rounded == many.leading == 3
    (own,) = found.own
    assert (own.steps, own.exact) == (2, 1)
    easy, hard = found.direct
    assert min(easy.accuracies) > 0.99 > min(hard.accuracies)
    (gap,) = found.gaps
    assert gap.sampled_child == pytest.approx(gap.child, abs=0.2)


def test_reproduce_knows_the_stage():
    assert plans.command_for("taught-parity") == "sparsehead reproduce --only taught-parity"
    assert plans.only(["taught-parity"]) == [TaughtParity()]


def test_the_committed_cells_are_those_of_the_plan():
    plan, record = TaughtParity(), read_results(committed(), "taught-parity", TaughtParityRecord)
    cells = [(d, k) for d in plan.ds for k in plan.ks]
    assert [(c.d, c.k, c.n, c.trials) for c in record.steps] == [
        (d, k, size * d, plan.repeats) for d, k in cells for size in plan.sizes
    ]
    assert [(c.d, c.k, c.n, c.trials) for c in record.own] == [
        (d, k, plan.sizes[-1] * d, plan.own_repeats) for d, k in cells
    ]
    assert [(c.d, c.k, c.n) for c in record.gaps] == [(d, k, plan.sizes[-1] * d) for d, k in cells]
    assert [(c.d, c.k, c.n, c.steps, len(c.accuracies)) for c in record.direct] == [
        (plan.ds[0], k, 64 * plan.ds[0], plan.direct_steps, 5) for k in plan.direct
    ]


def test_one_rate_gives_scores_in_proportion_to_gradients(monkeypatch):
    """The gradient of a node with N tokens before it has units of pi^2/N^2; the last node's unit gives the score L."""
    seen = []
    monkeypatch.setattr(study, "accuracy", lambda scores, d, rng: seen.append(scores) or 1.0)
    d, k, plan = 8, 4, replace(SMALL, sizes=(64,), repeats=1)
    plan._one_step(d, k)
    (found,) = one_step(d, k, (64 * d,), stream(0, "taught-parity", d, k, 0))
    for q, (w, score) in enumerate(zip(found, seen[0], strict=True)):
        assert score == pytest.approx(w * 2 * math.log(d + k - 2) * ((d + k - 2) / (d + q)) ** 2)


def test_a_trial_leads_if_both_children_are_above_every_other_token(monkeypatch):
    """Directions made up for the two trials: children in front at every node, and behind at one."""
    d, k, plan = 8, 4, replace(SMALL, sizes=(1,), repeats=2)
    right = [mask.astype(float) for mask in at_children(d, k)]
    wrong = [*right[:-1], 1 - right[-1]]
    made_up = iter([[right], [wrong]])
    monkeypatch.setattr(study, "one_step", lambda *_: iter(next(made_up)))
    monkeypatch.setattr(study, "accuracy", lambda *_: 0.0)
    _, (row,) = plan._one_step(d, k)
    assert (row.leading, row.solved, row.rounded) == (1, 0, 1)
