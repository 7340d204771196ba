"""The build command: what it prints, its JSON keys, and its one-line refusals."""

import json
from dataclasses import replace

import numpy as np
import pytest

from sparsehead.certify.written import certify_written
from sparsehead.cli.app import main
from sparsehead.construct import build
from sparsehead.functions import assignments, parse
from sparsehead.heads.model import Model
from sparsehead.heads.model_file import load

KEYS = {"max_error", "exact", "method", "leakage", "margin", "norms", "heads", "hidden_units", "d"}


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main(["build", *arguments])
    out = capsys.readouterr()
    return stop.value.code, out.out, out.err


def test_build_prints_head_verdict_attention_and_norms(capsys):
    code, out, _ = run(capsys, "x2 ^ x5 ^ x11", "--T", "64")
    assert code == 0
    for part in ("1 head, d=67, 6 ReLU units", "exact on all 2^64 inputs", "attention on them", "W_QK"):
        assert part in out


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--encoding", "random", "--d", "40"],
        ["--encoding", "trainable", "--no-cls"],
        ["--encoding", "bag"],
        ["--method", "paper"],
        ["--heads", "s"],
    ],
    ids=str,
)
def test_build_json_has_the_promised_keys(capsys, options):
    code, out, _ = run(capsys, "x2 ^ x5", "--T", "30", "--json", *options)
    result = json.loads(out)
    assert code == 0
    assert set(result) >= KEYS
    assert result["exact"] is True
    assert result["max_error"] < 1e-9


def test_build_writes_a_model_that_computes_the_function(capsys, tmp_path):
    path = tmp_path / "head.safetensors"
    assert run(capsys, "x0 & !x3", "--T", "6", "--out", str(path))[0] == 0
    bits = assignments(6)
    np.testing.assert_allclose(load(path)(bits), parse("x0 & !x3", T=6)(bits), atol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["x1", "--T", "10", "--encoding", "sinusoidal"],
            "encoding is one of trainable, random, positional, bag",
        ),
        (["x1 & x2", "--T", "10", "--epsilon", "0"], "epsilon is an allowed error > 0"),
        (["x1 & x20", "--T", "10"], "x20"),
        (["x1 & x2", "--T", "1000", "--encoding", "random", "--d", "6"], "smallest d tried that works is"),
        (["x1 &", "--T", "10"], "x1 &"),
    ],
)
def test_build_refuses_in_one_line_with_code_2(capsys, tmp_path, arguments, message):
    path = tmp_path / "never.safetensors"
    code, out, err = run(capsys, *arguments, "--out", str(path))
    assert code == 2
    assert message in err
    assert err.count("\n") == 1
    assert out == ""
    assert not path.exists()


def test_undecided_and_wrong_models_are_not_called_exact():
    record = certify_written(build("x0 & x1", T=2), parse("x0 | x1", T=2))
    assert record.verdict in (
        "does NOT compute it: wrong on 01: f is 1 there (x0 = 0, x1 = 1)",
        "does NOT compute it: wrong on 10: f is 1 there (x0 = 1, x1 = 0)",
    )
    unknown = replace(record, certificate=replace(record.certificate, correct=None))
    assert unknown.verdict.startswith("undecided")


def test_attention_is_shown_on_inputs_of_bits(monkeypatch):
    """Weights over irrelevant positions are those of bits: a third value would give the tokens of no input."""
    seen, attention = [], Model.attention

    def noted(model, bits):
        seen.append(bits)
        return attention(model, bits)

    monkeypatch.setattr(Model, "attention", noted)
    certify_written(build("x0 & x1", T=40), parse("x0 & x1", T=40))
    assert len(seen) == 1 and set(seen[0].ravel()) == {0, 1}
