"""Links to files of the repository stay inside the site: code gets a highlighted page.

A page of docs/ links to a file as on a code host, `[text](../sparsehead/heads.py)`. Where the text ends in the name of
a function or class of that file, the link leads to its line. Data files are left to Sphinx, which offers them for
download.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_for_filename
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

ROOT = Path(__file__).resolve().parents[2]
CODE = (".py", ".pyi", ".toml", ".sh", ".cpp", ".h", ".hpp", ".lark", "Makefile")


class SourceLinks(SphinxTransform):
    """Turn links to code into links to pages of the site.

    MyST takes a link to a Python file for one to a page, because notebooks are such files, and a link to any other file
    for a download.
    """

    default_priority = 100

    def apply(self, **_: Any) -> None:
        here = Path(self.env.doc2path(self.env.docname)).parent
        links = [n for n in self.document.findall(addnodes.pending_xref) if n.get("refdomain") == "doc"]
        for node in [*links, *self.document.findall(addnodes.download_reference)]:
            suffix = ".py" if isinstance(node, addnodes.pending_xref) else ""
            target = (here / (node["reftarget"] + suffix)).resolve()
            outside = target.is_relative_to(ROOT) and not target.is_relative_to(ROOT / "docs")
            if outside and target.exists() and target.name.endswith(CODE):
                page = self._page(target.relative_to(ROOT).as_posix(), node.astext())
                node.replace_self(nodes.reference("", "", *node.children, internal=True, refuri=page))

    def _page(self, path: str, text: str) -> str:
        """The address of the page for `path` as seen from this document."""
        here = self.env.docname
        wanted(self.app).add(path)
        line = lines(path).get(text.rsplit(".")[-1]) or lines(path).get(f"test_{text}")
        anchor = "" if line is None else f"#line-{line}"
        return self.app.builder.get_relative_uri(here, f"source/{path}") + anchor


def wanted(app: Sphinx) -> set[str]:
    """The files that need a page. `make docs` reads every document anew, so the set is complete when pages are made."""
    if not hasattr(app, "linked_sources"):
        app.linked_sources = set()  # type: ignore[attr-defined]
    return app.linked_sources  # type: ignore[attr-defined, no-any-return]


@cache
def lines(path: str) -> dict[str, int]:
    """The line on which each function and class of a Python file begins."""
    if not path.endswith(".py"):
        return {}
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.ClassDef)
    return {node.name: node.lineno for node in ast.walk(tree) if isinstance(node, kinds)}


def source_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """One page per linked file: its name and its text, highlighted, an anchor on every line."""
    formatter = HtmlFormatter(cssclass="highlight", lineanchors="line", linenos=False)
    for path in sorted(wanted(app)):
        text = (ROOT / path).read_text(encoding="utf-8")
        body = highlight(text, get_lexer_for_filename(path), formatter)
        name = path.rsplit("/")[-1]
        context = {"title": name, "body": f"<h1>{name}</h1>\n<p><code>{path}</code></p>\n{body}"}
        yield f"source/{path}", context, "page.html"


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_transform(SourceLinks)
    app.connect("html-collect-pages", source_pages)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
