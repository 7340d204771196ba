"""`read` returns what was built, says none where there is none, and counts what it asks."""

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sparsehead as sh
from sparsehead._base.errors import DomainError, FileError, ParseError, ShapeError
from sparsehead._base.rng import stream
from sparsehead.functions import influences
from sparsehead.heads import encoding
from sparsehead.heads.block import Layer, LayerNorm, Mlp
from sparsehead.heads.evaluate import evaluator
from sparsehead.heads.model import Model
from sparsehead.reading import read
from sparsehead.reading.breaking import Breaking, fewest_flips
from sparsehead.reading.evidence import disagreement
from sparsehead.reading.examples import read_examples
from sparsehead.reading.junta import query_bound, read_junta
from sparsehead.reading.queries import Oracle
from sparsehead.reading.read import _examples

ENCODINGS: dict[str, dict[str, Any]] = {
    "positional": {},
    "trainable": {},
    "bag": {},
    "random": {"d": 60, "seed": 1},
}


def random_block(T: int, seed: int, *, scale: float = 1.0, peak: float = 1.0, heads: int = 2) -> Model:
    """A practical block with random weights, its threshold at the median output so that both labels occur.

    With peak = 1 its attention is peaked, and such blocks do compute nearly sparse functions; 0.1 spreads it.
    """
    rng, d, k, f = stream(seed, "block"), 8, 4, 16
    g: Callable[..., Any] = lambda *shape: scale * rng.standard_normal(shape)  # noqa: E731
    norm = lambda: LayerNorm(np.ones(d), np.zeros(d))  # noqa: E731
    layer = Layer(
        W_Q=peak * g(heads, d, k), W_K=g(heads, d, k),
        W_V=g(heads, d, k), W_C=g(heads, k, d), residual=True, temperature=2.0,
        norm_attention=norm(), norm_mlp=norm(), mlp=Mlp(g(d, f), g(f), g(f, d), g(d)),
    )  # fmt: skip
    model = Model(encoding.trainable(g(T, d), g(2, d), g(d)), (layer,), g(d), final_norm=norm())
    middle = float(np.median(model((rng.random((400, T)) < 0.5).astype(np.uint8))))
    return Model(model.encoding, model.layers, model.w, final_norm=model.final_norm, threshold=middle)


@pytest.mark.claim("read-junta")
@pytest.mark.parametrize("name", ENCODINGS)
def test_every_function_of_at_most_two_bits_is_read_back(name):
    for s in range(3):
        for table in itertools.product((0, 1), repeat=2**s):
            f = sh.from_table(T=40, support=tuple(range(3, 3 + 9 * s, 9)), table=table)
            r = read(sh.build(f, encoding=name, **ENCODINGS[name]), seed=1)
            assert (r.function, r.proved) == (f, True)
            assert r.queries <= r.query_bound


@pytest.mark.slow
@pytest.mark.parametrize("name", ENCODINGS)
def test_every_function_of_three_bits_is_read_back(name):
    for table in itertools.product((0, 1), repeat=8):
        f = sh.from_table(T=64, support=(3, 17, 60), table=table)
        assert read(sh.build(f, encoding=name, **ENCODINGS[name]), seed=1).function == f


