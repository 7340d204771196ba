"""What is measured on a head, against plain loops over the model's own attention; baselines, influence, ablation."""

import math
from typing import Any

import numpy as np
import pytest
import torch

import sparsehead as sh
from sparsehead._base.errors import DomainError, ShapeError
from sparsehead.probing.baselines import randomised
from sparsehead.probing.influence import ablation, direct_change, spearman, total_influence
from sparsehead.probing.inputs import Inputs, inputs_of, shuffled
from sparsehead.probing.load import source_of
from sparsehead.probing.measure import query_rows
from sparsehead.probing.running import run
from sparsehead.probing.statistics import support_of

CLS, SEP = 2, 3


def sequences(n=3, T=12, seed=0):
    """Ids with repeats, of different lengths."""
    rng = np.random.default_rng(seed)
    return [np.concatenate([[CLS], rng.integers(5, 12, T + i), [SEP]]) for i in range(n)]


def own_attention(model, ids):
    """(layers, heads, T, T), as transformers returns it."""
    with torch.no_grad():
        out = model(input_ids=torch.as_tensor(ids)[None], output_attentions=True)
    return torch.stack(out.attentions)[:, 0].double().numpy()


def values_of(model, ids, layer, h):
    """The value vectors of head h, and W_O, of a BERT."""
    with torch.no_grad():
        states = model(input_ids=torch.as_tensor(ids)[None], output_hidden_states=True).hidden_states
        block = model.encoder.layer[layer].attention
        values = block.self.value(states[layer])[0, :, 8 * h : 8 * h + 8]
    return values.double().numpy(), block.output.dense.weight.detach().double().numpy()[
        :, 8 * h : 8 * h + 8
    ].T


def by_hand(A, ids, *, causal):
    """Sums over rows of one sequence, written out."""
    T = len(ids)
    found: dict[str, list[Any]] = {
        name: [] for name in ("support", "entropy", "top2", "first", "self", "prev", "next", "cls", "sep")
    }
    found |= {name: [] for name in ("same", "after", "before")}
    for i in range(T):
        a = A[i]
        found["support"].append(1 / sum(x * x for x in a))
        found["entropy"].append(-sum(x * math.log(x) for x in a if x > 0))
        found["top2"].append(sum(sorted(a)[-2:]))
        found["first"].append(a[0])
        found["self"].append(a[i])
        found["prev"] += [a[i - 1]] if i else []
        found["next"] += [a[i + 1]] if i + 1 < T else []
        found["cls"].append(sum(a[j] for j in range(T) if ids[j] == CLS))
        found["sep"].append(sum(a[j] for j in range(T) if ids[j] == SEP))
        others = [j for j in range(T) if j != i and ids[j] == ids[i]]
        for name, moved in (("same", 0), ("after", 1), ("before", -1)):
            places = [j + moved for j in others if 0 <= j + moved < T and (not causal or j + moved <= i)]
            found[name] += [sum(a[j] for j in places)] if places else []
    return found


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_statistics_are_those_of_plain_loops(kind, tiny):
    model, inputs = tiny(kind), sequences()
    result = sh.probe(model, tokens=inputs, baselines=False, bounds=False)
    sums: dict[Any, Any] = {}
    for ids in inputs:
        A = own_attention(model, ids)
        for layer in range(2):
            for h in range(4):
                for name, values in by_hand(A[layer, h], ids, causal=kind == "gpt2").items():
                    sums.setdefault((layer, h, name), []).extend(values)
    pairs = {
        "support": "effective_support",
        "first": "sink_first",
        "self": "attends_self",
        "prev": "previous",
    }
    pairs |= {"same": "same_token", "after": "induction", "before": "induction_back"}
    for layer in range(2):
        for h in range(4):
            measured = result.head(layer, h).measured
            for name in ("support", "entropy", "first", "self", "prev", "next", "same", "after", "before"):
                wanted = np.mean(sums[layer, h, name])
                assert getattr(measured, pairs.get(name, name)) == pytest.approx(
                    wanted, rel=1e-4, abs=1e-6
                ), name
            assert measured.top_mass[2] == pytest.approx(np.mean(sums[layer, h, "top2"]), rel=1e-4)


