"""`read`: from weights, or any function of bits, to the sparse function that they compute."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import arguments
from ..certify import Certificate, verify
from ..errors import DomainError
from ..functions import MAX_S, SparseFunction, check_bits
from ..model import Model
from ..model_file import load
from ..rng import stream
from ..task import bernoulli
from ..types import Array, Shaped
from .ablation import ablate
from .breaking import fewest_flips
from .evidence import gather_evidence
from .junta import query_bound, read_junta
from .occam import OccamBound, occam_bound
from .queries import Oracle
from .result import Reading
from .sampling import FLIPPED, PAIRS, Agreement, inputs_for, measure_agreement, read_by_sampling

Examples = tuple[Shaped[Array, "m T"], Shaped[Array, " m"]]
PROVABLE_TOKENS = 2**24  # patterns x tokens up to which a proof is tried
EVIDENCE_INPUTS = 256
MOST_DEVIATIONS = 6  # standard deviations by which the share of ones in the examples may differ from p


def read(
    model: Model | str | Path | Callable[[Any], Any],
    *,
    seed: int,
    T: int | None = None,
    p: float | None = None,
    data: Examples | None = None,
    most: int = 8,
    least_agreement: float = 0.95,
    delta: float = 0.05,
) -> Reading:
    """The sparse function that a model computes, found by asking the model and nothing else.

    Args:
        model: a Model, the path of a model file, or a function from bits (n, T) to n labels or numbers; a number
            above 1/2 counts as 1.
        seed: names the random inputs that are asked.
        T: length of the input; needed for a plain function only.
        p: share of ones in the inputs on which the model is used; taken from the model's own notes where they have
            it, else 1/2.
        data: (bits, labels) that the model was trained on, for the Occam bound; one on the model's own error needs p,
            given or noted, and independent bits.
        most: the most positions that a function may have, up to 12.
        least_agreement: a function is claimed only if it is proved on all inputs, or the lower end of the agreement's
            interval reaches this.
        delta: probability with which the certificate may fail.
    Raises:
        DomainError: the model's outputs are not finite, or an argument is outside its range.
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
    oracle = Oracle(model, T)
    known = _known_share_of_ones(model, p)
    p = 0.5 if known is None else known
    examples = None if data is None else _examples(data, oracle.T)

    found = find_function(oracle, seed=seed, p=p, most=most, least_agreement=least_agreement)
    best, function, agreement = found.best, found.function, found.agreement
    proof = None if function is None and agreement.value < 1 else _prove(model, best)
    proved = proof is not None and proof.correct is True
    function = best if proved else function
    unlike = None if function is None or examples is None else _unlike(examples, known)
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
        certificate=certify(function, examples, None if unlike else agreement, delta),
        evidence=gather_evidence(model, oracle, best, bits, p=p, also=also),
        breaking=fewest_flips(model, best, bits) if whole and not proved else None,  # type: ignore[arg-type]
        ablation=ablate(model, best, bits) if whole else None,  # type: ignore[arg-type]
        method=found.method,
        queries=found.queries,
        query_bound=found.query_bound,
        p=p,
        notes=() if unlike is None else (f"No bound on the error of the model itself: {unlike}.",),
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


def _unlike(examples: Examples, p: float | None) -> str | None:
    """Why agreement on Bernoulli(p) inputs says nothing about inputs like the examples; None where it does.

    That the bits of the examples are independent is taken for granted; their share of ones is not.
    """
    bits, _ = examples
    if p is None:
        return "it needs the share of ones in the inputs, p, which was not given and is not among the model's notes"
    share = float(np.mean(bits)) if bits.size else p
    if abs(share - p) > MOST_DEVIATIONS * float(np.sqrt(p * (1 - p) / max(1, bits.size))):
        return (
            f"its agreement with the function was measured at p = {p:.3g}, the examples have {share:.3g} ones"
        )
    return None


def _examples(data: Any, T: int) -> Examples:
    if not isinstance(data, (tuple, list)) or len(data) != 2:
        raise DomainError(f"data is a pair (bits, labels); got {arguments.shown(data)}.")
    bits, labels = data
    checked, y = check_bits(bits, T), np.asarray(labels)
    if checked.ndim != 2 or y.shape != (len(checked),) or not np.isin(y, (0, 1)).all():
        raise DomainError(
            f"data is (bits, labels) of shapes (m, {T}) and (m,) with labels 0 or 1; "
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


def certify(
    f: SparseFunction | None, examples: Examples | None, agreement: Agreement | None, delta: float
) -> OccamBound | None:
    """The Occam bound of the function read, and of its model where `agreement` is about inputs like the examples.

    None without a function or without examples.
    """
    if f is None or examples is None:
        return None
    differ = None if agreement is None else (agreement.n - round(agreement.value * agreement.n), agreement.n)
    return occam_bound(f, *examples, delta=delta, disagreements=differ)
