"""Capacity bounds with explicit constants: ln N_inf and an error bound, computed from the norms of a model.

Read in this order:

norms                                 norms of matrices and heads
architecture, families                the contract by which an architecture is read, and the built-in architectures
stored_weights, state_dicts           weights of attention layers by their names; norms of checkpoints
items, forms, pricing                 items (terms of a bound), their cost under each form, the union bound
head_class                            the class of heads with given norms
own_forms                             forms of a user's own: charges, formulas, names for this process
stages, attention_stages, networks    from a model to its items
generalization                        from covering numbers to error and sample size
declared                              the function class of a bound: from a model, norms, or another network
verdict                               whether a bound says anything at m samples
bound                                 the public `bound`
spectra                               spectra of a network's matrices, for the spectral proxies
neighbours, atlas                     further forms and proxies; the public `atlas`: every form for one class
small_classes, check_form             classes of known size; the public `check_form`, which tries to refute a form
"""

from .bound import Bound, bound
from .state_dicts import Norms, norms

__all__ = ["Bound", "Norms", "bound", "norms"]
