"""Classes of functions on a sample: what is kept exact, and what is refused."""

from fractions import Fraction

import pytest

from sparsehead._base.errors import DomainError, ShapeError
from sparsehead.covering import metrics
from sparsehead_paper.theory.function_classes import class_covering_number, class_packing_number, evaluate


def test_classes_on_a_sample_refuse_nonsense():
    with pytest.raises(ShapeError, match="different lengths"):
        evaluate([lambda z: [1.0], lambda z: [1.0, 2.0]], [0])
    with pytest.raises(DomainError, match="at least one function"):
        evaluate([], [0])


def test_function_classes_with_vector_values_keep_exact_numbers():
    values = evaluate([lambda z, a=a: [10**17 + a, a * z] for a in (0, 3, 6)], [Fraction(4, 3), 0])  # type: ignore[misc]
    assert values.dtype == object and values.shape == (3, 2, 2)
    assert class_covering_number(values, eps=5).size == 1  # (3, 4) from its neighbours
    assert class_covering_number(values, eps="4.9999999999999999").size == 3
    assert class_packing_number(values, r="4.9999999999999999").size == 3
    assert class_covering_number(values.astype(float), eps=5.0).ties == metrics.Ties.FLOAT
