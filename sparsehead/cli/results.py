"""`sparsehead results`: list, show or export what the store holds; check, repair and merge stores."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import AsJson, Force, emit, literal

if TYPE_CHECKING:
    from ..store import Record

app = typer.Typer(add_completion=False, rich_markup_mode=None)

Db = Annotated[Path, typer.Option("--db", help="The store.")]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        help="Keep outcomes whose spec has NAME=VALUE, as the list prints it, defaults included; repeated: any of the "
        "values given for one name, all names.",
    ),
]
DEFAULT = Path("results.db")


@app.command("list", short_help="One line per experiment, with ids; --each per outcome.")
def list_(
    db: Db = DEFAULT,
    where: Where = None,
    each: Annotated[bool, typer.Option("--each", help="One line per outcome, with its id.")] = False,
    as_json: AsJson = False,
) -> None:
    """One line per experiment: the id of its first trial, how many trials there are, how many were solved.

    Then when the first trial ended (UTC), and the settings that differ from their defaults.
    """
    from ..results import outcome_row, summary

    records, damage = _read(db, where)
    rows = [outcome_row(record) for record in records] if each else summary(records)
    result = {"db": str(db), "outcomes" if each else "experiments": rows, "damaged": damage}
    # a line stays a line, however narrow the terminal
    emit(result, as_json, lambda c: c.print(literal(*_aligned(rows)), soft_wrap=True))
    _name_damage(db, damage)


@app.command("show", short_help="One outcome: spec, verdict, curves, origin.")
def show(
    spec_id: Annotated[str, typer.Argument(help="A spec id, or enough of its first digits.")],
    db: Db = DEFAULT,
    as_json: AsJson = False,
) -> None:
    """One outcome: its spec, what became of it, its curves, and the version that made it."""
    from ..results import find
    from ..store import Store

    with Store(db, readonly=True) as store:
        record = find(store, spec_id)
        history = store.history(record.id)
    result = {**record.flat(), "history": history}
    emit(result, as_json, lambda c: c.print(literal(*_lines(result))))


@app.command("export", short_help="Every outcome as a row of CSV, Parquet or JSON.")
def export(
    out: Annotated[Path, typer.Argument(help="Where to write: .csv, .parquet or .json.")],
    db: Db = DEFAULT,
    where: Where = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Every outcome as one row of a table."""
    from ..files import check_apart
    from ..results import check_table, write

    check_apart(out, db, what="table")
    check_table(out, force=force)
    records, damage = _read(db, where)
    rows = [record.flat() for record in records]
    write(rows, out, force=force)
    result = {"path": str(out), "rows": len(rows), "damaged": damage}
    emit(result, as_json, lambda c: c.print(literal(f"wrote {len(rows)} rows to {out}")))
    _name_damage(db, damage)


@app.command("check", short_help="Compare every row with its checksum.")
def check(db: Db = DEFAULT, as_json: AsJson = False) -> None:
    """Read every outcome and every array, and compare them with their checksums."""
    from ..store.repair import check as check_store

    found = check_store(db)
    result = {"db": str(db), "sound": found.sound, "damaged": list(found.damage)}
    emit(result, as_json, lambda c: c.print(literal(f"{found.sound} outcomes are sound")))
    _name_damage(db, found.damage)


@app.command("repair", short_help="Copy what is sound to a new store.")
def repair(
    new: Annotated[Path, typer.Argument(help="The store to make.")],
    db: Db = DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Copy every sound outcome of a damaged store to a new one; the old file stays as it is."""
    from ..store.repair import repair as repair_store

    found = repair_store(db, new)
    result = {"db": str(new), "sound": found.sound, "left_out": list(found.damage)}
    lines = [f"{found.sound} sound outcomes copied to {new}, {len(found.damage)} rows left out"]
    lines += [f"  {line}" for line in found.damage[:20]]
    emit(result, as_json, lambda c: c.print(literal(*lines)))


@app.command("merge", short_help="Join stores of shards into one.")
def merge(
    sources: Annotated[list[Path], typer.Argument(help="The stores to take outcomes from.")],
    into: Annotated[
        Path, typer.Option("--into", help="The store to add them to; made if it does not exist.")
    ],
    as_json: AsJson = False,
) -> None:
    """Unite stores, for instance those of several shards; can be repeated, and the sources stay as they are."""
    from ..store.merge import merge as merge_stores

    found = merge_stores(sources, into)
    result = {"db": str(into), "added": found.added, "known": found.known, "total": found.total}
    line = f"{found.added} outcomes added to {into}, {found.known} were there; it holds {found.total}"
    emit(result, as_json, lambda c: c.print(literal(line)))


def _read(db: Path, where: list[str] | None) -> "tuple[list[Record], list[str]]":
    """The records that match, and a sentence for each row that cannot be believed."""
    from ..results import condition, select
    from ..store import Store

    conditions = [condition(text) for text in where or []]
    damage: list[str] = []
    with Store(db, readonly=True) as store:
        return list(select(store.records(damage), conditions)), damage


def _name_damage(db: Path, damage: Sequence[str]) -> None:
    """End with a line and exit code 2 if rows were left out because they are damaged."""
    from ..results import named
    from ..store.opening import damaged

    if damage:
        raise damaged(db, named(damage))


def _lines(result: dict[str, Any]) -> list[str]:
    wide = max(map(len, result))
    shown = {k: v for k, v in result.items() if k != "history"}
    lines = [f"{name:{wide}}  {'' if value is None else value}" for name, value in shown.items()]
    curves = ", ".join(f"{name} ({len(values)})" for name, values in result["history"].items())
    return [*lines, f"{'history':{wide}}  {curves or 'none'}"]


def _aligned(rows: list[dict[str, Any]]) -> list[str]:
    """The rows as lines of aligned columns under their names, numbers to the right."""
    if not rows:
        return ["no outcomes match."]
    columns = []
    for name in rows[0]:
        values = [row[name] for row in rows]
        side = ">" if any(isinstance(value, int | float) for value in values) else "<"
        cells = [name, *map(_cell, values)]
        width = max(map(len, cells))
        columns.append([f"{cell:{side}{width}}" for cell in cells])
    return ["  ".join(line).rstrip() for line in zip(*columns, strict=True)]


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.1f}" if isinstance(value, float) else str(value)
