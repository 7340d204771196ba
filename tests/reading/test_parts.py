"""The parts of reading, each against a slow computation of its own."""

import itertools
import math
from dataclasses import asdict, replace

import numpy as np
import pytest
from scipy.stats import beta

import sparsehead as sh
from sparsehead._base.errors import DomainError, FileError
from sparsehead._base.rng import stream
from sparsehead.heads import encoding
from sparsehead.heads.block import Layer, LayerNorm, Mlp
from sparsehead.heads.model import Model
from sparsehead.reading import breaking, evidence, examples, read
from sparsehead.reading.breaking import _search, _shifts, _strongest, fewest_flips
from sparsehead.reading.evidence import Evidence, ablate, disagreement, gather_evidence, mean_attention
from sparsehead.reading.junta import _backgrounds, backgrounds_for, sensitive_position
from sparsehead.reading.queries import Oracle, flip_shares
from sparsehead.reading.read import _examples, _query_limit, _with_share, find_function
from sparsehead.reading.sampling import inputs_for, majority_junta, measure_agreement

T = 12


def fair(n, width=T, seed=0):
    return (stream(seed, "fair").random((n, width)) < 0.5).astype(np.uint8)


def test_numbers_of_inputs():
    assert [backgrounds_for(r) for r in (0, 1, 4, 5, 6, 12)] == [256, 128, 16, 8, 8, 8]
    assert [inputs_for(n) for n in (1, 2**15, 2**16, 2**19, 2**25)] == [4096, 4096, 2048, 256, 256]
    assert _query_limit("membership queries", 2, 8, 30) == 2 * 5 + 256 * 3
    whole = 8 * 5 + sum(max(256, 8 * 2**r) for r in range(9))
    assert _query_limit("sampling", 2, 8, 30) == whole + 4096 + 96 * 5 + 2 * 8 * 256


