"""A model file is loaded whole and checked, or not at all."""

import json
import struct
import warnings
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import save as to_bytes

from sparsehead._base.errors import FileError, TooLarge
from sparsehead._base.rng import stream
from sparsehead.construct import build
from sparsehead.functions import parse
from sparsehead.heads.block import Layer, LayerNorm, Mlp
from sparsehead.heads.encoding import bag, positional, trainable
from sparsehead.heads.model import Dense, Model
from sparsehead.heads.model_file import HEADER, SUM, load, load_weights, save, seal


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
    """The same file with `change` applied to its structure, and a right checksum; its tensors stay."""
    raw = path.read_bytes()
    (n,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + n])
    content = json.loads(header["__metadata__"][HEADER])
    change(content)
    header["__metadata__"][HEADER] = json.dumps(content)
    new = json.dumps(header, separators=(",", ":")).encode()
    path.write_bytes(seal(struct.pack("<Q", len(new)) + new + raw[8 + n :]))


def test_a_model_comes_back_to_the_bit(written):
    model, again = rich_model(), load(written)
    bits = stream(1).integers(0, 2, (20, 5))
    assert (model(bits) == again(bits)).all()
    assert again.meta == model.meta and not again.attends_cls and again.threshold == 0.0


@pytest.mark.parametrize("encoding", [positional(5), bag(5)])
def test_one_hot_positions_are_not_written_out(tmp_path, encoding):
    layer = Layer(*(np.eye(8)[None, :, :1] for _ in range(3)), np.eye(8)[None, :1])  # type: ignore[arg-type, call-arg]
    path = save(Model(encoding, (layer,), np.ones(8)), tmp_path / "m.safetensors")
    assert load(path).encoding.P is None and load(path).encoding.kind == encoding.kind


def test_float32_weights_are_stored_as_such(tmp_path):
    layer = Layer(*(np.float32(stream(i).normal(size=s)).astype(float) for i, s in
                    enumerate([(1, 103, 9), (1, 103, 9), (1, 103, 9), (1, 9, 103)])))  # fmt: skip
    path = save(Model(positional(100), (layer,), np.ones(103)), tmp_path / "m.safetensors")
    assert path.stat().st_size < 4 * 103 * 45  # four matrices and the vectors, four bytes a number


def test_weights_beyond_float32_are_saved_without_a_warning(tmp_path):
    model = replace(build("x1 & x2", T=5), w=np.full(8, 1e300))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = save(model, tmp_path / "m.safetensors")
    assert (load(path).w == 1e300).all()


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
    with pytest.raises(FileError, match="is a pickle"):
        load(path)


def test_another_projects_weights_are_told_apart(tmp_path):
    path = tmp_path / "other.safetensors"
    path.write_bytes(to_bytes({"weight": np.ones(3)}))
    with pytest.raises(FileError, match="not a sparsehead model"):
        load(path)


def test_another_schema_is_refused(written):
    rewrite(written, lambda c: c.update(schema=99))
    with pytest.raises(FileError, match="schema 99, this version reads 2"):
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
        (lambda c: c["model"]["fields"].update(extra={"value": 1}), "names 'extra'"),
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


def first_layer(content):
    return content["model"]["fields"]["layers"]["tuple"][0]["fields"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda c: first_layer(c)["temperature"].update(value=10**400), "malformed"),
        (lambda c: first_layer(c)["temperature"].update(value=0), "temperature cannot be"),
        (lambda c: first_layer(c)["temperature"].update(value="2"), "temperature cannot be '2'"),
        (lambda c: first_layer(c)["temperature"].update(value=True), "temperature cannot be 'True'"),
        (lambda c: first_layer(c)["residual"].update(value="false"), "residual cannot be 'false'"),
        (lambda c: first_layer(c)["residual"].update(value=0), "residual cannot be '0'"),
        (lambda c: first_layer(c)["sigma"].update(value=3), "sigma cannot be '3'"),
        (lambda c: first_layer(c)["norm_attention"]["fields"]["eps"].update(value="x"), "eps cannot be 'x'"),
        (lambda c: first_layer(c)["norm_attention"]["fields"]["eps"].update(value=-1.0), "eps cannot be"),
        (lambda c: c["model"]["fields"]["bias"].update(value="0"), "bias cannot be '0'"),
        (lambda c: c["model"]["fields"]["attends_cls"].update(value=1), "attends_cls cannot be '1'"),
        (lambda c: c["model"]["fields"]["meta"].update(value=[1]), "meta cannot be"),
        (lambda c: c["model"]["fields"]["encoding"]["fields"]["T"].update(value=5.0), "T cannot be '5.0'"),
        (lambda c: c["model"]["fields"].update(w={"value": "abc"}), "w cannot be 'abc'"),
    ],
)
def test_scalars_are_of_their_type_and_in_their_range(written, change, says):
    rewrite(written, change)
    with pytest.raises(FileError, match=says) as caught:
        load(written)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


