"""Proofs about one model: a Model and a function come in, a Certificate over all 2^T inputs goes out.

Read in this order:

chain, regions        what follows the attention, as a chain of steps; the image of a region under it
search                inputs that are likely to be the worst
patterns              for each of the 2^s patterns on the support, all outputs over the other bits
certificate, verify   the verdict; the public `verify`
"""

from .certificate import Certificate
from .verify import verify

__all__ = ["Certificate", "verify"]
