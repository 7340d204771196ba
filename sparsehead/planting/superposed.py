"""The planted model: reading heads and distractors over superposed positions, and a decoder of their mixed values.

Positions are random unit vectors in fewer dimensions than there are positions, so each head also attends a little to
positions that interfere with its own. No score depends on a bit, so the state of [CLS] is affine in the bits,

    y(b) = y_0 + sum_t b_t Y_t,

with the effects Y_t of all heads together. For each pattern of the relevant bits, the effects of irrelevant bits
determine an interval that contains a coordinate of y; the decoder is made for these intervals. `verify`, not this file,
proves the model.
"""

from dataclasses import dataclass

import numpy as np

from .._base.errors import DomainError
from .._base.types import Array, Float
from ..construct.assemble import decoded, query_and_key
from ..construct.attention import TooNarrow, additive_selection, default_leak
from ..construct.code import Code, best_code
from ..construct.decoder import plateaus
from ..construct.multi import of_read_bits
from ..functions import SparseFunction, assignments
from ..heads.block import Layer
from ..heads.encoding import Encoding
from ..heads.heads import softmax
from ..heads.model import Model
from .distractors import PlannedHead, distractor, group_size


@dataclass(frozen=True)
class Plan:
    """A model to plant: the function, "one" or "s" reading heads, kinds of distractors, and the decoder's flatness."""

    f: SparseFunction
    heads: str
    kinds: tuple[str, ...]
    flat: float

    @property
    def per_head(self) -> int:
        """The number of relevant positions that one reading head attends to."""
        return self.f.s if self.heads == "one" else 1

    @property
    def code(self) -> Code:
        """The positive weights with which one head sums the relevant bits."""
        return best_code(self.f.values, signs=False)

    @property
    def decoys(self) -> int:
        """The number of irrelevant positions that distractors attend to; no two attend to the same one."""
        return sum(group_size(kind, self.per_head) for kind in self.kinds)

    @property
    def axes(self) -> int:
        """The number k such that the decoder reads the first k coordinates of [CLS]'s state."""
        return 1 if self.heads == "one" else self.f.s

    @property
    def gap(self) -> float:
        """The approximate gap between ranges of neighbouring patterns: 1/(2 sum c_i) for the code's weights c_i, or 1/2
        for a bit read alone.
        """
        return 1 / (2 * self.code.total) if self.heads == "one" else 0.5


def reading_heads(plan: Plan, encoding: Encoding) -> list[PlannedHead]:
    """Return one head that sums the relevant bits into coordinate 0, or one for each bit, with coordinates of its own.

    A head for one bit leaks at most 1/(4 C), where C is the sum of the weights by which later units multiply its error.
    """
    f, eye = plan.f, np.eye(encoding.d)
    if plan.heads == "one":
        parts = [(f.support, plan.code, default_leak(plan.code))]
    else:
        alone = Code((1,), changes=1)
        parts = [((t,), alone, 1 / (4 * max(f.s, plan.code.total))) for t in f.support]
    picks = [
        additive_selection(encoding, positions, code, leak=leak, attends_cls=True)
        for positions, code, leak in parts
    ]
    return [PlannedHead("reading", p.support, p.key, p.value, eye[i]) for i, p in enumerate(picks)]


def distracting_heads(plan: Plan, encoding: Encoding, rng: np.random.Generator) -> list[PlannedHead]:
    """Return the heads of all distractors. No two distractors attend to the same position.

    Each head leaks a sixteenth of `Plan.gap`, so that cancelling heads leave at most an eighth of the gap.
    """
    irrelevant = np.setdiff1d(np.arange(plan.f.T), plan.f.support)
    drawn = [int(t) for t in rng.permutation(irrelevant)[: plan.decoys]]
    heads = []
    for kind in plan.kinds:
        size = group_size(kind, plan.per_head)
        group, drawn = tuple(sorted(drawn[:size])), drawn[size:]
        unread = np.zeros(encoding.d)
        unread[plan.axes :] = rng.standard_normal(encoding.d - plan.axes)
        heads += distractor(
            kind,
            group,
            encoding,
            axis=int(rng.integers(plan.axes)),
            unread=unread / np.linalg.norm(unread),
            leak=plan.gap / 16,
        )
    return heads


