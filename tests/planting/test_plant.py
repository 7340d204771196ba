"""Planted models: proved by `verify`, checked here by enumeration and by what each kind of head is meant to do."""

import json
import sys
from dataclasses import replace
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest

import sparsehead as sh
from sparsehead._base.errors import DomainError, MissingExtra
from sparsehead.construct.decoder import plateaus
from sparsehead.functions import assignments
from sparsehead.heads.encoding import random_positions
from sparsehead.planting import plant as plant_file
from sparsehead.planting.distractors import KINDS, kinds_for
from sparsehead.planting.planted import Planted
from sparsehead.planting.superposed import Plan, effects, superpose

FUNCTIONS = ("x1 & x4 & x7", "maj(x0, x3, x9)", "x2 ^ x5 ^ x8", "x1 & ~x6", "x3", "(x0 | x5) & ~x8")
LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)


def state(planted, bits):
    """y at [CLS] of many inputs."""
    return planted.model.cls_state(bits.astype(np.int64))


@pytest.mark.parametrize("heads", ["one", "s"])
@pytest.mark.parametrize("f", FUNCTIONS)
def test_a_planted_model_computes_its_function_on_every_input(f, heads):
    bits = assignments(10)
    for seed, difficulty in enumerate(LEVELS):
        planted = sh.plant(f, T=10, heads=heads, difficulty=difficulty, seed=seed)
        wanted = sh.parse(f, T=10)
        assert planted.function == wanted and planted.support == wanted.support
        assert (planted.model.predict(bits) == wanted(bits)).all()
        assert planted.certificate.correct and planted.certificate.method == "exhaustive"
        if difficulty >= 0.75:
            assert planted.certificate.exact and np.abs(planted.model(bits) - wanted(bits)).max() < 1e-9


@pytest.mark.parametrize("heads", ["one", "s"])
@pytest.mark.parametrize("difficulty", LEVELS)
def test_long_models_are_superposed_and_proved_from_their_patterns(heads, difficulty):
    planted = sh.plant("x2 & x5 & x11", T=120, heads=heads, difficulty=difficulty, seed=1)
    assert planted.certificate.correct and planted.certificate.method in ("scalar", "affine")
    assert planted.d - 3 < planted.T and 0 < planted.interference < 1
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (400, 120))
    assert (planted.model.predict(bits) == planted.function(bits)).all()


def test_the_dial_narrows_adds_distractors_and_flattens():
    dial = [sh.plant("x2 & x5 & x11", T=200, difficulty=x, seed=0) for x in LEVELS]
    assert [p.d for p in dial] == sorted((p.d for p in dial), reverse=True) and dial[0].d > 3 * dial[-1].d
    assert [len(p.heads) for p in dial] == [1, 2, 3, 5, 6]
    assert [sorted({h.role for h in p.heads} - {"reading"}) for p in dial] == [
        [], ["silent"], ["constant", "silent"], ["cancel", "constant"], ["cancel", "constant", "silent"],
    ]  # fmt: skip
    torch = pytest.importorskip("torch")
    bits = torch.as_tensor(np.random.default_rng(0).integers(0, 2, (200, 200)))
    largest = []
    for planted in dial:
        module = planted.torch()
        X = module.tokens(bits).detach().requires_grad_()
        largest.append(torch.autograd.grad(module.outputs(X).sum(), X)[0].abs().max().item())
    assert min(largest[:2]) > 0.1 and max(largest[2:]) < 1e-9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("heads", ["one", "s"])
def test_a_distractor_attends_strongly_and_does_not_move_what_is_decoded(kind, heads):
    planted = sh.plant("x2 ^ x5 ^ x11", T=60, heads=heads, distractors=[kind], difficulty=0.5, seed=2)
    roles = [head for head in planted.heads if head.role == kind]
    assert len(roles) == (3 if kind == "cancel" else 1)
    assert all(head.share > 0.95 and not set(head.positions) & set(planted.support) for head in roles)
    attention = planted.model.attention(np.ones((1, 60), dtype=int))[0]
    for h, head in enumerate(planted.heads):
        assert attention[h, list(head.positions)].sum() == pytest.approx(head.share, abs=1e-12)
    # The bits of the decoys change the numbers that are decoded by far less than a relevant bit does.
    axes = 1 if heads == "one" else 3
    zero, decoys, relevant = np.zeros((3, 60), dtype=int)
    decoys[list(planted.decoys)], relevant[planted.support[0]] = 1, 1
    moved = np.abs(state(planted, np.array([zero, decoys, relevant])) - state(planted, zero[None]))[
        :, :axes
    ].max(axis=1)
    assert moved[1] < 0.25 * moved[2]
    # Without the distractor's heads the layer decodes something else, unless nothing reads what they write.
    layer = planted.model.layers[0]
    keep = np.array([head.role == "reading" for head in planted.heads])
    alone = replace(layer, W_C=layer.W_C * keep[:, None, None])
    pruned = replace(planted.model, layers=(alone,))
    some = np.random.default_rng(1).integers(0, 2, (300, 60))
    changed = np.abs(pruned(some) - planted.model(some)).max() > 0.5
    assert changed == (kind == "constant")
    one_less = keep | (np.arange(len(keep)) == planted.heads.index(roles[-1]))
    broken = replace(planted.model, layers=(replace(layer, W_C=layer.W_C * one_less[:, None, None]),))
    if kind == "cancel":
        assert np.abs(broken(some) - planted.model(some)).max() > 0.5


