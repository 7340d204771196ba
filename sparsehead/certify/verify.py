"""`verify`: prove or refute that a model computes f on all 2^T inputs. The method depends on T and the model:

    T <= 18            try every input, in float64 and in balls (T <= 12 for more than one layer; on request up to
                       T = 20)
    one layer          the 2^T inputs are covered by the 2^s patterns of relevant bits:
        scalar         all values lie on a line, so the head mixes one scalar o; its range per pattern is bounded
                       (`brackets`), and the output is piecewise linear in it
        ReLU chain     linear bounds over the box of mixed values, or over the zonotope if no bit moves attention
        anything else  linear bounds; patterns are split by further bits until all are proved, an input is wrong, or
                       time is up (`branches`); with method="patterns" interval arithmetic
    otherwise          a search for counterexamples, which proves nothing
    other libraries    run the network on every input, or on chosen ones (`running`)

Given p, the probability of a 1, a model that is not proved gets a bound on its share of wrong inputs (`share`).

A proof holds for two evaluations at once: the model in exact arithmetic, with its float64 weights as exact numbers, and
`Model.__call__` in float64, with sums in any order. Every bound includes a term for rounding (`balls`).

A model that does not compute f is never certified: `correct` is True only if every input was bounded, and False only
together with an input on which the model, run on it, is wrong. NaN and infinity prove nothing, and an output that is
not finite is a counterexample.
"""

import os
import time
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base import arguments
from .._base.arguments import choice
from .._base.errors import DomainError
from .._base.types import Array, Float, Shaped
from ..functions import MAX_S, SparseFunction, as_function
from ..heads.model import Model
from ..heads.model_file import as_model
from ..importing.network import Network, as_network
from .branches import Progress
from .certificate import TOLERANCE, Certificate, Proof
from .forward import outputs
from .lines import scalar_gap, worst_leak
from .mixtures import Tokens
from .patterns import Splits, nothing, prove_by_patterns
from .relaxation import applies, largest_output
from .running import verify_network
from .search import judge, worst_inputs, wrong_alone
from .share import enumerated_share, proved_share

if TYPE_CHECKING:
    from torch import nn

MOST_PATTERN_TOKENS = 2**33  # patterns x tokens beyond which a proof by patterns would take hours
INPUTS_AT_ONCE = 2**14  # in an enumeration


def verify(
    model: "Model | Network | nn.Module | str | Path",
    f: SparseFunction | str,
    *,
    method: str | None = None,
    p: float | int | Sequence[float] | None = None,
    limit_seconds: float | int | None = None,
    progress: Progress | None = None,
) -> Certificate:
    """Bound |model - f| over all inputs, in exact arithmetic and in float64, or find a counterexample.

    Args:
        model: a Model, or the path of a model file. A Network, or a torch module that maps bits (n, T) to numbers, is
            run on every input up to T = 16 (up to T = 20 with method="exhaustive"), and on chosen inputs for larger T.
        f: the function, or its expression; T is the model's.
        method: "exhaustive" (T <= 20), "patterns" (one layer, any T), "branches" (the same with bits split), or
            "search" (no proof); by default chosen by T.
        p: probability of a 1, for all bits or one for each position; `share` then bounds how often model and f differ.
        limit_seconds: processor time for splitting; by default 60. With p the default is 30, a third of it for the
            proof and the rest for the share of wrong inputs.
        progress: called from time to time with the share of inputs proved and the number of parts bounded so far.
    Raises:
        DomainError: f and the model have different T, or the method does not apply.
    Paper: exact-certificate, sparse-representation

    >>> from sparsehead import build
    >>> found = verify(build("x2 & x5", T=30), "x2 & x5")
    >>> found.correct, found.method, found.max_error < 1e-9
    (True, 'scalar', True)
    """
    path = Path(model) if isinstance(model, str | os.PathLike) else None
    given = as_network(model, f.T if isinstance(f, SparseFunction) else None)
    if isinstance(given, Network):
        run = verify_network(given, as_function(f, given.T, asker="verify"), method=method)
        return _with_share(run, p, 0.0 if run.correct else 1.0)
    model = as_model(given, hint="such as sh.build(f) or sh.load(path); it comes first, then f")
    f = as_function(f, model.T if isinstance(f, str) else None, asker="verify")
    chance = None if p is None else _chances(p, f.T)
    limit = 60.0 if p is None else 30.0
    if limit_seconds is not None:
        limit = arguments.real("limit_seconds", limit_seconds, above=0)
    method = _chosen_method(model, f, method)
    start = time.process_time()
    # Overflow and NaN can occur; the bounds are then infinite or NaN.
    with np.errstate(all="ignore"):
        if not finite_weights(model):
            method, proof = "search", nothing(f, "a weight is not a finite number")
        elif method == "exhaustive":
            proof = _prove_by_enumeration(model, f)
        elif method in ("patterns", "branches") and 2**f.s * f.T <= MOST_PATTERN_TOKENS:
            splits = Splits(limit if p is None else limit / 3, progress) if method == "branches" else None
            proof = prove_by_patterns(model, f, splits)
        else:
            proof = nothing(f, "only chosen inputs were tried")
        found = _conclude(model, f, proof)
        found = replace(found, subject=(path or model, f))
        if chance is None:
            return found
        left = limit - (time.process_time() - start)
        share = (
            0.0
            if found.correct
            else 1.0
            if method == "search"
            else _share(model, f, chance, proof.complete, left)
        )
        return _with_share(found, p, share)


