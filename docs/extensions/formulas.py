"""Formulas as one types them become MathML in the columns of `formula_columns`, by the same function as in the report.

What is code or a link there stays as it is.
"""

from docutils import nodes
from sphinx.application import Sphinx

from sparsehead_paper.report.mathematics import typeset


def replace_formulas(app: Sphinx, tree: nodes.document, name: str) -> None:
    if app.builder.format != "html":
        return
    for row in tree.findall(nodes.row):
        cells = list(row.findall(nodes.entry))
        for column in app.config.formula_columns.get(name, ()):
            for text in list(cells[column].findall(nodes.Text)):
                if isinstance(text.parent, nodes.paragraph):
                    plain = text.astext().replace("\n", " ").replace("’", "'")  # as the report's texts are
                    text.parent.replace(text, nodes.raw("", typeset(plain), format="html"))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("formula_columns", {}, "html")
    app.connect("doctree-resolved", replace_formulas)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
