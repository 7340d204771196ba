"""A sweep in n parts for array jobs: each part has its own store, and the stores are merged afterwards."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from .._base.errors import ParseError

Element = TypeVar("Element")


@dataclass(frozen=True)
class Shard:
    """Part `number` (from 1) of `of` parts; the default is the whole sweep."""

    number: int = 1
    of: int = 1

    @property
    def whole(self) -> bool:
        """Return whether there is only one part."""
        return self.of == 1

    def part(self, items: Sequence[Element]) -> list[Element]:
        """Return every `of`-th item, starting at item `number`: the parts are disjoint and contain every item.

        >>> Shard(2, 3).part("abcdefg")
        ['b', 'e']
        """
        return list(items[self.number - 1 :: self.of])

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


def parse_shard(text: str) -> Shard:
    """Parse "2/8" as `Shard(2, 8)`; raise a ParseError unless the text is i/n with whole numbers 1 <= i <= n."""
    number, slash, of = text.strip().partition("/")
    if slash and number.isdecimal() and of.isdecimal() and len(text) < 20 and 1 <= int(number) <= int(of):
        return Shard(int(number), int(of))
    raise ParseError(
        f"--shard is i/n with 1 <= i <= n, such as 2/8 for the second of eight parts; got {text[:40]!r}."
    )
