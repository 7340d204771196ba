"""Unite several stores. Rows are never changed and their ids name their content, so a merge is a union."""

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
    """The numbers of outcomes: added by a merge, known to the target store before, and in it afterwards."""

    added: int
    known: int
    total: int


def merge(sources: Sequence[str | Path], into: str | Path) -> Merged:
    """Add every outcome of `sources` to the store `into`, or none; create `into` if it does not exist.

    Outcomes that `into` already has do not change, so a merge can be repeated. The sources do not change either.

    Raises:
        StoreError: a source is missing, damaged or `into` itself, or one id has different outcomes in two stores.
            Nothing is written then.
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
    """Yield the rows of a store; raise if one is damaged."""
    damage: list[str] = []
    for row in sound_rows(path, damage):
        if damage:
            break
        yield row
    if damage:
        raise StoreError(
            f"{shown_path(path)} is damaged: {damage[0]}; `sparsehead results repair new.db --db {shown_path(path)}` "
            "copies undamaged outcomes, and new.db can be merged."
        )


def _refuse_contradictions(paths: Sequence[Path], into: Path) -> None:
    """Read every row; raise if one id has outcomes that differ in more than their times.

    A trial that could not be run has no outcome, so two stores may give different reasons why it could not.
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
    """Hash the spec, the outcome without its time, and the arrays; None if the trial could not be run."""
    outcome = json.loads(row[2])
    if outcome.get("status") == FAILED:
        return None
    outcome.pop("seconds", None)  # differs between two runs of one experiment on one engine
    text = json.dumps([row[1], outcome, json.loads(row[5])], sort_keys=True)
    return hashlib.sha256(text.encode()).digest()
