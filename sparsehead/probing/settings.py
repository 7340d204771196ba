"""The options of `probe`: types, defaults, help texts and checks, for Python and for the command line."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict

from .._base.arguments import whole
from .._base.errors import DomainError
from .._base.fields import option
from ..capacity.forms import FORMS

ProbeProgress = Callable[[str, int, int], None]  # a stage, how far it is, how far it goes
SIZES = (1, 2, 4, 8, 16, 32)


class ProbeOptions(TypedDict, total=False):
    """The options of `probe`, for type checkers; `ProbeSettings` has their defaults."""

    heads: int | None
    s: int
    baselines: bool
    bounds: bool
    influence: int
    total: int
    ablation: int
    longest: int | None
    m: int
    form: str | None
    pickle: bool
    seed: int


@dataclass(frozen=True, kw_only=True)
class ProbeSettings:
    """The options of `probe`, with defaults and checks."""

    s: int = option(4, "Positions kept in the score: 1, 2, 4, 8, 16 or 32.")
    heads: int | None = option(None, "Heads per layer, required for a state dict.")
    longest: int | None = option(None, "Cut sequences to this many tokens, at least 2.")
    influence: int = option(0, "Sequences on which to measure the direct influence of positions.")
    total: int = option(0, "Sequences on which to measure the influence of input tokens: one pass per token.")
    ablation: int = option(0, "Sequences on which to remove each head in turn: one pass per head.")
    baselines: bool = option(True, "Measure random weights, shuffled input and uniform attention too.")
    bounds: bool = option(True, "Bound the capacity of every head and layer.")
    m: int = option(10**6, "Number of training sequences in the bounds.")
    form: str | None = option(None, "Form of the bounds; by default the smallest proven one.")
    pickle: bool = option(False, "Allow pickled weights (weights_only=True).")
    seed: int = option(0, "Seed of the random tokens and the baselines.")

    def __post_init__(self) -> None:
        if self.s not in SIZES:
            raise DomainError(f"s is one of {', '.join(map(str, SIZES))}; got {self.s!r}.")
        whole("m", self.m)
        if self.form is not None:
            FORMS.check(self.form)
        if self.longest is not None:
            whole("longest", self.longest, least=2)
        for name in ("influence", "total", "ablation"):
            whole(name, getattr(self, name), least=0)
