# mypy: disable-error-code="arg-type,call-overload,dict-item,list-item"
"""Wrong tables and wrong options: one line that says what is wrong and what would work, and nothing is written."""

import re

import numpy as np
import pytest

import sparsehead as sh
from sparsehead.cli.app import main

pytestmark = pytest.mark.usefixtures("unchecked")  # users have no checker of annotations

RNG = np.random.default_rng(8)
X = (RNG.random((40, 3)) < 0.5).astype(float)
Y = X[:, 0].copy()
NAN = X.copy()
NAN[6, 1] = np.nan
INFINITE = X.copy()
INFINITE[6, 1] = np.inf
NUMBERS = X * 7 + 0.5
WORDS = np.array([["red", "blue"], ["green", "red"]] * 20, dtype=object)
DATES = np.array(["2026-01-01", "2026-01-02"] * 20, dtype="datetime64[D]")[:, None]


class Frame:
    def __init__(self, *columns):
        self.columns = columns

    def __getitem__(self, name):
        return X[:, 0]


# (what the one line says, the call)
CALLS = [
    ("labels are missing", lambda: sh.dataset(X)),
    ("y has one label for each row; got shape", lambda: sh.dataset(X, X)),
    ("40 rows and the label 39", lambda: sh.dataset(X, Y[1:])),
    ("no column 'y'", lambda: sh.dataset(X, "y")),
    ("Did you mean 'x0'", lambda: sh.dataset(X, "x00")),
    ("column 'x1' has no value in row 7;", lambda: sh.dataset(NAN, Y)),
    ("'x1' is infinite in row 7", lambda: sh.dataset(INFINITE, Y)),
    ("column 'y' has no value in row 7", lambda: sh.dataset(X, NAN[:, 1])),
    ("no value in row 1 and 39 more", lambda: sh.dataset([[None, 1]] * 40, Y)),
    ("'x0' does not hold bits.*--threshold x0=", lambda: sh.dataset(NUMBERS, Y)),
    ("'x0' does not hold bits.*'green'.*--onehot x0", lambda: sh.dataset(WORDS, Y)),
    ("has type datetime64", lambda: sh.dataset(DATES, Y)),
    ("has type complex", lambda: sh.dataset(X * 1j, Y)),
    ("label 'y' is 1 in all 40 rows", lambda: sh.dataset(X, np.ones(40))),
    ("label 'y' is not 0 or 1.*--positive", lambda: sh.dataset(X, np.arange(40))),
    ("label 'y' is not 0 or 1.*'no'", lambda: sh.dataset(X, ["yes", "no"] * 20)),
    ("never 'maybe'", lambda: sh.dataset(X, ["yes", "no"] * 20, positive="maybe")),
    ("has 10 rows; at least 20", lambda: sh.dataset(X[:10], Y[:10])),
    ("has no columns", lambda: sh.dataset(X[:, :0], Y)),
    ("no columns beside the label 'x0'", lambda: sh.dataset(X[:, :1], "x0")),
    ("shape \\(40,\\)", lambda: sh.dataset(Y, Y)),
    ("shape \\(2, 40, 3\\)", lambda: sh.dataset(np.stack([X, X]), Y)),
    ("got a function", lambda: sh.dataset(lambda: 3, Y)),
    ("got 3 of shape", lambda: sh.dataset(3, Y)),
    ("rows of different lengths", lambda: sh.dataset([[0, 1], [1]] * 20, Y)),
    ("3 columns and 2 names", lambda: sh.dataset(X, Y, names=["a", "b"])),
    ("2 columns have the name 'a'", lambda: sh.dataset(X, Y, names=["a", "a", "b"])),
    ("column 2 has no name", lambda: sh.dataset(X, Y, names=["a", " ", "b"])),
    ("a name is a text|name is a text; got 3", lambda: sh.dataset(X, Y, names=["a", 3, "b"])),
    ("name of column 1 has 201 characters", lambda: sh.dataset(X, Y, names=["a" * 201, "b", "c"])),
    ("backquote", lambda: sh.dataset(X, Y, names=["a`", "b", "c"])),
    ("control character", lambda: sh.dataset(X, Y, names=["a\x1b[31m", "b", "c"])),
    ("control character", lambda: sh.dataset(X, Y, names=["a\nb", "b", "c"])),
    ("10001 columns; at most 10000", lambda: sh.dataset(np.zeros((40, 10_001)), Y)),
    ("2 columns have the name 'a'", lambda: sh.dataset(Frame("a", "a"), Y)),
    ("name is a text; got a tuple", lambda: sh.dataset(Frame(("a", "b")), Y)),
    ("data frame already has names", lambda: sh.dataset(Frame("a"), Y, names=["b"])),
    ("threshold names 'age', which is no column", lambda: sh.dataset(X, Y, threshold={"age": 3})),
    ("threshold of 'x0' is a finite number", lambda: sh.dataset(X, Y, threshold={"x0": "3"})),
    ("threshold of 'x0' is a finite number", lambda: sh.dataset(X, Y, threshold={"x0": np.nan})),
    ("cut by column", lambda: sh.dataset(X, Y, threshold=0.5)),
    ("a threshold needs numbers", lambda: sh.dataset(WORDS, Y, threshold={"x0": 1})),
    ("onehot names 'age'", lambda: sh.dataset(X, Y, onehot=["age"])),
    ("onehot is a sequence", lambda: sh.dataset(X, Y, onehot="x0")),
    ("both a threshold and onehot", lambda: sh.dataset(X, Y, threshold={"x0": 1}, onehot=["x0"])),
    ("has 60 values; .* at most 50", lambda: sh.dataset([[i] for i in range(60)], [0, 1] * 30, onehot=["x0"])),
    ("'1' in all rows; leave it out", lambda: sh.dataset(np.ones((40, 1)), Y, onehot=["x0"])),
    ("has the value a list", lambda: sh.dataset(Listed(), Y)),
    ("seed", lambda: sh.learn(X, Y, seed=-1)),
    ("held_out", lambda: sh.learn(X, Y, seed=0, held_out=0)),
    ("held_out", lambda: sh.learn(X, Y, seed=0, held_out=1.0)),
    ("are too few", lambda: sh.learn(X, Y, seed=0, held_out=0.8)),
    ("from 1 to 8", lambda: sh.learn(X, Y, seed=0, most=9)),
    ("delta", lambda: sh.learn(X, Y, seed=0, delta=0)),
    ("m \\(--m\\) is for a function", lambda: sh.learn(X, Y, seed=0, m=10)),
    ("noise \\(--noise\\) is for a function", lambda: sh.learn(X, Y, seed=0, noise=0.1)),
    ("inputs \\(--inputs\\) is for a function", lambda: sh.learn(X, Y, seed=0, inputs="p:0.5")),
    ("feature_noise .* is for a function", lambda: sh.learn(X, Y, seed=0, feature_noise=0.1)),
    ("learner .* is for a function", lambda: sh.learn(X, Y, seed=0, learner="mlp")),
    ("did you mean 'learning_rate'", lambda: sh.learn(X, Y, seed=0, learning_rte=0.1)),
    ("preset", lambda: sh.learn(X, Y, seed=0, preset="bst")),
    ("learn needs m", lambda: sh.learn("x1", T=8, seed=0)),
    ("sizes are from 20 to the 32 rows", lambda: sh.learning_curve(X, Y, seed=0, sizes=[5])),
    ("sizes are from 20 to the 32 rows", lambda: sh.learning_curve(X, Y, seed=0, sizes=[400])),
    ("sizes is a sequence", lambda: sh.learning_curve(X, Y, seed=0, sizes=20)),
    ("draws", lambda: sh.learning_curve(X, Y, seed=0, draws=1)),
    ("seed", lambda: sh.learning_curve(X, Y, seed="a")),
]  # fmt: skip


