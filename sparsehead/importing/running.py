"""Run copies of torch modules as functions of bits, in evaluation mode and without gradients.

A module's input may be the bits themselves, embedded tokens (n, T + 1, d) with [CLS] last, or token ids. Import this
module only if torch is installed.
"""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .._base.arguments import real, shown
from .._base.errors import DomainError, SparseheadError
from .._base.types import Array, Int
from ..heads.encoding import Encoding
from .arrangement import Arrangement
from .network import Network, Run
from .stack import Readout


def copied(module: nn.Module, *, double: bool = False) -> nn.Module:
    """Return a copy of the module in evaluation mode, in float64 if `double`."""
    try:
        twin = copy.deepcopy(module).eval()
        return twin.double() if double else twin
    except Exception as error:  # whatever a foreign __deepcopy__ raises
        raise DomainError(f"this {type(module).__name__} cannot be copied: {_first_line(error)}") from error


def run_by_rows(ask: Callable[[Int[Array, "n T"]], Any], source: str) -> Run:
    """Return a function that calls `ask` on a few hundred inputs at a time and turns its errors into a DomainError."""

    def run(bits: Int[Array, "n T"]) -> Array:
        inputs_at_once = 512  # a language model's logits of 512 short inputs are below a gigabyte
        return np.concatenate(
            [_numbers(ask, bits[i : i + inputs_at_once], source) for i in range(0, len(bits), inputs_at_once)]
        )

    return run


def _numbers(ask: Callable[[Int[Array, "n T"]], Any], bits: Int[Array, "n T"], source: str) -> Array:
    try:
        with torch.no_grad():
            answer = ask(bits)
    except SparseheadError:
        raise
    except Exception as error:  # whatever a foreign module raises
        raise DomainError(f"{source} fails on bits of shape {bits.shape}: {_first_line(error)}") from error
    if not isinstance(answer, Tensor) or answer.is_complex():
        raise DomainError(
            f"{source} answers with {shown(answer)}; a tensor of one real number per input is needed."
        )
    answer = answer.reshape(1) if len(bits) == 1 and answer.numel() == 1 else answer
    return answer.detach().cpu().double().numpy()


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}, {lines[0][:150]}" if lines else type(error).__name__


def _home(module: nn.Module) -> tuple[torch.device, torch.dtype]:
    """Return the device and the dtype of the weights; the CPU and torch's default dtype if there are none."""
    for tensor in (*module.parameters(), *module.buffers()):
        if tensor.is_floating_point():
            return tensor.device, tensor.dtype
    return torch.device("cpu"), torch.get_default_dtype()


def module_of_bits(module: nn.Module, T: int, *, threshold: float | int | None) -> Network:
    """Return the `Network` of a module that maps bits (n, T), as floats or else as integers, to n numbers."""
    source, twin = type(module).__name__, copied(module)
    device, floats = _home(twin)
    zeros_and_ones = np.array([[0] * T, [1] * T])
    refused: list[DomainError] = []
    for dtype in (floats, torch.long):
        run = run_by_rows(partial(_ask_bits, twin, dtype, device), source)
        try:
            same = np.array_equal(run(zeros_and_ones), run(zeros_and_ones), equal_nan=True)
        except DomainError as error:
            refused.append(error)
            continue
        if not same:
            raise DomainError(
                f"{source} answers the same bits differently each time; it computes no function of them."
            )
        cut = 0.5 if threshold is None else real("threshold", threshold)
        why = "a module of bits is run as it is, whatever is inside"
        return Network(T, run, cut, guessed=threshold is None, why=why, source=source)
    raise refused[0]


def _ask_bits(module: nn.Module, dtype: torch.dtype, device: torch.device, bits: Int[Array, "n T"]) -> Any:
    return module(torch.as_tensor(bits, dtype=dtype, device=device))


def run_embedded(module: nn.Module, encoding: Encoding, readout: Readout, *, batch_first: bool) -> Run:
    """Return the function bits -> outputs of a module from tokens to states; the output is `readout` at [CLS]."""
    source = type(module).__name__
    device, dtype = _home(module)
    E, P, cls, w = (
        torch.as_tensor(part, dtype=dtype, device=device)
        for part in (encoding.E, encoding.positions(), encoding.cls, readout.w)
    )

    def ask(bits: Int[Array, "n T"]) -> Tensor:
        tokens = E[torch.as_tensor(bits, device=device)] + P
        X = torch.cat([tokens, cls.expand(len(bits), 1, -1)], dim=1)
        Z = X if batch_first else X.transpose(0, 1)
        states = (
            module(Z, Z, Z, need_weights=False) if isinstance(module, nn.MultiheadAttention) else module(Z)
        )
        states = states[0] if isinstance(states, tuple) else states
        if not isinstance(states, Tensor) or states.shape != Z.shape:
            got = tuple(states.shape) if isinstance(states, Tensor) else shown(states)
            raise DomainError(
                f"{source} maps tokens {tuple(Z.shape)} to {got}; states of the same shape are needed."
            )
        return (states[:, -1] if batch_first else states[-1]) @ w + readout.bias

    return run_by_rows(ask, source)


def run_tokens(module: Any, arrangement: Arrangement, readout: Readout | None) -> Run:
    """Return the function bits -> outputs of a language model: `readout` of the last state, or a logit difference."""
    source = type(module).__name__
    device, _ = _home(module)
    zero, one = arrangement.bits

    def ask(bits: Int[Array, "n T"]) -> Tensor:
        ids = torch.as_tensor(arrangement.ids(bits), device=device)
        if readout is not None:
            state = _states(module, ids)[:, arrangement.at]
            return state @ torch.as_tensor(readout.w, dtype=state.dtype, device=device) + readout.bias
        logits = _logits(module, ids)
        if logits.ndim == 3:
            return logits[:, arrangement.at, one] - logits[:, arrangement.at, zero]
        if logits.ndim == 2 and logits.shape[1] == 2:
            return logits[:, 1] - logits[:, 0]
        raise DomainError(
            f"{source} has logits {tuple(logits.shape)}; without readout= those of tokens or of two classes."
        )

    return run_by_rows(ask, source)


def _states(module: Any, ids: Tensor) -> Tensor:
    """Return the states after the last norm, (n, tokens, d)."""
    if hasattr(module, "base_model"):
        return module.base_model(input_ids=ids).last_hidden_state
    seen: list[Tensor] = []
    hook = module.unembed.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    try:
        module(ids)
    finally:
        hook.remove()
    return seen[0]


def _logits(module: Any, ids: Tensor) -> Tensor:
    if not hasattr(module, "base_model"):
        return module(ids)
    answer = module(input_ids=ids)
    if not hasattr(answer, "logits"):
        raise DomainError(
            f"{type(module).__name__} has no logits; give readout=, a vector that reads its states."
        )
    return answer.logits
