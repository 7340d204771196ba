"""Formulas in running text as MathML, so that a browser typesets them without a script or a network.

Statements are plain text with formulas as one types them: "ln N(F; eps) <= C/eps^2", "||W_QK||_F B_X^2". A formula is
a run of pieces that only formulas have: single letters, numbers, names of functions and of Greek letters, pieces with
indices or powers, signs. Words end it. Each run becomes LaTeX, and latex2mathml makes MathML of that; a run that it
cannot read stays text. What stands between `backticks` is code.
"""

import re
from functools import lru_cache

from markupsafe import Markup, escape

GREEK = {
    name: f"\\{name}"
    for name in (
        "alpha", "beta", "gamma", "delta", "zeta", "eta", "theta", "lambda", "nu", "sigma", "tau", "phi", "chi", "psi",
        "Delta", "Theta", "Lambda", "Pi",
    )
} | {"eps": "\\varepsilon"}  # fmt: skip
FUNCTIONS = {name: f"\\{name}" for name in ("ln", "log", "exp", "max", "min", "sup", "tanh")} | {
    "sum": "\\sum", "int": "\\int", "sqrt": "\\sqrt", "sqrt2": "\\sqrt{2}", "log2": "\\log_2", "inf": "\\infty",
}  # fmt: skip
# Names that are set upright where a bracket follows, and products of variables that are written together.
UPRIGHT = ("softmax", "RowSoftmax", "diag", "floor", "ceil", "Score", "Norm", "poly", "Bin", "prior")
PRODUCTS = ("mT", "ab", "dN", "Ts", "cT", "em", "VC", "TRT", "gn")
SIGNS = {
    "<=": "\\le ", ">=": "\\ge ", "<~": "\\lesssim ", "->": "\\to ", "+-": "\\pm ", "||": "\\|", "..": "\\ldots ",
    "{": "\\{", "}": "\\}", "%": "\\%",
}  # fmt: skip
UNSPACED = ("\\sqrt", "\\sqrt{2}", "\\infty")
# Characters; a longer formula may be wider than a small screen, and can then be scrolled.
SCROLLED_BEYOND = 20
WORDS = ("a", "A", "I")  # single letters that are words more often than variables
_LAW = re.compile(r" \+ b\b| T\^")  # after which "a" is a variable, in a law a + b ln T or a T^b

_SUB = r"_(?:\{[^{}]*\}|\[CLS\]|[A-Za-z]+(?:[-+][a-z]+)*|\d+)"
_GREEK = "|".join(sorted(GREEK, key=len, reverse=True))
_SUP = (
    rf"\^(?:\{{[^{{}}]*\}}|\((?:[^()]|\([^()]*\))*\)|(?:floor|ceil)\([^()]*\)|{_GREEK}"
    r"|-?[A-Za-z]|-?\d+|\+(?![A-Za-z\d]))"
)
_NUMBER = r"\d{1,3}(?:,\d{3})+(?![\d,])|(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+(?![A-Za-z\d]))?"
_PIECE = re.compile(
    rf"(?P<base>[A-Za-z]+2?(?=[_^])|\d+(?:\.\d+)?(?=\^)|\|\|(?=[_^])|[)\]}}](?=[_^]))(?P<hat>\^(?=_|[^\w{{(+-]|$))?"
    rf"(?P<scripts>(?:{_SUB}|{_SUP})*)"
    r"|(?P<name>(?:log2|sqrt2)(?![A-Za-z\d])|[A-Za-z]+)"
    rf"|(?P<number>{_NUMBER})"
    r"|(?P<sign><=|>=|<~|->|\+-|\|\||\.\.|[-+*/=<>|()\[\]{}])"
)
_SCRIPT = re.compile(rf"{_SUB}|{_SUP}")


