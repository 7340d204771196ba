"""Import networks of other libraries: a torch module or its weights come in, a Model or a Network goes out.

Read in this order:

network                  `Network`, a function of bits that another library computes, for `read` and `verify`
stack                    Transformer blocks with pre-norm or post-norm, and the conversion to an equivalent Model
arrangement              the token ids of the bits, and the fixed tokens before and after them
running                  run torch modules on bits, on embedded tokens, or on token ids
modules, token_models    extract weights of torch's own encoders; of BERT, GPT-2 and HookedTransformer
tracr                    extract weights from models that Tracr compiled
from_torch               the public `from_torch`
"""

from .from_torch import from_torch
from .network import Network, as_network

__all__ = ["Network", "as_network", "from_torch"]
