"""Forms of the bound: formulas for the size of a cover, from the norms of a matrix and the number of points.

    ours             proven constants, split in closed form
    paper            the paper's form with constant 1, for comparison
    parametric       counting parameters
    trauger-tewari   sums of absolute entries, independent of T
    minimum          for each matrix the smaller of `ours` and `parametric`; never above either of them

To add a form, write a `Form` and list it in FORMS, register it for one process (`own_forms.form`), or name it in an
entry point of another package.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

from .._base.arguments import real, shown
from .._base.display import Card, ShortRepr, WithCard
from .._base.errors import DomainError
from .._base.log_math import Real, as_float, check_eps, is_number, ln, log1p_exp, log_ln, log_sum
from .._base.plugins import Registry
from .items import Covering, Item, closed_covering, numeric_covering
from .norms import MatrixNorms


class Charge(NamedTuple):
    """The cost, in ln N, of covering one matrix W with error x on inputs of length at most b: (value b/x)^2 lambda.

    `value` is a norm of W, and `norm` its name. A union bound counts each norm of a matrix once. In forms that count
    parameters the cost is dim ln(1 + 2 value b/x) instead, for `dim` parameters. By default dim is the number of
    entries of W; but at most N for each column if there are N points, and at most N in all for a score on N pairs.
    """

    norm: str
    value: float
    log_lambda: float
    dim: float | None = None


@runtime_checkable
class ChargeFor(Protocol):
    """A function that returns the charge for one matrix."""

    def __call__(self, W: MatrixNorms, log_N: float, /) -> Charge:
        """Return the charge for a matrix with the norms W on N points."""


@dataclass(frozen=True, repr=False)
class Form(ShortRepr, WithCard):
    """One form of the bound.

    `bound(form=..)` takes it. Once it has a name, by `@sh.form(name)` or by the entry point group `sparsehead.forms`,
    every `bound` lists its value beside those of the other forms.

    Args:
        description: the norms and counts that it uses, in a few words.
        linear: charge for x -> x W on N points.
        bilinear: charge for a score (x, z) -> z^T W x on N pairs.
        covering: a function from items and ln eps to ln N_inf(eps); None means C/eps^2, split in closed form.
        below_capacity: whether ln N_inf(eps) <= C/eps^2 holds for its items, so that the gap may use C.
        log_softmax: ln of the constant that it uses for softmax, which is Lipschitz from the sup-norm to the l1-norm.
        values_per_token: whether it covers values on all mT tokens rather than on one point per sequence.
        needs: norms that must be given besides V21, V, QK and BX. charges: these norms in words.
        proven: whether its result is a certificate.
        source: who proved or proposed it. assumes: what it assumes beyond the class, in words.
        whole_class: whether it is a formula for a class of heads given by norms (`own_forms.Formula`); it then has
            no charge for a single matrix, and no value for weights.

    >>> from sparsehead import bound
    >>> form = Form(
    ...     "each column by itself",
    ...     lambda W, log_N: Charge("F", W.columns * W.frobenius, log_ln(log_N)),
    ...     bilinear,
    ... )
    >>> bound(norms={"V21": 1, "V": 1, "QK": 2, "BX": 1, "k": 1}, T=9, m=100, form=form).form
    'yours'
    """

    description: str
    linear: ChargeFor
    bilinear: ChargeFor
    covering: Callable[[Sequence[Item], float], Covering] | None = None
    below_capacity: bool = True
    log_softmax: float = 0.0
    values_per_token: bool = False
    needs: tuple[str, ...] = ()
    charges: str = ""
    proven: bool = True
    source: str = ""
    assumes: str = ""
    whole_class: bool = False

    def _card(self) -> Card:
        says = "proved" if self.proven else "not proved"
        return Card(
            "Form of the bound", [self.description, self.assumes], {"status": says, "source": self.source}
        )

    def __post_init__(self) -> None:
        for name in ("description", "charges", "source", "assumes"):
            if not isinstance(getattr(self, name), str):
                raise DomainError(f"{name} of a Form is a text; got {shown(getattr(self, name))}.")
        for name in ("linear", "bilinear"):
            if not callable(getattr(self, name)):
                got = shown(getattr(self, name))
                raise DomainError(f"{name} of a Form is a function (W, log_N) -> Charge; got {got}.")
        if not (self.covering is None or callable(self.covering)):
            raise DomainError(
                f"covering of a Form is a function (items, log_eps); got {shown(self.covering)}."
            )
        if self.covering is None and not self.below_capacity:
            raise DomainError(
                "a Form without a covering states C/eps^2, so below_capacity is True; got False."
            )
        for name in ("below_capacity", "values_per_token", "proven", "whole_class"):
            if not isinstance(getattr(self, name), bool):
                raise DomainError(f"{name} of a Form is True or False; got {shown(getattr(self, name))}.")
        real("log_softmax of a Form", self.log_softmax)
        may_lack = ("V11", "QK11", "QK21", "w", "rank")  # those of `HeadClass` that may be missing
        if not isinstance(self.needs, tuple) or not set(self.needs) <= set(may_lack):
            known = ", ".join(may_lack)
            raise DomainError(f"needs of a Form is a tuple of names among {known}; got {shown(self.needs)}.")


def checked_charge(charge_for: ChargeFor, W: MatrixNorms, log_N: float) -> Charge:
    """Return the charge for a matrix; raise DomainError if a form, perhaps a user's own, returned something else."""
    name = getattr(charge_for, "__name__", type(charge_for).__name__)
    charge: Any = in_one_line(name, partial(charge_for, W, log_N))
    if not isinstance(charge, tuple) or len(charge) not in (3, 4) or not isinstance(charge[0], str):
        raise DomainError(
            f"{name} returns Charge(norm, value, log_lambda) for a matrix; got {shown(charge)}."
        )
    value = checked_number(f"the value that {name} charges for a matrix", charge[1])
    log_lambda = checked_number(f"log_lambda of {name}", charge[2], least=-math.inf)
    dim = None if len(charge) == 3 or charge[3] is None else checked_number(f"dim of {name}", charge[3])
    return Charge(charge[0], value, log_lambda, dim)