def test_sinks_on_cls_and_sep_are_measured_where_the_ids_are_known(tiny, tmp_path):
    model = tiny("bert")
    model.save_pretrained(tmp_path)
    (tmp_path / "vocab.txt").write_text(
        "\n".join(["a", "b", "[CLS]", "[SEP]", *(f"t{i}" for i in range(96))])
    )
    inputs = sequences()
    measured = sh.probe(tmp_path, tokens=inputs, baselines=False, bounds=False).head(1, 2).measured
    rows = [by_hand(own_attention(model, ids)[1, 2], ids, causal=False) for ids in inputs]
    assert measured.sink_cls == pytest.approx(np.mean(np.concatenate([r["cls"] for r in rows])), rel=1e-4)
    assert measured.sink_sep == pytest.approx(np.mean(np.concatenate([r["sep"] for r in rows])), rel=1e-4)
    assert measured.sink_rate == np.mean([np.mean(r["first"]) > 0.3 for r in rows])


def test_the_score_is_the_share_of_variance_that_s_positions_reproduce(tiny):
    model, inputs = tiny("bert", scale=40.0), sequences()
    result = sh.probe(model, tokens=inputs, baselines=False, bounds=False)
    scores = []
    for layer, h in ((0, 1), (1, 3)):
        for s in (1, 2, 4):
            outputs, errors = [], []
            for ids in inputs:
                A = own_attention(model, ids)[layer, h]
                V, W_O = values_of(model, ids, layer, h)
                for a in A:
                    kept = np.where(a >= np.sort(a)[-s], a, 0)
                    outputs.append(a @ V @ W_O)
                    errors.append(a @ V @ W_O - kept / kept.sum() @ V @ W_O)
            variation = np.square(outputs - np.mean(outputs, axis=0)).sum()
            wanted = max(0.0, 1 - np.square(errors).sum() / variation)
            assert result.head(layer, h).score(s) == pytest.approx(wanted, abs=1e-4)
            scores.append(wanted)
    assert max(scores) > 0.1  # the comparison is not between zeros


def test_a_constant_output_has_score_zero(tiny):
    """All weight on a token whose value does not vary is attention, but no variable."""
    model = tiny("bert")
    with torch.no_grad():
        for layer in model.encoder.layer:
            layer.attention.self.value.weight.zero_()
    result = sh.probe(model, tokens=sequences(), baselines=False, bounds=False)
    assert all(found.score(4) == 0 for found in result.heads)


def test_baselines_stand_beside_every_statistic(tiny):
    result = sh.probe(tiny("bert"), tokens=sequences(), bounds=False)
    found = result.heads[0]
    assert set(found.baselines) == {"random_weights", "shuffled_input", "uniform_attention"}
    flat = found.baselines["uniform_attention"]
    assert flat.effective_support == pytest.approx(np.average([14, 15, 16], weights=[14, 15, 16]), rel=1e-5)
    assert all(set(b.score) == set(found.measured.score) for b in found.baselines.values())
    assert found.random_weights.norms.V.frobenius != found.weights.norms.V.spectral
    page = result._repr_html_()
    assert "score_random_weights" in page and "<img" in page and "<script" not in page
    assert repr(result).startswith("<Probe: ") and "first by score(4): layer" in repr(result)
    assert len(repr(result)) < 300 and len(repr(found)) < 400 and "\n" not in repr(result)
    frame = result.to_frame()
    assert len(frame) == 8 and frame["score"] == [head.score(4) for head in result.heads]


def test_random_weights_keep_the_entries_and_nothing_else(tiny):
    source = source_of(tiny("bert"))
    other = randomised(source, seed=1)
    for a, b in zip(source.module.parameters(), other.module.parameters(), strict=True):
        assert torch.equal(a.flatten().sort().values, b.flatten().sort().values)
        assert a.dim() < 2 or not torch.equal(a, b) or a.unique().numel() < 3
    assert all(
        torch.equal(a, b)
        for a, b in zip(
            randomised(source, seed=1).module.parameters(), other.module.parameters(), strict=True
        )
    )


def test_shuffling_keeps_tokens_and_leaves_cls_and_sep_in_place():
    given = Inputs(tuple(sequences()), ids=True, cls=CLS, sep=SEP)
    for before, after in zip(given.sequences, shuffled(given, 0).sequences, strict=True):
        assert sorted(before) == sorted(after) and (after[0], after[-1]) == (CLS, SEP)
        assert not np.array_equal(before, after)


@pytest.mark.parametrize("kind", ["bert", "llama", "mpnet"])
def test_direct_influence_is_what_substitution_at_the_layers_input_gives(kind, tiny):
    """The closed form against recomputing the head with one row of X replaced."""
    from dataclasses import replace

    source, (one, other) = source_of(tiny(kind)), sequences(2)
    calls: list[Any] = []
    others: list[Any] = []
    run(source, one, calls.append)
    run(source, other[: len(one)], others.append)
    call, X = calls[1], others[1].X
    rows = torch.tensor([3, 7, 13])
    change, weight = direct_change(call, X, 2, rows)
    before = call.head_output(2)[rows]
    assert torch.allclose(weight.float(), call.attention(2, rows), atol=1e-6)
    for t in range(call.T):
        moved = call.X.clone()
        moved[t] = X[t]
        after = replace(call, X=moved).head_output(2)[rows]
        for r, row in enumerate(rows.tolist()):
            if row != t:
                assert float(change[r, t]) == pytest.approx(
                    float((after[r] - before[r]).norm()), rel=1e-3, abs=1e-5
                )


