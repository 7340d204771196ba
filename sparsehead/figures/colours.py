"""Colours and shapes of series.

The colours are Okabe and Ito's, which readers with the common forms of colour blindness can distinguish; series that
look alike in grey print also differ in shape or dash.
"""

from typing import Any

BLACK, ORANGE, SKY, GREEN, BLUE, RED, PURPLE = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7",
)  # fmt: skip
GREY, PALE = (
    "#767676",
    "#D9D9D9",
)  # text in the first is easily read on white (4.5 : 1); the second only fills
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")  # of series
PAPER_POINT: dict[str, Any] = {
    "shape": "diamond", "filled": False, "color": BLACK, "size": 70, "strokeWidth": 1.6,
}  # fmt: skip
