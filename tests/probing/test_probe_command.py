"""`sparsehead probe`: table, JSON, chart, and one line for each misuse."""

import json

import pytest

from sparsehead.cli.app import main


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
        (["FOLDER", "--chart", "map.txt"], "use .svg, .png, .pdf or .html"),
        (["FOLDER", "--s", "5"], "s is one of 1, 2, 4"),
        (["EMPTY"], "has no config.json"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_misuse_is_one_line_and_code_2(arguments, words, folder, tmp_path, capsys):
    places = {"FOLDER": folder, "EMPTY": tmp_path}
    code, out, err = command(capsys, *(places.get(a, a) for a in arguments))
    assert code == 2 and out == "" and words in err and err.count("\n") == 1


def test_a_model_without_tokenizer_says_what_to_do(tiny, tmp_path, capsys):
    tiny("bert").save_pretrained(tmp_path / "m")
    (tmp_path / "t.txt").write_text("some words\n")
    capsys.readouterr()  # transformers draws a bar while it saves
    code, _, err = command(capsys, tmp_path / "m", "--text", tmp_path / "t.txt")
    assert code == 2 and "there is no tokenizer in" in err and "tokens=" in err and err.count("\n") == 1
