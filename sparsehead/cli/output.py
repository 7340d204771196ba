"""Print a command's result: a table for people, or one JSON object for scripts."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from .._base.files import printable

Force = Annotated[bool, typer.Option("--force", help="Replace the output file if it exists.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def check_model_file(out: Path, *, force: bool) -> None:
    """Refuse, before any work, a model file that cannot be written or has the suffix of another format."""
    from .._base.errors import DomainError
    from .._base.files import check_target

    if out.suffix.lower() not in ("", ".safetensors"):
        raise DomainError(
            f"--out {out} ends in {out.suffix!r}, but models are safetensors files; name it "
            f"{out.with_suffix('.safetensors')}."
        )
    check_target(out, force=force)


def check_chart_file(path: Path, option: str, *, force: bool) -> None:
    """Refuse, before any work, a chart that cannot be drawn or written; `option` is named in the error."""
    from .._base.files import check_target
    from ..figures.render import form_of

    form_of(path, option)
    check_target(path, force=force)


def write_chart(path: Path, chart: Any, *, force: bool) -> int:
    """Draw the chart in the format of the path's suffix and return the number of bytes written."""
    from .._base.files import write_whole
    from ..figures.render import render

    content = render(chart, path.suffix.removeprefix(".").lower())
    write_whole(path, content, force=force)
    return len(content)


class Screen(Console):
    """A console that escapes control characters in texts such as file names."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Escape control characters; rich calls this for every string that it prints."""
        return super().render_str("\n".join(map(printable, text.split("\n"))), **options)


class Output(Screen):
    """A console on standard output; if the reader of a pipe has gone, it raises BrokenPipeError instead of exiting."""

    def on_broken_pipe(self) -> None:
        """Raise the error (called by rich); `main` turns it into an exit code."""
        raise BrokenPipeError


def console() -> Console:
    """Return a console on standard output that reads no markup, since a file may be named "a[/b]"."""
    return Output(highlight=False, soft_wrap=False, markup=False, emoji=False)


def status_console() -> Console:
    """Return a console on standard error, for progress, so that standard output can be piped."""
    return Screen(stderr=True, highlight=False, markup=False, emoji=False)


def literal(*lines: object) -> Text:
    """Return text from a file or a user without markup and with control characters escaped."""
    return Text("\n".join(printable(str(line)) for line in lines))


def emit(result: dict[str, Any], as_json: bool, show: Callable[[Console], None]) -> None:
    """Print `result` as JSON, or call `show` with a console."""
    if as_json:
        typer.echo(json.dumps(result, allow_nan=False))
    else:
        show(console())


@contextmanager
def emit_on_failure(result: dict[str, Any], as_json: bool, show: Callable[[Console], None]) -> Iterator[None]:
    """Context for writing a file after long work: if writing fails, print `result` before the error is reported."""
    try:
        yield
    except Exception:
        emit(result, as_json, show)
        raise
