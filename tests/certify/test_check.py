"""The checker of certificates: it needs nothing of ours, accepts what is proved, and refuses what is not."""

import ast
import json
import math
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from sparsehead._base.errors import DomainError, FileError
from sparsehead._base.rng import stream
from sparsehead.certify import check as checker
from sparsehead.certify import verify
from sparsehead.certify.certificate_file import ONE, certificate_content
from sparsehead.cli.app import main
from sparsehead.construct import build
from sparsehead.functions import assignments, from_table, parse
from sparsehead.heads.block import Layer, Mlp
from sparsehead.heads.encoding import trainable
from sparsehead.heads.model import Model
from sparsehead.heads.model_file import packed, save

from .random_models import random_model

BUILDS = [
    ("x2 & x5 & x11", 50, {}),
    ("x2 ^ x5 ^ x11", 30, {}),
    ("maj(x1,x4,x9) ^ x12", 20, {"readout": "mlp"}),
    ("x2 | x5", 40, {"encoding": "bag"}),
    ("x2 & x5", 40, {"encoding": "random", "d": 40, "seed": 0}),
    ("x2 & !x5", 40, {"encoding": "trainable"}),
    ("x1 ^ x2", 20, {"heads": "s"}),
    ("x1 & x4", 20, {"heads": "cancel"}),
    ("x1 ^ x2 ^ x3", 20, {"method": "paper"}),
    ("1", 20, {}),
]


def checked(raw, content):
    """What the checker says of a model file and the content of a certificate."""
    return checker.check(raw, json.dumps(content).encode())


def test_the_checker_is_one_short_file_of_the_standard_library():
    text = Path(checker.__file__).read_text()
    assert len(text.splitlines()) <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module]
            assert (
                getattr(node, "level", 0) == 0 and {n.split(".")[0] for n in names} <= sys.stdlib_module_names
            )


@pytest.mark.parametrize(("text", "T", "settings"), BUILDS)
def test_certificates_of_built_heads_hold(text, T, settings):
    f = parse(text, T=T)
    raw = packed(build(f, **settings))
    content = certificate_content(raw, f)
    assert checked(raw, content).startswith(f"holds: on all 2^{T} inputs")
    assert float.fromhex(content["max_error"]) < 1e-12


@pytest.mark.parametrize(("text", "settings"), [("x2 ^ x5 ^ x11", {}), ("x1 ^ x2 ^ x3", {"method": "paper"})])
def test_certificates_of_heads_of_length_50_are_checked_within_two_seconds(text, settings):
    """Of processor time; at T = 10^4: python benchmarks/proof.py checker."""
    f = parse(text, T=50)
    raw = packed(build(f, **settings))
    content = certificate_content(raw, f)
    start = time.process_time()
    checked(raw, content)
    assert time.process_time() - start < 2


def test_the_checker_runs_alone(tmp_path):
    """In an isolated Python, from a copy, beside nothing else."""
    path = save(build("x2 & x5", T=20), tmp_path / "m.safetensors")
    other = save(build("x2 | x5", T=20), tmp_path / "o.safetensors")
    (tmp_path / "c.json").write_text(
        json.dumps(certificate_content(path.read_bytes(), parse("x2 & x5", T=20)))
    )
    shutil.copy(checker.__file__, tmp_path / "alone.py")
    said = [
        subprocess.run(
            [sys.executable, "-I", tmp_path / "alone.py", *files], capture_output=True, text=True, timeout=120
        )
        for files in ([path, tmp_path / "c.json"], [other, tmp_path / "c.json"], [tmp_path / "c.json", path])
    ]
    assert [done.returncode for done in said] == [0, 1, 2]
    assert "f = 1 where (x2, x5) is 11" in said[0].stdout and "another model" in said[1].stdout
    assert said[2].stderr.startswith("cannot be read: ") and "Traceback" not in said[2].stderr


@pytest.mark.parametrize("x", [0, -1e-30, -0.3, -0.5, -1, -7.25, -40, -170.5, -400, -2047, -3000])
def test_exponentials_are_enclosed(x):
    low, high = checker.exp_bounds(Fraction(x))
    with localcontext() as context:
        context.prec = 200
        true = Decimal(Fraction(x).numerator) / Decimal(Fraction(x).denominator)
        scaled = true.exp() * Decimal(2) ** checker.BITS
        assert Decimal(low) <= scaled <= Decimal(high)
    assert high - low <= 2


def with_mlp(activation):
    """A head with x0 in its first coordinate, and behind it one unit of a ReLU or GELU network."""
    encoding = trainable(np.zeros((3, 2)), np.eye(2), np.zeros(2))
    mlp = Mlp(np.eye(2), np.zeros(2), np.eye(2), np.zeros(2), activation)
    zero = np.zeros((1, 2, 1))
    layer = Layer(zero, zero, np.ones((1, 2, 1)), np.ones((1, 1, 2)), mlp=mlp)
    return Model(encoding, (layer,), np.ones(2))


