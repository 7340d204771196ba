"""`from_torch`: convert a network of another library to an equivalent `Model`, or wrap it as a `Network`."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.arguments import real, shown, whole
from .._base.errors import DomainError, ShapeError
from .._base.rng import stream
from .._base.types import Array, Float, Shaped
from ..functions import assignments
from ..heads.encoding import trainable
from ..heads.model import Model
from .arrangement import arranged
from .network import Network, Run, as_network, is_module
from .stack import NoModel, Readout, model_of
from .tracr import is_tracr, run_tracr, tracr_model

if TYPE_CHECKING:
    from torch import nn


def from_torch(
    module: "nn.Module | Mapping[str, Any]",
    *,
    embeddings: Any = None,
    positions: Any = None,
    readout: Any = None,
    tokens: Sequence[int] | None = None,
    before: Sequence[int] = (),
    after: Sequence[int] = (),
    at: int = -1,
    T: int | None = None,
    heads: int | None = None,
    threshold: float | int | None = None,
) -> Model | Network:
    """Return a network of another library as a `Model` or a `Network`, for `verify`, `read`, `bound` and others.

    There are three ways to specify how bits become inputs of the module:

        embeddings, positions, readout    tokens E_b + P_t, then [CLS], where the output is read; for
                                          nn.MultiheadAttention, nn.TransformerEncoderLayer, nn.TransformerEncoder, and
                                          any module that maps (n, T + 1, d) to the same shape
        tokens, T, before, after, at      two token ids; for models of transformers, HookedTransformer, and Tracr
        T alone                           a module that maps bits (n, T) to n numbers

    The result is a `Model` if an equivalent one exists. It is compared with the module in float64, on all inputs up to
    T = 8 and on 256 inputs for larger T; the difference (`meta["distance"]`) must be at most 1e-12 times the larger of
    1 and the largest output. Otherwise the result is a `Network`, which runs a copy of the module, in float64 if it
    can; `why` gives the reason.

    Args:
        module: a torch module, a model compiled by Tracr, or the parameters of such a model.
        embeddings: (3, d): the vectors of bit 0, of bit 1 and of [CLS].
        positions: (T, d), one vector for each position.
        readout: maps the last state to the output: a vector (d,), a pair (vector, bias), or an nn.Linear with one
            output, or with two, whose difference is the output. With `tokens` it may be omitted: the output is then the
            logit of bit 1 minus the logit of bit 0, or of class 1 minus class 0.
        tokens: the token ids of bit 0 and of bit 1.
        before, after: the token ids before and after the bits.
        at: the index of the token at which the output is read; by default the last.
        T: number of bits.
        heads: heads per layer, for Tracr's parameters.
        threshold: outputs above it predict 1. By default 0 for differences of logits, else 1/2.
    Raises:
        DomainError, ShapeError: arguments do not fit the module or each other, or the module fails.

    >>> import torch
    >>> _ = torch.manual_seed(0)
    >>> layer = torch.nn.TransformerEncoderLayer(8, 2, batch_first=True)
    >>> from_torch(layer, embeddings=torch.randn(3, 8), positions=torch.randn(6, 8), readout=torch.randn(8))
    <Model: 1 layer of 2 heads, T=6, d=8; from TransformerEncoderLayer>
    """
    if not is_module(module) and not is_tracr(module):
        raise DomainError(
            f"module is a torch module, or Tracr's compiled model or parameters; got {shown(module)}."
        )
    if threshold is not None:
        real("threshold", threshold)
    given = {"embeddings": embeddings, "positions": positions, "tokens": tokens, "readout": readout}
    if embeddings is not None or positions is not None:
        _refuse("embeddings=", tokens=tokens, T=T, heads=heads, before=before or None, after=after or None)
        if at != -1:
            raise DomainError(
                f"with embeddings= the last token, [CLS], is read; at={shown(at)} belongs to tokens=."
            )
        return _from_embedded(module, given, threshold)
    if tokens is not None:
        shape = {"tokens": tokens, "before": before, "after": after, "T": T, "at": at}
        return _from_tokens(module, shape, readout, heads, threshold)
    _refuse("T= alone", readout=readout, heads=heads, before=before or None, after=after or None)
    if not is_module(module):
        raise DomainError(
            "Tracr's models read tokens; give the tokens of the bits: tokens=(id of 0, id of 1), T=."
        )
    if hasattr(module, "to_model"):
        return as_network(module)
    if T is None:
        raise DomainError(
            "say how bits are represented: embeddings=, positions= and readout=; tokens= and T=; or T= alone for a "
            "module of bits."
        )
    return as_network(module, whole("T", T), threshold=threshold)


def _refuse(form: str, **others: Any) -> None:
    for name, value in others.items():
        if value is not None:
            raise DomainError(f"{name}= does not go together with {form}.")


def _numbers(name: str, value: Any, ndim: int) -> Array:
    """Return an array or tensor as a float64 array; raise unless it has `ndim` axes and finite entries."""
    value = getattr(value, "weight", value)
    try:
        value = value.detach().cpu() if hasattr(value, "detach") else value
        array = np.asarray(value)
        if array.dtype.kind not in "fiu":
            raise TypeError
        array = array.astype(np.float64)
    except (TypeError, ValueError, RuntimeError):
        raise DomainError(f"{name} is an array of numbers; got {shown(value)}.") from None
    if array.ndim != ndim:
        raise ShapeError(f"{name} has {ndim} axes; got shape {array.shape}.")
    if not np.isfinite(array).all():
        raise DomainError(f"{name} has NaN or infinite entries; finite numbers are needed.")
    return array


def _readout(value: Any, d: int, threshold: float | int | None) -> Readout:
    """Return the argument `readout` as a `Readout` for states of width d."""
    bias, default = 0.0, 0.5
    if hasattr(value, "weight"):
        W = _numbers("the weight of readout", value.weight, 2)
        b = np.zeros(len(W)) if value.bias is None else _numbers("the bias of readout", value.bias, 1)
        if len(W) not in (1, 2):
            raise ShapeError(f"readout is a linear map to one number or two logits; got {len(W)} outputs.")
        w, bias, default = (W[0], float(b[0]), 0.5) if len(W) == 1 else (W[1] - W[0], float(b[1] - b[0]), 0.0)
    elif isinstance(value, tuple) and len(value) == 2 and np.ndim(value[0]) == 1:
        w, bias = _numbers("readout", value[0], 1), real("the bias of readout", value[1])
    else:
        w = _numbers("readout", value, 1)
    if w.shape != (d,):
        raise ShapeError(f"readout has {len(w)} entries; states have d={d}.")
    return Readout(w, bias, default if threshold is None else float(threshold))


def _from_embedded(module: Any, given: dict[str, Any], threshold: float | int | None) -> Model | Network:
    for name in ("embeddings", "positions", "readout"):
        if given[name] is None:
            raise DomainError(f"embeddings=, positions= and readout= belong together; {name}= is missing.")
    if not is_module(module):
        raise DomainError(
            "Tracr's models have their own embeddings; say which tokens are the bits: tokens=, T=."
        )
    embeddings, positions = (_numbers(name, given[name], 2) for name in ("embeddings", "positions"))
    if len(embeddings) != 3:
        raise ShapeError(
            f"embeddings are those of bit 0, bit 1 and [CLS], (3, d); got shape {embeddings.shape}."
        )
    if positions.shape[1] != embeddings.shape[1] or not len(positions):
        raise ShapeError(
            f"positions are (T, d) with d={embeddings.shape[1]} and T >= 1; got shape {positions.shape}."
        )
    from .modules import attention_of, stack_of
    from .running import copied, run_embedded

    encoding = trainable(P=positions, E=embeddings[:2], cls=embeddings[2])
    attention = attention_of(module)
    if attention is not None and attention.embed_dim != encoding.d:
        raise ShapeError(f"embeddings have d={encoding.d}, the module works in d={attention.embed_dim}.")
    readout = _readout(given["readout"], encoding.d, threshold)
    batch_first = attention is None or bool(attention.batch_first)

    def run(double: bool) -> Run:
        return run_embedded(copied(module, double=double), encoding, readout, batch_first=batch_first)

    return _model_or_network(
        module,
        encoding.T,
        readout.threshold,
        run,
        lambda meta: model_of(stack_of(module), encoding, readout, meta),
    )


def _from_tokens(
    module: Any, shape: dict[str, Any], readout: Any, heads: int | None, threshold: float | int | None
) -> Model | Network:
    if is_tracr(module):
        return _from_tracr(module, shape, readout, heads, threshold)
    from .running import copied, run_tokens
    from .token_models import is_hooked, logit_readout, sizes_of, token_model_of

    _refuse("a torch module", heads=heads)
    if not is_hooked(module) and not hasattr(getattr(module, "config", None), "vocab_size"):
        raise DomainError(
            f"tokens= is for models of transformers, HookedTransformer and Tracr; a {type(module).__name__} has no "
            "vocabulary: give embeddings= and positions=."
        )
    vocabulary, longest, d = sizes_of(module)
    arrangement = arranged(**shape, vocabulary=vocabulary, longest=longest)
    given = None if readout is None else _readout(readout, d, threshold)

    def run(double: bool) -> Run:
        return run_tokens(copied(module, double=double), arrangement, given)

    def make(meta: dict[str, Any]) -> Model:
        read = logit_readout(module, arrangement) if given is None else given
        found = token_model_of(module)
        read = Readout(read.w, read.bias, cut)
        return model_of(found.stack, found.encoding(arrangement), read, meta)

    cut = given.threshold if given is not None else 0.0 if threshold is None else float(threshold)
    return _model_or_network(module, arrangement.T, cut, run, make)


def _from_tracr(
    module: Any, shape: dict[str, Any], readout: Any, heads: int | None, threshold: float | int | None
) -> Model | Network:
    if readout is None:
        raise DomainError(
            "Tracr's parameters have no read-out; give readout=, a vector over its residual stream."
        )
    found = tracr_model(module, heads)
    arrangement = arranged(**shape, vocabulary=len(found.words), longest=len(found.places))
    read = _readout(readout, found.words.shape[1], threshold)
    run = run_tracr(found, arrangement, read)
    return _model_or_network(
        "Tracr", arrangement.T, read.threshold, lambda double: run,
        lambda meta: model_of(found.stack, found.encoding(arrangement), read, meta),
    )  # fmt: skip


def _model_or_network(
    module: Any, T: int, threshold: float, run: Callable[[bool], Run], make: Callable[[dict[str, Any]], Model]
) -> Model | Network:
    """Return the Model that `make` makes if its outputs agree with those of `run` in float64; else a Network."""
    source = module if isinstance(module, str) else type(module).__name__
    try:
        return _measured(make({"source": source}), run(True))
    except NoModel as reason:
        why = f"no Model: {reason}"
    two = np.array([[0] * T, [1] * T])  # a module that fails does so now, not in the middle of a proof
    try:
        network = Network(T, run(True), threshold, why=why, source=source)
        network(two)
    except DomainError:
        network = Network(
            T, run(False), threshold, why=f"{why}; it runs in its own precision only", source=source
        )
        network(two)
    return network


def _measured(model: Model, run: Run) -> Model:
    """Return the model, after writing the largest difference between its outputs and those of `run` to its `meta`.

    Raises:
        NoModel: the difference is too large.
    """
    bits = _some_inputs(model.T)
    theirs: Float[Array, " n"] = run(bits)
    ours = model(bits)
    distance = float(np.abs(ours - theirs).max())
    # a Model may be this far from the module in float64, relative to the largest output or to 1
    farthest = 1e-12
    if not distance <= farthest * max(1.0, float(np.abs(theirs).max())):
        raise NoModel(f"the Model with its weights differs from it by {distance:.2g}")
    model.meta.update(distance=distance, inputs_compared=len(bits))
    return model


def _some_inputs(T: int) -> Shaped[Array, "n T"]:
    """Return all inputs if T <= 8, else the two constant inputs and 254 random ones."""
    if T <= 8:
        return assignments(T).astype(np.int64)
    random = stream(0, "import").integers(0, 2, (254, T))
    return np.vstack([np.zeros((1, T), dtype=np.int64), np.ones((1, T), dtype=np.int64), random])
