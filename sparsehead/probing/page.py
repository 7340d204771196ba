"""The content of a page of attention maps, which `figures.attention_page` writes, and its limits; needs no torch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._base.arguments import shown
from .._base.errors import DomainError, FileError
from .._base.files import check_target, shown_path
from .._base.types import Array, Float

LONGEST = 512  # tokens: a map of one pixel per weight still fits a screen
# weights of 16 heads on 512 tokens: at two bytes each a page of some 10 MB, which a browser opens at once
MOST_WEIGHTS = 16 * LONGEST**2


@dataclass(frozen=True, eq=False)
class PageContent:
    """Attention of several heads on one sequence.

    Args:
        summary: the model and the sequences, in one line.
        s: the number of positions that the scores keep.
        n_heads: the number of heads of the model; `weights` may have fewer.
        tokens: a name for each position.
        weights: attention weights (T, T) by (layer, head), in the order in which the page lists the heads.
        scores: the score of each (layer, head), None if not measured.
    """

    summary: str
    s: int
    n_heads: int
    tokens: tuple[str, ...]
    weights: Mapping[tuple[int, int], Float[Array, "T T"]]
    scores: Mapping[tuple[int, int], float | None]


def check_page(path: str | Path, *, force: bool) -> Path:
    """Refuse, before any work, a page that cannot be written."""
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise FileError(f"a page of attention maps is written as .html; got {shown_path(path)}.")
    return check_target(path, force=force)


def heads_of_page(
    T: int, order: Sequence[tuple[int, int]], heads: Sequence[tuple[int, int]] | None
) -> list[tuple[int, int]]:
    """Return the heads of a page for T tokens: those given, or as many of `order` as the page has room for."""
    if T > LONGEST:
        raise DomainError(
            f"a page of attention maps has up to {LONGEST} tokens; this sequence has {T}: longest={LONGEST} "
            "(--longest) cuts it."
        )
    room = MOST_WEIGHTS // T**2
    if heads is None:
        return list(order[:room])
    wanted = list(dict.fromkeys(_pair(given) for given in heads))
    unknown = [pair for pair in wanted if pair not in order]
    if unknown or not wanted:
        got = f"{unknown[0][0]}.{unknown[0][1]}" if unknown else "none"
        last = max(order)
        raise DomainError(f"heads of a page are layer and head, from 0.0 to {last[0]}.{last[1]}; got {got}.")
    if len(wanted) > room:
        raise DomainError(f"a page of {T} tokens has room for {room} heads; got {len(wanted)}.")
    return wanted


def _pair(given: Any) -> tuple[int, int]:
    try:
        layer, head = given
        if not all(isinstance(x, int) and not isinstance(x, bool) for x in (layer, head)):
            raise TypeError
    except (TypeError, ValueError):
        raise DomainError(
            f"heads of a page are pairs (layer, head) of whole numbers; got {shown(given)}."
        ) from None
    return layer, head


def parse_heads(text: str) -> list[tuple[int, int]]:
    """Return the heads of a text such as 0.3,5.11: layer and head with a dot, several with commas."""
    found = []
    for part in text.split(","):
        layer, dot, head = part.strip().partition(".")
        if not (dot and all(x.isascii() and x.isdigit() and len(x) < 6 for x in (layer, head))):
            raise DomainError(
                f"--page-heads takes layer.head with commas, such as 0.3,5.11; got {shown(text)}."
            )
        found.append((int(layer), int(head)))
    return found
