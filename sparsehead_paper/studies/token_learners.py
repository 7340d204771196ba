"""Learners of pointer tasks in torch, many runs side by side; each run has its own data, codes and weights.

The weights of all runs are stacked along a first axis. Runs influence each other in nothing: their losses are added,
and Adam updates each weight separately.

    heads          scores c^T A u_i from the pointer's code c and the positions' codes u_i; values z_i V of width 8;
                   linear output
    feed-forward   all z_i and c in one vector; two hidden ReLU layers
    recurrent      a gated recurrent unit whose state starts from c and reads (z_i, u_i) from left to right; one hidden
                   ReLU layer behind the last state
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sparsehead._base.rng import stream
from sparsehead._base.types import Array, Float

from ..theory.pointers import sign_codes

Weights = dict[str, Tensor]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A pointer task, with the learner and its training.

    Args:
        learner: one of the names in this file's docstring.
        N, q, d: tokens, pointers, entries of each token; all entries are independent standard normal numbers.
        ordered: whether the target is the list of the q tokens, rather than their sum divided by sqrt(q d). The
            variances of its entries add up to q d, or to 1, and errors are relative to this sum.
        heads: of the learner "heads".
        steps, batch, rate, width: steps of AdamW, samples in each, its rate (a cosine to 0), hidden units.
    """

    learner: str
    N: int
    q: int
    d: int = 1
    ordered: bool = False
    heads: int = 1
    steps: int = 400
    batch: int = 64
    rate: float = 3e-2
    width: int = 64

    @property
    def p(self) -> int:
        """The width of the codes, 4 q log2 N rounded up."""
        return math.ceil(4 * self.q * math.log2(self.N))

    @property
    def sizes(self) -> tuple[int, int]:
        """The widths of the pointer's code and of the target: ordered pointers have one code each, others their sum."""
        return (self.q * self.p, self.q * self.d) if self.ordered else (self.p, self.d)


@dataclass(frozen=True)
class Data:
    """Samples of one run: tokens (n, N, d), pointer codes (n, c), targets (n, out); and the codes (N, p)."""

    z: Float[Array, "n N d"]
    asked: Float[Array, "n c"]
    target: Float[Array, "n out"]
    codes: Float[Array, "N p"]


def draw(problem: Problem, n: int, *, seed: int, what: str) -> Data:
    """Draw codes and n samples; the codes depend on the seed, the samples on the seed and `what`.

    The first samples are the same for every n.
    """
    N, q, d = problem.N, problem.q, problem.d
    codes = sign_codes(N, problem.p, rng=stream(seed, "pointer codes", N, q))
    vectors, sets = (stream(seed, f"pointer {name}", what, N, q) for name in ("vectors", "sets"))
    z = vectors.standard_normal((n, N, d))
    y = np.argsort(sets.random((n, N)), axis=1)[:, :q]
    pointed = np.take_along_axis(z, y[:, :, None], axis=1)
    if problem.ordered:
        return Data(z, codes[y].reshape(n, -1), pointed.reshape(n, -1), codes)
    return Data(z, codes[y].sum(axis=1), pointed.sum(axis=1) / math.sqrt(q * d), codes)


def trained(
    problem: Problem,
    runs: Sequence[tuple[int, int]],
    *,
    test: int = 500,
) -> list[float]:
    """Train one run for each (seed, m); return the least relative error of each on `test` fresh samples.

    Errors are measured every 50 steps. m = 0 stands for fresh samples at every step.
    """
    seeds = sorted({seed for seed, _ in runs})
    most = max(m or problem.steps * problem.batch for _, m in runs)
    pools = {seed: draw(problem, most, seed=seed, what="train") for seed in seeds}
    held = {seed: draw(problem, test, seed=seed, what="test") for seed in seeds}
    codes = _stack([pools[seed].codes for seed, _ in runs])
    checks = [_stack([getattr(held[seed], name) for seed, _ in runs]) for name in ("z", "asked", "target")]
    weights = _initial(problem, runs)
    optimiser = torch.optim.AdamW(weights.values(), lr=problem.rate, weight_decay=1e-3)
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, problem.steps)
    best = torch.full((len(runs),), math.inf)
    order = [stream(seed, "pointer batches", m) for seed, m in runs]
    for step in range(1, problem.steps + 1):
        picks = [_picks(rng, m, step, problem.batch) for rng, (_, m) in zip(order, runs)]
        batch = [
            _stack([getattr(pools[seed], name)[pick] for (seed, _), pick in zip(runs, picks)])
            for name in ("z", "asked", "target")
        ]
        optimiser.zero_grad()
        _errors(problem, weights, batch, codes).sum().backward()
        optimiser.step()
        falling.step()
        if step % 50 == 0 or step == problem.steps:
            with torch.no_grad():
                best = torch.minimum(best, _errors(problem, weights, checks, codes))
    return [float(error) for error in best]


