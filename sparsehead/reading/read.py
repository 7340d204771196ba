"""`read`: find the sparse function that a model, or any function of bits, computes."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base import arguments
from .._base.errors import DomainError
from .._base.rng import stream
from .._base.types import Array, Shaped
from ..certify import Certificate, verify
from ..functions import SparseFunction, check_bits
from ..functions.task import bernoulli
from ..heads.model import Model
from ..importing.network import Network, as_network
from .breaking import fewest_flips
from .evidence import ablate, gather_evidence
from .examples import copies, unlike
from .junta import query_bound, read_junta
from .occam import OccamBound, occam_bound
from .queries import Oracle
from .result import Reading
from .sampling import FLIPPED_INPUTS, PAIRS, Agreement, inputs_for, measure_agreement, read_by_sampling

if TYPE_CHECKING:
    from torch import nn

Examples = tuple[Shaped[Array, "m T"], Shaped[Array, " m"]]


def read(
    model: "Model | Network | nn.Module | str | Path | Callable[[Any], Any]",
    *,
    seed: int,
    T: int | None = None,
    threshold: float | int | None = None,
    p: float | None = None,
    data: Examples | None = None,
    held_out: bool = False,
    draws: int | None = None,
    most: int = 8,
    least_agreement: float = 0.95,
    delta: float = 0.05,
) -> Reading:
    """Find the sparse function that a model computes, by queries alone.

    Args:
        model: a Model, the path of a model file, a result of `from_torch`, or a function or torch module from bits (n,
            T) to n labels or numbers.
        seed: seed of the random inputs.
        T: length of the input; needed only for a Python function or a module.
        threshold: a function's label is 1 if its value exceeds this. None means 1/2; values outside [0, 1] are then
            refused. Not needed for a Model.
        p: probability of a one in the inputs on which the model is used; by default that in the model's `meta`, or 1/2.
        data: (bits, labels), independent draws from one distribution, for the bounds in `certificate`. The bound on the
            function's error holds whether or not the model was trained on them. A bound on the model's error needs
            either `held_out`, or inputs of independent bits that are 1 with a known probability p. The examples are
            checked for copies and against p; beyond these checks independence is assumed. If all examples share a
            property (one source, one day), the bounds hold only for inputs with this property.
        held_out: whether the examples played no part in training.
        draws: the examples are the `draws`-th sample drawn, the first accepted one; None if there was no selection.
        most: the most positions that a function may have, up to 12.
        least_agreement: a function is returned only if it is proved on all inputs, or the lower end of the agreement's
            interval is at least this.
        delta: probability with which the certificate may fail.
    Raises:
        DomainError: the model's outputs are not finite, or leave [0, 1] without a threshold; or an argument is outside
            its range.
    Paper: read-junta

    >>> import sparsehead as sh
    >>> sh.read(sh.build(sh.parse("x2 & !x5", T=16)), seed=0).formula
    'x2 & !x5'
    """
    arguments.whole("seed", seed, least=0)
    if T is not None:
        arguments.whole("T", T)
    net: Any = as_network(model, T, threshold=threshold)
    if draws is not None:
        arguments.whole("draws", draws)
    if not 0 <= arguments.whole("most", most, least=0) <= 12:
        raise DomainError(
            f"most is a number of positions from 0 to 12, got {most}; 2^s patterns are queried."
        )
    if not 0.5 <= arguments.real("least_agreement", least_agreement) <= 1:
        raise DomainError(f"least_agreement is a share from 0.5 to 1, got {least_agreement}.")
    if p is not None:
        arguments.real("p", p, above=0, below=1)
    arguments.real("delta", delta, above=0, below=1)
    oracle = Oracle(net, T, threshold=None if isinstance(net, Network) else threshold)
    noted = net.meta.get("p") if p is None and isinstance(net, Model) else p
    known = float(noted) if isinstance(noted, (int, float)) and 0 < noted < 1 else None
    p = 0.5 if known is None else known
    examples = None if data is None else _examples(data, oracle.T)

    found = find_function(oracle, seed=seed, p=p, most=most, least_agreement=least_agreement)
    best, function = found.best, found.function
    proof = None if function is None and found.agreement.value < 1 else _prove(net, best, p=p)
    proved = proof is not None and proof.correct is True
    function = best if proved else function
    certificate, doubt = None, None
    if function is not None and examples is not None:
        certificate, doubt = _certificate(
            oracle, function, examples, found.agreement, p=known, held_out=held_out, draws=draws, delta=delta
        )
        # Where not one difference was seen, the proved share of differences takes the place of the sampled one.
        same = found.agreement.value == 1 and bool((oracle(examples[0]) == function(examples[0])).all())
        if certificate is not None and proof is not None and same and not held_out:
            certificate = _with_share(certificate, proof.share)
    bits = bernoulli(p, (min(256, inputs_for(oracle.T)), oracle.T), stream(seed, "evidence")).view(np.uint8)
    candidates = sorted(found.influences, key=lambda t: -found.influences[t])
    weights = net if isinstance(net, Model) and function is not None else None
    return replace(
        found,
        function=function,
        proved=proved,
        proof=None if function is None else proof,
        certificate=certificate,
        evidence=gather_evidence(net, oracle, best, bits, p=p, also=candidates),
        breaking=None if weights is None or proved else fewest_flips(weights, best, bits),
        ablation=None if weights is None else ablate(weights, best, bits),
        notes=() if doubt is None else (doubt,),
    )


def find_function(
    oracle: Oracle, *, seed: int, p: float, most: int = 8, least_agreement: float = 0.95
) -> Reading:
    """Return the reading without proof and evidence, by exact reading or else by sampling.   Paper: read-junta"""
    best = read_junta(oracle, most=most, rng=stream(seed, "backgrounds"), p=p)
    influences: dict[int, float] = {}
    method = "membership queries"
    if best is None:
        method = "sampling"
        best, influences = read_by_sampling(oracle, most=most, rng=stream(seed, "sampling"), p=p)
    queries = oracle.queries
    agreement = measure_agreement(oracle, best, rng=stream(seed, "agreement"), p=p)
    return Reading(
        function=best if agreement.low >= least_agreement else None,
        best=best,
        agreement=agreement,
        method=method,
        queries=queries,
        query_bound=_query_limit(method, best.s, most, oracle.T),
        p=p,
        influences=influences,
    )


def _examples(data: Any, T: int) -> Examples:
    if not isinstance(data, (tuple, list)) or len(data) != 2:
        raise DomainError(f"data is a pair (bits, labels); got {arguments.shown(data)}.")
    bits, labels = data
    checked, y = check_bits(bits, T), np.asarray(labels)
    if checked.ndim != 2 or not len(checked) or y.shape != (len(checked),) or not np.isin(y, (0, 1)).all():
        raise DomainError(
            f"data is (bits, labels) of shapes (m, {T}) and (m,), m >= 1, with labels 0 or 1; "
            f"got {checked.shape} and {y.shape}."
        )
    return checked, y


def _query_limit(method: str, s: int, most: int, T: int) -> int:
    """Return the maximal number of inputs that the method evaluates if it finds s positions."""
    if method == "membership queries":
        return query_bound(s, T)
    bisections = PAIRS * int(np.ceil(np.log2(max(2, T))))
    return query_bound(most, T) + inputs_for(T) + bisections + 2 * most * FLIPPED_INPUTS


def _prove(model: Any, f: SparseFunction, *, p: float) -> Certificate | None:
    """Return the certificate of `verify`; None for a Python function, or if the proof would take many seconds.

    The limit is 2^24 patterns x tokens; a network is run on all inputs up to T = 12.
    """
    if isinstance(model, Network) and f.T <= 12:
        return verify(model, f)
    if not isinstance(model, Model) or 2**f.s * (f.T + 1) * model.H > 2**24:
        return None
    return verify(model, f, p=p, limit_seconds=0.8)


def _with_share(found: OccamBound, share: float | None) -> OccamBound:
    """Return the bounds, with model_bound lowered to bound + share if that is smaller. share: a proved bound on P(model
    and function differ), or None.
    """
    if found.model_bound is None or share is None:
        return found
    return replace(found, model_bound=min(found.model_bound, found.bound + share))


def _certificate(
    oracle: Oracle, f: SparseFunction, examples: Examples, agreement: Agreement, *,
    p: float | None, held_out: bool, draws: int | None, delta: float,
) -> tuple[OccamBound | None, str | None]:  # fmt: skip
    """Return the bounds that the examples support, and one sentence on those that they do not support."""
    bits, labels = examples
    if (why := copies(bits)) is not None:
        return None, f"No bound from the examples: {why}."
    judged = partial(occam_bound, f, bits, labels, delta=delta, draws=draws)
    if held_out:
        found = judged(model_mistakes=int((oracle(bits) != labels).sum()))
        return replace(found, assumed=f"{found.assumed} that training never saw"), None
    why = (
        "it needs p, the share of ones in the inputs, which was not given and is not in the model's meta, or "
        "held_out=True, if training never saw the examples"
    )
    why = why if p is None else unlike(bits, p)
    if why is not None:
        return judged(), f"No bound on the error of the model itself: {why}."
    # The examples show disagreement even if the inputs in use are not as stated.
    seen = (int((oracle(bits) != f(bits)).sum()), len(bits))
    found = judged(disagreements=(agreement.differing, seen))
    return replace(found, assumed=f"{found.assumed}; independent bits, 1 with p = {p:.4g}"), None
