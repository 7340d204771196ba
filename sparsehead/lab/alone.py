"""A page of the lab as one HTML file that needs no server and no network.

The page's modules are embedded as data URLs in an import map, named by their paths below static/; relative imports are
rewritten to these names. The content security policy in the file forbids loading or sending anything.
"""

import base64
import json
import posixpath
import re

from .pages import assets

IMPORT = re.compile(r'(?<=from ")(\.{1,2}/[^"]+)(?=";)')
POLICY = "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data:"


def single_page(name: str, *, title: str) -> str:
    """Return the page static/pages/{name}.js, which must not call an endpoint, as one HTML file.

    >>> "https://" in single_page("check", title="Check a certificate")
    False
    """
    modules: dict[str, str] = {}
    waiting = [f"pages/{name}.js", "vendor/preact-htm.js"]
    found = {path.removeprefix("/static/"): asset.content.decode() for path, asset in assets().items()}
    while waiting:
        path = waiting.pop()
        if path not in modules:
            imported = {other: _resolved(path, other) for other in IMPORT.findall(found[path])}
            modules[path] = IMPORT.sub(lambda match, names=imported: names[match[1]], found[path])  # type: ignore[misc]
            waiting += imported.values()
    encoded = {path: base64.b64encode(text.encode()).decode() for path, text in sorted(modules.items())}
    imports = {path: f"data:text/javascript;base64,{text}" for path, text in encoded.items()}
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{found["lab.css"]}</style>
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
<div id="lab"><p class="starting">This page needs JavaScript.</p></div>
</body>
</html>
"""


def _resolved(path: str, relative: str) -> str:
    """Return the path below static/ of the import `relative` in the module at `path`."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), relative))
