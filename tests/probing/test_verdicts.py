"""One head, one verdict: `probe` and `bound` agree on the same head, form and number of samples."""

from typing import Any

import numpy as np
import pytest

import sparsehead as sh
from sparsehead.capacity.architecture import OUTSIDE
from sparsehead.capacity.verdict import Verdict
from sparsehead.cli.probe import vacuous

FORMS = (None, "ours", "parametric")


def same(found, wanted):
    """Equal in all that a verdict says; weights pass through float32 in probe, and steps of a search are 0.1 %."""
    for name in Verdict.__dataclass_fields__:
        a, b = getattr(found, name), getattr(wanted, name)
        assert a == (pytest.approx(b, rel=3e-3) if isinstance(b, float) else b), name


@pytest.mark.parametrize("m", [1000, 10**6])
@pytest.mark.parametrize("form", FORMS)
def test_a_written_head_has_one_verdict(form, m):
    for formula, T in (("x2 & x5 & x11", 16), ("x1 | x3", 8)):
        model = sh.build(formula, T=T)
        wanted = sh.bound(model, m=m, form=form)
        found = sh.probe(model, m=m, form=form, baselines=False)
        same(found.head(0, 0).bound, wanted)
        same(found.layer_bounds[0], wanted)
        assert found.head(0, 0).bound.verdict == wanted.verdict


@pytest.mark.parametrize("form", FORMS)
def test_heads_and_layers_of_foreign_models_have_one_verdict(form, encoder, tiny):
    X = np.random.default_rng(0).normal(size=(9, 16)).astype(np.float32)
    cases = [
        (encoder(layers=1, d=16, heads=2), [X], "layers.0.self_attn"),
        (tiny("llama", num_hidden_layers=1, num_attention_heads=2), [[1, 2, 3, 4]], "layers.0.self_attn"),
    ]
    for model, tokens, name in cases:
        found = sh.probe(model, tokens=tokens, form=form, m=10**5, baselines=False)
        (whole,) = found.layer_bounds
        call: dict[str, Any] = {
            "heads": 2,
            "layer": name,
            "norms": {"BX": whole.radius},
            "T": whole.T,
            "m": 10**5,
            "form": form,
        }
        same(whole, sh.bound(model, **call))
        same(found.head(0, 1).bound, sh.bound(model, head=1, **call))


@pytest.mark.parametrize("kind", ["llama", "mpnet", "t5", "codegen", "bert", "gpt_neo"])
def test_what_is_outside_the_class_is_not_proven(kind, tiny):
    model = tiny(kind)
    beyond = kind in ("llama", "mpnet", "t5", "codegen")
    name = next(iter(sh.norms(model)))
    for weights, heads in ((model, None), (model.state_dict(), 4)):
        found = sh.bound(weights, heads=heads, layer=name, head=0, norms={"BX": 5.0}, T=8, m=100, form="ours")
        assert found.proven is not beyond and found.to_dict()["proven"] is not beyond
        assert any(text in found.notes for text in OUTSIDE.values()) is beyond
        assert found.verdict.startswith("not proven, ") is beyond
    if kind in ("llama", "bert"):
        probed = sh.probe(model, tokens=[[1, 2, 3, 4]], form="ours", baselines=False)
        head = probed.heads[0]
        assert head.bound.proven is not beyond and head.row()["proven"] is not beyond
        assert head.to_dict()["bound"]["proven"] is not beyond
        assert vacuous(head.row()).startswith("(") is beyond
        assert set(OUTSIDE.values()).isdisjoint(probed.notes) is not beyond


def test_a_dash_is_what_cannot_be_measured():
    row = {"vacuous": False, "vacuous_by": None, "proven": True}
    assert [vacuous(row), vacuous({**row, "proven": False}), vacuous({})] == ["no", "(no)", "-"]
    assert vacuous({"vacuous": True, "vacuous_by": None, "proven": True}) == ">1e300"
    assert vacuous({"vacuous": True, "vacuous_by": 152.3, "proven": True}) == "2e+02"


def test_a_bound_without_w_says_that_the_read_out_is_fixed():
    norms: dict[str, Any] = {"V21": 1, "V": 1, "QK": 2.0, "BX": 1.42}
    call: dict[str, Any] = {"T": 10, "m": 100, "form": "ours"}
    words = "the output is read by a fixed vector of length 1; w= prices a trained one"
    assert words in sh.bound(norms=norms, **call).assumptions
    assert words not in sh.bound(norms={**norms, "w": 1}, **call).assumptions