@pytest.mark.slow
@pytest.mark.parametrize("s", [4, 5, 6, 7, 8])
def test_random_functions_are_read_back_at_any_length(s):
    """500 in all, over every encoding and T = 30 .. 10^4."""
    rng = stream(s, "functions")
    for i in range(100):
        T = (30, 300, 3000, 10_000)[i % 4] if i < 20 else (30, 300)[i % 2]
        name = list(ENCODINGS)[i // 4 % len(ENCODINGS)]
        f = sh.random_function(T=T, s=s, rng=rng)
        r = read(sh.build(f, encoding=name, seed=i), seed=i)  # random positions as wide as T and s need
        assert r.function == f
        assert r.queries <= r.query_bound


@pytest.mark.parametrize("s", [4, 6, 8])
def test_random_functions_are_read_back(s):
    f = sh.random_function(T=120, s=s, rng=stream(s, "f"))
    assert read(sh.build(f), seed=0).function == f


def test_a_long_and_is_found_though_it_is_hardly_ever_true():
    f = sh.conjunction(range(10, 18), T=2000)
    assert read(sh.build(f), seed=0).function == f


@pytest.mark.claim("read-junta")
@pytest.mark.parametrize(("s", "T"), [(0, 1), (1, 2), (3, 1000), (5, 100_000)])
def test_the_bound_on_queries_is_what_it_says(s, T):
    """Written out once more, so that a looser bound is noticed; the search itself must keep to it."""
    assert query_bound(s, T) == s * math.ceil(math.log2(max(2, T))) + sum(
        max(256, 8 * 2**r) for r in range(s + 1)
    )
    if s + 1 < T:
        f = sh.random_function(T=T, s=s, rng=stream(2, "f"))
        oracle = Oracle(f, T)
        assert read_junta(oracle, most=8, rng=stream(1, "b"), p=0.5) == f
        assert oracle.queries <= query_bound(s, T)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_weights_and_dense_functions_compute_no_sparse_function(seed):
    assert read(random_block(24, seed, peak=0.1), seed=0).function is None
    dense = read(lambda bits: bits.sum(axis=1) > 50, T=101, seed=seed)
    assert dense.function is None
    assert dense.formula is None
    assert dense.agreement.high < 0.95
    assert "no function of few positions" in repr(dense)


def test_a_noisy_function_is_read_on_typical_inputs_and_not_called_proved():
    f = sh.parse("x3 & x20 & x31", T=60)

    def noisy(bits):
        """f, except where 42 or more of 60 bits are ones or nearly all are zeros."""
        return f(bits) ^ (bits.sum(axis=1) >= 42) ^ (bits.sum(axis=1) <= 3)

    r = read(noisy, T=60, p=0.5, seed=0)
    assert r.function == f
    assert (r.method, r.proved, r.certificate) == ("sampling", False, None)
    assert 0.95 < r.agreement.low < r.agreement.value <= r.agreement.high
    assert r.queries <= r.query_bound


def test_a_label_that_is_often_wrong_is_no_function():
    rng, f = stream(0, "noise"), sh.parse("x3 & x20", T=60)
    r = read(lambda bits: f(bits) ^ (rng.random(len(bits)) < 0.2), T=60, seed=0)
    assert r.function is None
    assert r.agreement.value == pytest.approx(0.8, abs=0.06)  # .8 at the best, n = 4096


def test_nan_outputs_are_refused_with_an_input():
    with pytest.raises(DomainError, match="output is nan on the input 0000"):
        read(lambda bits: np.full(len(bits), np.nan), T=4, seed=0)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: read(sh.parse("x1", T=4), seed=0), DomainError, "needs T, the length of its input"),
        (lambda: read(lambda b: b, T=4, seed=0), ShapeError, "need 256 outputs"),
        (lambda: read(sh.build(sh.parse("x1", T=4)), T=5, seed=0), DomainError, "T=5 was asked"),
        (lambda: read(sh.build(sh.parse("x1", T=4)), most=30, seed=0), DomainError, "from 0 to 12"),
        (
            lambda: read(sh.build(sh.parse("x1", T=4)), p=1.5, seed=0),
            DomainError,
            "p is a finite number > 0 and < 1",
        ),
        (lambda: read("no-such-file.safetensors", seed=0), FileError, "no-such-file"),
        (
            lambda: read(sh.build(sh.parse("x1", T=4)), data=(np.zeros((2, 4)), np.array([0, 2])), seed=0),
            DomainError,
            "labels 0 or 1",
        ),
        (lambda: read(lambda b: ["a"] * len(b), T=5, seed=0), DomainError, "one real number for each input"),
        (lambda: read(lambda b: 1j * b[:, 0], T=5, seed=0), DomainError, "one real number for each input"),
    ],
)
def test_misuse_is_one_line(call, error, words):
    with pytest.raises(error, match=words):
        call()


