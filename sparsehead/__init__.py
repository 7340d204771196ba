"""Attention heads that look at s of T positions: build, learn, bound, read.

Names are imported when first used, so `import sparsehead` is quick and never brings in torch by itself.
"""

from .lazy import names_from

__version__ = "0.1.0"

_HOME = {
    "Encoding": "encoding",
    "Model": "model",
    "SparseFunction": "functions",
    "SparseheadError": "errors",
    "Task": "task",
    "bound": "capacity",
    "build": "construct",
    "conjunction": "functions",
    "covering_number": "covering",
    "disjunction": "functions",
    "from_table": "functions",
    "law": "experiments.law",
    "learn": "train",
    "load": "model_file",
    "majority": "functions",
    "norms": "capacity",
    "parity": "functions",
    "parse": "functions",
    "random_function": "functions",
    "read": "reading",
    "save": "model_file",
    "symmetric": "functions",
    "threshold": "functions",
    "to_torch": "construct",
    "verify": "certify",
}
__all__ = sorted(_HOME)
__getattr__ = names_from(__name__, _HOME)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