def _chances(p: float | int | Sequence[float], T: int) -> Float[Array, " T"]:
    values = [arguments.real("p", p)] * T if isinstance(p, (int, float)) else p
    try:
        chance = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        chance = np.empty(0)  # refused below
    if chance.shape != (T,) or not ((chance >= 0) & (chance <= 1)).all():
        raise DomainError(
            f"p is a probability from 0 to 1, or one for each of T={T} positions; got {arguments.shown(p)}."
        )
    return chance


def _share(
    model: Model, f: SparseFunction, chance: Float[Array, " T"], complete: bool, limit_seconds: float
) -> float:
    """Return an upper bound of the probability of a wrong input: by enumeration, or by parts; 1 if neither applies."""
    if complete:
        return enumerated_share(model, f, chance)
    if not applies(model) or 2**f.s * f.T > MOST_PATTERN_TOKENS or not np.isfinite(largest_output(model)):
        return 1.0
    return proved_share(model, f, Tokens.of(model), chance, limit_seconds=limit_seconds)


def _with_share(found: Certificate, p: float | int | Sequence[float] | None, share: float) -> Certificate:
    if p is None:
        return found
    return replace(found, share=share, p=float(p) if isinstance(p, (int, float)) else tuple(map(float, p)))


def _chosen_method(model: Model, f: SparseFunction, method: str | None) -> str:
    if model.T != f.T:
        raise DomainError(f"the model reads T={model.T} bits, the function T={f.T}; they must agree.")
    if method is None:
        largest = 18 if model.L == 1 else 12
        return "exhaustive" if largest >= f.T else "branches" if model.L == 1 else "search"
    choice("method", method, ("exhaustive", "patterns", "branches", "search"))
    if method == "exhaustive" and f.T > MAX_S:
        raise DomainError(
            f"all 2^T inputs are tried up to T={MAX_S}, got T={f.T}; method='branches' takes any T."
        )
    if method in ("patterns", "branches") and model.L != 1:
        raise DomainError(f"a proof by {method} needs one layer, this model has L={model.L}.")
    return method


def finite_weights(part: Any) -> bool:
    """Return whether all arrays and numbers in a model, its layers and its encoding are finite, used or not."""
    if isinstance(part, np.ndarray | float):
        return bool(np.isfinite(part).all())
    if isinstance(part, tuple):
        return all(finite_weights(each) for each in part)
    if is_dataclass(part):
        return all(finite_weights(getattr(part, each.name)) for each in fields(part))
    return True


