"""The atlas: what each row is, by hand or by a second computation; no proved form is refuted by a small class."""

import itertools
import json
import math
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sparsehead as sh
from sparsehead._base.errors import DomainError
from sparsehead._base.rng import stream
from sparsehead.capacity import neighbours, spectra
from sparsehead.capacity.check_form import check_form, stated
from sparsehead.capacity.forms import FORMS, Charge, Form
from sparsehead.capacity.norms import MatrixNorms
from sparsehead.capacity.own_forms import RESERVED
from sparsehead.capacity.pricing import Pricing
from sparsehead.capacity.small_classes import SmallClass, low_rank
from sparsehead.heads import encoding
from sparsehead.heads.block import Layer, Mlp
from sparsehead.heads.heads import softmax
from sparsehead.heads.model import Model
from sparsehead.reading.occam import log_price, tail_inversion

pytestmark = pytest.mark.usefixtures("unchecked")
NORMS = {"V21": 1.0, "V": 1.0, "QK": 9.4, "BX": 1.42}


def transformer(L=2, H=2, k=3, scale=0.5, T=6):
    """Layers with an MLP and linear values, random weights."""
    rng, d = stream(1, "transformer"), T + 3

    def w(*shape):
        return scale * rng.normal(size=shape)

    layers = tuple(
        Layer(
            W_Q=w(H, d, k),
            W_K=w(H, d, k),
            W_V=w(H, d, k),
            W_C=w(H, k, d),
            mlp=Mlp(w(d, 5), w(5), w(5, d), w(d)),
        )
        for _ in range(L)
    )
    return Model(encoding=encoding.positional(T), layers=layers, w=w(d))


# rank


def charge_price(W, N, b, x, kind="linear"):
    """What form rank charges one matrix at resolution x."""
    return stated(neighbours.RANK, SmallClass(kind, "", x, 0.0, W, math.log(N), b))


@pytest.mark.parametrize(
    ("rows", "columns", "rank", "N", "kind", "numbers", "factor"),
    [
        (100, 80, 3, 10**6, "linear", 3 * (100 + 80), 4),
        (100, 80, 3, 50, "linear", 3 * (50 + 80), 4),  # fifty points span no more than fifty dimensions
        (100, 80, 60, 10**6, "linear", 100 * 80, 2),  # all entries are fewer
        (100, 80, None, 10**6, "linear", 100 * 80, 2),
        (7, 1, 1, 10**6, "linear", 7, 2),
        (64, 64, 4, 10**9, "bilinear", 4 * 128, 4),
        (64, 64, 4, 5, "bilinear", 5, 2),  # five scores are five numbers
        (64, 64, 4, 1000, "bilinear", 4 * 128, 4),
    ],
)
def test_a_matrix_of_small_rank_costs_its_two_factors(rows, columns, rank, N, kind, numbers, factor):
    W = MatrixNorms(2.0, 1.0, 5.0, 5.0, 9.0, rows, columns, rank)
    r = 2.0 * 3.0 / 0.01
    assert charge_price(W, N, 3.0, 0.01, kind) == pytest.approx(numbers * math.log(1 + factor * r), rel=1e-9)


def test_ranks_are_those_of_the_architecture():
    """W_Q W_K^T and W_V W_C of width 3 in d = 9: 3 * 18 numbers instead of 81; the MLP's matrices 9 * 5 either way."""
    items = {item.name: item.dim for item in _items(transformer(L=2))}
    assert items["layer0.head0.QK"] == items["layer1.head1.V"] == 3 * 18
    assert items["layer0.mlp.W_1"] == 10 * 5 and items["layer1.mlp.W_2"] == 6 * 9 and items["w"] == 9


def _items(model):
    from sparsehead.capacity.networks import model_items

    return model_items(model, m=10**6, price=Pricing(neighbours.RANK))


