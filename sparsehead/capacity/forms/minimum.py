"""The items of `ours`, each at the cheaper of its two prices."""

from collections.abc import Sequence

from ..items import Covering, Item, numeric_covering
from .form import Form
from .ours import bilinear, linear


def covering(items: Sequence[Item], log_eps: float) -> Covering:
    """Never above `ours` or `parametric` on the same items: their splits are among those tried."""
    return numeric_covering(items, log_eps, parametric_only=False)


MINIMUM = Form(
    "the items of `ours`, each at the cheaper of its two prices, split numerically",
    linear,
    bilinear,
    covering=covering,
)
