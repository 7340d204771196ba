"""Exceptions for misuse of the library. Failing to learn is a result, not an error.

Every deliberate exception is a `SparseheadError` and also a builtin such as ValueError, so callers may catch either. A
message is one line: what was asked, what arrived, what would work. The command line prints it and exits with code 2.
Any other exception is a bug of ours and keeps its traceback.
"""


class SparseheadError(Exception):
    """An error that the caller can fix; the message says how.

    >>> import sparsehead as sh
    >>> try:
    ...     sh.parse("x9", T=4)
    ... except sh.SparseheadError as error:
    ...     print(error)
    x9 at column 1 is outside the input: >>x9<<; T=4 has the positions x0 to x3.
    """


class DomainError(SparseheadError, ValueError):
    """A value is outside the allowed range."""


class ShapeError(SparseheadError, ValueError):
    """Two arrays, or an array and a model, do not fit together."""


class ParseError(SparseheadError, ValueError):
    """A text (an expression, a list of norms, a CSV) has a syntax error."""


class FileError(SparseheadError, OSError):
    """A file is missing, damaged, or not what it should be; nothing was read from it or written to it."""


class StoreError(FileError):
    """The results store cannot be used as asked; it was not changed."""


class TooLarge(SparseheadError, MemoryError):
    """The work needs more memory than is available; it was not started."""


class MissingExtra(SparseheadError, ImportError):
    """An optional dependency is not installed; the message names the extra that installs it."""


class LearnerError(SparseheadError, RuntimeError):
    """A user-defined learner raised an exception, took too long or returned no labels: its trial has failed."""

    trial = ""  # the id of the spec
