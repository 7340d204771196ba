"""The sequences that heads are measured on: tokenized texts, token ids, embedded tokens, or random tokens."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._base.display import clipped
from .._base.errors import DomainError, FileError, ShapeError
from .._base.files import shown_path
from .._base.rng import stream
from .._base.types import Array
from ..capacity.families import picture_shape
from .load import Source, quiet

Tokenizer = Callable[[str], Sequence[int] | Mapping[str, Any]]


@dataclass(frozen=True, eq=False, repr=False)
class Inputs:
    """Sequences of one kind: ids (T,), bits (T,) or embedded tokens (T, d); cls, sep: ids of [CLS], [SEP], or None."""

    sequences: tuple[Array, ...]
    ids: bool
    cls: int | None = None
    sep: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def longest(self) -> int:
        return max(len(sequence) for sequence in self.sequences)

    def special(self, sequence: Array) -> Array:
        """Return a mask of the positions of [CLS] and [SEP]."""
        known = [token for token in (self.cls, self.sep) if token is not None]
        return np.isin(sequence, known) if self.ids else np.zeros(len(sequence), bool)


def inputs_of(
    source: Source,
    *,
    text: str | Sequence[str] | None,
    tokens: Any,
    tokenizer: Tokenizer | None,
    longest: int | None,
    seed: int,
) -> Inputs | None:
    """Return the sequences to measure on; None for a state dict, which cannot be run.

    Without text and tokens, a model that takes ids gets random ids, and a note of the result says so.
    """
    if text is not None and tokens is not None:
        raise DomainError("probe takes text or tokens, not both.")
    if source.module is None and source.model is None:
        if text is not None or tokens is not None:
            raise DomainError(
                "a state dict has weights but computes nothing; text and tokens need the model itself."
            )
        return None
    if source.tokens == "pictures" and longest is not None:
        raise DomainError("longest (--longest) cuts sequences of tokens; pictures have all their patches.")
    limit = min((n for n in (source.longest, longest) if n is not None), default=None)
    if limit is not None and limit < 2:
        raise DomainError(
            f"probe measures sequences of at least two tokens; {source.name} would get {limit}."
        )
    if tokens is not None:
        return _given(source, tokens, limit)
    if text is not None:
        return _tokenized(source, (text,) if isinstance(text, str) else tuple(text), tokenizer, limit)
    if source.vocabulary is not None:
        length = min(64, limit or 64)
        ids = stream(seed, "tokens").integers(0, source.vocabulary, (8, length))
        return Inputs(
            tuple(ids), ids=True, notes=(f"no text was given: 8 sequences of {length} random tokens",)
        )
    if source.tokens == "pictures":
        channels, rows, columns, h, w = picture_shape(source.config)
        patches = stream(seed, "pictures").normal(size=(8, rows * columns, channels * h * w))
        return Inputs(
            tuple(patches), ids=False, notes=("no pictures were given: 8 pictures of random pixels",)
        )
    if source.model is not None:
        bits = stream(seed, "bits").integers(0, 2, (32, source.model.T))
        return Inputs(tuple(bits), ids=False, notes=("no tokens were given: 32 random bit sequences",))
    if source.takes_ids:
        raise DomainError(
            "this model's configuration has no vocab_size, so tokens= (ids) or text= is needed."
        )
    return None


def _given(source: Source, tokens: Any, limit: int | None) -> Inputs:
    try:
        rows = [np.asarray(row) for row in tokens]
    except (TypeError, ValueError):
        raise ShapeError(
            "tokens is a sequence of sequences, one array per input; something else arrived."
        ) from None
    if source.tokens == "pictures":
        return Inputs(tuple(_patches(source, row) for row in _finite(rows)), ids=False)
    wanted = 2 if source.tokens == "embedded" else 1
    if not rows or any(row.ndim != wanted or len(row) < 2 for row in rows):
        kinds = {"ids": "ids (T,)", "bits": "bits (T,)", "embedded": "embedded tokens (T, d)"}
        raise ShapeError(
            f"tokens is a sequence of at least one array of {kinds[source.tokens]} with T >= 2; other shapes arrived."
        )
    if wanted == 1 and any(row.dtype.kind not in "iub" for row in rows):
        raise ShapeError("token ids and bits are whole numbers; others arrived.")
    encoder = source.architecture is None and wanted == 2
    if encoder and any(row.shape[1] != source.weights[0].d for row in rows):
        raise ShapeError(f"this encoder's tokens have d={source.weights[0].d} numbers each; others arrived.")
    rows = _finite(rows)
    if source.takes_ids:
        _check_ids(source, rows)
    cut, notes = _cut(rows, limit)
    cls, sep = _specials(source)
    return Inputs(cut, ids=source.takes_ids, cls=cls, sep=sep, notes=notes)


def _finite(rows: list[Array]) -> list[Array]:
    """Return the arrays; raise unless they hold finite numbers."""
    if any(row.dtype.kind not in "iufb" for row in rows):
        raise ShapeError("tokens are arrays of numbers; others arrived.")
    if not all(np.isfinite(row).all() for row in rows):
        raise DomainError("tokens hold NaN or infinite entries; embedded tokens are finite numbers.")
    return rows


def _patches(source: Source, picture: Array) -> Array:
    """Cut a picture (channels, height, width) into patches, row by row; return (T, numbers per patch)."""
    channels, rows, columns, h, w = picture_shape(source.config)
    if picture.shape != (channels, rows * h, columns * w):
        raise ShapeError(
            f"pictures of this model are arrays ({channels}, {rows * h}, {columns * w}); {picture.shape} arrived."
        )
    parts = picture.reshape(channels, rows, h, columns, w).transpose(1, 3, 0, 2, 4)
    return parts.reshape(rows * columns, channels * h * w)


def _check_ids(source: Source, rows: list[Array]) -> None:
    vocabulary = source.vocabulary
    if vocabulary is None:
        return
    worst = max(max(abs(int(row.min())), int(row.max())) for row in rows)
    if worst >= vocabulary or any(int(row.min()) < 0 for row in rows):
        raise DomainError(f"token ids of this model are 0 to {vocabulary - 1}; {worst} arrived.")


def _cut(rows: Sequence[Array], limit: int | None) -> tuple[tuple[Array, ...], tuple[str, ...]]:
    """Return the sequences cut to `limit` tokens, and a note if any was longer."""
    long = sum(len(row) > limit for row in rows) if limit is not None else 0
    notes = (f"{long} of {len(rows)} sequences were cut to {limit} tokens",) if long else ()
    return tuple(row[:limit] for row in rows), notes


def _tokenized(
    source: Source, texts: tuple[str, ...], tokenizer: Tokenizer | None, limit: int | None
) -> Inputs:
    if not source.takes_ids:
        raise DomainError("text needs a model with a vocabulary; give this one tokens, one array per input.")
    encode = tokenizer or _own_tokenizer(source)
    rows = [_ids(encode(text)) for text in texts]
    cls, sep = _specials(source)
    notes = _known(source.name, encode, rows, (cls, sep))
    if not rows or min(map(len, rows)) < 2:
        raise DomainError("each text needs at least two tokens; a shorter one arrived.")
    _check_ids(source, rows)
    cut, more = _cut(rows, limit)
    return Inputs(cut, ids=True, cls=cls, sep=sep, notes=(*notes, *more))


def _known(name: str, encode: Any, rows: list[Array], special: tuple[int | None, ...]) -> tuple[str, ...]:
    """Return a note with the share of unknown tokens and the first tokens; () if the tokenizer has no unknown token.

    Raises:
        DomainError: more than half of the tokens other than [CLS] and [SEP] are unknown.
    """
    unknown = getattr(encode, "unk_token_id", None)
    if unknown is None:
        return ()
    ids = [int(i) for row in rows for i in row if i not in special]
    count, first = ids.count(unknown), ids[:8]
    words = encode.convert_ids_to_tokens(first) if hasattr(encode, "convert_ids_to_tokens") else first
    found = f"{count} of {len(ids)} tokens ({count / max(len(ids), 1):.0%}) are unknown to the tokenizer"
    shown = clipped(" ".join(map(str, words)), 120)
    if 2 * count > len(ids):
        raise DomainError(
            f"{found} of {name}; the first are {shown}. Split the text as the model's training did, or give tokens= "
            "(ids) or tokenizer=."
        )
    return (f"{found}; the first are {shown}",)


def _own_tokenizer(source: Source) -> Any:
    """Load the tokenizer in the folder of the weights.

    Raises:
        FileError: the folder contains no tokenizer.
    """
    advice = "give tokens= (ids), or tokenizer=, a function from a text to ids"
    if source.folder is None:
        raise FileError(f"{source.name} has no folder in which a tokenizer could be; {advice}.")
    if (found := _tokenizer(source.folder)) is None:
        raise FileError(f"there is no tokenizer in {shown_path(source.folder)}; {advice}.")
    return found


def _ids(encoded: Any) -> Array:
    """Return the ids in a tokenizer's result: the result itself, or its "input_ids" as in transformers."""
    given = encoded["input_ids"] if isinstance(encoded, Mapping) and "input_ids" in encoded else encoded
    try:
        ids = np.asarray(given if hasattr(given, "__array__") else list(given))
    except (TypeError, ValueError):
        ids = np.array(None)
    ids = ids[0] if ids.ndim == 2 and len(ids) == 1 else ids  # return_tensors= makes a batch of one text
    if ids.ndim != 1 or (len(ids) and ids.dtype.kind not in "iu"):
        raise ShapeError(
            "the tokenizer returned no sequence of whole numbers; ids (T,) are needed for each text."
        )
    return ids.astype(np.int64)


