"""The methods by their definitions, and the study on planted models, small."""

import numpy as np
import pytest

import sparsehead as sh
from sparsehead._base.errors import DomainError
from sparsehead.laws.intervals import wilson
from sparsehead_paper.studies import attributions, plans
from sparsehead_paper.studies.folder import read_results
from sparsehead_paper.studies.interpreters import (
    DIFFICULTIES,
    Interpreters,
    InterpretersRecord,
    Share,
    function_of,
    recoveries,
)
from sparsehead_paper.studies.stage import Workplace

torch = pytest.importorskip("torch")
T = 14
BITS = np.random.default_rng(0).integers(0, 2, (6, T))


@pytest.fixture(scope="module")
def planted():
    return sh.plant(
        "maj(x2, x5, x11)", T=T, distractors=["cancel", "constant", "silent"], difficulty=0.25, seed=1
    )


def outputs_with(planted, change):
    """By definition: outputs with token t changed, minus the output, for each t."""
    module = planted.torch()
    X = module.tokens(torch.as_tensor(BITS)).detach()
    found = []
    for t in range(T):
        other = X.clone()
        other[:, t] = change(module, X, t)
        found.append(module.outputs(other) - module.outputs(X))
    return torch.stack(found, dim=1).detach().numpy()


def test_ablation_is_the_change_of_the_output(planted):
    zeroed = outputs_with(planted, lambda module, X, t: torch.zeros(planted.d, dtype=torch.float64))
    np.testing.assert_allclose(attributions.ablation(planted, BITS, to="zero"), zeroed, atol=1e-10)
    assert np.abs(zeroed).max() > 0.1
    flips = np.stack(
        [planted.model(BITS ^ (np.arange(T) == t)) - planted.model(BITS) for t in range(T)], axis=1
    )
    np.testing.assert_allclose(attributions.ablation(planted, BITS, to="flip"), flips, atol=1e-10)


@pytest.mark.parametrize("baseline", ["zeros", "bits 0"])
def test_integrated_gradients_add_up_to_the_change_from_the_baseline(planted, baseline):
    """Completeness; the output has kinks, so the midpoint rule is off by about its step times a slope."""
    module = planted.torch()
    start = module.tokens(torch.zeros((len(BITS), T), dtype=torch.int64)).detach()
    if baseline == "zeros":
        start[:, :-1] = 0
    change = module(torch.as_tensor(BITS)) - module.outputs(start)
    errors = []
    for steps in (attributions.STEPS, 4 * attributions.STEPS):
        found = attributions.integrated_gradients(planted, BITS, baseline=baseline, steps=steps)
        errors.append(np.abs(found.sum(axis=1) - change.detach().numpy()).max())
    assert errors[0] < 0.1 and errors[1] < 0.03 and change.abs().max() > 0.4


def test_gradients_are_those_of_finite_differences():
    planted = sh.plant("x2 & x5", T=6, distractors=["constant"], difficulty=0, seed=0)
    bits = np.array([[1, 0, 1, 0, 0, 1], [0, 1, 1, 1, 0, 0]])
    module = planted.torch()
    X = module.tokens(torch.as_tensor(bits)).detach()
    found = attributions.gradient_times_input(planted, bits)
    for t in range(6):
        step = torch.zeros_like(X)
        step[:, t] = 1e-6 * X[:, t]
        slope = (module.outputs(X + step) - module.outputs(X - step)) / 2e-6
        np.testing.assert_allclose(found[:, t], slope.detach(), atol=1e-6)


def test_rollout_of_one_layer_is_half_of_the_attention(planted):
    """By its definition, with every token as a query."""
    from sparsehead.heads.block import attention_rows

    layer = planted.model.layers[0]
    for bits, row in zip(BITS, attributions.rollout(planted, BITS)):
        X = planted.model.encoding(bits)
        A = np.mean([attention_rows(X, layer, h) for h in range(layer.H)], axis=0)
        np.testing.assert_allclose(((A + np.eye(T + 1)) / 2)[-1, :-1], row, atol=1e-12)


