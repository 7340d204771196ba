"""Volume covers of every weight matrix: counts parameters, norms enter by their logarithm."""

from collections.abc import Sequence

from ..items import Covering, Item, numeric_covering
from .form import Form
from .ours import bilinear, linear


def covering(items: Sequence[Item], log_eps: float) -> Covering:
    """Each item at dim ln(1 + 2r/x), split numerically.   Paper: parametric-cover"""
    return numeric_covering(items, log_eps, parametric_only=True)


PARAMETRIC = Form(
    "volume covers of every weight matrix: counts parameters, norms enter by their logarithm",
    linear,
    bilinear,
    covering=covering,
    below_capacity=False,
)
