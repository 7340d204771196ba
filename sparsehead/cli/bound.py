"""`sparsehead bound MODEL --m M` or `sparsehead bound --norms "V21=..,V=..,QK=..,BX=.." --T T --m M`."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from .._base.errors import ParseError
from .._base.fields import option
from ..capacity.forms import FORMS
from .output import AsJson, emit

if TYPE_CHECKING:
    from ..capacity import Bound
    from ..capacity.atlas import Atlas
    from ..floor.floor import Floor
    from ..functions import SparseFunction
    from ..heads.model import Model


@dataclass(frozen=True, kw_only=True)
class Question:
    """The options of the bound, for a model or for norms; the defaults are those of `sparsehead.bound`."""

    m: int = option(1000, "Training samples.")
    norms: str | None = option(
        None, "Norms instead of a model: V21=..,V=..,QK=..,BX=.. and BZ, BP, L, w, H, k, d."
    )
    T: int | None = option(None, "Context length, with --norms.")
    delta: float = option(0.05, "The bound may fail with this probability.")
    margin: float | None = option(None, "Margin by which outputs must be correct.")
    eps: float | None = option(None, "Resolution at which ln N is reported.")
    form: str | None = option(
        None, "ours, paper, parametric, trauger-tewari or minimum; by default the smallest proven one.",
        choices=FORMS,
    )  # fmt: skip
    accuracy: float = option(0.05, "Generalisation gap for which samples_needed is computed.")


def bound(
    asked: Question,
    model: Annotated[Path | None, typer.Argument(help="A saved model (.safetensors).")] = None,
    s: Annotated[
        int | None, typer.Option("--s", help="Also print the information floor of s-conjunctions.")
    ] = None,
    function: Annotated[
        str | None, typer.Option("--function", help="Information floor of this family or expression.")
    ] = None,
    atlas: Annotated[
        bool, typer.Option("--atlas", help="Compare every form: value, source, and whether it is proved.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Bound the capacity and the generalisation gap, term by term, with a verdict."""
    from ..capacity import bound as bound_of
    from ..capacity.atlas import atlas as atlas_of
    from ..heads.model_file import load

    loaded = None if model is None else load(model)
    norms = None if asked.norms is None else parse_norms(asked.norms)
    result = bound_of(loaded, **vars(asked) | {"norms": norms})
    floor, slopes = (None, {}) if s is None and function is None else floor_of(function, s, result.T)
    beside = None if floor is None else {**floor.to_dict(), "per_ln_T": slopes}
    whole = {**result.to_dict(), "floor": beside}
    if not atlas:
        emit(whole, as_json, lambda console: show(console, result, floor, slopes))
        return
    given = {name: value for name, value in vars(asked).items() if name != "accuracy"} | {"norms": norms}
    every = atlas_of(loaded, **given, function=None if loaded is None else function_of(loaded))
    found = every.to_dict()
    emit(
        whole | {"atlas": found["atlas"], "growth": found["growth"]},
        as_json,
        lambda console: show_atlas(console, every),
    )


def floor_of(function: str | None, s: int | None, T: int) -> "tuple[Floor, dict[str, float]]":
    """Return the information floor of an expression or a family of s bits (default: and), and its samples per ln T."""
    from ..floor.constants import per_ln_T
    from ..floor.floor import conjunction_floor, floor
    from ..functions.task import balancing_p
    from ..train.spec import TrainSpec, target_function

    if function is None or function == "and":
        if s is None:
            raise ParseError("--function and needs --s, the number of relevant positions, such as --s 3.")
        found = conjunction_floor(s, T)
        return found, per_ln_T("and", s=s, p=0.5 ** (1 / s)).finite() if s <= 8 else {}
    if function == "junta":
        raise ParseError(
            "a junta has no floor before its table is drawn; --function takes an expression too."
        )
    f = target_function(TrainSpec(function=function, s=s, T=T, m=1, seed=0))
    p = balancing_p(f)
    return floor(f, T=T, p=p), per_ln_T(f, p=p).finite()


