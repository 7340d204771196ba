"""Scripts with cells as pages: `# %% [markdown]` opens text, `# %%` code, which is run and followed by its output.

Such a script runs from top to bottom with `python FILE`, opens as a notebook in editors that know the percent format,
and is a page of this site. What a cell prints and the value of its last line are shown below it; a value with
`_repr_html_` is shown as that, a chart as the picture that it draws. Each script runs once per build, in an empty
directory. An exception ends the build.
"""

import ast
import code
import contextlib
import io
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx

CELL = re.compile(r"^# %%(.*)$", re.M)


class Notebook(code.InteractiveInterpreter):
    """Cells run one after the other in one namespace."""

    def __init__(self) -> None:
        super().__init__({"__name__": "__main__"})

    def cell(self, text: str, name: str) -> tuple[str, Any]:
        """What the cell prints, and the value of its last line if that is an expression."""
        tree = ast.parse(text, name)
        said = io.StringIO()
        last = tree.body[-1] if tree.body else None
        if isinstance(last, ast.Expr):
            keep = ast.Assign([ast.Name("_", ast.Store())], last.value)
            tree.body[-1] = ast.copy_location(keep, last)
            ast.fix_missing_locations(tree)
        with contextlib.redirect_stdout(said):
            self.runcode(compile(tree, name, "exec"))
        return said.getvalue(), self.locals.get("_") if isinstance(last, ast.Expr) else None

    def showtraceback(self) -> None:
        """A cell that fails ends the build with its own exception."""
        raise


def cells(text: str) -> Iterator[tuple[str, str]]:
    """("markdown" or "code", text) of each cell; what stands before the first one is left out."""
    parts = CELL.split(text)[1:]
    for title, body in zip(parts[::2], parts[1::2]):
        if "[markdown]" in title:
            yield "markdown", re.sub(r"^# ?", "", body.strip(), flags=re.M)
        else:
            yield "code", body.strip()


def page(text: str, name: str) -> str:
    """The script as MyST, every cell followed by its output."""
    notebook, parts = Notebook(), []
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as empty:
        os.chdir(empty)
        try:
            for kind, body in cells(text):
                if kind == "markdown":
                    parts.append(body)
                    continue
                said, value = notebook.cell(body, name)
                parts.append(f"```python\n{body}\n```")
                parts += (
                    [f"```{{code-block}} text\n:class: output\n\n{said.rstrip()}\n```"]
                    if said.strip()
                    else []
                )
                parts += [shown(value)] if value is not None else []
        finally:
            os.chdir(here)
    return "\n\n".join(parts) + "\n"


def shown(value: Any) -> str:
    """A value below its cell: a chart as SVG, HTML where the value has it, else its repr."""
    if type(value).__module__.startswith("altair"):
        from sparsehead.figures.render import render

        return raw(f'<div class="chart">{render(value, "svg").decode()}</div>')
    if hasattr(value, "_repr_html_"):
        return raw(f'<div class="object">{value._repr_html_()}</div>')
    return f"```{{code-block}} text\n:class: output\n\n{value!r}\n```"


def raw(html: str) -> str:
    """HTML for MyST: a fence longer than any run of backticks inside."""
    return f"``````{{raw}} html\n{html}\n``````"


class PercentParser(MystParser):
    """Reads a script with cells as a page."""

    supported = ("percent",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        name = Path(str(document.current_source or "notebook")).name
        super().parse(page(inputstring, name), document)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_source_suffix(".py", "percent")
    app.add_source_parser(PercentParser)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
