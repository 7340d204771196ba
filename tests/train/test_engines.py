"""Runs do not know of each other; a run that diverges is cut; both engines reach the same verdicts."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sparsehead._base.errors import DomainError
from sparsehead.heads import encoding as encodings
from sparsehead.train.data import training_set
from sparsehead.train.learn import learn
from sparsehead.train.loop import run_trials
from sparsehead.train.spec import INITS, TrainSpec, spec_id
from sparsehead.train.transformer import compiled, engines, library
from sparsehead.train.transformer.engine import Engine
from sparsehead.train.transformer.engines import make_engine
from sparsehead.train.transformer.layout import layout
from sparsehead.train.transformer.weights import initial, sinusoids

from .support import engine_of, needs_kernel, spec_of, weights_of

ENGINES = ("compiled", "torch")


@pytest.fixture
def without_kernel(monkeypatch):
    monkeypatch.setattr(compiled, "library", lambda dtype: library.Missing("a test hides it"))
    engines._say_once.cache_clear()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("settings", [{}, {"dropout": 0.1}, {"norm": False, "H": 1, "encoding": "bag"}])
def test_a_run_is_the_same_bit_for_bit_when_repeated_or_cut(engine, settings):
    spec = spec_of(3, **settings)
    first, again = (engine_of(spec, engine, dtype="float32", sample=training_set(spec)) for _ in range(2))
    assert isinstance(first, Engine)
    whole = first.advance(15)
    parts = [x for n in (5, 1, 9) for x in again.advance(n)]
    assert whole == parts and (weights_of(first) == weights_of(again)).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_diverging_run_is_cut_after_its_first_loss(engine):
    spec = spec_of(0)
    made = engine_of(spec, engine, dtype="float32")
    row = initial(spec, 0)
    layout(spec.architecture).views(row)["W_1.0"][0] = np.inf
    made.load(row)
    losses = made.advance(10)
    assert len(losses) == 1 and not np.isfinite(losses[0]) and made.model({}) is None


def test_divergence_is_an_outcome_with_its_step():
    wild = spec_of(0, learning_rate=1e30, clip=0.0, norm=False, restarts=2, unique=False)
    both = run_trials([wild, replace(wild, seed=1, learning_rate=1e-3, clip=1.0)])
    assert both[0].status == "diverged" and 1 <= both[0].steps <= 20 and both[0].restarts_used == 2
    assert both[1].status != "diverged"
    assert run_trials([spec_of(1)])[0].status == "solved"


def test_both_engines_reach_the_same_verdict():
    needs_kernel()
    specs = [spec_of(seed, m=m, n_steps=105, restarts=1) for seed in range(2) for m in (20, 80)]
    fast, slow = run_trials(specs), run_trials(specs, engine="torch")
    assert [o.status for o in fast] == [o.status for o in slow]
    assert any(o.solved for o in fast)
    for one, other in zip(fast, slow, strict=True):
        n = min(3, len(one.history["loss"]))
        # thirty steps in float32: rounding has not grown yet
        assert np.allclose(one.history["loss"][:n], other.history["loss"][:n], rtol=1e-3)
        assert one.history["check_step"][:3] == other.history["check_step"][:3]


@pytest.mark.parametrize("engine", ENGINES)
def test_restarts_begin_afresh_on_the_same_data(engine):
    spec = spec_of(0)
    made = engine_of(spec, engine)
    made.start(spec, 1, training_set(spec))
    first = made.advance(5)
    made.start(spec, 0, training_set(spec))
    made.advance(5)
    made.start(spec, 1, training_set(spec))
    assert made.advance(5) == first


@pytest.mark.parametrize("init", INITS)
def test_initialisation_is_what_it_says(init):
    spec = spec_of(0, d=64, H=16, T=300, mlp=256, init=init, init_scale=0.5)
    p = layout(spec.architecture).views(initial(spec, 0))
    uniform = {"W_Q.0": 64, "W_C.0": 64, "W_1.0": 64, "W_2.0": 256, "head": 64, "b_1.0": 64, "b_2.0": 256}
    for name, fan_in in uniform.items():
        x = p[name].ravel()
        expected = 0.5 * 0.02 if init == "mingpt" else 0.5 / (3 * fan_in) ** 0.5
        if init == "mingpt" and name.startswith("b"):
            assert (x == 0).all()
            continue
        # 5 standard errors of a standard deviation (the normal's is the larger)
        assert x.std() == pytest.approx(expected, rel=5 / (2 * len(x)) ** 0.5), name
        if init != "mingpt":
            assert np.abs(x).max() <= 0.5 / fan_in**0.5
    for name in ("E", "P"):
        std = 1.0 if init == "torch-default" else 0.02
        assert p[name].std() == pytest.approx(std, rel=5 / (2 * p[name].size) ** 0.5)
    assert (p["g_1.0"] == 1).all() and (p["c_1.0"] == 0).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_sinusoidal_positions_stay_while_bit_vectors_learn(engine):
    spec = spec_of(0, positions="sinusoidal", learning_rate=1e-2)
    made = engine_of(spec, engine, sample=training_set(spec))
    before = layout(spec.architecture).views(weights_of(made).copy())
    made.advance(20)
    after = layout(spec.architecture).views(weights_of(made))
    rows = sinusoids(spec.T + 1, spec.d, 0.02)
    assert np.allclose(after["P"].T, rows[:-1], atol=1e-15) and np.allclose(
        after["P_cls"], rows[-1], atol=1e-15
    )
    assert np.abs(after["E"] - before["E"]).max() > 1e-3
    frequencies = 10.0 ** (-4 * np.arange(8) / 8)
    assert np.allclose(rows[5, 0::2], 2**0.5 * 0.02 * np.sin(5 * frequencies))
    assert (rows**2).mean() == pytest.approx(0.02**2)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("make", [encodings.random_positions, encodings.random_bag])
def test_an_encoding_of_ones_own_is_used_and_stays(engine, make):
    own = make(12, 20, rng=np.random.default_rng(4))
    if engine == "compiled":
        needs_kernel()
    run = learn("x3 | x11", T=12, m=200, seed=0, encoding=own, engine=engine, H=2, k=8, mlp=32)
    assert run.solved and run.model.encoding is own and run.spec.d == 20
    with pytest.raises(DomainError, match="which is not stored"):
        run_trials([run.spec], engine=engine)
    with pytest.raises(DomainError, match="T=12"):
        learn("x3 | x11", T=13, m=200, seed=0, encoding=own)


@pytest.mark.parametrize("engine", ENGINES)
def test_dropout_changes_training_but_not_prediction(engine):
    spec = spec_of(0, dropout=0.3)
    bits = training_set(spec)[0]
    dropped, plain = (
        engine_of(s, engine, sample=training_set(s)) for s in (spec, replace(spec, dropout=0.0))
    )
    assert (dropped.predict(bits) == plain.predict(bits)).all()
    assert dropped.advance(3) != plain.advance(3)


@pytest.mark.parametrize(
    ("settings", "how", "message"),
    [
        ({}, {"dtype": "float16"}, "float16"),
        ({}, {"device": "tpu"}, "device"),
        ({}, {"engine": "jax"}, "auto, compiled, torch"),
        ({"L": 2}, {"engine": "compiled"}, "one layer, got L=2; use the torch engine"),
    ],
)
def test_what_an_engine_cannot_do_is_one_sentence(settings, how, message):
    with pytest.raises(DomainError, match=message):
        make_engine(spec_of(0, **settings), **how)


def test_the_slow_path_says_so_once_in_one_line(without_kernel, caplog):
    for _ in range(3):
        assert make_engine(spec_of(0)).made_by["engine"].startswith("torch")
    (record,) = caplog.records
    said = record.getMessage()
    assert "a test hides it" in said and "slower" in said and "\n" not in said
    with pytest.raises(DomainError, match="a test hides it; use the torch engine"):
        make_engine(spec_of(0), engine="compiled")


def test_nothing_is_said_where_the_kernel_would_not_serve(without_kernel, caplog):
    make_engine(spec_of(0, L=2))
    make_engine(spec_of(0), engine="torch")
    assert caplog.records == []


@pytest.mark.parametrize("engine", ENGINES)
def test_an_outcome_says_what_made_it(engine):
    if engine == "compiled":
        needs_kernel("float64")
    (outcome,) = run_trials([spec_of(1)], engine=engine, dtype="float64")
    assert set(outcome.made_by) == {"engine", "instructions", "dtype", "device", "version"}
    assert outcome.made_by["engine"].split()[0] == engine and outcome.made_by["dtype"] == "float64"


def test_ids_stay_and_name_every_setting(unchecked):
    """Stored outcomes are found by these ids, so no change of the code may change them."""
    old: dict[str, Any] = {"function": "and", "s": 3, "T": 300, "m": 50, "seed": 7, "dropout": 0.1}
    assert spec_id(TrainSpec(**old)) == "b51ca3cc8d05a621"
    assert spec_id(TrainSpec(**old, optimiser="adam")) == "8e398fc5c8cd97b4"
    assert spec_id(TrainSpec(**old, clip=1)) == spec_id(TrainSpec(**old, clip=1.0))
    later: dict[str, Any] = {
        "decay": "all",
        "adam_eps": 1e-3,
        "init": "torch",
        "init_scale": 2.0,
        "positions": "sinusoidal",
    }
    ids = {spec_id(TrainSpec(**old, **{name: value})) for name, value in later.items()}
    assert len(ids | {spec_id(TrainSpec(**old)), spec_id(TrainSpec(**old, optimiser="sgd"))}) == 7
