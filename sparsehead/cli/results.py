"""`sparsehead results`: list, show or export what the store holds."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .output import AsJson, Force, emit

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)

Db = Annotated[Path, typer.Option("--db", help="The store.")]
Where = Annotated[
    list[str] | None,
    typer.Option("--where", help="Keep outcomes whose spec has NAME=VALUE; may be repeated."),
]
DEFAULT = Path("results.db")


@app.command("list")
def list_(db: Db = DEFAULT, where: Where = None, as_json: AsJson = False) -> None:
    """One line per experiment: how many trials there are, how many were solved, how long they took."""
    from ..results import summary
    from ..store import Store

    with Store(db, readonly=True) as store:
        rows = summary(store.records(_conditions(where)))
    emit({"db": str(db), "experiments": rows}, as_json, lambda c: c.print(_table(rows)))


@app.command("show")
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
        history = store.history(record.spec_id)
    result = {**record.flat(), "history": history}
    emit(result, as_json, lambda c: c.print("\n".join(_lines(result))))


@app.command("export")
def export(
    out: Annotated[Path, typer.Argument(help="Where to write: .csv, .parquet or .json.")],
    db: Db = DEFAULT,
    where: Where = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Every outcome as one row of a table."""
    from ..results import check_table, write
    from ..store import Store

    check_table(out, force=force)
    with Store(db, readonly=True) as store:
        rows = [record.flat() for record in store.records(_conditions(where))]
    write(rows, out, force=force)
    emit(
        {"path": str(out), "rows": len(rows)}, as_json, lambda c: c.print(f"wrote {len(rows)} rows to {out}")
    )


def _conditions(where: list[str] | None) -> dict[str, Any]:
    from ..results import condition

    return dict(condition(text) for text in where or [])


def _lines(result: dict[str, Any]) -> list[str]:
    wide = max(map(len, result))
    shown = {k: v for k, v in result.items() if k != "history"}
    lines = [f"{name:{wide}}  {value}" for name, value in shown.items()]
    curves = ", ".join(f"{name} ({len(values)})" for name, values in result["history"].items())
    return [*lines, f"{'history':{wide}}  {curves or 'none'}"]


def _table(rows: list[dict[str, Any]]) -> Any:
    from rich.table import Table

    if not rows:
        return "no outcomes match."
    table = Table(box=None, header_style="bold")
    for name in rows[0]:  # numbers keep their width; words give way on a narrow terminal
        words = name in ("function", "settings")
        widest = 0 if words else max(len(_cell(row[name])) for row in rows)
        table.add_column(
            name, justify="left" if words else "right", min_width=max(widest, 0 if words else len(name))
        )
    for row in rows:
        table.add_row(*map(_cell, row.values()))
    return table


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.1f}" if isinstance(value, float) else str(value)
