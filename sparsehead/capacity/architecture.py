"""The contract by which `probe`, `norms` and `bound` read an architecture: its weights, scale, rotation and mask.

For a layer input X (T, d) and a head with weights W_Q, W_K, W_V, W_O an architecture computes

    score_ij = cap(<R_i n_Q(x_i W_Q + b_Q), R_j n_K(x_j W_K + b_K)> scale) + mask_ij,    a_i = softmax of row i,
    mixed_i  = sum_j a_ij (x_j W_V + b_V),

and passes the mixed values of all heads to the output projection W_O. A rotation R, norms n, cap or mask that an
architecture does not have is left out of the formula. `probe` recomputes every layer by this formula and compares the
result with the projection's input in the model itself; it does not measure a layer for which the two differ.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from .._base.arguments import real, whole
from .._base.errors import DomainError, SparseheadError

if TYPE_CHECKING:
    from torch import Tensor, nn

Positions = Literal["absolute", "rotary", "relative bias"]
Order = Literal["thirds", "query first", "by head", "codegen"]
Tokens = Literal["ids", "embedded", "pictures"]

# why a layer is outside the class of the bound, by the property of the layer
OUTSIDE = {
    "rotary": "rotary positions turn queries and keys by their place, which the bound's class does not: outside its "
    "assumptions, figures are those of the same weights without the rotation",
    "relative bias": "a relative position bias is added to the scores, which the bound's class does not have: outside "
    "its assumptions, figures are those of the same weights without it",
    "norms": "queries and keys are normalised, which the bound's class does not: outside its assumptions, figures are "
    "those of the same weights without the norms",
    "cap": "scores are capped by a tanh, which the bound's class does not do: outside its assumptions, figures are "
    "those of the same weights without the cap",
}


@runtime_checkable
class ReadScale(Protocol):
    """A function that returns the factor by which attention scores are multiplied."""

    def __call__(self, config: Any, layer: int, k: int, /) -> float:
        """Return the factor; config: the model's configuration or None; layer: counted from 0; k: width of a head."""


@runtime_checkable
class ReadCap(Protocol):
    """A function that returns the cap c of attention scores. A score becomes c tanh(score / c), then the mask is
    added.
    """

    def __call__(self, config: Any, /) -> float | None:
        """Return c, or None if scores are not capped; config: the model's configuration."""


@runtime_checkable
class Rotate(Protocol):
    """A function that rotates queries and keys by angles that depend on their positions."""

    def __call__(self, x: "Tensor", arguments: Mapping[str, Any], /) -> "Tensor":
        """Return the queries or keys x (T, k) of one head, rotated; arguments: those of the module's forward."""


@runtime_checkable
class ReadMask(Protocol):
    """A function that returns the mask: numbers that are added to the attention scores."""

    def __call__(self, module: Any, arguments: Mapping[str, Any], T: int, /) -> "Tensor | None":
        """Return the mask, (T, T) or (H, T, T), -inf where query i may not attend to j; None if there is no mask."""


@runtime_checkable
class RunModel(Protocol):
    """A function that runs the model once."""

    def __call__(self, model: Any, tokens: "Tensor", /) -> "Tensor":
        """Return the hidden states after the last layer, (1, T, d), for a batch of one sequence (1, T) or (1, T, d)."""


@runtime_checkable
class MakeModel(Protocol):
    """A function that builds the model without its weights."""

    def __call__(self, config: Mapping[str, Any], /) -> "nn.Module":
        """Return a module into which the checkpoint's weights can be loaded; config: the content of config.json."""


def by_width(config: Any, layer: int, k: int) -> float:
    """Return 1/sqrt(k), the usual scale."""
    return 1 / math.sqrt(k)


def unscaled(config: Any, layer: int, k: int) -> float:
    """Return 1."""
    return 1.0


def no_cap(config: Any) -> float | None:
    """Return None: scores are not capped."""
    return None


