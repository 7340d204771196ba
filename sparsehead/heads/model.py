"""`Model`: encoding, layers, decoder and read-out in one frozen type.

Constructed, learned and imported weights all are a `Model`, so the same functions measure, read and draw them.
Calling a model evaluates many bit sequences at once. One-layer models are evaluated from the 2T + 1 distinct tokens
(`cls_tables`), which is exact and avoids forming X; deeper models by `block`, one example at a time.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np

from .._base.display import Card, ShortRepr, WithChart, clipped
from .._base.errors import DomainError, ShapeError
from .._base.frame import Frame
from .._base.types import Array, Float, Int, Shaped
from ..functions import check_bits
from .block import Layer, LayerNorm, attention_rows, block, finish_attention, finish_mlp
from .encoding import Encoding
from .heads import softmax, token_mix
from .weights import check_shapes, to_float64

CHUNK = 2**22  # numbers held at once while evaluating: 32 MB of float64


@dataclass(frozen=True, eq=False, repr=False)
class Dense(ShortRepr):
    """One ReLU layer of the decoder: y -> (y W + b)_+."""

    W: Float[Array, "a c"]
    b: Float[Array, " c"]

    def __post_init__(self) -> None:
        to_float64(self, "decoder")

    def __call__(self, y: Float[Array, "*n a"]) -> Float[Array, "*n c"]:
        return np.maximum(y @ self.W + self.b, 0)


@dataclass(frozen=True, eq=False, repr=False)
class Model(WithChart):
    """A function from bits (n, T) to n outputs, w . decoder(final_norm(y_[CLS])) + bias; y is the last layer's output.

    Args:
        encoding: maps bits to tokens; the output is computed at its [CLS] token.
        decoder: ReLU layers applied to y_[CLS]; two give `heads.tf_mlp`, none gives `heads.tf_scalar`.
        w, bias: the read-out. A two-class network is stored as the difference of its two logits.
        threshold: outputs above it predict 1; 1/2 for constructed models with values 0 and 1, 0 for logits.
        attends_cls: whether [CLS] is among the tokens attended to.
        meta: the origin of the weights, as JSON values; does not affect outputs.
    Paper: model

    >>> from sparsehead import build
    >>> model = build("x1 & x3", T=4)
    >>> model
    <Model: 1 layer of 1 head, T=4, d=7; from build: x1 & x3>
    >>> model.predict(np.array([[0, 1, 0, 1], [1, 1, 1, 0]]))
    array([1, 0])
    """

    _CHART = "figures.attention:model_chart"

    encoding: Encoding
    layers: tuple[Layer, ...]
    w: Float[Array, " p"]
    bias: float = 0.0
    final_norm: LayerNorm | None = None
    decoder: tuple[Dense, ...] = ()
    threshold: float = 0.5
    attends_cls: bool = True
    meta: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        to_float64(self, "model")
        if not self.layers:
            raise DomainError("a model needs at least one layer, got none.")
        d = width = self.encoding.d
        for i, layer in enumerate(self.layers):
            if layer.d != d:
                raise ShapeError(
                    f"layer {i} works in d={layer.d} dimensions, the encoding makes tokens of d={d}."
                )
        if self.final_norm is not None:
            check_shapes(self.final_norm, {"gain": (d,), "bias": (d,)}, "final_norm")
        for i, dense in enumerate(self.decoder):
            check_shapes(dense, {"W": (width, dense.b.shape[0]), "b": dense.b.shape}, f"decoder layer {i}")
            width = dense.b.shape[0]
        check_shapes(self, {"w": (width,)}, "model")
        if not (np.isfinite(self.bias) and np.isfinite(self.threshold)):
            raise DomainError(f"bias and threshold must be finite, got {self.bias} and {self.threshold}.")

    @property
    def T(self) -> int:
        return self.encoding.T

    @property
    def d(self) -> int:
        return self.encoding.d

    @property
    def H(self) -> int:
        """The number of heads of the last layer."""
        return self.layers[-1].H

    @property
    def L(self) -> int:
        return len(self.layers)

    def __repr__(self) -> str:
        layers, heads = (
            f"{n} {word}{'' if n == 1 else 's'}" for n, word in ((self.L, "layer"), (self.H, "head"))
        )
        made = self.meta.get("source") or self.meta.get("made_by")
        of = f": {self.meta['function']}" if "function" in self.meta else ""
        origin = f"; from {made}{of}" if made else ""
        return f"<Model: {layers} of {heads}, T={self.T}, d={self.d}{clipped(origin, 200)}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the sizes and the origin; the weights are in `layers`, and in the file that `save` writes."""
        layer = self.layers[-1]
        return {
            "T": self.T, "d": self.d, "layers": self.L, "heads": self.H, "k": layer.W_Q.shape[-1],
            "encoding": self.encoding.kind, "hidden_units": [len(dense.b) for dense in self.decoder],
            "attends_cls": self.attends_cls, "threshold": self.threshold, "meta": dict(self.meta),
        }  # fmt: skip

    def to_frame(self) -> Frame:
        """Return a table with one row per array of weights, named as in the file that `save` writes."""
        return Frame(
            {
                "array": name,
                "shape": " x ".join(map(str, array.shape)),
                "nonzero": np.count_nonzero(array),
                "largest": np.abs(array).max(initial=0.0),
                "frobenius": np.linalg.norm(array),
            }
            for name, array in arrays_of(self)
        )

    def _card(self) -> Card:
        plain = self.to_dict()
        facts = {name: plain[name] for name in ("T", "d", "layers", "heads", "k", "encoding", "threshold")}
        noted = ("function", "source", "made_by", "method", "m", "seed", "steps")
        notes = {name: self.meta[name] for name in noted if name in self.meta}
        said = f"bits (n, {self.T}) in, numbers (n,) out"
        return Card("Model", [said], {**notes, **facts}, self.to_frame())

    def __call__(self, bits: Shaped[Array, "..."]) -> Float[Array, " n"]:
        """Return the outputs, float64."""
        return self.read_out(self._by_chunks(self.cls_state, bits, (self.d,)))

    def predict(self, bits: Shaped[Array, "..."]) -> Int[Array, " n"]:
        """Return 1 if the output exceeds the threshold, else 0, for each example."""
        return (self(bits) > self.threshold).astype(np.int64)

    def attention(self, bits: Shaped[Array, "..."]) -> Float[Array, "n H tokens"]:
        """Return the last layer's attention of [CLS] to every token; the last column is [CLS] (0 if not attended)."""
        return self._by_chunks(self.cls_weights, bits, (self.H, self.T + 1))

    def read_out(self, y: Float[Array, "n d"]) -> Float[Array, " n"]:
        """Return the outputs, given y_[CLS] of each example."""
        if self.final_norm is not None:
            y = self.final_norm(y)
        for dense in self.decoder:
            y = dense(y)
        return y @ self.w + self.bias

    def cls_tables(self) -> tuple[Float[Array, "n 2 H"], Float[Array, "n 2 H v"]]:
        """Return the score and the value of every token for the [CLS] query of a one-layer model.

        Entry [t, b] is for position t with bit b; row T is [CLS], with equal entries for both b. Scores include
        the temperature and the biases; if [CLS] is not attended, its score is -inf.
        """
        scores, values = self._cls_projections(values=True)
        b_V = self.layers[0].b_V
        return scores, values.reshape(len(values), 2, self.H, -1) + (0 if b_V is None else b_V)

    def cls_scores(self) -> Float[Array, "n 2 H"]:
        """Return only the scores of `cls_tables`, which takes a fifth of the memory."""
        return self._cls_projections(values=False)[0]

    def _cls_projections(self, *, values: bool) -> tuple[Float[Array, "n 2 H"], Float[Array, "n 2 k"]]:
        """Return the score of every token for the [CLS] query, and, if `values`, every token's product with W_V."""
        layer = self.layers[0]
        if self.L != 1:
            raise DomainError(
                f"only one-layer models have a table of tokens; this one has L={self.L} layers."
            )
        d, norm = layer.W_Q.shape[1], layer.norm_attention
        z = self.encoding.cls if norm is None else norm(self.encoding.cls)
        q = layer.query(self.encoding.cls)
        kappa = np.einsum("hdk,hk->dh", layer.W_K, q) / layer.temperature
        offset = 0.0 if layer.b_K is None else (layer.b_K * q).sum(axis=1) / layer.temperature
        W = np.hstack([kappa, layer.W_V.transpose(1, 0, 2).reshape(d, -1)]) if values else kappa
        table = np.empty((self.T + 1, 2, W.shape[1]))
        for part, piece in self.encoding.pieces():
            table[part] = piece.project(W)[0] if norm is None else norm(piece.token_table()[0]) @ W
        table[-1] = z @ W
        scores = table[..., : self.H] + offset
        if not self.attends_cls:
            scores[-1] = -np.inf
        return scores, table[..., self.H :]

    def cls_state(self, bits: Int[Array, "n T"]) -> Float[Array, "n d"]:
        """Return y_[CLS], the last layer's output at [CLS], for each example."""
        if self.L > 1:
            return np.array([self._deep_state(b)[-1] for b in bits])
        return self.state_from_weights(bits, self.cls_weights(bits))

    def state_from_weights(
        self, bits: Int[Array, "n T"], A: Float[Array, "n H tokens"]
    ) -> Float[Array, "n d"]:
        """Return y_[CLS] of a one-layer model in which head h mixes the values with the weights A[:, h].

        With A = cls_weights(bits) this equals cls_state(bits). A head whose weights are all 0 contributes nothing:
        its mixed value is 0 before sigma and W_C, and sigma(0) = 0.
        """
        _, values = self.cls_tables()
        mixed = [mix_bits(bits, A[:, h], values[:, :, h]) for h in range(self.H)]
        X = np.broadcast_to(self.encoding.cls, (len(bits), self.d))
        return finish_mlp(finish_attention(X, mixed, self.layers[0]), self.layers[0])

    def cls_weights(self, bits: Int[Array, "n T"]) -> Float[Array, "n H tokens"]:
        """Return the weights of `attention`, without checking the bits."""
        if self.L > 1:
            return np.array([self._deep_weights(b) for b in bits])
        scores = self.cls_scores()
        on = np.pad(bits, ((0, 0), (0, 1)))[:, None, :]
        return softmax(np.where(on == 1, scores[:, 1].T[None], scores[:, 0].T[None]))

    def _deep_state(self, b: Int[Array, " T"], upto: int | None = None) -> Float[Array, "T+1 d"]:
        X = self.encoding(b)
        for layer in self.layers[:upto]:
            X = block(X, layer, attends_cls=self.attends_cls)
        return X

    def _deep_weights(self, b: Int[Array, " T"]) -> Float[Array, "H T+1"]:
        X = self._deep_state(b, upto=-1)
        last = self.layers[-1]
        return np.array([attention_rows(X, last, h, attends_cls=self.attends_cls)[-1] for h in range(self.H)])

    def _by_chunks(
        self, evaluate: Callable[[Array], Array], bits: Shaped[Array, "..."], shape: tuple[int, ...]
    ) -> Array:
        checked = check_bits(bits, self.T).astype(np.int64)
        if checked.ndim != 2:
            raise ShapeError(
                f"bits of shape {checked.shape} arrived; pass (n, {self.T}), one sequence per row."
            )
        rows = max(1, CHUNK // (self.H * (self.T + 1) + self.d))
        parts = [evaluate(checked[i : i + rows]) for i in range(0, len(checked), rows)]
        return np.concatenate(parts) if parts else np.empty((0, *shape))


def mix_bits(
    bits: Int[Array, "n T"], A: Float[Array, "n tokens"], values: Float[Array, "tokens 2 v"]
) -> Float[Array, "n v"]:
    """Return one head's mixed values in a one-layer model: its values from `cls_tables`, averaged with weights A."""
    ones = A * np.pad(bits.astype(np.float64), ((0, 0), (0, 1)))  # [CLS] has no bit; both its entries agree
    return token_mix(A - ones, values[:, 0]) + token_mix(ones, values[:, 1])


def parts_of(part: Any, where: str = "") -> list[tuple[str, Any]]:
    """Return (path, part) for each part of a dataclass or a tuple, with paths like "layers.0.W_Q"; [] for others."""
    prefix = f"{where}." if where else ""
    if is_dataclass(part) and not isinstance(part, type):
        return [(prefix + f.name, getattr(part, f.name)) for f in fields(part)]
    return [(f"{prefix}{i}", item) for i, item in enumerate(part)] if isinstance(part, tuple) else []


def arrays_of(part: Any, where: str = "") -> Iterator[tuple[str, Array]]:
    """Yield (path, array) for every array inside `part`, at any depth."""
    if isinstance(part, np.ndarray):
        yield where, part
    for path, inner in parts_of(part, where):
        yield from arrays_of(inner, path)
