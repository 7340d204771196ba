"""The token ids of the bits and of the fixed tokens around them; models that take token ids."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.arguments import several, shown, whole
from .._base.errors import DomainError
from .._base.types import Array, Float, Int
from ..heads.encoding import Encoding, trainable
from .stack import NoModel, Stack


@dataclass(frozen=True)
class Arrangement:
    """The map from T bits to token ids: `before`, then bits[0] or bits[1] for each bit 0 or 1, then `after`.

    The output is read at the token with index `at`.
    """

    bits: tuple[int, int]
    before: tuple[int, ...]
    after: tuple[int, ...]
    T: int
    at: int

    @property
    def length(self) -> int:
        return len(self.before) + self.T + len(self.after)

    def ids(self, bits: Int[Array, "n T"]) -> Int[Array, "n tokens"]:
        """Return one row of token ids for each input."""
        rows = len(bits)
        ends = [np.tile(np.array(part, dtype=np.int64), (rows, 1)) for part in (self.before, self.after)]
        return np.hstack([ends[0], np.array(self.bits)[bits], ends[1]])

    def read_token(self, *, causal: bool) -> int:
        """Return the id of the fixed token at which the output is read.

        Raises:
            NoModel: the output is read at a bit, there are several fixed tokens, or a causal mask hides the bits.
        """
        if len(self.before) <= self.at < len(self.before) + self.T:
            raise NoModel("the token that is read carries a bit; a Model reads [CLS], which carries none")
        fixed = (*self.before, *self.after)
        if len(fixed) > 1:
            raise NoModel(f"{len(fixed)} fixed tokens are attended to; a Model has one, [CLS]")
        if causal and self.before:
            raise NoModel("a causal mask hides the bits from the token that is read")
        return fixed[0]


@dataclass(frozen=True, eq=False)
class TokenModel:
    """A model that takes token ids: its blocks, and the embeddings of token ids (words) and of positions (places)."""

    stack: Stack
    words: Float[Array, "V d"]
    places: Float[Array, "n d"]

    def encoding(self, arrangement: Arrangement) -> Encoding:
        """Return the encoding of the bits; its [CLS] is the fixed token at which the output is read.

        Raises:
            NoModel: no Model has this arrangement of tokens; see `Arrangement.read_token`.
        """
        fixed = arrangement.read_token(causal=self.stack.causal)
        start = len(arrangement.before)
        P = self.places[start : start + arrangement.T]
        cls = self.words[fixed] + self.places[arrangement.at]
        return trainable(P=P, E=self.words[list(arrangement.bits)], cls=cls)


def arranged(
    tokens: Any, before: Any, after: Any, *, T: int | None, at: int, vocabulary: int, longest: int | None
) -> Arrangement:
    """Return the arrangement of tokens, checked against the size of the vocabulary and the longest input."""
    bits = _ids("tokens", tokens, vocabulary)
    if len(bits) != 2 or bits[0] == bits[1]:
        raise DomainError(
            f"tokens is a pair of different token ids, of bit 0 and of bit 1; got {shown(tokens)}."
        )
    if T is None:
        raise DomainError("with tokens= say how many bits an input has: T=.")
    first, last = _ids("before", before, vocabulary), _ids("after", after, vocabulary)
    length = len(first) + whole("T", T) + len(last)
    if longest is not None and length > longest:
        raise DomainError(
            f"an input has {length} tokens, the model takes at most {longest}; choose a smaller T."
        )
    if isinstance(at, bool) or not isinstance(at, int) or not -length <= at < length:
        raise DomainError(
            f"at is the place of the token that is read, from {-length} to {length - 1}; got {shown(at)}."
        )
    return Arrangement((bits[0], bits[1]), first, last, T, at % length)


def _ids(name: str, value: Any, vocabulary: int) -> tuple[int, ...]:
    ids: Sequence[Any] = several(name, value, "token ids")
    found = tuple(whole(f"a token id in {name}", i, least=0) for i in ids)
    if any(i >= vocabulary for i in found):
        raise DomainError(
            f"{name} has the token id {max(found)}; the vocabulary has the ids 0 to {vocabulary - 1}."
        )
    return found
