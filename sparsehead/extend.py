"""The interfaces for extensions: a package that adds one needs to import only from this module.

| kind | write | give it | entry point group | it is used by |
|---|---|---|---|---|
| learner | `Fit` | `Learner` | `sparsehead.learners` | `learn`, `law`, sweeps, the store |
| engine | `Engine` | `NamedEngine` | `sparsehead.engines` | `learn --engine`, `law --engine` |
| encoding | `MakeEncoding` | `NamedEncoding` | `sparsehead.encodings` | `build`, `learn`, `law` |
| construction | `Construction` | itself | `sparsehead.constructions` | `build --method`, with its proof |
| bound form | `ChargeFor` | `Form` | `sparsehead.forms` | `bound`, `probe` |
| | `Formula` | `@sh.form(..)` | | `bound(norms=..)` |
| architecture | `ReadScale`, `Rotate`, `ReadMask` .. | `Architecture` | `sparsehead.architectures` | `probe`, `norms` |
| figure | `Draw` | `Figure` | `sparsehead.figures` | `figure`, the report |
| claim | `Check` | `@claim(..)` | `sparsehead.claims` | `reproduce`, the report |

Write the function or class of the second column: a Protocol, whose signature a type checker compares with yours. Give
an object of the third column to the entry point group of the fourth in your pyproject.toml. CONTRIBUTING.md has a
working example of each. The library's own extensions implement the same interfaces.

Importing this module loads neither torch nor Altair. It also has the building blocks of the library's own extensions,
each imported when it is first used.
"""

from typing import TYPE_CHECKING

from ._base.claim import Check as Check
from ._base.claim import Claim as Claim
from ._base.claim import Context as Context
from ._base.claim import Finding as Finding
from ._base.claim import claim as claim
from ._base.claim import finding as finding
from ._base.claim import judged as judged
from ._base.errors import DomainError as DomainError
from ._base.lazy import names_for_type_checkers, names_from
from ._base.types import Array as Array
from ._base.types import Float as Float
from ._base.types import Shaped as Shaped
from .capacity.architecture import Architecture as Architecture
from .capacity.architecture import MakeModel as MakeModel
from .capacity.architecture import ReadCap as ReadCap
from .capacity.architecture import ReadMask as ReadMask
from .capacity.architecture import ReadScale as ReadScale
from .capacity.architecture import Rotate as Rotate
from .capacity.architecture import RunModel as RunModel
from .capacity.forms import Charge as Charge
from .capacity.forms import ChargeFor as ChargeFor
from .capacity.forms import Form as Form
from .capacity.head_class import HeadClass as HeadClass
from .capacity.norms import MatrixNorms as MatrixNorms
from .capacity.own_forms import Formula as Formula
from .construct.compact import Construction as Construction
from .figures.figure import Draw as Draw
from .figures.figure import Figure as Figure
from .functions import Predict as Predict
from .functions import SparseFunction as SparseFunction
from .functions.task import Sample as Sample
from .heads.encoding import Encoding as Encoding
from .heads.encoding import MakeEncoding as MakeEncoding
from .heads.encoding import NamedEncoding as NamedEncoding
from .heads.model import Model as Model
from .train.data import FreshBatches as FreshBatches
from .train.learners.learner import ChooseEngine as ChooseEngine
from .train.learners.learner import Fit as Fit
from .train.learners.learner import Learner as Learner
from .train.learners.own import Estimator as Estimator
from .train.learners.own import FitFunction as FitFunction
from .train.spec import TrainSpec as TrainSpec
from .train.transformer.engine import DescribeEngine as DescribeEngine
from .train.transformer.engine import Engine as Engine
from .train.transformer.engine import MakeEngine as MakeEngine
from .train.transformer.engine import NamedEngine as NamedEngine
from .train.transformer.engine import Refusal as Refusal

if TYPE_CHECKING:  # also read at run time: each of these names is imported when it is first used
    from ._base.log_math import log_ln as log_ln
    from .certify.verify import verify as verify
    from .construct.assemble import intervals as intervals
    from .construct.assemble import with_mlp as with_mlp
    from .construct.attention import additive_selection as additive_selection
    from .construct.build import build as build
    from .construct.code import Code as Code
    from .construct.decoder import plateaus as plateaus
    from .figures.theme import Chart as Chart
    from .figures.theme import finish as finish
    from .figures.theme import named as named
    from .functions import conjunction as conjunction
    from .functions import is_symmetric as is_symmetric
    from .functions import parity as parity
    from .train.transformer.forward import losses as losses
    from .train.transformer.forward import margins as margins
    from .train.transformer.layout import layout as layout
    from .train.transformer.weights import initial as initial
    from .train.transformer.weights import to_model as to_model

__getattr__ = names_from(__name__, names_for_type_checkers(__file__))
