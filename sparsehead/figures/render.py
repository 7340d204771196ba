"""Render a chart as SVG, PNG, PDF or an HTML page, in memory, without files and without network access."""

import base64
import hashlib
import html
import json
from functools import cache
from pathlib import Path
from typing import Any

from .._base.errors import DomainError
from .theme import Chart

FORMATS = ("svg", "png", "pdf", "html")


def specification(chart: Chart) -> dict[str, Any]:
    """Return the Vega-Lite specification with its data; the address in its "$schema" is never fetched."""
    spec: dict[str, Any] = chart.to_dict(validate=False)
    return spec


def render(chart: Chart, form: str, *, scale: float = 2.0) -> bytes:
    """Return the bytes of `chart` in one of FORMATS. The HTML contains its JavaScript and works offline.

    Args:
        scale: PNG pixels per unit; 2 is sharp on high-resolution screens and in print.
    """
    import vl_convert

    if form not in FORMATS:
        raise DomainError(f"figures are drawn as {', '.join(FORMATS)}; got {form!r}.")
    spec = json.dumps(specification(chart), allow_nan=False)
    if form == "svg":
        return str(vl_convert.vegalite_to_svg(spec)).encode()
    if form == "png":
        return bytes(vl_convert.vegalite_to_png(spec, scale=scale))
    if form == "pdf":
        return bytes(vl_convert.vegalite_to_pdf(spec))
    return page_of(specification(chart)).encode()


def form_of(path: Path, option: str) -> str:
    """Return the format for the suffix of `path`; errors name `option`, the option that was used."""
    form = path.suffix.removeprefix(".").lower()
    if form not in FORMATS:
        raise DomainError(
            f"{option} {path} ends in {path.suffix or 'nothing'!r}; figures are written as .svg, .png, .pdf or .html."
        )
    return form


@cache
def chart_script() -> str:
    """Return Vega, Vega-Lite and vega-embed, from the copy inside vl-convert; about 900 kB, needed once per page."""
    import vl_convert

    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")).replace(
        "</script", "<\\/script"
    )


def policy(*scripts: str) -> str:
    """Return a content security policy that allows only these scripts, by their hashes, and no network requests.

    It contains 'unsafe-eval' because charts evaluate expressions.
    """
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    named = " ".join(f"'sha256-{value}'" for value in hashes)
    return f"default-src 'none'; script-src {named} 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:"


def embedded(data: Any) -> str:
    """Return JSON for a <script type="application/json">, escaped so that no text in it can end the element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def page_of(spec: dict[str, Any]) -> str:
    """Return an HTML page with one chart, which contains its JavaScript and works offline."""
    title = spec.get("title", "")
    words = title.get("text", "") if isinstance(title, dict) else title
    name = " ".join(words) if isinstance(words, list) else str(words)
    draw = """
const spec = JSON.parse(document.getElementById("spec").textContent);
vegaEmbed("#chart", spec, { mode: "vega-lite", renderer: "svg", actions: false, loader: { baseURL: "about:blank" } });
"""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy(chart_script(), draw)}">
<title>{html.escape(name or "sparsehead")}</title>
</head>
<body>
<div id="chart"></div>
<script type="application/json" id="spec">{embedded(spec)}</script>
<script>{chart_script()}</script>
<script>{draw}</script>
</body>
</html>
"""
