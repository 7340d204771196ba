"""Covering numbers, capacity and generalisation, with constants, on real weights.

logs, norms, state_dicts              numbers and norms
metrics, covers, external             covering and packing numbers of point sets
function_classes                      the same for functions on a sample
linear, perceptron                    linear classes: the bound, and the cover that proves it
lipschitz                             softmax, heads, LayerNorm
bounds, pricing, head_class           items, forms, the class of heads with given norms
stages, attention_stages, networks    models to items
generalization, relations, shattering from covering numbers to error, and to other measures
certificate, trajectory               the verdict; along training, and side by side
floor, elimination                    what no learner can beat
"""

from .certificate import Bound, bound
from .covers import Cover, covering_number
from .state_dicts import norms

__all__ = ["Bound", "Cover", "bound", "covering_number", "norms"]