def test_a_silent_head_writes_bits_where_nothing_reads_them():
    planted = sh.plant("x2 & x5", T=40, distractors=["silent"], difficulty=0.5, seed=0)
    flipped = np.zeros((2, 40), dtype=int)
    flipped[1, list(planted.decoys)] = 1
    y = state(planted, flipped)
    assert np.abs(y[1] - y[0])[1:].max() > 0.1
    (head,) = (h for h, head in enumerate(planted.heads) if head.role == "silent")
    assert np.linalg.norm(planted.model.layers[0].W_C[head]) == pytest.approx(1)
    assert planted.model.layers[0].W_C[head, 0, 0] == 0


def test_effects_are_those_of_the_model_s_own_evaluation():
    """What `superpose` says each bit adds to [CLS]'s state, against the model, run with this bit alone."""
    f = sh.parse("x1 & x4", T=9)
    plan = Plan(f, "s", ("cancel", "constant", "silent"), flat=1.0)
    encoding = random_positions(9, 40, rng=np.random.default_rng(0))
    model, heads, interference = superpose(plan, encoding, rng=np.random.default_rng(1))
    at_zero, by_bit = effects(encoding, heads)
    b_C = model.layers[0].b_C
    inputs = np.vstack([np.zeros((1, 9)), np.eye(9), np.ones((1, 9))])
    y = model.cls_state(inputs.astype(np.int64))
    np.testing.assert_allclose(y[0], at_zero.sum(axis=0) + b_C, atol=1e-12)
    np.testing.assert_allclose(y[1:-1] - y[0], by_bit, atol=1e-12)
    np.testing.assert_allclose(y[-1] - y[0], by_bit.sum(axis=0), atol=1e-12)
    outside = np.delete(by_bit[:, :2], [1, 4], axis=0)
    reach = np.abs(outside).sum(axis=0).max()
    assert reach / 1.0 < interference < reach / 0.5


def test_nothing_is_returned_that_verify_does_not_prove(monkeypatch):
    """A proof that fails sends the search to the next width, and to an error if none is left."""
    asked, undecided = [], replace(sh.verify(sh.build("x1", T=4), "x1"), correct=None)

    def never(model, f, **options):
        asked.append(model.d)
        return undecided

    monkeypatch.setattr(plant_file, "verify", never)
    with pytest.raises(DomainError, match=r"no width up to \d+ allows a proof for s=1 of T=4 positions"):
        sh.plant("x1", T=4, difficulty=1, seed=0)
    assert asked == sorted(asked) and asked.count(asked[0]) == plant_file.DRAWS and asked[-1] > 3 * asked[0]


def test_a_width_that_is_too_small_is_refused_with_one_that_works():
    with pytest.raises(DomainError, match="d=8 is too small for a proof") as error:
        sh.plant("x2 & x5 & x11", T=200, d=8, seed=0)
    width = int(str(error.value).rstrip(".").split()[-1])
    assert sh.plant("x2 & x5 & x11", T=200, d=width, seed=0).d == width


def test_equal_arguments_plant_the_same_model_and_other_seeds_another():
    first, again, other = (sh.plant("x2 & x5", T=30, difficulty=1, seed=seed) for seed in (4, 4, 5))
    assert first.heads == again.heads and first.to_dict() == again.to_dict()
    assert np.array_equal(first.model.encoding.P, again.model.encoding.P)
    assert first.decoys != other.decoys
    assert sh.plant(sh.parse("x2 & x5", T=30), difficulty=1, seed=4).to_dict() == first.to_dict()


def test_defaults_leave_out_distractors_for_which_there_is_no_room():
    assert len(sh.plant("x0 & x1 & x2", T=4, difficulty=1, seed=0).heads) == 1
    roles = {head.role for head in sh.plant("x0", T=3, difficulty=1, seed=0).heads}
    assert roles == {"reading", "constant", "silent"}
    assert sh.plant("x1 & x3", T=30, difficulty=1, distractors=0, seed=0).decoys == ()


