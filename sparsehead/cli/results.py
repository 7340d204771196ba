"""`sparsehead results`: list, show or export the outcomes in a store; check, repair and merge stores."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import AsJson, Force, console, emit, literal

if TYPE_CHECKING:
    from ..store import Store

Db = Annotated[Path, typer.Option("--db", help="The store.")]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        help="Select outcomes with the setting NAME=VALUE. Repeated with one NAME, any of its values matches; with "
        "several names, each must match.",
    ),
]
DEFAULT = Path("results.db")
LINES_AT_ONCE = 1000  # printed and held


def list_results(
    db: Db = DEFAULT,
    where: Where = None,
    each: Annotated[bool, typer.Option("--each", help="One line per outcome, with its id.")] = False,
    as_json: AsJson = False,
) -> None:
    """List experiments, one per line: the id of the first trial, how many trials there are and how many were solved.

    Each line ends with the time when the first trial ended (UTC) and the settings that differ from their defaults.
    """
    from ..store.results import Outcomes, condition, outcome_row, select, summary

    conditions = [condition(text) for text in where or []]
    with _opened(db) as store:
        rows: Iterable[dict[str, Any]]
        if each:
            rows = Outcomes(store, conditions, outcome_row)
            damage = rows.damage
        else:
            damage = []
            rows = summary(select(store.records(damage), conditions))
        if as_json:
            _echo_object({"db": str(db)}, "outcomes" if each else "experiments", rows, {"damaged": damage})
        else:
            lines = _aligned(rows)
            while batch := list(islice(lines, LINES_AT_ONCE)):
                # a line stays a line, however narrow the terminal
                console().print(literal(*batch), soft_wrap=True)
    _name_damage(db, damage)


def show_results(
    spec_id: Annotated[str, typer.Argument(help="The id of a trial, or a unique beginning of it.")],
    db: Db = DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Show one outcome: its settings, result and curves, and the version that produced it."""
    from ..store.results import find

    with _opened(db) as store:
        record = find(store, spec_id)
        history = store.history(record.id)
    result = {**record.flat(), "history": history}
    emit(result, as_json, lambda c: c.print(literal(*_lines(result))))


def export_results(
    out: Annotated[Path, typer.Argument(help="Where to write: .csv, .parquet or .json.")],
    db: Db = DEFAULT,
    where: Where = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write a table with one row per outcome."""
    from .._base.files import check_apart
    from ..store import Record
    from ..store.results import Outcomes, check_table, condition, write

    check_apart(out, db, what="table")
    check_table(out, force=force)
    conditions = [condition(text) for text in where or []]
    with _opened(db) as store:
        rows = Outcomes(store, conditions, Record.flat)
        count = write(rows, out, force=force)
    result = {"path": str(out), "rows": count, "damaged": rows.damage}
    emit(result, as_json, lambda c: c.print(literal(f"wrote {count} rows to {out}")))
    _name_damage(db, rows.damage)


def check_results(db: Db = DEFAULT, as_json: AsJson = False) -> None:
    """Read every outcome and every array, and compare them with their checksums."""
    from ..store.repair import check as check_store

    found = check_store(db)
    result = {"db": str(db), "sound": found.sound, "damaged": list(found.damage)}
    emit(result, as_json, lambda c: c.print(literal(f"{found.sound} outcomes are sound")))
    _name_damage(db, found.damage)


def repair_results(
    new: Annotated[Path, typer.Argument(help="The store to create.")],
    db: Db = DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Copy every undamaged outcome of a store to a new store; the old file is not changed."""
    from ..store.repair import repair as repair_store

    found = repair_store(db, new)
    result = {"db": str(new), "sound": found.sound, "left_out": list(found.damage)}
    lines = [f"{found.sound} sound outcomes copied to {new}, {len(found.damage)} rows left out"]
    lines += [f"  {line}" for line in found.damage[:20]]
    emit(result, as_json, lambda c: c.print(literal(*lines)))


def merge_results(
    sources: Annotated[list[Path], typer.Argument(help="The stores to take outcomes from.")],
    into: Annotated[Path, typer.Option("--into", help="The store to add outcomes to; created if missing.")],
    as_json: AsJson = False,
) -> None:
    """Merge stores, for example those of several shards; can be repeated. The sources are not changed."""
    from ..store.merge import merge as merge_stores

    found = merge_stores(sources, into)
    result = {"db": str(into), "added": found.added, "known": found.known, "total": found.total}
    line = f"{found.added} outcomes added to {into}, {found.known} were there; it holds {found.total}"
    emit(result, as_json, lambda c: c.print(literal(line)))


@contextmanager
def _opened(db: Path) -> "Iterator[Store]":
    """Open the store for reading; print warnings about it on standard error, one line each."""
    import warnings

    from ..store import Store

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        store = Store(db, readonly=True)
    for warning in said:
        typer.echo(f"sparsehead: {warning.message}", err=True)
    with store:
        yield store


def _echo_object(
    before: dict[str, Any], name: str, rows: Iterable[dict[str, Any]], after: dict[str, Any]
) -> None:
    """Print one JSON object in which `name` is the list of `rows`; only a batch of rows is in memory at a time."""
    typer.echo(f'{json.dumps(before)[:-1]}, "{name}": [', nl=False)
    source, mark = iter(rows), ""
    while batch := list(islice(source, LINES_AT_ONCE)):
        typer.echo(mark + ", ".join(json.dumps(row, allow_nan=False) for row in batch), nl=False)
        mark = ", "
    # `after` is complete only when all rows have been read
    typer.echo(f"], {json.dumps(after)[1:]}")


def _name_damage(db: Path, damage: Sequence[str]) -> None:
    """Raise an error (exit code 2) that names the damaged rows that were left out, if there are any."""
    from ..store.opening import damaged
    from ..store.results import named

    if damage:
        raise damaged(db, named(damage))


def _lines(result: dict[str, Any]) -> list[str]:
    wide = max(map(len, result))
    shown = {k: v for k, v in result.items() if k != "history"}
    lines = [f"{name:{wide}}  {'' if value is None else value}" for name, value in shown.items()]
    curves = ", ".join(f"{name} ({len(values)})" for name, values in result["history"].items())
    return [*lines, f"{'history':{wide}}  {curves or 'none'}"]


def _aligned(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield a header and one line per row, with aligned columns, numbers to the right; iterates over `rows` twice."""
    widths: dict[str, int] = {}
    numeric = set()
    for row in rows:
        for name, value in row.items():
            widths[name] = max(widths.get(name, len(name)), len(_cell(value)))
            if isinstance(value, int | float):
                numeric.add(name)
    if not widths:
        yield "no outcomes match."
        return
    sides = {name: f"{'>' if name in numeric else '<'}{width}" for name, width in widths.items()}
    yield "  ".join(f"{name:{side}}" for name, side in sides.items()).rstrip()
    for row in rows:
        yield "  ".join(f"{_cell(row[name]):{side}}" for name, side in sides.items()).rstrip()


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.1f}" if isinstance(value, float) else str(value)
