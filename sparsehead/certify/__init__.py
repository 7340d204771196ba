"""Proofs about one model: a Model and a function come in, a Certificate over all 2^T inputs goes out.

Read in this order:

balls, forward        numbers with error bounds; a model evaluated in them: exact arithmetic and float64 at once
brackets, lines       bounds on a head's mix over all inputs that share the relevant bits; heads that mix one scalar
chain, regions        bounds on the rest of the model: along a line, or over a set
mixtures, tails       what heads mix as sums over tokens: bounds for all inputs, and for all but a share of them
activation_lines, relaxation, signed
                      linear bounds of what follows: LayerNorm, MLP, read-out
search                inputs that are likely to be the worst
branches, share       bits split until all is proved; a proved bound on the share of wrong inputs
patterns              the proof from the 2^s patterns on the support
running               networks of other libraries, which can only be run
certificate, verify   the result; the public `verify`
check                 a checker of certificate files that needs nothing of this package
certificate_file      the content of such a file
written               a model that `build` wrote, with its certificate, norms and attention
"""

from .certificate import Certificate
from .verify import verify

__all__ = ["Certificate", "verify"]
