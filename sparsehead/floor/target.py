"""The object to identify: a known function of s bits (roles) at unknown positions.

The positions are uniform over all ways to place s roles on T positions. Placements that differ by a symmetry of the
function give the same function. If the positions of r roles are revealed, K = (T-r)! / ((T-s)! n) functions are left,
all equally likely, where n is the number of symmetries that fix these r roles.
"""

import itertools
import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from .._base.errors import DomainError
from .._base.types import Array, Float
from ..functions import SparseFunction, labels
from ..functions.tables import assignments, ones


@dataclass(frozen=True)
class Target:
    """A table of 2^s labels (bit i of the index is role i), for Bernoulli(p) bits; `noise` is the share of flipped
    labels.
    """

    values: tuple[int, ...]
    p: float
    noise: float = 0.0

    @property
    def s(self) -> int:
        return len(self.values).bit_length() - 1

    @cached_property
    def by_count(self) -> tuple[int, ...] | None:
        """The labels of 0 .. s ones if the label depends only on their number, else None."""
        first = tuple(self.values[2**j - 1] for j in range(self.s + 1))
        return first if all(self.values[x] == first[n] for x, n in enumerate(ones(self.s))) else None

    @cached_property
    def symmetries(self) -> list[tuple[int, ...]]:
        """Return the permutations of roles that do not change the table; used only if the table is not symmetric."""
        values, bits = np.array(self.values), assignments(self.s).astype(np.int64)
        orders = itertools.permutations(range(self.s))
        return [order for order in orders if np.array_equal(values[bits @ (1 << np.array(order))], values)]

    def left(self, revealed: tuple[int, ...], T: int) -> int:
        """Return K, the number of functions that are still possible when the positions of these roles are revealed."""
        r = len(revealed)
        placements = math.perm(T - r, self.s - r)
        if self.by_count is not None:
            return placements // math.factorial(self.s - r)
        return placements // sum(all(order[i] == i for i in revealed) for order in self.symmetries)

    def reveals(self) -> list[tuple[int, ...]]:
        """Return the sets of fewer than s roles that may be revealed; for a symmetric function one of each size."""
        sizes = range(self.s)
        if self.by_count is not None:
            return [tuple(range(r)) for r in sizes]
        return [chosen for r in sizes for chosen in itertools.combinations(range(self.s), r)]

    @cached_property
    def chances(self) -> Float[Array, " patterns"]:
        """The probability of each pattern of the s bits."""
        count = ones(self.s).astype(np.int64)
        return self.p**count * (1 - self.p) ** (self.s - count)

    def joint(self, revealed: tuple[int, ...]) -> Float[Array, "seen 2"]:
        """Return P(pattern of the revealed bits, label before noise)."""
        seen = assignments(self.s)[:, list(revealed)].astype(np.int64) @ (1 << np.arange(len(revealed)))
        out = np.zeros((2 ** len(revealed), 2))
        np.add.at(out, (seen.astype(np.int64), np.array(self.values)), self.chances)
        return out

    def noisy(self, clean: Float[Array, "... 2"]) -> Float[Array, "... 2"]:
        """Return the probabilities of labels after noise, given those before noise."""
        return clean * (1 - self.noise) + clean[..., ::-1] * self.noise


@dataclass(frozen=True)
class Shared:
    """A group of wrong functions. The roles `wrong` of such a function are at the positions at which the right function
    has its roles `right`.

    Args:
        ways: the number of ways to choose these positions.
        repeats: the number of placements of the other roles that give the same function.
    """

    target: Target
    T: int
    right: tuple[int, ...]
    wrong: tuple[int, ...]
    ways: int
    repeats: int

    @property
    def ln_each(self) -> float:
        """The logarithm of the number of functions in the group, for one choice of the shared positions."""
        s = self.target.s
        return math.log(math.perm(self.T - s, s - len(self.right)) / self.repeats)

    @property
    def ln_number(self) -> float:
        return self.ln_each + math.log(self.ways)

    @cached_property
    def differ(self) -> float:
        """The probability that a function of the group and the right one differ on an input."""
        one, other = self.target.joint(self.right), self.target.joint(self.wrong)
        return float(((one[:, 1] * other[:, 0] + one[:, 0] * other[:, 1]) / one.sum(axis=1)).sum())


def target_of(function: str | SparseFunction, *, s: int | None, p: float, noise: float = 0.0) -> Target:
    """Return the target of a family ("and", "or", "parity", "majority") of s positions, or of any function.

    Raises:
        DomainError: the name is unknown, or the function has more positions than sums over its patterns allow.
    """
    if not 0 < p < 1:
        raise DomainError(f"p is the probability of a one, strictly between 0 and 1; got {p}.")
    if not 0 <= noise < 0.5:
        raise DomainError(
            f"floors are for noise from 0 to below 1/2, where labels say something; got {noise}."
        )
    most_bits = 8  # of symmetric functions; beyond, tables and sums grow as 2^s
    if isinstance(function, SparseFunction):
        values = tuple(function.values.tolist())
    else:
        if s is None or s < 1:
            raise DomainError(f"the floor of {function!r} needs the number of positions s >= 1; got {s}.")
        values = tuple(labels(function, s)[ones(min(s, most_bits + 1))].astype(int).tolist())
    found = Target(values, p, noise)
    if found.s < 1:
        raise DomainError("a constant has no positions that could be identified.")
    most_roles = 4  # of others: symmetries and overlaps are listed
    most = most_bits if found.by_count is not None else most_roles
    if found.s > most:
        raise DomainError(
            f"floors are computed for at most {most_bits} positions if only the number of ones matters, else for "
            f"{most_roles}; this function reads {found.s}."
        )
    return found


@lru_cache(maxsize=32)
def overlaps(target: Target, T: int) -> list[Shared]:
    """Return all wrong functions, grouped by the positions that they share with the right one.

    Wrong placements of a symmetric function are grouped by the number r < s of shared positions. For other functions
    the groups are the pairings of roles at shared positions; pairings with the same effect are merged.
    """
    s = target.s
    sizes = range(max(0, 2 * s - T), s + 1)
    if target.by_count is not None:
        roles = [tuple(range(r)) for r in sizes if r < s]
        return [
            Shared(target, T, own, own, math.comb(s, len(own)), math.factorial(s - len(own))) for own in roles
        ]
    found: dict[tuple[bytes, bytes], Shared] = {}
    for r in sizes:
        for right in itertools.combinations(range(s), r):
            for wrong in itertools.permutations(range(s), r):
                one = Shared(target, T, right, wrong, 1, len(target.symmetries))
                if one.differ > 0:
                    effect = (target.joint(right).tobytes(), target.joint(wrong).tobytes())
                    found[effect] = (
                        replace(one, ways=one.ways + found[effect].ways) if effect in found else one
                    )
    return list(found.values())
