"""`probe`: a model in, every head of it measured, with baselines beside each number."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .._base.arguments import several, whole
from .._base.errors import DomainError
from .._base.memory import require_memory
from ..capacity.bound import one_head
from ..capacity.families import outside
from ..capacity.forms import FORMS
from .ablation import ablation as ablation_of
from .baselines import randomised
from .capacity import HeadBound, HeadWeightsReport, bound_layer, report_weights
from .influence import Influence, direct_influence, total_influence
from .inputs import Inputs, Tokenizer, inputs_of, repeated, shuffled
from .load import Source, source_of
from .recompute import Call
from .result import DEFAULT_S, FoundHead, Probe, ranked
from .running import check, run
from .statistics import SIZES, HeadStatistics, HeadTally, Marks, new_tallies, tally_call

if TYPE_CHECKING:
    from ..heads.model import Model

ProbeProgress = Callable[[str, int, int], None]
Grid = list[list[HeadStatistics]]
CLS_ONLY = "measured at the row of [CLS], the one that the model reads; queries= (--queries) takes others"
UNSEEN_T = 512  # context length of the bounds where nothing was run


def probe(
    model: "str | Path | Model | Any",
    *,
    text: str | Sequence[str] | None = None,
    tokens: Any = None,
    tokenizer: Tokenizer | None = None,
    queries: Sequence[int] | None = None,
    heads: int | None = None,
    s: int = DEFAULT_S,
    baselines: bool = True,
    bounds: bool = True,
    influence: int = 0,
    total: int = 0,
    ablation: int = 0,
    longest: int | None = None,
    m: int = 10**6,
    form: str | None = None,
    pickle: bool = False,
    seed: int = 0,
    progress: ProbeProgress | None = None,
) -> Probe:
    """Every attention head of a pretrained model: norms, bounds, sparsity, and which positions it depends on.

    Args:
        model: a local path (a folder with config.json and weights, a .safetensors or .gguf file), a transformers or
            torch model, a state dict, or one of our own models. Nothing is fetched from a hub.
        text: sequences for the model's own tokenizer, or for `tokenizer`, a function from a text to ids.
        tokens: instead of text, one array per sequence: ids (T,), embedded tokens (T, d) for a torch encoder, bits (T,)
            for our own models.
        queries: rows to measure, such as [0] for [CLS] in BERT or [-1]; by default all of them, for our own
            models the row of [CLS], [-1], the one that they read.
        heads: heads per layer of a state dict, which does not say; another model must have as many.
        s: positions kept in the score by which heads are sorted; one of 1, 2, 4, 8, 16, 32.
        baselines: whether to measure random weights, shuffled input and uniform attention too.
        bounds: whether to bound every head and layer, which takes up to a second for each.
        influence: sequences on which the direct influence of positions is computed; total: the same through the whole
            model (T passes each); ablation: sequences on which each head is taken out (one pass per head).
        longest: longer sequences are cut to this many tokens, at least two.
        m: sequences that the bounds are stated for; form: by which form, as for `bound`.
        pickle: allow weights that are pickled, read with torch's weights_only=True.
        progress: called with a stage, how far it is and how far it goes.
    Raises:
        FileError, DomainError, ShapeError, MissingExtra, TooLarge: one line each, with what would work.

    >>> from sparsehead import build
    >>> found = probe(build("x1 & x2", T=8), tokens=[[0, 1, 1, 0, 0, 0, 1, 0], [0, 0, 1, 1, 0, 1, 1, 1]])
    >>> found.summary, round(found.heads[0].score(2), 2)
    ('a sparsehead model (sparsehead): 1 layer of 1 head on 2 sequences, 16 tokens', 1.0)
    """
    _check_arguments(s, m, longest, form, influence=influence, total=total, ablation=ablation)
    say = progress or (lambda stage, done, of: None)
    source = source_of(model, heads=heads, pickle=pickle)
    inputs = inputs_of(source, text=text, tokens=tokens, tokenizer=tokenizer, longest=longest, seed=seed)
    rows = _rows(_default_queries(source) if queries is None else queries)
    random = randomised(source, seed) if baselines else None
    measured = _Measured.of(source, inputs, random, rows, seed, say)
    bounded = _bounds(source, measured, inputs, m, form, say) if bounds else _Bounds()
    depends = _influence(source, inputs, influence, total, rows, say)
    effects = _ablation(source, inputs, ablation, say)
    found = _heads(source, random, measured, bounded, depends, effects)
    return Probe(
        name=source.name,
        family=source.family,
        positions=source.weights[0].positions,
        layers=len(source.weights),
        heads_per_layer=max(w.H for w in source.weights),
        sequences=0 if inputs is None else len(inputs.sequences),
        tokens=0 if inputs is None else sum(map(len, inputs.sequences)),
        longest=0 if inputs is None else inputs.longest,
        s=s,
        recomputed_error=measured.error,
        heads=ranked(found, s),
        layer_bounds=tuple(bounded.layers),
        notes=_notes(source, inputs, queries),
    )


def _check_arguments(s: Any, m: Any, longest: Any, form: Any, **counts: Any) -> None:
    if s not in SIZES:
        raise DomainError(f"s is one of {', '.join(map(str, SIZES))}; got {s!r}.")
    whole("m", m)
    if form is not None:
        FORMS.check(form)
    if longest is not None:
        whole("longest", longest, least=2)
    for name, count in counts.items():
        whole(name, count, least=0)


def _heads(
    source: Source,
    random: Source | None,
    measured: "_Measured",
    bounded: "_Bounds",
    depends: dict[str, list[list[Influence]]],
    effects: list[list[float]] | None,
) -> list[FoundHead]:
    """What is known of each head, put together."""
    weights, plain = _weight_reports(source), None if random is None else _weight_reports(random)
    return [
        FoundHead(
            layer=i,
            head=h,
            label=source.labels[i],
            weights=weights[i][h],
            random_weights=None if plain is None else plain[i][h],
            measured=None if measured.own is None else measured.own[i][h],
            baselines={name: grid[i][h] for name, grid in measured.baselines.items()},
            bound=bounded.heads[i][h] if bounded.heads else None,
            influence={name: grid[i][h] for name, grid in depends.items()},
            ablation=None if effects is None else effects[i][h],
        )
        for i, w in enumerate(source.weights)
        for h in range(w.H)
    ]


def _weight_reports(source: Source) -> list[list[HeadWeightsReport]]:
    return [[report_weights(w.as_layer(), h) for h in range(w.H)] for w in source.weights]


def _ablation(
    source: Source, inputs: Inputs | None, count: int, say: ProbeProgress
) -> list[list[float]] | None:
    """The effect of taking each head out, on `count` sequences."""
    if not count:
        return None
    return ablation_of(source, _needed(inputs), count=count, progress=lambda i, n: say("ablation", i, n))


def _default_queries(source: Source) -> Sequence[int] | None:
    """The row of [CLS], the last one, for our own models, which read nothing else; all rows for others."""
    return None if source.model is None else (-1,)


def _notes(source: Source, inputs: Inputs | None, queries: Sequence[int] | None) -> tuple[str, ...]:
    positions = source.weights[0].positions
    chosen = queries is None and _default_queries(source) is not None
    nothing = (
        ("nothing was run: the bounds assume T = 512 and layer inputs of length sqrt(d)",)
        if inputs is None
        else ()
    )
    return (
        *source.notes,
        *(() if inputs is None else inputs.notes),
        *((CLS_ONLY,) if chosen else ()),
        *nothing,
        *(text for text in outside(positions) if text not in source.notes),
    )


def _rows(queries: Sequence[int] | None) -> Callable[[int], Tensor]:
    """Which query rows to measure, given T."""
    if queries is None:
        return torch.arange
    wanted = several("queries", queries, "positions")

    def rows(T: int) -> Tensor:
        found = sorted({q % T for q in wanted if -T <= q < T})
        if not found:
            raise DomainError(f"queries {list(wanted)} are outside a sequence of {T} tokens.")
        return torch.tensor(found)

    return rows


class _Measured:
    """Statistics of all heads, of their baselines, and what the bounds need."""

    def __init__(self) -> None:
        self.own: Grid | None = None
        self.baselines: dict[str, Grid] = {}
        self.radii: list[float] = []
        self.error: float | None = None

    @classmethod
    def of(
        cls,
        source: Source,
        inputs: Inputs | None,
        random: Source | None,
        rows: Callable[[int], Tensor],
        seed: int,
        say: ProbeProgress,
    ) -> "_Measured":
        found = cls()
        if inputs is None:
            found.radii = [w.d**0.5 for w in source.weights]
            return found
        H = max(w.H for w in source.weights)
        require_memory("probe", lambda T: 2**28 + 24 * H * T * T, T=inputs.longest)
        found.own, uniform = found._grid(source, inputs, rows, "heads", say, with_uniform=random is not None)
        found._add_repeated(source, found.own, seed)
        if random is not None:
            found.baselines["random_weights"], _ = found._grid(random, inputs, rows, "random weights", say)
            found._add_repeated(random, found.baselines["random_weights"], seed)
            moved = shuffled(inputs, seed)
            found.baselines["shuffled_input"], _ = found._grid(source, moved, rows, "shuffled input", say)
            found.baselines["uniform_attention"] = uniform
        return found

    def _grid(
        self,
        source: Source,
        inputs: Inputs,
        rows: Callable[[int], Tensor],
        stage: str,
        say: ProbeProgress,
        *,
        with_uniform: bool = False,
    ) -> tuple[Grid, Grid]:
        """Statistics of every layer and head, and of uniform attention beside them."""
        tallies = new_tallies(source.weights)
        flat = new_tallies(source.weights) if with_uniform else [[] for _ in source.weights]
        own = stage == "heads"
        if own:
            self.radii, self.error = [0.0] * len(source.weights), 0.0
        for i, sequence in enumerate(inputs.sequences):
            marks = Marks.of(sequence, cls_id=inputs.cls, sep_id=inputs.sep) if inputs.ids else Marks()

            def visit(call: Call, marks: Marks = marks, first: bool = i == 0) -> None:
                if own:
                    self._inspect(call, first)
                tally_call(call, marks, tallies[call.layer], flat[call.layer], rows(call.T))

            run(source, sequence, visit)
            say(stage, i + 1, len(inputs.sequences))
        return _results(tallies), _results(flat)

    def _inspect(self, call: Call, first: bool) -> None:
        """The longest layer input, and on the first sequence whether the heads are what the weights say."""
        longest = float(call.X.norm(dim=1).max())
        self.radii[call.layer] = max(self.radii[call.layer], longest)
        if first:
            self.error = max(self.error or 0.0, check(call))

    def _add_repeated(self, source: Source, grid: Grid, seed: int) -> None:
        """The induction score on random tokens that come twice."""
        twice = repeated(source, seed)
        if twice is None:
            return
        tallies = new_tallies(source.weights)
        marks = Marks.of(twice, cls_id=None, sep_id=None)
        second = torch.arange(len(twice) // 2, len(twice))
        run(source, twice, lambda call: tally_call(call, marks, tallies[call.layer], [], second))
        for i, layer in enumerate(_results(tallies)):
            grid[i] = [
                replace(a, induction_repeated=b.induction) for a, b in zip(grid[i], layer, strict=True)
            ]


def _results(tallies: list[list[HeadTally]]) -> Grid:
    return [[tally.result() for tally in layer] for layer in tallies]


class _Bounds:
    def __init__(self) -> None:
        self.heads: list[list[HeadBound]] = []
        self.layers: list[HeadBound] = []


def _bounds(
    source: Source, measured: _Measured, inputs: Inputs | None, m: int, form: str | None, say: ProbeProgress
) -> _Bounds:
    """The bound on every head and on every layer."""
    found = _Bounds()
    T = UNSEEN_T if inputs is None else inputs.longest
    model = source.model if len(source.weights) == 1 else None
    for i, w in enumerate(source.weights):
        options: dict[str, Any] = {"T": T, "m": m, "radius": measured.radii[i], "form": form}
        found.heads.append(
            [bound_layer(w.head(h), model=_only_head(model, h), **options) for h in range(w.H)]
        )
        found.layers.append(bound_layer(w, model=model, **options))
        say("bounds", i + 1, len(source.weights))
    return found


def _only_head(model: "Model | None", h: int) -> "Model | None":
    """The model of one layer with head h alone; None stays None."""
    return None if model is None else replace(model, layers=(one_head(model.layers[0], h),))


def _influence(
    source: Source,
    inputs: Inputs | None,
    direct: int,
    total: int,
    rows: Callable[[int], Tensor],
    say: ProbeProgress,
) -> dict[str, list[list[Influence]]]:
    found = {}
    if direct:
        found["direct"] = direct_influence(source, _needed(inputs), count=direct, rows=rows)
    if total:
        found["total"] = total_influence(
            source,
            _needed(inputs),
            count=total,
            rows=rows,
            progress=lambda i, n: say("total influence", i, n),
        )
    return found


def _needed(inputs: Inputs | None) -> Inputs:
    if inputs is None:
        raise DomainError(
            "influence and ablation run the model; a state dict or an encoder without tokens cannot be run."
        )
    return inputs
