"""Tables of a user's own: arrays, data frames and files become bits, and columns keep their names."""

import re

import numpy as np
import pytest

import sparsehead as sh
from sparsehead._base.lazy import install_command
from sparsehead.datasets import Dataset

RNG = np.random.default_rng(5)
X = (RNG.random((40, 3)) < 0.5).astype(np.uint8)
Y = X[:, 0] | X[:, 2]


def write(tmp_path, text, name="t.csv"):
    file = tmp_path / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def csv_text(header="a,b,c,y", separator=","):
    rows = [separator.join(map(str, (*row, label))) for row, label in zip(X.tolist(), Y.tolist())]
    return "\n".join([header.replace(",", separator), *rows]) + "\n"


def same(found, names):
    assert found.names == tuple(names) and (found.bits == X).all() and (found.labels == Y).all()
    assert found.bits.dtype == found.labels.dtype == np.uint8


@pytest.mark.parametrize("kind", [bool, int, float, np.int8, object, str])
def test_an_array_of_any_type_of_bits(kind):
    same(sh.dataset(X.astype(kind), Y.astype(kind)), ("x0", "x1", "x2"))


def test_lists_and_names():
    same(sh.dataset(X.tolist(), Y.tolist(), names=["a", "b", "c"]), "abc")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_csv_file(tmp_path, separator):
    file = write(tmp_path, csv_text(separator=separator))
    same(sh.dataset(file, "y"), "abc")
    same(sh.dataset(str(file), "y"), "abc")


def test_a_csv_file_with_a_mark_of_its_encoding_quotes_spaces_and_empty_lines(tmp_path):
    text = "\ufeff" + csv_text('"a", b ,c,y').replace("\n", "\r\n") + "\r\n\r\n"
    same(sh.dataset(write(tmp_path, text), "y"), "abc")


def test_data_frames(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abc")).assign(y=Y)
    same(sh.dataset(frame, "y"), "abc")
    same(sh.dataset(frame[["a", "b", "c"]], frame["y"]), "abc")
    same(sh.dataset(frame.astype({"a": "Int64", "b": "boolean", "c": "category"}), "y"), "abc")
    same(sh.dataset(pandas.DataFrame(X), Y), "012")


def test_anything_with_columns_is_a_data_frame():
    class Frame:
        columns = ("a", "b", "c")

        def __getitem__(self, name):
            return X[:, "abc".index(name)].tolist()

    same(sh.dataset(Frame(), Y), "abc")


def test_parquet_and_arrow(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.table({name: X[:, t] for t, name in enumerate("abc")} | {"y": Y.astype(bool)})
    same(sh.dataset(table, "y"), "abc")
    parquet.write_table(table, tmp_path / "t.parquet")
    same(sh.dataset(tmp_path / "t.parquet", "y"), "abc")


def test_parquet_without_its_reader_says_what_to_install(tmp_path, monkeypatch):
    write(tmp_path, b"PAR1", "t.parquet")
    monkeypatch.setattr("sparsehead._base.lazy.find_spec", lambda module: None)
    sentence = f"this needs pyarrow, which is not installed; {install_command('parquet')} brings it."
    with pytest.raises(ImportError, match=re.escape(sentence)):
        sh.dataset(tmp_path / "t.parquet", "y")


def test_numbers_and_categories_become_bits():
    age = np.arange(40)
    colour = np.array(["red", "blue", "green", "red"] * 10)
    sex = np.array(["f", "m"] * 20)
    table = np.stack([age, colour, sex], axis=1).astype(object)
    found = sh.dataset(
        table, Y, names=["age", "colour", "sex"], threshold={"age": 17.5}, onehot=["colour", "sex"]
    )
    assert found.names == ("age>17.5", "colour=blue", "colour=green", "colour=red", "sex=m")
    assert (found.bits[:, 0] == (age > 17.5)).all() and (found.bits[:, 3] == (colour == "red")).all()
    assert (found.bits[:, 1:4].sum(axis=1) == 1).all() and (found.bits[:, 4] == (sex == "m")).all()


def test_a_value_at_the_cut_is_below_it():
    found = sh.dataset(np.arange(40)[:, None], Y, threshold={"x0": 17})
    assert found.bits[17, 0] == 0 and found.bits[18, 0] == 1


def test_labels_in_words():
    words = np.where(Y == 1, "yes", "no")
    same(sh.dataset(X, words, positive="yes"), ("x0", "x1", "x2"))
    same(sh.dataset(X, np.where(Y == 1, "TRUE", "false")), ("x0", "x1", "x2"))
    same(sh.dataset(X, np.where(Y == 1, 7, 3), positive=7), ("x0", "x1", "x2"))


def test_formulas_have_the_names_of_the_columns():
    data = Dataset(X, Y, ("blood pressure", "x0", "maj"), "y")
    assert data.formula(sh.parse("x0 & !x1 | x2", T=3)) in (
        "`maj` | `blood pressure` & !x0",
        "`blood pressure` & !x0 | `maj`",
    )
    assert data.formula(sh.parse("maj(x0, x1, x2)", T=3)) == "maj(`blood pressure`, x0, `maj`)"
    assert data.formula(sh.parse("1", T=3)) == "1"


def test_a_csv_is_data_and_is_never_run(tmp_path):
    call = "__import__('os').system('touch ran')"
    text = csv_text().replace("a,b,c,y", f'"{call}",b,=1+1,y')
    found = sh.dataset(write(tmp_path, text), "y")
    assert found.names == (call, "b", "=1+1") and not (tmp_path / "ran").exists()
