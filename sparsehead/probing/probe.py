"""`probe`: measure every attention head of a model, with baselines for each number."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import torch
from torch import Tensor

from .._base.arguments import several
from .._base.errors import DomainError
from .._base.memory import require_memory
from ..capacity.architecture import Architecture
from ..capacity.bound import one_head
from .attention import Measured
from .baselines import randomised
from .capacity import HeadBound, bound_layer, report_weights
from .influence import Rows, ablation, direct_influence, total_influence
from .inputs import Inputs, Tokenizer, inputs_of, repeated, shuffled
from .load import Source, source_of
from .recompute import Call
from .result import FoundHead, Probe, ranked
from .running import check, run
from .settings import ProbeOptions, ProbeProgress, ProbeSettings
from .statistics import HeadStatistics, HeadTally, Marks, marks_of, new_tallies, tally_call

if TYPE_CHECKING:
    from ..heads.model import Model

Grid = list[list[HeadStatistics]]  # by layer and head
CLS_ONLY = "measured at the row of [CLS], the one that the model reads; queries= (--queries) takes others"


def probe(
    model: "str | Path | Model | Any",
    *,
    text: str | Sequence[str] | None = None,
    tokens: Any = None,
    tokenizer: Tokenizer | None = None,
    queries: Sequence[int] | None = None,
    architecture: Architecture | str | None = None,
    progress: ProbeProgress | None = None,
    **options: Unpack[ProbeOptions],
) -> Probe:
    """Measure every attention head of a pretrained model: norms, bounds, sparsity, the positions it depends on.

    Args:
        model: a local path (a folder with config.json and weights, a .safetensors or .gguf file), a transformers or
            torch model, a state dict, or a model of this library. Nothing is downloaded.
        text: sequences for the model's own tokenizer, or for `tokenizer`, a function from a text to ids.
        tokens: instead of text, one array per sequence: ids (T,), embedded tokens (T, d) for a torch encoder, bits (T,)
            for models of this library, pictures (channels, height, width) for a ViT.
        queries: query positions to measure, such as [0] for [CLS] in BERT. By default all; for models of this library
            [-1], which is [CLS], the only query that they use.
        architecture: for a folder or module of a type that is not built in: an `Architecture` (sparsehead.extend), its
            name, or "package.module:name".
        heads: the number of heads per layer, required for a state dict, which lacks it; checked for other models.
        s: number of positions kept in the score that sorts the heads; one of 1, 2, 4 (the default), 8, 16, 32.
        baselines: whether to measure random weights, shuffled input and uniform attention too (True).
        bounds: whether to bound every head and layer, which takes up to a second for each (True).
        influence, total, ablation: numbers of sequences (0) on which to measure the direct influence of positions; the
            influence through the whole model, which takes T passes each; the removal of each head, one pass per head.
        longest: cut longer sequences to this many tokens, at least two.
        m: the number of training sequences in the bounds (10^6); form: the form of the bounds, as for `bound`.
        pickle: allow pickled weights, read with torch's weights_only=True (False).
        seed: for random tokens, shuffles and random weights (0).
        progress: called with the name of a stage, the steps done and their total number.
    Raises:
        FileError, DomainError, ShapeError, MissingExtra, TooLarge: the message says what would work.

    >>> from sparsehead import build
    >>> found = probe(build("x1 & x2", T=8), tokens=[[0, 1, 1, 0, 0, 0, 1, 0], [0, 0, 1, 1, 0, 1, 1, 1]])
    >>> found.summary, round(found.heads[0].score(2), 2)
    ('a sparsehead model (sparsehead): 1 layer of 1 head on 2 sequences, 16 tokens', 1.0)
    """
    progress = progress or (lambda stage, done, of: None)
    settings = ProbeSettings(**options)
    source = source_of(model, heads=settings.heads, pickle=settings.pickle, architecture=architecture)
    inputs = inputs_of(
        source, text=text, tokens=tokens, tokenizer=tokenizer, longest=settings.longest, seed=settings.seed
    )
    reads_cls = queries is None and source.model is not None
    rows = query_rows((-1,) if reads_cls else queries)
    random = randomised(source, settings.seed) if settings.baselines else None
    measured = _measure(source, inputs, random, rows, settings.seed, progress)
    bounds = _bounds(source, measured, inputs, settings, progress) if settings.bounds else None
    effects = _effects(source, inputs, rows, settings, progress)
    heads = [
        FoundHead(
            layer=i,
            head=h,
            label=source.labels[i],
            weights=report_weights(w.as_layer(), h),
            random_weights=None if random is None else report_weights(random.weights[i].as_layer(), h),
            measured=None if measured.heads is None else measured.heads[i][h],
            baselines={name: grid[i][h] for name, grid in measured.baselines.items()},
            bound=None if bounds is None else bounds[i][0][h],
            influence={name: effects[name][i][h] for name in ("direct", "total") if name in effects},
            ablation=effects["ablation"][i][h] if "ablation" in effects else None,
        )
        for i, w in enumerate(source.weights)
        for h in range(w.H)
    ]
    sequences = () if inputs is None else inputs.sequences
    return Probe(
        name=source.name,
        family=source.family,
        positions=source.weights[0].positions,
        layers=len(source.weights),
        heads_per_layer=max(w.H for w in source.weights),
        sequences=len(sequences),
        tokens=sum(map(len, sequences)),
        longest=max(map(len, sequences), default=0),
        s=settings.s,
        recomputed_error=measured.error,
        heads=ranked(heads, settings.s),
        layer_bounds=tuple(layer for _, layer in bounds or ()),
        notes=_notes(source, inputs, reads_cls),
        _measured=Measured(source, inputs, tokenizer),
    )


def _notes(source: Source, inputs: Inputs | None, reads_cls: bool) -> tuple[str, ...]:
    unseen = "nothing was run: the bounds assume T = 512 and layer inputs of length sqrt(d)"
    found = [*source.notes, *(() if inputs is None else inputs.notes)]
    found += [CLS_ONLY] if reads_cls else []
    found += [unseen] if inputs is None else []
    return (*found, *(text for text in source.weights[0].outside if text not in source.notes))


def query_rows(queries: Sequence[int] | None) -> Rows:
    """Return a function from T to the query rows to measure: all T rows if `queries` is None."""
    if queries is None:
        return torch.arange
    wanted = several("queries", queries, "positions")

    def rows(T: int) -> Tensor:
        found = sorted({q % T for q in wanted if -T <= q < T})
        if not found:
            raise DomainError(f"queries {list(wanted)} are outside a sequence of {T} tokens.")
        return torch.tensor(found)

    return rows


@dataclass(eq=False)
class _Measured:
    """Statistics of all heads and of their baselines.

    radii: each layer's largest norm of an input token. error: largest relative error of the recomputed heads.
    """

    radii: list[float]
    heads: Grid | None = None
    baselines: dict[str, Grid] = field(default_factory=dict)
    error: float | None = None


def _measure(
    source: Source,
    inputs: Inputs | None,
    random: Source | None,
    rows: Rows,
    seed: int,
    progress: ProbeProgress,
) -> _Measured:
    if inputs is None:
        return _Measured([w.d**0.5 for w in source.weights])
    H = max(w.H for w in source.weights)
    require_memory("probe", lambda T: 2**28 + 24 * H * T * T, T=inputs.longest + source.extra)
    found = _Measured([0.0] * len(source.weights), error=0.0)

    def inspect(call: Call, first: bool) -> None:
        found.radii[call.layer] = max(found.radii[call.layer], float(call.X.norm(dim=1).max()))
        if first:
            found.error = max(found.error or 0.0, check(call))

    def grid(stage: str, of: Source, inputs: Inputs, *, itself: bool = False) -> tuple[Grid, Grid]:
        """Return the statistics of every head, and of uniform attention if `of` is the model itself, not a baseline."""
        tallies = new_tallies(of.weights)
        uniform = new_tallies(of.weights) if itself and random is not None else [[] for _ in of.weights]
        for i, sequence in enumerate(inputs.sequences):
            marks = marks_of(sequence, cls=inputs.cls, sep=inputs.sep) if inputs.ids else {}

            def visit(call: Call, marks: Marks = marks, first: bool = i == 0) -> None:
                if itself:
                    inspect(call, first)
                tally_call(call, marks, tallies[call.layer], uniform[call.layer], rows(call.T))

            run(of, sequence, visit)
            progress(stage, i + 1, len(inputs.sequences))
        return _results(tallies), _results(uniform)

    heads, uniform = grid("heads", source, inputs, itself=True)
    found.heads = _with_induction(source, heads, seed)
    if random is not None:
        weights = grid("random weights", random, inputs)[0]
        found.baselines["random_weights"] = _with_induction(random, weights, seed)
        found.baselines["shuffled_input"] = grid("shuffled input", source, shuffled(inputs, seed))[0]
        found.baselines["uniform_attention"] = uniform
    return found


def _with_induction(source: Source, grid: Grid, seed: int) -> Grid:
    """Add the induction score, measured on repeated random tokens; without a vocabulary return `grid` unchanged."""
    twice = repeated(source, seed)
    if twice is None:
        return grid
    tallies = new_tallies(source.weights)
    marks = marks_of(twice)
    second = torch.arange(len(twice) // 2, len(twice))
    run(source, twice, lambda call: tally_call(call, marks, tallies[call.layer], [], second))
    return [
        [replace(a, induction_repeated=b.induction) for a, b in zip(*layers, strict=True)]
        for layers in zip(grid, _results(tallies), strict=True)
    ]


def _results(tallies: list[list[HeadTally]]) -> Grid:
    return [[tally.result() for tally in layer] for layer in tallies]


def _bounds(
    source: Source,
    measured: _Measured,
    inputs: Inputs | None,
    settings: ProbeSettings,
    progress: ProbeProgress,
) -> list[tuple[list[HeadBound], HeadBound]]:
    """Return, for every layer, the bounds on its heads and the bound on the layer; T = 512 if nothing was run."""
    found = []
    T = 512 if inputs is None else inputs.longest + source.extra
    model = source.model if len(source.weights) == 1 else None
    for i, w in enumerate(source.weights):
        known: dict[str, Any] = {"T": T, "m": settings.m, "radius": measured.radii[i], "form": settings.form}
        known["outside"], layer, heads = w.outside, w.as_layer(), []
        for h in range(w.H):
            alone = replace(one_head(layer, h), b_C=None)  # this bias belongs to no head
            only = None if model is None else replace(model, layers=(one_head(model.layers[0], h),))
            heads.append(bound_layer(alone, model=only, **known))
        found.append((heads, bound_layer(layer, model=model, **known)))
        progress("bounds", i + 1, len(source.weights))
    return found


def _effects(
    source: Source, inputs: Inputs | None, rows: Rows, settings: ProbeSettings, progress: ProbeProgress
) -> dict[str, list[list[Any]]]:
    """Return those of direct influence, total influence and ablation that `settings` requests, by layer and head."""
    found: dict[str, list[list[Any]]] = {}
    if not (settings.influence or settings.total or settings.ablation):
        return found
    if inputs is None:
        raise DomainError(
            "influence and ablation run the model; a state dict or an encoder without tokens cannot be run."
        )
    if settings.influence:
        found["direct"] = direct_influence(source, inputs, count=settings.influence, rows=rows)
    if settings.total:
        passes = partial(progress, "total influence")
        found["total"] = total_influence(source, inputs, count=settings.total, rows=rows, progress=passes)
    if settings.ablation:
        passes = partial(progress, "ablation")
        found["ablation"] = ablation(source, inputs, count=settings.ablation, progress=passes)
    return found
