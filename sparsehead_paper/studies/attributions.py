"""Methods that estimate which positions a model depends on, each by its usual definition, for planted models.

Each takes a planted model and inputs (n, T), and returns scores (n, T), or (T,) for a score of the model as a whole.

    attention              weights that [CLS] gives to a position, mean over heads
    rollout                attention rollout (Abnar and Zuidema 2020): the mean of attention and the identity,
                           multiplied over layers; for one layer half of the attention, so it ranks positions alike
    gradient x input       <x_t, dF/dx_t> for the token x_t
    integrated gradients   (Sundararajan, Taly and Yan 2017) the gradient times x_t - x'_t, averaged along the line
                           from a baseline x' to the tokens x; x' is zero at every position, or the tokens of bits 0
    ablation               the change of the output if the token x_t is set to zero, or its bit is flipped
    probe                  how well a linear map predicts bit t from the state of [CLS]: R^2 on inputs that the map was
                           not fitted to, and 0 where that is negative
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from sparsehead._base.rng import stream
from sparsehead._base.types import Array, Float, Int
from sparsehead.heads.block import finish_attention
from sparsehead.planting.planted import Planted

if TYPE_CHECKING:
    from torch import Tensor

    from sparsehead.construct.torch_model import TorchModel

Scores = Float[Array, "*n T"]
Bits = Int[Array, "n T"]

STEPS = 128  # points along a path: on 72 models no score is off by more than 14 % of the largest (32 points: 57 %)


def attention(planted: Planted, bits: Bits) -> Scores:
    """Return the mean over heads of the attention on each position; the attention on [CLS] is left out."""
    return planted.model.attention(bits)[:, :, :-1].mean(axis=1)


def rollout(planted: Planted, bits: Bits) -> Scores:
    """Return [CLS]'s row of (A + I) / 2, with A the mean attention over heads of the only layer."""
    return attention(planted, bits) / 2


def gradient_times_input(planted: Planted, bits: Bits) -> Scores:
    """Return <x_t, dF/dx_t> for the token x_t at each position; F is the model's output."""
    import torch

    module = planted.torch()
    X = module.tokens(torch.as_tensor(bits)).detach()
    return _along(module, X, X)


def integrated_gradients(planted: Planted, bits: Bits, *, baseline: str, steps: int = STEPS) -> Scores:
    """Return the integrated gradients of each token, by the midpoint rule; [CLS] is the same along the path.

    Args:
        baseline: "zeros" for zero tokens, "bits 0" for the tokens of the input whose bits are all 0.
    """
    import torch

    module = planted.torch()
    X = module.tokens(torch.as_tensor(bits)).detach()
    start = module.tokens(torch.zeros_like(torch.as_tensor(bits))).detach()
    if baseline == "zeros":
        start[:, :-1] = 0
    parts = [_along(module, start + (i + 0.5) / steps * (X - start), X - start) for i in range(steps)]
    return np.mean(parts, axis=0)


def _along(module: "TorchModel", X: "Tensor", direction: "Tensor") -> Scores:
    """Return <direction_t, dF/dx_t> at the tokens X, for each position; F is the model's output."""
    import torch

    at = X.clone().requires_grad_()
    gradient = torch.autograd.grad(module.outputs(at).sum(), at)[0]
    return (gradient * direction).sum(-1)[:, :-1].numpy()


def ablation(planted: Planted, bits: Bits, *, to: str) -> Scores:
    """Return for each position how much the output changes if the token there is changed.

    Changing one token changes one term in each of a head's two sums, so all T changes of an input take little more time
    than the input itself.

    Args:
        to: "zero" for a zero token, "flip" for the other bit.
    """
    model = planted.model
    scores, values = model.cls_tables()
    weights = np.exp(scores - scores.max(axis=(0, 1)))
    terms = np.concatenate([weights[..., None] * values, weights[..., None]], axis=-1)  # (T + 1, 2, H, v + 1)
    own, other = (np.where(bits[..., None, None] == b, terms[:-1, 1], terms[:-1, 0]) for b in (1, 0))
    if to == "zero":
        other = np.zeros_like(own)
        other[..., -1] = np.exp(-scores.max(axis=(0, 1)))  # score 0, value 0
    sums = own.sum(axis=1, keepdims=True) + terms[-1, 0]
    changed = np.concatenate([sums, sums - own + other], axis=1)
    n, m, H, _ = changed.shape
    mixed = (changed[..., :-1] / changed[..., -1:]).reshape(n * m, H, -1)
    X = np.broadcast_to(model.encoding.cls, (n * m, model.d))
    outputs = model.read_out(finish_attention(X, list(mixed.swapaxes(0, 1)), model.layers[0])).reshape(n, m)
    return outputs[:, 1:] - outputs[:, :1]


def probe(planted: Planted, bits: Bits) -> Scores:
    """Return R^2 of a least-squares map from the state of [CLS] to each bit, on held-out inputs; not below 0.

    The inputs are drawn here with the planted model's seed; of `bits` only the number of positions is used.
    """
    most_inputs = 800  # to fit and test a linear probe, half of them each
    drawn = stream(planted.seed, "probe").integers(0, 2, (most_inputs, bits.shape[1]))
    states = planted.model.cls_state(drawn)
    states = np.hstack([states, np.ones((len(states), 1))])
    half = most_inputs // 2
    # Directions in which the state hardly varies are left out: they hold rounding errors.
    fitted, *_ = np.linalg.lstsq(states[:half], drawn[:half].astype(np.float64), rcond=1e-9)
    test = drawn[half:].astype(np.float64)
    left = ((test - states[half:] @ fitted) ** 2).sum(axis=0)
    return np.maximum(0.0, 1 - left / ((test - test.mean(axis=0)) ** 2).sum(axis=0))


METHODS: dict[str, Callable[[Planted, Bits], Scores]] = {
    "attention": attention,
    "attention rollout": rollout,
    "gradient x input": gradient_times_input,
    "integrated gradients from zero": lambda p, b: integrated_gradients(p, b, baseline="zeros"),
    "integrated gradients from bits 0": lambda p, b: integrated_gradients(p, b, baseline="bits 0"),
    "ablation to zero": lambda p, b: ablation(p, b, to="zero"),
    "ablation by flips": lambda p, b: ablation(p, b, to="flip"),
    "linear probe": probe,
}