def _tokenizer(folder: Path) -> Any:
    """Load the tokenizer in a folder; None if its files are missing, since transformers would make an empty one."""
    files = ("tokenizer.json", "vocab.txt", "vocab.json", "tokenizer.model", "spiece.model")
    if not any((folder / name).is_file() for name in files):
        return None
    with quiet():
        from transformers import AutoTokenizer

        try:
            return AutoTokenizer.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
        except Exception:  # of any type, where files or packages of the tokenizer are missing
            return None


def _specials(source: Source) -> tuple[int | None, int | None]:
    """Return the ids of [CLS] and [SEP] from the tokenizer's files; None for an id that is not known."""
    if source.folder is None or not source.takes_ids:
        return None, None
    vocabulary = source.folder / "vocab.txt"
    if vocabulary.is_file():
        names = vocabulary.read_text(encoding="utf-8", errors="replace").splitlines()
        found = [names.index(token) if token in names else None for token in ("[CLS]", "[SEP]")]
        return found[0], found[1]
    tokenizer = _tokenizer(source.folder)
    return (None, None) if tokenizer is None else (tokenizer.cls_token_id, tokenizer.sep_token_id)


def token_names(
    source: Source, tokens: Array, inputs: Inputs, tokenizer: Tokenizer | None
) -> tuple[str, ...]:
    """Return a name for each position of the layers: tokens of a text, bits as x3=1, patches by row and column."""
    if source.tokens == "bits":
        return (*(f"x{t}={bit}" for t, bit in enumerate(tokens)), "[CLS]")
    if source.tokens == "pictures":
        columns = picture_shape(source.config)[2]
        return ("[CLS]", *(f"row {t // columns}, column {t % columns}" for t in range(len(tokens))))
    if not inputs.ids:
        return tuple(f"token {t}" for t in range(len(tokens)))
    names: Any = tokenizer if tokenizer is not None or source.folder is None else _tokenizer(source.folder)
    ids = [int(i) for i in tokens]
    if not hasattr(names, "convert_ids_to_tokens"):
        return tuple(map(str, ids))
    return tuple(map(str, names.convert_ids_to_tokens(ids)))


def shuffled(inputs: Inputs, seed: int) -> Inputs:
    """Return the sequences with their tokens in random order; [CLS] and [SEP] keep their positions."""
    moved = []
    for i, sequence in enumerate(inputs.sequences):
        free = np.flatnonzero(~inputs.special(sequence))
        copy = sequence.copy()
        copy[free] = sequence[stream(seed, "shuffle", i).permutation(free)]
        moved.append(copy)
    return Inputs(tuple(moved), inputs.ids, inputs.cls, inputs.sep)


def repeated(source: Source, seed: int) -> Array | None:
    """Return random tokens followed by the same tokens again, to measure induction; None without a vocabulary."""
    if source.vocabulary is None:
        return None
    half = min(32, (source.longest or 64) // 2)
    ids = stream(seed, "repeated").integers(0, source.vocabulary, half)
    return np.concatenate([ids, ids])
