"""The `sparsehead` command from its first line on: Ctrl-C is handled before anything heavy is imported.

While the commands are imported there is nothing to clean up, and the process ends at once. While a command runs, the
first Ctrl-C raises KeyboardInterrupt, so that workers are stopped and half-written files removed; a second one ends
the process at once. Each time the exit code is 130 and one line is printed. When the command is done, Ctrl-C is
ignored for the moment that Python needs to shut down. Before the first line of this file runs, for the 20 to 40 ms
that the interpreter needs to start, an interrupt is answered by Python itself.
"""

# `signal` wraps this built-in module in enums, and importing those takes longer than all the rest of this file.
import _signal as signal
import os
import sys

TYPE_CHECKING = False  # importing typing takes longer than all the rest of this file
if TYPE_CHECKING:
    from types import FrameType

INTERRUPTED = 130
KEEPS = ("law", "reproduce", "results", "lab")  # commands that write as they go


def interruption(arguments: "list[str]") -> str:
    """The message after Ctrl-C in the command of `arguments`: whether what it finished is kept."""
    verb = next((text for text in arguments if not text.startswith("-")), "")
    return f"interrupted; {'what was finished is kept' if verb in KEEPS else 'nothing was written'}."


def main() -> None:
    """Run the command in sys.argv; ends with SystemExit."""
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
    """One line, and out: no clean-up, so only where there is nothing to clean up or it has failed."""
    show_cursor = "\x1b[?25h" if os.isatty(2) else ""
    try:
        os.write(2, f"{show_cursor}sparsehead: {interruption(sys.argv[1:])}\n".encode())
    finally:
        os._exit(INTERRUPTED)


def _interrupt(_: int, frame: "FrameType | None") -> None:
    """The first Ctrl-C while a command runs; the next one does not wait.

    While a library is being imported the process ends at once: an exception inside the start-up of a library written in
    C++, such as torch, would end it with a core dump.
    """
    signal.signal(signal.SIGINT, leave)
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            leave()
        frame = frame.f_back
    raise KeyboardInterrupt


def _report(error: "sys.UnraisableHookArgs") -> None:
    """An exception where Python cannot raise one, such as in a callback: printed, but an interrupt ends the process."""
    if isinstance(error.exc_value, KeyboardInterrupt):
        leave()
    sys.__unraisablehook__(error)
