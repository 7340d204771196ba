"""`sparsehead learn --data FILE --label COLUMN`: learn a formula from a table."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from .._base.arguments import shown
from .._base.errors import DomainError
from .._base.fields import setting
from ..datasets.dataset import cuts_of
from ..heads.model_file import save
from .output import check_model_file, emit, emit_on_failure
from .training import TrainingDisplay

if TYPE_CHECKING:
    from ..train.data_run import TableRun


@dataclass(frozen=True, kw_only=True)
class FromTable:
    """Options for learning from a table instead of a function."""

    data: Path | None = setting(
        None, "Table", "Learn from a CSV or Parquet file with named columns of bits.", option="--data"
    )
    label: str | None = setting(None, "Table", "The column that has the labels.")
    positive: str | None = setting(None, "Table", "The label that counts as 1, if it is not 0 or 1 already.")
    threshold: list[str] | None = setting(
        None, "Table", "COLUMN=CUT turns a numeric column into a bit, 1 above CUT; repeat for more columns."
    )
    onehot: list[str] | None = setting(
        None, "Table", "COLUMN of categories; each category becomes a bit; repeat for more columns."
    )
    held_out: float = setting(0.2, "Table", "Share of rows used only to check the formula.")

    def is_given(self, expression: str | None) -> bool:
        """Return whether --data names a table; raise a DomainError if the other arguments contradict that."""
        if self.data is None:
            for name in ("label", "positive", "threshold", "onehot"):
                if getattr(self, name):
                    raise DomainError(f"--{name} is for a table; --data FILE names it.")
            return False
        if expression is not None:
            raise DomainError(
                f"learn takes a function or a table; got {shown(expression)} and --data {self.data}."
            )
        if self.label is None:
            raise DomainError(f"--data {self.data} needs --label COLUMN, the column that has the labels.")
        return True

    def cuts(self) -> dict[str, float]:
        """Return column -> threshold; the column's name may contain "="."""
        return cuts_of(self.threshold or ())


def learn_from_table(
    asked: Any, table: FromTable, settings: dict[str, Any], *, force: bool, as_json: bool
) -> None:
    """Learn from the table, write the model if --out was given, and print the result."""
    from ..datasets import dataset
    from ..train.learn import learn as train

    if asked.chart is not None:
        raise DomainError(
            f"--chart {asked.chart} follows a function's support along training; a table has none."
        )
    if asked.out is not None:
        check_model_file(asked.out, force=force)
    assert table.data is not None  # is_given
    data = dataset(
        table.data, table.label, threshold=table.cuts(), onehot=table.onehot or (), positive=table.positive
    )
    with TrainingDisplay() as display:
        run = train(
            data, preset=asked.preset, engine=asked.engine, device=asked.device, dtype=asked.dtype,
            held_out=table.held_out, progress=display, **settings,
        )  # fmt: skip
    result = run.to_dict()
    with emit_on_failure(result, as_json, lambda console: _show(console, run)):
        if asked.out is not None:
            result["model"] = str(save(run.model, asked.out, force=force))
    emit(result, as_json, lambda console: _show(console, run))


def _show(console: Console, run: "TableRun") -> None:
    from ..train.data_run import spelled

    r, data = run.reading, run.data
    console.print(f"{data.label} = {r.formula}")
    console.print(
        f"  agrees with {spelled(r.agreement)} held-out rows, and with the head on {r.with_head.value:.1%}"
    )
    c = r.certificate
    console.print(
        f"  error at most {c.bound:.3f} (Occam bound, {c.m} rows, {c.mistakes} mistakes, {c.log_price:.1f} nats, "
        f"confidence {1 - c.delta / 2:g}); assumed: {c.assumed}"
    )
    console.print(f"  {'proved' if run.solved else 'not proved'} better than a constant")
    if r.unseen:
        console.print(
            f"  {r.unseen} of {2**r.function.s} patterns of these columns are in no row; the head decided"
        )
    for note in r.notes:
        console.print(f"  {note}")
    if run.rivals:
        rows = Table("other methods", "held-out rows", "says", box=None)
        for rival in run.rivals:
            rows.add_row(rival.name, spelled(rival.agreement), rival.says)
        console.print(rows)
    else:
        console.print("  scikit-learn is not installed: no decision tree or logistic regression beside it")
