"""Forms of a user's own: values beside ours, names for this process, and one line for every wrong use."""

import math
from dataclasses import replace
from typing import Any

import pytest

import sparsehead as sh
from sparsehead._base.errors import DomainError
from sparsehead.capacity.forms import FORMS, Charge, Form, bilinear, linear
from sparsehead.capacity.head_class import head_class, head_class_items
from sparsehead.capacity.items import Covering, log_capacity
from sparsehead.capacity.pricing import Pricing
from sparsehead.extend import ChargeFor, Formula

from .test_bound import small_model

pytestmark = pytest.mark.usefixtures("unchecked")  # as users call it
NORMS = {"V21": 1.0, "V": 1.0, "QK": 9.4, "BX": 1.42}


@pytest.fixture(autouse=True)
def forget(monkeypatch):
    """What a test registers is unknown to the next."""
    monkeypatch.setattr(FORMS, "_listed", {})
    monkeypatch.setattr(FORMS, "_loaded", dict(FORMS._loaded))


def capacity(heads, T, m, eps):
    """ours, as a formula"""
    items = head_class_items(heads, m=m, T=T, price=Pricing("ours"))
    return math.exp(log_capacity(items)) / eps**2


def test_a_formula_equal_to_ours_has_the_values_of_ours():
    """Chaining over ln N instead of the closed form: the gap may differ, ln N and the realisable rate may not."""
    mine, ours = (sh.bound(norms=NORMS, T=50, m=10**6, form=form) for form in (capacity, "ours"))
    assert mine.log_covering == pytest.approx(ours.log_covering, rel=1e-12)
    assert mine.realizable_error == pytest.approx(ours.realizable_error, rel=1e-12)
    assert mine.gap == pytest.approx(ours.gap, rel=0.5) and mine.gap >= ours.gap


@pytest.mark.parametrize("margin", [0.25, 4.0])
def test_a_formula_is_asked_at_the_resolution_of_the_margin(margin):
    mine, ours = (
        sh.bound(norms=NORMS, T=50, m=10**6, margin=margin, form=form) for form in (capacity, "ours")
    )
    assert mine.realizable_error == pytest.approx(ours.realizable_error, rel=1e-12)


def test_norms_chosen_after_training_are_rounded_and_paid_for_in_a_formula():
    seen = []

    def asked(heads, T, m, eps):
        seen.append(heads)
        return 1.0

    found = sh.bound(norms=NORMS, T=50, m=100, form=asked, a_posteriori=True)
    declared = [seen[0].QK, seen[0].V21]
    assert declared == pytest.approx([16, 1], rel=1e-8)
    # 2^0, 2^0, 2^4, the margin 2^-1 < 1, and which kind of norm: weights 1/(2 (|j|+1)(|j|+2)) and 1/2
    assert found.union_penalty == pytest.approx(2 * math.log(4) + math.log(60) + math.log(4) + math.log(2))
    plain = sh.bound(norms=NORMS, T=50, m=100, form=asked)
    assert plain.union_penalty == 0 and seen[-1].QK == 9.4


def test_charges_of_a_form_of_yours_count_in_models_of_any_kind():
    doubled = Form(
        "twice ours",
        lambda W, n: replace_value(linear(W, n), 2),
        lambda W, n: replace_value(bilinear(W, n), 2),
    )
    model = small_model(2.0)
    mine, ours = (sh.bound(model, m=1000, form=form, a_posteriori=False) for form in (doubled, "ours"))
    assert mine.log_covering == pytest.approx(4 * ours.log_covering, rel=1e-12)
    assert mine.forms["yours"] == mine.log_covering and mine.forms["ours"] == ours.log_covering
    assert mine.own == ("yours",) and ours.own == () and "your claim" in mine.notes[-1]


def replace_value(charge, factor):
    return charge._replace(value=factor * charge.value)


def test_a_name_holds_for_this_process_and_can_be_given_again():
    sh.form("mine")(capacity)
    found = sh.bound(norms=NORMS, T=50, m=1000)
    assert found.own == ("mine",) and found.form == "minimum" and "mine" in list(FORMS)
    assert sh.bound(norms=NORMS, T=50, m=1000, form=capacity).form == "mine"
    assert sh.bound(norms=NORMS, T=50, m=1000, form=FORMS["ours"]).form == "ours"
    assert "mine" not in sh.bound(small_model(), m=100).forms  # a formula for norms
    sh.form("mine", "again")(linear_charge)
    assert FORMS["mine"].description == "again"
    assert sh.bound(norms=NORMS, T=50, m=1000, form="mine").log_covering > 0


def linear_charge(W, log_N):
    return Charge("F", W.frobenius, 1.0)


