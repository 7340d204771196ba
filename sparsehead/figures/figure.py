"""The contract of figures by name, which `sparsehead figure` draws. Importing it does not load Altair."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from .theme import Chart


@runtime_checkable
class Draw(Protocol):
    """Draw one figure."""

    def __call__(self, folder: Path, /) -> "Chart":
        """Return an Altair chart with the common look (`finish`); `folder` holds the results files."""


@dataclass(frozen=True)
class Figure:
    """One figure, found by the entry point group `sparsehead.figures`.

    `figure NAME` then draws it in four formats, and the report of `reproduce` shows it.

    Args:
        line: one line that says what the figure shows.
        needs: the results file, without .json, that it is drawn from; None if it is computed on the spot.
    """

    name: str
    line: str
    draw: Draw
    needs: str | None = None
