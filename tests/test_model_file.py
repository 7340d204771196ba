"""A model file is loaded whole and checked, or not at all."""

import json
import struct

import numpy as np
import pytest
from safetensors.numpy import save as to_bytes

from sparsehead.block import Layer, LayerNorm, Mlp
from sparsehead.encoding import bag, positional, trainable
from sparsehead.errors import FileError
from sparsehead.model import Dense, Model
from sparsehead.model_file import HEADER, load, save
from sparsehead.rng import stream


def rich_model(seed=0):
    rng = stream(seed)
    n = rng.normal
    layer = Layer(
        n(size=(2, 6, 3)), n(size=(2, 6, 3)), n(size=(2, 6, 4)), n(size=(2, 4, 6)),
        b_Q=n(size=(2, 3)), b_C=n(size=6), temperature=3**0.5, residual=True,
        norm_attention=LayerNorm(n(size=6), n(size=6)),
        mlp=Mlp(n(size=(6, 5)), n(size=5), n(size=(5, 6)), n(size=6)),
    )  # fmt: skip
    encoding = trainable(n(size=(5, 6)), n(size=(2, 6)), n(size=6))
    decoder = (Dense(n(size=(6, 3)), n(size=3)),)
    meta = {"origin": "learned", "steps": 12}
    return Model(
        encoding, (layer, layer), n(size=3), 0.1, LayerNorm(n(size=6), n(size=6)), decoder, 0.0, False, meta
    )


@pytest.fixture
def written(tmp_path):
    return save(rich_model(), tmp_path / "model.safetensors")


def rewrite(path, change):
    """The same file with `change` applied to its structure; its tensors stay."""
    raw = path.read_bytes()
    (n,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + n])
    content = json.loads(header["__metadata__"][HEADER])
    change(content)
    header["__metadata__"][HEADER] = json.dumps(content)
    new = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(new)) + new + raw[8 + n :])


def test_a_model_comes_back_to_the_bit(written):
    model, again = rich_model(), load(written)
    bits = stream(1).integers(0, 2, (20, 5))
    assert (model(bits) == again(bits)).all()
    assert again.meta == model.meta and not again.attends_cls and again.threshold == 0.0


@pytest.mark.parametrize("encoding", [positional(5), bag(5)])
def test_one_hot_positions_are_not_written_out(tmp_path, encoding):
    layer = Layer(*(np.eye(8)[None, :, :1] for _ in range(3)), np.eye(8)[None, :1])
    path = save(Model(encoding, (layer,), np.ones(8)), tmp_path / "m.safetensors")
    assert load(path).encoding.P is None and load(path).encoding.kind == encoding.kind


def test_float32_weights_are_stored_as_such(tmp_path):
    layer = Layer(*(np.float32(stream(i).normal(size=s)).astype(float) for i, s in
                    enumerate([(1, 103, 9), (1, 103, 9), (1, 103, 9), (1, 9, 103)])))  # fmt: skip
    path = save(Model(positional(100), (layer,), np.ones(103)), tmp_path / "m.safetensors")
    assert path.stat().st_size < 4 * 103 * 45  # four matrices and the vectors, four bytes a number


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(FileError, match="no model at"):
        load(tmp_path / "nothing.safetensors")
    with pytest.raises(FileError, match="no model at"):
        load(tmp_path)


@pytest.mark.parametrize("keep", [0, 4, 100, 0.5, 0.99])
def test_a_truncated_file_loads_nothing(written, keep):
    raw = written.read_bytes()
    written.write_bytes(raw[: int(keep * len(raw)) if isinstance(keep, float) else keep])
    with pytest.raises(FileError, match="damaged or not a safetensors file"):
        load(written)


def test_a_pickle_is_not_opened(tmp_path):
    path = tmp_path / "evil.safetensors"
    path.write_bytes(b"\x80\x04cposix\nsystem\n(S'false'\ntR.")
    with pytest.raises(FileError, match="damaged or not"):
        load(path)


def test_another_projects_weights_are_told_apart(tmp_path):
    path = tmp_path / "other.safetensors"
    path.write_bytes(to_bytes({"weight": np.ones(3)}))
    with pytest.raises(FileError, match="not a sparsehead model"):
        load(path)


def test_another_schema_is_refused(written):
    rewrite(written, lambda c: c.update(schema=99))
    with pytest.raises(FileError, match="schema 99, this version reads 1"):
        load(written)


def test_wrong_shapes_and_missing_parts_are_refused(written, unchecked):
    def swap(content):
        layer = content["model"]["fields"]["layers"]["tuple"][0]["fields"]
        layer["W_K"], layer["W_V"] = layer["W_V"], layer["W_K"]

    rewrite(written, swap)
    with pytest.raises(FileError, match="not hold a consistent model: layer has W_K of shape"):
        load(written)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda c: c["model"]["fields"]["w"].update(tensor="gone"), "names 'gone', which is missing"),
        (lambda c: c["model"].update(part="os.system"), "names 'os.system', which is missing"),
        (lambda c: c["model"]["fields"].pop("encoding"), "malformed"),
        (lambda c: c["model"]["fields"]["layers"]["tuple"].pop(), "belong to no part"),
        (lambda c: c.update(model=[1, 2]), "malformed"),
        (lambda c: c["model"]["fields"].update(extra={"value": 1}), "malformed"),
    ],
)
def test_a_damaged_structure_is_one_clear_line(written, change, says):
    rewrite(written, change)
    with pytest.raises(FileError, match=says) as caught:
        load(written)
    assert "\n" not in str(caught.value)


def test_a_failed_write_leaves_nothing(tmp_path):
    with pytest.raises(FileError, match="is no folder; make it first"):
        save(rich_model(), tmp_path / "no" / "such" / "folder.safetensors")
    assert list(tmp_path.iterdir()) == []