def test_a_linear_probe_finds_bits_that_nothing_reads():
    planted = sh.plant("x2 & x5", T=T, distractors=["silent"], difficulty=1, seed=0)
    scores = attributions.probe(planted, BITS)
    best = np.argsort(-scores)[:4]
    assert set(best.tolist()) == {*planted.support, *planted.decoys}
    assert scores.min() >= 0 and scores[best].min() > 0.3 and scores.max() <= 1


def test_a_linear_probe_is_scored_on_inputs_that_it_was_not_fitted_to():
    """Bits that no head attends to are not predicted: R^2 on new inputs is negative for about half of them, so 0."""
    planted = sh.plant("x2 & x5", T=60, difficulty=0, distractors=0, seed=0)
    assert (
        np.median(np.delete(attributions.probe(planted, np.zeros((1, 60), dtype=int)), planted.support)) == 0
    )


def test_every_method_finds_the_support_where_nothing_distracts_and_attention_misses_it_where_heads_do():
    easy = recoveries(sh.plant("x2 & x5 & x11", T=30, difficulty=0, seed=0))
    assert {r.recall_at_s for r in easy.values()} == {1.0}
    hard = recoveries(sh.plant("x2 & x5 & x11", T=30, difficulty=1, seed=0))
    assert hard["attention"].recall_at_s == hard["attention rollout"].recall_at_s == 0
    assert hard["gradient x input"].recall_at_s == pytest.approx(3 / 30)  # all scores are 0
    assert hard["ablation by flips"].recall_at_s == hard["ablation by flips"].precision == 1


def test_the_study_writes_a_cell_for_each_method_length_and_arm(tmp_path, monkeypatch):
    quick = {name: attributions.METHODS[name] for name in ("attention", "ablation by flips", "linear probe")}
    monkeypatch.setattr("sparsehead_paper.studies.interpreters.FUNCTIONS", ("and",))
    monkeypatch.setattr("sparsehead_paper.studies.interpreters.METHODS", quick)
    said = []
    place = Workplace(tmp_path / "r.db", tmp_path, report=lambda title, progress: said.append(progress))
    small = Interpreters((9,), repeats=2, s=2)
    assert small.run(place) == []
    record = read_results(tmp_path, "interpreters", InterpretersRecord)
    assert len(record.cells) == 8 * 3 and not record.complete
    assert (said[-1].done, said[-1].total) == (16, 16) and said[-1].eta == 0
    cell = record.row("ablation by flips", T=9, difficulty=0.5)
    assert cell.plants == 2 and cell.found.mean == cell.recall_at_s.mean == 1
    assert len((tmp_path / "interpreters.csv").read_text().splitlines()) == 25
    with pytest.raises(DomainError, match="no cell for attention at T=10"):
        record.row("attention", T=10, difficulty=0.5)
    with pytest.raises(DomainError, match="cannot be added to"):
        small.run(Workplace(tmp_path / "r.db", tmp_path, add=True))
    assert "without --stored" in small.run(Workplace(tmp_path / "r.db", tmp_path, stored=True))[0]


def test_models_of_a_cell_differ_in_heads_and_functions_and_functions_stay_along_the_dial():
    stage = Interpreters((20,), repeats=2)
    easy, hard = (list(stage.planted(20, x, "dial")) for x in (0.0, 1.0))
    assert [p.function for p in easy] == [p.function for p in hard] and len(easy) == 8
    assert [sum(h.role == "reading" for h in p.heads) for p in easy] == [1] * 4 + [3] * 4
    assert len({p.function for p in easy}) == 8 and {p.function.s for p in easy} == {3}
    assert function_of("junta", 40, 3, seed=0) == function_of("junta", 40, 3, seed=0)


def test_intervals_of_means_are_wilson_s_at_the_same_count():
    whole = Share.of([1.0] * 24 + [0.0] * 16)
    assert (whole.low, whole.high) == pytest.approx(wilson(24, 40)) and whole.mean == 0.6
    assert Share.of([0.0] * 5).low == 0.0 and Share.of([1.0] * 5).high == 1.0


def test_the_whole_study_is_run_by_name():
    assert plans.command_for("interpreters") == "sparsehead reproduce --only interpreters"
    (stage,) = plans.only(["interpreters"])
    assert stage == Interpreters() and stage.summary()[1] == "576 models"
    assert 100 < stage.seconds(None) < 900
    assert DIFFICULTIES[0] == 0 and DIFFICULTIES[-1] == 1
