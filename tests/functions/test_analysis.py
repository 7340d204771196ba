"""Influences and predicates against their definitions, by enumeration."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsehead.functions import (
    assignments,
    conjunction,
    disjunction,
    from_table,
    influences,
    is_monotone,
    kind,
    majority,
    parity,
    parse,
)

tables = st.integers(0, 2**16 - 1).map(lambda number: [number >> j & 1 for j in range(16)])


@given(tables)
def test_influences_count_flips_and_are_sums_of_squared_correlations(table):
    f = from_table(T=9, support=(1, 3, 6, 8), table=table)
    flips = [np.mean(f.values != f.values[np.arange(2**f.s) ^ (1 << i)]) for i in range(f.s)]
    assert influences(f).tolist() == flips
    bits, signs = assignments(f.s).astype(int), (-1) ** f.values.astype(int)
    squares = np.array(
        [(signs * (-1) ** (bits @ S)).mean() ** 2 for S in bits]
    )  # S: indicator vectors; dyadic, so exact
    assert squares.sum() == 1
    assert influences(f).tolist() == [squares[bits[:, i] == 1].sum() for i in range(f.s)]


def test_known_influences():
    assert influences(parity((2, 5, 7), T=9)).tolist() == [1, 1, 1]
    assert influences(conjunction((2, 5, 7), T=9)).tolist() == [1 / 4] * 3
    assert influences(parse("1", T=4)).shape == (0,)


@given(tables)
def test_monotone_compares_every_ordered_pair(table):
    f = from_table(T=4, support=range(4), table=table)
    bits = assignments(4)
    ordered = [(i, j) for i, j in itertools.product(range(16), repeat=2) if (bits[i] <= bits[j]).all()]
    labels = f(bits)
    assert is_monotone(f) == all(labels[i] <= labels[j] for i, j in ordered)


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (conjunction((1, 2, 5), T=6), "and"),
        (disjunction((1, 2, 5), T=6), "or"),
        (parity((1, 2, 5), T=6), "parity"),
        (conjunction((1,), T=6), "and"),
        (majority((1, 2, 5), T=6), None),
        (parse("x1 & !x2", T=6), None),
        (parse("!x1 ^ x2", T=6), None),
        (parse("1", T=6), None),
    ],
)
def test_kind_names_the_three_families_with_an_exact_uniqueness_test(f, name):
    assert kind(f) == name
