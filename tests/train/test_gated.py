"""Gated keys, rates of blocks, aligned signs and [CLS]'s score: definition, both engines, and the exported model."""

import json
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
import torch

from sparsehead import learn, verify
from sparsehead._base.errors import DomainError
from sparsehead.heads.heads import softmax
from sparsehead.train.data import training_set
from sparsehead.train.spec import TrainSpec, spec_id, spec_text, target_function
from sparsehead.train.transformer.forward import margins
from sparsehead.train.transformer.layout import layout
from sparsehead.train.transformer.weights import initial, to_model

from .support import GRADIENT, OUTPUT, engine_of, one_step, random_row, random_sample, spec_of

GATES = ("zeros", "ones", "both")


def gated(**settings):
    given = {
        "T": 9,
        "d": 6,
        "H": 3,
        "k": 2,
        "m": 11,
        "mlp": 5,
        "unique": False,
        "gate": "both",
        "init": "torch",
    }
    return spec_of(**{**given, **settings})


def by_definition(spec, row, bits):
    """Margins, one sample, head and position at a time."""
    a, p = spec.architecture, layout(spec.architecture).views(row)
    layer, out = to_model(a, row).layers[0], []
    for b in bits:
        mixed = np.zeros((a.k, a.H))
        for h in range(a.H):
            q, W_K = p["b_Q.0"].reshape(a.k, a.H)[:, h], p["W_K.0"].reshape(a.d - 2, a.k, a.H)[:, :, h]
            own = [t for t in range(a.T) if b[t] == (h >= a.zero_heads)]
            scores = [p["P"][:, t] @ W_K @ q / a.temperature for t in own] + [p["s_cls.0"][h]]
            share = 1 - softmax(np.array(scores))[-1]
            mixed[:, h] = (share - 0.5) * p["W_V.0"].reshape(a.k, a.H)[:, h]
        values = mixed.ravel() + (p["b_V.0"] if a.bias else 0)
        z = values @ p["W_C.0"] + (p["b_C.0"] if a.bias else 0)
        if layer.mlp is not None:
            z = layer.mlp(z if layer.norm_mlp is None else layer.norm_mlp(z)) + (z if a.residual else 0)
        final = to_model(a, row).final_norm
        out.append((z if final is None else final(z)) @ (p["head"][1] - p["head"][0]))
    return np.array(out)


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"norm": False, "residual": False},
        {"bias": False, "mlp": 0},
        {"H": 4, "k": 3, "m": 8, "scaled": False},
    ],
    ids=str,
)
def test_definition_model_torch_and_kernel_agree(gate, settings):
    spec = gated(gate=gate, **settings)
    row, (bits, _) = random_row(spec), random_sample(spec)
    wanted = by_definition(spec, row, bits)
    model = to_model(spec.architecture, row)
    np.testing.assert_allclose(model(bits), wanted, atol=OUTPUT)
    slow, slow_gradient = one_step(spec, "torch", row)
    fast, fast_gradient = one_step(spec, "compiled", row)
    np.testing.assert_allclose(slow, wanted, atol=OUTPUT)
    np.testing.assert_allclose(fast, wanted, atol=OUTPUT)
    np.testing.assert_allclose(fast_gradient, slow_gradient, atol=GRADIENT)
    assert engine_of(spec, "compiled", row).predict(bits).tolist() == (wanted > 0).tolist()


