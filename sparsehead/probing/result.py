"""The result of `probe`: one record per head, with its baselines, sorted by the score of `statistics`."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from .._base.display import Card, WithChart
from .._base.errors import DomainError
from .._base.files import write_whole
from .._base.frame import Frame
from .._base.types import Array, Float
from ..capacity.atlas import Atlas
from .atlas import head_atlas, network_proxies
from .attention import Measured
from .capacity import HeadBound, HeadWeightsReport
from .influence import Influence
from .page import PageContent, check_page, heads_of_page
from .statistics import HeadStatistics, Plain


@dataclass(frozen=True, eq=False, repr=False)
class FoundHead(Plain):
    """The measures of one head. measured: its statistics, None if the model was not run; baselines: the same for each
    baseline.

    ablation: change of the model's output when the head is zeroed before its output projection, relative to the
    variation of that output; None if not requested.
    """

    layer: int
    head: int
    label: str
    weights: HeadWeightsReport
    random_weights: HeadWeightsReport | None
    measured: HeadStatistics | None
    baselines: dict[str, HeadStatistics]
    bound: HeadBound | None
    influence: dict[str, Influence]
    ablation: float | None = None

    def score(self, s: int = 4) -> float | None:
        """Return the share of the output's variance that the s largest weights reproduce; None if not measured."""
        return None if self.measured is None else self.measured.score.get(s)

    def row(self, s: int = 4) -> dict[str, Any]:
        """Return the head as one flat record of numbers."""
        found: dict[str, Any] = {"layer": self.layer, "head": self.head, "score": self.score(s)}
        for name, statistics in self.baselines.items():
            found[f"score_{name}"] = statistics.score.get(s)
        if self.measured is not None:
            plain = asdict(self.measured)
            found |= {k: v for k, v in plain.items() if isinstance(v, int | float) or v is None}
            found["top_mass"] = self.measured.top_mass.get(s)
            found["support"] = " ".join(map(str, self.measured.support))
        weights = asdict(self.weights)
        matrices = weights.pop("norms")
        found |= weights
        found |= {f"{W}_{name}": value for W, norms in matrices.items() for name, value in norms.items()}
        if self.bound is not None:
            names = "form proven log_covering gap vacuous vacuous_by dominated_by proxy"
            found |= {name: getattr(self.bound, name) for name in names.split()}
        return found | {"ablation": self.ablation}


