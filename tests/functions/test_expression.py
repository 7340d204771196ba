"""`parse` and `str` against SymPy's logic on all inputs, and what is said about text that is no expression."""

import itertools
import time

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy.logic.boolalg import truth_table

from sparsehead._base.errors import DomainError, ParseError
from sparsehead._base.rng import stream
from sparsehead.functions import (
    assignments,
    conjunction,
    disjunction,
    from_table,
    majority,
    parity,
    parse,
    random_function,
    symmetric,
    threshold,
)
from sparsehead.functions.spelling import MAX_TERMS

POSITIONS = (2, 5, 7, 11)
SYMBOLS = {t: sympy.Symbol(f"x{t}") for t in POSITIONS}
LEVEL = {"|": 0, "^": 1, "&": 2, "!": 3, "leaf": 4}


def at_least(k, operands):
    return sympy.Or(*(sympy.And(*some) for some in itertools.combinations(operands, k)))


def combine(op, parts):
    """(text, SymPy expression, level); parentheses only where the binding order needs them."""
    texts, expressions, levels = zip(*parts)
    if op in ("maj", "atleast"):
        k = len(parts) // 2 + 1 if op == "maj" else 2
        inner = ", ".join(texts) if op == "maj" else ", ".join(["2", *texts])
        return f"{op}({inner})", at_least(k, expressions), LEVEL["leaf"]
    wrapped = [f"({t})" if level < LEVEL[op] else t for t, level in zip(texts, levels)]
    if op == "!":
        return f"!{wrapped[0]}", sympy.Not(expressions[0]), LEVEL[op]
    join = {"&": sympy.And, "|": sympy.Or, "^": sympy.Xor}[op]
    return f" {op} ".join(wrapped), join(*expressions), LEVEL[op]


leaves = st.one_of(
    st.sampled_from(POSITIONS).map(lambda t: (f"x{t}", SYMBOLS[t], LEVEL["leaf"])),
    st.sampled_from([("0", sympy.false, LEVEL["leaf"]), ("true", sympy.true, LEVEL["leaf"])]),
)
expressions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(combine, st.just("!"), st.lists(inner, min_size=1, max_size=1)),
        st.builds(combine, st.sampled_from("&|^"), st.lists(inner, min_size=2, max_size=3)),
        st.builds(combine, st.sampled_from(["maj", "atleast"]), st.lists(inner, min_size=1, max_size=5)),
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(expressions)
def test_parse_agrees_with_sympy_on_all_inputs(expression):
    text, meaning, _ = expression
    f = parse(text, T=12)
    rows = truth_table(meaning, [SYMBOLS[t] for t in POSITIONS])
    bits = np.zeros((16, 12), dtype=int)
    bits[:, POSITIONS], expected = zip(*[(inputs, bool(value)) for inputs, value in rows])
    assert f(bits).tolist() == list(expected)
    assert parse(str(f), T=12) == f


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("x1 | x2 ^ x3 & !x4", "x1 | (x2 ^ (x3 & (!x4)))"),
        ("!x1 & x2", "(!x1) & x2"),
        ("x1 ^ x2 | x3", "(x1 ^ x2) | x3"),
        (" x1\t&\n x2 ", "x1&x2"),
        ("not x1 and x2 xor x3 or x4", "!x1 & x2 ^ x3 | x4"),
        ("~x1 ∧ x2 ⊕ ¬x3 ∨ x4", "!x1 & x2 ^ !x3 | x4"),
        ("X1 AND x2 || x3 && x4", "x1 & x2 | x3 & x4"),
        ("maj(x1, x2)", "x1 & x2"),
        ("atleast(0, x1)", "1"),
        ("atleast(4, x1, x2, x3)", "false"),
        ("atleast(2, x1, x1, x2)", "x1"),
        ("x001 ^ x1", "0"),
        ("table(0x8, x3, x1)", "x1 & x3"),
        ("table(0x2, x3, x1)", "x3 & !x1"),
    ],
)
def test_texts_that_mean_the_same(text, same):
    assert parse(text, T=5) == parse(same, T=5)


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (conjunction((2, 5, 11), T=16), "x2 & x5 & x11"),
        (disjunction((2, 5, 11), T=16), "x2 | x5 | x11"),
        (parity((2, 5), T=16), "x2 ^ x5"),
        (majority((2, 5, 11), T=16), "maj(x2, x5, x11)"),
        (threshold((2, 5, 11, 12), 2, T=16), "atleast(2, x2, x5, x11, x12)"),
        (threshold((2, 5, 11, 12), 3, T=16), "maj(x2, x5, x11, x12)"),
        (parse("!(x2 ^ x5)", T=16), "!x2 ^ x5"),
        (parse("!(x2 & !x5)", T=16), "!x2 | x5"),
        (parse("!maj(x2, x5, x11)", T=16), "!maj(x2, x5, x11)"),
        (parse("atleast(2, x2, !x5, x11)", T=16), "maj(x2, !x5, x11)"),
        (parse("x2 & x5 | !x2 & x11", T=16), "x2 & x5 | !x2 & x11"),
        (parse("(x2 | x5) & (x7 | x11)", T=16), "(x2 | x5) & (x7 | x11)"),
        (parse("x2 & x5 ^ x11", T=16), "x11 ^ x2 & x5"),
        (parse("x2 & x5 ^ !x11", T=16), "!x11 ^ x2 & x5"),
        (parse("0", T=16), "0"),
        (parse("x2 | !x2", T=16), "1"),
        (
            symmetric(range(8), [j == 4 for j in range(9)], T=16),
            "atleast(4, x0, x1, x2, x3, x4, x5, x6, x7) ^ atleast(5, x0, x1, x2, x3, x4, x5, x6, x7)",
        ),
    ],
)
def test_str_is_what_a_person_would_write(f, text):
    assert str(f) == text
    assert parse(text, T=16) == f


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("x12 ^ (x1 & x4 | x1 & x9 | x4 & x9)", "maj(x1, x4, x9) ^ x12"),
        ("!maj(x1, x4, x9) ^ !x12", "maj(x1, x4, x9) ^ x12"),
        ("x4 & (x1 | x2) & (x1 | x3) & (x2 | x3)", "maj(x1, x2, x3) & x4"),
        ("x2 & x3 ^ x2 & x4", "x2 & (x3 ^ x4)"),
        ("!((!x1 | x3) & (x2 ^ x4)) | x5 & x6", "x1 & !x3 | !x2 ^ x4 | x5 & x6"),
    ],
)
def test_functions_of_disjoint_variables_are_spelled_as_their_parts(given, text):
    assert str(parse(f"({given})", T=16)) == text
    assert parse(text, T=16) == parse(given, T=16)


