"""Convert text with formulas between dollar signs to HTML: formulas become MathML, which browsers can display."""

import re
from functools import lru_cache

from markupsafe import Markup, escape

from ..claims.formulas import latex, split_formulas


def typeset(text: str) -> Markup:
    """Return `text` with formulas as MathML, `code` as code, and everything else escaped.

    >>> typeset("a & $b$ of 3 bits")
    Markup('a &amp; <math display="inline"><mrow><mi>b</mi></mrow></math> of 3 bits')
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a backtick without a partner is an ordinary character
        return _prose(text)
    code = Markup("<code>{}</code>").format
    return Markup("").join(code(part) if i % 2 else _prose(part) for i, part in enumerate(parts))


def _prose(text: str) -> Markup:
    """Convert text that contains no code: typeset formulas, and replace signs typed as two characters."""
    signs = {"<=": "≤", ">=": "≥", "->": "→", "+-": "±"}
    out = []
    for i, part in enumerate(split_formulas(text)):
        if i % 2:
            formula = mathml(latex(part))
            # A longer formula may be wider than a small screen; it can then be scrolled.
            long = Markup('<span class="long-formula">{}</span>').format
            out.append(long(formula) if len(part) > 20 else formula)
        else:
            out.append(escape(re.sub("|".join(map(re.escape, signs)), lambda typed: signs[typed[0]], part)))
    return Markup("").join(out)


@lru_cache(maxsize=4096)
def mathml(formula: str, display: str = "inline") -> Markup:
    """Convert LaTeX to MathML."""
    from latex2mathml.converter import convert

    found = convert(spaced(formula), display=display)
    return Markup(found.replace('xmlns="http://www.w3.org/1998/Math/MathML" ', ""))


def spaced(formula: str) -> str:
    """Add the thin spaces that TeX puts around names of functions and latex2mathml leaves out."""
    function = r"\\(?:ln|log|exp|tanh|max|min|sup)(?![A-Za-z])"
    scripts = r"(?:[_^](?:\{[^{}]*\}|\\[a-z]+|[\w+]))*"
    # relations, binary signs and opening brackets: no space between them and a function
    tight = r"\\(?:le|ge|lt|gt|ne|to|in|pm|times|lesssim|ldots|[vV]ert|lbrace|langle|[,;])(?![A-Za-z])"
    before = rf"({tight} +)|(\\[A-Za-z]+|[\w)}}\]]) +(?={function})"
    formula = re.sub(before, lambda found: found[1] or rf"{found[2]}\, ", formula)
    return re.sub(rf"({function}{scripts}) +(?=[\w\\])(?!{tight})", r"\1\\, ", formula)
