"""`sparsehead`: the list of commands, and how errors are reported.

Exit codes: 0, the command succeeded, or the reader of its output (`| head`) stopped reading; 2, the command failed, and
one line on standard error says why: a mistake in the call, a file that cannot be read or written, too little memory, a
full disk, a number that is too large, an input nested too deeply; 130, interrupted. `--debug` shows the traceback as
well. Any other exception is a bug and keeps its traceback (exit code 1). A command's module is imported when the
command is needed, so that `sparsehead --help` imports nothing of the library.
"""

import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points
from typing import Annotated, Any, NoReturn

import typer

from .. import __version__
from .._base.errors import SparseheadError
from .._base.files import printable, shown_path
from .._base.lazy import missing_extra
from .completion import VARIABLE
from .entry import interruption
from .options import Command

VERBS = {
    "law": "Measure m_80(T): samples needed for each context length.",
    "learn": "Train on one sparse function: curves, attention, the model.",
    "build": "Construct and certify a head that computes a sparse function.",
    "verify": "Prove on all inputs that a model computes a function, or refute it.",
    "check": "Check a certificate that `verify --out` wrote.",
    "bound": "Capacity and generalisation bounds, term by term.",
    "read": "Find the sparse function that a model computes, and certify it.",
    "probe": "Measure the heads of a pretrained model: sparsity, norms, bounds, baselines.",
    "cover": "The covering number of a set of points.",
    "completion": "Print the script that completes commands in bash, zsh or fish.",
    "lab": "Serve these commands as pages in the browser.",
}

RESULTS = {
    "list": "List experiments, one per line; with --each, outcomes.",
    "show": "Show one outcome: settings, result, curves, version.",
    "export": "Every outcome as a row of CSV, Parquet or JSON.",
    "check": "Compare every row with its checksum.",
    "repair": "Copy undamaged outcomes to a new store.",
    "merge": "Merge several stores into one.",
}
# commands inherit -h
app = typer.Typer(
    add_completion=False, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]}
)


def _version(asked: bool) -> bool:
    if asked:
        typer.echo(f"sparsehead {__version__}")
        raise typer.Exit()
    return asked


@app.callback(help="Attention heads that look at s of T positions: build, learn, bound, read.")
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error; allowed at any position.")
    ] = False,
) -> None:
    """Declare the options that every command has."""


def _load(module: str, name: str) -> Any:
    return getattr(import_module(f".{module}", __package__), name)


def _add(group: typer.Typer, verb: str, line: str, load: Callable[[], Callable[..., None]]) -> None:
    """Add a command; `load` imports and returns its function."""
    lazy: Any = partial(Command, load=load)
    group.command(name=verb, cls=lazy, short_help=line)(lambda: None)


for verb, line in VERBS.items():
    _add(app, verb, line, partial(_load, verb, verb))
stores = typer.Typer(add_completion=False, rich_markup_mode=None)
app.add_typer(stores, name="results", help="List, show or export what the store holds.")
for verb, line in RESULTS.items():
    _add(stores, verb, line, partial(_load, "results", f"{verb}_results"))
# Commands of installed packages: the entry point's name is the verb; its module has a function of that name, and LINE.
for entry in sorted(entry_points(group="sparsehead.commands")):
    module = entry.load()
    _add(app, entry.name, module.LINE, partial(getattr, module, entry.name))


def main(argv: list[str] | None = None) -> None:
    """Run one command and exit with its exit code (listed at the top of this file)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if VARIABLE in os.environ:
        _complete()
    debug = "--debug" in arguments
    arguments = [text for text in arguments if text != "--debug"]
    try:
        code = _run(arguments or ["--help"])
        if sys.stdout is not None:
            sys.stdout.flush()  # a full disk shows here, and not while Python shuts down
    except (KeyboardInterrupt, typer.Abort):
        _silence()
        fail(interruption(arguments), 130)
    except BrokenPipeError:  # the reader of our output went away, as `| head` does
        _silence()
        code = 0
    except Exception as error:
        message = explanation(error)
        if debug or message is None:
            traceback.print_exc()
        if message is None:
            sys.exit(1)
        _silence()
        fail(message, 2)
    sys.exit(code)


def _complete() -> NoReturn:
    """Print completions for the words that the shell passes in the environment; see `completion`."""
    from typer.completion import completion_init  # type: ignore[attr-defined]

    completion_init()
    typer.main.get_command(app).main(prog_name="sparsehead", complete_var=VARIABLE)
    sys.exit(0)


def _run(arguments: list[str]) -> int:
    command = typer.main.get_command(app)
    try:
        with command.make_context("sparsehead", arguments) as context:
            command.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    return 0


def explanation(error: Exception) -> str | None:
    """Return the sentence for an error that the user can fix; None for a bug."""
    if isinstance(error, ModuleNotFoundError):
        error = missing_extra(error)
    if isinstance(error, SparseheadError):
        return str(error)
    if isinstance(error, typer.TyperException):  # a mistyped verb, option or value
        context = getattr(error, "ctx", None)
        where = "sparsehead" if context is None else context.command_path
        said = _unknown_option(error) if hasattr(error, "option_name") else error.format_message()
        return f"{said if said.endswith(('.', '?')) else said + '.'} `{where} -h` shows the usage."
    # torch says so in a RuntimeError
    if isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and "not enough memory" in str(error)
    ):
        return f"not enough memory ({str(error) or 'allocation failed'}); a smaller T, m or d needs less."
    if isinstance(error, OSError):
        where = f"{shown_path(str(error.filename))}: " if error.filename else ""
        return f"the system refused: {where}{error.strerror or error}."
    if isinstance(error, RecursionError):
        return "the input is nested too deeply; a flatter one works."
    if isinstance(error, OverflowError):
        return f"a number in this command is too large ({error}); use smaller ones."
    return None


def _unknown_option(error: Any) -> str:
    """Return a message with the option probably meant; recognises initials (--lr) and field names (--n-steps)."""
    options = [option for param in error.ctx.command.params for option in param.opts]
    near: str | None = next(iter(getattr(error, "possibilities", None) or ()), None)
    if "--learner" in options:
        from .._base.fields import closest
        from ..train.spec import SETTINGS

        setting = closest(error.option_name, SETTINGS)
        near = SETTINGS[setting].option if setting else near
    return f"{error.message}. Did you mean {near}?" if near in options else error.message


def _silence() -> None:
    """Flush standard output; if that fails, discard the rest of its buffer."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)


def fail(message: str, code: int) -> NoReturn:
    """Print one line on standard error and exit with `code`."""
    with suppress(OSError):
        print("sparsehead: " + printable(" ".join(message.split())), file=sys.stderr, flush=True)
    sys.exit(code)