def test_only_proved_forms_are_chosen_and_ours_goes_first_where_two_tie():
    sh.form("nothing")(lambda heads, T, m, eps: 0)
    assert sh.bound(norms=NORMS, T=50, m=1000).form == "minimum"
    sh.form("copy")(replace(FORMS["minimum"], description="the same"))
    assert sh.bound(norms=NORMS, T=50, m=1000).form == "minimum"
    sh.form("claimed", proven=True)(lambda heads, T, m, eps: 0)
    found = sh.bound(norms=NORMS, T=50, m=1000)
    assert found.form == "claimed" and "your claim" in found.notes[-1]


def test_our_forms_keep_the_contract():
    for form in FORMS.values():
        assert isinstance(form, Form)
        assert isinstance(form.linear, ChargeFor) and isinstance(form.bilinear, ChargeFor)
    assert isinstance(capacity, Formula)


def test_the_value_is_in_table_chart_card_and_command(capsys):
    sh.form("mine", source="a note")(capacity)
    every = sh.atlas(norms=NORMS, T=50, m=1000)
    row = next(row for row in every.to_frame() if row["form"] == "mine")
    assert row["status"] == "yours, not proved" and row["source"] == "a note"
    data = every.plot().chart.to_dict()["datasets"]
    drawn = data["forms"]
    assert {"axis": "T", "at": 50_000, "form": "mine"}.items() <= data["growth"][-2].items()
    assert {"form": "mine", "status": "yours"}.items() <= next(
        r for r in drawn if r["form"] == "mine"
    ).items()
    card = sh.bound(norms=NORMS, T=50, m=1000)._repr_html_()
    assert "mine (yours)" in card
    from sparsehead.cli.app import main

    for more, wanted in ([], "mine, not proven (yours)"), (["--atlas"], "yours, not proved"):
        with pytest.raises(SystemExit):
            main(["bound", "--norms", "V21=1,V=1,QK=9.4,BX=1.42", "--T", "50", "--m", "1000", *more])
        assert wanted in " ".join(capsys.readouterr().out.split())


def give(value):
    return lambda heads, T, m, eps: value


def charge(*value):
    return lambda W, log_N: value[0] if len(value) == 1 else Charge(*value)


def with_covering(result):
    return Form("x", linear, bilinear, covering=lambda items, log_eps: result)


async def coroutine(heads, T, m, eps):
    return 1.0


def fails(heads, T, m, eps):
    return 1 / 0


def ask(form, **more):
    return sh.bound(**({"norms": NORMS, "T": 9, "m": 9, "form": form} | more))


