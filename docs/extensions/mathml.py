"""Mathematics as MathML, made while the site is built: browsers typeset it themselves, without script or network."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from sparsehead_paper.report.mathematics import mathml


def inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="math">{mathml(node.astext(), "block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
