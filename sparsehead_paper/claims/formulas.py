"""Formulas in statements and findings: typed between dollar signs, shown as plain text or as LaTeX.

`$ln N(F; eps) <= C/eps^2$` is a formula. A single letter is a variable; names of Greek letters and
of functions are translated; any other word is set upright. `_` and `^` apply to the next letter, number, word or
bracket; `f^` is f with a hat, `O~` is O with a tilde.
"""

import re

# By name wherever the character means something in a Markdown table, such as those of docs/paper.md.
_SIGNS = {
    "<=": "\\le", ">=": "\\ge", "!=": "\\ne", "<~": "\\lesssim", "->": "\\to", "+-": "\\pm", "..": "\\ldots",
    "||": "\\Vert", "|": "\\vert", "{": "\\lbrace", "}": "\\rbrace", "<": "\\lt", ">": "\\gt", "×": "\\times",
}  # fmt: skip
_FORMULA = re.compile(r"\$([^$]+)\$")
_BRACKET = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
_TOKEN = re.compile(
    rf"(?P<mark>[_^])(?:\{{(?P<group>[^{{}}]*)\}}|\((?P<power>(?:[^()]|\([^()]*\))*)\)"
    rf"|(?P<script>\[CLS\]|(?:floor|ceil){_BRACKET}|-?\d+(?:\.\d+)?|-?[A-Za-z]+(?:[-+][a-z]+)*|\+))"
    rf"|sqrt\((?P<root>(?:[^()]|{_BRACKET})*)\)"
    r"|(?P<name>[A-Za-z]+2?)(?P<accent>\^(?=_|[^\w{(+\[-]|$)|~)?"
    r"|(?P<digits>\d{1,3}(?:,\d{3})+(?![\d,])|\d*\.?\d+)(?:e(?P<power_of_ten>[+-]?\d+))?"
    rf"|(?P<sign>{'|'.join(map(re.escape, _SIGNS))}|.)"
)


def plain(text: str) -> str:
    """Return `text` for a terminal, with formulas as they were typed, without dollar signs.

    >>> plain("at most $2^s$ of them")
    'at most 2^s of them'
    """
    return _FORMULA.sub(r"\1", text)


def split_formulas(text: str) -> list[str]:
    """Split `text` at its formulas; parts with odd index are formulas."""
    return _FORMULA.split(text)


def latex(formula: str) -> str:
    r"""Translate a typed formula to LaTeX.

    >>> print(latex("||W||_F <= 2 sqrt(s)"))
    \Vert W\Vert_F \le 2 \sqrt{s}
    """
    pieces: list[str] = []
    for token in _TOKEN.finditer(formula):
        piece = _translated(token)
        # a letter right behind \le would make another command of it
        apart = pieces and re.search(r"\\[A-Za-z]+$", pieces[-1]) and piece[:1].isalpha()
        pieces.append(f" {piece}" if apart else piece)
    return "".join(pieces)


def _translated(token: re.Match[str]) -> str:
    """Return one token as LaTeX."""
    if token["mark"]:
        inside = token["group"] or token["power"]
        script = latex(inside) if inside else _script(token["script"])
        return token["mark"] + (script if len(script) == 1 else f"{{{script}}}")
    if token["root"]:
        return f"\\sqrt{{{latex(token['root'])}}}"
    if token["name"]:
        name = _name(token["name"])
        accent = token["accent"]
        return f"\\{'hat' if accent == '^' else 'tilde'}{{{name}}}" if accent else name
    if token["power_of_ten"]:
        factor = "" if token["digits"] == "1" else f"{token['digits']} \\times "
        return f"{factor}10^{{{int(token['power_of_ten'])}}}"
    if token["digits"]:
        return f"\\text{{{token['digits']}}}" if "," in token["digits"] else token["digits"]
    return _SIGNS.get(token["sign"], token["sign"])


def _script(script: str) -> str:
    """Return an index or power without brackets as LaTeX; a word keeps its hyphens."""
    return latex(script) if re.fullmatch(r"-?[\w.]+|\+|\w+\(.*\)", script) else f"\\text{{{script}}}"


def _name(name: str) -> str:
    greek = (
        "alpha beta gamma delta zeta eta theta kappa lambda nu sigma tau phi chi psi Delta Theta Lambda Pi"
    )
    words = [*greek.split(), *["ln", "log", "exp", "max", "min", "sup", "tanh", "sum", "int", "sqrt"]]
    known = {word: f"\\{word}" for word in words} | {
        "eps": "\\varepsilon", "inf": "\\infty", "log2": "\\log_2", "sqrt2": "\\sqrt{2}",
    }  # fmt: skip
    return name if len(name) == 1 else known.get(name, f"\\text{{{name}}}")