@dataclass(frozen=True, eq=False, repr=False)
class Probe(Plain, WithChart):
    """Every head of a model, sorted by score, and a description of the model and the sequences.

    Args:
        heads_per_layer: the largest number of heads in a layer.
        positions: how the model encodes positions: absolute, rotary or relative bias.
        recomputed_error: largest difference between the heads recomputed from extracted weights and the model's own.
        layer_bounds: the bound on each attention layer as a whole.
        notes: caveats about the numbers.
    """

    _CHART = "figures.heads:probe_chart"

    name: str
    family: str
    positions: str
    layers: int
    heads_per_layer: int
    sequences: int
    tokens: int
    longest: int
    s: int
    recomputed_error: float | None
    heads: tuple[FoundHead, ...]
    layer_bounds: tuple[HeadBound, ...]
    notes: tuple[str, ...] = ()
    _measured: Measured | None = None  # keeps the model in memory for `attention`; not part of the record

    def head(self, layer: int, head: int) -> FoundHead:
        """Return the record of one head."""
        return next(found for found in self.heads if (found.layer, found.head) == (layer, head))

    def attention(self, layer: int, head: int, sequence: Any = 0) -> Float[Array, "T T"]:
        """Return the attention weights of one head on one sequence: rows are queries, columns the attended positions.

        Args:
            sequence: the number of a sequence that was measured, from 0; or another text or array of tokens.
        """
        return self._again().attention([(layer, head)], sequence)[layer, head]

    def atlas(self, layer: int, head: int | None = None) -> Atlas:
        """Return every form of the bound, side by side, for one head or for a whole attention layer (see `atlas`).

        The form `sensitivity` uses the attention weights on the first sequence, at all query positions.
        """
        if not 0 <= layer < len(self.layer_bounds):
            known = f"0 to {self.layers - 1}" if self.layer_bounds else "none: bounds were left out"
            raise DomainError(f"layers with bounds are {known}; got {layer}.")
        known_bound, measured = self.layer_bounds[layer], self._again()
        seen = None
        if measured.inputs is not None:
            heads = range(measured.source.weights[layer].H) if head is None else (head,)
            seen = np.stack(list(measured.attention([(layer, h) for h in heads], 0).values()))
        return head_atlas(
            measured.source,
            layer,
            head,
            T=known_bound.T,
            m=known_bound.m,
            radius=known_bound.radius,
            seen=seen,
        )

    def proxies(self) -> dict[str, float]:
        """Return Sakai and Imaizumi's two proxies for the whole network: the spectral one, and that for the paper's
        bound.
        """
        return network_proxies(self._again().source)

    def tokens_of(self, sequence: Any = 0) -> tuple[str, ...]:
        """Return the names of the positions of `attention`, such as the tokens of a text."""
        return self._again().labels(sequence)

    def write_page(
        self,
        path: str | Path,
        *,
        sequence: Any = 0,
        heads: Sequence[tuple[int, int]] | None = None,
        force: bool = False,
    ) -> Path:
        """Write a page that shows attention on one sequence of up to 512 tokens; it needs no other file and no network.

        Args:
            heads: (layer, head) of each head to show; by default all, or the first by score if they are too many.
        """
        target = check_page(path, force=force)
        labels = self.tokens_of(sequence)
        order = [(found.layer, found.head) for found in ranked(self.heads, self.s)]
        chosen = heads_of_page(len(labels), order, heads)
        weights = self._again().attention(chosen, sequence)
        scores = {(found.layer, found.head): found.score(self.s) for found in self.heads}
        shown = PageContent(self.summary, self.s, len(order), labels, weights, scores)
        page = import_module("sparsehead.figures.attention_page").attention_page(shown)
        return write_whole(target, page.encode(), force=force)

    def _again(self) -> Measured:
        if self._measured is None:
            raise DomainError(
                "this record has no model beside it; probe the model again to see its attention."
            )
        return self._measured

    def rows(self, s: int | None = None) -> list[dict[str, Any]]:
        """Return one flat record per head, in the order of `heads`."""
        return [found.row(self.s if s is None else s) for found in self.heads]

    def to_frame(self) -> Frame:
        """Return the rows as a table that pandas.DataFrame and polars.DataFrame accept."""
        return Frame(self.rows())

    @property
    def summary(self) -> str:
        """Return one line that names the model and the sequences."""
        counts = {"layer": self.layers, "head": self.heads_per_layer, "sequence": self.sequences}
        layers, heads, sequences = (f"{n} {word}{'' if n == 1 else 's'}" for word, n in counts.items())
        fewest = min(Counter(found.layer for found in self.heads).values(), default=self.heads_per_layer)
        heads = heads if fewest == self.heads_per_layer else f"{fewest} to {heads}"
        on = f" on {sequences}, {self.tokens} tokens" if self.sequences else ", weights only"
        return f"{self.name} ({self.family}): {layers} of {heads}{on}"

    def __repr__(self) -> str:
        first = next(iter(ranked(self.heads, self.s)), None)
        best = ""
        if first is not None and (score := first.score(self.s)) is not None:
            best = f"; first by score({self.s}): layer {first.layer} head {first.head}, {score:.3f}"
        return f"<Probe: {self.summary}{best}>"

    def _card(self) -> Card:
        scores = "layer head score score_random_weights score_shuffled_input score_uniform_attention"
        attention = "effective_support entropy top_mass sink_first sink_rate previous next same_token"
        columns = f"{scores} {attention} induction_repeated stability rank_QK rank_OV".split()
        shown = Frame([{name: row.get(name) for name in columns} for row in self.rows()], columns)
        return Card("Probe", [self.summary, *self.notes], {"score": f"kept by {self.s} positions"}, shown)


def ranked(heads: Sequence[FoundHead], s: int) -> tuple[FoundHead, ...]:
    """Sort heads by score, highest first; heads whose score was not measured come last, in the model's order."""

    def place(found: FoundHead) -> tuple[bool, float, int, int]:
        score = found.score(s)
        return score is None, -(score or 0.0), found.layer, found.head

    return tuple(sorted(heads, key=place))
