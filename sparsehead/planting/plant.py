"""`plant`: a model that provably computes a function, with other heads that make this function hard to find."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from .._base.arguments import choice, real, whole
from .._base.errors import DomainError
from .._base.memory import require_memory
from .._base.rng import stream
from ..certify.certificate import Certificate
from ..certify.verify import verify
from ..construct.attention import TooNarrow
from ..functions import SparseFunction, as_function
from ..heads.encoding import RESERVED, random_positions
from ..heads.model import Model
from .distractors import PlannedHead, kinds_for
from .planted import HeadRole, Planted
from .superposed import Plan, superpose

DRAWS = 3  # of positions for each width: some draws interfere less than others


def plant(
    f: SparseFunction | str,
    T: int | None = None,
    *,
    heads: str = "one",
    distractors: int | Sequence[str] | None = None,
    d: int | None = None,
    difficulty: float | int = 0.5,
    seed: int,
) -> Planted:
    """Return a model that computes f on every input, with its proof: ground truth for methods that look for supports.

    One layer of attention heads over random positions in d dimensions, usually fewer than T, so that positions
    interfere; some heads read the support, others distract. `verify` proves on all 2^T inputs that the model computes
    f, so its predictions depend on the support alone. A model that is not proved is not returned.

    `difficulty` sets three things, of which the first two can also be given:

        width          d - 3 is min(T - 1, 8 s ln(100 T)) at difficulty 0, 2 s ln T at difficulty 1 (2 ln T with
                       heads="s"), and geometric in between; d is then raised until the proof succeeds
        distractors    round(3 * difficulty) of them, or fewer if there are too few irrelevant positions; silent ones,
                       above difficulty 1/3 also constant ones, above 2/3 also cancelling ones
        flatness       of the decoder: up to difficulty 1/4 its ramps start in the middle of the values that they join,
                       so many inputs have a gradient; from difficulty 1/2 on every input lies on a plateau, with
                       gradient 0 up to rounding

    Args:
        f: the function of 1 to 8 bits, or its expression, which then needs T.
        heads: "one" head that reads all relevant positions, or "s": one for each of them.
        distractors: how many, or a sequence of kinds; all attend to irrelevant positions. "silent": copies their bits
            to a direction that nothing reads. "constant": adds a constant to a decoded number, which a bias subtracts.
            "cancel": three heads that add irrelevant bits to a decoded number, with sum 0.
        d: the width, at least 5 (with heads="s" s + 4).
        difficulty: from 0 to 1.
        seed: for positions, distractors and the order of the heads.
    Raises:
        DomainError: the arguments do not fit together, or nothing can be proved in this width; the message says what
            would work.

    >>> planted = plant("x2 & x5 & x11", T=40, difficulty=0.75, seed=0)
    >>> planted.support, planted.certificate.correct
    ((2, 5, 11), True)
    >>> [head.role for head in planted.heads].count("cancel")
    3
    """
    f = as_function(f, T, asker="plant")
    hardness = real("difficulty", difficulty)
    if not 0 <= hardness <= 1:
        raise DomainError(f"difficulty is a number from 0 to 1; got {difficulty}.")
    whole("seed", seed, least=0)
    plan = _plan(f, choice("heads", heads, ("one", "s")), distractors, hardness)
    least = RESERVED + 1 + plan.axes
    if d is not None and whole("d", d) < least:
        raise DomainError(f"d is at least {least} here (three axes are E_0, E_1 and [CLS]); got {d}.")
    model, planned, interference, certificate = _proved(plan, d, hardness, seed)
    notes = {"source": "plant", "function": str(f), "difficulty": hardness, "seed": int(seed)}
    model = replace(model, meta=notes)
    return Planted(
        model=model,
        function=f,
        certificate=replace(certificate, subject=(model, f)),
        heads=_roles(model, planned),
        interference=interference,
        difficulty=hardness,
        seed=int(seed),
    )


def _plan(f: SparseFunction, heads: str, distractors: int | Sequence[str] | None, difficulty: float) -> Plan:
    """Return the plan; raise DomainError if f has no irrelevant position, or if there are too many distractors."""
    most_bits = 8  # that a planted function may read: proofs of functions of 12 bits take up to 10 s
    if not 1 <= f.s <= min(most_bits, f.T - 1):
        most = min(most_bits, f.T - 1)
        raise DomainError(
            f"plant takes functions that read 1 to {most} of T={f.T} positions; this one reads {f.s}."
            if f.T > 1
            else "plant needs T >= 2, so that some position is irrelevant; got T=1."
        )
    flat = max(difficulty, 0.5) - max(0.0, min(0.5, 1 - 2 * difficulty))
    plan = Plan(f, heads, kinds_for(distractors, difficulty), flat)
    free = f.T - f.s
    while distractors is None and plan.decoys > free:
        plan = replace(plan, kinds=plan.kinds[1:])
    if plan.decoys > free:
        raise DomainError(
            f"these distractors attend to {plan.decoys} irrelevant positions, T={f.T} leaves {free}; ask for fewer "
            "distractors or a larger T."
        )
    return plan


def _widths(plan: Plan, difficulty: float) -> Iterator[int]:
    """Yield widths d to try: from the one that the difficulty asks for, in steps of 10 %."""
    T = plan.f.T
    usual = 8 * plan.f.s * math.log(100 * T)
    wide = max(1.0, min(T - 1.0, usual))
    narrow = min(wide, 2 * plan.per_head * math.log(T))
    d = max(RESERVED + 1 + plan.axes, RESERVED + round(wide ** (1 - difficulty) * narrow**difficulty))
    most = RESERVED + 4 * max(d, usual)  # where that fails, so do larger ones
    while d <= most:
        yield d
        d = max(d + 1, int(1.1 * d))


def _proved(
    plan: Plan, d: int | None, difficulty: float, seed: int
) -> tuple[Model, list[PlannedHead], float, Certificate]:
    """Try all widths, or only d; return the first model that is proved, with its heads, interference and proof."""
    if d is not None:
        found = _in_width(plan, d, seed)
        if found is not None:
            return found
    for width in _widths(plan, difficulty if d is None else 1.0):
        if d is not None and width <= d:
            continue
        found = _in_width(plan, width, seed)
        if found is not None and d is None:
            return found
        if found is not None:
            raise DomainError(
                f"d={d} is too small for a proof with s={plan.f.s} of T={plan.f.T} positions and these distractors; "
                f"the smallest d tried that works is {width}."
            )
    raise DomainError(
        f"no width up to {width} allows a proof for s={plan.f.s} of T={plan.f.T} positions with heads={plan.heads!r}; "
        "heads='s' or fewer distractors may work."
    )


def _in_width(plan: Plan, d: int, seed: int) -> tuple[Model, list[PlannedHead], float, Certificate] | None:
    """Return a model of width d, its heads, interference and certificate; None if no draw of positions is proved."""
    heads = plan.axes + 3 * len(plan.kinds)
    # Bytes: rows of positions, and for each head tables of tokens in the proof, as measured for `build`.
    require_memory("plant", lambda T, d: float(T) * (720 * heads + 16 * d), T=plan.f.T, d=d)
    proof_seconds = 10  # for one proof; those by patterns take far less than a second
    for draw in range(DRAWS):
        encoding = random_positions(plan.f.T, d, rng=stream(seed, "plant positions", d, draw))
        try:
            model, planned, interference = superpose(plan, encoding, rng=stream(seed, "plant heads", d, draw))
        except TooNarrow:
            continue
        method = "exhaustive" if plan.f.T <= 12 else "branches"  # 2^16 inputs take seconds, patterns do not
        certificate = verify(model, plan.f, method=method, limit_seconds=proof_seconds)
        if certificate.correct:
            return model, planned, interference, certificate
    return None


def _roles(model: Model, planned: list[PlannedHead]) -> tuple[HeadRole, ...]:
    attention = model.attention(np.zeros((1, model.T), dtype=np.int64))[0]
    return tuple(
        HeadRole(head.role, head.positions, float(attention[h, list(head.positions)].sum()))
        for h, head in enumerate(planned)
    )