def test_every_function_of_three_bits_survives_str_and_parse():
    for number in range(256):
        f = from_table(T=10, support=(1, 4, 9), table=[number >> j & 1 for j in range(8)])
        assert parse(str(f), T=10) == f


@pytest.mark.parametrize("s", [4, 5, 6, 7, 8, 12, 20])
def test_random_functions_survive_str_and_parse(s):
    for seed in range(12 if s < 10 else 2):
        f = random_function(T=300, s=s, rng=stream(seed, "spelled"))
        text = str(f)
        assert parse(text, T=300) == f
        assert (
            text.startswith("table(0x") or text.count("|") + text.count("^") + text.count("&") < 8 * MAX_TERMS
        )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the expression is empty"),
        (" \n ", "the expression is empty"),
        ("x99", "x99 at column 1 is outside the input: >>x99<<; T=50 has the positions x0 to x49"),
        ("x1 & x2 | x50", r"x50 at column 11 is outside the input: x1 & x2 \| >>x50<<"),
        ("x2 & & x5", "unexpected '&' at column 6: x2 & >>&<< x5; expected a variable such as x3"),
        ("x2 x5", "unexpected 'x5' at column 4: x2 >>x5<<; expected \"&\""),
        ("x2 + x5", r"unexpected '\+' at column 4"),
        ("y2 & x5", "unexpected 'y2' at column 1: >>y2<< & x5"),
        ("x2 &", "ends too early at column 5: x2 &>><<; expected a variable"),
        ("(x2 & x5", r"\"\(\" at column 1 is never closed"),
        ("x2 & (x5 | (x7 & x8)", r"\"\(\" at column 6 is never closed"),
        ("x2 & x5)", r"\"\)\" at column 8: x2 & x5>>\)<< closes nothing"),
        ("()", r"unexpected '\)' at column 2"),
        ("maj()", r"unexpected '\)' at column 5"),
        ("maj(x1, x2", r"\"\(\" at column 4 is never closed"),
        ("atleast(x1, x2)", r"expected a whole number k, as in atleast\(2, x1, x5, x7\)"),
        ("12 & x1", "the constants are 0 and 1, and variables are written x3; got 12 at column 1"),
        ("x" + "9" * 5000, "a number of 5000 digits is out of range at column 1"),
        ("atleast(" + "9" * 5000 + ", x1)", "a number of 5000 digits is out of range at column 9"),
        ("table(6, x1, x2)", "expected the table in hexadecimal"),
        ("table(0x10, x1, x2)", r"2\^2 bits, the number has 5"),
        ("__import__('os').system('true')", "unexpected '__import__' at column 1"),
        ("x1 &\x1b[31m\n x2", r"unexpected ' ' at column 5: x1 &>> <<\[31m  x2"),
    ],
)
def test_what_is_no_expression_is_refused_in_one_line(text, message):
    with pytest.raises(ParseError, match=message) as caught:
        parse(text, T=50)
    said = str(caught.value)
    assert said.isprintable()
    assert len(said) < 250


