"""Unite several stores: rows are append-only and named by their content, so a merge is a union."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._base.errors import StoreError
from .._base.files import shown_path
from .opening import inspect
from .repair import sound_rows
from .rows import FAILED, SealedRow
from .store import Store


@dataclass(frozen=True)
class Merged:
    """The numbers of outcomes that were added, that the store had already, and that it holds now."""

    added: int
    known: int
    total: int


def merge(sources: Sequence[str | Path], into: str | Path) -> Merged:
    """Add every outcome of `sources` to the store `into`, which is made if it does not exist; all or none.

    Outcomes that `into` has are not changed, so a merge can be repeated. Neither are the sources.

    Raises:
        StoreError: a source is missing or damaged, is `into` itself, or two stores have different outcomes under one
            id; then nothing is written.
    """
    if not sources:
        raise StoreError("a merge needs one or more stores to take outcomes from, got none.")
    paths = [Path(source) for source in sources]
    for path in paths:
        inspect(path, readonly=True)
        if Path(into).exists() and path.samefile(into):
            raise StoreError(f"{shown_path(path)} is also the store to merge into; name another with --into.")
    _refuse_contradictions(paths, Path(into))
    seen = 0

    def rows() -> Iterator[SealedRow]:
        nonlocal seen
        for path in paths:
            for row in _rows(path):
                seen += 1
                yield row

    with Store(into) as store:
        added = store.add_rows(rows())
        return Merged(added=added, known=seen - added, total=len(store))


def _rows(path: Path) -> Iterator[SealedRow]:
    """The rows of a store; a damaged one ends the merge."""
    damage: list[str] = []
    for row in sound_rows(path, damage):
        if damage:
            break
        yield row
    if damage:
        raise StoreError(
            f"{shown_path(path)} is damaged: {damage[0]}; `sparsehead results repair new.db --db {shown_path(path)}` "
            "copies what is sound, and new.db can be merged."
        )


def _refuse_contradictions(paths: Sequence[Path], into: Path) -> None:
    """Raise if one id has different outcomes, times aside; every row is read and checked for that.

    A spec that was given up counts as missing, so two reasons for giving it up do not contradict each other.
    """
    known: dict[str, bytes] = {}
    contradicted: dict[str, None] = {}
    for path in [*([into] if into.exists() else []), *paths]:
        for row, _ in _rows(path):
            found = _content(row)
            if found is not None and known.setdefault(row[0], found) != found:
                contradicted[row[0]] = None
    if contradicted:
        names = ", ".join(list(contradicted)[:3]) + (", ..." if len(contradicted) > 3 else "")
        raise StoreError(
            f"{len(contradicted)} outcomes contradict each other between the stores ({names}): same spec, same engine, "
            "different numbers; nothing was merged. `sparsehead results show ID --db FILE` shows each side."
        )


def _content(row: tuple[Any, ...]) -> bytes | None:
    """A hash of what must agree: spec, outcome without its time, arrays; None if the spec was given up."""
    outcome = json.loads(row[2])
    if outcome.get("status") == FAILED:
        return None
    outcome.pop("seconds", None)  # differs between two runs of one experiment on one engine
    text = json.dumps([row[1], outcome, json.loads(row[5])], sort_keys=True)
    return hashlib.sha256(text.encode()).digest()
