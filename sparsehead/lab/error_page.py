"""An error as a page, for a browser that was sent to an address which the lab refuses or does not have."""

import base64
import hashlib
from html import escape

STYLE = """:root { color-scheme: light dark; }
body { font: 17px/1.5 "Liberation Sans", Arial, sans-serif; max-width: 34em; margin: 12vh auto; padding: 0 20px; }
h1 { font-size: 26px; line-height: 1.2; } code { font-family: "Liberation Mono", monospace; }
:root { background: #f7f8fa; color: #1a1c1f; } a { color: #00649c; }
@media (prefers-color-scheme: dark) { :root { background: #14171a; color: #e8eaed; } a { color: #6db7e6; } }"""


def wants_page(method: str, path: str, accept: str) -> bool:
    """Return whether a person sees the response: a browser asks for a page, not for data or a file."""
    return method == "GET" and "text/html" in accept and not path.startswith(("/api/", "/static/"))


def error_page(status: int, sentence: str) -> bytes:
    """Return the page that says this sentence, which may contain any text.

    >>> b"&lt;script&gt;" in error_page(404, "no page <script>.")
    True
    """
    titles = {401: "The lab needs its token", 404: "There is no such page", 500: "Something broke"}
    title = titles.get(status, "The lab refused this")
    said = escape(sentence[:1].upper() + sentence[1:])
    links = {
        401: "<p>Each start of <code>sparsehead lab</code> has a token of its own. Its first line has it; a bookmark "
        "of an earlier start does not.</p>",
        404: '<p><a href="/build">To the pages of the lab</a></p>',
    }
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · sparsehead lab</title>
<style>{STYLE}</style>
</head>
<body>
<main><h1>{title}</h1><p>{said}</p>{links.get(status, "")}</main>
</body>
</html>
""".encode()


def page_headers() -> dict[str, str]:
    """Return the headers of such a page."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    # Without a token no style sheet is served: the page brings its own, and may load and send nothing else.
    allowed = f"style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    return {
        "content-type": "text/html; charset=utf-8", "content-security-policy": f"default-src 'none'; {allowed}"
    }  # fmt: skip