def typeset(text: str) -> Markup:
    """`text` with its formulas as MathML and everything else escaped.

    >>> typeset("a & b of 3 bits")
    Markup('a &amp; <math display="inline"><mrow><mi>b</mi></mrow></math> of 3 bits')
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:  # one that is not closed is a mark like any other
        return _with_formulas(text)
    code = Markup("<code>{}</code>").format
    return Markup("").join(code(part) if i % 2 else _with_formulas(part) for i, part in enumerate(parts))


def _with_formulas(text: str) -> Markup:
    out, position = [], 0
    for start, end, latex in _formulas(text):
        out += [_prose(text[position:start]), _mathml(latex, text[start:end])]
        position = end
    return Markup("").join([*out, _prose(text[position:])])


def _prose(text: str) -> Markup:
    """Text outside formulas, with the signs that it has as one types them."""
    for typed, sign in (("<=", "≤"), (">=", "≥"), ("->", "→"), ("+-", "±")):
        text = text.replace(typed, sign)
    return escape(text)


@lru_cache(maxsize=4096)
def _mathml(latex: str, text: str) -> Markup:
    from latex2mathml.converter import convert

    try:
        made = convert(latex)
    except Exception:  # whatever it cannot read is shown as it was written
        return escape(text)
    made = Markup(made.replace('xmlns="http://www.w3.org/1998/Math/MathML" ', ""))
    return (
        Markup('<span class="long-formula">{}</span>').format(made) if len(text) > SCROLLED_BEYOND else made
    )


def _formulas(text: str) -> list[tuple[int, int, str]]:
    """Start, end and LaTeX of every formula in the text."""
    found, i = [], 0
    while i < len(text):
        at_word = i == 0 or not (text[i - 1].isalnum() or text[i - 1] in "_'")
        run = _run(text, i) if at_word else None
        if run is None:
            i += 1
            continue
        end, latex = run
        found.append((i, end, latex))
        i = end
    return found


def _run(text: str, start: int) -> tuple[int, str] | None:
    """The formula that begins at `start`: its end and its LaTeX; None if there is none."""
    position, kept, latex, telling, intervals = start, start, "", False, 0
    # End, LaTeX, whether it shows a formula, whether one may end here.
    pieces: list[tuple[int, str, bool, bool]] = []
    while match := _PIECE.match(text, position):
        piece = _piece(match, text)
        if piece is None:
            break
        intervals += (match["sign"] == "[") - (match[0].startswith("]"))
        # "10.1 [7.8, 12.2]" is a number with its interval, and "18 T" counts: no formula ends within either
        counted = len(pieces) == 1 and match["name"] is not None and text[position - 1 : position] == " "
        if counted and text[start].isdigit() and "\\" not in pieces[0][1] and "\\" not in piece[0]:
            return None
        pieces.append((match.end(), *piece[:2], piece[2] and intervals == 0))
        position = match.end()
        if position < len(text) and text[position] == " ":
            position += 1
    for end, code, shows, ends in pieces:
        latex += f"{_gap(latex, code, text[end : end + 2])} "
        telling |= shows
        if ends:
            kept, whole, told = end, latex, telling
    if kept == start or not told:
        return None
    return kept, _roots(whole.strip())


def _gap(before: str, code: str, after: str) -> str:
    """`code`; the name of a function with the thin spaces that TeX puts around it, which latex2mathml leaves out."""
    if code not in FUNCTIONS.values() or code in UNSPACED:
        return code
    behind = "" if after.strip()[:1] in ("", "(", "{", "|") else "\\, "
    return ("\\, " if before and before.rstrip()[-1] not in "([|+-=/" else "") + f"{code} {behind}"


def _roots(latex: str) -> str:
    """Each \\sqrt ( .. ) whose brackets close, as a root over what they hold; else the word."""
    while (at := latex.find("\\sqrt (")) >= 0:
        start = at + len("\\sqrt (")
        depth, end = 1, start
        while end < len(latex) and depth:
            depth += (latex[end] == "(") - (latex[end] == ")")
            end += 1
        if depth:
            latex = latex[:at] + "\\text{sqrt} (" + latex[start:]
        else:
            latex = f"{latex[:at]}\\sqrt{{{latex[start : end - 1]}}}{latex[end:]}"
    return latex


def _piece(match: re.Match[str], text: str) -> tuple[str, bool, bool] | None:
    """LaTeX of one piece, whether it shows that this is a formula, and whether a formula may end with it."""
    base, name, number, sign = match["base"], match["name"], match["number"], match["sign"]
    if base is not None:
        if not match["scripts"] and not match["hat"]:
            return None
        return _scripted(base, match["hat"], match["scripts"]), True, True
    if name is not None:
        if name == "sqrt2":
            return FUNCTIONS[name], True, True
        if name == "a" and _LAW.match(text, match.end()):
            return name, True, True
        known = GREEK.get(name) or FUNCTIONS.get(name)
        if known and not (name in ("max", "min", "sum", "int", "inf") and not _opens(text, match.end())):
            return known, name in GREEK, name in GREEK
        if name in UPRIGHT and text[match.end() : match.end() + 1] == "(":
            return f"\\text{{{name}}}", False, False
        if name in PRODUCTS:
            return " ".join(name), False, True
        return (name, True, True) if len(name) == 1 and name not in WORDS else None
    if number is not None:
        word = re.match(r"[A-Za-z]*", text[match.end() :])[0]  # type: ignore[index]
        if len(word) > 1 and word not in PRODUCTS and word not in GREEK:
            return None
        return _number(number), "e" in number, True
    return SIGNS.get(sign, sign), sign in ("<=", ">=", "<~", "->", "||"), sign in (")", "]", "}", "||", "|")


def _number(number: str) -> str:
    """LaTeX of a number: with its commas, or with a power of ten for what was typed as 1.2e+06."""
    if "e" not in number:
        return f"\\text{{{number}}}" if "," in number else number
    digits, power = number.split("e")
    ten = f"10^{{{int(power)}}}"
    return ten if digits == "1" else f"{digits} \\times {ten}"


def _opens(text: str, end: int) -> bool:
    """Whether something that a formula has follows directly: an index, a bracket, or a short piece."""
    return bool(re.match(r"[_(|{]| [A-Za-z]?[_(|]| [a-z]_", text[end:]))


def _scripted(base: str, hat: str | None, scripts: str) -> str:
    shown = _base(base)
    if hat:
        shown = f"\\hat{{{shown}}}"
    return shown + "".join(_script(part) for part in _SCRIPT.findall(scripts))


def _base(base: str) -> str:
    known = GREEK.get(base) or FUNCTIONS.get(base) or SIGNS.get(base)
    if known:
        return known
    return base if len(base) == 1 or base.isdigit() else f"\\text{{{base}}}"


def _script(part: str) -> str:
    """One index or power; what is longer than a letter is set upright, formulas inside it as formulas."""
    mark, inside = part[0], part[1:].strip("{}")
    if inside.startswith("(") and inside.endswith(")"):
        inside = inside[1:-1]
    if inside in GREEK or inside in FUNCTIONS:
        return f"{mark}{{{_base(inside)}}}"
    if re.fullmatch(r"[A-Za-z]{2,}(?:[-+][a-z]+)*|\[CLS\]", inside):
        return f"{mark}{{\\text{{{inside}}}}}"
    pieces = [_nested(match) for match in _PIECE.finditer(inside)]
    return f"{mark}{{{' '.join(pieces) or inside}}}" if "," not in inside else f"{mark}{{{_listed(inside)}}}"


def _listed(inside: str) -> str:
    return ",".join(" ".join(_nested(match) for match in _PIECE.finditer(part)) for part in inside.split(","))


def _nested(match: re.Match[str]) -> str:
    if match["base"] is not None and (match["scripts"] or match["hat"]):
        return _scripted(match["base"], match["hat"], match["scripts"])
    text = match[0]
    if text in UPRIGHT:
        return f"\\text{{{text}}}"
    return GREEK.get(text) or FUNCTIONS.get(text) or SIGNS.get(text) or text