def effects(encoding: Encoding, heads: list[PlannedHead]) -> tuple[Float[Array, "H d"], Float[Array, "T d"]]:
    """Return the vector that each head adds to [CLS]'s state if all bits are 0, and the vector that each bit adds
    through all heads.
    """
    at_zero, by_bit = np.zeros((len(heads), encoding.d)), np.zeros((encoding.T, encoding.d))
    for h, head in enumerate(heads):
        tokens, cls = encoding.project(np.stack([head.key, head.value], axis=1))
        attention = softmax(np.append(tokens[:, 0, 0], cls[0]))
        mixed = attention[:-1] @ tokens[:, 0, 1] + attention[-1] * cls[1]
        at_zero[h] = mixed * head.write
        by_bit += np.outer(attention[:-1] * (tokens[:, 1, 1] - tokens[:, 0, 1]), head.write)
    return at_zero, by_bit


def superpose(
    plan: Plan, encoding: Encoding, *, rng: np.random.Generator
) -> tuple[Model, list[PlannedHead], float]:
    """Return the model, its heads in their order in the layer, and the interference: the largest change of a decoded
    coordinate by irrelevant bits, divided by the gap between the nearest patterns of different value.

    Raises:
        TooNarrow: the positions interfere too much in this width.
    """
    planned = [*reading_heads(plan, encoding), *distracting_heads(plan, encoding, rng)]
    heads = [planned[h] for h in rng.permutation(len(planned))]
    at_zero, by_bit = effects(encoding, heads)
    constant = np.array([head.role == "constant" for head in heads])
    shift = -at_zero[constant].sum(axis=0)
    pairs = [query_and_key(encoding, head.key) for head in heads]
    layer = Layer(
        W_Q=np.stack([q for q, _ in pairs]),
        W_K=np.stack([k for _, k in pairs]),
        W_V=np.stack([head.value[:, None] for head in heads]),
        W_C=np.stack([head.write[None] for head in heads]),
        b_C=shift if constant.any() else None,
    )
    base = (at_zero.sum(axis=0) + shift)[: plan.axes]
    inside = by_bit[list(plan.f.support), : plan.axes]
    outside = np.delete(by_bit[:, : plan.axes], list(plan.f.support), axis=0)
    ends = base + np.minimum(outside, 0).sum(axis=0), base + np.maximum(outside, 0).sum(axis=0)
    if plan.heads == "one":
        model, gap = _sum_decoded(plan, encoding, layer, inside[:, 0], (ends[0][0], ends[1][0]))
    else:
        model, gap = _bits_decoded(plan, encoding, layer, inside, ends)
    return model, heads, float((ends[1] - ends[0]).max()) / gap


def _sum_decoded(
    plan: Plan, encoding: Encoding, layer: Layer, inside: Float[Array, " s"], ends: tuple[float, float]
) -> tuple[Model, float]:
    """Return the model whose decoder reads the sum of the relevant bits, and the decoder's gap (see `plateaus`)."""
    levels = assignments(plan.f.s).astype(np.float64) @ inside
    try:
        decoder = plateaus(levels + ends[0], levels + ends[1], plan.f.values, flat=plan.flat)
    except DomainError as error:
        raise TooNarrow(f"{error} d={encoding.d} is too small for T={encoding.T}.") from error
    return decoded(encoding, layer, decoder, attends_cls=True), decoder.gap


def _bits_decoded(
    plan: Plan,
    encoding: Encoding,
    layer: Layer,
    inside: Float[Array, "s s"],
    ends: tuple[Float[Array, " s"], Float[Array, " s"]],
) -> tuple[Model, float]:
    """Return the model whose decoder reads bit i in coordinate i, and the smallest gap between ranges of 0 and 1."""
    others = inside - np.diag(np.diag(inside))
    low, high = ends[0] + np.minimum(others, 0).sum(axis=0), ends[1] + np.maximum(others, 0).sum(axis=0)
    bit = np.array([0.0, 1.0])
    by_bit = [(low[i] + bit * inside[i, i], high[i] + bit * inside[i, i]) for i in range(plan.f.s)]
    model = of_read_bits(plan.f, encoding, layer, by_bit, attends_cls=True, flat=plan.flat)
    return model, min(float(below[1] - above[0]) for below, above in by_bit)
