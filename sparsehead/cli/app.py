"""`sparsehead`: the commands, how they fail, and nothing else.

A `SparseheadError` becomes one line on standard error and exit code 2; so does a mistyped option. Ctrl-C is clean
and exits with 130. Any other exception is our bug and keeps its traceback. The verbs' modules import the library
inside their functions, so `--help` needs none of it.
"""

import sys
from importlib import import_module
from typing import Annotated

import typer

from .. import __version__
from ..errors import SparseheadError

VERBS = {
    "reproduce": "Check every claim of the paper and write report.html.",
    "law": "Measure m_80(T): samples needed against context length.",
    "learn": "Train on one sparse function: curves, attention, the model.",
    "build": "Write down the weights that compute a sparse function, certified.",
    "bound": "Capacity and generalisation bounds, term by term.",
    "read": "The sparse function that a model computes, and how far to trust it.",
    "cover": "The covering number of a set of points.",
    "figure": "Draw a figure of the paper, or one of ours.",
    "results": "List, show or export what the store holds.",
}

app = typer.Typer(add_completion=False, rich_markup_mode=None)


def _version(asked: bool) -> bool:
    if asked:
        typer.echo(f"sparsehead {__version__}")
        raise typer.Exit()
    return asked


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Attention heads that look at s of T positions: build, learn, bound, read."""


for verb, line in VERBS.items():
    module = import_module(f".{verb}", __package__)
    if hasattr(module, "app"):
        app.add_typer(module.app, name=verb, help=line)
    else:
        app.command(name=verb, short_help=line)(getattr(module, verb))


def main(argv: list[str] | None = None) -> None:
    """Run one command and exit with its code."""
    arguments = sys.argv[1:] if argv is None else argv
    try:
        code = app(args=arguments or ["--help"], prog_name="sparsehead", standalone_mode=False)
    except SparseheadError as error:
        fail(str(error), 2)
    except typer.TyperException as error:  # a mistyped verb, option or value
        fail(error.format_message() or "see sparsehead --help", 2)
    except BrokenPipeError:  # the reader of our output went away, as `| head` does
        sys.stderr.close()
        sys.exit(0)
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    if code == 130:
        fail("interrupted; what was finished is kept.", 130)
    sys.exit(code if isinstance(code, int) else 0)


def fail(message: str, code: int) -> None:
    """One line on standard error, then exit."""
    print("sparsehead: " + " ".join(message.split()), file=sys.stderr)
    sys.exit(code)
