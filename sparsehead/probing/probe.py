"""`probe`: measure the heads of a pretrained model. This file imports no torch, so `help` works without it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from .._base.lazy import require_module
from .settings import ProbeOptions, ProbeProgress, ProbeSettings

if TYPE_CHECKING:
    from ..capacity.architecture import Architecture
    from ..heads.model import Model
    from .inputs import Tokenizer
    from .result import Probe


def probe(
    model: "str | Path | Model | Any",
    *,
    text: str | Sequence[str] | None = None,
    tokens: Any = None,
    tokenizer: "Tokenizer | None" = None,
    queries: Sequence[int] | None = None,
    architecture: "Architecture | str | None" = None,
    progress: ProbeProgress | None = None,
    **options: Unpack[ProbeOptions],
) -> "Probe":
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
    settings = ProbeSettings(**options)
    require_module("torch")
    from .measure import measure

    return measure(
        model,
        settings,
        text=text,
        tokens=tokens,
        tokenizer=tokenizer,
        queries=queries,
        architecture=architecture,
        progress=progress or (lambda stage, done, of: None),
    )