def test_two_factors_near_those_of_a_matrix_give_one_near_it():
    """The inequality of the proof, on random matrices: ||PQ - P'Q'||_F <= ||P - P'|| ||Q||_F + ||Q - Q'||_F."""
    rng = stream(2, "factors")
    for _ in range(200):
        a, c, k = rng.integers(2, 6, size=3)
        k = min(a, c, k)
        P, P2 = (np.linalg.qr(rng.normal(size=(a, k)))[0] for _ in range(2))
        Q, Q2 = rng.normal(size=(2, k, c))
        moved = np.linalg.norm(P @ Q - P2 @ Q2)
        assert moved <= np.linalg.norm(P - P2, 2) * np.linalg.norm(Q) + np.linalg.norm(Q - Q2) + 1e-12


# what is proved is not refuted; benchmarks/refute_forms.py tries a thousand classes


@pytest.mark.parametrize("name", ["ours", "parametric", "trauger-tewari", "minimum", "rank"])
def test_no_proved_form_of_the_atlas_is_refuted(name):
    form = neighbours.RANK if name == "rank" else FORMS[name]
    assert form.proven and check_form(form, classes=30, seed=7).passed


@pytest.mark.parametrize("numbers", ["rows", "columns", "half"])
def test_a_count_of_too_few_numbers_is_refuted(numbers):
    def few(W, log_N):
        count = {"rows": W.rows, "columns": W.columns, "half": (W.rows + W.columns) / 4}[numbers]
        return Charge("F", 2 * W.frobenius, -math.inf, W.largest_rank * count)

    form, rng = replace(neighbours.RANK, linear=few), stream(4, "few")
    assert any(stated(form, small) < small.log_lower for small in (low_rank(rng) for _ in range(100)))


# softmax


def test_sensitivity_is_the_largest_movement_of_softmax():
    """Against all sets, all signs and small steps of the scores."""
    rng = stream(3, "softmax")
    for n in (2, 3, 5, 8):
        for sharp in (0.3, 3.0, 8.0):
            scores = sharp * rng.normal(size=n)
            p = softmax(scores)
            inside = [sum(p[list(S)]) for r in range(n + 1) for S in itertools.combinations(range(n), r)]
            theta = max(4 * P * (1 - P) for P in inside)
            signs = np.array(list(itertools.product((-1, 1), repeat=n)))
            J = np.diag(p) - np.outer(p, p)
            assert np.abs(signs @ J).sum(axis=1).max() == pytest.approx(theta)
            moved = max(np.abs(softmax(scores + 1e-6 * v) - p).sum() for v in signs) / 1e-6
            assert moved == pytest.approx(theta, rel=1e-4)
            stated_theta = float(neighbours.sensitivity(p))
            assert theta <= stated_theta * (1 + 1e-12)
            if p.max() >= 0.5:
                assert stated_theta == pytest.approx(theta)
            else:
                assert theta >= 8 / 9 - 1e-12 and stated_theta == 1


def test_a_head_that_attends_to_one_position_has_a_smaller_sensitivity():
    model = sh.build("x3", T=8)
    form = neighbours.model_sensitivity(model)
    bits = np.array(list(itertools.product((0, 1), repeat=8)))
    largest = model.attention(bits).max(axis=-1).min()
    assert math.exp(form.log_softmax) == pytest.approx(4 * largest * (1 - largest)) and not form.proven
    assert sh.bound(model, m=100, form=form).log_covering < sh.bound(model, m=100).log_covering


def test_the_sensitivity_of_a_model_is_the_largest_that_occurs():
    model = transformer(L=1, H=1, scale=1.5)
    each = neighbours.sensitivity(model.attention(np.array(list(itertools.product((0, 1), repeat=6)))))[:, 0]
    theta = math.exp(neighbours.model_sensitivity(model).log_softmax)
    assert each.min() < 0.7 * each.max() and max(each[0], each[-1]) <= theta * (1 + 1e-12)
    assert theta == pytest.approx(each.max(), rel=0.05)  # 256 draws need not meet all 64 inputs


# codes


def test_codes_by_hand():
    nats, m, delta = 100.0, 4000, 0.05
    assert neighbours.code_gap(nats, m=m, delta=delta) == pytest.approx(
        math.sqrt((100 + math.log(20)) / 8000)
    )
    limit = tail_inversion(0, m, nats - math.log(delta))
    assert neighbours.code_realizable(nats, m=m, delta=delta) == pytest.approx(limit)