SIGNS = "from -0.4 to 0.4, so they are neither bits nor probabilities; .* threshold=0 .* threshold=.5"


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (-0.4, 0.4, SIGNS),
        (-1, 1, "from -1 to 1,"),
        (-7.5, -0.5, "from -7.5 to -0.5,"),
        (1.5, 8.0, "from 1.5 to 8,"),
        (-1e-9, 1.0, "from -1e-09 to 1,"),
    ],
)
def test_numbers_that_are_no_probabilities_need_a_threshold(low, high, words):
    def logits(bits):
        return np.where(bits[:, 3] & bits[:, 7], high, low)

    with pytest.raises(DomainError, match=words):
        read(logits, T=10, seed=0)
    assert read(logits, T=10, seed=0, threshold=(low + high) / 2).formula == "x3 & x7"


def test_the_label_is_1_strictly_above_the_threshold():
    """Integers, one column, and a threshold that is one of the values."""
    level = lambda bits: (bits[:, 3].astype(int) + bits[:, 7] - 1)[:, None]  # noqa: E731
    assert read(level, T=10, seed=0, threshold=0).formula == "x3 & x7"
    assert read(level, T=10, seed=0, threshold=-0.5).formula == "x3 | x7"
    assert read(lambda b: level(b) - 10, T=10, seed=0, threshold=0).formula == "0"


@pytest.mark.parametrize(
    "answer",
    [
        lambda on: on,
        lambda on: on.astype(bool),
        lambda on: on.astype(float)[:, None],
        lambda on: np.where(on, 0.51, 0.5),
        lambda on: np.where(on, np.float32(1 + 2**-23), 0),
        lambda on: on.tolist(),
    ],
)
def test_bits_and_probabilities_need_no_threshold(answer):
    assert read(lambda b: answer(b[:, 3] & b[:, 7]), T=10, seed=0).formula == "x3 & x7"


def test_a_model_keeps_its_own_threshold():
    model = sh.build(sh.parse("x1", T=4))
    with pytest.raises(
        DomainError, match=r"threshold=0 is for a function of bits; a Model has its own, 0\.5"
    ):
        read(model, seed=0, threshold=0)
    with pytest.raises(DomainError, match="threshold is a finite number; got nan"):
        read(lambda b: b[:, 0], T=4, seed=0, threshold=float("nan"))


def test_examples_that_are_no_pair_are_refused():
    with pytest.raises(DomainError, match=r"data is a pair \(bits, labels\)"):
        _examples(np.zeros((3, 6)), 6)


def test_what_is_proved_is_read_whatever_agreement_is_asked():
    """No number of fresh inputs shows agreement on all of them; a proof does."""
    r = read(sh.build(sh.parse("x1 & x2", T=6)), seed=0, least_agreement=1.0)
    assert r.proved and r.formula == "x1 & x2"
    noisy = read(lambda b: b[:, 0] & (b[:, 1:9].sum(axis=1) < 8), T=20, seed=0, least_agreement=1.0)
    assert noisy.function is None and noisy.proof is None


def test_more_positions_than_asked_for_is_none():
    f = sh.random_function(T=30, s=6, rng=stream(5, "f"))
    assert read(sh.build(f), most=3, seed=0).function is None


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"encoding": "trainable"},
        {"encoding": "bag"},
        {"heads": "s"},
        {"method": "paper"},
        {"readout": "head"},
    ],
)
def test_the_fast_evaluation_equals_the_model(options):
    f = sh.parse("x2 & !x5 ^ x7", T=20)
    bits = (stream(1, "bits").random((300, 20)) < 0.5).astype(np.uint8)
    model = sh.build(f, **options)
    # Decoder slopes of up to 1e3 times rounding.
    assert np.abs(evaluator(model)(bits) - model(bits)).max() < 1e-11


