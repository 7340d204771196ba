"""The activations of `heads` in torch. Import this module only if torch is installed."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

TORCH_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "identity": lambda x: x,
    "relu": torch.relu,
    "gelu": torch.nn.functional.gelu,
    "tanh": torch.tanh,
    "gelu_tanh": partial(torch.nn.functional.gelu, approximate="tanh"),
}