def parse_norms(text: str) -> dict[str, float]:
    """Parse "V21=1,V=1,QK=9.4,BX=1.42" as a mapping."""
    found: dict[str, float] = {}
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not equals or not name or math.isnan(number):
            raise ParseError(
                f"--norms is a list such as V21=1,V=1,QK=9.4,BX=1.42; {part.strip()!r} is not name=number."
            )
        if name in found:
            raise ParseError(f"--norms gives {name} twice; each name once.")
        found[name] = number
    return found


def show(console: Console, result: "Bound", floor: "Floor | None", slopes: dict[str, float]) -> None:
    """Print the verdict, the items, the assumptions, and the results of the other forms of the bound."""
    from ..capacity.verdict import factor_text

    console.print(f"{result.verdict}  (T={number(result.T)}, m={result.m}, margin {result.margin:g})")
    console.print(
        f"ln N_inf at eps={result.eps:g}: {number(result.log_covering)}; samples for a gap of {result.accuracy:g}: "
        f"{number(result.samples_needed)}; in the realisable case {number(result.realizable_samples)}"
    )
    if floor is not None:
        console.print(
            f"no learner does with fewer than {floor.m} samples (information floor, 80 % of cases; {floor.status}, "
            f"{floor.enough} are enough)"
        )
    if slopes:
        console.print("samples per ln T in theory, as T grows: " + slopes_text(slopes))
    table = Table("item", "c", "p", "share", box=None)
    shown = sorted(result.items, key=lambda term: -term.share)[:12]
    for term in shown:
        name = term.name if term.copies == 1 else f"{term.name}, {number(term.copies)} copies"
        table.add_row(name, number(term.c), number(term.p), f"{term.share:.1%}")
    console.print(table)
    if len(result.items) > 12:
        console.print(f".. and {len(result.items) - 12} smaller items (--json lists all)")
    console.print("It assumes: " + "; ".join(result.assumptions) + ".")
    for note in result.notes:
        console.print(note)
    others = [name for name in result.forms if name != result.form]
    if others:
        console.print("Other forms:")
    for name in others:
        proof = "" if FORMS[name].proven else ", not proven"
        proof += " (yours)" if name in result.own else ""
        says = f"gap {number(result.gaps[name])}"
        if name in result.factors:  # the gaps of vacuous forms hardly differ
            says = f"vacuous, below 1 at {factor_text(result.factors[name])} times m"
        console.print(f"  {name}{proof}: ln N {number(result.forms[name])}, {says}")


def function_of(model: "Model") -> "SparseFunction | None":
    """Return the function that a model computes, for its Occam bound; None if no sparse function was found."""
    from ..reading.read import read

    found = read(model, seed=0)
    return found.function if found.proved else None


def show_atlas(console: Console, every: "Atlas") -> None:
    """Print a row for each form, the assumptions and notes of each, and how ln N grows."""
    console.print(
        f"T={number(every.T)}, m={every.m}, margin {every.margin:g}; ln N is at resolution {every.eps:g}. Each row is "
        f"a statement of its own, with probability {1 - every.delta:g}; proxies prove nothing."
    )
    table = Table("form", "status", "ln N", "gap", "value", "source", box=None)
    for row in every.rows:
        values = ("" if x is None else number(x) for x in (row.log_covering, row.gap, row.value))
        table.add_row(row.form, row.status, *values, row.source)
    console.print(table)
    for row in every.rows:
        if row.assumes or row.note:
            console.print(f"{row.form}: {'; '.join(filter(None, (row.assumes, row.note)))}")
    for axis in dict.fromkeys(point.axis for point in every.growth):
        points = [point for point in every.growth if point.axis == axis]
        console.print(
            f"Smallest proved ln N as {axis} grows: "
            + ", ".join(
                f"{number(p.log_covering[p.smallest])} at {number(p.at)} ({p.smallest})" for p in points
            )
        )


def slopes_text(slopes: dict[str, float]) -> str:
    """Format the constants of `floor.constants`: the samples per ln T of each way of learning."""
    return ", ".join(f"{name} {slope:.3g}" for name, slope in slopes.items())


def number(x: float | int | None) -> str:
    """Format a number with four digits; a whole number beyond the range of floats as a power of ten."""
    if x is None:
        return "beyond floats"
    try:
        return f"{x:.4g}"
    except OverflowError:
        return f"10^{math.log10(x):.4g}"
