"""Where inputs come from: seeded mutations of a corpus, and Hypothesis strategies for whole values."""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

NUMBERS = (b"0", b"-1", b"1e400", b"-0.0", b"1e-400", b"NaN", b"Infinity", b"9" * 30, b"1" * 5000, b"0.1",
           b"2147483648", b"18446744073709551616", b"1/3", b"0x1f", b"true", b"null", b'""', b"[]", b"{}",
           b'"x"')  # fmt: skip
BYTES = (b"\0", b"\xff", b"\x80", b"\n", b"\r\n", b"\xef\xbb\xbf", b"\xed\xa0\x80", b'"\\ud800"', b"\x1b[31m",
         b"((((((((", b"[" * 3000, b"/../", b"%00", "\u202e\u0660\uff11".encode())  # fmt: skip


def mutations(corpus: Sequence[bytes], words: Sequence[bytes], rng: random.Random) -> Iterator[bytes]:
    """Endless inputs: a member of the corpus, changed in one to six places."""
    pieces = [*words, *NUMBERS, *BYTES]
    while True:
        data = bytearray(rng.choice(corpus))
        for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 6))):
            rng.choice(CHANGES)(data, rng, pieces, corpus)
        yield bytes(data)


def _place(data: bytearray, rng: random.Random) -> int:
    return rng.randrange(len(data) + 1)


def _flip(data: bytearray, rng: random.Random, pieces: Sequence[bytes], corpus: Sequence[bytes]) -> None:
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _set(data: bytearray, rng: random.Random, pieces: Sequence[bytes], corpus: Sequence[bytes]) -> None:
    if data:
        data[rng.randrange(len(data))] = rng.randrange(256)


def _cut(data: bytearray, rng: random.Random, pieces: Sequence[bytes], corpus: Sequence[bytes]) -> None:
    start = _place(data, rng)
    del data[start : start + rng.choice((1, 1, 2, 4, 16, 100_000))]


def _insert(data: bytearray, rng: random.Random, pieces: Sequence[bytes], corpus: Sequence[bytes]) -> None:
    place = _place(data, rng)
    data[place:place] = rng.choice(pieces)


def _replace(data: bytearray, rng: random.Random, pieces: Sequence[bytes], corpus: Sequence[bytes]) -> None:
    """Put a piece in the place of a run of letters or digits."""
    start = end = _place(data, rng)
    while end < len(data) and chr(data[end]).isalnum():
        end += 1
    while start and chr(data[start - 1]).isalnum():
        start -= 1
    data[start:end] = rng.choice(pieces)


def _double(data: bytearray, rng: random.Random, pieces: Sequence[bytes], corpus: Sequence[bytes]) -> None:
    start = _place(data, rng)
    part = data[start : start + rng.choice((1, 2, 8, 32))]
    data[start:start] = part * rng.choice((1, 1, 2, 3, 50))


def _splice(data: bytearray, rng: random.Random, pieces: Sequence[bytes], corpus: Sequence[bytes]) -> None:
    other = rng.choice(corpus)
    data[_place(data, rng) :] = other[rng.randrange(len(other) + 1) :]


CHANGES: tuple[Callable[..., None], ...] = (_flip, _set, _cut, _insert, _replace, _replace, _double, _splice)


def words_of(corpus: Sequence[bytes]) -> list[bytes]:
    """The words of a corpus of JSON texts: names of fields and their values."""
    found: dict[bytes, None] = {}
    for text in corpus:
        for word in text.replace(b"{", b" ").replace(b"}", b" ").replace(b",", b" ").split():
            if len(word) < 40:
                found[word.strip(b":")] = None
    return list(found)


NAMES = st.text(max_size=8)
LARGE = st.sampled_from([10**400, -(10**30), 1e308])
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12) | LARGE
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=8
)


def objects_like(corpus: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """JSON objects of the corpus with some fields replaced, dropped or added, as texts."""
    examples: list[dict[str, Any]] = [json.loads(text) for text in corpus]
    fields = sorted({name for example in examples for name in example})
    change = st.dictionaries(st.sampled_from(fields) | NAMES, VALUES, max_size=3)
    dropped = st.sets(st.sampled_from(fields), max_size=2)

    def changed(example: dict[str, Any], new: dict[str, Any], drop: set[str]) -> bytes:
        both = {**example, **new}
        return json.dumps({name: value for name, value in both.items() if name not in drop}).encode()

    return st.builds(changed, st.sampled_from(examples), change, dropped) | VALUES.map(_encoded)


def _encoded(value: Any) -> bytes:
    return json.dumps(value).encode()


def pieces_of(*words: str, most: int = 24, between: str = "") -> st.SearchStrategy[bytes]:
    """Texts of words of a language, in any order, and other characters now and then."""
    word = st.sampled_from(words) | st.text(max_size=3)
    return st.lists(word, max_size=most).map(lambda parts: between.join(parts).encode("utf-8", "replace"))


def generate(strategy: st.SearchStrategy[bytes], count: int, start: int, use: Callable[[bytes], None]) -> int:
    """Hand `count` values of the strategy to `use`; how many it was in the end (few values repeat)."""
    handed = 0

    @seed(start)
    @settings(max_examples=count, database=None, deadline=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(strategy)
    def each(data: bytes) -> None:
        nonlocal handed
        if handed < count:
            handed += 1
            use(data)

    each()
    return handed