def test_the_stages_behind_the_attention_are_those_of_the_model():
    found = checker.stages(checker.read_model(packed(with_mlp("relu"))))
    assert [relu for _, _, relu in found] == [False, True, False, False]  # W_C, W_1, W_2, read-out
    with pytest.raises(checker.Refused, match="knows ReLU and the identity"):
        checker.stages(checker.read_model(packed(with_mlp("gelu"))))


def test_each_term_takes_the_end_of_its_weight_that_makes_it_largest():
    """One token of value 0 or 1 and [CLS] of value 0, weights in [1, 3]: 3 (1 - U) - U <= 0 from U = 3/4 on."""
    head = checker.Head.__new__(checker.Head)
    head._forms = {}
    head.weights = [[(ONE, 3 * ONE)] * 2] * 2
    head.values = [[[Fraction(0)], [Fraction(1)]], [[Fraction(0)]] * 2]
    g = (Fraction(1),)
    assert checker.never_exceeds(head.gains(g, Fraction(3, 4), {}))
    assert not checker.never_exceeds(head.gains(g, Fraction(3, 4) - Fraction(1, 2**200), {}))


def changed(content, rng):
    """A copy with one bound moved towards the other end."""
    content = json.loads(json.dumps(content))
    rows = [row for row in content["patterns"] if row["bounds"]]
    pair = rows[rng.integers(len(rows))]["bounds"]
    pair = pair[rng.integers(len(pair))]
    side = int(rng.integers(2))
    value = float.fromhex(pair[side])
    pair[side] = (
        value + (1 if side == 0 else -1) * 10.0 ** rng.integers(-12, 1) * max(1.0, abs(value))
    ).hex()
    return content


def test_bounds_that_claim_too_much_are_refused():
    f = parse("x2 & x5 & x11", T=50)
    raw, rng = packed(build(f)), stream(0, "check", "changed")
    content = certificate_content(raw, f)
    for _ in range(40):
        with pytest.raises(checker.Refused, match="is not proved"):
            checked(raw, changed(content, rng))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda c: c["patterns"].pop(), "every pattern"),
        (lambda c: c["patterns"][0].update(bits="11"), "every pattern"),
        (lambda c: c["patterns"][0]["bounds"].pop(), "missing"),
        (lambda c: c["patterns"][0].update(value=1), "do not all predict"),
        (lambda c: c.update(support=[5, 2]), "support"),
        (lambda c: c.update(support=[2, 50]), "support"),
        (lambda c: c.update(max_error="0x0.0p+0"), "exceed the claimed error"),
        (lambda c: c.update(format="another"), "format"),
        (lambda c: c.update(model="0" * 64), "another model"),
    ],
)
def test_other_changes_are_refused(change, reason):
    f = parse("x2 & x5", T=50)
    raw = packed(build(f))
    content = certificate_content(raw, f)
    change(content)
    with pytest.raises(checker.Refused, match=reason):
        checked(raw, content)


def test_what_is_certified_of_random_models_is_true_on_every_input():
    rng, T, certified = stream(0, "check", "random"), 4, 0
    every = np.array(list(product((0, 1), repeat=T)))
    for _ in range(60):
        model = random_model(rng, T)
        f = from_table(T=T, support=range(T), table=model.predict(assignments(T)))
        raw = packed(model)
        try:
            content = certificate_content(raw, f)
        except DomainError:
            continue
        certified += 1
        checked(raw, content)
        error = float.fromhex(content["max_error"])
        assert np.abs(model(every) - f(every)).max() <= error + 1e-12
        assert f.s < T or math.isclose(verify(model, f).max_error, error, abs_tol=1e-9)
        wrong = json.loads(json.dumps(content))
        wrong["patterns"][0]["value"] ^= 1
        with pytest.raises(checker.Refused):
            checked(raw, wrong)
    assert certified >= 40


def test_an_error_to_one_side_alone_is_compared_with_the_claim():
    """Outputs of 1/2 in place of 1 lie above a threshold of 1/4: the prediction is right, the error 1/2."""
    model = build("x2 & x5", T=8)
    halved = replace(model, w=model.w / 2, threshold=0.25)
    raw, f = packed(halved), parse("x2 & x5", T=8)
    content = certificate_content(raw, f)
    assert checked(raw, content).startswith("holds: on all 2^8 inputs |output - f| <= 5.01e-1")
    with pytest.raises(checker.Refused, match="exceed the claimed error"):
        checked(raw, {**content, "max_error": "0x1.0p-2"})


def test_a_certificate_is_saved_for_the_file_that_its_model_is_saved_to(tmp_path):
    model = build("x2 & x5", T=20)
    path = save(model, tmp_path / "m.safetensors")
    certificates = [
        verify(model, "x2 & x5"),
        verify(path, "x2 & x5"),
        verify(str(path), parse("x2 & x5", T=20)),
    ]
    saved = [found.save(tmp_path / f"{i}.cert.json") for i, found in enumerate(certificates)]
    assert len({each.read_bytes() for each in saved}) == 1
    said = checker.check(path.read_bytes(), saved[0].read_bytes())
    assert said.startswith("holds: on all 2^20 inputs")


