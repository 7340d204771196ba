"""Runs do not know of each other; a run that diverges ends alone; slower forms reach the same verdicts."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from sparsehead.errors import DomainError
from sparsehead.spec import preset
from sparsehead.train import compiled, engine
from sparsehead.train.data import training_set
from sparsehead.train.engine import Slots
from sparsehead.train.loop import make_slots, run_trials
from sparsehead.train.weights import initial


def spec_of(seed, **settings):
    given = {"function": "and", "s": 2, "T": 31, "m": 37, "d": 16, "H": 4, "k": 4, "mlp": 32, "holdout": 1000}
    return preset("fast", seed=seed, **{**given, **settings})


def train_together(specs, n_steps, rounds=3, **how):
    """Interleaved, as the loop does it; the weights at the end."""
    slots = Slots(specs[0], len(specs), **how)
    for i, spec in enumerate(specs):
        slots.load_data(i, training_set(spec))
        slots.start(i, spec, 0)
    for _ in range(rounds):
        for i in range(len(specs)):
            slots.advance(i, n_steps)
    return slots.weights.flat


@pytest.mark.parametrize(
    "settings", [{}, {"dropout": 0.1}, {"L": 2}, {"norm": False, "H": 1, "encoding": "bag"}]
)
@pytest.mark.parametrize("form", ["compiled", "torch"])
def test_run_three_of_eight_is_run_three_alone(settings, form, monkeypatch):
    if form == "torch":
        monkeypatch.setattr(engine, "library", lambda dtype: None)
    torch.set_num_threads(1)
    specs = [spec_of(seed, **settings) for seed in range(8)]
    together, alone = train_together(specs, 5), train_together([specs[3]], 5)
    assert torch.equal(together[3], alone[0])  # bit for bit
    assert not torch.equal(together[3], together[4])


@pytest.mark.parametrize("form", ["compiled", "torch"])
def test_a_diverging_run_ends_alone(form, monkeypatch):
    if form == "torch":
        monkeypatch.setattr(engine, "library", lambda dtype: None)
    specs = [spec_of(seed) for seed in range(3)]
    slots = Slots(specs[0], 3)
    for i, spec in enumerate(specs):
        slots.load_data(i, training_set(spec))
        slots.start(i, spec, 0)
    slots.weights["W_1.0"][1] = torch.inf
    losses = [slots.advance(i, 10) for i in range(3)]
    assert [len(x) for x in losses] == [10, 1, 10]
    assert not np.isfinite(losses[1][-1])
    assert torch.equal(slots.weights.flat[[0, 2]], train_together(specs, 10, rounds=1)[[0, 2]])


def test_divergence_is_an_outcome_with_its_step():
    wild = spec_of(0, learning_rate=1e30, clip=0.0, norm=False, restarts=2, unique=False)
    calm = spec_of(1)
    both = run_trials([wild, replace(wild, seed=1, learning_rate=1e-3, clip=1.0)])
    assert both[0].status == "diverged" and 1 <= both[0].steps <= 20 and both[0].restarts_used == 2
    assert both[1].status != "diverged"
    assert run_trials([calm])[0].status == "solved"


def test_compiled_and_torch_reach_the_same_verdict(monkeypatch):
    specs = [spec_of(seed, m=m, n_steps=120, restarts=1) for seed in range(2) for m in (20, 80)]
    fast = run_trials(specs)
    monkeypatch.setattr(engine, "library", lambda dtype: None)
    slow = run_trials(specs)
    assert [o.status for o in fast] == [o.status for o in slow]
    assert any(o.solved for o in fast)
    for one, other in zip(fast, slow, strict=True):
        n = min(3, len(one.history["loss"]))
        # thirty steps in float32: rounding has not grown yet
        assert np.allclose(one.history["loss"][:n], other.history["loss"][:n], rtol=1e-3)


def test_restarts_begin_afresh_on_the_same_data():
    spec = spec_of(0)
    slots = Slots(spec, 1)
    slots.load_data(0, training_set(spec))
    slots.start(0, spec, 1)
    first = slots.advance(0, 5)
    slots.start(0, spec, 0)
    slots.advance(0, 5)
    slots.start(0, spec, 1)
    assert slots.advance(0, 5) == first


def test_initialisation_is_the_papers():
    spec = spec_of(0, d=64, H=16, T=300)
    slots = Slots(spec, 1)
    slots.load_weights(0, initial(spec, 0))
    for name in ("W_Q.0", "W_2.0", "P", "E", "head"):
        values = slots.weights[name].flatten()
        # 5 standard errors of a standard deviation
        assert float(values.std()) == pytest.approx(0.02, rel=5 / (2 * len(values)) ** 0.5)
    assert bool((slots.weights["g_1.0"] == 1).all()) and bool((slots.weights["b_1.0"] == 0).all())


def test_dropout_changes_training_but_not_prediction():
    spec = spec_of(0, dropout=0.3)
    slots = Slots(spec, 1)
    slots.load_data(0, training_set(spec))
    slots.start(0, spec, 0)
    bits = training_set(spec)[0]
    assert (slots.predict(0, bits) == slots.predict(0, bits)).all()
    dropped = slots.advance(0, 3)
    plain = Slots(replace(spec, dropout=0.0), 1)
    plain.load_data(0, training_set(spec))
    plain.start(0, spec, 0)
    assert dropped != plain.advance(0, 3)


def test_devices_and_dtypes_are_named_in_errors():
    with pytest.raises(DomainError, match="float16"):
        Slots(spec_of(0), 1, dtype="float16")
    with pytest.raises(DomainError, match="device"):
        make_slots(spec_of(0), 1, dtype="float32", device="tpu")


def test_without_a_compiler_the_kernel_is_done_without(monkeypatch, tmp_path):
    for name, value in (("SPARSEHEAD_COMPILE", "0"), ("SPARSEHEAD_COMPILE", "1")):
        compiled.library.cache_clear()
        monkeypatch.setenv(name, value)
        monkeypatch.setattr(compiled.shutil, "which", lambda name: None)
        assert compiled.library("float32") is None
    monkeypatch.undo()
    compiled.library.cache_clear()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(compiled, "FLAGS", ["--no-such-flag"])  # a compiler that fails
    monkeypatch.setattr(compiled.tempfile, "gettempdir", lambda: str(tmp_path))
    assert compiled.library("float32") is None
    compiled.library.cache_clear()
    assert not list(tmp_path.rglob("*.so"))
