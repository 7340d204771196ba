# The public names and where they live. Type checkers read this file; at run time `__init__.py` reads it too, and
# imports each name when it is first used. A new public name is one line here.

from ._base.errors import SparseheadError as SparseheadError
from .capacity.atlas import atlas as atlas
from .capacity.bound import bound as bound
from .capacity.check_form import check_form as check_form
from .capacity.forms import Form as Form
from .capacity.own_forms import form as form
from .capacity.state_dicts import norms as norms
from .certify.verify import verify as verify
from .construct.build import build as build
from .construct.export import to_onnx as to_onnx
from .construct.export import to_torch as to_torch
from .construct.export import to_transformer_lens as to_transformer_lens
from .covering.cover import covering_number as covering_number
from .datasets.dataset import dataset as dataset
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
from .functions.task import Task as Task
from .heads.encoding import Encoding as Encoding
from .heads.model import Model as Model
from .heads.model_file import load as load
from .heads.model_file import save as save
from .importing.from_torch import from_torch as from_torch
from .importing.network import Network as Network
from .laws.data_curve import learning_curve as learning_curve
from .laws.law import law as law
from .planting.plant import plant as plant
from .probing.probe import probe as probe
from .reading.read import read as read
from .train.learn import learn as learn
from .train.learners.learner import Learner as Learner
from .train.learners.module import module as module

__all__: list[str]
__version__: str
