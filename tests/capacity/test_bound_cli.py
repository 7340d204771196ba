"""`sparsehead bound` and `sparsehead cover` as a script sees them."""

import json
import os

import pytest

from sparsehead.capacity.verdict import factor_text
from sparsehead.cli.app import main
from sparsehead.heads.model_file import save

from .test_bound import small_model

pytestmark = pytest.mark.usefixtures("unchecked")  # as users run it
NORMS = "V21=1,V=1,QK=9.4,BX=1.42"


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as done:
        main([str(a) for a in arguments])
    out, err = capsys.readouterr()
    return done.value.code, out, err


def test_cover_json(capsys, tmp_path):
    file = tmp_path / "points.csv"
    file.write_text("x,y\n0.5,0.7\n0.2,0.3\n0.6,0.65\n")
    code, out, _ = run(capsys, "cover", file, "--eps", "0.5", "--json")
    found = json.loads(out)
    assert code == 0 and found["size"] == found["lower"] == found["upper"] == 1 and found["exact"] is True
    assert found["centers"] == [[0.5, 0.7]] and found["rows"] == [0]
    assert found["ties"].startswith("exact")
    code, out, _ = run(capsys, "cover", file, "--eps", "0.05")
    assert code == 0 and "covering number 3" in out and "ties: exact" in out


def test_cover_says_bracket(capsys, tmp_path):
    file = tmp_path / "grid.csv"
    file.write_text("\n".join(f"{i},{j}" for i in range(50) for j in range(50)))
    code, out, _ = run(capsys, "cover", file, "--eps", "2", "--time-limit", "0.01")
    assert code == 0 and out.startswith("time limit reached")
    _, out, _ = run(capsys, "cover", file, "--eps", "2", "--time-limit", "0.01", "--json")
    assert json.loads(out)["size"] is None


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("1,2\n3\n", "line 2: 1 numbers where the rows above have 2"),
        ("1,2\n3,x\n", "line 2: 'x' is not a finite number"),
        ("nan,1\n2,3\n", "line 1: 'nan' is not a finite number"),
        ("1,2\n3,inf\n", "line 2: 'inf' is not a finite number"),
        ("1,2\n3,1e999999999\n", "is not a finite number"),
        ("", "has no rows"),
    ],
)
def test_cover_refuses_bad_files_in_one_line(capsys, tmp_path, text, match):
    file = tmp_path / "bad.csv"
    file.write_text(text)
    code, out, err = run(capsys, "cover", file, "--eps", "1")
    assert code == 2 and out == "" and match in err and err.count("\n") == 1


def test_cover_refuses_bad_eps_and_missing_files(capsys, tmp_path):
    file = tmp_path / "points.csv"
    file.write_text("1\n2\n")
    for eps in ("0", "-1", "nan", "x", "1e400", "1e-400", "1e999999999", "1/0", "9" * 500):
        code, _, err = run(capsys, "cover", file, f"--eps={eps}")
        assert code == 2 and "eps" in err and err.count("\n") == 1
    code, _, err = run(capsys, "cover", tmp_path / "none.csv", "--eps", "1")
    assert code == 2 and "cannot read" in err


