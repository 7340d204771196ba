"""The atlas of probed heads beside their bounds, and the spectra of networks beside matrices taken by hand."""

import json

import numpy as np
import pytest
import torch
from torch import nn

import sparsehead as sh
from sparsehead._base.errors import DomainError
from sparsehead.capacity import spectra
from sparsehead.capacity.neighbours import sensitivity
from sparsehead.cli.app import main
from sparsehead.probing.atlas import network_proxies, network_spectra
from sparsehead.probing.load import source_of
from sparsehead.probing.probe import probe


def numpy(weight):
    return weight.detach().double().numpy()


def by_hand(layer, H):
    """Largest singular values and column sums of BERT's layer, by forming every product."""
    attention = layer.attention
    Q, K, V = (numpy(getattr(attention.self, name).weight).T for name in ("query", "key", "value"))
    O, k = numpy(attention.output.dense.weight).T, Q.shape[1] // H
    heads = []
    for h in range(H):
        s = slice(h * k, (h + 1) * k)
        heads += [Q[:, s] @ K[:, s].T, V[:, s] @ O[s]]
    return [*heads, numpy(layer.intermediate.dense.weight).T, numpy(layer.output.dense.weight).T]


@pytest.mark.claim("spectra-minilm")
def test_the_spectra_of_bert_are_those_of_its_matrices(tiny):
    model = tiny("bert")
    found = network_spectra(source_of(model))
    for layer, module in zip(found, model.encoder.layer, strict=True):
        matrices = [*(W for pair in layer.heads for W in pair), layer.M_in, layer.M_out]
        for spectrum, W in zip(matrices, by_hand(module, 4), strict=True):
            sigma = np.linalg.svd(W, compute_uv=False)
            np.testing.assert_allclose(spectrum.sigma, sigma[: len(spectrum.sigma)], atol=1e-9)
            assert spectrum.n21 == pytest.approx(np.sqrt((W**2).sum(axis=0)).sum())
    d = model.config.hidden_size
    assert network_proxies(source_of(model)) == {
        "spectrum": spectra.spectrum(found, d), "edelman": spectra.edelman(found)
    }  # fmt: skip


def test_gpt2_stores_its_matrices_the_other_way_round(tiny):
    model = tiny("gpt2")
    (first, _) = network_spectra(source_of(model))
    M_in = next(W for name, W in model.named_parameters() if name.endswith("h.0.mlp.c_fc.weight"))
    assert first.M_in.n21 == pytest.approx(np.sqrt((numpy(M_in) ** 2).sum(axis=0)).sum())


def test_the_mlp_of_a_torch_encoder_is_found():
    torch.manual_seed(0)
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 24), 2, enable_nested_tensor=False)
    (first, _) = network_spectra(source_of(encoder))
    W = numpy(encoder.layers[0].linear2.weight).T
    assert first.M_out.largest == pytest.approx(np.linalg.norm(W, 2))


@pytest.mark.parametrize(
    ("kind", "message"), [("t5", "no MLP|one attention module"), ("llama", "no MLP of two")]
)
def test_networks_of_another_kind_are_refused(tiny, kind, message):
    with pytest.raises(DomainError, match=message):
        network_proxies(source_of(tiny(kind)))


def test_models_of_this_library_have_their_own_atlas():
    with pytest.raises(DomainError, match=r"sparsehead\.atlas"):
        network_proxies(source_of(sh.build("x1 & x2", T=8)))


def test_the_atlas_of_a_layer_or_head_has_the_bound_of_the_probe(tiny):
    found = probe(tiny("bert"), baselines=False)
    for bound, atlas in (
        (found.layer_bounds[1], found.atlas(1)),
        (found.head(1, 2).bound, found.atlas(1, 2)),
    ):
        row = next(row for row in atlas.rows if row.form == bound.form)
        assert (row.log_covering, row.gap) == (pytest.approx(bound.log_covering), pytest.approx(bound.gap))
        assert (atlas.T, atlas.m) == (bound.T, bound.m)
        assert {point.axis for point in atlas.growth} == {"m", "T"}
        assert atlas.smallest.proved
        assert {row.form for row in atlas.rows} >= {"sensitivity", "vc", "code", "compression"}
    sharpest = {h: sensitivity(found.attention(1, h)).max() for h in range(4)}
    for head, theta in ((2, sharpest[2]), (None, max(sharpest.values()))):
        assumes = next(row.assumes for row in found.atlas(1, head).rows if row.form == "sensitivity")
        assert f"theta = {theta:.4g}" in assumes
    with pytest.raises(DomainError, match="0 to 1"):
        found.atlas(2)
    with pytest.raises(DomainError, match="left out"):
        probe(tiny("bert"), baselines=False, bounds=False).atlas(0)


def test_the_command_prints_the_atlas_of_every_layer_and_head(tiny, tmp_path, capsys):
    tiny("bert").save_pretrained(tmp_path / "bert")
    for more in (["--json"], []):
        with pytest.raises(SystemExit) as done:
            main(["probe", str(tmp_path / "bert"), "--no-baselines", "--atlas", *more])
        assert done.value.code == 0
        said = capsys.readouterr().out
        if more:
            found = json.loads(said)
            places = [(one["layer"], one["head"]) for one in found["atlas"]]
            assert places == [(layer, head) for layer in (0, 1) for head in (None, 0, 1, 2, 3)]
            assert found["proxies"].keys() == {"spectrum", "edelman"}
        else:
            assert "1.all" in said and "proxies of the network" in said


def test_the_atlas_needs_bounds(tiny, tmp_path, capsys):
    tiny("bert").save_pretrained(tmp_path / "bert")
    with pytest.raises(SystemExit) as done:
        main(["probe", str(tmp_path / "bert"), "--atlas", "--no-bounds"])
    assert done.value.code == 2
    assert "leave --no-bounds out" in capsys.readouterr().err