def checked_number(what: str, x: Any, *, least: float = 0.0) -> float:
    """Return x as a float; raise an error that names `what` unless it is a number >= least."""
    if not is_number(x) or x < least:
        kind = "a number >= 0" if least == 0 else "a number"
        hint = "; in a class given by norms, a norm that it does not have is NaN" if x != x else ""
        raise DomainError(f"{what} is {kind}; got {shown(x)}{hint}.")
    return as_float(x)


def in_one_line(name: str, call: Callable[[], Any]) -> Any:
    """Return call(); turn an exception in a form's own code into a one-line error with the form's name."""
    try:
        return call()
    except DomainError:
        raise
    except Exception as error:
        first = str(error).partition("\n")[0]
        raise DomainError(f"the form's function {name} raised {type(error).__name__}: {first}") from error


def log_Lambda(d_1: Real, log_N: float) -> float:
    """Return the logarithm of Lambda(d_1, N), a factor in the size of covers of linear maps with d_1 outputs on N
    points.

        Lambda(d_1, N) = ( ln^{1/3}(d_1 + 1) + ln^{1/3}(2 N d_1 + 1) )^3.
    """
    rows = ln(log1p_exp(ln(d_1)))
    updates = ln(log1p_exp(math.log(2) + log_N + ln(d_1)))
    return 3 * log_sum([rows / 3, updates / 3])


def linear(W: MatrixNorms, log_N: float) -> Charge:
    """Charge ||W||_{2,1}, with lambda = Lambda(columns, N) (`log_Lambda`), for x -> x W on N points.

    If W has a single column, x -> x W is a class of vectors, which has a smaller cover.

    Paper: linear-cover, vector-cover
    """
    return Charge("2,1", W.n21, log_ln(log_N) if W.columns == 1 else log_Lambda(W.columns, log_N))


def bilinear(W: MatrixNorms, log_N: float) -> Charge:
    """Charge ||W||_F, with lambda = ln(2N + 1), for the score z^T W x on N pairs (x, z).

    The score is linear in W, with the one point z x^T, so the charge does not depend on the width d.

    Paper: single-layer-capacity, score-cover
    """
    return Charge("F", W.frobenius, log_ln(log_N))


