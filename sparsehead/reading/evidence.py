"""Additional evidence on a reading, not used to find it: attention, influence, flips by position, and ablation.

Attention, influence and flips can disagree: a head may attend to a position without using it, and a position may affect
the output through one of sixteen heads although it gets little of the total attention. Ablation measures how often a
one-layer model still agrees with the function read when parts of its attention are removed. Removing positions sets
their weights to 0 and rescales the others to sum to 1; removing a head sets its mixed value to 0 before the output
projection W_C, so that it adds nothing to the residual stream.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .._base.display import ShortRepr
from .._base.types import Array, Bool, Float, Shaped
from ..certify.chain import tail
from ..functions import SparseFunction, influences
from ..heads.model import Model, mix_bits
from .queries import Oracle, flip_shares

WEIGHTS_AT_ONCE = 2**23  # attention weights computed at once: 64 MB; ablations hold half as many


@dataclass(frozen=True)
class Evidence:
    """Evidence about one position.

    Args:
        attention: mean attention weight on the position, over inputs and heads of the last layer, or None.
        influence: exact P(a flip of the position changes the function that was read) under the input distribution.
        flips: share of the sampled inputs on which a flip of the position changes the model's label.
    """

    attention: float | None
    influence: float
    flips: float


def gather_evidence(
    model: Any, oracle: Oracle, f: SparseFunction, bits: Shaped[Array, "n T"], *, p: float, also: list[int]
) -> dict[int, Evidence]:
    """Return evidence for f's support, for the first 8 positions in `also`, and for the 8 with the most attention."""
    attention = mean_attention(model, bits) if isinstance(model, Model) else None
    attended = [] if attention is None else np.argsort(-attention, kind="stable")[:8].tolist()
    positions = sorted({*f.support, *also[:8], *attended})
    sample = bits[:256]
    flips = flip_shares(oracle, sample, oracle(sample), positions)
    exact = dict(zip(f.support, influences(f, p=p).tolist(), strict=True))
    return {
        t: Evidence(None if attention is None else float(attention[t]), exact.get(t, 0.0), flips[t])
        for t in positions
    }


def mean_attention(model: Model, bits: Shaped[Array, "n T"]) -> Float[Array, " T"]:
    """Return the mean weight on each position in the last layer, over inputs and heads; [CLS] is left out."""
    n = max(16, min(len(bits), 100, WEIGHTS_AT_ONCE // (model.H * model.T)))
    return model.attention(bits[: n if model.L == 1 else 4])[:, :, :-1].mean(axis=(0, 1))


def disagreement(evidence: dict[int, Evidence], support: tuple[int, ...]) -> str | None:
    """Return one sentence if attention or flips indicate positions outside the support; None if both agree with it."""
    s = len(support)
    if not s or any(e.attention is None for e in evidence.values()):
        return None
    by_attention = sorted(evidence, key=lambda t: -(evidence[t].attention or 0.0))[:s]
    by_flips = sorted(evidence, key=lambda t: -evidence[t].flips)[:s]
    wrong = [
        f"{name} names {', '.join(f'x{t}' for t in sorted(top))}"
        for name, top in (("attention", by_attention), ("flipping single bits", by_flips))
        if set(top) != set(support)
    ]
    return f"The evidence disagrees: {'; '.join(wrong)}." if wrong else None


@dataclass(frozen=True, repr=False)
class Ablation(ShortRepr):
    """Shares of inputs on which the changed model still agrees with f.

    Args:
        whole: the share with nothing removed.
        support_only: the share without attention outside the support; [CLS] counts as outside.
        without_position: for each position of the support, the share without attention to it, in all heads.
        without_head: for each head, the share without it.
        carried: for every position of the support, the head whose attention to the position matters most; None if
            removing this attention from a single head never changes the agreement.
    """

    whole: float
    support_only: float
    without_position: dict[int, float]
    without_head: tuple[float, ...]
    carried: dict[int, int | None]

    def to_dict(self) -> dict[str, Any]:
        by_position = {
            name: {str(t): v for t, v in getattr(self, name).items()}
            for name in ("without_position", "carried")
        }
        return {**asdict(self), **by_position, "without_head": list(self.without_head)}


def ablate(model: Model, f: SparseFunction, bits: Shaped[Array, "n T"]) -> Ablation | None:
    """Return the ablations of a one-layer model on these inputs; None for deeper models and if f is constant."""
    if model.L != 1 or not f.s:
        return None
    n = max(32, min(len(bits), WEIGHTS_AT_ONCE // 2 // (model.H * (model.T + 1))))
    b = bits[:n].astype(np.int64)
    labels, A, values = f(b), model.cls_weights(b), model.cls_tables()[1]
    mixes = np.stack([mix_bits(b, A[:, h], values[:, :, h]) for h in range(model.H)], axis=1)

    def agreement(changed: dict[int, Float[Array, "n v"]]) -> float:
        """Return the agreement with f if the mixed values of these heads are replaced by `changed`."""
        mixed = mixes.copy()
        for h, mix in changed.items():
            mixed[:, h] = mix
        return float(((tail(model, mixed) > model.threshold) == labels).mean())

    def without(removed: Bool[Array, " tokens"], heads: list[int]) -> float:
        """Return the agreement with f if these heads ignore the removed tokens; other weights are rescaled to sum 1."""
        part = A[:, heads]
        part[..., removed] = 0.0
        total = part.sum(axis=-1, keepdims=True)
        scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
        return agreement(
            {h: mix_bits(b, part[:, i], values[:, :, h]) * scale[:, i] for i, h in enumerate(heads)}
        )

    def without_one(t: int, heads: list[int]) -> float:
        """Return `without` for one position: subtract its term from the mixed values. If little weight remains, add up
        the other terms instead, which is more precise.
        """
        a, own = A[:, heads, t, None], values[t, b[:, t]]
        if a.max() > 0.999:
            return without(at == t, heads)
        return agreement(
            {h: (mixes[:, h] - a[:, i] * own[:, h]) / (1 - a[:, i]) for i, h in enumerate(heads)}
        )

    whole, every, at = agreement({}), list(range(model.H)), np.arange(model.T + 1)
    losses = {t: [whole - without_one(t, [h]) for h in every] for t in f.support}
    return Ablation(
        whole=whole,
        support_only=without(~np.isin(at, f.support), every),
        without_position={t: without_one(t, every) for t in f.support},
        without_head=tuple(agreement({h: np.zeros_like(mixes[:, h])}) for h in every),
        carried={t: int(np.argmax(lost)) if max(lost) > 0 else None for t, lost in losses.items()},
    )
