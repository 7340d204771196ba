"""What `verify` returns."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..types import Array, Shaped

TOLERANCE = 1e-9  # float64 rounding of a written model stays below it: measured 2e-11 at s <= 5, T <= 12


@dataclass(frozen=True, eq=False)
class Certificate:
    """A statement about all 2^T inputs, or a counterexample, or the admission that neither was found.

    Args:
        max_error: sup |model - f|. An upper bound where `attained` is False; infinite where nothing is known.
        exact: max_error < 1e-9, the tolerance that float64 rounding needs.
        correct: True: the model predicts f on every input. False: it does not, see `counterexample`.
            None: undecided.
        margin: the least distance of an output from the model's threshold, negative on the wrong side.
        leakage: the most attention that any input lets fall outside f's support ([CLS] counts), in the worst head.
        gap: where one scalar is decoded, the space between its values for f = 0 and f = 1 (None otherwise).
        method: "exhaustive", "dinkelbach" (a scalar's exact range), "affine" (ReLU network on a box or zonotope),
            "interval", or "search" (no proof).
        attained: whether `worst_input` attains max_error.
        worst_input: the worst input that was met.
        counterexample: an input whose prediction is wrong.
        note: one sentence on what stands behind it.
    """

    max_error: float
    exact: bool
    correct: bool | None
    margin: float
    leakage: float
    gap: float | None
    method: str
    attained: bool
    worst_input: Shaped[Array, " T"] | None
    counterexample: Shaped[Array, " T"] | None
    note: str

    @property
    def decided(self) -> bool:
        return self.correct is not None

    def to_json(self) -> dict[str, Any]:
        """The same, JSON-able; inputs are run-length coded where they are long."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name in ("worst_input", "counterexample"):
            plain[name] = None if plain[name] is None else spell_bits(plain[name])
        plain = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in plain.items()}
        return {**plain, "decided": self.decided}


def spell_bits(bits: Shaped[Array, " T"]) -> str:
    """ "01101" up to 64 bits, run lengths such as "0*500 1 0*499" beyond.

    >>> spell_bits(np.array([0] * 70 + [1]))
    '0*70 1'
    """
    if len(bits) <= 64:
        return "".join(str(int(b)) for b in bits)
    ends = np.append(np.flatnonzero(np.diff(bits.astype(np.int64))) + 1, len(bits))
    lengths = np.diff(ends, prepend=0)
    runs = [
        f"{int(bits[end - 1])}*{n}" if n > 1 else str(int(bits[end - 1])) for end, n in zip(ends, lengths)
    ]
    return " ".join(runs) if len(runs) <= 64 else " ".join([*runs[:64], "..."])