def test_the_code_of_a_model_has_all_its_trained_numbers():
    model = transformer(L=1, H=2, k=3)
    d = model.d
    assert neighbours.code_bits(model) == 64 * (
        2 * 4 * 3 * d + 2 * 5 * d + 5 + d + d + 1
    )  # heads, MLP, w, bias
    trained = replace(
        model, encoding=encoding.trainable(np.zeros((6, d)), model.encoding.E, model.encoding.cls)
    )
    assert neighbours.code_bits(trained) == neighbours.code_bits(model) + 64 * d * (2 + 6 + 1)


def test_the_compressed_code_can_be_read_back_and_announces_its_length():
    model = sh.build("x1 & x4", T=20)
    raw = b"".join(a.astype("<f8").tobytes() for a in neighbours.weights_in(model))
    text = zlib.compress(raw, 9)
    assert zlib.decompress(text) == raw
    gamma = 2 * math.floor(math.log2(len(text))) + 1
    assert neighbours.compressed_bits(model) == 8 * len(text) + gamma
    lengths = np.arange(1, 2**20)
    assert (2.0 ** -(2 * np.floor(np.log2(lengths)) + 1)).sum() <= 1  # Kraft, for the lengths


def test_the_occam_row_is_the_bound_of_read():
    found = sh.atlas(sh.build("x1 & x4", T=20), m=1000, function="x1 & x4")
    row = next(row for row in found.rows if row.form == "occam")
    assert row.realizable == pytest.approx(tail_inversion(0, 1000, log_price(2, 20) - math.log(0.05)))
    assert row.gap == pytest.approx(math.sqrt((log_price(2, 20) + math.log(20)) / 2000))


# proxies


def spectrum(model):
    return spectra.spectrum(spectra.model_spectra(model), model.d)


def edelman(model):
    return spectra.edelman(spectra.model_spectra(model))


def identity_layer(d, *, qk, v, m_in, m_out):
    """Every matrix is a multiple of the identity, so that the proxies have a closed form."""
    eye = np.eye(d)[None]
    mlp = Mlp(m_in * np.eye(d), np.zeros(d), m_out * np.eye(d), np.zeros(d))
    return Layer(W_Q=qk * eye, W_K=eye.copy(), W_V=v * eye, W_C=eye.copy(), mlp=mlp)


def test_the_spectral_proxy_of_identities():
    """N singular values s: N (s gamma alpha L)^{p/(p+2)}, least at p = 0 or, where s gamma alpha L < 1, at p = 2."""
    d = 9
    top = identity_layer(d, qk=0.5, v=0.3, m_in=0.2, m_out=0.7)
    low = identity_layer(d, qk=2.0, v=0.1, m_in=0.6, m_out=0.4)
    model = Model(encoding=encoding.positional(6), layers=(low, top), w=np.ones(d))
    alpha = 1.13 * 0.2 * 0.7 * 0.3 * (1 + 4 * 0.5)

    def term(s, gamma):
        return d * min(1.0, math.sqrt(s * gamma * 2))

    wanted = math.sqrt(2)
    wanted += term(0.5, 2 * 0.3 * 0.7 * 0.2) + term(0.3, 0.7 * 0.2) + term(0.2, 0.7) + term(0.7, 1)
    wanted += term(2.0, 2 * 0.1 * 0.4 * 0.6 * alpha) + term(0.1, 0.4 * 0.6 * alpha)
    wanted += term(0.6, 0.4 * alpha) + term(0.4, alpha)
    assert spectrum(model) == pytest.approx(wanted)
    xi_top = sum(
        x ** (2 / 3) for x in (0.7 * 0.2 * 0.3 * 0.5 * d, 0.7 * 0.2 * 0.3 * d, 0.7 * 0.2 * d, 0.7 * d)
    )
    xi_low = sum(
        x ** (2 / 3) for x in (0.4 * 0.6 * 0.1 * 2.0 * d, 0.4 * 0.6 * 0.1 * d, 0.4 * 0.6 * d, 0.4 * d)
    )
    assert edelman(model) == pytest.approx((1 + xi_top + alpha ** (2 / 3) * xi_low) ** 1.5)


