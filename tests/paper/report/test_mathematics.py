"""Formulas between dollar signs as MathML; everything else stays text, and nothing is taken for markup."""

import re

import pytest

from sparsehead_paper.claims.formulas import latex
from sparsehead_paper.claims.formulas import plain as plain_text
from sparsehead_paper.claims.registry import CLAIMS
from sparsehead_paper.report.mathematics import typeset


def plain(markup):
    """The letters of the text, without markup, spaces and entities."""
    text = re.sub(r"<[^>]*>", "", str(markup))
    text = re.sub(r"&#x([0-9A-Fa-f]+);", lambda m: chr(int(m[1], 16)), text)
    return re.sub(r"\s", "", text)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("at most $W_QK$ here", "<msub><mi>W</mi>"),
        ("of $2^s$ inputs", "<msup><mn>2</mn>"),
        ("the norm $||W||_F$ is", "<msub><mi>&#x02016;</mi><mi>F</mi></msub>"),
        ("within $sqrt(s + 1)$ of", "<msqrt>"),
        ("the $f^$ approximates", "<mover "),
        ("of $B_V^{2,1}$ and", "<msubsup>"),
        ("an $eps$-cover", "&#x003B5;"),
        ("$m <= 3$", "&#x02264;"),
        ("$C = 1.2e+06$ there", "<mo>&#x000D7;</mo><msup><mn>10</mn><mrow><mn>6</mn></mrow></msup>"),
        ("from $m = 215,443$.", "<mtext>215,443</mtext>"),
        ("All $2^floor(log2 T)$ patterns", "<mtext>floor</mtext>"),
        ("of length $sqrt2$ here", "<msqrt><mrow><mn>2</mn></mrow></msqrt>"),
        ("the best is $a + b ln T$", "<mi>a</mi><mo>&#x0002B;</mo><mi>b</mi>"),
        ("grows like $b ln T$", '<mi>ln</mi><mspace width="0.167em" />'),
        ("grows like $4 eps ln T$", '<mi>&#x003B5;</mi><mspace width="0.167em" /><mi>ln</mi>'),
        ("at most $ln N$", "<mrow><mi>ln</mi>"),
        ("hides a log: $O~$", "<mover>"),
        ("by $R^{d_1 × d_2}$", "<mo>&#x000D7;</mo><msub><mi>d</mi><mn>2</mn></msub>"),
        (
            "read by $((y^T W_1)_+ W_2)_+ w$",
            '<msub><mo stretchy="false">&#x00029;</mo><mo>&#x0002B;</mo></msub>',
        ),
        ("the output $y_[CLS]$", "<mtext>[CLS]</mtext>"),
        ("and $f_tf-head$", "<mtext>tf-head</mtext>"),
    ],
)
def test_formulas_are_typeset(text, part):
    made = typeset(text)
    assert "<math" in made
    assert part in made


@pytest.mark.parametrize(
    "text",
    [
        "A sentence without a formula, a plain one.",
        "I = the support",
        "24 of 40 are solved; 156-247 (median 206)",
        "the sum of the positions, the max of it",
        "m_80 as typed, without the signs",
        "one $ alone costs nothing",
    ],
)
def test_words_stay_words(text):
    assert "<math" not in typeset(text)


@pytest.mark.parametrize(
    ("text", "outside"),
    [("$b = 10.1$ [7.83, 12.2] at $T$", " [7.83, 12.2] at "), ("at 15 of 18 $T$.", "at 15 of 18 ")],
)
def test_intervals_and_counts_stay_outside_formulas(text, outside):
    assert outside in typeset(text)


def test_code_is_shown_as_code():
    assert typeset("run `a <b> --m 3`") == "run <code>a &lt;b&gt; --m 3</code>"
    assert "<code>" not in typeset("one ` alone")


def test_nothing_is_taken_for_markup():
    made = typeset('<script>alert(1)</script> & $x_<b>$ "quoted" $T < 3 > s$ $</math><img>$')
    assert "<img" not in made
    assert "<script" not in made
    assert "<b>" not in made
    assert "&lt;script&gt;" in made


def test_signs_outside_formulas_are_set_too():
    assert plain(typeset("spectral <= Frobenius")) == "spectral≤Frobenius"


def test_every_statement_keeps_its_words():
    """Of each claim: all words of three letters or more that are no names of formulas are still there, in order."""
    names = {"eps", "sqrt", "sum", "log", "max", "min", "inf", "int", "sup", "exp", "tanh"}
    names |= {
        "delta",
        "sigma",
        "tau",
        "phi",
        "psi",
        "chi",
        "zeta",
        "eta",
        "theta",
        "alpha",
        "gamma",
        "Delta",
        "Theta",
    }
    names |= {"Lambda", "lambda", "mlp"}
    for entry in CLAIMS.values():
        words = [
            w
            for w in re.findall(r"(?<![\w^{])[A-Za-z]{3,}(?![\w^])", plain_text(entry.statement))
            if w not in names
        ]
        made, position = plain(typeset(entry.statement)), 0
        for word in words:
            found = made.find(word, position)
            assert found >= 0, (entry.label, word)
            position = found


def test_every_statement_closes_its_formulas():
    assert [c.label for c in CLAIMS.values() if c.statement.count("$") % 2 or not c.statement] == []
    assert [c.label for c in CLAIMS.values() if "$" in plain_text(c.statement)] == []


def test_latex_has_nothing_that_a_markdown_table_would_take_for_markup():
    made = latex("|{i: b_i = 1}| < ||W_V||_{2,1} > 3")
    assert made == r"\vert\lbrace i: b_i = 1\rbrace\vert \lt \Vert W_V\Vert_{2,1} \gt 3"
    assert "|" not in made and "<" not in made


def test_a_plain_text_keeps_a_dollar_sign_without_a_partner():
    assert plain_text("$2^s$ for 3 $") == "2^s for 3 $"