def test_influence_finds_the_position_that_attention_misses():
    """A head with equal weights on all positions depends only on the one whose value varies."""
    rng = np.random.default_rng(0)
    layer = torch.nn.TransformerEncoderLayer(16, 2, 16, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 1, enable_nested_tensor=False).eval()
    with torch.no_grad():
        model.layers[0].self_attn.in_proj_weight[:32] = 0
    fixed = rng.normal(size=(10, 16))
    tokens = []
    for _ in range(6):
        tokens.append(fixed.copy())
        tokens[-1][6] = rng.normal(size=16)
    result = sh.probe(model, tokens=tokens, baselines=False, bounds=False, influence=5, total=2, queries=[0])
    for kind in ("direct", "total"):
        found = result.head(0, 0).influence[kind]
        assert found.support == (6,)
        assert np.argmax(found.positions) == 6 and found.positions[5] < 1e-6


def test_total_influence_runs_the_whole_model(tiny):
    source = source_of(tiny("gpt2"))
    inputs = Inputs(tuple(sequences(2, T=5)), ids=True)
    found = total_influence(source, inputs, count=1, rows=query_rows([-1]))
    assert len(found) == 2 and len(found[1][0].positions) == 7
    assert found[1][0].positions[3] > 0


@pytest.mark.parametrize("kind", ["bert", "albert", "gpt2", "llama"])
def test_ablation_is_the_model_without_the_rows_of_w_o(kind, tiny):
    """Zeroing before the output projection equals removing the head's rows of W_O, for one layer only."""
    model, ids = tiny(kind), sequences(1)[0]
    source = source_of(model)
    effects = ablation(source, Inputs((ids,), ids=True), count=1)
    before = run(source, ids)
    if kind == "albert":  # two layers, two groups: each is one layer's own
        projection, rows = (
            model.encoder.albert_layer_groups[1].albert_layers[0].attention.dense.weight,
            "columns",
        )
    elif kind == "bert":
        projection, rows = model.encoder.layer[1].attention.output.dense.weight, "columns"
    elif kind == "gpt2":
        projection, rows = model.h[1].attn.c_proj.weight, "rows"
    else:
        projection, rows = model.layers[1].self_attn.o_proj.weight, "columns"
    with torch.no_grad():
        part = projection[16:24] if rows == "rows" else projection[:, 16:24]
        part.zero_()
        after = run(source_of(model), ids)
    wanted = (after - before).norm() / (before - before.mean(dim=0)).norm()
    assert effects[1][2] == pytest.approx(float(wanted), rel=1e-3)
    assert effects[1][2] > 1e-3


def test_ablation_of_torch_encoders(encoder):
    model = encoder()
    X = np.random.default_rng(0).normal(size=(9, 32)).astype(np.float32)
    effects = ablation(source_of(model), Inputs((X,), ids=False), count=1)
    before = run(source_of(model), X)
    with torch.no_grad():
        model.layers[0].self_attn.out_proj.weight[:, 8:16] = 0
    after = run(source_of(model), X)
    wanted = (after - before).norm() / (before - before.mean(dim=0)).norm()
    assert effects[0][1] == pytest.approx(float(wanted), rel=1e-3)


def test_norms_are_those_of_the_state_dict(tiny):
    model = tiny("bert")
    wanted = sh.norms(model.state_dict(), heads=4)["encoder.layer.1.attention.self"]
    found = sh.probe(model, tokens=sequences(), baselines=False, bounds=False)
    for h in range(4):
        ours, theirs = found.head(1, h).weights.norms, wanted[h]
        assert ours.QK.frobenius == pytest.approx(theirs.QK.frobenius, rel=1e-6)
        assert ours.VO.n21 == pytest.approx(theirs.VO.n21, rel=1e-6)


