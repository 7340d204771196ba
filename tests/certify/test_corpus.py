"""The corpus for verifiers: its true answers are true, and its ONNX files compute the heads."""

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

from sparsehead.functions import assignments

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def corpus():
    """benchmarks/corpus.py, which is a script."""
    sys.path.insert(0, str(FOLDER))
    spec = importlib.util.spec_from_file_location("corpus", FOLDER / "corpus.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.path.remove(str(FOLDER))
    with mpmath.workdps(80):
        yield module


@pytest.fixture(scope="module")
def heads(corpus):
    return [*corpus.near(0, 2), *corpus.tied(0, 0), *corpus.cancelling(0, 0)]


def test_near_misses_are_wrong_on_the_inputs_that_their_family_says(corpus, heads, tmp_path):
    rows = {instance.name: corpus.write(instance, tmp_path) for instance in heads}
    assert rows["one-2"]["wrong"] == rows["one-2"]["wrong_in_float64"] == 1
    assert rows["none-2"]["wrong"] == 0 and rows["none-2"]["verify"]["patterns"] is True
    # At least one of seven bits, threshold 1/8: the seven inputs with a single 1 lie on it, and are predicted 0.
    assert rows["tied-wrong-0"]["wrong"] == 7 and rows["tied-right-0"]["wrong"] == 0
    assert rows["tied-right-0"]["vnnlib"] == "sat" and rows["tied-barely-right-0"]["vnnlib"] == "unsat"
    assert rows["cancelling-exact-0"]["wrong"] == 0 < rows["cancelling-0-0"]["wrong"]
    assert not any(corpus.false_verdict(row) for row in rows.values())
    assert not corpus.false_verdict(json.loads(json.dumps(rows["one-2"])))
    assert corpus.false_verdict({**rows["one-2"], "verify": {"patterns": True}})
    assert corpus.false_verdict({**rows["none-2"], "verify": {"patterns": False}})


def message(raw):
    """The fields of a protobuf message: (number, whole number or bytes)."""
    found, at = [], 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = raw[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(raw):
        key = varint()
        value = varint()
        if key & 7 == 2:
            at, value = at + value, raw[at : at + value]
        found.append((key >> 3, value))
    return found


def run_onnx(raw, bits):
    """The output of an ONNX file on one input, by its six kinds of nodes."""
    graph = message(dict(message(raw))[7])
    known = {"bits": bits[None].astype(float)}
    for tensor in (message(value) for number, value in graph if number == 5):
        shape = [value for number, value in tensor if number == 1]
        parts = dict(tensor)
        known[parts[8].decode()] = np.frombuffer(parts[9], dtype="<f8").reshape(shape)
    operations: dict[str, Callable[..., Any]] = {
        "MatMul": np.matmul,
        "Add": np.add,
        "Transpose": np.transpose,
        "Relu": lambda x: np.maximum(x, 0),
        "Softmax": lambda x: np.exp(x - x.max()) / np.exp(x - x.max()).sum(),
        "Concat": lambda *parts: np.concatenate(parts, axis=1),
    }
    name = ""
    for node in (message(value) for number, value in graph if number == 1):
        inputs = [known[value.decode()] for number, value in node if number == 1]
        name = dict(node)[2].decode()
        known[name] = operations[dict(node)[4].decode()](*inputs)
    assert message(dict(graph)[12])[0] == (1, name.encode())
    return float(known[name].item())


def test_onnx_files_compute_the_heads(corpus, heads):
    for instance in heads:
        bits = assignments(instance.model.T)[::17]
        found = [run_onnx(corpus.onnx_bytes(instance.model), each) for each in bits]
        assert np.allclose(found, instance.model(bits), rtol=0, atol=1e-12), instance.name


def test_a_property_has_one_box_for_each_pattern(corpus, heads):
    text = corpus.vnnlib(heads[0].model, heads[0].f)
    assert text.count("(and ") == 2 ** heads[0].f.s and text.count("(") == text.count(")")
    assert text.count(f"Y_0 {heads[0].model.threshold!r}") == 2 ** heads[0].f.s and text.count("(<= Y_0") == 1
