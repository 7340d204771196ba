"""Capacity bounds with explicit constants: norms of a model come in, ln N_inf and an error bound go out.

Read in this order:

norms, families, state_dicts          norms of matrices, of heads, of checkpoints; how each architecture scores
items, forms, pricing                 items (c, p), the charges of each form for them, the account of a bound
head_class                            the class of heads with given norms
stages, attention_stages, networks    from a model to its items
generalization                        from covering numbers to error and sample size
declared                              the class of a bound: of a model, of norms, or of another network's layer
verdict                               whether a bound says anything at m samples
bound                                 the public `bound`
"""

from .bound import Bound, bound
from .state_dicts import Norms, norms

__all__ = ["Bound", "Norms", "bound", "norms"]
