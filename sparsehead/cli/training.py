"""The live display of `learn`, on standard error: progress, and influence and attention on the relevant positions."""

from typing import Any

from rich.console import RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from .output import status_console


def sparkline(values: list[float], top: float) -> str:
    """Return the last 32 values as a bar chart in one line, with the full height at `top`.

    >>> sparkline([0.0, 0.5, 1.0], 1.0)
    '▁▅█'
    """
    bars = "▁▂▃▄▅▆▇█"
    heights = [round(7 * v / top) if top > 0 else 0 for v in values[-32:]]
    return "".join(bars[min(7, max(0, height))] for height in heights)


class TrainingDisplay(Live):
    """A live display (a context manager). Calling it with a trial's state redraws it; silent without a terminal.

    Rows: validation accuracy; then, for influence and for attention, the smallest value on the support and, in the row
    below, the largest value elsewhere.
    """

    def __init__(self) -> None:
        super().__init__(Text("starting"), console=status_console(), transient=True, auto_refresh=False)
        self._restart = 0
        self._seen: dict[str, list[float]] = {}

    def __call__(self, state: dict[str, Any]) -> None:
        if state["restart"] != self._restart:
            self._restart, self._seen = state["restart"], {}
        shown = [
            "val_accuracy",
            "support_influence",
            "other_influence",
            "support_attention",
            "other_attention",
        ]
        for name in shown:
            if state.get(name) is not None:
                self._seen.setdefault(name, []).append(float(state[name]))
        if self.console.is_terminal:
            self.update(self._drawn(state), refresh=True)

    def _drawn(self, state: dict[str, Any]) -> RenderableType:
        done = state["restart"] * state["n_steps"] + state["step"]
        left = state["restarts"] * state["n_steps"] - done
        seconds = state["seconds"] / max(done, 1) * left
        rows = Table.grid(padding=(0, 2))
        rows.add_row(
            f"restart {state['restart'] + 1}/{state['restarts']}", f"step {state['step']}",
            f"loss {state['loss']:.4f}, at most {seconds:.0f} s remaining",
        )  # fmt: skip
        self._add(rows, "validation accuracy", "val_accuracy", top=1.0)
        for quantity in ("influence", "attention"):
            known = self._seen.get(f"support_{quantity}", []) + self._seen.get(f"other_{quantity}", [])
            self._add(rows, f"{quantity}, support", f"support_{quantity}", top=max(known, default=0.0))
            self._add(rows, f"{quantity}, others", f"other_{quantity}", top=max(known, default=0.0))
        return rows

    def _add(self, rows: Table, title: str, name: str, *, top: float) -> None:
        values = self._seen.get(name)
        if values:
            rows.add_row(title, f"{values[-1]:.3f}", sparkline(values, top))
