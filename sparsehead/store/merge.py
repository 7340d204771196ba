"""Several stores united into one: rows are append-only and named by their content, so a merge is a union."""

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
from .rows import FAILED
from .store import Store

TIMES = ("seconds",)  # what differs between two runs of one experiment on one engine


@dataclass(frozen=True)
class Merged:
    """How many outcomes were added, how many were there already, and how many the store holds now."""

    added: int
    known: int
    total: int


def merge(sources: Sequence[str | Path], into: str | Path) -> Merged:
    """Add every outcome of `sources` to the store `into`, which is made if it does not exist; all or none.

    An outcome that is there already is left as it is, so a merge can be repeated. The sources stay as they are.

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
    with Store(into) as store:
        before = len(store)
        store.add_rows(row for path in paths for row in _rows(path))
        total = len(store)
    seen = sum(1 for path in paths for _ in _rows(path))
    return Merged(added=total - before, known=seen - (total - before), total=total)


def _rows(path: Path) -> Iterator[tuple[tuple[Any, ...], dict[str, bytes]]]:
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
    """Raise if one id has different outcomes, times aside; every row is read and checked on the way.

    That a spec was given up is no outcome: it counts as missing, and two reasons for it do not contradict each other.
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
    """A hash of what must agree: spec, outcome without times, arrays; None where the spec was given up."""
    if json.loads(row[2]).get("status") == FAILED:
        return None
    outcome = {name: value for name, value in json.loads(row[2]).items() if name not in TIMES}
    text = json.dumps([row[1], outcome, json.loads(row[5])], sort_keys=True)
    return hashlib.sha256(text.encode()).digest()
