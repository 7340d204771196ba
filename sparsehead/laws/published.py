"""The law that the paper printed, for comparison with measured ones, and its grid of trials.

Points are digitised from the vector graphics of figure 2. Its bars seem to be standard deviations over 100 bootstrap
resamples. Source: Edelman, Goel, Kakade, Zhang (ICML 2022), section 6.   Paper: law-and
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class PrintedThreshold:
    """One point of the paper's Figure 2: the smallest m with at least 80 % success at context length T."""

    T: int
    m: float
    bar: float


# At T = 100 the smallest m that was tried, 50, already succeeds: the point is an upper bound without a bar.
LAW_AND = tuple(
    PrintedThreshold(*row)
    for row in [
        (100, 50.0, 0.0), (150, 52.8, 4.5), (200, 57.7, 4.4), (250, 56.0, 4.9), (300, 69.2, 7.6), (350, 61.0, 6.7),
        (400, 79.5, 4.8), (450, 82.4, 5.7), (500, 80.4, 8.6), (550, 85.2, 7.7), (600, 94.1, 10.0),
        (650, 96.7, 15.0), (700, 88.9, 9.8), (750, 101.4, 10.7), (800, 99.7, 12.7), (900, 108.4, 3.7),
        (1000, 111.0, 5.2), (1100, 113.4, 5.7),
    ]
)  # fmt: skip
GRID_M = tuple(range(50, 201, 10))
GRID_TRIALS = 40
