"""`Planted`: a model whose function and support are known by proof."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._base.display import Card, WithCard, clipped
from .._base.frame import Frame
from ..certify.certificate import Certificate
from ..construct.export import to_torch, to_transformer_lens
from ..functions import SparseFunction
from ..heads.model import Model
from .recovery import Recovery, recovery

if TYPE_CHECKING:
    from ..construct.torch_model import TorchModel


@dataclass(frozen=True)
class HeadRole:
    """The purpose of one head of a planted model.

    Args:
        role: "reading", or the kind of distractor: "silent", "constant" or "cancel".
        positions: the positions to which it attends.
        share: the share of its attention that these positions get, the same on every input.
    """

    role: str
    positions: tuple[int, ...]
    share: float


@dataclass(frozen=True, eq=False, repr=False)
class Planted(WithCard):
    """The result of `plant`: a model that computes `function`, proved on all 2^T inputs.

    Args:
        model: a model of one layer, whose attention does not depend on the bits.
        certificate: the result of `verify(model, function)`; its `correct` is True.
        heads: the purpose of each head of the layer.
        interference: the largest change of a decoded number by irrelevant bits, divided by the gap between the nearest
            patterns of different value; computed in float64, without a bound on rounding errors.
        difficulty, seed: as given to `plant`.
    """

    model: Model
    function: SparseFunction
    certificate: Certificate
    heads: tuple[HeadRole, ...]
    interference: float
    difficulty: float
    seed: int

    @property
    def support(self) -> tuple[int, ...]:
        """The positions that the function reads."""
        return self.function.support

    @property
    def T(self) -> int:
        return self.model.T

    @property
    def d(self) -> int:
        return self.model.d

    @property
    def decoys(self) -> tuple[int, ...]:
        """The irrelevant positions that distractors attend to."""
        return tuple(sorted({t for head in self.heads if head.role != "reading" for t in head.positions}))

    def torch(self, *, dtype: str = "float64") -> "TorchModel":
        """Return the model as a torch.nn.Module: bits (n, T) -> (n,). See `to_torch`."""
        return to_torch(self.model, dtype=dtype)

    def to_transformer_lens(self) -> Any:
        """Return the attention as a HookedTransformer; `model.read_out` decodes its `blocks.0.hook_attn_out` at [CLS].

        See `to_transformer_lens`; it needs the package transformer_lens.
        """
        return to_transformer_lens(self.model)

    def score(self, scores: Any) -> Recovery:
        """Return how well the scores of a method recover the support.

        Args:
            scores: one number for each position, or an array (n, T) with one row for each example, whose absolute
                values are averaged; larger means more relevant.

        >>> from sparsehead import plant
        >>> planted = plant("x1 & x4", T=12, difficulty=0, seed=0)
        >>> planted.score(planted.model.attention(planted.certificate.worst_input[None])[0, :, :-1])
        <Recovery: 1 of the support among the 2 largest of 12 scores; 3 marked, precision 0.667, recall 1>
        """
        return recovery(scores, self.support, self.T)

    def __repr__(self) -> str:
        idle = sum(head.role != "reading" for head in self.heads)
        counted = f"{len(self.heads)} head{'s' if len(self.heads) > 1 else ''}, {idle} to distract"
        return (
            f"<Planted: {clipped(str(self.function), 120)} reads {self.function.s} of T={self.T} positions in "
            f"d={self.d} dimensions; {counted}; proved on all 2^{self.T} inputs>"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the weights as JSON values."""
        return {
            "function": str(self.function), "support": list(self.support), "T": self.T, "d": self.d,
            "difficulty": self.difficulty, "seed": self.seed, "interference": self.interference,
            "decoys": list(self.decoys), "heads": self.to_frame().to_dict(),
            "certificate": self.certificate.to_dict(),
        }  # fmt: skip

    def to_frame(self) -> Frame:
        """Return a table with one row per head: its role, its positions, and the share of attention that they get."""
        return Frame(
            {
                "head": h,
                "role": head.role,
                "positions": ", ".join(f"x{t}" for t in head.positions),
                "share": head.share,
            }
            for h, head in enumerate(self.heads)
        )

    def _card(self) -> Card:
        names = ("function", "T", "d", "difficulty", "seed", "interference")
        plain = self.to_dict()
        lines = ["Support and function are proved on all inputs.", self.certificate.verdict]
        return Card("Planted", lines, {name: plain[name] for name in names}, self.to_frame())