def test_what_is_not_proved_is_not_saved(tmp_path):
    target, model = tmp_path / "c.json", build("x2 & x5", T=20)
    with pytest.raises(DomainError, match="nothing is proved, the model is wrong on 0"):
        verify(model, "x2 | x5").save(target)
    with pytest.raises(DomainError, match="nothing is proved, the model is undecided"):
        verify(model, "x2 & x5", method="search").save(target)
    with pytest.raises(DomainError, match="it can be written for a Model"):
        replace(verify(model, "x2 & x5"), subject=None).save(target)
    small = build("x2 & x5", T=8)
    projected = replace(small, layers=(replace(small.layers[0], project=True),))
    with pytest.raises(
        DomainError, match=r"knows models without LayerNorm and projection\. The result of verify holds"
    ):
        verify(projected, "x2 & x5").save(target)
    assert not target.exists()
    target.write_text("here already")
    with pytest.raises(FileError, match="it exists"):
        verify(model, "x2 & x5").save(target)


def test_certificates_of_long_inputs_are_small():
    """Their size depends on the patterns, not on T: less than a megabyte at T = 10^4."""
    f = parse("x1 ^ x390", T=400)
    size = len(json.dumps(certificate_content(packed(build(f)), f)))
    shorter = parse("x1 ^ x3", T=8)
    assert (
        abs(size - len(json.dumps(certificate_content(packed(build(shorter)), shorter))))
        < 200
        < size
        < 20_000
    )


def test_heads_that_cancel_each_other_are_bounded_together():
    """Head by head their leakage adds up; position by position it cancels."""
    f = parse("x1 & x2", T=20)
    raw = packed(build(f, heads="cancel"))
    content = certificate_content(raw, f)
    assert checked(raw, content).startswith("holds: on all 2^20 inputs")
    assert float.fromhex(content["max_error"]) < 1e-12
    rows = [row for row in content["patterns"] if row["bounds"]]
    for row, side in product(rows, (0, 1)):
        pair, kept = row["bounds"][0], list(row["bounds"][0])
        pair[side] = (float.fromhex(pair[side]) + (1e-9 if side == 0 else -1e-9)).hex()
        with pytest.raises(checker.Refused, match="is not proved"):
            checked(raw, content)
        row["bounds"][0] = kept


def test_a_sum_of_heads_is_bounded_with_the_worst_of_their_total_weights():
    """Two heads of one token, weights in [1, 2]: a gain of 1 may count 1 * 2 / 1, one of -3 only -3 * 1 / 2."""
    heads = lambda first, second: [[[(first, (1, 2))]], [[(second, (1, 2))]]]  # noqa: E731
    assert not checker.sum_never_exceeds(heads(ONE, -3 * ONE))  # 1 * 2 / 1 - 3 * 1 / 2 = 1/2
    assert checker.sum_never_exceeds(heads(ONE, -4 * ONE))  # 2 - 2
    assert not checker.sum_never_exceeds([[[(-ONE, (0, 1))]]])  # the least total weight may be 0


def test_a_wrong_function_gets_no_certificate():
    with pytest.raises(DomainError, match="only known to lie between"):
        certificate_content(packed(build("x2 & x5", T=20)), parse("x2 | x5", T=20))


def test_the_commands_write_and_check(tmp_path, capsys):
    path = str(save(build("x2 & x5", T=20), tmp_path / "m.safetensors"))
    out = str(tmp_path / "c.json")

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        return ended.value.code, capsys.readouterr().out

    code, said = run("verify", path, "x2 & x5", "--out", out, "--json")
    assert code == 0 and json.loads(said)["correct"] and json.loads(said)["certificate"] == out
    assert run("check", path, out) == (
        0,
        checker.check(Path(path).read_bytes(), Path(out).read_bytes()) + "\n",
    )
    other = str(save(build("x2 | x5", T=20), tmp_path / "o.safetensors"))
    code, said = run("check", other, out, "--json")
    assert code == 1 and json.loads(said) == {
        "holds": False, "sentence": "does not hold: the certificate belongs to another model."
    }  # fmt: skip
    assert run("check", out, path)[0] == 2
    assert run("check", path)[0] == run("check")[0] == run("check", path, out, "--html", "p.html")[0] == 2
    page = str(tmp_path / "page.html")
    assert run("check", "--html", page) == (0, f"wrote {page}; open it in a browser\n")
    assert Path(page).read_text().startswith("<!doctype html>") and run("check", "--html", page)[0] == 2
    assert run("verify", path, "x2 & x5", "--out", out)[0] == 2  # it is there already
