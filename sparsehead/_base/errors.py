"""What the library says when it is misused. Failing to learn is a result, not an error.

Every deliberate exception is a `SparseheadError` and also the builtin it refines, so callers may catch
either. A message is one line: what was asked, what arrived, what would work. The command line prints it and
exits with 2; any other exception is our bug and keeps its traceback.
"""


class SparseheadError(Exception):
    """The caller can fix this, and the message says how.

    >>> import sparsehead as sh
    >>> try:
    ...     sh.parse("x9", T=4)
    ... except sh.SparseheadError as error:
    ...     print(error)
    x9 at column 1 is outside the input: >>x9<<; T=4 has the positions x0 to x3.
    """


class DomainError(SparseheadError, ValueError):
    """A value lies outside the domain on which the claim holds."""


class ShapeError(SparseheadError, ValueError):
    """Two arrays, or an array and a model, do not fit together."""


class ParseError(SparseheadError, ValueError):
    """A text (an expression, a list of norms, a CSV) is not in the language it should be in."""


class FileError(SparseheadError, OSError):
    """A file is missing, damaged, or not what it should be; nothing was read from it or written to it."""


class StoreError(FileError):
    """The results store cannot be used as asked; it was left as it was."""


class TooLarge(SparseheadError, MemoryError):
    """The work needs more memory than there is; it was not started."""


class MissingExtra(SparseheadError, ImportError):
    """An optional dependency is not installed; the message names the extra that brings it."""


class LearnerError(SparseheadError, RuntimeError):
    """A learner of the user's own raised, took too long or returned no labels: its trial has failed."""

    trial = ""  # the id of the spec
