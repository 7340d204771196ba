# The public names and where they live. Type checkers read this file; at run time `__init__.py` reads it too, and
# imports each name when it is first used. A new public name is one line here.

from .capacity import bound as bound
from .capacity import norms as norms
from .certify import verify as verify
from .construct import build as build
from .construct import to_torch as to_torch
from .covering import covering_number as covering_number
from .encoding import Encoding as Encoding
from .errors import SparseheadError as SparseheadError
from .experiments.law import law as law
from .functions import SparseFunction as SparseFunction
from .functions import conjunction as conjunction
from .functions import disjunction as disjunction
from .functions import from_table as from_table
from .functions import majority as majority
from .functions import parity as parity
from .functions import parse as parse
from .functions import random_function as random_function
from .functions import symmetric as symmetric
from .functions import threshold as threshold
from .model import Model as Model
from .model_file import load as load
from .model_file import save as save
from .probing.prober import probe as probe
from .reading import read as read
from .task import Task as Task
from .train.learn import learn as learn

__all__: list[str]
__version__: str
