"""The positions that a head's output depends on (influence); how much the model's output depends on a head (ablation).

Attention does not show what a head's output depends on: a position with a large weight may have the same value as all
others, and one with a small weight may determine the scores. Influence is therefore measured by substitution:

direct   the layer's input at position t is replaced by that of another sequence at the same position; query row i != t
         keeps its query. With old and new weight a and a' (before normalising), old and new value v and v',
         and the head's mixture of values o, the mixture changes by exactly

             delta = (a' (v' - o) - a (v - o)) / (1 + a' - a),

         so two matrix products give all positions, without another pass through the model.
total    the model's input token at position t is replaced by that of another sequence, and the model is run again: T
         passes; earlier layers change too.

The influence of t is the norm of the change after W_O, averaged over query rows. It is compared with the mean weight on
t over the same rows by Spearman's rank correlation and by the overlap of the four largest positions.

Ablation sets the mixed values of a head to zero before the output projection, since the projection adds up all heads.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import torch
from torch import Tensor

from .._base.errors import DomainError
from .._base.types import Array
from .inputs import Inputs
from .load import Source
from .recompute import Call, row_blocks
from .running import run
from .statistics import STABLE, Plain, support_of

Rows = Callable[[int], Tensor]  # the query rows to measure, given T
Passes = Callable[[int, int], None]  # told how many passes are done, and of how many


@dataclass(frozen=True, repr=False)
class Influence(Plain):
    """Influence of positions on one head, averaged over sequences; positions[t] is the influence of position t.

    correlation: Spearman's, between influence and mean attention, averaged over sequences; None if either is constant.
    overlap: share of the four most influential positions that are among the four most attended. support: the positions
    before the largest drop when all influences are sorted from high to low.
    """

    sequences: int
    correlation: float | None
    overlap: float
    support: tuple[int, ...]
    positions: tuple[float, ...]


@dataclass(eq=False)
class _Account:
    """Influence, and its agreement with attention, of the sequences added so far."""

    correlations: list[float] = field(default_factory=list)
    overlaps: list[float] = field(default_factory=list)
    vectors: list[Array] = field(default_factory=list)

    def add(self, influence: Array, attention: Array) -> None:
        found = spearman(influence, attention)
        self.correlations += [] if found is None else [found]
        tops = [set(np.argsort(-v, kind="stable")[:STABLE].tolist()) for v in (influence, attention)]
        self.overlaps.append(len(tops[0] & tops[1]) / min(STABLE, len(influence)))
        self.vectors.append(influence)

    def result(self) -> Influence:
        T = max(map(len, self.vectors))
        sums, counts = np.zeros(T), np.zeros(T)
        for vector in self.vectors:
            sums[: len(vector)] += vector
            counts[: len(vector)] += 1
        mean = sums / counts
        return Influence(
            sequences=len(self.vectors),
            correlation=float(np.mean(self.correlations)) if self.correlations else None,
            overlap=float(np.mean(self.overlaps)),
            support=support_of(mean),
            positions=tuple(mean.tolist()),
        )


def spearman(x: Array, y: Array) -> float | None:
    """Return Spearman's rank correlation, with average ranks for ties; None if a vector is constant."""
    a, b = (_ranks(v) - (len(v) + 1) / 2 for v in (x, y))
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size > 0 else None


def _ranks(x: Array) -> Array:
    """Return the ranks from 1 on; equal values get the mean of their ranks."""
    _, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[inverse]


