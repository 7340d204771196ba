"""What reads the output of a head: bumps, plateaus, codes; and the certificate over all inputs."""

import itertools
import math

import numpy as np

from ..certify import verify
from ..construct import build
from ..construct.code import best_code
from ..construct.decoder import plateaus
from ..construct.paper import bump
from ..functions import (
    random_function,
)
from ..rng import stream
from .claim import Context, Finding, claim, finding
from .representation import EXACT


@claim(
    "bump",
    kind="lemma",
    where="paper appendix B, MLP lemma",
    statement="A ReLU net with one bump per target value turns approximate values into exact ones; the bump is "
    "psi(x) = nu(x) + nu(2 delta - x) - 1, which is 1 at its centre.",
)
def check_bump(context: Context) -> Finding:
    delta = 0.25
    x = np.array([-delta, 0.0, delta, 2 * delta, 3 * delta])
    values = bump(x, delta)
    return finding(
        bool(np.allclose(values, [0, 1, 1, 1, 0], atol=1e-12)),
        paper="1 near the target, 0 away from it",
        ours=f"psi = {', '.join(f'{v:g}' for v in values)} at -delta, 0, delta, 2 delta, 3 delta",
        detail="The repaired bump; errata-paper-1 has the printed one.",
    )


@claim(
    "exact-decoder",
    kind="ours",
    where="not in the paper",
    statement="A piecewise linear read-out with two units per change of value is constant on every interval in "
    "which the head's output can lie; inside the head, with sigma = ReLU, it needs no MLP at all.",
)
def check_exact_decoder(context: Context) -> Finding:
    rng = stream(context.seed, "decoder")
    low = np.sort(rng.uniform(0, 10, size=12))
    high = low + 0.8 * np.diff(low, append=11)
    values = rng.integers(0, 2, size=12).astype(np.float64)
    decoder = plateaus(low, high, values)
    inside = np.linspace(low, high, 25)
    error = float(np.abs(decoder(inside) - values).max())
    changes = int((np.diff(values) != 0).sum())
    return finding(
        error < EXACT and len(decoder.kinks) == 2 * changes,
        paper="bumps: 6 units a value",
        ours=f"{len(decoder.kinks)} units for {changes} changes, error {error:.0e}",
        detail="12 random intervals with random values, 25 points in each.",
    )


@claim(
    "best-code",
    kind="ours",
    where="not in the paper",
    statement="Bits may be weighed in any order and complemented: the code with the fewest changes of value along "
    "the head's output has the smallest decoder, and every linear threshold function needs 2 units.",
)
def check_best_code(context: Context) -> Finding:
    def linear(weights: tuple[int, ...], level: int) -> np.ndarray:
        bits = np.array(list(itertools.product([0, 1], repeat=len(weights))))[:, ::-1]
        return (bits @ np.array(weights) >= level).astype(np.uint8)

    cases = [linear(w, k) for w, k in [((1, 1, 1), 2), ((2, 1, 1), 3), ((3, -1, 2), 2), ((1, 2, 2, 3), 4)]]
    thresholds = {best_code(t).changes for t in cases}
    odd = best_code(np.array([n.bit_count() % 2 for n in range(16)], dtype=np.uint8)).changes
    return finding(
        thresholds == {1} and odd == 4,
        paper="-",
        ours=f"1 change for four linear thresholds, {odd} for the 4-parity",
        detail="One change of value is two ReLU units; parity changes at every count.",
    )


@claim(
    "exact-certificate",
    kind="ours",
    where="not in the paper",
    statement="For a single-head scalar read-out the extreme outputs over all 2^T inputs are found exactly, pattern "
    "by pattern of the s relevant bits, by Dinkelbach's iteration: O(T) a step.",
)
def check_exact_certificate(context: Context) -> Finding:
    rng = stream(context.seed, "certificate")
    worst = 0.0
    for _ in range(6):
        f, g = (random_function(T=11, s=3, rng=rng) for _ in range(2))
        model = build(f)
        for target in (f, g):
            slow, fast = (verify(model, target, method=m) for m in ("exhaustive", "patterns"))
            worst = max(worst, abs(slow.max_error - fast.max_error))
            if slow.correct != fast.correct or (slow.correct is False and fast.counterexample is None):
                worst = math.inf
    return finding(
        worst < EXACT,
        paper="-",
        ours=f"largest disagreement with enumeration {worst:.0e}",
        detail="Six heads at T = 11, each against its own function and against another: same error, same "
        "verdict, and a counterexample whenever the answer is no.",
    )
