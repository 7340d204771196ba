"""Trained models, read: the runner, the records, the verdicts from intervals."""

import json
from dataclasses import replace

import pytest

from sparsehead.functions import parse
from sparsehead.functions.analysis import disagreement
from sparsehead.train.spec import preset
from sparsehead_paper.claims import trained
from sparsehead_paper.claims.claim import Context
from sparsehead_paper.studies import read_trained
from sparsehead_paper.studies.read_trained import READ_CELL, reading
from sparsehead_paper.studies.stage import Workplace


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Two tasks, one learned and one far too small, really trained and read in a worker."""
    shape = {"d": 16, "H": 4, "mlp": 32, "holdout": 2000, "s": 2, "T": 20, "seed": 5}
    specs = (
        preset("fast", function="and", m=100, **shape),
        preset("fast", function="parity", m=12, unique=False, n_steps=20, restarts=1, **shape),
    )
    folder = tmp_path_factory.mktemp("read")
    plan = replace(reading(), specs=specs)
    assert plan.run(Workplace(folder / "r.db", folder, workers=1)) == []
    return json.loads((folder / "reading.json").read_text())["trials"]


@pytest.mark.claim("read-trained")
def test_a_learned_model_is_read_back_and_a_failed_one_is_not_called_planted(small):
    good, bad = small
    assert (good["family"], good["solved"], good["found"]) == ("and", True, "planted")
    assert good["read"] == good["planted"]
    assert good["function_error"] == 0
    assert good["model_error"] < 0.02 < good["bound"] <= good["model_bound"] < 0.4
    # After 20 steps it answers with one label: a function, but not the planted one, and half of its answers are wrong.
    assert (bad["solved"], bad["found"]) == (False, "other")
    assert bad["read"] in ("0", "1")
    assert bad["function_error"] == 0.5
    assert bad["model_error"] == pytest.approx(0.5, abs=0.02)  # 20,000 inputs
    assert bad["model_bound"] > 0.5


def test_disagreement_is_exact():
    f, g = parse("x1 & x2", T=9), parse("x1 & x2 & x7 | x3 & x4 & !x1", T=9)
    p = 0.3
    # f alone: x1 x2 and not x7; g alone: x3 x4 and not x1
    assert disagreement(f, g, p=p) == pytest.approx(p**2 * (1 - p) + p**2 * (1 - p), abs=1e-12)
    assert disagreement(f, f, p=p) == 0


def trials(n, exact, *, error=0.001, bound=0.1, broken=0, cell=READ_CELL):
    family, T, m = cell
    row = {"family": family, "T": T, "m": m, "seed": 0, "solved": True, "planted": "x1", "agreement": 1.0}
    row |= {"method": "sampling", "queries": 9, "bound": bound}
    return [
        {
            **row,
            "found": "planted" if i < exact else "other",
            "read": "x1" if i < exact else "x2",
            "function_error": 0.0 if i < exact else 0.25,
            "model_error": bound + 0.1 if i < broken else error,
            "model_bound": bound,
        }
        for i in range(n)
    ]


def found(check, name, data, folder):
    (folder / f"{name}.json").write_text(json.dumps(data))
    return check(Context(options={"results": str(folder)}))


@pytest.mark.claim("read-trained")
@pytest.mark.parametrize(
    ("n", "exact", "verdict"),
    [(300, 300, "holds"), (100, 100, "undecided"), (300, 297, "undecided"), (300, 280, "refuted")],
)
def test_the_share_read_back_is_judged_by_its_interval(n, exact, verdict, tmp_path):
    rows = trials(n, exact) + trials(50, 0, cell=("or", 30, 60))  # other cells do not count
    finding = found(trained.check_read_trained, "reading", {"delta": 0.05, "trials": rows}, tmp_path)
    assert finding.verdict == verdict
    assert f"{exact} of {n}" in finding.ours
    assert "differs from the planted one on $0.25$" in finding.detail
    assert len(finding.data["failures"]) == n - exact + 50


@pytest.mark.claim("read-certificate")
@pytest.mark.parametrize(("broken", "verdict"), [(0, "holds"), (10, "undecided"), (40, "refuted")])
def test_certificates_are_judged_by_how_often_they_break(broken, verdict, tmp_path):
    data = {"delta": 0.05, "trials": trials(200, 200, broken=broken)}
    finding = found(trained.check_read_certificate, "reading", data, tmp_path)
    assert finding.verdict == verdict
    assert f"{broken} of 200" in finding.ours


@pytest.mark.claim("support-appears")
@pytest.mark.parametrize(
    ("only_influence", "only_attention", "verdict"),
    [(8, 0, "holds"), (3, 2, "undecided"), (0, 8, "refuted")],
)
def test_who_leads_is_judged_by_a_sign_test(only_influence, only_attention, verdict, tmp_path):
    row = {"task": "and", "T": 300, "m": 200, "seed": 0, "solved": True, "steps": 400, "accuracy": 50}
    runs = [{**row, "influence": 50, "attention": None}] * only_influence
    runs += [{**row, "influence": None, "attention": 60}] * only_attention
    runs += [{**row, "influence": 40, "attention": 40}] * 5
    finding = found(trained.check_support_appears, "appearance", {"runs": runs}, tmp_path)
    assert finding.verdict == verdict
    assert f"attention {5 + only_attention} of {len(runs)}" in finding.ours


def test_the_plan_has_the_cell_that_is_measured_most_closely():
    specs = reading(2, 30).specs
    cell = [s for s in specs if (s.function, s.T, s.m) == READ_CELL]
    assert len(cell) == 30
    assert len({s.seed for s in cell}) == 30
    assert len(specs) == 2 * (5 * 15 - 1) + 30
    assert read_trained.DELTA == 0.05
