"""What is fuzzed: each target with its corpus, the words of its language, and what is done with an input.

A target takes bytes, returns when they were accepted and raises a SparseheadError when they were refused. Where a
result can be checked, it is: an accepted text must mean the same when it is written and read again, and a changed store
row, store file or model file must not be believed (`watch.Wrong`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from certificates import SEEDS, use_certificates
from hypothesis import strategies as st
from inputs import objects_like, pieces_of, words_of
from stored import (
    Use,
    changed_row,
    model_files,
    record_texts,
    row_texts,
    spec_texts,
    store_bytes,
    use_models,
    use_records,
    use_rows,
    use_specs,
    use_stores,
)
from watch import Wrong

import sparsehead as sh
from sparsehead._base.errors import SparseheadError
from sparsehead.cli.bound import parse_norms
from sparsehead.cli.options import whole_number
from sparsehead.covering.points_file import is_numeral, points_of
from sparsehead.sweep.shards import parse_shard


@dataclass(frozen=True)
class Target:
    """One thing that reads what others wrote.

    Args:
        corpus, words: what mutations start from and are made of.
        strategy: whole values by Hypothesis.
        use: what is done with one input; called once per process, so that files and servers are made when needed.
        mutated, generated, guided: inputs of a full run from mutations, from Hypothesis, and from atheris.
    """

    name: str
    corpus: Callable[[], Sequence[bytes]]
    words: Callable[[], Sequence[bytes]]
    strategy: Callable[[], st.SearchStrategy[bytes]]
    use: Callable[[], Use]
    mutated: int
    generated: int
    guided: int


# --- expressions

EXPRESSIONS = (b"x2 & x5 & x11", b"!x0 | x1 ^ (x2 & !x3)", b"maj(x1, x2, x3)", b"atleast(2, x1, x5, x7 & x8)",
               b"table(0x6, x2, x5)", b"x1 and not x2 or x3 xor true", b"((((x1))))", b"0 | 1 & x4",
               b"table(0x1ee, x2, x5, x7)", b"!!!!x1 & x2 & x3 & x4 & x5 & x6 & x7 & x8 & x9 & x10")  # fmt: skip
TOKENS = ("x0", "x3", "x15", "x16", "&", "|", "^", "!", "(", ")", ",", " ", "maj(", "atleast(", "2", "table(", "0x1e",
          "and", "or", "xor", "not", "true", "false", "0", "1")  # fmt: skip


def use_expressions() -> Use:
    """Parse; what was read must be written and read again as the same function."""

    def use(data: bytes) -> None:
        f = sh.parse(data.decode("utf-8", "replace"), T=16)
        if f.s <= 4 and sh.parse(str(f), T=16) != f:
            raise Wrong("written and read again, the function is another one")

    return use


# --- small texts of the command line

SMALL = (b"1e6", b"10_000", b"2.5e3", b"-3", b"V21=2,V=1,QK=3,BX=1.5", b"w=0.5,H=4,d=64,V=1", b"2/8", b"1/1")


def use_small() -> Use:
    """Whole numbers, --norms and --shard; typer's BadParameter is its way to say a sentence."""
    import typer

    def use(data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        refused = 0
        for reader in (whole_number, parse_norms, parse_shard):
            try:
                reader(text)
            except (SparseheadError, typer.BadParameter):
                refused += 1
        if refused == 3:
            raise SparseheadError("refused by all three.")

    return use


# --- CSV files

TABLES = (b"0.5,0.7\n0.2,0.3\n0.6,0.65\n", b"x,y\n1,2\n3,4\n", b'"1","2"\r\n"3","4"\r\n', b"1/3\n-2/7\n", b"1;2\n",
          b"\xef\xbb\xbf1,2\n3,4", b"1e3,-1e-3\n\n0,0\n", b" 1 , 2 \n# a\n")  # fmt: skip


def use_tables() -> Use:
    """Every accepted cell is a finite number, and all rows have the same length."""

    def use(data: bytes) -> None:
        points = points_of(data, "the file")
        if len({len(row) for row in points}) != 1 or not all(
            is_numeral(cell) for row in points for cell in row
        ):
            raise Wrong("rows of unequal length, or a cell that is no number")

    return use


def _api_corpus() -> Sequence[bytes]:
    from api import REQUESTS

    return REQUESTS


def _api_use() -> Use:
    from api import use_api

    return use_api()


def _api_strategy() -> st.SearchStrategy[bytes]:
    from api import strategy

    return strategy()


def _json_words(corpus: Callable[[], Sequence[bytes]]) -> Callable[[], Sequence[bytes]]:
    return lambda: words_of(corpus())


TARGETS = (
    Target("expressions", lambda: EXPRESSIONS, lambda: [w.encode() for w in TOKENS],
           lambda: pieces_of(*TOKENS), use_expressions, 110_000, 3_000, 12_000),
    Target("command-line texts", lambda: SMALL, lambda: [b"e", b"_", b"=", b",", b"/", b"V21"],
           lambda: pieces_of("1", "e", "9", "-", ".", "_", "V21=", "QK=", ",", "/", "H="), use_small,
           430_000, 3_000, 0),
    Target("CSV", lambda: TABLES, lambda: [b",", b"\n", b'"', b";", b"1", b"nan", b"inf"],
           lambda: pieces_of("1", ",", "\n", '"', "0.5", "1/3", "\r\n", "nan", " "), use_tables,
           280_000, 3_000, 10_000),
    Target("specs", spec_texts, _json_words(spec_texts), lambda: objects_like(spec_texts()), use_specs,
           80_000, 3_000, 10_000),
    Target("results records", record_texts, _json_words(record_texts), lambda: objects_like(record_texts()),
           use_records, 15_000, 2_000, 0),
    Target("store rows", row_texts, _json_words(row_texts), lambda: st.sampled_from(row_texts()).flatmap(changed_row),
           use_rows, 80_000, 3_000, 0),
    Target("store files", store_bytes, lambda: [b"solved", b"outcomes"], lambda: st.binary(max_size=300), use_stores,
           4_000, 200, 0),
    Target("model files", model_files, _json_words(model_files), lambda: st.binary(max_size=300), use_models,
           15_000, 300, 5_000),
    Target("certificates", lambda: SEEDS, lambda: [b"0", b"1", b"9"], lambda: st.binary(min_size=1, max_size=8),
           use_certificates, 900, 100, 0),
    Target("lab API", _api_corpus, lambda: words_of(_api_corpus()), _api_strategy, _api_use, 2_500, 500, 0),
)  # fmt: skip
BY_NAME = {target.name: target for target in TARGETS}
