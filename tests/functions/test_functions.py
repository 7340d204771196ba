"""Sparse functions against their definitions, one input at a time."""

import itertools
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsehead._base.errors import DomainError, ShapeError
from sparsehead._base.rng import stream
from sparsehead.functions import (
    FAMILIES,
    SparseFunction,
    assignments,
    conjunction,
    disjunction,
    family,
    from_table,
    junta,
    majority,
    parity,
    random_function,
    symmetric,
    threshold,
)

T = 7


def every_input(T):
    return np.array(list(itertools.product([0, 1], repeat=T)))


@pytest.mark.parametrize("support", [(), (3,), (1, 4), (0, 2, 6), (0, 1, 3, 5), (0, 1, 2, 3, 4, 5, 6)])
def test_families_are_what_their_names_say(support):
    bits = every_input(T)
    read = [row[list(support)].tolist() for row in bits]
    s = len(support)
    says = {
        conjunction(support, T=T): [all(b) for b in read],
        disjunction(support, T=T): [any(b) for b in read],
        parity(support, T=T): [sum(b) % 2 == 1 for b in read],
        majority(support, T=T): [sum(b) > s / 2 for b in read],
        threshold(support, 2, T=T): [sum(b) >= 2 for b in read],
        symmetric(support, [j in (0, 3) for j in range(s + 1)], T=T): [sum(b) in (0, 3) for b in read],
    }
    for f, labels in says.items():
        assert f(bits).tolist() == labels


@given(st.permutations([1, 2, 4, 6]), st.integers(0, 2**16 - 1))
def test_from_table_reads_bit_i_of_the_index_at_support_i(support, number):
    table = [number >> j & 1 for j in range(16)]
    f = from_table(T=T, support=support, table=table)
    bits = every_input(T)
    assert f(bits).tolist() == [
        table[sum(row[t] << i for i, t in enumerate(support))] for row in bits.tolist()
    ]
    flips = [np.eye(T, dtype=int)[t] for t in range(T)]
    assert f.support == tuple(t for t in range(T) if (f(bits) != f(bits ^ flips[t])).any())


def test_irrelevant_positions_are_dropped_and_constants_read_nothing():
    assert from_table(T=9, support=(8, 3), table=(0, 0, 1, 1)) == conjunction((3,), T=9)
    assert from_table(T=9, support=(3, 8), table=(1, 1, 1, 1)) == SparseFunction(9, (), (1,))
    assert threshold((1, 2), 0, T=9) == conjunction((), T=9)
    assert threshold((1, 2), 3, T=9) == disjunction((), T=9)


def test_calls_take_one_input_or_many_of_any_0_1_type():
    f = conjunction((1, 3), T=4)
    rows = np.array([[0, 1, 0, 1], [1, 1, 1, 0]])
    for dtype in (np.uint8, np.int64, bool, np.float32):
        labels = f(rows.astype(dtype))
        assert labels.tolist() == [1, 0]
        assert labels.dtype == np.int64
    assert type(f(rows[0])) is int
    assert (f(rows[0]), f([1, 1, 1, 0])) == (1, 0)
    assert f(np.zeros((0, 4), dtype=np.uint8)).shape == (0,)
    assert conjunction((), T=4)(rows).tolist() == [1, 1]


def test_long_contexts_cost_nothing():
    f = parity((7, 50_000, 99_999), T=100_000)
    bits = np.zeros((3, 100_000), dtype=np.uint8)
    bits[1, 99_999] = bits[2, 7] = bits[2, 50_000] = 1
    assert f(bits).tolist() == [0, 1, 0]


