"""`read`: from weights, or any function of bits, to the sparse function that they compute."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .._base import arguments
from .._base.errors import DomainError
from .._base.rng import stream
from .._base.types import Array, Shaped
from ..certify import Certificate, verify
from ..functions import MAX_S, SparseFunction, check_bits
from ..functions.task import bernoulli
from ..heads.model import Model
from ..heads.model_file import load
from .ablation import ablate
from .breaking import fewest_flips
from .evidence import gather_evidence
from .junta import query_bound, read_junta
from .occam import OccamBound, occam_bound
from .queries import Oracle
from .result import Reading
from .sample_checks import copies, unlike
from .sampling import FLIPPED, PAIRS, Agreement, inputs_for, measure_agreement, read_by_sampling

Examples = tuple[Shaped[Array, "m T"], Shaped[Array, " m"]]
PROVABLE_TOKENS = 2**24  # patterns x tokens up to which a proof is tried
EVIDENCE_INPUTS = 256
NO_P = (
    "it needs p, the share of ones in the inputs, which was not given and is not among the model's notes, or "
    "held_out=True, if training never saw the examples"
)


def read(
    model: Model | str | Path | Callable[[Any], Any],
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
    """The sparse function that a model computes, found by asking the model and nothing else.

    Args:
        model: a Model, the path of a model file, or a function from bits (n, T) to n labels or numbers.
        seed: names the random inputs that are asked.
        T: length of the input; needed for a plain function only.
        threshold: label 1 where a function's value exceeds this. None: 1/2, for values from 0 to 1; other values are
            refused. A Model has its own.
        p: probability of a one in the inputs on which the model is used; taken from the model's own notes where they
            have it, else 1/2.
        data: (bits, labels), independent draws from one distribution, for the bounds in `certificate`. That on the
            function's error holds whether or not the model was trained on them. One on the model's own error needs
            either `held_out`, or inputs of independent bits that are 1 with probability p, given or noted. The
            examples are checked for copies and against p; what these checks cannot see is taken for granted. Where
            all examples share something (one source, one day), the bounds are about inputs that share it too.
        held_out: the examples played no part in training.
        draws: the examples are the `draws`-th sample drawn, the first that was accepted; None if they were not chosen.
        most: the most positions that a function may have, up to 12.
        least_agreement: a function is claimed only if it is proved on all inputs, or the lower end of the agreement's
            interval reaches this.
        delta: probability with which the certificate may fail.
    Raises:
        DomainError: the model's outputs are not finite, or leave [0, 1] without a threshold; or an argument is outside
            its range.
    Paper: read-junta

    >>> import sparsehead as sh
    >>> sh.read(sh.build(sh.parse("x2 & !x5", T=16)), seed=0).formula
    'x2 & !x5'
    """
    if isinstance(model, (str, Path)):
        model = load(model)
    if not isinstance(model, Model) and not callable(model):
        raise DomainError(
            f"model is a Model, the path of a model file or a function of bits; got {arguments.shown(model)}."
        )
    arguments.whole("seed", seed, least=0)
    if T is not None:
        arguments.whole("T", T)
    _check(most, least_agreement, p)
    arguments.real("delta", delta, above=0, below=1)
    if draws is not None:
        arguments.whole("draws", draws)
    oracle = Oracle(model, T, threshold=threshold)
    known = _known_share_of_ones(model, p)
    p = 0.5 if known is None else known
    examples = None if data is None else _examples(data, oracle.T)

    found = find_function(oracle, seed=seed, p=p, most=most, least_agreement=least_agreement)
    best, function, agreement = found.best, found.function, found.agreement
    proof = None if function is None and agreement.value < 1 else _prove(model, best)
    proved = proof is not None and proof.correct is True
    function = best if proved else function
    certificate, doubt = None, None
    if function is not None and examples is not None:
        certificate, doubt = _certificate(
            oracle, function, examples, agreement, p=known, held_out=held_out, draws=draws, delta=delta
        )
    bits = bernoulli(p, (min(EVIDENCE_INPUTS, inputs_for(oracle.T)), oracle.T), stream(seed, "evidence"))
    bits = bits.view(np.uint8)
    also = sorted(found.influences, key=lambda t: -found.influences[t])
    whole = isinstance(model, Model) and function is not None
    return Reading(
        function=function,
        best=best,
        agreement=agreement,
        proved=proved,
        proof=None if function is None else proof,
        certificate=certificate,
        evidence=gather_evidence(model, oracle, best, bits, p=p, also=also),
        breaking=fewest_flips(model, best, bits) if whole and not proved else None,  # type: ignore[arg-type]
        ablation=ablate(model, best, bits) if whole else None,  # type: ignore[arg-type]
        method=found.method,
        queries=found.queries,
        query_bound=found.query_bound,
        p=p,
        notes=() if doubt is None else (doubt,),
    )


@dataclass(frozen=True)
class Found:
    """What asking gave: the fields of `Reading` of the same names, and the influences of the candidates looked at."""

    best: SparseFunction
    function: SparseFunction | None
    agreement: Agreement
    method: str
    queries: int
    query_bound: int
    influences: dict[int, float]


def find_function(
    oracle: Oracle, *, seed: int, p: float, most: int = 8, least_agreement: float = 0.95
) -> Found:
    """The function and its agreement, without proof and evidence: exactly, or else by sampling.   Paper: read-junta"""
    best = read_junta(oracle, most=most, rng=stream(seed, "backgrounds"), p=p)
    influences: dict[int, float] = {}
    method = "membership queries"
    if best is None:
        method = "sampling"
        best, influences = read_by_sampling(oracle, most=most, rng=stream(seed, "sampling"), p=p)
    queries, limit = oracle.queries, _query_limit(method, best.s, most, oracle.T)
    agreement = measure_agreement(oracle, best, rng=stream(seed, "agreement"), p=p)
    function = best if agreement.low >= least_agreement else None
    return Found(best, function, agreement, method, queries, limit, influences)


def _check(most: int, least_agreement: float, p: float | None) -> None:
    if not 0 <= arguments.whole("most", most, least=0) <= min(12, MAX_S):
        raise DomainError(f"most is a number of positions from 0 to 12, got {most}; 2^s patterns are asked.")
    if not 0.5 <= arguments.real("least_agreement", least_agreement) <= 1:
        raise DomainError(f"least_agreement is a share from 0.5 to 1, got {least_agreement}.")
    if p is not None and not 0 < arguments.real("p", p) < 1:
        raise DomainError(f"p is the share of ones, strictly between 0 and 1, got {p}.")


def _known_share_of_ones(model: Any, p: float | None) -> float | None:
    """p as it was given, else as the model's notes have it; None where neither says."""
    noted = model.meta.get("p") if p is None and isinstance(model, Model) else p
    return float(noted) if isinstance(noted, (int, float)) and 0 < noted < 1 else None


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
    """The most inputs that the method evaluates, stated before it runs except for the s that it finds."""
    if method == "membership queries":
        return query_bound(s, T)
    bisections = PAIRS * int(np.ceil(np.log2(max(2, T))))
    return query_bound(most, T) + inputs_for(T) + bisections + 2 * most * FLIPPED


