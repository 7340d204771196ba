"""Forms of a user's own: a name for this process, and formulas for a whole class of heads."""

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeGuard, TypeVar, runtime_checkable

from .._base.arguments import shown
from .._base.errors import DomainError
from .._base.log_math import Real, exp, ln
from .forms import FORMS, Charge, ChargeFor, Form, checked_number, in_one_line
from .head_class import ClassItem, HeadClass
from .items import Covering, Item
from .norms import MatrixNorms

# The first is the name of a form that was given without one; the others are rows of the atlas.
RESERVED = ("yours", "rank", "sensitivity", "spectrum", "edelman", "vc", "code", "compression", "occam")
TAKES = "a form is a name such as 'ours', a sh.Form, or a function, (W, log_N) -> Charge or (heads, T, m, eps) -> ln N"


@runtime_checkable
class Formula(Protocol):
    """A formula for ln N_inf of a class of heads given by norms."""

    def __call__(self, heads: HeadClass, *, T: Real, m: Real, eps: float) -> float:
        """Return ln N_inf(eps) of the class on m sequences of T tokens."""


FormLike = str | Form | ChargeFor | Formula
Given = TypeVar("Given", bound=Form | ChargeFor | Formula)


def form(name: str, description: str | None = None, **settings: Any) -> Callable[[Given], Given]:
    """Give a form a name in this process: `bound(form=name)` takes it, and every bound lists its value beside ours.

    It decorates a function, or is called with a `Form`. A function is a charge for one matrix, (W, log_N) -> Charge, or
    a formula for a whole class of heads given by norms, (heads, T, m, eps) -> ln N. The same name again replaces the
    form.

    Args:
        name: what tables and charts call it.
        description: the norms and counts that it uses; by default the first line of the function's docstring.
        settings: other fields of `Form`, such as needs=("V11",). `proven` is False unless it is given.

    >>> @form("entries", needs=("V11", "QK11"))
    ... def entries(heads, T, m, eps):
    ...     "one parameter per entry"
    ...     return 2 * heads.d * heads.k * math.log(1 + heads.V11 * heads.BX / eps)
    >>> from sparsehead import bound
    >>> norms = {"V21": 1, "V": 1, "QK": 2, "BX": 1, "V11": 3, "QK11": 2, "d": 4, "k": 4}
    >>> found = bound(norms=norms, T=9, m=100, form="entries")
    >>> found.proven, found.own, round(found.log_covering, 2)
    (False, ('entries',), 62.27)
    >>> FORMS.forget("entries")
    """
    if not isinstance(name, str) or not name.strip() or len(name) > 40 or not name.isprintable():
        raise DomainError(
            f"a form's name is a text of 1 to 40 characters, such as 'mine'; got {shown(name)}."
        )
    if FORMS.is_builtin(name) or name in RESERVED:
        raise DomainError(f"the form {name!r} is there already; give yours another name.")

    def register(given: Given) -> Given:
        FORMS.add(name, form_of(given, description, **settings), listed=True)
        return given

    return register


def form_of(given: FormLike, description: str | None = None, **settings: Any) -> Form:
    """Return a function or a `Form` as a `Form`.

    Raises:
        DomainError: `given` is neither; a function has other parameters; or a setting is no field of `Form`.
    """
    fixed = ("description", "linear", "bilinear", "whole_class")
    known = [name for name in Form.__dataclass_fields__ if name not in fixed]
    for name in settings:
        if name not in known:
            raise DomainError(f"a form has no setting {name!r}; it has {', '.join(known)}.")
    if isinstance(given, Form):
        if description is not None or settings:
            raise DomainError("a Form has its description and settings already; give them to Form(..).")
        return given
    if isinstance(given, str | type) or not callable(given):
        raise DomainError(f"{TAKES}; got {shown(given)}.")
    first = (inspect.getdoc(given) or "").partition("\n")[0]
    text = first or getattr(given, "__name__", "") if description is None else description
    settings = {"proven": False, **settings}
    if not _is_formula(given):
        return Form(text, given, given, **settings)  # type: ignore[arg-type]
    for name in ("covering", "below_capacity", "log_softmax", "values_per_token"):
        if name in settings:
            raise DomainError(
                f"{name} belongs to charges for matrices; a formula for a whole class has none."
            )
    settings |= {"covering": ByFormula(given), "below_capacity": False, "whole_class": True}
    return Form(text, _no_charge, _no_charge, **settings)


def known_form(given: FormLike) -> tuple[str, Form]:
    """Return the name by which bounds list a form, and the form."""
    if isinstance(given, str):
        return given, FORMS.find(given)
    for name, form in FORMS.items():
        own = () if FORMS.is_builtin(name) else (form.linear, getattr(form.covering, "formula", None))
        if any(given is known for known in (form, *own)):
            return name, form
    return RESERVED[0], form_of(given)


def _is_formula(given: ChargeFor | Formula) -> TypeGuard[Formula]:
    """Return True for a function of (heads, T, m, eps), False for one of (W, log_N); raise DomainError for others."""
    if inspect.iscoroutinefunction(given) or inspect.isgeneratorfunction(given):
        raise DomainError(f"{TAKES}; a coroutine or a generator returns no number.")
    try:
        signature = inspect.signature(given)
    except (TypeError, ValueError):  # written in C
        raise DomainError(f"{TAKES}; the parameters of {shown(given)} cannot be read.") from None
    charge, formula = _binds(signature, 0, 0), _binds(signature, 0, T=0, m=0, eps=0)
    if charge == formula:
        name = getattr(given, "__name__", type(given).__name__)
        raise DomainError(f"{TAKES}; {name}{signature} has {'both' if charge else 'other'} parameters.")
    return formula


def _binds(signature: inspect.Signature, *positional: Any, **named: Any) -> bool:
    try:
        signature.bind(*positional, **named)
    except TypeError:
        return False
    return True


def _no_charge(W: MatrixNorms, log_N: float, /) -> Charge:
    raise DomainError("a formula for a whole class of heads has no charge for one matrix.")


@dataclass(frozen=True)
class ByFormula:
    """The covering of a form that is a formula: the formula at eps/p, since an error x becomes p x at the output."""

    formula: Formula

    def __call__(self, items: Sequence[Item], log_eps: float) -> Covering:
        (item,) = items
        assert isinstance(item, ClassItem)
        name = getattr(self.formula, "__name__", type(self.formula).__name__)
        call = partial(self.formula, item.heads, T=item.T, m=item.m, eps=exp(log_eps - item.log_p))
        log_covering = checked_number(f"ln N by {name}", in_one_line(name, call))
        return Covering(log_covering, ln(log_covering) if log_covering < math.inf else math.inf, (1.0,))
