"""Wrong uses of the doors for other people's networks: one line each that says what would work, and nothing written."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sparsehead
from sparsehead._base.errors import SparseheadError

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from torch import nn  # noqa: E402

from .lens import HookedTransformer, config  # noqa: E402
from .tracr_weights import params  # noqa: E402

sh: Any = sparsehead  # a type checker would refuse many of these uses
D, T = 8, 4
LAYER = nn.TransformerEncoderLayer(D, 2, 12, batch_first=True)
E, P, W = np.eye(3, D), np.eye(T, D, 3), np.ones(D)
HOOKED = HookedTransformer(config())
IDS = dict(tokens=(0, 1), after=[2], T=T)
F = sh.parse("x1 & x3", T=T)


class Answers(nn.Module):
    """A module of bits that answers with whatever `make` returns."""

    def __init__(self, make):
        super().__init__()
        self.make = make

    def forward(self, bits):
        return self.make(bits)


class Stubborn(nn.Module):
    def __deepcopy__(self, memo):
        raise RuntimeError("no copies\nof me")


def embed(module=LAYER, **changed):
    return lambda: sh.from_torch(module, **{"embeddings": E, "positions": P, "readout": W, **changed})


def ids(module=HOOKED, **changed):
    return lambda: sh.from_torch(module, **{**IDS, **changed})


def tracr(**changed):
    asked = {"tokens": (0, 1), "before": [4], "T": T, "heads": 1, "readout": np.ones(22), **changed}
    return lambda: sh.from_torch(asked.pop("params", params()), **asked)


def without(*names):
    return {name: part for name, part in params().items() if name not in names}


def bits(make, **changed):
    return lambda: sh.from_torch(Answers(make), **{"T": T, **changed})


def verify(make, f=F, **changed):
    return lambda: sh.verify(Answers(make), f, **changed)


def read(make, **changed):
    return lambda: sh.read(Answers(make), **{"seed": 0, "T": T, **changed})


def first(b):
    return b[:, 0]


NETWORK = sh.from_torch(Answers(first), T=T)

WIDE = {"w": np.eye(22), "b": np.ones(22)}
COMPILED = SimpleNamespace(params=params(), model_config=SimpleNamespace(num_heads=1))

# By what the line must say.
WRONG = [
    # what the module is
    ("module is a torch module, or Tracr's", lambda: sh.from_torch(3, T=T)),
    ("module is a torch module, or Tracr's", lambda: sh.from_torch("net.pt", T=T)),
    ("module is a torch module, or Tracr's", lambda: sh.from_torch(lambda b: b, T=T)),
    ("module is a torch module, or Tracr's", lambda: sh.from_torch(nn.Linear, T=T)),
    ("say how bits are represented", lambda: sh.from_torch(LAYER)),
    ("this Stubborn cannot be copied: RuntimeError, no copies", lambda: sh.from_torch(Stubborn(), T=T)),
    # forms that do not go together
    ("tokens= does not go together with embeddings=", embed(tokens=(0, 1))),
    ("T= does not go together with embeddings=", embed(T=T)),
    ("heads= does not go together with embeddings=", embed(heads=2)),
    ("before= does not go together with embeddings=", embed(before=[1])),
    ("after= does not go together with embeddings=", embed(after=[1])),
    ("at=0 belongs to tokens=", embed(at=0)),
    ("readout= does not go together with T= alone", lambda: sh.from_torch(LAYER, T=T, readout=W)),
    ("heads= does not go together with T= alone", lambda: sh.from_torch(LAYER, T=T, heads=2)),
    ("heads= does not go together with a torch module", ids(heads=2)),
    ("positions= is missing", embed(positions=None)),
    ("embeddings= is missing", embed(embeddings=None)),
    ("readout= is missing", embed(readout=None)),
    # embeddings, positions, read-out
    ("embeddings is an array of numbers", embed(embeddings="abc")),
    ("embeddings has 2 axes; got shape (8,)", embed(embeddings=W)),
    ("(3, d); got shape (2, 8)", embed(embeddings=E[:2])),
    ("embeddings has NaN or infinite", embed(embeddings=E * np.nan)),
    ("embeddings is an array of numbers", embed(embeddings=E > 0)),
    ("embeddings is an array of numbers", embed(embeddings=E + 1j)),
    ("positions are (T, d) with d=8", embed(positions=np.eye(T))),
    ("positions are (T, d) with d=8 and T >= 1; got shape (0, 8)", embed(positions=P[:0])),
    ("positions has NaN or infinite", embed(positions=np.full((T, D), np.inf))),
    ("positions has 2 axes", embed(positions=P[None])),
    ("readout has 9 entries; states have d=8", embed(readout=np.ones(9))),
    ("readout has 1 axes; got shape (1, 8)", embed(readout=W[None])),
    ("the bias of readout is a finite number", embed(readout=(W, "a"))),
    ("the bias of readout is a finite number", embed(readout=(W, float("inf")))),
    ("got 3 outputs", embed(readout=nn.Linear(D, 3))),
    ("states have d=8", embed(readout=nn.Linear(5, 1))),
    ("readout is an array of numbers", embed(readout={"w": 1})),
    ("embeddings have d=6, the module works in d=8", embed(embeddings=E[:, :6], positions=P[:, :6], readout=W[:6])),
    ("threshold is a finite number", embed(threshold="high")),
    ("threshold is a finite number", embed(threshold=float("nan"))),
    ("Linear maps tokens (2, 5, 8) to (2, 5, 3)", embed(nn.Linear(D, 3))),
    ("Linear fails on bits of shape (2, 4)", embed(nn.Linear(5, 5))),
    ("its other weights need", tracr(params={**params(), "transformer/layer_0/attn/key": WIDE})),
    # token ids
    ("a TransformerEncoderLayer has no vocabulary", ids(LAYER)),
    ("pair of different token ids", ids(tokens=(1, 1))),
    ("pair of different token ids", ids(tokens=(0, 1, 2))),
    ("tokens is a sequence of token ids", ids(tokens="01")),
    ("tokens is a sequence of token ids", ids(tokens=3)),
    ("a token id in tokens is a whole number", ids(tokens=(0, 1.5))),
    ("a token id in tokens is a whole number", ids(tokens=(0, -1))),
    ("the vocabulary has the ids 0 to 4", ids(tokens=(0, 5))),
    ("after has the token id 9", ids(after=[9])),
    ("before is a sequence of token ids", ids(before=2)),
    ("a token id in after is a whole number", ids(after=["[CLS]"])),
    ("say how many bits an input has: T=", ids(T=None)),
    ("T is a whole number >= 1; got 0", ids(T=0)),
    ("T is a whole number >= 1; got True", ids(T=True)),
    ("T is a whole number >= 1; got '4'", ids(T="4")),
    ("the model takes at most 16", ids(T=16)),
    ("at is the place of the token that is read, from -5 to 4; got 5", ids(at=5)),
    ("at is the place of the token", ids(at="last")),
    ("readout has 3 entries; states have d=8", ids(readout=np.ones(3))),
    # Tracr
    ("Tracr's models read tokens", lambda: sh.from_torch(params(), T=T)),
    ("Tracr's models have their own embeddings", embed(params())),
    ("give heads=, or the compiled model", tracr(heads=None)),
    ("heads is a whole number >= 1; got 0", tracr(heads=0)),
    ("which 4 heads do not divide", tracr(heads=4)),
    ("have no read-out; give readout=", tracr(readout=None)),
    ("'embeddings' in 'pos_embed'", tracr(params=without("pos_embed"))),
    ("an array 'w' in 'transformer/layer_0/mlp/linear_2'", tracr(params=without("transformer/layer_0/mlp/linear_2"))),
    ("no transformer/layer_0/attn/query", tracr(params=without("transformer/layer_0/attn/query"))),
    ("'embeddings' in 'token_embed'", tracr(params={})),
    ("is no array of numbers", tracr(params={**params(), "token_embed": {"embeddings": [[1, 2], [3]]}})),
    ("2 axes are needed", tracr(params={**params(), "token_embed": {"embeddings": np.ones(22)}})),
    ("both need the same", tracr(params={**params(), "pos_embed": {"embeddings": np.ones((6, 21))}})),
    ("have layer norms", tracr(params={**params(), "transformer/layer_norm": {"scale": np.ones(22)}})),
    ("contradicts it", tracr(params=COMPILED, heads=2)),
    # modules of bits
    ("T is a whole number >= 1; got 2.5", bits(first, T=2.5)),
    ("threshold is a finite number", bits(first, threshold="x")),
    ("Answers fails on bits of shape (2, 4): IndexError", bits(lambda b: b[:, 9])),
    ("Answers fails on bits of shape (2, 4): ZeroDivisionError", bits(lambda b: 1 / 0)),
    ("answers with a list", bits(lambda b: [0.5] * len(b))),
    ("answers with a NoneType", bits(lambda b: None)),
    ("one real number per input is needed", bits(lambda b: b[:, 0] + 1j)),
    ("answers the same bits differently each time", bits(lambda b: torch.rand(len(b)))),
    ("2 outputs; Answers answered with shape (2, 4)", lambda: sh.from_torch(Answers(lambda b: b), T=T)(np.eye(2, T))),
    ("bits are 0 or 1, got 2", lambda: NETWORK(np.full((1, T), 2))),
    ("T=4 needs (n, 4)", lambda: NETWORK(np.zeros((2, 5)))),
    ("pass (n, 4), one sequence per row", lambda: NETWORK(np.zeros(T))),
    # verify and read
    ("does not say how many bits it reads", verify(first, "x1")),
    ("does not say how many bits it reads", read(first, T=None)),
    ("neither bits nor probabilities", verify(lambda b: 2 * b[:, 0] - 1)),
    ("neither bits nor probabilities", read(lambda b: 2 * b[:, 0] - 1)),
    ("a proof by patterns needs a Model", verify(first, method="patterns")),
    ("method is one of", verify(first, method="luck")),
    ("all 2^T inputs are tried up to T=20", verify(first, sh.parse("x1", T=30), method="exhaustive")),
    ("the network reads T=4 bits", lambda: sh.verify(NETWORK, sh.parse("x1", T=5))),
    ("the network reads T=4 bits", lambda: sh.read(NETWORK, T=5, seed=0)),
    ("x9 at column 1 is outside the input", lambda: sh.verify(NETWORK, "x9")),
    ("computes no function", read(lambda b: b[:, 0] * torch.nan)),
    ("outputs; Answers answered with shape", read(lambda b: b)),
    ("model is a Model", lambda: sh.verify(first, F)),
    ("model is a Model", lambda: sh.verify({"w": 1}, F)),
    ("not for a network that was only run", lambda: sh.verify(Answers(first), sh.parse("x0", T=T)).save("c.json")),
    # out again
    ("save writes a Model", lambda: sh.save(NETWORK, "net.safetensors")),
    ("model is a Model", lambda: sh.to_torch(NETWORK)),
    ("model is a Model", lambda: sh.to_onnx(NETWORK, "net.onnx")),
    ("model is a Model", lambda: sh.to_transformer_lens(LAYER)),
    ("dtype is one of", lambda: sh.to_onnx(sh.build(F), "net.onnx", dtype="int8")),
    ("path is that of the file to write", lambda: sh.to_onnx(sh.build(F), 3)),
    ("it names no file", lambda: sh.to_onnx(sh.build(F), "")),
    ("TransformerLens weights need one layer", lambda: sh.to_transformer_lens(sh.build(F, encoding="bag"))),
]  # fmt: skip


def test_there_are_enough_of_them():
    assert len(WRONG) >= 60


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("i", range(len(WRONG)))
def test_a_wrong_use_is_one_line_and_writes_nothing(i, tmp_path, monkeypatch):
    said, use = WRONG[i]
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SparseheadError) as refused:
        use()
    line = str(refused.value)
    assert said in line and "\n" not in line and len(line) < 400, line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("verb", [["read"], ["verify"], ["bound"], ["check"]], ids=" ".join)
def test_a_file_of_torch_is_refused_by_the_command_line(verb, tmp_path, monkeypatch, capsys):
    from sparsehead.cli.app import main

    monkeypatch.chdir(tmp_path)
    torch.save(LAYER.state_dict(), "net.pt")
    extra = {"verify": ["x1"], "bound": ["--m", "100"], "check": ["net.pt"]}.get(verb[0], [])
    with pytest.raises(SystemExit) as ended:
        main([*verb, "net.pt", *extra])
    said = capsys.readouterr()
    assert ended.value.code == 2 and said.out == "" and len(said.err.strip().splitlines()) == 1
    if verb != ["check"]:
        assert "is a pickle, as torch.save writes it" in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["net.pt"]
