"""Boolean functions of T bits that read s of them: made by name, from a table, or from text."""

from .analysis import (
    fourier,
    influences,
    is_monotone,
    is_sparse,
    is_symmetric,
    kind,
    sup_norm,
    uniform_distance,
)
from .expression import as_function, parse
from .families import (
    FAMILIES,
    conjunction,
    disjunction,
    family,
    junta,
    majority,
    parity,
    random_function,
    random_support,
    symmetric,
    threshold,
)
from .sparse import SparseFunction, from_table
from .tables import MAX_S, assignments, check_bits

__all__ = [
    "FAMILIES",
    "MAX_S",
    "SparseFunction",
    "as_function",
    "assignments",
    "check_bits",
    "conjunction",
    "disjunction",
    "family",
    "fourier",
    "from_table",
    "influences",
    "is_monotone",
    "is_sparse",
    "is_symmetric",
    "junta",
    "kind",
    "majority",
    "parity",
    "parse",
    "random_function",
    "random_support",
    "sup_norm",
    "symmetric",
    "threshold",
    "uniform_distance",
]
