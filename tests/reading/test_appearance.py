"""When the support appears along training: the looks, the steps, the displays of both."""

import io
import json

import numpy as np
import pytest
from rich.console import Console

import sparsehead as sh
from sparsehead._base.errors import DomainError
from sparsehead._base.rng import stream
from sparsehead.cli import training
from sparsehead.cli.app import main
from sparsehead.figures.training import support_chart
from sparsehead.reading.appearance import OTHERS, Appearance, appearance, for_good, look
from sparsehead_paper.figures.appearance import appearance_chart
from sparsehead_paper.studies.read_trained import AppearanceRun


@pytest.mark.claim("support-appears")
def test_a_look_compares_the_least_on_the_support_with_the_greatest_elsewhere():
    """Labels x3 & x20, so that both flips matter at known rates; attention is made up and rests on x7."""
    T, f = 100, sh.parse("x3 & x20", T=100)
    bits = (stream(0, "bits").random((500, T)) < 0.5).astype(np.uint8)
    attention = np.full(T, 0.005)
    attention[[3, 20, 7]] = 0.1, 0.2, 0.3
    found = look(f, attention, (3, 20), bits)
    first = bits[:32]
    # a flip of x3 matters where x20 = 1 and the other way round
    assert found["support_influence"] == min(first[:, 20].mean(), first[:, 3].mean())
    assert found["other_influence"] == 0
    assert (found["support_attention"], found["other_attention"]) == (0.1, 0.3)


def test_a_look_finds_influence_on_the_most_attended_other_position():
    f = sh.parse("x3 ^ x50", T=100)
    bits = (stream(0, "bits").random((40, 100)) < 0.5).astype(np.uint8)
    attention = np.linspace(1, 0, 100)
    assert look(f, attention, (3,), bits)["other_influence"] == 1.0
    attention[50] = -1.0  # the least attended: not among those compared
    assert OTHERS < 90
    assert look(f, attention, (3,), bits)["other_influence"] == 0.0


def test_a_look_at_a_function_of_every_position():
    f = sh.parse("x0 ^ x1", T=2)
    bits = (stream(0, "bits").random((40, 2)) < 0.5).astype(np.uint8)
    found = look(f, np.array([0.4, 0.5]), (0, 1), bits)
    assert found == {
        "support_attention": 0.4,
        "other_attention": 0.0,
        "support_influence": 1.0,
        "other_influence": 0.0,
    }


def history(influence, attention, accuracy):
    """A history with looks at steps 10, 20, ..; pairs (support, others)."""
    steps = [10 * (i + 1) for i in range(len(influence))]
    return {
        "mass_step": [float(step) for step in steps],
        "check_step": steps,
        "val_accuracy": accuracy,
        "support_influence": [a for a, _ in influence],
        "other_influence": [b for _, b in influence],
        "support_attention": [a for a, _ in attention],
        "other_attention": [b for _, b in attention],
    }


ALONG = history(
    [(0.0, 0.0), (0.3, 0.1), (0.2, 0.4), (0.6, 0.1)],
    [(0.01, 0.02), (0.01, 0.02), (0.05, 0.02), (0.05, 0.02)],
    [0.5, 0.75, 0.8, 0.99],
)


@pytest.mark.claim("support-appears")
def test_the_support_appears_when_it_leads_for_good():
    """It leads in influence at step 20, loses the lead and regains it at 40; equal influence is no lead."""
    assert appearance(ALONG) == Appearance(influence=40, attention=30, accuracy=20)
    never = history([(0.0, 0.0)], [(0.1, 0.2)], [0.5])
    assert appearance(never) == Appearance(None, None, None)
    assert "not yet" in appearance(never).sentence()
    assert appearance({"check_step": [10], "val_accuracy": [0.5]}) is None
    assert for_good([], []) is None


@pytest.fixture(scope="module")
def run():
    return sh.learn("x1 & x4", T=12, m=200, seed=3, d=16, H=4, mlp=32, keep_training=True, n_steps=150)


def test_learn_records_when_the_support_appears(run):
    assert len(run.history["support_influence"]) == len(run.history["mass_step"]) == 15
    assert run.appearance.influence is not None
    # .7 for a balanced AND.
    assert run.history["support_influence"][-1] > 0.4 > run.history["other_influence"][-1]


def test_the_chart_of_one_run_marks_the_steps(run, tmp_path):
    spec = support_chart(run.history, formula="x1 & x4", T=12, m=200).to_dict()
    marks = {row["quantity"]: row["step"] for row in spec["datasets"]["appeared"]}
    assert marks["influence"] == run.appearance.influence
    assert len(spec["datasets"]["looks"]) == 4 * 15
    with pytest.raises(DomainError, match="no look at attention"):
        support_chart({"check_step": [10], "val_accuracy": [0.5]}, formula="x1", T=3, m=5)


def test_the_chart_of_many_runs_counts_who_leads():
    runs = [AppearanceRun("and", 9, 50, i, True, 100, 10 * (i + 1), None, 20) for i in range(4)]
    spec = appearance_chart(runs).to_dict()
    assert spec["title"]["text"] == ["Influence names the support in 4 of 4 runs, attention in 0"]
    stairs = [r for r in spec["datasets"]["shares"] if r["what"] == "support leads in influence"]
    assert [(r["step"], r["share"]) for r in stairs] == [
        (0, 0),
        (10, 0.25),
        (20, 0.5),
        (30, 0.75),
        (40, 1),
        (100, 1),
    ]


def test_the_display_shows_both_along_training(monkeypatch):
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    monkeypatch.setattr(training, "status_console", lambda: console)
    state = {"restart": 0, "restarts": 2, "n_steps": 100, "loss": 0.5, "seconds": 1.0, "step": 10}
    with training.TrainingDisplay() as display:
        display({**state, "val_accuracy": 0.5, "support_influence": 0.0, "other_influence": 0.1})
        display({**state, "step": 20, "val_accuracy": 0.9, "support_influence": 0.4, "other_influence": 0.1})
    shown = screen.getvalue()
    assert "influence, support" in shown
    assert "▁█" in shown
    assert "19 s remaining" in shown or "9 s remaining" in shown


def test_the_display_is_silent_without_a_terminal(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(training, "status_console", lambda: Console(file=screen))
    with training.TrainingDisplay() as display:
        display(
            {
                "restart": 0,
                "restarts": 1,
                "n_steps": 10,
                "loss": 0.5,
                "seconds": 1.0,
                "step": 10,
                "val_accuracy": 0.5,
            }
        )
    assert screen.getvalue() == ""


def ran(*words):
    with pytest.raises(SystemExit) as ended:
        main(["learn", *words])
    return ended.value.code


def test_learn_draws_its_chart(tmp_path, capsys):
    chart = tmp_path / "along.svg"
    small = ("x1 & x4", "--T", "12", "--m", "200", "--d", "16", "--heads", "4", "--seed", "3")
    assert ran(*small, "--chart", str(chart), "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert set(result["appearance"]) == {"influence", "attention", "accuracy"}
    assert chart.read_text().startswith("<svg")
    assert ran(*small, "--chart", str(chart)) == 2  # it exists
    assert "--force" in capsys.readouterr().err
    assert ran(*small, "--chart", str(tmp_path / "a.gif")) == 2
    assert ".svg, .png" in capsys.readouterr().err
    assert ran(*small, "--learner", "mlp", "--chart", str(tmp_path / "b.svg")) == 2
    assert "no attention to follow" in capsys.readouterr().err
