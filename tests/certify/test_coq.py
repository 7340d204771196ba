"""Theorems for Coq: what the generator writes, without Coq; `make proofs` runs Coq on it."""

import importlib.util
import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from sparsehead._base.errors import DomainError
from sparsehead.certify import coq, verify
from sparsehead.certify.coq import theorem_content
from sparsehead.cli.app import main
from sparsehead.construct import build
from sparsehead.functions import assignments, parse
from sparsehead.heads.model_file import packed, save

PROOFS = Path(__file__).parents[2] / "proofs"
location = importlib.util.spec_from_file_location("proofs_run", PROOFS / "run.py")
run = importlib.util.module_from_spec(location)
location.loader.exec_module(run)


def command(*words):
    """The exit code of `sparsehead WORDS`."""
    try:
        return main([str(word) for word in words]) or 0
    except SystemExit as ended:
        return ended.code or 0


@pytest.fixture
def head(tmp_path):
    """A model file of x2 & x5, T = 20."""
    return save(build("x2 & x5", T=20), tmp_path / "head.safetensors")


@pytest.mark.parametrize("name", run.EXAMPLES)
def test_the_kept_heads_are_what_the_generator_writes(name):
    assert (PROOFS / "heads" / f"{name}.v").read_text() == run.theorem_of(run.EXAMPLES[name])


def test_the_files_of_the_library_are_compiled_in_their_order_and_assume_nothing():
    assert sorted(run.LIBRARY) == sorted(file.stem for file in PROOFS.glob("*.v"))
    for i, name in enumerate(run.LIBRARY):
        required = re.findall(
            r"From Sparsehead Require Import ([\w ]+)\.", (PROOFS / f"{name}.v").read_text()
        )
        assert set(" ".join(required).split()) <= set(run.LIBRARY[:i])
    assert run.forbidden_words() == []


def test_a_word_that_assumes_is_found_outside_of_comments(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "HERE", tmp_path)
    monkeypatch.setattr(run, "HEADS", tmp_path / "heads")
    (tmp_path / "a.v").write_text("(* Admitted (* Axiom *) *) Lemma one : 1 = 2. Admitted.")
    assert run.forbidden_words() == ["a.v: Admitted"]


def test_the_names_of_axioms_are_read():
    printed = "Axioms:\nA.one : forall P : Prop,\n  P\nB.two\n  : nat\nClosed under the global context\n"
    assert run.axioms(printed) == {"A.one", "B.two"}


def test_the_summary_is_that_of_a_run_in_which_everything_held():
    text = (PROOFS / "RESULT.md").read_text()
    for name in run.LIBRARY:
        assert f"| {name}.v |" in text
    for file, theorem, said in run.statements():
        assert f"| `{theorem}` | {file}.v | {said} |" in text
    assert all(name in text for name in run.BREAKAGES) and "date: 20" in text


def test_every_breakage_changes_one_place_of_the_kept_head():
    text = (PROOFS / "heads" / "and_50.v").read_text()
    assert {name: text.count(old) for name, (old, _) in run.BREAKAGES.items()} == dict.fromkeys(
        run.BREAKAGES, 1
    )


def literal(text):
    """The value of a number of a Coq file."""
    sign, whole, exponent = re.fullmatch(r"(-?)(?:0x)?([0-9a-f]+?)(?:p-([0-9]+))?", text).groups()
    return (-1 if sign else 1) * Fraction(int(whole, 16 if "x" in text else 10)) / 2 ** int(exponent or 0)


@pytest.mark.parametrize("x", [0.0, 1.0, -2.5, 1e-300, 5e-324, 1e300, np.pi, -(2.0**-1074)])
def test_numbers_are_exact(x):
    assert literal(coq._number(Fraction(x))) == Fraction(x)


def matrix(text, rows, columns):
    """A matrix of a Coq file, dense: its columns, each a list or the listed entries."""
    found = np.zeros((rows, columns))
    dense = re.match(r"\[(.*)\]$", text, re.DOTALL)[1]
    for j, column in enumerate(re.findall(r"entries \d+ \[(.*?)\]|\[(.*?)\]", dense)):
        if column[0]:
            for i, x in re.findall(r"\((\d+)%nat, (\S+?)\)", column[0]):
                found[int(i), j] = float(literal(x))
        else:
            found[:, j] = [float(literal(x)) for x in column[1].split("; ")]
    return found