@pytest.mark.parametrize("scale", [1.0, 3.0, 30.0])
def test_the_fast_evaluation_equals_a_random_block(scale):
    """Scale 30 moves scores by hundreds with a bit: those inputs take the model's own path."""
    model = random_block(30, 4, scale=scale)
    bits = (stream(1, "bits").random((200, 30)) < 0.5).astype(np.uint8)
    want = model(bits)
    assert np.abs(evaluator(model)(bits) - want).max() <= 1e-8 * np.abs(want).max()


def test_the_fast_evaluation_keeps_its_digits_where_bits_move_scores_far():
    """A 0 raises its score by 20: on all ones the sum of weights is e^-20 of the sum that it is the difference of."""
    T = 30
    positions = np.zeros((T, 3))
    positions[:, 2] = 0.01 * np.arange(T)
    enc = encoding.trainable(positions, np.array([[1.0, 0, 0], [0, 0, 0]]), np.array([0, 1.0, 0]))
    W_Q, W_K = np.array([[[0.0], [20.0], [0.0]]]), np.array([[[1.0], [0.0], [0.0]]])
    layer = Layer(W_Q=W_Q, W_K=W_K, W_V=np.array([[[0.0], [0.0], [1.0]]]), W_C=np.array([[[1.0, 0, 0]]]))
    model = Model(enc, (layer,), np.array([1.0, 0, 0]), attends_cls=False)
    bits = np.vstack([np.ones((1, T)), np.eye(T)[:3], 1 - np.eye(T)[:3]]).astype(np.uint8)
    assert np.abs(evaluator(model)(bits) - model(bits)).max() < 1e-12


def test_weights_that_are_subnormal_beside_the_largest_keep_their_digits():
    """Scores 744 and -.9: one shift for all inputs leaves two bits of the weights without the first."""
    T, P = 3, np.array([[744.0, 0, 0], [-0.9, 1, 0], [0, 0, 0]])
    bag = encoding.Encoding("bag", T, np.zeros((2, 3)), P, np.array([0, 0, 1.0]))
    unit = np.eye(3)[None, :, :]
    layer = Layer(unit[..., 2:], unit[..., :1], unit[..., 1:2], np.eye(1, 3)[None])
    model = Model(bag, (layer,), w=np.array([1.0, 0, 0]), threshold=0.185, attends_cls=False)
    bits = sh.functions.assignments(T)
    assert evaluator(model)(bits) == pytest.approx(model(bits), rel=1e-12)
    r = read(model, seed=0)
    assert (model.predict(bits) == r.best(bits)).all()


def test_a_reading_that_its_proof_refutes_says_so():
    """x1 but for one input of 2^16: sampling does not meet it, enumeration does."""
    T = 16
    f = sh.parse("x1", T=T)
    model = sh.build(f)
    refuted = replace(read(model, seed=0), proved=False, proof=sh.verify(model, sh.parse("x2", T=T)))
    wrong = "".join(map(str, refuted.proof.counterexample))
    assert refuted.verdict.endswith(
        f"n = 4096, bits 1 with p = 0.5; not on all inputs: on {wrong} the function is {wrong[1]} and the model "
        "answers otherwise."
    )
    assert replace(refuted, proof=None).verdict.endswith("not proved.")
    broken = Breaking(1, (4,), None, True)
    assert replace(refuted, breaking=broken).to_dict()["breaking"] == broken.to_dict()


def test_exact_influences_by_enumeration():
    f = sh.parse("x0 & x1 | x2", T=3)
    p, expected = 0.3, np.zeros(3)
    for bits in itertools.product((0, 1), repeat=3):
        weight = math.prod(p if b else 1 - p for b in bits)
        for i in range(3):
            other = [b ^ (j == i) for j, b in enumerate(bits)]
            expected[i] += weight * (f(np.array(bits)) != f(np.array(other)))
    assert influences(f, p=p) == pytest.approx(expected, abs=1e-12)