def test_functions_too_large_or_without_input_are_refused():
    with pytest.raises(DomainError, match="mentions 21 positions; s is at most 20"):
        parse(" & ".join(f"x{t}" for t in range(21)), T=50)
    with pytest.raises(DomainError, match="mentions 21 positions"):
        parse(f"table(0x1, {', '.join(f'x{t}' for t in range(21))})", T=50)
    with pytest.raises(DomainError, match="repeats position 1"):
        parse("table(0x1, x1, x1)", T=50)
    with pytest.raises(DomainError, match="T is a whole number >= 1"):
        parse("1", T=0)


PAIRS = [f"(x{i % 20}&x{7 * i % 20})" for i in range(6_007)]  # period 20: all but the first 7 cancel in a xor
LONG = {  # each with what it means, or with what is said about it
    "flat": ("&".join(f"x{i % 20}" for i in range(28_000)), conjunction(range(20), T=50)),
    "many terms": ("(x1&x2)|" * 12_000 + "x3", parse("x3 | x1 & x2", T=50)),
    "nested to the right": ("^(".join(PAIRS) + ")" * 6_006, parse("^".join(PAIRS[:7]), T=50)),
    "nested to the left": ("(" * 6_006 + ")^".join(PAIRS), parse("^".join(PAIRS[:7]), T=50)),
    "parentheses": ("(" * 49_000 + "x1" + ")" * 49_000, parse("x1", T=50)),
    "negations": ("!" * 99_997 + "x1", parse("!x1", T=50)),
    "calls": ("maj(" * 19_000 + "x1" + ")" * 19_000, parse("x1", T=50)),
    "one long call": (
        f"atleast(1,{','.join(f'x{i % 20}' for i in range(20_000))})",
        disjunction(range(20), T=50),
    ),
    "never closed": ("(" * 99_000, "ends too early at column 99001"),
    "never opened": (")" * 99_000, "at column 1: .* closes nothing"),
    "too long": ("x1&" * 40_000 + "x1", "the expression has 120,002 characters, at most 100,000 are allowed"),
}


@pytest.mark.parametrize("shape", LONG)
def test_long_and_deep_expressions_are_read_or_refused_at_once(shape, unchecked):
    text, meaning = LONG[shape]
    start = time.process_time()
    if isinstance(meaning, str):
        with pytest.raises(ParseError, match=meaning) as caught:
            parse(text, T=50)
        assert len(str(caught.value)) < 250
    else:
        assert parse(text, T=50) == meaning
    # Processor time, at most 1.5 s here: a reader of quadratic time would take minutes.
    assert time.process_time() - start < 20


def test_counts_of_many_operands_are_exact():
    """The carry-save counter: a weighted threshold, compared with arithmetic."""
    weights = np.array([1, 2, 5, 11, 23])
    operands = [f"x{i}" for i, w in enumerate(weights) for _ in range(w)]
    totals = assignments(5).astype(int) @ weights
    for k in range(weights.sum() + 2):
        f = parse(f"atleast({k}, {', '.join(operands)})", T=5)
        assert f(assignments(5)).tolist() == (totals >= k).tolist()
