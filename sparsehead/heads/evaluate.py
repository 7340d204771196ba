"""Evaluate one model on many inputs, fast; the outputs equal those of `Model.__call__` up to rounding.

A token at position t with bit b has weight e_{t,b} = exp(score - shift) and value V_{t,b}, with one shift per head; the
weight and value of [CLS] are e_c and V_c. For all inputs B in {0,1}^{n x T} at once, a head's mixed value is then a
ratio of two sums, given by matrix products:

    numerator   = sum_t e_{t,0} V_{t,0} + e_c V_c + B (e_1 V_1 - e_0 V_0)
    denominator = sum_t e_{t,0} + e_c + B (e_1 - e_0).

Columns in which both bits agree are left out of the product. If this denominator is a small difference of large sums,
the sums over t start from the bit with the smaller weight at each position, not from bit 0. The matrix product is then
twice as wide, but only adds positive weights. If only linear maps follow the heads up to the next activation, these
maps are multiplied together once, so that no vector of length d is formed per input. `Model.__call__` evaluates models
of more than one layer, and inputs whose denominator is so small that its terms may be subnormal.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from .._base.types import Array, Float, Shaped
from .block import finish_attention, finish_mlp
from .heads import activation
from .model import Model

Outputs = Callable[[Shaped[Array, "n T"]], Float[Array, " n"]]


def evaluator(model: Model) -> Outputs:
    """Return a function from bits (n, T) to the outputs (n,) of `model`, for repeated use."""
    return _OneLayer(model) if model.L == 1 else model


class _OneLayer:
    """The evaluation of a one-layer model by the formula above; its tables are computed once."""

    def __init__(self, model: Model) -> None:
        self.model = model
        scores, values = model.cls_tables()
        shift = scores.max(axis=(0, 1), where=np.isfinite(scores), initial=-np.inf)
        with np.errstate(over="ignore", invalid="ignore"):
            e = np.exp(scores - shift)[..., None]
            parts = np.concatenate([e * values, e], axis=-1)
        self.parts = parts
        n, _, self.H, self.width = parts.shape
        zero, one = (parts[:-1, b].reshape(n - 1, -1) for b in (0, 1))
        self.base = parts[-1, 0].reshape(-1) + zero.sum(axis=0)
        self.moved = np.flatnonzero((one != zero).any(axis=0))
        self.change = one[:, self.moved] - zero[:, self.moved]
        digits_lost = 1e-4  # least ratio of a denominator to the sums behind it
        self.least_denominator = 1e-200  # weights below 1e-308 have few digits
        whole = self.base.reshape(self.H, self.width)[:, -1]
        self.least = np.maximum(self.least_denominator, digits_lost * whole)
        self.tail = _short_tail(model) or _whole_tail(model)

    def __call__(self, bits: Shaped[Array, "n T"]) -> Float[Array, " n"]:
        numbers_at_once = 2**23  # bits held as float64 at once: 64 MB
        rows = max(1, numbers_at_once // self.model.T)
        parts = [self._outputs(bits[i : i + rows]) for i in range(0, len(bits), rows)]
        return np.concatenate(parts) if parts else np.empty(0)

    def _outputs(self, bits: Shaped[Array, "n T"]) -> Float[Array, " n"]:
        sums = np.repeat(self.base[None], len(bits), axis=0)
        sums[:, self.moved] += bits.astype(np.float64) @ self.change
        sums = sums.reshape(-1, self.H, self.width)
        total = sums[..., -1]
        # Written so that NaN counts as too small.
        small = ~(total >= self.least).all(axis=1)
        if small.any():
            sums[small] = self._added(bits[small])
            small[small] = ~(total[small] >= self.least_denominator).all(axis=1)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            outputs = self.tail(sums[..., :-1] / total[..., None])
        if small.any():
            outputs[small] = self.model(bits[small])
        return outputs

    def _added(self, bits: Shaped[Array, "n T"]) -> Float[Array, "n H width"]:
        """Return numerators and denominators as sums of positive weights, without any subtraction."""
        base, raised = self._from_lighter_bits
        return (np.hstack([bits, 1 - bits]).astype(np.float64) @ raised + base).reshape(
            -1, self.H, self.width
        )

    @cached_property
    def _from_lighter_bits(self) -> tuple[Float[Array, " c"], Float[Array, "rows c"]]:
        """Return the sums if each bit has its value of smaller weight, and the amounts that bits with value 1, and bits
        with value 0, add to these sums.
        """
        zero, one = self.parts[:-1, 0], self.parts[:-1, 1]
        up = one[..., -1:] > zero[..., -1:]
        raised = np.concatenate([np.where(up, one - zero, 0.0), np.where(up, 0.0, zero - one)])
        base = self.parts[-1, 0] + np.where(up, zero, one).sum(axis=0)
        return base.reshape(-1), raised.reshape(len(raised), -1)


Tail = Callable[[Float[Array, "n H v"]], Float[Array, " n"]]


def _whole_tail(model: Model) -> Tail:
    """Return the map from the heads' mixed values to the outputs, computed by the definitions in `block`."""
    layer = model.layers[0]

    def tail(mixed: Float[Array, "n H v"]) -> Float[Array, " n"]:
        X = np.broadcast_to(model.encoding.cls, (len(mixed), model.d))
        return model.read_out(finish_mlp(finish_attention(X, list(mixed.swapaxes(0, 1)), layer), layer))

    return tail


def _short_tail(model: Model) -> Tail | None:
    """Return the map of `_whole_tail` with W_C and the next linear map as one matrix; None if an MLP, a projection or
    the final LayerNorm is between them.
    """
    layer = model.layers[0]
    if layer.mlp is not None or layer.project or model.final_norm is not None:
        return None
    W, b = (
        (model.decoder[0].W, model.decoder[0].b)
        if model.decoder
        else (model.w[:, None], np.array([model.bias]))
    )
    sigma = activation(layer.sigma)
    heads = layer.W_C.reshape(-1, model.d) @ W
    constant = (
        b + (0 if layer.b_C is None else layer.b_C @ W) + (model.encoding.cls @ W if layer.residual else 0)
    )

    def tail(mixed: Float[Array, "n H v"]) -> Float[Array, " n"]:
        y = sigma(mixed).reshape(len(mixed), -1) @ heads + constant
        if not model.decoder:
            return y[:, 0]
        y = np.maximum(y, 0)
        for dense in model.decoder[1:]:
            y = dense(y)
        return y @ model.w + model.bias

    return tail
