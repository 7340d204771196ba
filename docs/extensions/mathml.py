"""Mathematics as MathML, made while the site is built: browsers typeset it themselves, without script or network."""

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx

FUNCTION = r"\\(?:ln|log|exp|tanh|max|min|sup)(?![A-Za-z])"
SCRIPTS = r"(?:[_^](?:\{[^{}]*\}|\\[a-z]+|[\w+]))*"
_BEFORE = re.compile(rf"(\\[A-Za-z]+|[\w)}}]) +(?={FUNCTION})")
_BEHIND = re.compile(rf"({FUNCTION}{SCRIPTS}) +(?=[\w\\])(?!\\(?:le|ge|langle)\b)")


def spaced(latex: str) -> str:
    """`latex` with the thin spaces that TeX puts around the names of functions, which latex2mathml leaves out."""
    apart = _BEFORE.sub(lambda before: before[0] if before[1].startswith("\\") else rf"{before[1]}\, ", latex)
    return _BEHIND.sub(r"\1\\, ", apart)


def inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(convert(spaced(node.astext())))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.math_block) -> None:
    made = convert(spaced(node.astext()), display="block")
    writer.body.append(f'<div class="math">{made}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