untyped: Any = sh  # what a type checker would refuse is tried here
WRONG_USES = {
    # names
    "no name": lambda: untyped.form(""),
    "blank name": lambda: untyped.form("  "),
    "number as name": lambda: untyped.form(3),
    "function as name": lambda: untyped.form(capacity),
    "long name": lambda: untyped.form("m" * 41),
    "name of two lines": lambda: untyped.form("a\nb"),
    "shipped name": lambda: untyped.form("ours"),
    "name of another shipped form": lambda: untyped.form("minimum"),
    "name of unnamed forms": lambda: untyped.form("yours"),
    "unknown name": lambda: ask("mine"),
    "misspelt name": lambda: ask("ourss"),
    "empty text": lambda: ask(""),
    # what is no form
    "number": lambda: ask(3),
    "list": lambda: ask([capacity]),
    "dict": lambda: ask({}),
    "bytes": lambda: ask(b"ours"),
    "True": lambda: ask(True),
    "class": lambda: ask(Form),
    "another class": lambda: ask(dict),
    "charge": lambda: ask(Charge("F", 1.0, 0.0)),
    "bound": lambda: ask(untyped.bound(norms=NORMS, T=9, m=9)),
    "coroutine": lambda: ask(coroutine),
    "function of nothing": lambda: ask(lambda: 1.0),
    "function of one": lambda: ask(lambda heads: 1.0),
    "function of three": lambda: ask(lambda heads, T, m: 1.0),
    "function of anything": lambda: ask(lambda *args, **named: 1.0),
    "other names": lambda: ask(lambda heads, length, samples, eps: 1.0),
    "built-in without parameters": lambda: ask(max),
    "register a number": lambda: untyped.form("mine")(3),
    "register a text": lambda: untyped.form("mine")("ours"),
    "register a class": lambda: untyped.form("mine")(Form),
    "register None": lambda: untyped.form("mine")(None),
    # settings
    "unknown setting": lambda: untyped.form("mine", prven=True)(capacity),
    "linear as setting": lambda: untyped.form("mine", linear=linear)(capacity),
    "proven as text": lambda: untyped.form("mine", proven="yes")(capacity),
    "proven as number": lambda: untyped.form("mine", proven=1)(capacity),
    "needs as text": lambda: untyped.form("mine", needs="V11")(capacity),
    "needs an unknown norm": lambda: untyped.form("mine", needs=("V12",))(capacity),
    "needs as list": lambda: untyped.form("mine", needs=["V11"])(capacity),
    "description as number": lambda: untyped.form("mine", 3)(capacity),
    "source as number": lambda: untyped.form("mine", source=3)(capacity),
    "covering of a formula": lambda: untyped.form("mine", covering=None)(capacity),
    "softmax of a formula": lambda: untyped.form("mine", log_softmax=0.0)(capacity),
    "capacity of a formula": lambda: untyped.form("mine", below_capacity=True)(capacity),
    "settings of a Form": lambda: untyped.form("mine", proven=True)(FORMS["ours"]),
    "description of a Form": lambda: untyped.form("mine", "text")(FORMS["ours"]),
    # fields of Form
    "description of a Form as number": lambda: untyped.Form(3, linear, bilinear),
    "linear as text": lambda: untyped.Form("x", "linear", bilinear),
    "bilinear missing": lambda: untyped.Form("x", linear, None),
    "covering as number": lambda: untyped.Form("x", linear, bilinear, covering=3),
    "no covering and no capacity": lambda: untyped.Form("x", linear, bilinear, below_capacity=False),
    "softmax NaN": lambda: untyped.Form("x", linear, bilinear, log_softmax=math.nan),
    "softmax as text": lambda: untyped.Form("x", linear, bilinear, log_softmax="0"),
    "values_per_token as number": lambda: untyped.Form("x", linear, bilinear, values_per_token=1),
    # what they return
    "formula returns None": lambda: ask(give(None)),
    "formula returns text": lambda: ask(give("3")),
    "formula returns NaN": lambda: ask(give(math.nan)),
    "formula returns less than 0": lambda: ask(give(-1.0)),
    "formula returns True": lambda: ask(give(True)),
    "formula returns a complex number": lambda: ask(give(1j)),
    "formula returns a list": lambda: ask(give([1.0])),
    "formula raises": lambda: ask(fails),
    "formula overflows": lambda: ask(lambda heads, T, m, eps: math.exp(10**6)),
    "formula asks for a norm that there is not": lambda: ask(lambda heads, T, m, eps: heads.V12),
    "formula without its norm": lambda: ask(untyped.form("entries", needs=("V11",))(give(1.0)) and "entries"),
    "formula for weights": lambda: untyped.bound(small_model(), m=9, form=capacity),
    "charge returns a number": lambda: ask(charge(3.0)),
    "charge returns None": lambda: ask(charge(None)),
    "charge without a norm": lambda: ask(charge((1.0, 2.0, 3.0))),
    "charge of two": lambda: ask(charge(("F", 1.0))),
    "charge below 0": lambda: ask(charge("F", -1.0, 0.0)),
    "charge NaN": lambda: ask(charge("F", math.nan, 0.0)),
    "charge text": lambda: ask(charge("F", "1", 0.0)),
    "lambda NaN": lambda: ask(charge("F", 1.0, math.nan)),
    "lambda None": lambda: ask(charge("F", 1.0, None)),
    "charge by a norm that norms lack": lambda: ask(lambda W, log_N: Charge("T", W.n21_T + W.n21, 0.0)),
    "charge raises": lambda: ask(lambda W, log_N: Charge("F", W.trace, 0.0)),
    "covering returns a number": lambda: ask(with_covering(3.0)),
    "covering below 0": lambda: ask(with_covering(Covering(-1.0, 0.0, (1.0, 0.0)))),
    "covering with a share too few": lambda: ask(with_covering(Covering(1.0, 0.0, (1.0,)))),
    # check_form and atlas
    "check of an unknown name": lambda: untyped.check_form("mine"),
    "check of a number": lambda: untyped.check_form(3),
    "check of no classes": lambda: untyped.check_form("ours", classes=0),
    "check of half a class": lambda: untyped.check_form("ours", classes=1.5),
    "check with a negative seed": lambda: untyped.check_form("ours", seed=-1),
    "check of a formula that raises": lambda: untyped.check_form(fails),
    "atlas with a setting of no bound": lambda: untyped.atlas(norms=NORMS, T=9, m=9, margn=1.0),
    "atlas of nothing": lambda: untyped.atlas(m=9),
    "atlas with an unknown form": lambda: untyped.atlas(norms=NORMS, T=9, m=9, form="mine"),
}  # fmt: skip


def test_there_are_many():
    assert len(WRONG_USES) >= 60


@pytest.mark.parametrize("use", WRONG_USES.values(), ids=WRONG_USES)
def test_a_wrong_use_gets_one_line(use):
    with pytest.raises(DomainError) as refused:
        use()
    text = str(refused.value)
    assert "\n" not in text and 20 < len(text) < 300


def test_a_class_of_heads_is_what_norms_say():
    seen = []
    sh.bound(
        norms={**NORMS, "H": 3, "d": 7},
        T=50,
        m=100,
        form=lambda heads, T, m, eps: seen.append((heads, T, m)) or 1,
    )
    assert seen[0] == (head_class({**NORMS, "H": 3, "d": 7}), 50, 100)