def test_limits_of_work_are_the_documented_ones():
    """Memory and time: at T = 10^5 the sums over pairs compare 414 rows; a ranking evaluates 335 flips."""
    assert math.isqrt(examples.MOST_PRODUCTS // 10**5) == 414 and examples.BITS_AT_ONCE == 2**22
    assert breaking.MOST_BITS // 10**5 == 335 and (breaking.STARTS, breaking.MOST_FLIPS) == (8, 512)
    assert evidence.WEIGHTS_AT_ONCE == 2**23
    assert examples.LARGEST_BYTES == 2**30 and (examples.LEVEL, examples.DEVIATIONS) == (1e-3, 6)


def test_backgrounds_are_zeros_ones_and_rates_in_turn():
    found = _backgrounds(4000, 9, stream(0, "b"), 0.3).mean(axis=1)
    assert found[:2].tolist() == [0, 1]
    assert found[2:] == pytest.approx([0.5, 0.1, 0.9, 0.5, 0.3, 0.5, 0.1], abs=0.04)  # five deviations


@pytest.mark.parametrize("cut", range(8))
def test_bisection_names_the_position_at_which_the_label_changes(cut):
    """Ones from the left raise the sum; the label changes at position `cut` and nowhere else on the path."""
    oracle = Oracle(lambda b: b.sum(axis=1) <= cut, 8)
    x, y = np.zeros(8, np.uint8), np.ones(8, np.uint8)
    assert sensitive_position(oracle, x, y, 1) == cut
    assert oracle.queries == 3


def test_a_random_path_changes_the_label_at_its_own_first_step():
    """OR of eight bits changes at whatever position comes first; ascending, that is 0."""
    oracle = Oracle(lambda b: b.any(axis=1), 8)  # type: ignore[arg-type, return-value]
    x, y = np.zeros(8, np.uint8), np.ones(8, np.uint8)
    assert sensitive_position(oracle, x, y, 0) == 0
    for seed in range(5):
        order = np.arange(8)
        stream(seed, "path").shuffle(order)
        assert sensitive_position(oracle, x, y, 0, rng=stream(seed, "path")) == order[0]


@pytest.mark.parametrize("wrong", [0, 3, 500])
def test_agreement_has_a_clopper_pearson_interval(wrong):
    f = sh.parse("x0", T=T)

    def model(bits):
        return bits[:, 0] ^ (np.arange(len(bits)) < wrong)

    a = measure_agreement(Oracle(model, T), f, rng=stream(0, "a"), p=0.5, n=500)
    same = 500 - wrong
    assert (a.value, a.n, a.differing) == (same / 500, 500, (wrong, 500))
    low = 0 if same == 0 else beta.ppf(0.025, same, wrong + 1)
    high = 1 if wrong == 0 else beta.ppf(0.975, same + 1, wrong)
    assert (a.low, a.high) == pytest.approx((low, high), abs=1e-9)
    assert asdict(a) == {"value": a.value, "low": a.low, "high": a.high, "n": 500}


def test_tables_of_majorities_and_shares_of_flips_by_counting():
    bits, positions = fair(60), [7, 2]
    labels = (bits[:, 2] & bits[:, 5]) | bits[:, 7]
    f = majority_junta(bits, labels, positions, T)
    for row in itertools.product((0, 1), repeat=2):
        match = (bits[:, positions] == row).all(axis=1)
        one = np.zeros(T, np.uint8)
        one[positions] = row
        assert f(one) == (labels[match].mean() > 0.5)
    few = np.zeros((3, T), np.uint8)
    assert majority_junta(few, np.array([1, 1, 0]), [4], T) == sh.from_table(T=T, support=(), table=(1,))
    oracle = Oracle(lambda b: (b[:, 2] & b[:, 5]) | b[:, 7], T)
    found = flip_shares(oracle, bits, labels, [2, 7, 9])
    want = [np.mean(bits[:, 5] & (1 - bits[:, 7])), np.mean(1 - (bits[:, 2] & bits[:, 5])), 0]
    assert list(found.values()) == pytest.approx(want)


def test_sampling_keeps_no_more_positions_than_are_worth_a_hundredth():
    """x1 & x2 & x3, but for inputs with ten ones of twelve: other positions add less than .01."""
    f = sh.parse("x1 & x2 & x3", T=40)
    found = find_function(Oracle(lambda b: f(b) ^ (b.sum(axis=1) >= 29), 40), seed=0, p=0.5)
    assert (found.method, found.best) == ("sampling", f) and set(f.support) <= set(found.influences)
    assert [found.influences[t] for t in f.support] == pytest.approx([0.25] * 3, abs=0.11)  # 256 inputs


def test_no_reading_above_the_limits_and_all_within():
    for bad in (
        {"most": -1},
        {"most": 13},
        {"least_agreement": 0.49},
        {"least_agreement": 1.01},
        {"p": 0.0},
        {"p": 1.0},
    ):
        with pytest.raises(DomainError):
            read(sh.parse("x1", T=3), T=3, seed=0, **bad)
    for good in ({"most": 12}, {"least_agreement": 0.5}, {"most": 1}):
        assert read(sh.parse("x1", T=3), T=3, seed=0, **good).formula == "x1"
    assert read(sh.parse("1", T=3), T=3, seed=0, most=0).formula == "1"
    with pytest.raises(DomainError, match="draws is a whole number >= 1"):
        read(sh.parse("x1", T=3), T=3, seed=0, draws=0)


def test_p_comes_from_the_call_else_from_the_notes_else_is_a_half():
    model = sh.build(sh.parse("x1", T=6))
    noted = replace(model, meta={**model.meta, "p": 0.3})
    assert [read(noted, seed=0).p, read(noted, seed=0, p=0.7).p, read(model, seed=0).p] == [0.3, 0.7, 0.5]
    assert [read(replace(model, meta={"p": bad}), seed=0).p for bad in (0, 1, "a", 1.5)] == [0.5] * 4


@pytest.mark.parametrize(
    ("bits", "labels"),
    [(np.zeros((0, 6)), np.zeros(0)), (np.zeros((2, 6)), np.zeros(3)), (np.zeros(6), np.zeros(6))],
)
def test_examples_of_other_shapes_are_refused(bits, labels):
    with pytest.raises(DomainError, match=r"shapes \(m, 6\) and \(m,\), m >= 1"):
        _examples((bits, labels), 6)


def test_large_files_of_examples_are_refused(tmp_path, monkeypatch):
    file = tmp_path / "rows"
    file.write_text("0101 1\n")
    monkeypatch.setattr(examples, "LARGEST_BYTES", 7)
    assert examples.read_examples(file, T=4)[0].tolist() == [[0, 1, 0, 1]]
    monkeypatch.setattr(examples, "LARGEST_BYTES", 6)
    with pytest.raises(FileError, match="has 7 bytes; examples are read up to 6"):
        examples.read_examples(file, T=4)


def test_evidence_lists_the_support_candidates_and_the_most_attended():
    f = sh.parse("x3 & x9", T=40)
    model, bits = sh.build(f), fair(300, 40)
    oracle = Oracle(model)
    found = gather_evidence(model, oracle, f, bits, p=0.3, also=list(range(20, 40)))
    attention = model.attention(bits[:100])[:, :, :-1].mean(axis=(0, 1))
    assert mean_attention(model, bits) == pytest.approx(attention)
    attended = np.argsort(-attention, kind="stable")[:8].tolist()
    assert list(found) == sorted({3, 9, *range(20, 28), *attended})
    sample, labels = bits[:256], model.predict(bits[:256])
    for t, e in found.items():
        other = sample.copy()
        other[:, t] ^= 1
        assert e.flips == np.mean(model.predict(other) != labels)
        assert e.influence == pytest.approx(0.3 if t in f.support else 0)
        assert e.attention == pytest.approx(attention[t])
        assert asdict(e) == {"attention": e.attention, "influence": e.influence, "flips": e.flips}


def test_attention_is_averaged_over_a_hundred_inputs():
    rng = np.random.default_rng(0)
    layer = Layer(*(rng.standard_normal(shape) for shape in ((1, 8, 3), (1, 8, 3), (1, 8, 3), (1, 3, 8))))  # type: ignore[arg-type]
    model = Model(encoding.random_positions(T, 8, rng=rng), (layer,), w=rng.standard_normal(8))
    each = model.attention(fair(120))[:, 0, :-1]
    assert mean_attention(model, fair(120)) == pytest.approx(each[:100].mean(axis=0), rel=1e-12)
    assert mean_attention(model, fair(120)) != pytest.approx(each[:16].mean(axis=0), rel=1e-3)


def test_disagreement_of_the_evidence_is_one_sentence():
    table = {1: Evidence(0.1, 0.5, 0.5), 2: Evidence(0.2, 0.5, 0.4), 3: Evidence(0.3, 0.0, 0.6)}
    assert disagreement(table, (1, 2)) == (
        "The evidence disagrees: attention names x2, x3; flipping single bits names x1, x3."
    )
    assert disagreement(table, ()) is None
    assert disagreement({1: Evidence(None, 1.0, 1.0)}, (2,)) is None


@pytest.mark.parametrize("heads", ["one", "s"])
def test_ablation_by_loops(heads):
    """Weights removed and rescaled one input, one head and one position at a time."""
    f = sh.parse("x3 & !x9", T=20)
    model, bits = sh.build(f, heads=heads), fair(40, 20).astype(np.int64)
    A, found = model.cls_weights(bits), ablate(model, f, fair(40, 20))

    def agreement(changed):
        outputs = model.read_out(model.state_from_weights(bits, changed))
        return np.mean((outputs > model.threshold) == f(bits))

    def removed(tokens, only=None):
        B = A.copy()
        for i, h in itertools.product(range(len(bits)), range(model.H)):
            if only is None or h == only:
                B[i, h, tokens] = 0
                B[i, h] = B[i, h] / B[i, h].sum() if B[i, h].sum() > 0 else 0
        return B

    assert found.whole == agreement(A) == 1
    assert found.support_only == agreement(removed([t for t in range(21) if t not in f.support]))
    assert found.without_position == {t: agreement(removed([t])) for t in f.support}
    for t in f.support:
        losses = [1 - agreement(removed([t], h)) for h in range(model.H)]
        assert found.carried[t] == (int(np.argmax(losses)) if max(losses) > 0 else None)
    for h in range(model.H):
        B = A.copy()
        B[:, h] = 0
        assert found.without_head[h] == agreement(B)
    assert found.to_dict()["carried"] == {str(t): h for t, h in found.carried.items()}
    assert ablate(model, sh.from_table(T=20, support=(), table=(0,)), fair(40, 20)) is None


def test_a_head_without_attention_left_contributes_nothing():
    """Scores so far apart that every other weight is exactly 0: nothing is left to rescale."""
    f = sh.parse("x3 & !x9", T=20)
    model = sh.build(f)
    layer = replace(model.layers[0], W_Q=1e6 * model.layers[0].W_Q)
    sharp = replace(model, layers=(layer,))
    found = ablate(sharp, f, fair(40, 20))
    assert found.whole == found.support_only
    assert math.isfinite(found.without_position[3])


def additive(w=1.0, threshold=0.45, width=9, **more):
    """One head whose mixed scalar is the mean of the bits."""
    enc = encoding.trainable(np.zeros((width, 2)), np.array([[0.0, 0.0], [1.0, 0.0]]), np.zeros(2))
    zero = np.zeros((1, 2, 1))
    layer = Layer(zero, zero, np.array([[[1.0], [0.0]]]), np.array([[[1.0, 0.0]]]), **more.pop("layer", {}))
    return Model(enc, (layer,), np.array([w, 0.0]), threshold=threshold, attends_cls=False, **more)


def test_shifts_are_known_only_where_flips_add_up():
    assert _shifts(additive()) == pytest.approx([1.0] * 9)
    assert _shifts(additive(w=-2.0)) == pytest.approx([-1.0] * 9)
    norm = LayerNorm(np.ones(2), np.zeros(2))
    g = np.ones
    assert _shifts(additive(final_norm=norm)) is None
    assert _shifts(additive(layer={"sigma": "gelu"})) is None
    assert _shifts(additive(layer={"sigma": "relu"})) == pytest.approx([1.0] * 9)
    assert _shifts(additive(layer={"mlp": Mlp(g((2, 3)), g(3), g((3, 2)), g(2))})) is None
    one = additive()
    assert _shifts(replace(one, layers=(one.layers[0], one.layers[0]))) is None
    moved = replace(one.layers[0], W_Q=np.ones((1, 2, 1)), W_K=np.ones((1, 2, 1)))
    cls = replace(one.encoding, cls=np.ones(2))
    assert _shifts(replace(one, encoding=cls, layers=(moved,))) is None


@pytest.mark.parametrize("count", range(10))
def test_the_fewest_flips_from_any_input_are_those_that_counting_gives(count):
    """The label is 1 from five ones of nine on; x0 is relevant and may not be flipped."""
    model, f = additive(), sh.parse("x0", T=9)
    b = (np.arange(9) < count).astype(np.uint8)
    found = fewest_flips(model, f, b[None])
    if int(count >= 5) != f(b):
        assert (found.flips, found.input) == (None, None)
    else:
        flips = 5 - count if count < 5 else count - 4
        assert (found.flips, found.exact, len(found.positions)) == (flips, True, flips)
        assert 0 not in found.positions and np.flatnonzero(found.input != b).tolist() == list(found.positions)
        assert found.to_dict() == {"flips": flips, "positions": list(found.positions), "exact": True}
    everything = fewest_flips(model, f, np.array([[0] * 9, [1] * 9, [1] * 5 + [0] * 4], dtype=np.uint8))
    assert everything.flips == 1


def test_flips_are_ranked_again_after_half_of_them():
    """Alone, flips of 0 to 7 lower the score by 1 and those of 8 to 11 by 1/2, but by 3 once three of 0 to 7 are on.

    From 6.5 the first order needs seven of 0 to 7. Half of these, three, leave 3.5, and then two of 8 to 11 suffice.
    """

    def outputs(bits):
        first, last = bits[:, :8].sum(axis=1).astype(float), bits[:, 8:].sum(axis=1)
        return 6.5 - first - last * np.where(first >= 3, 3.0, 0.5)

    b, free = np.zeros(12, np.uint8), np.arange(12)
    flips, broken = _search(additive(threshold=0.0, width=12), outputs, b, 1, free, 512, None)
    assert sorted(flips) == [0, 1, 2, 8, 9]
    assert np.flatnonzero(broken).tolist() == [0, 1, 2, 8, 9] and outputs(broken[None])[0] <= 0


def test_the_strongest_of_more_flips_than_are_evaluated_at_once():
    """Two blocks of rows at T = 4100; the flip of t alone gives the t-th of shuffled scores."""
    width = 4100
    assert width * (width - 1) > 2**24
    scores = stream(0, "scores").permutation(width).astype(float)
    b = np.zeros(width, np.uint8)
    model = additive(width=width)
    found = _strongest(model, lambda bits: scores[bits.argmax(axis=1)], b, 1.0, np.arange(width))
    assert found.tolist() == np.argsort(scores)[:512].tolist()


def test_a_reading_as_a_dictionary_and_a_table():
    f = sh.parse("x3 & x9", T=20)
    r = read(
        sh.build(f), seed=0, p=0.4, data=(b := (stream(1, "d").random((50, 20)) < 0.4).astype(np.uint8), f(b))
    )
    plain = r.to_dict()
    assert (
        plain["table"] == [0, 0, 0, 1] and plain["s"] == 2 and plain["support"] == [3, 9] and plain["T"] == 20
    )
    assert plain["certificate"] == r.certificate.to_dict() and plain["proved"] is True and plain["p"] == 0.4
    assert (
        plain["evidence"]["3"] == asdict(r.evidence[3]) and plain["notes"] == [] and plain["breaking"] is None
    )
    assert plain["ablation"] == r.ablation.to_dict() and plain["queries"] == r.queries <= plain["query_bound"]
    rows = list(r.to_frame())
    assert [row["position"] for row in rows[:2]] == [3, 9] and [row["in_support"] for row in rows[:3]] == [
        1,
        1,
        0,
    ]
    facts = r._card().facts
    assert facts["error of the function at most"] == r.certificate.bound and facts["share of ones"] == 0.4
    want = occam_by_hand(2, 20, 50, 0.05)
    assert r.certificate.bound == pytest.approx(want)
    assert (
        r.certificate.model_bound == r.certificate.bound
    )  # proved on all inputs: the model errs where f does
    sampled = replace(r.certificate, model_bound=0.5)
    assert _with_share(sampled, 1e-3).model_bound == pytest.approx(want + 1e-3)
    assert _with_share(sampled, None).model_bound == _with_share(sampled, 1.0).model_bound == 0.5


def occam_by_hand(s, width, m, delta):
    prior = 1 / ((s + 1) * (s + 2) * math.comb(width, s) * 2 ** (2**s))
    return 1 - (delta / 2 * prior) ** (1 / m)
