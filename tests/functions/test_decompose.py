"""Decomposition into parts of disjoint variables, against a search over all pairs of tables."""

from itertools import product

import numpy as np
import pytest

from sparsehead.functions.decompose import decompose
from sparsehead.functions.expression import parse

JOIN = {"^": np.bitwise_xor, "&": np.bitwise_and, "|": np.bitwise_or}


def splittable(table):
    """Whether some operator joins tables of one variable and of the two others to this one of three variables."""
    bits = np.arange(8)[:, None] >> np.arange(3) & 1
    for alone, a, b in ((0, 1, 2), (1, 0, 2), (2, 0, 1)):
        for join, g, h in product(JOIN.values(), ([0, 1], [1, 0]), product((0, 1), repeat=4)):
            value = join(np.array(g)[bits[:, alone]], np.array(h)[bits[:, a] + 2 * bits[:, b]])
            if np.array_equal(value, table):
                return True
    return False


def depends_on_all(table):
    return all((table.reshape(-1, 2, 2**i)[:, 0] != table.reshape(-1, 2, 2**i)[:, 1]).any() for i in range(3))


def test_all_functions_of_three_bits_that_can_be_split_are():
    tables = [np.array([number >> j & 1 for j in range(8)]) for number in range(256)]
    tables = [table for table in tables if depends_on_all(table)]
    assert [(decompose(table) is not None) for table in tables] == [splittable(table) for table in tables]


@pytest.mark.parametrize(
    "text",
    ["(x0 | x1) & (x2 ^ x3 ^ x5) & !x4", "maj(x0, x3, x4) ^ x1 ^ x2 & x5", "x0 & x5 | maj(x1, x2, x4) | !x3"],
)
def test_the_parts_give_the_function_back(text):
    table = np.array(parse(text, T=6).table)
    operator, parts = decompose(table)
    bits = np.arange(64)[:, None] >> np.arange(6) & 1
    values = [part[(bits[:, inside] << np.arange(len(inside))).sum(axis=1)] for inside, part in parts]
    assert len(parts) == 3
    np.testing.assert_array_equal(JOIN[operator].reduce(values), table)