@pytest.mark.parametrize("gate", GATES)
def test_the_gradient_is_that_of_finite_differences(gate):
    spec = gated(gate=gate)
    row, (bits, labels) = random_row(spec), random_sample(spec)
    _, gradient = one_step(spec, "compiled", row)
    names = {s.name for s in layout(spec.architecture).segments}
    assert {"P", "s_cls.0", "b_Q.0", "W_K.0", "W_V.0", "b_V.0"} <= names
    rng = np.random.default_rng(0)
    for s in layout(spec.architecture).segments:
        i = s.start + int(rng.integers(s.size))
        losses = []
        for step in (1e-5, -1e-5):
            moved = row.copy()
            moved[i] += step
            z = by_definition(spec, moved, bits)
            losses.append(np.logaddexp(0, np.where(labels > 0, -z, z)).mean())
        assert gradient[i] == pytest.approx((losses[0] - losses[1]) / 2e-5, abs=1e-8)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_sample_that_has_none_of_the_large_scores_is_right(dtype):
    """Scores so far apart that sums over all positions underflow; some samples see only the small ones."""
    spec = gated(T=6, gate="both", H=2)
    row = random_row(spec)
    p = layout(spec.architecture).views(row)
    size = 300 if dtype == "float32" else 2000
    asked = np.einsum("dkh,kh->dh", p["W_K.0"].reshape(4, 2, 2), p["b_Q.0"].reshape(2, 2)) / np.sqrt(2)
    p["P"][:] = np.linalg.pinv(asked.T) @ np.array([[size, 0, 1, -1, 2, 0], [size, 1, 0, -1, 2, 3]])
    sample = (
        np.array([[1, 0, 1, 0, 1, 0], [0, 1, 0, 1, 0, 1], [1, 1, 1, 1, 1, 1], [0] * 6] * 3)[:11],
        np.arange(11) % 2,
    )
    sample = (sample[0].astype(np.uint8), sample[1].astype(np.uint8))
    margins_, gradient = one_step(spec, "compiled", row, sample, dtype)
    wanted, slope = one_step(spec, "torch", row, sample, "float64")
    loose = 1e-4 if dtype == "float32" else 1e-9
    np.testing.assert_allclose(margins_, wanted, atol=loose, rtol=loose)
    np.testing.assert_allclose(gradient, slope, atol=loose, rtol=loose)


@pytest.mark.parametrize("optimiser", ["adam", "adamw", "sgd"])
@pytest.mark.parametrize("gate", ["none", "both"])
def test_each_block_has_its_rate(optimiser, gate):
    """The first step of a weight, with both engines, is its factor times the one at factors of 1."""
    spec = gated(gate=gate, optimiser=optimiser, warmup=4, clip=0.0, weight_decay=0.0, m=8)
    fast = replace(spec, position_rate=30.0, readout_rate=0.03)
    for engine in ("torch", "compiled"):
        moves = {}
        for s in (spec, fast):
            made = engine_of(s, engine, row := random_row(s))
            made.advance(1)
            moves[s] = layout(s.architecture).views(
                (made.flat.numpy() if engine == "torch" else made.weights) - row
            )
        for name, move in moves[spec].items():
            kind = name.split(".")[0]
            attention = {"W_Q", "W_K", "b_Q", "b_K", "s_cls", "g_1", "c_1", "E", "P_cls"}
            factor = 30.0 if kind == "P" else 1.0 if kind in attention else 0.03
            np.testing.assert_allclose(moves[fast][name], factor * move, atol=1e-12)
            assert move.any() or kind == "b_K"


def test_engines_stay_together_over_many_steps_with_rates_and_decay():
    spec = gated(
        T=20, m=12, optimiser="adam", decay="all", weight_decay=1e-2, position_rate=10.0, readout_rate=0.1
    )
    rows = [engine_of(spec, engine, sample=training_set(spec)) for engine in ("torch", "compiled")]
    losses = [np.array(made.advance(30)) for made in rows]
    np.testing.assert_allclose(losses[0], losses[1], atol=1e-9)
    np.testing.assert_allclose(rows[0].flat.detach().numpy(), rows[1].weights, atol=1e-7)
    assert losses[0][-1] < losses[0][0]


def test_pieces_cover_what_is_trained_and_are_two_by_default():
    for spec in (gated(), spec_of(), spec_of(encoding="random"), spec_of(positions="sinusoidal")):
        at = layout(spec.architecture)
        assert at.pieces(positions=1.0, readout=1.0) == [
            (slice(0, at.n_matrices), 1.0), (slice(at.n_matrices, at.n_trained), 1.0)
        ]  # fmt: skip
        cuts = [cut for cut, _ in at.pieces(positions=3.0, readout=0.5)]
        assert [cut.start for cut in cuts] == [0, *(cut.stop for cut in cuts[:-1])]
        assert cuts[-1].stop == at.n_trained and at.n_matrices in {cut.stop for cut in cuts}