def test_cover_refuses_what_has_no_end_or_is_no_file(capsys, tmp_path, monkeypatch):
    """A FIFO that nobody writes to and /dev/zero would be read for ever; a growing file until memory is full."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for source in (fifo, "/dev/zero", tmp_path):
        code, out, err = run(capsys, "cover", source, "--eps", "1")
        assert code == 2 and out == "" and "cannot read" in err and err.count("\n") == 1
    file = tmp_path / "long.csv"
    file.write_text("1" * 140_000 + "\n2\n")
    code, out, err = run(capsys, "cover", file, "--eps", "1")
    assert code == 2 and out == "" and "field larger than field limit" in err and err.count("\n") == 1
    monkeypatch.setattr("sparsehead.covering.points_file.MOST_BYTES", 1000)
    code, out, err = run(capsys, "cover", file, "--eps", "1")
    assert code == 2 and out == "" and "cannot read" in err and err.count("\n") == 1


def test_bound_json_keys(capsys):
    code, out, _ = run(capsys, "bound", "--norms", NORMS, "--T", 300, "--m", 1000, "--json")
    found = json.loads(out)
    wanted = {
        "log_covering",
        "items",
        "form",
        "gap",
        "vacuous",
        "vacuous_by",
        "dominated_by",
        "samples_needed",
    }
    assert code == 0 and wanted <= set(found)
    assert all({"name", "c", "p", "share"} <= set(term) for term in found["items"])


def test_bound_with_the_information_floor_beside_it(capsys):
    code, out, _ = run(capsys, "bound", "--norms", NORMS, "--T", 300, "--m", 1000, "--s", 3, "--json")
    found = json.loads(out)["floor"]
    slopes = {name: round(value, 2) for name, value in found.pop("per_ln_T").items()}
    assert code == 0 and found == {"m": 31, "enough": 34, "status": "lower bracket"}
    assert slopes == {"information": 4.33, "position": 5.88, "covariance": 7.68, "elimination": 8.66}
    code, out, _ = run(capsys, "bound", "--norms", NORMS, "--T", 300, "--m", 1000, "--s", 3)
    assert "fewer than 31 samples" in out and "lower bracket, 34 are enough" in " ".join(out.split())
    code, _, err = run(capsys, "bound", "--norms", NORMS, "--T", 300, "--m", 1000, "--s", 0)
    assert code == 2 and "1 <= s < T=300" in err


def test_bound_of_a_saved_model(capsys, tmp_path):
    file = tmp_path / "head.safetensors"
    save(small_model(2.0), file)
    code, out, _ = run(capsys, "bound", file, "--m", 1000, "--delta", "0.01", "--margin", "0.25")
    assert code == 0 and "vacuous" in out and "layer0.head0.QK" in out
    code, out, _ = run(capsys, "bound", file, "--m", 1000, "--form", "minimum", "--json")
    assert json.loads(out)["form"] == "minimum"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--norms", "V21=1,V=1,QK=-9,BX=1", "--T", "9", "--m", "9"],
        ["--norms", "V21=1,V=1,QK=nan,BX=1", "--T", "9", "--m", "9"],
        ["--norms", "V21:1", "--T", "9", "--m", "9"],
        ["--norms", "V21=1,V21=2", "--T", "9", "--m", "9"],
        ["--norms", NORMS, "--T", "9", "--m", "0"],
        ["--norms", NORMS, "--T", "9", "--m", "9", "--delta", "2"],
        ["--norms", NORMS, "--m", "9"],
        ["--m", "9"],
        ["no-such-file.safetensors", "--m", "9"],
    ],
)
def test_bound_refuses_in_one_line(capsys, arguments):
    code, out, err = run(capsys, "bound", *arguments)
    assert code == 2 and out == "" and err.startswith("sparsehead: ") and err.count("\n") == 1


def test_bound_leads_with_the_smallest_proven_form(capsys, tmp_path):
    """The first line and the JSON's first entry are one verdict; the other forms stand below it."""
    file = tmp_path / "head.safetensors"
    save(small_model(2.0), file)
    _, out, _ = run(capsys, "bound", file, "--m", 10**6)
    lines = out.replace("\n", " ")
    _, plain, _ = run(capsys, "bound", file, "--m", 10**6, "--json")
    found = json.loads(plain)
    assert next(iter(found)) == "verdict" and found["form"] == "minimum" and found["proven"] is True
    assert lines.startswith(found["verdict"].split(";")[0])
    assert lines.index("It assumes:") < lines.index("Other forms:") < lines.index("paper, not proven:")
    assert set(found["gaps"]) == set(found["forms"]) and found["gap"] == found["gaps"]["minimum"]


def test_other_forms_say_how_many_samples_they_lack(capsys):
    _, out, _ = run(capsys, "bound", "--norms", NORMS, "--T", 300, "--m", 1000)
    _, plain, _ = run(capsys, "bound", "--norms", NORMS, "--T", 300, "--m", 1000, "--json")
    found, lines = json.loads(plain), " ".join(out.split())
    for name in ("ours", "paper"):
        assert f", vacuous, below 1 at {factor_text(found['factors'][name])} times m" in lines
    assert (
        found["gaps"]["ours"] == found["gaps"]["paper"]
        and found["factors"]["ours"] != found["factors"]["paper"]
    )


def test_many_equal_heads_are_grouped(capsys):
    """A million heads are two items, not two million."""
    code, out, _ = run(capsys, "bound", "--norms", NORMS + ",H=1e6", "--T", 300, "--m", 1000, "--json")
    found = json.loads(out)
    assert code == 0 and [(t["name"], t["copies"]) for t in found["items"]] == [("QK", 1e6), ("V", 1e6)]


def test_a_context_beyond_floats_prints(capsys):
    code, out, err = run(capsys, "bound", "--norms", NORMS, "--T", 10**400, "--m", 1000)
    assert code == 0 and "T=10^400" in out and err == ""
