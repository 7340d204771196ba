"""Boolean functions of T bits that depend on s of them (the support), made from a name, a table or an expression.

Read in this order:

tables                        truth tables: assignments, relevant bits, transforms
sparse                        `SparseFunction`: a support and a table on it
families                      conjunctions, parities, .. by name; random functions
expression, syntax            `parse`: from an expression (grammar.lark) to a function
evaluate                      from the syntax tree of an expression to a truth table
analysis                      symmetric, monotone, influences, `kind`
minimise, decompose, spelling from a function to a short expression
price                         the prior weight of a function, for Occam bounds
inputs, task, explain         a function with a distribution of inputs; the supports that fit a training set
"""

from .analysis import EXPLAINED as EXPLAINED
from .analysis import influences as influences
from .analysis import is_monotone as is_monotone
from .analysis import is_sparse as is_sparse
from .analysis import is_symmetric as is_symmetric
from .analysis import kind as kind
from .analysis import sup_norm as sup_norm
from .analysis import uniform_distance as uniform_distance
from .expression import as_function as as_function
from .expression import parse as parse
from .families import FAMILIES as FAMILIES
from .families import conjunction as conjunction
from .families import disjunction as disjunction
from .families import family as family
from .families import junta as junta
from .families import labels as labels
from .families import majority as majority
from .families import parity as parity
from .families import random_function as random_function
from .families import random_support as random_support
from .families import symmetric as symmetric
from .families import threshold as threshold
from .sparse import Predict as Predict
from .sparse import SparseFunction as SparseFunction
from .sparse import from_table as from_table
from .tables import MAX_S as MAX_S
from .tables import assignments as assignments
from .tables import check_bits as check_bits