@pytest.mark.parametrize("arguments", [{}, {"encoding": "random", "d": 20, "seed": 0}])
def test_the_weights_in_the_file_are_those_of_the_model(arguments):
    model = build("x2 ^ x5", T=20, **arguments)
    text = theorem_content(packed(model), parse("x2 ^ x5", T=20))
    for name in ("W_Q", "W_K", "W_V"):
        W = getattr(model.layers[0], name)[0]
        written = re.search(rf"{name} := (\[.*?\]);\n", text, re.DOTALL)[1]
        assert np.array_equal(matrix(written, *W.shape), W)


@pytest.mark.parametrize(
    "expression", ["x2 & x5 & x11", "x2 ^ x5 ^ x11", "maj(x0,x1,x2) | !x7", "1", "0", "!x3"]
)
def test_the_formula_is_the_function(expression):
    f = parse(expression, T=12)
    rule = coq._rule(f).partition(" => ")[2].removesuffix(" | _ => false end")
    names = [f"x{i}" for i in f.support]
    python = rule.replace("negb", "not").replace("&&", "and").replace("||", "or").title().replace("X", "x")
    python = re.sub(r"\b(Not|And|Or)\b", lambda word: word[0].lower(), python)
    inputs = np.zeros((2**f.s, 12), dtype=int)
    inputs[:, list(f.support)] = assignments(f.s)
    for bits, label in zip(inputs, f(inputs), strict=True):
        values = {name: bool(bits[i]) for name, i in zip(names, f.support, strict=True)}
        assert evaluated(python, values) == bool(label)


def evaluated(text, values):
    """A formula of and, or, not and names."""
    import ast

    def value(node):
        match node:
            case ast.BoolOp(op=ast.And()):
                return all(map(value, node.values))
            case ast.BoolOp(op=ast.Or()):
                return any(map(value, node.values))
            case ast.UnaryOp(op=ast.Not()):
                return not value(node.operand)
            case ast.Name():
                return values[node.id]
            case ast.Constant():
                return node.value

    return value(ast.parse(text, mode="eval").body)


def test_the_command_writes_a_theorem(head, tmp_path, capsys):
    target = tmp_path / "head_20.v"
    assert command("verify", head, "x2 & x5", "--coq", target, "--json") == 0
    assert json.loads(capsys.readouterr().out)["coq"] == str(target)
    assert target.read_text() == theorem_content(head.read_bytes(), parse("x2 & x5", T=20))
    assert command("verify", head, "x2 & x5", "--coq", target) == 2
    assert "--force" in capsys.readouterr().err
    assert command("verify", head, "x2 & x5", "--coq", target, "--force") == 0
    assert "coqc -Q proofs Sparsehead" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("function", "name", "sentence"),
    [
        ("x2 & x5", "head-20.v", "coqc takes files named like"),
        ("x2 & x5", "head.txt", "coqc takes files named like"),
        ("x2 | x5", "head.v", "no file for Coq: nothing is proved"),
    ],
)
def test_the_command_refuses_in_one_line_and_writes_nothing(head, tmp_path, capsys, function, name, sentence):
    out = tmp_path / "cert.json"
    assert command("verify", head, function, "--coq", tmp_path / name, "--out", out) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / name).exists() and not out.exists()


def test_the_two_files_need_two_names(head, tmp_path, capsys):
    target = tmp_path / "head.v"
    assert command("verify", head, "x2 & x5", "--coq", target, "--out", target) == 2
    assert "both name" in capsys.readouterr().err and not target.exists()


def test_models_of_other_kinds_are_refused(tmp_path, monkeypatch):
    model = build("x2 & x5", T=20)
    layer = replace(model.layers[0], sigma="tanh")
    with pytest.raises(DomainError, match="no file for Coq: this checker knows ReLU and the identity"):
        theorem_content(packed(replace(model, layers=(layer,))), parse("x2 & x5", T=20))
    monkeypatch.setattr(coq, "MOST_NUMBERS", 10)
    with pytest.raises(DomainError, match="`--out` writes a certificate"):
        verify(model, "x2 & x5").save_coq(tmp_path / "head.v")
    assert list(tmp_path.iterdir()) == []
