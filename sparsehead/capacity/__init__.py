"""Capacity bounds with explicit constants: norms of a model come in, ln N_inf and an error bound go out.

Read in this order:

norms, families, state_dicts          norms of matrices, of heads, of checkpoints; how each architecture scores
lipschitz                             how far softmax, heads and LayerNorm carry a change
linear, perceptron                    linear classes: the bound, and the cover that proves it
items, forms, pricing                 items (c, p), what each form charges for them, the account of a bound
head_class                            the class of heads with given norms
stages, attention_stages, networks    from a model to its items
generalization, integral              from covering numbers to error and sample size
declared                              what a bound is about: a model, norms, or a layer of another network
verdict                               whether a bound says anything at m samples
bound, trajectory                     the public `bound`; the same along training
"""

from .bound import Bound, bound
from .state_dicts import Norms, norms

__all__ = ["Bound", "Norms", "bound", "norms"]
