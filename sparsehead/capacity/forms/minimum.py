"""The items of `ours`, each at the cheaper of its two prices.

Never above `ours` or `parametric` on the same items: their splits are among those tried.
"""

from functools import partial

from ..items import numeric_covering
from .form import Form
from .ours import bilinear, linear

MINIMUM = Form(
    "the items of `ours`, each at the cheaper of its two prices, split numerically",
    linear,
    bilinear,
    covering=partial(numeric_covering, parametric_only=False),
)
