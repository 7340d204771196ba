"""Attention heads that look at s of T positions: build, learn, bound, read.

Names are imported when first used, so `import sparsehead` is quick and does not import torch. `__init__.pyi`, which
type checkers read as well, lists the names and their modules.
"""

from ._base.lazy import names_for_type_checkers, names_from

__version__ = "0.3.0"

_HOME = names_for_type_checkers(f"{__file__}i")
__all__ = sorted(_HOME)
__getattr__ = names_from(__name__, _HOME)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
