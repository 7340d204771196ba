"""Distributions of inputs written as text, for specs and the command line.

p:0.9,0.5        bit t is 1 with the t-th of these probabilities; a shorter list is repeated up to T
package.mod:name@1f3a..    a sampler (n, T, rng) -> bits that can be imported, and a hash of its source

A sampler that cannot be imported (a lambda, a function of a notebook) can be used in this process only.
"""

import hashlib
import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from itertools import chain, count
from typing import Any

from .._base.arguments import shown
from .._base.errors import DomainError, ParseError

Sampler = Callable[[int, int, Any], Any]  # (n, T, rng) -> bits (n, T)
_SAMPLERS: dict[str, Sampler] = {}  # the samplers that this process has named, by their text


def sampler_text(sampler: Sampler) -> str:
    """Return a text that names the sampler, and remember in this process which sampler it names.

    Samplers with the same name and source, such as closures made in a loop, get texts that end in different numbers.
    """
    module, name = getattr(sampler, "__module__", "") or "", getattr(sampler, "__qualname__", "sampler")
    first = f"{module}:{name}@{_hash(sampler)}"
    for text in chain([first], (f"{first}.{number}" for number in count(2))):
        if _SAMPLERS.setdefault(text, sampler) is sampler:
            return text
    raise AssertionError("numbers do not end")


def is_importable(text: str) -> bool:
    """Return whether another process can import the sampler that `sampler_text` named `text`."""
    module, _, name = text.partition("@")[0].partition(":")
    return module != "__main__" and getattr(sys.modules.get(module), name, None) is _SAMPLERS.get(text, text)


def p_text(p: tuple[float, ...]) -> str:
    """Return the text for inputs with one probability for each position."""
    return "p:" + ",".join(repr(float(each)) for each in p)


def named_inputs(text: str) -> str:
    """Return `text`; a sampler's name gets a hash of its source, so that a changed sampler is another experiment."""
    if text.startswith("p:") or "@" in text:
        return text
    found = read_inputs(text, 1)
    return text if isinstance(found, tuple) else sampler_text(found)


def read_inputs(text: str, T: int) -> tuple[float, ...] | Sampler:
    """Return the probabilities of T positions, or the sampler, that the text describes.

    >>> read_inputs("p:0.9,0.5", 3)
    (0.9, 0.5, 0.9)
    """
    if text.startswith("p:"):
        try:
            given = tuple(float(part) for part in text[2:].split(","))
        except ValueError:
            raise ParseError(
                f"inputs of the form p:0.9,0.5 are numbers separated by commas; got {shown(text)}."
            ) from None
        return tuple(given[t % len(given)] for t in range(T))
    if text in _SAMPLERS:
        return _SAMPLERS[text]
    path, _, digest = text.partition("@")
    module, _, name = path.partition(":")
    try:
        found: Any = getattr(import_module(module), name) if module and name else None
    except (ImportError, AttributeError, ValueError):
        found = None
    if not callable(found):
        raise DomainError(
            f"inputs are p:0.9,0.5 or a sampler that can be imported, package.module:name; got {shown(text)}."
        )
    if digest and digest != _hash(found):
        raise DomainError(
            f"the sampler {path} has changed since this trial was named; use a new name or store."
        )
    return found


def _hash(sampler: Sampler) -> str:
    """Return eight hex digits of a hash of the sampler's source, or of its bytecode or type if there is no source."""
    try:
        source = inspect.getsource(sampler)
    except (OSError, TypeError):
        source = repr(getattr(getattr(sampler, "__code__", None), "co_code", type(sampler).__qualname__))
    return hashlib.sha256(source.encode()).hexdigest()[:8]
