"""Doctests in Markdown end with an empty line, for the parser of doctests; the page shows none."""

from docutils import nodes
from sphinx.application import Sphinx


def strip(app: Sphinx, tree: nodes.document) -> None:
    for block in tree.findall(nodes.literal_block):
        shown = block.astext().rstrip("\n")
        block.rawsource, block.children = shown, [nodes.Text(shown)]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", strip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
