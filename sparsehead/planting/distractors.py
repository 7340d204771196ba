"""Distractors: heads that attend strongly to irrelevant positions and do not change what the model predicts.

Let z be the coordinate of [CLS]'s state that the decoder reads.

    silent      one head copies bits of irrelevant positions to directions that no later weight reads
    constant    one head adds 1 to z, for any bits at its positions; a bias subtracts the 1 again
    cancel      one head adds the mean bit of a group of positions to z; two heads, which attend to one half of the
                group each, subtract it again. The sum is 0 up to the attention that leaks from the group

Attention in these models depends on positions alone, so what a head adds to z is an affine function of the bits, and so
is the sum of all heads. Cancellation therefore holds on every input, up to a remainder that `superposed` bounds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._base.arguments import choice, several, shown, whole
from .._base.errors import DomainError
from .._base.types import Array, Float
from ..construct.attention import additive_selection
from ..construct.code import Code
from ..heads.encoding import Encoding

KINDS = ("silent", "constant", "cancel")


@dataclass(frozen=True, eq=False)
class PlannedHead:
    """One head: its purpose, the positions it attends to, and its vectors.

    Args:
        role: "reading", or the kind of distractor that it belongs to.
        key: the score of a token is its product with this vector.
        value: the head mixes the products of tokens with this vector.
        write: the direction in which the mixed value is added to [CLS]'s state.
    """

    role: str
    positions: tuple[int, ...]
    key: Float[Array, " d"]
    value: Float[Array, " d"]
    write: Float[Array, " d"]


def kinds_for(distractors: int | Sequence[str] | None, difficulty: float) -> tuple[str, ...]:
    """Return the kinds of the distractors: as given by name, or else those that `difficulty` allows, hardest first.

    Up to difficulty 1/3 they are silent, up to 2/3 constant or silent, beyond cancel, constant or silent. If only the
    difficulty is given, there are 3 * difficulty of them, rounded.

    >>> kinds_for(None, 1.0), kinds_for(None, 0.25), kinds_for(2, 0.5)
    (('cancel', 'constant', 'silent'), ('silent',), ('constant', 'silent'))
    """
    if distractors is not None and isinstance(distractors, str | bool):
        raise DomainError(
            f"distractors is a number or a sequence of kinds ({', '.join(KINDS)}); got {shown(distractors)}."
        )
    if distractors is not None and hasattr(distractors, "__iter__"):
        return tuple(
            choice("a distractor", kind, KINDS) for kind in several("distractors", distractors, "kinds")
        )
    number = round(3 * difficulty) if distractors is None else whole("distractors", distractors, least=0)
    hardest = KINDS[: 1 + (difficulty > 1 / 3) + (difficulty > 2 / 3)][::-1]
    return tuple(hardest[i % len(hardest)] for i in range(number))


def group_size(kind: str, per_head: int) -> int:
    """Return the number of positions that a distractor attends to: `per_head`, but at least 2 if it cancels."""
    return max(2, per_head) if kind == "cancel" else per_head


def attending(encoding: Encoding, positions: tuple[int, ...], *, leak: float) -> Float[Array, " d"]:
    """Return the key with which a head attends to `positions` in equal shares; other tokens get `leak` in total.

    Raises:
        TooNarrow: another position has as large a score; a larger d may separate them.
    """
    equal = Code((1,) * len(positions), changes=1)
    return additive_selection(encoding, positions, equal, leak=leak, attends_cls=True).key


def distractor(
    kind: str,
    positions: tuple[int, ...],
    encoding: Encoding,
    *,
    axis: int,
    unread: Float[Array, " d"],
    leak: float,
) -> list[PlannedHead]:
    """Return the heads of one distractor: three if it cancels, else one.

    Args:
        axis: the coordinate of [CLS]'s state to which the distractor adds, unless it is silent.
        unread: a unit vector whose direction nothing reads.
        leak: attention outside `positions`.
    """
    reads_bit = encoding.E[1]
    key, read = attending(encoding, positions, leak=leak), np.eye(encoding.d)[axis]
    if kind == "silent":
        return [PlannedHead(kind, positions, key, reads_bit, unread)]
    if kind == "constant":
        return [PlannedHead(kind, positions, key, encoding.E.sum(axis=0), read)]
    middle = len(positions) // 2
    halves = [
        PlannedHead(
            kind, half, attending(encoding, half, leak=leak), reads_bit, -len(half) / len(positions) * read
        )
        for half in (positions[:middle], positions[middle:])
    ]
    return [PlannedHead(kind, positions, key, reads_bit, read), *halves]
