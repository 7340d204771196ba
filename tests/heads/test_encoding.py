"""The encodings: X(b), all tokens at once, and the coherence Delta."""

import itertools

import numpy as np
import pytest

from sparsehead._base.errors import DomainError, ShapeError
from sparsehead._base.rng import stream
from sparsehead.functions import check_bits
from sparsehead.heads.encoding import Encoding, bag, positional, random_bag, random_positions, trainable


def all_kinds(T):
    rng = stream(0)
    P, E, cls = rng.normal(size=(T, 5)), rng.normal(size=(2, 5)), rng.normal(size=5)
    return [
        positional(T),
        random_positions(T, 8, rng=rng),
        trainable(P, E, cls),
        bag(T),
        random_bag(T, 7, rng=rng),
    ]


@pytest.mark.parametrize("encoding", all_kinds(4), ids=lambda e: e.kind)
def test_project_is_every_token_times_the_matrix(encoding):
    W = stream(1).normal(size=(encoding.d, 3))
    tokens, cls = encoding.project(W)
    for b in itertools.product([0, 1], repeat=4):
        X = encoding(np.array(b))
        rows = np.vstack([tokens[np.arange(4), b], cls])
        np.testing.assert_allclose(X @ W, rows, atol=1e-14)  # rounding of d <= 8 products


@pytest.mark.claim("encodings")
@pytest.mark.parametrize("encoding", all_kinds(4), ids=lambda e: e.kind)
def test_tokens_are_as_the_paper_writes_them(encoding):
    b = np.array([1, 0, 0, 1])
    P, X = encoding.positions(), encoding(b)
    expected = b[:, None] * P if encoding.kind == "bag" else encoding.E[b] + P
    assert (X[:-1] == expected).all() and (X[-1] == encoding.cls).all()


@pytest.mark.parametrize("encoding", [positional(6), bag(6)], ids=lambda e: e.kind)
def test_one_hot_rows_are_exactly_orthonormal(encoding):
    rows = np.vstack([encoding.positions(), encoding.cls])
    assert (rows @ rows.T == np.eye(7)).all() and encoding.coherence() == 0.0
    bits = np.zeros((2, encoding.d))
    bits[0, 0] = bits[1, 1] = 0.0 if encoding.kind == "bag" else 1.0
    assert (bits == encoding.E).all()


@pytest.mark.claim("encodings")
@pytest.mark.parametrize("make", [random_positions, random_bag])
def test_coherence_is_the_largest_product_of_two_rows(make, monkeypatch):
    encoding = make(40, 20, rng=stream(2))
    rows = np.vstack([encoding.P, encoding.E, encoding.cls])
    gram = np.abs(rows @ rows.T)
    np.fill_diagonal(gram, 0)
    assert encoding.coherence() == pytest.approx(gram.max(), abs=1e-14)
    monkeypatch.setattr("sparsehead.heads.encoding.PIECE", 64)  # one row at a time
    assert encoding.coherence() == pytest.approx(gram.max(), abs=1e-14)
    assert (rows[:40, :3] == 0).all()  # E_0, E_1 and [CLS] are exactly orthogonal to every position
    np.testing.assert_allclose(np.linalg.norm(rows[:40], axis=1), 1)


def test_coherence_shrinks_like_the_root_of_ln_T_over_d():
    for d in (64, 256, 1024):
        delta = random_positions(300, d, rng=stream(3, d)).coherence()
        # The union bound over pairs of positions, with failure probability .01.
        assert delta < np.sqrt(2 * np.log(303**2 / 0.01) / (d - 3))


def test_a_hundred_thousand_positions_need_no_matrix():
    encoding = positional(100_000)
    tokens, _ = encoding.project(np.arange(encoding.d, dtype=float)[:, None])
    assert tokens[99_999, 1, 0] == 1 + 100_002


def test_misuse_is_explained(unchecked):
    with pytest.raises(DomainError, match="T >= 1"):
        positional(0)
    with pytest.raises(DomainError, match="d >= 4"):
        random_positions(5, 3, rng=stream(0))
    with pytest.raises(DomainError, match="positional, random, trainable, bag"):
        Encoding("sinusoidal", 3, np.zeros((2, 6)), None, np.zeros(6))
    with pytest.raises(ShapeError, match="need \\(3, 6\\)"):
        Encoding("trainable", 3, np.zeros((2, 6)), np.zeros((3, 5)), np.zeros(6))
    with pytest.raises(ShapeError, match="d = T \\+ 3 = 6"):
        Encoding("positional", 3, np.zeros((2, 7)), None, np.zeros(7))
    with pytest.raises(DomainError, match="NaN"):
        trainable(np.full((3, 6), np.nan), np.zeros((2, 6)), np.zeros(6))
    with pytest.raises(DomainError, match="got -1"):
        check_bits(np.array([-1, 1]), 2)
    with pytest.raises(DomainError, match="got nan"):
        check_bits(np.array([np.nan, 1]), 2)
    with pytest.raises(ShapeError, match="4 rows"):
        positional(3).project(np.zeros((4, 1)))
