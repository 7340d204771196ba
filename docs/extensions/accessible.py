"""What the theme leaves out of its pages: levels of the captions in the sidebar, names of the two asides, the search
page's heading. And what Sphinx writes as a list of definitions without terms: the parameters of a long signature."""

import re
from pathlib import Path

from sphinx.application import Sphinx

ATTRIBUTES = {
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
    '<div id="search-results">': '<h1 class="search-title">Search</h1><div id="search-results">',
    '<aside class="toc-drawer': '<aside aria-label="On this page" class="toc-drawer',
}
PARAMETERS = re.compile(r"<dl>\n((?:<dd>.*</dd>\n)+)</dl>")


def completed(page: str) -> str:
    """Return the HTML of a page with these attributes, and with parameters as lines."""
    for before, after in ATTRIBUTES.items():
        page = page.replace(before, after)
    return PARAMETERS.sub(_lines, page)


def _lines(found: re.Match[str]) -> str:
    lines = found[1].replace("<dd>", "<div>").replace("</dd>", "</div>")
    return f'<div class="parameters">\n{lines}</div>'


def complete(app: Sphinx, error: Exception | None) -> None:
    for file in Path(app.outdir).rglob("*.html") if error is None else ():
        page = file.read_text(encoding="utf-8")
        if (whole := completed(page)) != page:
            file.write_text(whole, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", complete)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