def test_functions_are_values():
    f, g = conjunction((2, 5), T=8), from_table(T=8, support=np.array([5, 2]), table=np.array([0, 0, 0, 1]))
    assert f == g
    assert len({f, g, conjunction((2, 5), T=9)}) == 2
    assert repr(f) == "parse('x2 & x5', T=8)"
    with pytest.raises(AttributeError):
        f.T = 9  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        f.values[0] = 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: conjunction((3, 3, 7), T=16),
            r"support \(3, 3, 7\) repeats position 3; a 3-sparse function",
        ),
        (
            lambda: conjunction((3, 16), T=16),
            "position 16 is outside the input; T=16 has the positions 0 to 15",
        ),
        (lambda: conjunction((-1,), T=16), "position -1 is outside"),
        (lambda: conjunction((), T=0), "T is a whole number >= 1; got 0"),
        (lambda: parity(range(21), T=30), "21 positions; s is at most 20"),
        (lambda: random_function(T=30, s=21, rng=stream(0)), "21 positions; s is at most 20"),
        (lambda: random_function(T=5, s=6, rng=stream(0)), "between 0 and T=5 positions, got s=6"),
        (lambda: from_table(T=4, support=(1, 2), table=(0, 1)), r"2\^2 = 4 values, got shape \(2,\)"),
        (lambda: from_table(T=4, support=(1,), table=(0, 2)), "zeros and ones, got 2"),
        (lambda: from_table(T=4, support=(1,), table=np.array([0, np.nan])), "zeros and ones, got nan"),
        (lambda: symmetric((1, 2), (0, 1), T=4), "3 values, one for each count from 0 to 2, got 2"),
        (lambda: SparseFunction(4, (2, 1), (0, 0, 0, 1)), "not ascending"),
        (lambda: SparseFunction(4, (1, 2), (0, 1, 0, 1)), "ignores a position"),
        (lambda: family("nand"), "'nand' is unknown; the families are and, or, parity, majority, junta"),
        (lambda: conjunction((1,), T=2)([0, 2]), "bits are 0 or 1, got 2"),
        (lambda: conjunction((1,), T=2)(np.array([0.0, np.nan])), "bits are 0 or 1, got nan"),
        (lambda: conjunction((1,), T=2)(np.array([[0, 7]], dtype=np.uint8)), "bits are 0 or 1, got 7"),
        (lambda: conjunction((1,), T=2)(["0", "1"]), "bits are 0 or 1, got 0"),
    ],
)
def test_misuse_is_explained_in_one_line(call, message):
    with pytest.raises(DomainError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 2, 4), ()])
def test_bits_of_another_length_are_refused(shape):
    with pytest.raises(ShapeError, match="T=4 needs"):
        conjunction((1,), T=4)(np.zeros(shape, dtype=int))


def test_position_that_is_no_whole_number_is_refused(unchecked):
    with pytest.raises(DomainError, match=r"whole numbers, got \(1.5\)"):
        conjunction((1.5,), T=4)  # type: ignore[arg-type]


@pytest.mark.parametrize("s", [0, 1, 2, 3, 8, 20])
def test_random_functions_depend_on_exactly_s_positions(s):
    functions = [random_function(T=100_000, s=s, rng=stream(seed, "f")) for seed in range(3)]
    assert [f.s for f in functions] == [s] * 3
    if s > 1:
        assert len(set(functions)) == 3


def test_juntas_of_two_bits_are_uniform():
    rng = stream(5, "juntas")
    n = 2000
    counts: dict[Any, Any] = {}
    for _ in range(n):
        f = junta((0, 1), T=2, rng=rng)
        counts[f] = counts.get(f, 0) + 1
    assert len(counts) == 10  # of 16 tables, 2 are constant and 4 read one bit
    assert max(abs(c - n / 10) for c in counts.values()) < 5 * np.sqrt(n * 0.1 * 0.9)  # 5 standard deviations


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_is_built_from_support_T_and_rng(name):
    f = family(name)((4, 9, 2), 12, stream(1, name))
    assert (f.T, f.support) == (12, (2, 4, 9))


def test_assignments_are_in_table_order():
    rows = assignments(5)
    assert (rows @ (1 << np.arange(5)) == np.arange(32)).all()
    with pytest.raises(DomainError, match="at most 20"):
        assignments(21)


def test_lark_is_loaded_with_the_first_expression_only():
    code = """
import sys, sparsehead.functions as sf
before = "lark" in sys.modules
sf.parse("x1", T=2)
print(before, "lark" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True"]
