"""Definitions 5.1 to 5.4 of the notes (section 5 of the paper), each checked on all inputs."""

import itertools
from typing import Any

import numpy as np
import pytest

from sparsehead._base.errors import DomainError
from sparsehead._base.rng import stream
from sparsehead.functions import (
    SparseFunction,
    conjunction,
    from_table,
    is_sparse,
    is_symmetric,
    majority,
    parity,
    parse,
    random_function,
    sup_norm,
    uniform_distance,
)

T = 5
BITS = np.array(list(itertools.product([0, 1], repeat=T)))


def some_functions():
    for number in range(256):  # all functions of three bits
        yield from_table(T=T, support=(0, 2, 3), table=[number >> j & 1 for j in range(8)])
    for seed in range(10):
        yield random_function(T=T, s=4, rng=stream(seed, "claims"))


def determines(labels, keys):
    """Whether equal keys imply equal labels."""
    seen: dict[Any, Any] = {}
    return all(seen.setdefault(tuple(key), label) == label for key, label in zip(keys, labels))


@pytest.mark.claim("sparse-function")
@pytest.mark.parametrize("s", [0, 1, 2, 3, 4, 5])
def test_sparse_function_depends_on_s_positions(s):
    """5.1: some I of size s determines the value."""
    for f in some_functions():
        labels = f(BITS).tolist()
        subsets = itertools.combinations(range(T), s)
        assert is_sparse(f, s) == any(determines(labels, BITS[:, list(I)].tolist()) for I in subsets)


def test_no_function_is_sparser_than_its_input_is_long():
    assert not is_sparse(conjunction((0, 1), T=2), 3)


@pytest.mark.claim("symmetric")
def test_symmetric_function_depends_on_the_count_alone():
    """5.2, completed: equal counts inside I imply equal values."""
    verdicts = []
    for f in some_functions():
        counts = BITS[:, list(f.support)].sum(axis=1)
        verdicts.append(is_symmetric(f))
        assert verdicts[-1] == determines(f(BITS).tolist(), counts[:, None].tolist())
    assert 0 < sum(verdicts) < len(verdicts)


@pytest.mark.claim("errata-notes-19")
def test_errata_notes_19_symmetry_needs_its_conclusion():
    """As printed, 5.2 says that counts of ANY two inputs are equal, which holds for no f that reads a bit."""
    f = majority((0, 2, 3), T=T)
    counts = BITS[:, list(f.support)].sum(axis=1)
    assert is_symmetric(f)
    assert len(set(counts.tolist())) > 1


@pytest.mark.claim("bounded-function")
def test_bounded_function_has_the_largest_absolute_value_as_norm():
    """5.3"""
    for f in some_functions():
        assert sup_norm(f) == np.abs(f(BITS)).max()


@pytest.mark.claim("uniform-approximation")
def test_uniform_distance_is_the_supremum_over_all_inputs():
    """5.4, for functions; equality of objects is equality on all inputs because supports are minimal."""
    functions = [*itertools.islice(some_functions(), 0, 256, 9), parity((1, 4), T=T), parse("x1 & x4", T=T)]
    for f, g in itertools.product(functions, repeat=2):
        assert uniform_distance(f, g) == np.abs(f(BITS) - g(BITS)).max()
    with pytest.raises(DomainError, match="T=5 and T=6"):
        uniform_distance(functions[0], SparseFunction(6, (), (1,)))
