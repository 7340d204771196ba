"""Learners of tokens with pointers, small; and what is computed from their results."""

import math

import numpy as np
import pytest

from sparsehead_paper.claims import neighbours_measured
from sparsehead_paper.claims.claim import Context
from sparsehead_paper.claims.neighbours_measured import check_token_laws
from sparsehead_paper.studies import pointers as study
from sparsehead_paper.studies.folder import committed, read_results, write_results
from sparsehead_paper.studies.pointers import PointerRun, Pointers, PointersRecord
from sparsehead_paper.studies.stage import Workplace
from sparsehead_paper.theory import pointers as theory

torch = pytest.importorskip("torch")
learners = pytest.importorskip("sparsehead_paper.studies.token_learners")


def run_of(m, error, *, learner="heads", N=8, seed=0, heads=1, ordered=False):
    return PointerRun(learner, N, 1, 1, ordered, heads, m, seed, error)


@pytest.mark.parametrize("ordered", [False, True])
def test_targets_are_those_of_the_definitions(ordered):
    """Which tokens are pointed to is read off the codes, which are far from each other."""
    problem = learners.Problem(learner="heads", N=6, q=2, d=3, ordered=ordered)
    data = learners.draw(problem, 20, seed=1, what="train")
    for z, asked, target in zip(data.z, data.asked, data.target):
        if ordered:
            near = [np.abs(data.codes - part).sum(axis=1).argmin() for part in asked.reshape(2, -1)]
            assert target == pytest.approx(theory.reported(z, near))
        else:
            pairs = [(i, j) for i in range(6) for j in range(i)]
            off = [np.abs(data.codes[list(pair)].sum(axis=0) - asked).sum() for pair in pairs]
            near = list(pairs[int(np.argmin(off))])
            assert target == pytest.approx(theory.average(z, near) * 2 / math.sqrt(2 * 3))
        assert len(set(near)) == 2


@pytest.mark.parametrize("learner", ["heads", "feed-forward", "recurrent"])
def test_a_run_alone_is_the_run_among_others(learner):
    problem = learners.Problem(learner=learner, N=4, q=1, steps=50, width=8)
    together = learners.trained(problem, [(0, 16), (1, 32), (0, 0)], test=50)
    alone = [learners.trained(problem, [run], test=50)[0] for run in [(0, 16), (1, 32)]]
    assert together[:2] == pytest.approx(alone, rel=1e-3)  # float32, in another order
    assert len(set(together)) == 3


def test_heads_compute_the_softmax_of_scores_from_positions_alone():
    rng = np.random.default_rng(0)
    w = {"A": rng.random((1, 1, 3, 2)), "V": rng.random((1, 1, 1, 8)), "out": rng.random((1, 8, 1))}
    z, asked, codes = rng.random((1, 1, 4, 1)), rng.random((1, 1, 3)), rng.random((1, 4, 2))
    tensors = [torch.from_numpy(x) for x in (z, asked, codes)]
    found = learners.FORWARD["heads"]({k: torch.from_numpy(x) for k, x in w.items()}, *tensors)
    weights = [math.exp(asked[0, 0] @ w["A"][0, 0] @ code) for code in codes[0]]
    mixed = sum(a * x for a, x in zip(weights, z[0, 0, :, 0])) / sum(weights)
    assert float(found[0, 0, 0]) == pytest.approx(mixed * float((w["V"][0, 0] @ w["out"][0])[0, 0]))


@pytest.mark.claim("token-regression-heads")
def test_one_head_misses_half_of_two_tokens_and_two_heads_nothing():
    for heads, share in ((1, 0.5), (2, 0.0)):
        problem = learners.Problem(learner="heads", N=4, q=2, ordered=True, heads=heads, steps=250)
        (error,) = learners.trained(problem, [(7, 0)], test=2000)
        assert error == pytest.approx(share, abs=0.07)  # 3 standard errors of 2000 squares, and training