def test_ranks_and_bounds(tiny):
    result = sh.probe(tiny("llama"), tokens=sequences(), form="ours")
    found = result.heads[0]
    W = source_of(tiny("llama")).weights[found.layer]
    sigma = np.linalg.svd((W.W_Q[found.head] @ W.W_K[found.head].T).numpy(), compute_uv=False)
    p = sigma[:8] / sigma[:8].sum()
    assert found.weights.rank_QK == pytest.approx(math.exp(-(p * np.log(p)).sum()), rel=1e-4)
    assert found.bound.vacuous and found.bound.vacuous_by > 1 and found.bound.dominated_by in ("QK", "V")
    assert 0 < found.bound.proxy <= 2 * 64 * 8  # two matrices of rank 8 with 32 + 32 numbers per rank
    assert any("outside" in note and "rotary" in note for note in result.notes)
    assert result.layer_bounds[0].log_covering > max(result.head(0, h).bound.log_covering for h in range(4))


def test_support_and_rank_correlation():
    assert support_of(np.array([0.3, 0.001, 0.3, 0.3, 0.002])) == (0, 2, 3)
    x = np.array([1.0, 2.0, 2.0, 5.0])
    assert spearman(x, x**3) == pytest.approx(1) and spearman(x, -x) == pytest.approx(-1)
    assert spearman(x, np.ones(4)) is None


def test_what_cannot_be_measured_is_refused_in_one_line(tiny, encoder):
    model = tiny("bert")
    with pytest.raises(DomainError, match="text or tokens, not both"):
        sh.probe(model, text="a", tokens=[[1, 2]])
    with pytest.raises(DomainError, match="token ids of this model are 0 to 99; 100 arrived"):
        sh.probe(model, tokens=[[1, 100]])
    with pytest.raises(ShapeError, match="whole numbers"):
        sh.probe(model, tokens=[[0.5, 1.0]])
    with pytest.raises(ShapeError, match=r"embedded tokens \(T, d\)"):
        sh.probe(encoder(), tokens=[[1, 2]])
    with pytest.raises(DomainError, match="NaN"):
        sh.probe(encoder(), tokens=[np.full((4, 32), np.nan)])
    with pytest.raises(DomainError, match="state dict has weights but computes nothing"):
        sh.probe(model.state_dict(), heads=4, text="a")
    with pytest.raises(DomainError, match="s is one of"):
        sh.probe(model, s=3)
    with pytest.raises(DomainError, match="at least two sequences"):
        sh.probe(model, tokens=[[1, 2, 3]], influence=1)
    with pytest.raises(sh.SparseheadError, match="no folder in which a tokenizer could be"):
        sh.probe(model, text="some words")
    with pytest.raises(DomainError, match="outside a sequence of 3 tokens"):
        sh.probe(model, tokens=[[1, 2, 3]], queries=[7])
    weights_only = sh.probe(model.state_dict(), heads=4, bounds=False)
    assert weights_only.heads[0].measured is None and "weights only" in weights_only.summary


def test_tokenizers_may_return_ids_or_what_those_of_transformers_return(tiny):
    from transformers import BatchEncoding  # heavy: only where it is needed

    ids, model = [5, 6, 7, 5], tiny("bert")
    forms = (
        ids,
        np.array(ids),
        {"input_ids": ids, "attention_mask": [1] * 4},
        BatchEncoding({"input_ids": ids}),
        {"input_ids": torch.tensor([ids])},
    )
    found = [
        sh.probe(model, text="words", tokenizer=lambda text, form=form: form, baselines=False, bounds=False)  # type: ignore[misc]
        for form in forms
    ]
    assert {result.tokens for result in found} == {4}
    assert {result.heads[0].score(2) for result in found} == {found[0].heads[0].score(2)}
    for wrong in (["a", "b"], 3, {"ids": ids}, [0.5, 1.5], [[1, 2], [3, 4]]):
        with pytest.raises(ShapeError, match="the tokenizer returned no sequence of whole numbers"):
            sh.probe(model, text="words", tokenizer=lambda text, wrong=wrong: wrong)  # type: ignore[misc]


def test_a_limit_below_two_tokens_is_refused_and_never_taken_for_none(tiny):
    bert = source_of(tiny("bert"))
    how: dict[str, Any] = {"text": None, "tokens": None, "tokenizer": None, "seed": 0}
    assert inputs_of(bert, longest=2, **how).longest == 2
    for limit in (0, 1):
        with pytest.raises(DomainError, match=f"at least two tokens; BertModel would get {limit}"):
            inputs_of(bert, longest=limit, **how)


def test_long_sequences_are_cut_and_said_to_be(tiny):
    given = inputs_of(
        source_of(tiny("roberta")), text=None, tokens=[np.arange(2, 98)], tokenizer=None, longest=None, seed=0
    )
    assert len(given.sequences[0]) == 78  # RoBERTa's positions start behind the padding id 1
    assert given.notes == ("1 of 1 sequences were cut to 78 tokens",)
