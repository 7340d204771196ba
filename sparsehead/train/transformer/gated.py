"""Gated keys: initial weights of a model with them, and its conversion to a `Model`. Needs only NumPy.

Each head attends to [CLS] and to the positions with one value of the bit: 0 for the first `zero_heads` heads, 1 for the
others. A token is (P_t, marker of its bit); [CLS] is the zero token, so its query is b_Q. Keys depend only on P_t,
values only on markers. With a = W_K b_Q / temperature and sums over the positions t with the head's value of the bit,

    share = sum_t exp <a, P_t> / (exp s_cls + sum_t exp <a, P_t>),      mixed values = b_V + (share - 1/2) W_V,

so the value of [CLS] is b_V - W_V/2 and that of a position is b_V + W_V/2. The layer has no norm before its attention.
`forward.gated_values` and kernel/gated.h compute this; `gated_layer` writes it as an ordinary softmax head, in which
positions with the other value of the bit get so low a score that their weight is below rounding.
"""

import math
from collections.abc import Callable

import numpy as np

from ..._base.types import Array, Float
from ...functions.task import Task
from ...heads.encoding import Encoding
from ..architecture import MARKERS, Architecture
from ..spec import TrainSpec, task_of

Weights = dict[str, Float[Array, "..."]]


def begin(p: Weights, spec: TrainSpec, margin: Callable[[Float[Array, " H"]], float]) -> None:
    """Set [CLS]'s score and align the heads' signs, in place.

    Args:
        p: weights by name, drawn as those of any model.
        margin: a function that returns the model's output for given shares of the heads.
    """
    a = spec.architecture
    ones = _share_of_ones(task_of(spec))
    attended = a.T * np.where(np.arange(a.H) < a.zero_heads, 1 - ones, ones)
    p["s_cls.0"][:] = np.log(attended) + math.log(spec.cls_share / (1 - spec.cls_share))
    if spec.signs == "random":
        return
    rises = 1 if spec.signs == "rising" else -1  # with the number of ones
    for h in range(a.H):
        wanted = -rises if h < a.zero_heads else rises
        up, down = (np.where(np.arange(a.H) == h, 0.5 + step, 0.5) for step in (1e-4, -1e-4))
        if (margin(up) - margin(down)) * wanted < 0:
            p["W_V.0"][
                0, h :: a.H
            ] *= -1  # at shares of 1/2 nothing else changes, the other heads' signs neither


def _share_of_ones(task: Task) -> float:
    """Return the mean probability of a one; 1/2 if the inputs come from a sampler."""
    return 0.5 if task.p is None else float(np.mean(task.p))


def gated_encoding(p: Weights, a: Architecture) -> Encoding:
    """Return the encoding with tokens (P_t, marker of the bit) and [CLS] = 0."""
    marks = np.zeros((2, a.d))
    marks[0, -2] = marks[1, -1] = 1.0
    P = np.hstack([p["P"].T, np.zeros((a.T, MARKERS))])
    return Encoding(kind="trainable", T=a.T, E=marks, P=P, cls=np.zeros(a.d))


def gated_attention(p: Weights, a: Architecture) -> dict[str, Float[Array, "..."]]:
    """Return the fields W_Q, W_K, W_V and their biases of `Layer`. Keys have one coordinate more than a.k, for the gate
    and the score of [CLS].
    """
    W_K, q, W_V = (p[name].reshape(-1, a.k, a.H) for name in ("W_K.0", "b_Q.0", "W_V.0"))
    q, W_V = q[0].T, W_V[0].T  # (H, k)
    b_V = p["b_V.0"].reshape(a.k, a.H).T if a.bias else np.zeros((a.H, a.k))
    scores = np.einsum("dt,dkh,hk->ht", p["P"], W_K, q) / a.temperature
    # all that a gate shuts out weighs less than e^-40 = 4e-18 of [CLS], which float64 cannot see beside it
    gap = 40.0
    shut = np.maximum(scores.max(axis=1) - p["s_cls.0"], 0) + gap + math.log(a.T)
    keys, values = np.zeros((a.H, a.d, a.k + 1)), np.zeros((a.H, a.d, a.k))
    keys[:, :-MARKERS, : a.k] = W_K.transpose(2, 0, 1)
    for h in range(a.H):
        own = -MARKERS + int(h >= a.zero_heads)  # the marker's coordinate
        keys[h, -MARKERS:, -1] = -a.temperature * (p["s_cls.0"][h] + shut[h])
        keys[h, own, -1] = -a.temperature * p["s_cls.0"][h]
        values[h, own] = W_V[h]
    b_Q = np.hstack([q, np.ones((a.H, 1))])
    return {"W_Q": np.zeros_like(keys), "W_K": keys, "W_V": values, "b_Q": b_Q, "b_V": b_V - W_V / 2}