def test_evidence_names_the_support_and_says_when_attention_does_not():
    f = sh.parse("x3 & x9", T=20)
    r = read(sh.build(f), seed=0)
    assert set(f.support) <= set(r.evidence)
    assert r.evidence[3].flips == pytest.approx(0.5, abs=0.12)  # 256 inputs
    assert disagreement(r.evidence, f.support) is None
    assert "attention names" in disagreement(r.evidence, (0, 1))


def test_ablation_removes_what_it_says():
    f = sh.parse("x3 ^ x9", T=20)
    a = read(sh.build(f, heads="s"), seed=0).ablation
    assert (a.whole, a.support_only) == (1.0, 1.0)
    assert {a.carried[3], a.carried[9]} == {0, 1}
    # A parity without one of its bits is a coin flip; so is it without the head that reads the bit.
    assert [*a.without_position.values(), *a.without_head] == pytest.approx([0.5] * 4, abs=0.12)


def test_fewest_flips_is_exact_where_shifts_add_up():
    """One head without position scores: the output is the mean bit, so flips needed are a matter of counting."""
    T = 9
    enc = encoding.trainable(np.zeros((T, 2)), np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([0.0, 0.0]))
    eye = np.zeros((1, 2, 1))
    value = np.array([[[1.0], [0.0]]])
    layer = Layer(W_Q=eye, W_K=eye, W_V=value, W_C=np.array([[[1.0, 0.0]]]))
    model = Model(enc, (layer,), np.array([1.0, 0.0]), threshold=0.45, attends_cls=False)  # 5 of 9 ones
    found = fewest_flips(model, sh.from_table(T=T, support=(), table=(0,)), np.zeros((1, T), dtype=np.uint8))
    assert (found.flips, found.exact) == (5, True)
    assert model.predict(found.input[None])[0] == 1


def test_fewest_flips_is_exact_where_a_single_flip_moves_nothing():
    """Below the kink of the ReLU all single flips tie; two flips of the three large values cross it."""
    T, values = 12, np.array([0.1] * 6 + [1.0] * 3 + [0.1] * 3)
    bag = encoding.Encoding("bag", T, np.zeros((2, 3)), np.outer(values, [1.0, 0, 0]), np.zeros(3))
    no, V = np.zeros((1, 3, 1)), np.array([[[float(T)], [0], [0]]])
    layer = Layer(no, no, V, np.eye(1, 3)[None], b_V=np.array([[-1.5]]), sigma="relu")
    model = Model(bag, (layer,), w=np.array([1.0, 0, 0]), threshold=0.4, attends_cls=False)
    found = fewest_flips(model, sh.from_table(T=T, support=(), table=(0,)), np.zeros((1, T), dtype=np.uint8))
    assert (found.flips, found.exact) == (2, True) and set(found.positions) <= {6, 7, 8}


def test_fewest_flips_breaks_the_reading():
    model = random_block(24, 2)
    f = sh.from_table(T=24, support=(), table=(1,))
    bits = (stream(3, "bits").random((20, 24)) < 0.5).astype(np.uint8)
    found = fewest_flips(model, f, bits)
    assert found.flips is not None
    assert model.predict(found.input[None])[0] == 0


def test_examples_from_a_file(tmp_path):
    file = tmp_path / "data.csv"
    file.write_text("0,1,1,0,1\n\n1100 0\n")
    bits, labels = read_examples(file, T=4)
    assert bits.tolist() == [[0, 1, 1, 0], [1, 1, 0, 0]]
    assert labels.tolist() == [1, 0]
    for text, error, words in (
        ("0,1,2,0,1", ParseError, "line 1"),
        ("0,1,1", ParseError, "3 entries"),
        ("", ParseError, "no examples"),
    ):
        file.write_text(text)
        with pytest.raises(error, match=words):
            read_examples(file, T=4)
    with pytest.raises(FileError, match="no file"):
        read_examples(tmp_path, T=4)
