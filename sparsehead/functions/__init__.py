"""Boolean functions of T bits that read s of them: a name, a table or a text comes in, a SparseFunction goes out.

Read in this order:

tables                        truth tables: assignments, relevant bits, transforms
sparse                        `SparseFunction`: a support and a table on it
families                      conjunctions, parities, .. by name; random ones
expression, syntax            text to a function: grammar.lark, and what each operator means (`parse`)
evaluate                      an expression's table, by way of its syntax tree
analysis                      symmetric, monotone, influences, `kind`
minimise, spelling            a function back to text: an OR of few ANDs, the words
inputs, task, explain         a function with a distribution of inputs; sets of s positions that explain a sample
"""

from .analysis import (
    EXPLAINED,
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
    labels,
    majority,
    parity,
    random_function,
    random_support,
    symmetric,
    threshold,
)
from .sparse import Predict, SparseFunction, from_table
from .tables import MAX_S, assignments, check_bits

__all__ = [
    "EXPLAINED",
    "FAMILIES",
    "MAX_S",
    "Predict",
    "SparseFunction",
    "as_function",
    "assignments",
    "check_bits",
    "conjunction",
    "disjunction",
    "family",
    "from_table",
    "influences",
    "is_monotone",
    "is_sparse",
    "is_symmetric",
    "junta",
    "kind",
    "labels",
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
