"""The search for an input on which a model is wrong, if no proof was found."""

import numpy as np

from .._base.rng import stream
from .._base.types import Array, Float, Shaped
from ..functions import SparseFunction, assignments
from ..heads.model import Model
from ..importing.network import Network
from .chain import tail

MOST_BITS = 2**22  # in all inputs together; random inputs are left out first


def judge(
    model: Model | Network, f: SparseFunction, bits: Shaped[Array, "n T"]
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """Return |output - f| and the signed distance from the threshold, in float64.

    A tie counts against label 1, as in `predict`. An output that is not a finite number is wrong: its error is
    infinite and its distance -infinity.
    """
    outputs, labels = model(bits), f(bits)
    signed = (outputs - model.threshold) * (2 * labels - 1)
    signed = np.where((signed == 0) & (labels == 0), np.finfo(float).tiny, signed)
    finite = np.isfinite(outputs)
    return np.where(finite, np.abs(outputs - labels), np.inf), np.where(finite, signed, -np.inf)


def wrong_alone(
    model: Model | Network, f: SparseFunction, inputs: Shaped[Array, "n T"], signed: Float[Array, " n"]
) -> tuple[Shaped[Array, " T"], float] | None:
    """Return an input on which the model is wrong when run on it alone, and its distance from the threshold; or None.

    The order of sums, and so the last digits of an output, depends on how many inputs are evaluated at once. Therefore
    the four worst inputs are run alone.
    """
    for i in np.argsort(signed, kind="stable")[:4]:
        if signed[i] <= 0 and (alone := judge(model, f, inputs[i : i + 1])[1][0]) <= 0:
            return inputs[i], float(alone)
    return None


def plain_inputs(f: SparseFunction) -> Shaped[Array, "n T"]:
    """Return each pattern of relevant bits, with all other bits 0 and with all other bits 1."""
    patterns = _patterns(f)
    return np.concatenate([_with(f, patterns, np.full(f.T, bit, dtype=np.uint8)) for bit in (0, 1)])


def worst_inputs(model: Model | Network, f: SparseFunction) -> Shaped[Array, "n T"]:
    """Return inputs on which the model is likely to be wrong. These are the plain ones and up to 512 random ones; for a
    one-layer model also plain ones changed, in four rounds, so that the linearised effect of each bit lowers the
    margin.
    """
    rng = stream(0, "counterexamples")  # a fixed seed is fine: no claim depends on which inputs are tried
    patterns, plain = _patterns(f), plain_inputs(f)
    copies = min(512, max(0, MOST_BITS // f.T - len(plain))) // len(patterns)
    random = rng.integers(0, 2, (copies, f.T), dtype=np.uint8)
    found = [plain, *(_with(f, patterns, rest) for rest in random)]
    if isinstance(model, Model) and model.L == 1:
        scores, values = model.cls_tables()
        weights = np.exp(scores - scores.max(axis=(0, 1)))
        driven = plain[: max(1, MOST_BITS // (8 * f.T))]
        for _ in range(4):
            driven = np.array([_driven(model, f, bits, weights, values) for bits in driven])
            found.append(driven)
    return np.concatenate(found)


def _patterns(f: SparseFunction) -> Shaped[Array, "n s"]:
    return assignments(f.s)[: max(1, min(256, MOST_BITS // (2 * f.T)))]


def _with(
    f: SparseFunction, patterns: Shaped[Array, "n s"], rest: Shaped[Array, " T"]
) -> Shaped[Array, "n T"]:
    bits = np.repeat(rest[None], len(patterns), axis=0)
    bits[:, list(f.support)] = patterns
    return bits


def _driven(
    model: Model, f: SparseFunction, bits: Shaped[Array, " T"],
    weights: Float[Array, "n 2 H"], values: Float[Array, "n 2 H v"],
) -> Shaped[Array, " T"]:  # fmt: skip
    """Set every irrelevant bit of `bits` to the value that lowers the margin, to first order at `bits`."""
    on = np.append(bits, 0).astype(np.int64)
    rows = np.arange(len(on))
    w = weights[rows, on]
    total = w.sum(axis=0)
    if not (total > 0).all():
        return bits
    mixed = np.einsum("nh,nhv->hv", w, values[rows, on]) / total[:, None]
    pull = np.einsum("nbh,nbhv->nbhv", weights, values - mixed) / total[:, None]
    effect = np.einsum("nhv,hv->n", pull[:, 1] - pull[:, 0], gradient(model, mixed))[:-1]
    wrong = -1.0 if f(bits) == 1 else 1.0
    changed = (wrong * effect > 0).astype(np.uint8)
    changed[list(f.support)] = bits[list(f.support)]
    return changed


def gradient(model: Model, mixed: Float[Array, "H v"]) -> Float[Array, "H v"]:
    """Return the gradient of the output by the mixed values, computed from finite differences."""
    step = 1e-5 * max(1.0, float(np.abs(mixed).max()))
    moved = mixed[None] + step * np.eye(mixed.size).reshape(-1, *mixed.shape)
    outputs = tail(model, np.concatenate([mixed[None], moved]))
    return ((outputs[1:] - outputs[0]) / step).reshape(mixed.shape)