def test_distractors_attend_to_irrelevant_positions_alone():
    planted = sh.plant("x1 & x4", T=8, distractors=["silent", "constant", "cancel"], seed=0)
    assert planted.decoys == (0, 2, 3, 5, 6, 7)


def test_kinds_are_the_hardest_that_the_difficulty_allows():
    assert kinds_for(4, 0.2) == ("silent",) * 4
    assert kinds_for(3, 0.6) == ("constant", "silent", "constant")
    assert kinds_for(1, 0.7) == ("cancel",)
    assert kinds_for(["silent", "cancel"], 0.0) == ("silent", "cancel")
    assert kinds_for(None, 0.0) == kinds_for(0, 1.0) == ()


def test_the_torch_module_and_the_model_file_compute_the_same(tmp_path):
    torch = pytest.importorskip("torch")
    planted = sh.plant("maj(x2, x5, x11)", T=40, difficulty=1, seed=0)
    bits = np.random.default_rng(0).integers(0, 2, (50, 40))
    np.testing.assert_allclose(
        planted.torch()(torch.as_tensor(bits)).detach(), planted.model(bits), atol=1e-12
    )
    single = planted.torch(dtype="float32")(torch.as_tensor(bits)).detach().numpy()
    assert ((single > 0.5) == planted.function(bits)).all()
    loaded = sh.load(sh.save(planted.model, tmp_path / "planted.safetensors"))
    assert np.array_equal(loaded(bits), planted.model(bits))
    planted.certificate.save(tmp_path / "planted.cert.json")
    assert sh.verify(loaded, planted.function).correct


def test_transformer_lens_has_the_attention_of_every_head(monkeypatch):
    pytest.importorskip("torch")
    import torch

    from ..importing.lens import HookedTransformer, config

    planted = sh.plant("x2 ^ x5", T=8, difficulty=1, heads="s", seed=0)
    if find_spec("transformer_lens") is None:
        with pytest.raises(MissingExtra, match="lens"):
            planted.to_transformer_lens()
    monkeypatch.setattr("sparsehead.construct.export.require_module", lambda name: None)
    stand_in = SimpleNamespace(HookedTransformer=HookedTransformer, HookedTransformerConfig=config)
    monkeypatch.setitem(sys.modules, "transformer_lens", stand_in)
    hooked = planted.to_transformer_lens()
    bits = assignments(8)
    ids = torch.as_tensor(np.hstack([bits, np.full((256, 1), 2)]).astype(np.int64))
    X = hooked.embed(ids) + hooked.pos_embed.W_pos
    out = hooked.blocks[0].attn(X, X, X) if hasattr(hooked.blocks[0].attn, "ln") else hooked.blocks[0].attn(X)
    y = out[:, -1].detach().numpy()
    np.testing.assert_allclose(y, state(planted, bits), atol=1e-12)
    assert (planted.model.read_out(y).round() == planted.function(bits)).all()


def test_the_repr_and_the_table_say_what_every_head_is_for():
    planted = sh.plant("x2 & x5", T=30, distractors=["cancel"], difficulty=0.5, seed=0)
    assert repr(planted) == (
        f"<Planted: x2 & x5 reads 2 of T=30 positions in d={planted.d} dimensions; 4 heads, 3 to distract; "
        "proved on all 2^30 inputs>"
    )
    rows = list(planted.to_frame())
    assert [row["role"] for row in rows].count("reading") == 1 and len(rows) == 4
    assert {row["positions"] for row in rows if row["role"] == "reading"} == {"x2, x5"}
    assert json.loads(json.dumps(planted.to_dict()))["support"] == [2, 5]
    assert isinstance(planted, Planted) and planted.model.meta["source"] == "plant"


@pytest.mark.parametrize(
    ("flat", "start", "stop"),
    [(0.0, 0.5, 4.0), (0.25, 0.75, 3.5), (0.5, 1.0, 3.0), (0.75, 1.25, 2.75), (1.0, 1.5, 2.5)],
)
def test_ramps_start_farther_from_the_intervals_the_flatter_the_decoder_is(flat, start, stop):
    decoder = plateaus(np.array([0.0, 3.0]), np.array([1.0, 5.0]), np.array([0, 1]), flat=flat)
    assert decoder.kinks.tolist() == [start, stop]
    np.testing.assert_allclose(decoder(np.array([0.0, 5.0])), [0.0, 1.0], atol=1e-15)
    assert decoder.slopes[0] * (stop - start) == pytest.approx(1)
