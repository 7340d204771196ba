"""`sparsehead probe`: table, JSON, chart, and one line for each misuse."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import sparsehead as sh
from sparsehead._base.errors import DomainError
from sparsehead.cli.app import main
from sparsehead.figures import heads as heads_chart
from sparsehead.probing import probe


@pytest.fixture(scope="module")
def folder(tiny, tmp_path_factory):
    """A tiny BERT on the disk, with a tokenizer of whole words."""
    from tokenizers import Tokenizer, models, pre_tokenizers  # heavy: only where they are needed
    from transformers import PreTrainedTokenizerFast

    path = tmp_path_factory.mktemp("bert")
    tiny("bert").save_pretrained(path)
    words = {
        word: i for i, word in enumerate(["[UNK]", "[CLS]", "[SEP]", "the", "cat", "sat", "on", "mat", "a"])
    }
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    special = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    """A model of this library on the disk."""
    path = tmp_path_factory.mktemp("ours") / "and.safetensors"
    return sh.save(sh.build("x1 & x2", T=8), path)


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """A bare state dict on the disk."""
    path = tmp_path_factory.mktemp("state") / "mha.safetensors"
    rng = np.random.default_rng(0)
    parts = {f"0.{name}_proj.weight": rng.normal(size=(8, 8)) for name in ("q", "k", "v", "out")}
    save_file({name: W.astype(np.float32) for name, W in parts.items()}, path)
    return path


def command(capsys, *arguments):
    with pytest.raises(SystemExit) as done:
        main(["probe", *map(str, arguments)])
    out, err = capsys.readouterr()
    return done.value.code, out, err


def test_a_text_is_probed_to_json_and_a_chart(folder, tmp_path, capsys):
    (tmp_path / "t.txt").write_text("the cat sat on the mat\n\na cat sat on a mat the cat\n")
    chart = tmp_path / "map.svg"
    code, out, err = command(
        capsys,
        folder,
        "--text",
        tmp_path / "t.txt",
        "--json",
        "--chart",
        chart,
        "--influence",
        1,
        "--ablation",
        1,
        "--form",
        "ours",
    )
    assert code == 0, err
    found = json.loads(out)
    assert (found["family"], found["sequences"], found["tokens"]) == ("bert", 2, 14)
    assert len(found["heads"]) == 8 and found["recomputed_error"] < 1e-4
    scores = [head["measured"]["score"]["4"] for head in found["heads"]]
    assert scores == sorted(scores, reverse=True)
    first = found["heads"][0]
    assert set(first["baselines"]) == {"random_weights", "shuffled_input", "uniform_attention"}
    assert first["bound"]["verdict"].startswith("vacuous") and first["ablation"] > 0
    assert first["influence"]["direct"]["sequences"] == 1
    assert chart.read_text().startswith("<svg")
    assert (
        "0 of 14 tokens (0%) are unknown to the tokenizer; the first are the cat sat on" in found["notes"][0]
    )
    (tmp_path / "raw.txt").write_text("CC(=O)O\n")
    code, out, err = command(capsys, folder, "--text", tmp_path / "raw.txt", "--json")
    assert (code, out) == (2, "") and "are unknown to the tokenizer" in err and err.count("\n") == 1
    code, _, err = command(capsys, folder, "--chart", chart)
    assert code == 2 and "--force" in err


def test_the_table_is_for_people(folder, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = command(capsys, folder, "--top", 3, "--no-baselines", "--no-bounds")
    assert code == 0, err
    assert "no text was given: 8 sequences of 64 random tokens" in " ".join(out.split())
    assert len([line for line in out.splitlines() if line.strip()[:1].isdigit() and "." in line[:8]]) == 3
    columns = "head score random shuffled uniform support sink prev next same induct vacuous"
    assert columns in [" ".join(line.split()) for line in out.splitlines()]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "there is no nowhere"),
        (["FOLDER", "--text", "nowhere.txt"], "cannot read nowhere.txt"),
        (["FOLDER", "--chart", "map.txt"], "written as .svg, .png, .pdf or .html"),
        (["FOLDER", "--s", "5"], "s is one of 1, 2, 4"),
        (["EMPTY"], "has no config.json"),
        (["FOLDER", "--longest", "0", "--no-baselines"], "longest is a whole number >= 2; got 0"),
        (["FOLDER", "--longest", "-1"], "longest is a whole number >= 2; got -1"),
        (["FOLDER", "--longest", "1"], "longest is a whole number >= 2; got 1"),
        (["OURS", "--longest", "0"], "longest is a whole number >= 2; got 0"),
        (["STATE", "--heads", "2", "--longest", "1"], "longest is a whole number >= 2; got 1"),
        (["FOLDER", "--heads", "7"], "how many heads a layer has, 4; heads=7 (--heads) contradicts it"),
        (["OURS", "--heads", "7"], "how many heads a layer has, 1; heads=7 (--heads) contradicts it"),
        (["FOLDER", "--heads", "0"], "heads is a whole number >= 1; got 0"),
        (["OURS", "--heads", "-4"], "heads is a whole number >= 1; got -4"),
        (["STATE"], "give heads= (--heads)"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_misuse_is_one_line_and_code_2(arguments, words, folder, ours, state, tmp_path, capsys):
    places = {"FOLDER": folder, "OURS": ours, "STATE": state, "EMPTY": tmp_path}
    code, out, err = command(capsys, *(places.get(a, a) for a in arguments))
    assert code == 2 and out == "" and words in err and err.count("\n") == 1


def test_the_shortest_sequences_have_two_tokens_and_heads_that_agree_are_fine(folder, ours, capsys):
    code, out, err = command(capsys, folder, "--longest", 2, "--heads", 4, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert (found["longest"], found["heads_per_layer"]) == (2, 4)
    assert command(capsys, ours, "--heads", 1, "--no-bounds")[0] == 0


def test_a_changed_byte_of_our_own_model_is_damage_wherever_it_is(ours, tmp_path, capsys):
    """One in the weights, one in each name of the metadata, and a file that was cut."""
    content = ours.read_bytes()
    flips = {
        len(content) - 1: "checksum is not that of its content",
        content.index(b'"sparsehead"') + 3: "its header has no structure",
        content.index(b'"sparsehead_sha256"') + 3: "checksum is not that of its content",
    }
    for place, words in flips.items():
        flipped = bytearray(content)
        flipped[place] ^= 1
        (tmp_path / "flip.safetensors").write_bytes(flipped)
        for more in ([], ["--heads", 2]):
            code, out, err = command(capsys, tmp_path / "flip.safetensors", *more)
            assert (code, out) == (2, "") and words in err and err.count("\n") == 1
    (tmp_path / "cut.safetensors").write_bytes(content[:-5])
    code, out, err = command(capsys, tmp_path / "cut.safetensors")
    assert (code, out) == (2, "") and "is damaged" in err and f"has {len(content) - 5}" in err


def test_the_chart_of_a_state_dict_is_refused_before_it_is_measured(state, tmp_path, capsys, monkeypatch):
    def measure(*_, **__):
        raise AssertionError("it is measured")

    monkeypatch.setattr(probe, "probe", measure)
    chart = tmp_path / "q.svg"
    (tmp_path / "w.pt").touch()
    for path in (state, tmp_path / "w.pt"):
        code, out, err = command(capsys, path, "--heads", 4, "--chart", chart)
        assert (code, out) == (2, "") and f"{path.name} is a state dict" in err and err.count("\n") == 1
    assert not chart.exists()


def test_what_is_no_file_or_damaged_is_not_called_a_state_dict(tmp_path, capsys):
    (tmp_path / "junk.safetensors").write_bytes(b"12345678901")
    chart = tmp_path / "q.svg"
    for name, words in (("junk", "is damaged"), ("nowhere", "there is no"), ("n" * 300, "there is no")):
        code, out, err = command(capsys, tmp_path / f"{name}.safetensors", "--heads", 4, "--chart", chart)
        assert (code, out) == (2, "") and words in err and err.count("\n") == 1


@pytest.mark.parametrize("as_json", [False, True])
def test_what_was_measured_is_printed_where_the_chart_fails(ours, as_json, tmp_path, capsys, monkeypatch):
    def fail(*_, **__):
        raise DomainError("no chart today.")

    monkeypatch.setattr(heads_chart, "head_map", fail)
    chart = tmp_path / "q.svg"
    code, out, err = command(capsys, ours, "--no-bounds", "--chart", chart, *["--json"] * as_json)
    assert code == 2 and err.endswith("sparsehead: no chart today.\n")
    assert json.loads(out)["heads"] if as_json else "support" in out
    assert "wrote" not in out and not Path(chart).exists()


def test_a_model_without_tokenizer_says_what_to_do(tiny, tmp_path, capsys):
    tiny("bert").save_pretrained(tmp_path / "m")
    (tmp_path / "t.txt").write_text("some words\n")
    capsys.readouterr()  # transformers draws a bar while it saves
    code, _, err = command(capsys, tmp_path / "m", "--text", tmp_path / "t.txt")
    assert code == 2 and "there is no tokenizer in" in err and "tokens=" in err and err.count("\n") == 1


def test_rows_are_chosen_with_commas(ours, capsys):
    code, out, err = command(capsys, ours, "--queries", "0,-1", "--json", "--no-baselines", "--no-bounds")
    assert code == 0, err
    found = json.loads(out)
    assert found["heads"][0]["measured"]["rows"] == 2 * found["sequences"]
    code, out, _ = command(capsys, ours, "--queries", "-1", "--total", "1", "--no-baselines", "--no-bounds")
    assert code == 0 and "nan" not in out
    for wrong in ("", "a", "1;2", "1.5", "9" * 5000):
        code, out, err = command(capsys, ours, "--queries", wrong)
        assert code != 0 and "--queries takes whole numbers with commas" in " ".join(err.split())
