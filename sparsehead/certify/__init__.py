"""Prove that a Model computes a function on all 2^T inputs, and return a Certificate.

A head mixes values: its mix is the average of the tokens' values, weighted by attention. Read in this order:

balls, forward        numbers with error bounds; a model evaluated in them, for exact arithmetic and float64 at once
brackets, lines       bounds on a head's mix over all inputs that share the relevant bits; heads that mix one scalar
chain, regions        bounds on the rest of the model: along a line, or over a set
mixtures, sums, tails mixes as sums over tokens: bounds for all inputs, and for all but a small share of them
activation_lines, relaxation, signed
                      linear bounds on the rest of the model: LayerNorm, MLP, read-out
search                inputs on which the model is likely to be wrong
branches, share       split bits until all inputs are proved; a proved bound on the share of wrong inputs
patterns              the proof from the 2^s patterns on the support
running               networks of other libraries, whose weights are not known
certificate, verify   the result; the public `verify`
check                 a checker of certificate files that needs nothing of this package
certificate_file      the content of such a file
coq                   the certificate as a theorem for a proof assistant
written               a model that `build` wrote, with its certificate, norms and attention
"""

from .certificate import Certificate
from .verify import verify

__all__ = ["Certificate", "verify"]
