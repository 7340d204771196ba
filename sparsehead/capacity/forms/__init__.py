"""Forms of the bound: norms and points come in, prices go out; one file per form.

form         the contract
ours         proven constants
paper        the paper's form, for comparison
parametric   counting parameters
trauger_tewari   sums of absolute entries, independent of T
minimum      each item at the cheaper of the prices of `ours` and `parametric`
"""

import math
from collections.abc import Sequence

from ..._base.log_math import Real, check_eps
from ..._base.plugins import Registry
from ..items import Covering, Item, closed_covering
from .form import Charge, Form

# A new form is a file with a `Form` in it, and a line here.
FORMS: Registry[Form] = Registry(
    "form",
    {
        "ours": "sparsehead.capacity.forms.ours:OURS",
        "paper": "sparsehead.capacity.forms.paper:PAPER",
        "parametric": "sparsehead.capacity.forms.parametric:PARAMETRIC",
        "trauger-tewari": "sparsehead.capacity.forms.trauger_tewari:TRAUGER_TEWARI",
        "minimum": "sparsehead.capacity.forms.minimum:MINIMUM",
    },
)


def covering(items: Sequence[Item], *, eps: Real, form: str) -> Covering:
    """ln N_inf(eps) of the class the items describe.   Paper: split-lemma, head-capacity"""
    make = FORMS.find(form).covering or closed_covering
    return make(items, math.log(check_eps(eps)))


__all__ = ["FORMS", "Charge", "Form", "covering"]