def _prove_by_enumeration(model: Model, f: SparseFunction) -> Proof:
    """Try every input in float64 and in balls. If the balls are too wide to prove that the error is below 1e-9, also
    try the proof from patterns, which may be sharper because slopes of the decoder can cancel along a line.
    """
    seen, seen_at, signed_least, signed_at = -np.inf, 0, np.inf, 0
    error, margin = -np.inf, np.inf
    for start in range(0, 2**f.T, INPUTS_AT_ONCE):
        bits = _inputs(np.arange(start, min(2**f.T, start + INPUTS_AT_ONCE)), f.T)
        errors, signed = judge(model, f, bits)
        if errors.max() > seen:
            seen, seen_at = float(errors.max()), start + int(errors.argmax())
        if signed.min() < signed_least:
            signed_least, signed_at = float(signed.min()), start + int(signed.argmin())
        ball, labels = outputs(model, bits), f(bits)
        # Not fmax and fmin, which ignore NaN.
        error = np.maximum(error, (np.abs(ball.mid - labels) + ball.rad).max())
        distance = np.where(labels == 1, ball.low - model.threshold, model.threshold - ball.high)
        margin = np.minimum(margin, np.nextafter(distance.min(), -np.inf))
    inputs = _inputs(np.array([seen_at, signed_at]), f.T)
    error = float(error * (1 + 2.0**-50))
    note = f"all 2^{f.T} inputs were tried."
    proof = Proof(error, error - seen, float(margin), "exhaustive", note, inputs, complete=True)
    right = signed_least > 0
    if right and model.L == 1 and not (proof.holds and (error <= TOLERANCE or seen > TOLERANCE)):
        other = prove_by_patterns(model, f)
        # Take the sharper bound; one that is not NaN is better than NaN.
        error = other.max_error if not error <= other.max_error else error
        margin = other.margin if not margin >= other.margin else margin
        proof = Proof(error, error - seen, float(margin), "exhaustive", note, inputs, complete=True)
    return proof


def _conclude(model: Model, f: SparseFunction, proof: Proof) -> Certificate:
    """Make the certificate from the proof, unless the model is wrong on one of the likely worst inputs."""
    inputs = proof.inputs
    errors, signed = judge(model, f, inputs)
    if not proof.holds and not proof.complete and not signed.min() <= 0:
        inputs = worst_inputs(model, f)
        errors, signed = judge(model, f, inputs)
    wrong, margin = wrong_alone(model, f, inputs, signed) or (None, proof.margin)
    met = float(signed.min())
    correct = False if wrong is not None else True if proof.holds and met > 0 else None
    max_error = proof.max_error if proof.max_error >= errors.max() else np.inf
    return Certificate(
        max_error=float(max_error),
        rounding=float(proof.rounding) if np.isfinite(max_error) else 0.0,
        exact=bool(max_error <= TOLERANCE),
        correct=correct,
        margin=float(margin) if margin > -np.inf else -np.inf,
        leakage=worst_leak(model, f),
        gap=scalar_gap(model, f),
        method=proof.method if correct or proof.complete else "search",
        attained=bool(max_error - errors.max() <= TOLERANCE),
        seen_error=float(errors.max()),
        worst_input=inputs[int(errors.argmax())],
        counterexample=wrong,
        note=_note(proof, correct),
    )


def _note(proof: Proof, correct: bool | None) -> str:
    if correct:
        return proof.note
    if correct is False:
        return "a wrong input was found and checked."
    if proof.complete:
        return (
            "undecided: an output is closer to the threshold, or larger, than the bound on rounding allows."
        )
    if proof.method == "search":
        return f"undecided: {proof.note}"
    return f"undecided: the bounds by {proof.method} are too loose, and no wrong input was met."


def _inputs(numbers: Shaped[Array, " n"], T: int) -> Shaped[Array, "n T"]:
    return ((numbers[:, None] >> np.arange(T)) & 1).astype(np.uint8)
