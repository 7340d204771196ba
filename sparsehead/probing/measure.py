"""Measure every attention head of a model, with baselines for each number. Needs torch; `probe.probe` calls it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

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
from .settings import ProbeProgress, ProbeSettings
from .statistics import HeadStatistics, HeadTally, Marks, marks_of, new_tallies, tally_call

Grid = list[list[HeadStatistics]]  # by layer and head
CLS_ONLY = "measured at the row of [CLS], the one that the model reads; queries= (--queries) takes others"


def measure(
    model: Any,
    settings: ProbeSettings,
    *,
    text: str | Sequence[str] | None,
    tokens: Any,
    tokenizer: Tokenizer | None,
    queries: Sequence[int] | None,
    architecture: Architecture | str | None,
    progress: ProbeProgress,
) -> Probe:
    """Measure a model and return the result of `probe`; the arguments are those of `probe`, already checked."""
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
    """Return direct influence, total influence and ablation, as far as `settings` requests them, by layer and head."""
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
