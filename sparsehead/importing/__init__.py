"""Networks of other libraries: a torch module or its weights come in, a Model or a Network goes out.

Read in this order:

network                  `Network`, a function of bits that another library computes; what `read` and `verify` accept
stack                    blocks of a Transformer as other libraries arrange them, and the Model that computes the same
arrangement              which tokens stand for the bits, and which stand before and after them
running                  torch modules on bits, on embedded tokens, and on token ids
modules, token_models    weights of torch's own encoders; of BERT, GPT-2 and HookedTransformer
tracr                    parameters that Tracr compiled
from_torch               the public `from_torch`
"""

from .from_torch import from_torch
from .network import Network, as_network

__all__ = ["Network", "as_network", "from_torch"]
