"""The interface of named figures, which `sparsehead figure` draws. Importing this module does not load Altair."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from .theme import Chart


@runtime_checkable
class Draw(Protocol):
    """A function that draws one figure."""

    def __call__(self, folder: Path, /) -> "Chart":
        """Return an Altair chart with the common style (`finish`); `folder` contains the results files."""


@dataclass(frozen=True)
class Figure:
    """One figure; packages register theirs in the entry point group `sparsehead.figures`.

    `sparsehead figure NAME` draws it in four formats, and the report of `reproduce` shows it.

    Args:
        line: one line that describes the figure.
        needs: the name, without .json, of the results file that the figure shows; None if it needs no file.
    """

    name: str
    line: str
    draw: Draw
    needs: str | None = None
