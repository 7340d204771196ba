"""The entry point of the `sparsehead` command, which handles Ctrl-C before anything heavy is imported.

While commands are being imported there is nothing to clean up, and Ctrl-C ends the process at once. While a command
runs, the first Ctrl-C raises KeyboardInterrupt, so that workers are stopped and half-written files removed; a second
Ctrl-C ends the process at once. In each case one line is printed and the exit code is 130. After the command, Ctrl-C is
ignored while Python shuts down. Before this file runs, during the 20 to 40 ms in which the interpreter starts, Python
itself handles an interrupt.
"""

# `signal` wraps this built-in module in enums, and importing those takes longer than all the rest of this file.
import _signal as signal
import os
import sys

TYPE_CHECKING = False  # importing typing takes longer than all the rest of this file
if TYPE_CHECKING:
    from types import FrameType

INTERRUPTED = 130


def interruption(arguments: "list[str]") -> str:
    """Return the message after Ctrl-C: whether the finished work of the command in `arguments` is kept."""
    verb = next((text for text in arguments if not text.startswith("-")), "")
    writing = ("law", "reproduce", "results", "lab")  # commands that write as they go
    return f"interrupted; {'what was finished is kept' if verb in writing else 'nothing was written'}."


def main() -> None:
    """Run the command in sys.argv and raise SystemExit with its exit code."""
    signal.signal(signal.SIGINT, leave)
    sys.unraisablehook = _report
    from .app import main as run

    signal.signal(signal.SIGINT, _interrupt)
    try:
        try:
            run()
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:
        leave()
    except SystemExit as done:
        if done.code == INTERRUPTED:
            # Python ends with the signal instead of the code when an interrupt has passed through an exec()
            os._exit(INTERRUPTED)
        raise


def leave(*_: object) -> None:
    """Print one line and end the process without clean-up; used if there is nothing to clean up or clean-up failed."""
    show_cursor = "\x1b[?25h" if os.isatty(2) else ""
    try:
        os.write(2, f"{show_cursor}sparsehead: {interruption(sys.argv[1:])}\n".encode())
    finally:
        os._exit(INTERRUPTED)


def _interrupt(_: int, frame: "FrameType | None") -> None:
    """Handle the first Ctrl-C while a command runs: raise KeyboardInterrupt, and let the next Ctrl-C end the process.

    While a library is being imported, end the process at once: an exception during the start-up of a C++ library such
    as torch would cause a core dump.
    """
    signal.signal(signal.SIGINT, leave)
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            leave()
        frame = frame.f_back
    raise KeyboardInterrupt


def _report(error: "sys.UnraisableHookArgs") -> None:
    """Print an exception that Python cannot raise, for example one in a callback; at an interrupt, end the process."""
    if isinstance(error.exc_value, KeyboardInterrupt):
        leave()
    sys.__unraisablehook__(error)