@pytest.mark.parametrize("signs", ["rising", "falling"])
@pytest.mark.parametrize("gate", GATES)
def test_at_the_start_ones_move_the_output_as_signs_say(signs, gate):
    """Each head alone: its positions count more, the output goes the way that its bit should."""
    for seed in range(5):
        spec = gated(gate=gate, signs=signs, seed=seed, H=4)
        a, row = spec.architecture, initial(spec, 0)
        weights = {name: torch.tensor(x, requires_grad=True) for name, x in layout(a).views(row).items()}
        even = (np.arange(a.T) % 2)[None]
        weights["s_cls.0"].data[:] = torch.log(
            torch.tensor([5.0 if h < a.zero_heads else 4.0 for h in range(4)])
        )
        weights["P"].data[:] = 0  # shares of exactly 1/2
        margins(weights, a, torch.tensor(even, dtype=torch.float64)).sum().backward()
        wanted = [
            1 if h < a.zero_heads else -1 for h in range(4)
        ]  # a larger score of [CLS] means fewer of the head's bits
        assert np.sign(weights["s_cls.0"].grad.numpy()).tolist() == [
            w if signs == "rising" else -w for w in wanted
        ]


def test_random_signs_are_random_and_alignment_changes_values_alone():
    plain, aligned = (initial(gated(signs=signs, H=4), 0) for signs in ("random", "rising"))
    at = layout(gated(H=4).architecture)
    for name, x in at.views(plain).items():
        y = at.views(aligned)[name]
        assert np.array_equal(np.abs(x), np.abs(y)) and (np.array_equal(x, y) or name == "W_V.0")
    flips = {
        tuple(initial(gated(signs="rising", H=4, seed=s), 0) != initial(gated(H=4, seed=s), 0))
        for s in range(9)
    }
    assert len(flips) > 2


def test_cls_begins_with_its_share_of_attention():
    spec = gated(T=4000, gate="both", H=2, function="and", s=3, cls_share=0.2)
    bits, _ = training_set(replace(spec, m=200))
    weights = to_model(spec.architecture, initial(spec, 0)).attention(bits)  # (n, H, T+1)
    np.testing.assert_allclose(weights[:, :, -1].mean(axis=0), 0.2, rtol=0.03)
    even = to_model(spec.architecture, initial(replace(spec, inputs="p:0.9,0.3", p=None), 0))
    ones = np.tile(
        (np.arange(4000) % 5 < 3)[None].astype(np.uint8), (1, 1)
    )  # 60 of 100, the mean of .9 and .3
    np.testing.assert_allclose(even.attention(ones)[0, :, -1], 0.2, rtol=0.01)


def test_older_trials_keep_their_ids_and_new_settings_have_their_own():
    old = spec_of()
    assert not {"gate", "position_rate", "readout_rate", "signs", "cls_share"} & set(
        json.loads(spec_text(old))
    )
    rates: list[dict[str, Any]] = [{"position_rate": 2.0}, {"readout_rate": 2.0}]
    shut: list[dict[str, Any]] = [{}, {"signs": "rising"}, {"cls_share": 0.3}]
    new = rates + [{"gate": "ones", **settings} for settings in shut]
    specs = [replace(old, **settings) for settings in new]
    assert len({spec_id(s) for s in (old, *specs)}) == 6
    assert all(TrainSpec(**json.loads(spec_text(s))) == s and asdict(s) for s in specs)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"gate": "both", "L": 2}, "needs L=1, got 2"),
        ({"gate": "zeros", "encoding": "random"}, "needs encoding='trainable', got 'random'"),
        ({"gate": "zeros", "positions": "sinusoidal"}, "needs positions='trainable', got 'sinusoidal'"),
        ({"gate": "ones", "d": 2}, "needs d >= 3, got d=2"),
        ({"gate": "ones", "dropout": 0.1}, "needs dropout=0, got 0.1"),
        ({"signs": "rising"}, "needs a gate"),
        ({"gate": "some"}, "gate"),
        ({"position_rate": 0.0}, "position_rate"),
        ({"gate": "both", "cls_share": 1.0}, "cls_share"),
    ],
)
def test_what_cannot_be_gated_is_refused(settings, says):
    with pytest.raises(DomainError, match=says):
        spec_of(**settings)


@pytest.mark.parametrize("function", ["and", "or"])
def test_the_preset_learns_a_function_and_its_mirror_image(function):
    run = learn(function, T=40, s=3, m=30, seed=0, preset="gated", holdout=2000)
    assert run.solved and run.model is not None
    f = target_function(run.spec)
    bits, _ = training_set(replace(run.spec, m=400))
    assert (run.model.predict(bits) == f(bits)).mean() > 0.98


def test_a_head_of_the_preset_is_decided_by_verify():
    run = learn("x1 & x4", T=12, m=200, seed=0, preset="gated")
    assert run.solved and run.model is not None
    found = verify(run.model, "x1 & x4")
    assert found.method == "exhaustive" and found.correct is not None
