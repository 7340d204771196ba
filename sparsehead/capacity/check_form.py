"""`check_form`: try to refute a form by packings of small classes; check that it is monotone and unit-free."""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from .._base.arguments import whole
from .._base.display import Card, ShortRepr, WithCard
from .._base.frame import Frame
from .._base.jsonable import json_values
from .._base.log_math import Real, ln
from .._base.rng import stream
from .forms import Form, covering
from .head_class import HeadClass, head_class_items
from .items import Item, closed_covering
from .norms import MatrixNorms
from .own_forms import FormLike, known_form
from .pricing import Pricing
from .small_classes import SmallClass, small_classes
from .verdict import finite

NORMS = ("frobenius", "spectral", "n21", "n21_T", "n11")


@dataclass(frozen=True, repr=False)
class Trial(ShortRepr):
    """One kind of check: how many classes were tried, how many failed, and the first that failed, in words.

    closest: the smallest value of (ln N that the form states) / (ln N that a class needs); None if nothing was needed.
    """

    check: str
    tried: int
    failed: int
    closest: float | None
    example: str


@dataclass(frozen=True, repr=False, kw_only=True)
class FormCheck(WithCard):
    """The result of `check_form`.

    refuted: some class needs more balls of radius eps than the form states, so the form is false. consistent: the form
    never decreases when the class grows, and a change of units does not change its value.
    """

    form: str
    refuted: bool
    consistent: bool
    trials: tuple[Trial, ...]

    @property
    def passed(self) -> bool:
        return self.consistent and not self.refuted

    @property
    def verdict(self) -> str:
        """The result in one sentence."""
        failed = [trial for trial in self.trials if trial.failed]
        if failed:
            what = "refuted" if self.refuted else "not refuted, but inconsistent"
            return f"form {self.form} is {what}: {failed[0].example}"
        closest = min((t.closest for t in self.trials if t.closest is not None), default=math.inf)
        tried = sum(trial.tried for trial in self.trials if trial.closest is not None)
        return (
            f"form {self.form} is not refuted by {tried} small classes: it states at least {closest:.3g} times "
            "the ln N that they need. This is no proof."
        )

    def __repr__(self) -> str:
        return f"<FormCheck: {self.verdict}>"

    def _card(self) -> Card:
        return Card("Check of a form", [self.verdict], {"passed": self.passed}, self.to_frame())

    def to_frame(self) -> Frame:
        """Return the checks as a table."""
        return Frame([asdict(trial) for trial in self.trials])

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values, the verdict first."""
        return {"verdict": self.verdict, "passed": self.passed, **json_values(self)}


def check_form(form: FormLike, *, classes: int = 100, seed: int = 0) -> FormCheck:
    """Try to refute a form of the bound, ours or your own.

    For some small classes it is known without any form how many balls are needed to cover them (`small_classes`:
    packings found exactly, volumes, intervals). A form that states fewer balls for one of them is refuted. A form that
    passes may still be false.

    Args:
        form: a name, a `Form`, or a function as `form` takes it.
        classes: the number of random classes of each kind: single matrices, scores, heads.
        seed: the seed of the random classes.

    >>> check_form("ours").passed
    True
    >>> def no_points(heads, T, m, eps):
    ...     return (heads.V21 * heads.QK * heads.BX**2 * heads.BZ / eps) ** 2
    >>> check_form(no_points).refuted
    True
    """
    name, found = known_form(form)
    classes, seed = whole("classes", classes), whole("seed", seed, least=0)
    kinds = ("heads",) if found.whole_class else ("linear", "bilinear", "heads")
    packings = [_packings(found, kind, classes, stream(seed, "classes", kind)) for kind in kinds]
    monotone = _monotone(found, classes, stream(seed, "monotone"))
    scale = _scale(found, classes, stream(seed, "scale"))
    return FormCheck(
        form=name,
        refuted=any(trial.failed for trial in packings),
        consistent=not monotone.failed and not scale.failed,
        trials=(*packings, monotone, scale),
    )


def stated(form: Form, small: SmallClass) -> float:
    """Return ln N(eps) of a class by a form: the smaller of C/eps^2, with the capacity C of its items, and the form's
    own covering, if it has both.
    """
    price = Pricing(form)
    items: tuple[Item, ...]
    if small.heads is not None:
        items = head_class_items(small.heads, m=small.m, T=small.T, price=price)
    else:
        assert small.W is not None
        make = price.linear if small.kind == "linear" else price.bilinear
        items = (make("W", small.W, log_b=ln(small.b), log_N=small.log_N, log_p=0.0),)
    found = [covering(items, eps=small.eps, form=form).log_covering]
    if form.below_capacity:
        found.append(closed_covering(items, math.log(small.eps)).log_covering)
    return min(found)


def _packings(form: Form, kind: str, classes: int, rng: np.random.Generator) -> Trial:
    failed, closest, example = 0, math.inf, ""
    for small in small_classes(rng, (kind,), classes):
        value = stated(form, small)
        if value < small.log_lower * (1 - 1e-9):
            failed += 1
            needs = f"{small.text}, at eps = {small.eps:.4g}, need ln N >= {small.log_lower:.4g}"
            example = example or f"{needs}; it states {value:.4g}"
        if small.log_lower > 0:
            closest = min(closest, value / small.log_lower)
    return Trial(f"packings: {kind}", classes, failed, finite(closest), example)


def _monotone(form: Form, classes: int, rng: np.random.Generator) -> Trial:
    """Check that ln N does not fall when a norm, a length or a count grows, or eps shrinks."""
    failed, example = 0, ""
    for small in _classes_for(form, classes, rng):
        before = stated(form, small)
        for grown, what in _grown(small, float(rng.uniform(1.1, 3))):
            after = stated(form, grown)
            if after < before * (1 - 1e-6):  # splits are found to 1e-9
                failed += 1
                example = example or f"ln N falls from {before:.5g} to {after:.5g} when {what}"
    return Trial("monotone", classes, failed, None, example)


def _classes_for(form: Form, classes: int, rng: np.random.Generator) -> Iterator[SmallClass]:
    """Return random classes of the kinds that a form has values for."""
    kinds = ("heads",) if form.whole_class else ("linear", "bilinear", "heads")
    return small_classes(rng, kinds, classes)


def _grown(small: SmallClass, c: float) -> Iterator[tuple[SmallClass, str]]:
    """Yield larger classes that contain this one, each with the name of the norm or number that was increased."""
    yield replace(small, eps=small.eps / c), "eps shrinks"
    if small.heads is None:
        for name in NORMS:
            yield replace(small, W=_times(small.W, c, (name,))), f"the norm {name} grows"
        yield replace(small, log_N=small.log_N + math.log(c)), "points are added"
        yield replace(small, b=small.b * c), "points grow longer"
        return
    for name in ("V21", "V", "QK", "BX", "BZ", "V11", "QK11", "QK21", "w"):
        if getattr(small.heads, name) is not None:
            yield replace(small, heads=_scaled(small.heads, **{name: c})), f"{name} grows"
    for name in ("H", "k", "d"):
        count = getattr(small.heads, name) + 1
        yield replace(small, heads=replace(small.heads, **{name: count})), f"{name} grows"
    yield replace(small, m=small.m + 1), "m grows"
    yield replace(small, T=small.T + 1), "T grows"


def _scale(form: Form, classes: int, rng: np.random.Generator) -> Trial:
    """Check that a class in other units, which is the same set of functions, has the same ln N."""
    failed, example = 0, ""
    for small in _classes_for(form, classes, rng):
        before = stated(form, small)
        for same, what in _in_other_units(small, float(10 ** rng.uniform(-1, 1))):
            after = stated(form, same)
            if not math.isclose(before, after, rel_tol=1e-6):
                failed += 1
                example = example or f"ln N is {before:.5g}, and {after:.5g} for the same class with {what}"
    return Trial("scale", classes, failed, None, example)


def _in_other_units(small: SmallClass, c: float) -> Iterator[tuple[SmallClass, str]]:
    if small.heads is None:
        yield replace(small, W=_times(small.W, c, NORMS), b=small.b / c), "W times c on points over c"
        yield replace(small, W=_times(small.W, c, NORMS), eps=small.eps * c), "W and eps times c"
        return
    scores, values = ("QK", "QK11", "QK21"), ("V21", "V", "V11")
    keys = dict.fromkeys(scores, 1 / c) | {"BX": c} | dict.fromkeys(values, 1 / c)
    yield replace(small, heads=_scaled(small.heads, **keys)), "tokens times c, QK and V over c"
    queries = dict.fromkeys(scores, 1 / c) | {"BZ": c}
    yield replace(small, heads=_scaled(small.heads, **queries)), "queries times c, QK over c"
    outputs = _scaled(small.heads, **dict.fromkeys(values, c))
    yield replace(small, heads=outputs, eps=small.eps * c), "V and eps times c"


def _times(W: MatrixNorms | None, c: float, names: tuple[str, ...]) -> MatrixNorms:
    assert W is not None
    return replace(W, **{name: getattr(W, name) * c for name in names})


def _scaled(heads: HeadClass, **factors: Real) -> HeadClass:
    sizes: dict[str, Any] = {
        name: getattr(heads, name) * c for name, c in factors.items() if getattr(heads, name) is not None
    }
    return replace(heads, **sizes)
