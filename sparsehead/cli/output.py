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
    """Refuse, before any work, a model file that could not be written, or whose name promises another format."""
    from .._base.errors import DomainError
    from .._base.files import check_target

    if out.suffix.lower() not in ("", ".safetensors"):
        raise DomainError(
            f"--out {out} ends in {out.suffix!r}, but models are safetensors files; name it "
            f"{out.with_suffix('.safetensors')}."
        )
    check_target(out, force=force)


def check_chart_file(path: Path, option: str, *, force: bool) -> None:
    """Refuse, before any work, a chart that could not be drawn or written; `option` gave its path."""
    from .._base.files import check_target
    from ..figures.render import form_of

    form_of(path, option)
    check_target(path, force=force)


def write_chart(path: Path, chart: Any, *, force: bool) -> int:
    """Draw the chart in the form that the path's ending asks for; how many bytes were written."""
    from .._base.files import write_whole
    from ..figures.render import render

    content = render(chart, path.suffix.removeprefix(".").lower())
    write_whole(path, content, force=force)
    return len(content)


class Screen(Console):
    """A console that shows control characters of a text, such as a file's name, and does not send them."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Called by rich for every string that it prints."""
        return super().render_str("\n".join(map(printable, text.split("\n"))), **options)


class Output(Screen):
    """Standard output as rich has it, but a reader that went away is reported to `main` instead of ending us with 1."""

    def on_broken_pipe(self) -> None:
        """Called by rich; `main` turns the error into an exit code."""
        raise BrokenPipeError


def console() -> Console:
    """Where results for people go: standard output. Brackets are printed as they are: a file may be named "a[/b]"."""
    return Output(highlight=False, soft_wrap=False, markup=False, emoji=False)


def status_console() -> Console:
    """Where progress goes: standard error, so that standard output can be piped."""
    return Screen(stderr=True, highlight=False, markup=False, emoji=False)


def literal(*lines: object) -> Text:
    """Lines from a file or a user, shown as they are: no markup, and control characters escaped."""
    return Text("\n".join(printable(str(line)) for line in lines))


def emit(result: dict[str, Any], as_json: bool, show: Callable[[Console], None]) -> None:
    """Print `result` as JSON, or call `show` with a console."""
    if as_json:
        typer.echo(json.dumps(result, allow_nan=False))
    else:
        show(console())


@contextmanager
def emit_on_failure(result: dict[str, Any], as_json: bool, show: Callable[[Console], None]) -> Iterator[None]:
    """For writing a file after long work: if that fails, `result` is printed before the error is reported."""
    try:
        yield
    except Exception:
        emit(result, as_json, show)
        raise