def test_the_spectral_proxy_tries_all_indices():
    """One layer: the least over a fine grid of p, by the formula, is at most 1 % below that of their grid."""
    model = transformer(L=1, H=1, k=9)
    d, layer = model.d, model.layers[0]
    QK, V = layer.W_Q[0] @ layer.W_K[0].T, layer.W_V[0] @ layer.W_C[0]
    size = {
        name: np.linalg.norm(W, 2) for name, W in (("V", V), ("in", layer.mlp.W_1), ("out", layer.mlp.W_2))
    }
    q = math.ceil(1 + math.log(d))

    def least(W, gamma, grid):
        s = np.linalg.svd(W, compute_uv=False)
        s = s[s > 1e-10 * s.max()]
        return min(
            (s**p).sum() ** (1 / (p + 2)) * gamma ** (p / (p + 2)) * d ** ((p + 1) / (p + 2)) for p in grid
        )

    for grid, low in ((np.arange(2 * q + 1) / q, 1.0), (np.linspace(0, 2, 999), 0.99)):
        found = 1 + sum(
            least(W, gamma, grid)
            for W, gamma in (
                (QK, 2 * size["V"] * size["in"] * size["out"]),
                (V, size["in"] * size["out"]),
                (layer.mlp.W_1, size["out"]),
                (layer.mlp.W_2, 1.0),
            )
        )
        assert low * spectrum(model) <= found * (1 + 1e-12) <= spectrum(model) * (1 + 1e-11)


def test_the_spectral_proxy_of_large_weights_counts_ranks():
    """Where every gamma is large, p = 0 is best: sqrt(rank N) for W_QK and V of rank 3, and W_1, W_2 of rank 5."""
    model = transformer(L=1, H=1, k=3, scale=100.0)
    assert spectrum(model) == pytest.approx(1 + 2 * math.sqrt(3 * 9) + 2 * math.sqrt(5 * 9))


def test_the_spectral_proxy_of_values_that_are_zero():
    """V costs nothing, and neither does QK, whose errors reach no output."""
    model = transformer(L=1, H=1, k=3, scale=100.0)
    layer = replace(model.layers[0], W_V=np.zeros((1, 9, 3)))
    assert spectrum(replace(model, layers=(layer,))) == pytest.approx(1 + 2 * math.sqrt(5 * 9))
    terms = spectra.spectrum_terms(spectra.model_spectra(replace(model, layers=(layer,))), 9)
    assert terms[1] == (0.0, 0.0) and terms[0][0] == 0  # V: nothing to cover; QK: gamma is 0


def test_the_proxy_for_the_paper_of_random_layers():
    """A second computation, layer by layer from the top."""
    model = transformer(L=3)
    total, alpha = 1.0, 1.0
    for layer in model.layers[::-1]:
        spec = {name: np.linalg.svd(W)[1][0] for name, W in (("in", layer.mlp.W_1), ("out", layer.mlp.W_2))}
        mixed = 0.0
        for h in range(layer.H):
            QK, V = layer.W_Q[h] @ layer.W_K[h].T, layer.W_V[h] @ layer.W_C[h]
            v, qk = (np.linalg.svd(W)[1][0] for W in (V, QK))
            total += (alpha * spec["out"] * spec["in"] * v * columns(QK)) ** (2 / 3)
            total += (alpha * spec["out"] * spec["in"] * columns(V)) ** (2 / 3)
            mixed += v * (1 + 4 * qk)
        total += (alpha * spec["out"] * columns(layer.mlp.W_1)) ** (2 / 3)
        total += (alpha * columns(layer.mlp.W_2)) ** (2 / 3)
        alpha *= 1.13 * spec["in"] * spec["out"] * mixed
    assert edelman(model) == pytest.approx(total**1.5)


def columns(W):
    return sum(math.sqrt(sum(x * x for x in column)) for column in W.T)


def test_the_order_of_the_vc_dimension():
    model = transformer(L=2)
    W = neighbours.code_bits(model) / 64
    assert neighbours.vc_order(model, 6) == pytest.approx(2 * W * math.log(6 * W))


