"""What a form of the bound is: how it charges for weights, and how it adds up what it charges."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..items import Covering, Item
from ..norms import MatrixNorms


class Charge(NamedTuple):
    """What one matrix costs at resolution x: (value b/x)^2 lambda, where b bounds the points that it meets.

    norm names the norm whose `value` is charged; equal norms of one matrix are paid for once in a union bound.
    """

    norm: str
    value: float
    log_lambda: float


@dataclass(frozen=True)
class Form:
    """One form of the bound.

    Args:
        description: what it charges, in a few words.
        linear: the norms of W and ln N -> the charge for x -> x W on N points.
        bilinear: the norms of W and ln N -> the charge for a score (x, z) -> z^T W x on N pairs.
        covering: items and ln eps -> ln N_inf(eps); None where it is C/eps^2, split in closed form.
        below_capacity: whether ln N_inf(eps) <= C/eps^2 holds for its items, so that the gap may use it.
        log_softmax: ln of the Lipschitz constant of softmax, from the sup-norm to the l1-norm, that it uses.
        values_per_token: whether it covers values on all mT tokens rather than on one point per sequence.
        needs: what norms must be given besides those of `head_class.REQUIRED`. charges: these norms in words.
        proven: whether what it says is a certificate.
    """

    description: str
    linear: Callable[[MatrixNorms, float], Charge]
    bilinear: Callable[[MatrixNorms, float], Charge]
    covering: Callable[[Sequence[Item], float], Covering] | None = None
    below_capacity: bool = True
    log_softmax: float = 0.0
    values_per_token: bool = False
    needs: tuple[str, ...] = ()
    charges: str = ""
    proven: bool = True