@pytest.mark.claim("token-laws")
def test_a_threshold_lies_above_every_failure():
    errors = {8: 0.9, 16: 0.1, 32: 0.5, 64: 0.2, 128: 0.1}
    record = PointersRecord(
        tuple(run_of(m, e) for m, e in errors.items()) + (run_of(0, 0.9), run_of(64, 0.9, N=16))
    )
    assert record.threshold("heads", 8, 1) == (32, 64)
    assert record.threshold("heads", 16, 1) is None
    assert PointersRecord((run_of(8, 0.1),)).threshold("heads", 8, 1) == (0, 8)
    several = PointersRecord(tuple(run_of(8, e, seed=i) for i, e in enumerate((0.1, 0.2, 0.9))))
    assert several.threshold("heads", 8, 1) == (0, 8)  # the median
    listing = PointersRecord(
        tuple(run_of(0, e, heads=h, ordered=True) for h, e in ((2, 0.1), (1, 0.5), (1, 0.4)))
    )
    assert listing.by_heads() == {1: [0.4, 0.5], 2: [0.1]}


def test_the_stage_resumes_from_its_results_file(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "GRIDS", {"heads": {(4, 1): (6, 7)}})
    monkeypatch.setattr(study, "TRAINING", {"heads": {"steps": 50, "rate": 3e-2}})
    problems = [(p, r) for p, r in Pointers().cells() if not p.ordered or p.heads == 1]
    monkeypatch.setattr(Pointers, "cells", lambda self: iter(problems))
    seen = []
    place = Workplace(tmp_path / "db", tmp_path, report=lambda title, progress: seen.append(progress.done))
    assert Pointers().run(place) == []
    first = read_results(tmp_path, "pointers", PointersRecord)
    assert len(first.runs) == seen[-1] == 5 + 15 and first.complete
    kept = PointersRecord(tuple(run for run in first.runs if run.m != 8), complete=False)
    write_results(tmp_path, "pointers", kept)
    calls = []
    monkeypatch.setattr(
        learners, "trained", lambda problem, runs, test: calls.append(runs) or [0.5] * len(runs)
    )
    assert Pointers().run(Workplace(tmp_path / "db", tmp_path, add=True)) == []
    assert calls == [[(seed, 8) for seed in range(5)]]
    assert len(read_results(tmp_path, "pointers", PointersRecord).runs) == 20
    assert "--stored" in Pointers().run(Workplace(tmp_path / "db", tmp_path, stored=True))[0]
    assert "runs" in Pointers().summary()[1]


def brackets(heads=(8, 16, 64, 256, 1024), feed_forward=(64, 512, 4096), recurrent=(32, 128, 1024)):
    """Runs that fail at each of these m, and are learned at 1.4 times it: N = 4, 8, 16, of heads also 64 and 512."""
    rows = [
        (learner, N, m)
        for learner, ms in (("heads", heads), ("feed-forward", feed_forward), ("recurrent", recurrent))
        for N, m in zip((4, 8, 16, 64, 512), ms)
    ]
    return PointersRecord(
        tuple(
            run_of(size, error, learner=learner, N=N)
            for learner, N, m in rows
            for size, error in ((0, 0.01), (m, 0.5), (round(1.4 * m), 0.1))
        )
    )