def test_proxies_refuse_layers_that_they_are_not_for():
    with pytest.raises(DomainError, match="layers with an MLP"):
        spectrum(sh.build("x1", T=6))
    model = transformer(L=1)
    bent = replace(model, layers=(replace(model.layers[0], sigma="relu"),))
    with pytest.raises(DomainError, match="linear values"):
        edelman(bent)


# the table


def test_every_form_is_in_the_table_with_source_and_status():
    found = sh.atlas(transformer(L=1), m=10**5, function=sh.parse("x1", T=6))
    assert {row.form for row in found.rows} <= {*FORMS, *RESERVED} and len(found.rows) == 14 - 1
    assert all(row.source and row.bounds for row in found.rows)
    assert {row.status for row in found.rows} == {"proved", "proved by us", "proxy"}
    assert [row.form for row in found.rows if row.status == "proxy"] == [
        "paper", "sensitivity", "spectrum", "edelman", "vc",
    ]  # fmt: skip
    assert found.smallest.gap == min(row.gap for row in found.rows if row.proved)
    assert json.loads(json.dumps(found.to_dict()))["atlas"][0]["form"] == "ours"
    assert len(found.to_frame()) == 13 and "Atlas of bounds" in found._repr_html_()


def test_rows_are_the_values_of_bound():
    model = transformer(L=2)
    found = sh.atlas(model, m=10**6, margin=0.5)
    direct = sh.bound(model, m=10**6, margin=0.5)
    for row in found.rows:
        if row.form in direct.forms:
            assert (row.log_covering, row.gap) == (direct.forms[row.form], direct.gaps[row.form])
    rank = sh.bound(model, m=10**6, margin=0.5, form=neighbours.RANK)
    row = next(row for row in found.rows if row.form == "rank")
    assert (row.log_covering, row.gap, row.realizable) == (rank.log_covering, rank.gap, rank.realizable_error)
    assert row.log_covering < direct.forms["parametric"]


def test_growth_is_the_same_question_elsewhere():
    found = sh.atlas(norms=NORMS, T=50, m=1000)
    points = {(p.axis, p.at): p for p in found.growth}
    assert list(points) == [("m", 1000 * 10**i) for i in range(4)] + [("T", 50 * 10**i) for i in range(4)]
    for T, m in ((50, 10**6), (50_000, 1000)):
        at = points["m", m] if T == 50 else points["T", T]
        wanted = sh.bound(norms=NORMS, T=T, m=m)
        assert {n: at.log_covering[n] for n in wanted.forms} == wanted.forms
        proved = [n for n in at.log_covering if n == "rank" or FORMS[n].proven]
        assert at.log_covering[at.smallest] == min(at.log_covering[n] for n in proved)
    model = sh.build("x1", T=6)
    deep = [p for p in sh.atlas(model, m=100).growth if p.axis == "depth"]
    doubled = replace(model, layers=model.layers * 2)
    assert [p.at for p in deep] == [1, 2, 3, 4]
    assert deep[1].log_covering["ours"] == sh.bound(doubled, m=100, form="ours").log_covering


def test_a_model_outside_the_class_has_no_proved_row():
    rows = sh.atlas(norms=NORMS, T=50, m=100).rows
    assert any(row.proved for row in rows)
    from sparsehead.capacity.atlas import _rows_of_forms
    from sparsehead.capacity.bound import question

    asked = question(None, m=100, norms=NORMS, T=50)
    asked = replace(
        asked, declared=replace(asked.declared, outside=("rotary positions are outside the class",))
    )
    outside = list(_rows_of_forms(asked))
    assert not any(row.proved for row in outside) and all("rotary" in row.assumes for row in outside)