@dataclass(frozen=True, kw_only=True)
class Architecture:
    r"""The modules in which an architecture keeps its attention, and its formula for scores.

    Names of submodules are relative to the attention module; "../" goes up one level.

    Args:
        module: a regular expression for the end of an attention module's name, such as r"blocks\.\d+\.attention". It is
            matched from the start of the name or after a dot.
        query, key, value, output: the names of the four linear maps. Without key and value, `query` is fused.
        order: how a fused map orders its columns: "thirds" (query, key, value), "query first" (the same, with fewer
            keys and values than queries), "by head" (query, key, value of each head), "codegen" (four blocks, each
            query, value, key).
        input_first: whether weights are stored (in, out), as by GPT-2; nn.Linear stores (out, in).
        query_norm, key_norm: names of the norms of each head's queries and keys, applied before the rotation.
        heads: the name of the configuration's entry, or attention module's attribute, with the number of heads; by
            default one of the usual names, or the argument `heads` of `probe`.
        scale, cap: the factor of the scores, by default 1/sqrt(k), and their cap, by default none.
        positions: "absolute" (only the tokens depend on positions), "rotary" or "relative bias".
        rotate: rotates queries and keys. By default "rotary" positions take cosines and sines from the attention
            module's argument `position_embeddings`, as in transformers; a narrow table rotates a head's first numbers.
        mask: returns the mask; by default the sum of the arguments `attention_mask` and `position_bias`.
        tokens: the model's input: token "ids", "embedded" tokens, or "pictures", cut into patches.
        extra: the number of tokens that the model adds in front of the given ones, such as 1 for [CLS] in ViT.
        run: runs the model; by default it is called like a model of transformers.
        make: builds the model from config.json; by default transformers does this.
        cross: like `module`, for cross-attention: `norms` reads it by the same rules, `probe` leaves it out.
        shared: whether several layers call one module (ALBERT).
        probed: whether `probe` can run models of this architecture; otherwise only `norms` and `bound` read them.
    """

    module: str
    query: str
    output: str
    key: str | None = None
    value: str | None = None
    order: Order = "thirds"
    input_first: bool = False
    query_norm: str | None = None
    key_norm: str | None = None
    heads: str | None = None
    scale: ReadScale = by_width
    cap: ReadCap = no_cap
    positions: Positions = "absolute"
    rotate: Rotate | None = None
    mask: ReadMask | None = None
    tokens: Tokens = "ids"
    extra: int = 0
    run: RunModel | None = None
    make: MakeModel | None = None
    cross: str | None = None
    shared: bool = False
    probed: bool = True

    def __post_init__(self) -> None:
        if (self.key is None) != (self.value is None):
            raise DomainError("an Architecture names both key and value, or neither where query is fused.")
        for name, known in (("order", Order), ("positions", Positions), ("tokens", Tokens)):
            choices = known.__args__  # type: ignore[attr-defined]
            if getattr(self, name) not in choices:
                listed = ", ".join(map(repr, choices))
                raise DomainError(
                    f"{name} of an Architecture is one of {listed}; got {getattr(self, name)!r}."
                )
        whole("extra", self.extra, least=0)
        try:
            re.compile(self.module)
        except (re.error, TypeError):
            raise DomainError(
                f"module of an Architecture is a regular expression such as r'layers\\.\\d+\\.attn'; got "
                f"{self.module!r}."
            ) from None

    def ask(self, name: str, *arguments: Any) -> Any:
        """Call this architecture's function `name`; turn an exception in it into a one-line error with that name."""
        try:
            return getattr(self, name)(*arguments)
        except SparseheadError:
            raise
        except Exception as error:
            first = " ".join(str(error).split())[:200]
            raise SparseheadError(
                f"{name} of the Architecture failed: {type(error).__name__}: {first}"
            ) from error

    def factor(self, config: Any, layer: int, k: int) -> float:
        """Return the scale of the scores of a layer whose heads have width k."""
        return real("scale of an Architecture", self.ask("scale", config, layer, k), above=0)

    def capped_at(self, config: Any) -> float | None:
        """Return the cap of the scores, None if there is none."""
        found = self.ask("cap", config)
        return None if found is None else real("cap of an Architecture", found, above=0)

    @property
    def qkv(self) -> tuple[str, ...]:
        """Return the names of query, key and value, or the name of the fused map."""
        return (self.query,) if self.key is None or self.value is None else (self.query, self.key, self.value)

    @property
    def norms(self) -> tuple[str, ...]:
        """Return the names of the norms of queries and keys."""
        return tuple(name for name in (self.query_norm, self.key_norm) if name is not None)

    def at(self, prefix: str, name: str) -> str:
        """Return the full name of the submodule `name` of the attention module `prefix`."""
        stem = prefix
        while name.startswith("../"):
            stem, name = stem.rpartition(".")[0], name[3:]
        return f"{stem}.{name}" if stem else name

    def is_at(self, prefix: str) -> bool:
        """Return whether `prefix` is the name of an attention module of this architecture."""
        return re.fullmatch(rf"(.*\.)?({self.module})", prefix) is not None

    def reads(self, prefix: str) -> bool:
        """Return whether `prefix` is the name of an attention or cross-attention module of this architecture."""
        return self.is_at(prefix) or (
            self.cross is not None and replace(self, module=self.cross).is_at(prefix)
        )

    def outside(self, config: Any) -> tuple[str, ...]:
        """Return why a layer of this architecture is outside the bound's class, one text per reason; () if inside."""
        has = {self.positions: True, "norms": bool(self.norms), "cap": self.capped_at(config) is not None}
        return tuple(text for name, text in OUTSIDE.items() if has.get(name))
