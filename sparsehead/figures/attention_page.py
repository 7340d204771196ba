"""An interactive page of attention maps: one file of HTML that loads nothing else."""

import base64
import json
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .._base.files import printable
from .._base.types import Array, Float

if TYPE_CHECKING:
    from ..probing.page import PageContent

UNIT = 65535  # weights are kept in two bytes, as multiples of 1/65535


def attention_page(shown: "PageContent") -> str:
    """Return the page as HTML; the browser unpacks the weights of a head when it is chosen."""
    heads = [
        {"layer": layer, "head": head, "score": shown.scores.get((layer, head)), "weights": packed(weights)}
        for (layer, head), weights in shown.weights.items()
    ]
    data = {
        "summary": shown.summary,
        "s": shown.s,
        "allHeads": shown.n_heads,
        "unit": UNIT,
        "tokens": [printable(token) for token in shown.tokens],
        "heads": heads,
    }
    # "<" cannot end the script element that holds the data
    text = json.dumps(data, allow_nan=False).replace("<", "\\u003c")
    page = Path(__file__).with_name("attention_page.html").read_text(encoding="utf-8")
    return page.replace("DATA_OF_THE_PAGE", text)


def packed(weights: Float[Array, "T T"]) -> str:
    """Return weights as compressed 16-bit numbers, row by row, in base64.

    >>> raw = zlib.decompress(base64.b64decode(packed(np.array([[1.0, 0.0], [0.25, 0.75]]))))
    >>> np.frombuffer(raw, "<u2").tolist()
    [65535, 0, 16384, 49151]
    """
    numbers = np.rint(np.clip(weights, 0, 1) * UNIT).astype("<u2")
    return base64.b64encode(zlib.compress(numbers.tobytes(), 9)).decode()