def test_a_file_and_the_command_line(tmp_path, capsys):
    from sparsehead.cli.app import main

    file = tmp_path / "and.safetensors"
    sh.save(sh.build("x1 & x4", T=12), file)
    with pytest.raises(SystemExit) as done:
        main(["bound", str(file), "--m", "100000", "--atlas", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert done.value.code == 0 and {"form", "status"} <= set(found["atlas"][0])
    assert {row["form"] for row in found["atlas"]} >= {
        "ours",
        "rank",
        "occam",
        "compression",
        "spectrum",
        "vc",
    }
    assert found["growth"][0]["axis"] == "m" and found["verdict"]
    with pytest.raises(SystemExit):
        main(["bound", str(file), "--atlas"])  # at 1000 samples, unless --m says otherwise
    said = " ".join(capsys.readouterr().out.split())
    assert "m=1000," in said and "Smallest proved ln N as depth grows" in said and "occam proved" in said


@pytest.mark.parametrize(
    "wrong",
    [
        {"function": "x1 &"}, {"function": "x99"}, {"function": 3}, {"m": 0}, {"m": None}, {"eps": 0}, {"delta": 2},
        {"T": -1}, {"norms": None}, {"norms": {"V21": 1}}, {"norms": NORMS | {"rank": 0}},
        {"norms": NORMS | {"rank": 1.5}}, {"layr": 3}, {"accuracy": 0.1},
    ],
    ids=str,
)  # fmt: skip
def test_wrong_uses_get_one_line(wrong):
    with pytest.raises(sh.SparseheadError) as refused:
        sh.atlas(**({"norms": NORMS, "T": 50, "m": 100} | wrong))
    assert "\n" not in str(refused.value)


def test_a_form_can_count_parameters_of_its_own():
    def seven(W, log_N):
        return Charge("F", W.frobenius, -math.inf, 7.0)

    form = Form("x", seven, seven, covering=FORMS["parametric"].covering, below_capacity=False)
    W = MatrixNorms(2.0, 1.0, 5.0, 5.0, 9.0, 30, 40)
    small = SmallClass("linear", "", 0.5, 0.0, W, 9.0, 1.0)
    assert stated(form, small) == pytest.approx(7 * math.log(1 + 2 * 4.0))


def test_a_head_of_another_network_by_its_weights():
    rng = stream(5, "foreign")
    weights = {"in_proj_weight": rng.normal(size=(24, 8)), "out_proj.weight": rng.normal(size=(8, 8))}
    asked: dict[str, Any] = {"heads": 2, "head": 1, "norms": {"BX": 3.0}, "T": 16}
    found = sh.atlas(weights, m=1000, **asked)
    assert [row.form for row in found.rows] == [*FORMS, "rank", "vc", "code", "compression"]
    direct = sh.bound(weights, m=1000, form=neighbours.RANK, **asked)
    rows = {row.form: row for row in found.rows}
    one = 4 * 4 * 8  # queries, keys, values and outputs of width 4 in d = 8
    assert rows["code"].log_covering == pytest.approx(64 * one * math.log(2))
    assert "all but these heads" in rows["code"].assumes
    assert rows["vc"].value == pytest.approx(one * math.log(16 * one))
    assert rows["rank"].log_covering == direct.log_covering < direct.forms["parametric"]
    assert {point.axis for point in found.growth} == {"m", "T"}


def test_attention_that_was_seen_gives_the_sensitivity_of_a_head():
    rng = stream(6, "foreign")
    weights = {"in_proj_weight": rng.normal(size=(24, 8)), "out_proj.weight": rng.normal(size=(8, 8))}
    asked: dict[str, Any] = {"heads": 2, "head": 1, "norms": {"BX": 3.0}, "T": 16, "m": 1000}
    seen = np.array([[0.95, 0.05, 0.0], [0.02, 0.9, 0.08]])
    rows = {row.form: row for row in sh.atlas(weights, attention=seen, **asked).rows}
    form = replace(FORMS["minimum"], log_softmax=math.log(4 * 0.9 * 0.1), proven=False)
    assert rows["sensitivity"].log_covering == sh.bound(weights, form=form, **asked).log_covering
    assert rows["sensitivity"].log_covering < rows["minimum"].log_covering
    assert rows["sensitivity"].status == "proxy" and "0.36" in rows["sensitivity"].assumes
    wrongs: tuple[Any, ...] = ([[0.5, 0.6]], [[1.5, -0.5]], [], 1.0, [[math.nan, 1.0]])
    for wrong in wrongs:
        with pytest.raises(DomainError, match="attention"):
            sh.atlas(weights, attention=wrong, **asked)
