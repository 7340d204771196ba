"""From the store to the records that charts and verdicts use, on small runs that are really trained."""

import numpy as np
import pytest

from sparsehead.claims import experiments as checks
from sparsehead.claims.claim import Context
from sparsehead.experiments import collect, plans
from sparsehead.experiments.run import run_experiment, write, write_experiment
from sparsehead.store import Store


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "results.db"
    run_experiment(plans.attention(seeds=1), path, workers=1)
    run_experiment(plans.norms((30, 60), 1), path, workers=1)
    return path


@pytest.mark.claim("attention-and")
def test_the_attention_map_is_kept_and_lies_on_the_support(db):
    with Store(db, readonly=True) as store:
        data = collect.attention(store, plans.attention(seeds=1))
    assert np.shape(data["weights"]) == (100, 51) and data["support"] == [5, 20, 30]
    run = data["runs"][0]
    assert run["solved"] and run["total"] > 0.8  # three of 51 tokens; uniform attention would give .06
    assert run["total"] + run["on_cls"] + run["irrelevant_total"] == pytest.approx(1, abs=1e-6)


@pytest.mark.claim("bound-along-training", "norms-learned")
def test_learned_norms_stand_beside_written_ones(db):
    with Store(db, readonly=True) as store:
        points = collect.learned_norms(store, plans.norms((30, 60), 1))["points"]
        along = collect.bound_along(store, plans.norms((30, 60), 1), T=30)["points"]
    written = {p["T"]: p["norm"] for p in points if p["source"] == "written"}
    # beta sqrt s; tokens bit + position have squared norm 2
    assert written[60] == pytest.approx(2 * 3**0.5 * np.log((60 - 3 + 1) * 7 / 3))
    learned = {p["T"]: p["norm"] for p in points if p["source"] == "learned"}
    assert set(learned) == {30, 60} and min(learned.values()) > 0
    assert along[-1]["bound"] > along[0]["bound"] and along[-1]["accuracy"] > 0.99


def test_an_empty_store_gives_empty_records_and_checks_say_not_run(tmp_path):
    path = tmp_path / "empty.db"
    Store(path).close()
    for stage in plans.plan("full"):
        if isinstance(stage, plans.Experiment):
            write_experiment(stage, path, tmp_path)
    context = Context(options={"results": str(tmp_path)})
    for name in (
        "law",
        "law_grid",
        "law_dropout",
        "law_decades",
        "curves",
        "attention",
        "parity",
        "norms_learned",
        "bound_along_training",
        "dropout",
    ):
        for chosen in (context, Context()):
            assert getattr(checks, f"check_{name}")(chosen).verdict == "not run"


def trials(m, solved, failed, step=80):
    rows = [{"m": m, "solved": True, "steps": step, "train_accuracy": 1.0}] * solved
    return rows + [{"m": m, "solved": False, "steps": 1000, "train_accuracy": 1.0}] * failed


@pytest.mark.claim("curves-and")
@pytest.mark.parametrize(
    ("below", "above", "verdict"),
    [
        ((24, 16), (40, 0), "holds"),
        ((40, 0), (40, 0), "differs"),
        ((24, 16), (39, 1), "differs"),
        ((8, 32), (40, 0), "differs"),
    ],
)
def test_the_curves_verdict_comes_from_the_interval(below, above, verdict, tmp_path):
    write(tmp_path / "curves.json", {"trials": trials(50, *below) + trials(200, *above), "curves": []})
    finding = checks.check_curves(Context(options={"results": str(tmp_path)}))
    assert finding.verdict == verdict and f"m=50: {below[0]}/40" in finding.ours
    assert "dropout" not in finding.detail
    write(tmp_path / "curves-paper.json", {"trials": trials(50, 3, 2) + trials(200, 5, 0), "curves": []})
    finding = checks.check_curves(Context(options={"results": str(tmp_path)}))
    assert finding.verdict == verdict and "With the paper's dropout: m=200: 5/5, m=50: 3/5." in finding.detail


