"""Verify networks of other libraries, which can only be run: on every input, or on chosen ones."""

import math

from .._base.arguments import choice
from .._base.errors import DomainError
from ..functions import MAX_S, SparseFunction, assignments
from ..importing.network import Network
from .certificate import Certificate
from .search import judge, worst_inputs, wrong_alone


def verify_network(network: Network, f: SparseFunction, *, method: str | None) -> Certificate:
    """Run `verify` for a network: on every input, or on chosen ones.

    `correct` is True if every input was run and none is wrong. This is a statement about the network in its own
    arithmetic; `exact` is False, since nothing is proved about exact arithmetic.
    """
    if network.T != f.T:
        raise DomainError(f"the network reads T={network.T} bits, the function T={f.T}; they must agree.")
    method = ("exhaustive" if f.T <= 16 else "search") if method is None else method
    choice("method", method, ("exhaustive", "patterns", "search"))
    if method == "patterns":
        raise DomainError(f"a proof by patterns needs a Model, this is a {network.source}; {network.why}.")
    if method == "exhaustive" and f.T > MAX_S:
        raise DomainError(
            f"all 2^T inputs are tried up to T={MAX_S}, got T={f.T}; method='search' takes any T."
        )
    everything = method == "exhaustive"
    inputs = assignments(f.T) if everything else worst_inputs(network, f)
    errors, signed = judge(network, f, inputs)
    wrong, margin = wrong_alone(network, f, inputs, signed) or (None, float(signed.min()))
    correct = False if wrong is not None else True if everything and margin > 0 else None
    worst = float(errors.max())
    return Certificate(
        max_error=worst if everything else math.inf,
        rounding=0.0,
        exact=False,
        correct=correct,
        margin=margin,
        leakage=math.nan,
        gap=None,
        method=method,
        attained=everything and worst < math.inf,
        seen_error=worst,
        worst_input=inputs[int(errors.argmax())],
        counterexample=wrong,
        note=_note(correct, len(inputs), everything),
    )


def _note(correct: bool | None, n: int, everything: bool) -> str:
    if correct:
        return f"all {n} inputs were run, in the network's own arithmetic."
    if correct is False:
        return "a wrong input was found and checked."
    if everything:
        return "undecided: an input is wrong or right depending on those that are run with it."
    return f"undecided: {n} chosen inputs were run and none is wrong."