@pytest.mark.parametrize("depth", [300, 2000, 200_000])
def test_deep_nesting_is_one_line(written, depth):
    node = '{"tuple":[' * depth + '{"value":1}' + "]}" * depth
    raw = to_bytes({"a": np.ones(2)}, metadata={HEADER: f'{{"schema":2,"model":{node}}}', SUM: "0" * 64})
    written.write_bytes(seal(raw))
    with pytest.raises(FileError, match=r"JSON|malformed|Model"):
        load(written)


def test_a_file_of_before_checksums_is_refused(written):
    raw = written.read_bytes()
    (n,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + n])
    content = json.loads(header["__metadata__"][HEADER]) | {"schema": 1}
    header["__metadata__"] = {HEADER: json.dumps(content)}
    new = json.dumps(header).encode()
    written.write_bytes(struct.pack("<Q", len(new)) + new + raw[8 + n :])
    with pytest.raises(
        FileError, match="schema 1, this version reads 2; it was written before model files had"
    ):
        load(written)


def test_a_checksum_in_the_wrong_place_or_missing_is_refused(written):
    raw = written.read_bytes()
    written.write_bytes(raw.replace(SUM.encode(), SUM[:-1].encode() + b"x"))
    with pytest.raises(FileError, match="damaged"):
        load(written)


@pytest.mark.parametrize("size", [2**32, 2**40])
def test_a_sparse_file_is_refused_before_it_is_read(written, size):
    """The file announces less than it has, and the other way round; neither is read."""
    raw = written.read_bytes()
    for start in (raw, struct.pack("<Q", 2**23), b""):
        with written.open("wb") as file:
            file.write(start)
            file.truncate(size)
        with pytest.raises(FileError, match="damaged"):
            load(written)


def test_a_model_beyond_memory_is_refused_before_it_is_read(written, monkeypatch):
    monkeypatch.setattr("sparsehead.heads.model_file.available", lambda: 3 * written.stat().st_size)
    with pytest.raises(TooLarge, match="are available"):
        load(written)


def models():
    """Models of several makes: with everything in it, written, learned by hand, of one-hot positions."""
    layer = Layer(*(np.eye(8)[None, :, :1] for _ in range(3)), np.eye(8)[None, :1])  # type: ignore[arg-type, call-arg]
    one_hot = [Model(encoding, (layer,), np.ones(8)) for encoding in (positional(5), bag(5))]
    return [rich_model(), rich_model(5), *one_hot,
            build(parse("x1 ^ x3 ^ x4", T=9)), build(parse("maj(x0, x2, x5)", T=7), "trainable")]  # fmt: skip


def flips(folder, count):
    """`count` single-byte changes, spread over the models and over header and data, each refused in one line."""
    rng = stream(7, "flips")
    paths = [save(model, folder / f"{i}.safetensors") for i, model in enumerate(models())]
    originals = [path.read_bytes() for path in paths]
    for i in range(count):
        path, raw = paths[i % len(paths)], bytearray(originals[i % len(paths)])
        n = 8 + int.from_bytes(raw[:8], "little")
        at = int(
            rng.integers(0, 8) if i % 10 == 0 else rng.integers(8, n) if i % 2 else rng.integers(n, len(raw))
        )
        raw[at] ^= 1 << int(rng.integers(8)) if i % 3 else int(rng.integers(1, 256))
        path.write_bytes(raw)
        with pytest.raises(FileError) as caught:
            load(path)
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 400, (i, at)


def test_no_changed_byte_is_believed(tmp_path):
    flips(tmp_path, 150)


@pytest.mark.slow
def test_no_changed_byte_of_2000_is_believed(tmp_path):
    flips(tmp_path, 2000)


def test_a_header_whose_length_looks_like_the_start_of_a_pickle_is_read(tmp_path):
    """0x280 = 640 bytes: a file that starts as pickles of protocol 2 do."""
    from safetensors.numpy import save_file

    path = tmp_path / "weights.safetensors"
    for padding in range(0, 640, 8):
        save_file({"w": np.zeros(2)}, path, metadata={"note": "x" * padding})
        if path.read_bytes()[:2] == b"\x80\x02":
            break
    assert path.read_bytes()[:2] == b"\x80\x02"
    tensors = load_weights(path)
    assert isinstance(tensors, dict) and list(tensors) == ["w"]