def direct_change(call: Call, other: Tensor, h: int, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Return two arrays (query rows, T): how much (in norm) head h's output changes at each row when X[t] becomes
    other[t], and the attention weights. A change is 0 if t is the row itself, where the query would change too.
    """
    replaced = Call(call.layer, other[: call.T], call.weights, call.mask, call.rotate)
    scores, shifted = call.scores(h, rows), call.scores(h, rows, replaced.keys(h))
    top = torch.logsumexp(scores, dim=1, keepdim=True)
    a, new = (scores - top).exp().double(), (shifted - top).exp().double()
    V, W = call.values(h).double(), replaced.values(h).double()
    gram = (G := call.weights.W_O[h].double()) @ G.T
    mixed = a @ V
    near, far = (_inner(values, values, mixed, gram) for values in (V, W))
    cross = _inner(V, W, mixed, gram)
    square = (new**2 * far + a**2 * near - 2 * a * new * cross) / (1 + new - a).clamp_min(1e-12) ** 2
    square[torch.arange(len(rows)), rows] = 0
    return square.clamp_min(0).sqrt(), a


def _inner(V: Tensor, W: Tensor, o: Tensor, gram: Tensor) -> Tensor:
    """Return <v_t - o_i, w_t - o_i> for rows i of o and t of V and W, all multiplied by W_O; gram = W_O W_O^T."""
    products = ((V @ gram) * W).sum(dim=1)
    return products[None] - o @ gram @ (V + W).T + ((o @ gram) * o).sum(dim=1)[:, None]


def _note_input(states: list[Tensor], call: Call) -> None:
    states.append(call.X)


def direct_influence(source: Source, inputs: Inputs, *, count: int, rows: Rows) -> list[list[Influence]]:
    """Return the direct influence on each head at query rows `rows(T)`, from `count` pairs of consecutive sequences."""
    if any(w.sigma != "identity" for w in source.weights):
        raise DomainError("direct influence is exact for heads without an activation; this model has one.")
    accounts = [[_Account() for _ in range(w.H)] for w in source.weights]
    for sequence, other in partners(inputs, count):
        states: list[Tensor] = []
        run(source, other, partial(_note_input, states))

        def visit(call: Call, states: list[Tensor] = states) -> None:
            for h, account in enumerate(accounts[call.layer]):
                parts = [
                    direct_change(call, states[call.layer], h, block)
                    for block in row_blocks(call.T, rows(call.T))
                ]
                change, weight = (torch.cat([p[i] for p in parts]).mean(dim=0).numpy() for i in (0, 1))
                account.add(change, weight)

        run(source, sequence, visit)
    return [[account.result() for account in layer] for layer in accounts]


def total_influence(
    source: Source, inputs: Inputs, *, count: int, rows: Rows, progress: Passes = lambda done, of: None
) -> list[list[Influence]]:
    """Return the total influence (of input tokens) on every head; takes T + 1 passes for each of `count` sequences."""
    accounts = [[_Account() for _ in range(w.H)] for w in source.weights]
    pairs = partners(inputs, count)
    passes, done = sum(len(sequence) for sequence, _ in pairs), 0
    for sequence, other in pairs:
        kept, weights = _outputs(source, sequence, rows)
        changes = [[np.zeros(len(sequence)) for _ in layer] for layer in kept]
        for t in range(len(sequence)):
            moved = np.array(sequence)
            moved[t] = other[t]
            after, _ = _outputs(source, moved, rows)
            for l, layer in enumerate(kept):
                for h, before in enumerate(layer):
                    changes[l][h][t] = float((after[l][h] - before).norm(dim=1).mean())
            done += 1
            progress(done, passes)
        for l, account_layer in enumerate(accounts):
            for h, account in enumerate(account_layer):
                # [CLS] is no input: our own models have it at the end, others in front
                account.add(changes[l][h], weights[l][h][source.extra :][: len(sequence)])
    return [[account.result() for account in layer] for layer in accounts]


def _outputs(source: Source, sequence: Array, rows: Rows) -> tuple[list[list[Tensor]], list[list[Array]]]:
    """Return every head's output at the query rows, and its mean attention weight on each position."""
    outputs: list[list[Tensor]] = []
    weights: list[list[Array]] = []

    def visit(call: Call) -> None:
        chosen = rows(call.T)
        heads = range(call.weights.H)
        outputs.append([call.head_output(h)[chosen] for h in heads])
        weights.append([call.attention(h, chosen).mean(dim=0).double().numpy() for h in heads])

    run(source, sequence, visit)
    return outputs, weights


def partners(inputs: Inputs, count: int) -> list[tuple[Array, Array]]:
    """Return `count` pairs of a sequence and the next one, both cut to the shorter length."""
    sequences = inputs.sequences
    if len(sequences) < 2:
        raise DomainError("influence substitutes tokens from another sequence; give at least two sequences.")
    pairs = [(a, sequences[(i + 1) % len(sequences)]) for i, a in enumerate(sequences)][:count]
    return [(a[: min(len(a), len(b))], b[: min(len(a), len(b))]) for a, b in pairs]


def without_head(layer: int, h: int, width: int) -> Callable[[int, Tensor], Tensor]:
    """Return a `change` for `running.run` that zeroes head h of `layer`; `width` is the width of its values."""

    def change(at: int, mixed: Tensor) -> Tensor:
        if at != layer:
            return mixed
        cut = mixed.clone()
        cut[:, h * width : (h + 1) * width] = 0
        return cut

    return change


def ablation(
    source: Source, inputs: Inputs, *, count: int, progress: Passes = lambda done, of: None
) -> list[list[float]]:
    """Return ||Y_h - Y|| / ||Y - mean of Y over positions|| for every head h, over `count` sequences.

    Y is the model's output, the hidden states after the last layer, and Y_h the output with head h zeroed. Takes one
    pass per sequence, and one more for each of its heads.
    """
    sequences = inputs.sequences[:count]
    before = [run(source, sequence) for sequence in sequences]
    variation = sum(float((y - y.mean(dim=0)).square().sum()) for y in before)
    total = sum(w.H for w in source.weights)
    found: list[list[float]] = []
    for layer, weights in enumerate(source.weights):
        found.append([])
        for h in range(weights.H):
            change = without_head(layer, h, int(weights.W_V.shape[2]))
            moved = sum(
                float((run(source, sequence, change=change) - y).square().sum())
                for sequence, y in zip(sequences, before, strict=True)
            )
            found[-1].append(float(torch.tensor(moved / max(variation, 1e-300)).sqrt()))
            progress(sum(map(len, found)), total)
    return found