def paper_linear(W: MatrixNorms, log_N: float) -> Charge:
    """Charge ||W||_{2,1} with lambda = ln(d N), for x -> x W on N points, where W has d columns.

    For d = N = 1 this is 0, below the true size of a cover.

    Paper: linear-cover
    """
    return Charge("2,1", W.n21, ln(max(ln(W.columns) + log_N, 0.0)))


def paper_bilinear(W: MatrixNorms, log_N: float) -> Charge:
    """Charge ||W^T||_{2,1} with lambda = ln(d N), for the score z^T W x on N pairs, where W has d columns.

    This norm is at least the Frobenius norm, which form `ours` uses.

    Paper: single-layer-capacity
    """
    return Charge("T 2,1", W.n21_T, ln(max(ln(W.rows) + log_N, 0.0)))


def absolute_entries(W: MatrixNorms, log_N: float) -> Charge:
    """Charge ||W||_{1,1} with lambda = 4 ln(2 n + 1) for n entries and any number of points (Maurey's sparsification).

    The elements of Maurey's cover satisfy ||W||_{1,1} <= B but may exceed the declared spectral norm S, while later
    radii and chaining need ||W|| <= S for the elements too. So take the cover at eps/2. Replace each element by a
    member of the class {||W||_{1,1} <= B, ||W|| <= S} within eps/2 of it; drop the elements that have no such member.
    The result lies in the class, has no more elements, and is within eps/2 + eps/2 of every W of the class. Its size at
    eps is that of Maurey's cover at eps/2, which explains the factor 4.   Paper: trauger-tewari
    """
    return Charge("1,1", W.n11, math.log(4) + log_ln(ln(W.rows * W.columns)))


FORMS: Registry[Form] = Registry(
    "form",
    {
        "ours": Form(
            "proven constants, Frobenius norm of W_QK, perceptron covers, the best split in closed form",
            linear,
            bilinear,
            source="this project, docs/theory.md 3 to 5; the class is that of Edelman et al. (2022)",
        ),
        "paper": Form(
            "the paper's form with its unstated constant set to 1; no certificate",
            paper_linear,
            paper_bilinear,
            log_softmax=math.log(2),  # the paper's constant for softmax is 2, the proven one 1
            values_per_token=True,
            proven=False,
            source="Edelman, Goel, Kakade, Zhang (ICML 2022), Corollary 4.5",
            assumes="its constant is 1, which is false for one number on one point",
        ),
        "parametric": Form(
            "volume covers of every weight matrix: counts parameters, norms enter by their logarithm",
            linear,
            bilinear,
            covering=partial(numeric_covering, parametric_only=True),
            below_capacity=False,
            source="classical volume argument, docs/theory.md 3.2",
        ),
        "trauger-tewari": Form(
            "sums of absolute entries, log d instead of log T: independent of T",
            absolute_entries,
            absolute_entries,
            needs=("V11", "QK11"),
            charges="sums of absolute entries",
            source="after Trauger and Tewari (2023); internal covers by this project, docs/theory.md 3.5",
        ),
        # the last, so that it is preferred where it ties with `ours` or `parametric`
        "minimum": Form(
            "the items of `ours`, each at the cheaper of its two prices, split numerically",
            linear,
            bilinear,
            covering=partial(numeric_covering, parametric_only=False),
            source="this project, docs/theory.md 5.2",
        ),
    },
)


def covering(items: Sequence[Item], *, eps: Real, form: str | Form) -> Covering:
    """Return ln N_inf(eps) of the class that the items describe.   Paper: split-lemma, head-capacity"""
    chosen = FORMS.find(form) if isinstance(form, str) else form
    log_eps = math.log(check_eps(eps))
    if chosen.covering is None:
        return closed_covering(items, log_eps)
    found: Any = in_one_line("covering", partial(chosen.covering, items, log_eps))
    if not isinstance(found, Covering) or not found.log_covering >= 0 or len(found.shares) != len(items):
        raise DomainError(
            "covering of a Form returns Covering(log_covering >= 0, log_log, one share per item); got "
            f"{shown(found)}."
        )
    return found