class Listed:
    columns = ("a",)

    def __getitem__(self, name):
        cells = np.empty(40, dtype=object)
        cells[:] = [[1]] * 40
        return cells


@pytest.mark.parametrize(
    ("says", "call"), CALLS, ids=[f"{i}-{says[:20]}" for i, (says, _) in enumerate(CALLS)]
)
def test_a_wrong_table_is_one_line(says, call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(sh.SparseheadError) as refused:
        call()
    said = str(refused.value)
    assert re.search(says, said), said
    assert "\n" not in said and said.endswith((".", "?")) and len(said) < 400 and said.isprintable()
    assert list(tmp_path.iterdir()) == []


ROWS = "".join(f"{i % 2},{i // 2 % 2},{i % 2}\n" for i in range(40))
GOOD = f"a,b,y\n{ROWS}"
# (content of t.csv, or None; arguments; what the one line says)
COMMANDS = [
    (None, "--data t.csv --label y", "cannot read t.csv: .*give a CSV or Parquet"),
    (GOOD, "--data . --label y", "a directory|a folder"),
    (GOOD, "--data t.csv", "needs --label COLUMN"),
    (GOOD, "--label y", "--label is for a table"),
    (GOOD, "--threshold a=1", "--threshold is for a table"),
    (GOOD, "x1 --data t.csv --label y", "a function or a table"),
    (GOOD, "--data t.csv --label z", "no column 'z'"),
    (GOOD, "--data t.csv --label y --T 3", "T .--T. is for a function"),
    (GOOD, "--data t.csv --label y --m 3", "m .--m. is for a function"),
    (GOOD, "--data t.csv --label y --threshold a", "COLUMN=CUT"),
    (GOOD, "--data t.csv --label y --threshold a=b", "COLUMN=CUT"),
    (GOOD, "--data t.csv --label y --threshold a=nan", "COLUMN=CUT"),
    (GOOD, "--data t.csv --label y --threshold a=1 --threshold a=2", "two cuts"),
    (GOOD, "--data t.csv --label y --threshold q=1", "no column beside the label"),
    (GOOD, "--data t.csv --label y --onehot q", "no column beside the label"),
    (GOOD, "--data t.csv --label y --positive 3", "never '3'"),
    (GOOD, "--data t.csv --label y --held-out 2", "held_out"),
    (GOOD, "--data t.csv --label y --chart c.svg", "--chart"),
    (GOOD, "--data t.csv --label y --out h.bin", "h.safetensors"),
    (GOOD, "--data t.csv --label y --preset bst", "preset"),
    ("", "--data t.csv --label y", "is empty"),
    ("  \n\n", "--data t.csv --label y", "is empty"),
    ("a,b,y\n", "--data t.csv --label y", "no rows"),
    (ROWS, "--data t.csv --label y", "begins with numbers"),
    (GOOD + "1,0\n", "--data t.csv --label y", "line 42: 2 cells where the header has 3"),
    (GOOD + "1,0,1,1\n", "--data t.csv --label y", "line 42: 4 cells"),
    (f"a,a,y\n{ROWS}", "--data t.csv --label y", "2 columns have the name 'a'"),
    (f"a,,y\n{ROWS}", "--data t.csv --label y", "column 2 has no name"),
    (f"a,b`,y\n{ROWS}", "--data t.csv --label y", "backquote"),
    (GOOD + ",0,1\n", "--data t.csv --label y", "'a' has no value in row 41"),
    (GOOD + "NA,0,1\n", "--data t.csv --label y", "'a' has no value in row 41"),
    (GOOD + "0,0,\n", "--data t.csv --label y", "'y' has no value in row 41"),
    (GOOD + "2,0,1\n", "--data t.csv --label y", "'a' does not hold bits"),
    (GOOD + "yes,0,1\n", "--data t.csv --label y", "'a' does not hold bits.*--onehot a"),
    (GOOD + "inf,0,1\n", "--data t.csv --label y", "'a' does not hold bits"),
    (GOOD + "0,0,2\n", "--data t.csv --label y", "'y' is not 0 or 1"),
    (GOOD + '0,"0,1\n', "--data t.csv --label y", "line 42"),
    ("a,b,y\n0,1,1\n1,0,0\n", "--data t.csv --label y", "has 2 rows; at least 20"),
    (b"\xff\xfe\x00a", "--data t.csv --label y", "not a text in UTF-8"),
    (b"a,b,y\n" + b"\x00" * 9, "--data t.csv --label y", "t.csv|rows|cells"),
    ("y\n" + "0\n1\n" * 20, "--data t.csv --label y", "no columns beside"),
    ("a,y\n" + "0,1\n" * 40, "--data t.csv --label y", "1 in all 40 rows"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "words", "says"), COMMANDS, ids=range(len(COMMANDS)))
def test_a_wrong_command_is_one_line_and_writes_nothing(content, words, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / "t.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    before = sorted(tmp_path.iterdir())
    with pytest.raises(SystemExit) as ended:
        main(["learn", *words.split()])
    said = capsys.readouterr()
    assert (ended.value.code, said.out, said.err.count("\n")) == (2, "", 1), said
    assert re.search(says, said.err), said.err
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("limit", "says"), [("MOST_BYTES", "bytes, at most 10"), ("MOST_CELLS", "more than 10 cells")]
)
def test_a_large_file_is_refused(limit, says, tmp_path, monkeypatch):
    monkeypatch.setattr(f"sparsehead.datasets.files.{limit}", 10)
    (tmp_path / "t.csv").write_text(GOOD)
    with pytest.raises(sh.SparseheadError, match=says):
        sh.dataset(tmp_path / "t.csv", "y")


@pytest.mark.parametrize("name", ["t.xlsx", "t", "t.csv.gz"])
def test_other_files_are_refused_by_their_ending(name, tmp_path):
    (tmp_path / name).write_text(GOOD)
    with pytest.raises(sh.SparseheadError, match="give a CSV or Parquet"):
        sh.dataset(tmp_path / name, "y")


def test_a_damaged_parquet_file_is_one_line(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "t.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(sh.SparseheadError, match="no Parquet file") as refused:
        sh.dataset(tmp_path / "t.parquet", "y")
    assert "\n" not in str(refused.value)