def _prove(model: Any, f: SparseFunction) -> Certificate | None:
    """`verify`, where there are weights to verify and the work is affordable."""
    if not isinstance(model, Model) or 2**f.s * (f.T + 1) * model.H > PROVABLE_TOKENS:
        return None
    return verify(model, f)


def _certificate(
    oracle: Oracle,
    f: SparseFunction,
    examples: Examples,
    agreement: Agreement,
    *,
    p: float | None,
    held_out: bool,
    draws: int | None,
    delta: float,
) -> tuple[OccamBound | None, str | None]:
    """The bounds that the examples support, and one sentence on those that they do not."""
    bits, labels = examples
    if (why := copies(bits)) is not None:
        return None, f"No bound from the examples: {why}."
    judged = partial(occam_bound, f, bits, labels, delta=delta, draws=draws)
    if held_out:
        mistakes = int((oracle(bits) != labels).sum())
        found = judged(model_mistakes=mistakes)
        return replace(found, assumed=f"{found.assumed} that training never saw"), None
    why = NO_P if p is None else unlike(bits, p)
    if why is not None:
        return judged(), f"No bound on the error of the model itself: {why}."
    # Where the inputs are not as stated, the examples still are, as far as training did not see them.
    seen = (int((oracle(bits) != f(bits)).sum()), len(bits))
    found = judged(disagreements=(agreement.differing, seen))
    return replace(found, assumed=f"{found.assumed}; independent bits, 1 with p = {p:.4g}"), None