@pytest.mark.claim("token-laws")
def test_brackets_that_overlap_leave_the_token_laws_undecided(tmp_path, monkeypatch):
    fresh = neighbours_measured._fresh_averages(0, 91)
    assert fresh["heads"] < study.LEARNED < fresh["feed-forward"]
    monkeypatch.setattr(neighbours_measured, "_fresh_averages", lambda seed, m: fresh)

    def verdict(record):
        write_results(tmp_path, "pointers", record)
        return check_token_laws(Context(options={"results": str(tmp_path)})).verdict

    assert verdict(brackets()) == "holds"
    assert verdict(brackets(heads=(8, 16, 64, 256, 1900))) == "undecided"  # grows by 5.3 to 10.4, N by 8
    assert verdict(brackets(heads=(8, 16, 64, 256, 4096))) == "refuted"
    assert (
        verdict(brackets(recurrent=(70, 128, 1024))) == "undecided"
    )  # by 10.5 to 20.5; heads by 5.7 to 11.6
    assert verdict(brackets(feed_forward=(2, 4, 8))) == "refuted"  # fewer samples than heads
    assert verdict(PointersRecord(brackets().runs[:-2])) == "undecided"
    fresh["heads"] = 0.3
    assert verdict(brackets()) == "undecided"


def test_the_committed_runs_are_those_of_the_plan():
    """Each (learner, N, q, heads, m) with the same seeds: a changed plan makes the committed file incomplete."""
    record = read_results(committed(), "pointers", PointersRecord)
    planned = {
        (p.learner, p.N, p.q, p.d, p.ordered, p.heads, m, seed)
        for p, runs in Pointers().cells()
        for seed, m in runs
    }
    found = [(r.learner, r.N, r.q, r.d, r.ordered, r.heads, r.m, r.seed) for r in record.runs]
    assert set(found) == planned and len(found) == len(planned) and record.complete
    assert all(record.threshold(name, *cell) for name, grid in study.GRIDS.items() for cell in grid)
    # no cell starts at a size that is learned, and fresh samples at every step suffice for all
    assert all(
        (record.threshold(name, *cell) or (0,))[0] for name, grid in study.GRIDS.items() for cell in grid
    )
    fresh = [record.errors(name, *cell, 0) for name, grid in study.GRIDS.items() for cell in grid]
    assert max(sorted(errors)[2] for errors in fresh) < study.LEARNED / 5


def test_every_step_takes_its_own_fresh_samples(monkeypatch):
    """Samples of step n follow those of step n - 1, and as many steps are taken as were asked for."""
    taken, picks = [], learners._picks
    monkeypatch.setattr(learners, "_picks", lambda *given: taken.append(picks(*given)) or taken[-1])
    learners.trained(learners.Problem(learner="heads", N=4, q=1, steps=7, batch=3), [(0, 0)], test=10)
    assert np.concatenate(taken).tolist() == list(range(21))


def test_the_recurrent_net_is_a_gated_unit_that_starts_from_the_pointer():
    """One run, one sample, two tokens, in plain loops: r and u are the gates, n the proposal."""
    rng = np.random.default_rng(0)
    width, d, p, c = 3, 2, 4, 4
    sizes = {
        "start": (c, width), "input": (d + p, 3 * width), "state": (width, 3 * width), "bias": (3 * width,),
        "hidden": (width, width), "hidden_bias": (width,), "out": (width, 1), "out_bias": (1,),
    }  # fmt: skip
    w = {name: rng.standard_normal(size) for name, size in sizes.items()}
    z, asked, codes = rng.standard_normal((2, d)), rng.standard_normal(c), rng.standard_normal((2, p))
    h = np.tanh(asked @ w["start"])
    for token, code in zip(z, codes):
        own, kept = np.concatenate([token, code]) @ w["input"] + w["bias"], h @ w["state"]
        r, u = (1 / (1 + np.exp(-(own[s] + kept[s]))) for s in (slice(0, 3), slice(3, 6)))
        n = np.tanh(own[6:] + r * kept[6:])
        h = (1 - u) * n + u * h
    wanted = np.maximum(h @ w["hidden"] + w["hidden_bias"], 0) @ w["out"] + w["out_bias"]
    weights = {name: torch.from_numpy(each[None]) for name, each in w.items()}
    tensors = [torch.from_numpy(each) for each in (z[None, None], asked[None, None], codes[None])]
    assert learners.FORWARD["recurrent"](weights, *tensors)[0, 0].tolist() == pytest.approx(wanted.tolist())
