"""Reading: a Model, or any function of bits, comes in; the sparse function it computes goes out, with what is known
of it.

Read in this order:

queries            a model as an oracle that counts what it is asked, and refuses outputs that are no numbers
junta              exact reading: relevant positions by binary search, then all 2^s patterns
sampling           reading of a model that is only nearly sparse: the best junta under the input distribution
sample_checks      whether examples can be independent, and their bits 1 with chance p
occam              what the training set says about the function read: an Occam bound
evidence           attention, influence and single flips, position by position
breaking           the fewest irrelevant flips found that change a prediction
ablation           which head carries which position
appearance         when the support appears while a model is trained
examples           labelled samples from a CSV file
result, read       the result; the public `read`
"""

from .read import read
from .result import Reading

__all__ = ["Reading", "read"]
