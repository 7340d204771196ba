"""Volume covers of every weight matrix: counts parameters, norms enter by their logarithm."""

from functools import partial

from ..items import numeric_covering
from .form import Form
from .ours import bilinear, linear

PARAMETRIC = Form(
    "volume covers of every weight matrix: counts parameters, norms enter by their logarithm",
    linear,
    bilinear,
    covering=partial(numeric_covering, parametric_only=True),
    below_capacity=False,
)