@pytest.mark.claim("law-and")
@pytest.mark.parametrize(
    ("shift", "delta", "slope", "verdict"),
    [
        (0, 0.0, (22.0, 36.0), "holds"),
        (60, 0.0, (22.0, 36.0), "differs"),
        (0, 30.0, (22.0, 36.0), "differs"),
        (0, 0.0, (7.8, 12.2), "differs"),
    ],
)
def test_the_law_verdict_needs_the_points_the_form_and_the_slope(shift, delta, slope, verdict, tmp_path):
    rows = [
        {"T": T, "m80": m + shift, "low": m + shift - 8.0, "high": m + shift + 8.0, "trials": 80}
        for T, m in ((300, 69.0), (1000, 111.0))
    ]
    fit = {"params": {"a": -98.0, "b": 29.0}, "intervals": {"b": slope}, "delta_aic": delta}
    write(tmp_path / "law.json", {"thresholds": rows, "fits": {"log": fit}, "note": ""})
    assert checks.check_law(Context(options={"results": str(tmp_path)})).verdict == verdict


@pytest.mark.claim("law-grid", "law-dropout")
@pytest.mark.parametrize(("name", "check"), [("law-grid", "law_grid"), ("law-paper", "law_dropout")])
def test_other_laws_are_judged_like_the_first(name, check, tmp_path):
    context = Context(options={"results": str(tmp_path)})
    finding = getattr(checks, f"check_{check}")(context)
    assert finding.verdict == "not run" and "--full" in finding.detail
    row = {"T": 1000, "m80": 75.0, "low": 68.0, "high": 85.0, "trials": 80}
    fit = {"params": {"a": -98.0, "b": 29.0}, "intervals": {"b": (22.0, 36.0)}, "delta_aic": 0.0}
    for m80, verdict in ((75.0, "differs"), (111.0, "holds")):
        shifted = {
            key: value + m80 - 75.0 if key in ("m80", "low", "high") else value for key, value in row.items()
        }
        write(tmp_path / f"{name}.json", {"thresholds": [shifted], "fits": {"log": fit}, "note": ""})
        assert getattr(checks, f"check_{check}")(context).verdict == verdict


@pytest.mark.claim("law-decades")
@pytest.mark.parametrize(("delta", "verdict"), [(0.0, "holds"), (3.0, "holds"), (9.0, "differs")])
def test_the_law_over_decades_is_judged_by_its_form(delta, verdict, tmp_path):
    rows = [
        {"T": T, "m80": m, "low": m - 8, "high": m + 8, "trials": 80}
        for T, m in ((100, 50.0), (10_000, 90.0))
    ]
    fit = {"params": {"a": 10.0, "b": 9.0}, "intervals": {"b": (7.0, 11.0)}, "delta_aic": delta}
    write(
        tmp_path / "law-decades.json",
        {"thresholds": rows, "fits": {"log": fit, "power": {**fit, "delta_aic": 0.0}}},
    )
    finding = checks.check_law_decades(Context(options={"results": str(tmp_path)}))
    assert finding.verdict == verdict and "T=10000: 90 [82, 98]" in finding.ours


@pytest.mark.claim("parity-curves")
@pytest.mark.parametrize(
    ("steps", "verdict"), [((200, 500), "holds"), ((200, None), "differs"), ((900, 500), "differs")]
)
def test_the_parity_verdict_needs_every_seed_and_a_median_in_range(steps, verdict, tmp_path):
    rows = [{"T": T, "seed": i, "learned": step} for T, step in zip((10, 15), steps) for i in range(3)]
    rows += [{"T": 15, "seed": 9, "learned": 500}]
    write(tmp_path / "parity.json", {"curves": [], "first_below": rows})
    assert checks.check_parity(Context(options={"results": str(tmp_path)})).verdict == verdict


@pytest.mark.claim("dropout-cost")
@pytest.mark.parametrize(
    ("with_it", "verdict"), [((1, 0, 0, 0, 0, 0), "holds"), ((1, 1, 1, 1, 1, 0), "differs")]
)
def test_the_dropout_verdict_compares_runs_on_the_same_data(with_it, verdict, tmp_path):
    runs = [{"dropout": 0.1, "seed": i, "solved": bool(x), "steps": 9} for i, x in enumerate(with_it)]
    runs += [{"dropout": 0.0, "seed": i, "solved": True, "steps": 9} for i in range(len(with_it))]
    runs += [{"dropout": 0.0, "seed": 99, "solved": True, "steps": 9}]  # its partner has not run yet
    write(tmp_path / "dropout.json", {"T": 1000, "m": 80, "runs": runs})
    finding = checks.check_dropout(Context(options={"results": str(tmp_path)}))
    assert finding.verdict == verdict  # five of five unequal pairs: p = 1/32; one of one: 1/2
    assert f"{sum(with_it)}/6" in finding.ours and "6/6" in finding.ours
