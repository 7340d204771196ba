"""Pages of the lab as HTML files that need no server and no network: Build, Cover and Check.

A page's modules are embedded as data URLs in an import map, named by their paths below static/, and relative imports
are rewritten to these names. api.js, which asks the server, is replaced by recorded.js, which takes recorded answers
about some heads from the page and computes covers itself. The content security policy in the file forbids loading or
sending anything.
"""

import base64
import json
import posixpath
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._base.errors import DomainError
from .._base.files import check_target, make_folder, write_whole
from ..certify.certificate_file import certificate_content
from ..certify.written import certify_written
from ..construct.build import build
from ..functions import parse
from ..heads.model_file import packed
from .head import built_record
from .pages import assets

TITLES = {"build": "Build a head", "cover": "Cover points", "check": "Check a certificate"}
# The heads in an export; the first is also the one that Check opens with.
HEADS = (
    ("x2 & x5 & x11", 16), ("x2 ^ x5 ^ x11", 16), ("maj(x1,x4,x9)", 16), ("x1 & !x3 | x8", 16), ("x3 & x40 & x77", 100),
    ("x5 ^ x200", 256),
)  # fmt: skip


def export(folder: Path, *, functions: Sequence[str] = (), force: bool = False) -> list[Path]:
    """Write Build, Cover and Check as files that link to each other, and return their paths.

    Args:
        folder: is made if it does not exist. functions: heads for Build beside those in HEADS.
        force: replace files that exist.

    Raises:
        FileError: a file cannot be written. DomainError: a head cannot be written down.
    """
    from .endpoints.cover import cover_examples

    heads = (*(_head(text) for text in functions), *HEADS)
    paths = [folder / f"{name}.html" for name in TITLES]
    for path in paths if folder.is_dir() else ():
        check_target(path, force=force)
    recorded = record(list(dict.fromkeys(heads))) | cover_examples()
    pages = [single_page(name, title=title, recorded=recorded, linked=True) for name, title in TITLES.items()]
    make_folder(folder)
    return [write_whole(path, text.encode(), force=force) for path, text in zip(paths, pages)]


def _head(text: str) -> tuple[str, int]:
    """Return a function, and the length of its input: 16 bits, or more if the function reads later positions."""
    positions = [int(digits) for digits in re.findall(r"x(\d{1,6})", text)]
    if not positions:
        raise DomainError(f"--function is an expression such as 'x2 & x5'; got {text[:60]!r}.")
    return text, max(16, max(positions) + 1)


def record(heads: Sequence[tuple[str, int]]) -> dict[str, Any]:
    """Return what recorded.js needs about these heads: the server's answers and files."""
    rows = []
    for text, T in heads:
        f = parse(text, T=T)
        written = certify_written(build(f), f)
        model = packed(written.model)
        proof = json.dumps(certificate_content(model, f)).encode()
        files = {
            name: base64.b64encode(raw).decode() for name, raw in (("model", model), ("certificate", proof))
        }
        rows.append({"function": text, "T": T, "answer": built_record(written), **files})
    return {"heads": rows, "examples": []}


def single_page(
    name: str, *, title: str, recorded: dict[str, Any] | None = None, linked: bool = False
) -> str:
    """Return the page static/pages/{name}.js as one HTML file.

    Args:
        name: build, cover or check.
        recorded: the answers for recorded.js; by default those about the first of HEADS.
        linked: whether the page links to the others of `export`.

    >>> "https://" in single_page("check", title="Check a certificate")
    False
    """
    modules: dict[str, str] = {}
    waiting = [f"pages/{name}.js", "vendor/preact-htm.js"]
    found = {
        path.removeprefix("/static/"): asset.content.decode()
        for path, asset in assets().items()
        if path.endswith((".js", ".css"))
    }
    import_path = re.compile(r'(?<=from ")(\.{1,2}/[^"]+)(?=";)')
    while waiting:
        path = waiting.pop()
        if path not in modules:
            imported = {other: _resolved(path, other) for other in import_path.findall(found[path])}
            modules[path] = import_path.sub(lambda match, names=imported: names[match[1]], found[path])  # type: ignore[misc]
            waiting += imported.values()
    encoded = {path: base64.b64encode(text.encode()).decode() for path, text in sorted(modules.items())}
    imports = {path: f"data:text/javascript;base64,{text}" for path, text in encoded.items()}
    answers = json.dumps(record(HEADS[:1]) if recorded is None else recorded, separators=(",", ":"))
    answers = answers.replace("<", "\\u003c")  # no end tag inside the script
    policy = "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data:"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{found["lab.css"]}</style>
<script type="application/json" id="recorded">{answers}</script>
<script type="importmap">{json.dumps({"imports": imports})}</script>
<script type="module">
import {{ html, render }} from "vendor/preact-htm.js";
import Page from "pages/{name}.js";
const root = document.getElementById("lab");
root.replaceChildren();
render(html`<main id="main"><${{Page}} /></main>`, root);
</script>
</head>
<body>
{_links(name) if linked else ""}
<div id="lab"><p class="starting">This page needs JavaScript.</p></div>
</body>
</html>
"""


def _links(name: str) -> str:
    """Return the navigation between the exported pages."""
    items = [
        f'<li><a href="{other}.html"{" aria-current=page" if other == name else ""}>{other.capitalize()}</a></li>'
        for other in TITLES
    ]
    return f'<nav class="top" aria-label="Pages"><span class="brand">sparsehead</span><ul>{"".join(items)}</ul></nav>'


def _resolved(path: str, relative: str) -> str:
    """Return the path below static/ of the import `relative` in the module at `path`."""
    found = posixpath.normpath(posixpath.join(posixpath.dirname(path), relative))
    return "recorded.js" if found == "api.js" else found
