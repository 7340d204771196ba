"""Reading: find the sparse function that a Model, or any function of bits, computes; the result is a `Reading`.

Read in this order:

queries       a model as an oracle that counts queries and refuses outputs that are not numbers
junta         exact reading: relevant positions by binary search, then all 2^s patterns
sampling      reading of a nearly sparse model: the best junta under the input distribution
examples      labelled examples from a file; whether they can be independent draws
occam         a bound on the errors of function and model, from labelled examples
evidence      attention, influence and single flips, position by position; which head carries which position
breaking      the smallest set found of irrelevant flips that change a prediction
appearance    the step of training at which the support appears
result, read  the result; the public `read`
"""

from .read import read
from .result import Reading

__all__ = ["Reading", "read"]
