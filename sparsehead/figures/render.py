"""A chart as SVG, PNG, PDF or a page of its own: bytes out, no file written, nothing fetched."""

import json
from typing import Any

from ..errors import DomainError
from .theme import Chart

FORMATS = ("svg", "png", "pdf", "html")
SCALE = 2.0  # PNG pixels per unit: sharp on a dense screen and in print


def specification(chart: Chart) -> dict[str, Any]:
    """The Vega-Lite specification, data included. (Altair's own row limit concerns data frames; we pass records.)

    Its "$schema" names the language and its version; nothing ever fetches that address.
    """
    spec: dict[str, Any] = chart.to_dict(validate=False)
    return spec


def render(chart: Chart, form: str) -> bytes:
    """`chart` in one of FORMATS. The HTML carries its own JavaScript and opens without a network."""
    import vl_convert

    if form not in FORMATS:
        raise DomainError(f"figures are drawn as {', '.join(FORMATS)}; got {form!r}.")
    spec = json.dumps(specification(chart), allow_nan=False)
    if form == "svg":
        return str(vl_convert.vegalite_to_svg(spec)).encode()
    if form == "png":
        return bytes(vl_convert.vegalite_to_png(spec, scale=SCALE))
    if form == "pdf":
        return bytes(vl_convert.vegalite_to_pdf(spec))
    return str(vl_convert.vegalite_to_html(spec, bundle=True)).encode()