def _picks(rng: np.random.Generator, m: int, step: int, batch: int) -> Array:
    """Return the samples of a step: drawn from the first m, or, for m = 0, not used before."""
    return rng.integers(m, size=batch) if m else np.arange((step - 1) * batch, step * batch)


def _stack(parts: Sequence[Array]) -> Tensor:
    return torch.from_numpy(np.stack(parts)).float()


def _errors(problem: Problem, weights: Weights, batch: Sequence[Tensor], codes: Tensor) -> Tensor:
    """Return the mean squared error of each run, relative to the target's variance."""
    z, asked, target = batch
    found = FORWARD[problem.learner](weights, z, asked, codes)
    variance = problem.q * problem.d if problem.ordered else 1
    return ((found - target) ** 2).sum(dim=-1).mean(dim=-1) / variance


def _initial(problem: Problem, runs: Sequence[tuple[int, int]]) -> Weights:
    """Draw the initial weights of every run from its own stream: the scale of a matrix depends on its number of rows,
    and vectors are 0.
    """
    c, out = problem.sizes
    N, d, p, h, width = problem.N, problem.d, problem.p, problem.heads, problem.width
    values = 8  # width of a head's values; those of tokens with d entries have rank d
    shapes: dict[str, tuple[int, ...]] = {
        "heads": {"A": (h, c, p), "V": (h, d, values), "out": (h * values, out)},
        "feed-forward": {
            "first": (N * d + c, width), "first_bias": (width,), "second": (width, width), "second_bias": (width,),
            "out": (width, out), "out_bias": (out,),
        },
        "recurrent": {
            "start": (c, width), "input": (d + p, 3 * width), "state": (width, 3 * width), "bias": (3 * width,),
            "hidden": (width, width), "hidden_bias": (width,), "out": (width, out), "out_bias": (out,),
        },
    }[problem.learner]  # fmt: skip

    def one(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> Array:
        if len(shape) == 1:
            return np.zeros(shape)
        return rng.standard_normal(shape) * (0.1 if name == "A" else shape[-2] ** -0.5)

    streams = [stream(seed, "pointer weights", problem.learner, m) for seed, m in runs]
    return {
        name: _stack([one(rng, name, shape) for rng in streams]).requires_grad_()
        for name, shape in shapes.items()
    }


def _heads(w: Weights, z: Tensor, asked: Tensor, codes: Tensor) -> Tensor:
    attention = torch.einsum("rnc,rhcp,rip->rnhi", asked, w["A"], codes).softmax(dim=-1)
    mixed = torch.einsum("rnhi,rnid,rhde->rnhe", attention, z, w["V"]).flatten(2)
    return mixed @ w["out"]


def _feed_forward(w: Weights, z: Tensor, asked: Tensor, codes: Tensor) -> Tensor:
    x = torch.cat([z.flatten(2), asked], dim=-1)
    x = torch.relu(x @ w["first"] + w["first_bias"][:, None])
    x = torch.relu(x @ w["second"] + w["second_bias"][:, None])
    return x @ w["out"] + w["out_bias"][:, None]


def _recurrent(w: Weights, z: Tensor, asked: Tensor, codes: Tensor) -> Tensor:
    state = torch.tanh(asked @ w["start"])
    width, d = state.shape[-1], z.shape[-1]
    position = codes @ w["input"][:, d:] + w["bias"][:, None]
    for i in range(z.shape[2]):
        own, kept = z[:, :, i] @ w["input"][:, :d] + position[:, i : i + 1], state @ w["state"]
        reset, update = torch.sigmoid(own[..., : 2 * width] + kept[..., : 2 * width]).split(width, dim=-1)
        proposed = torch.tanh(own[..., 2 * width :] + reset * kept[..., 2 * width :])
        state = proposed + update * (state - proposed)
    hidden = torch.relu(state @ w["hidden"] + w["hidden_bias"][:, None])
    return hidden @ w["out"] + w["out_bias"][:, None]


FORWARD: dict[str, Callable[[Weights, Tensor, Tensor, Tensor], Tensor]] = {
    "heads": _heads,
    "feed-forward": _feed_forward,
    "recurrent": _recurrent,
}
