"""Model files and certificates with something changed by hand, for tests of both checkers."""

import copy
import hashlib
import json
import struct

import numpy as np

from sparsehead.heads.model_file import seal


def taken_apart(raw):
    """(header, structure, data) of a model file: the safetensors header, the JSON in its metadata, the numbers."""
    (n,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + n])
    return header, json.loads(header["__metadata__"]["sparsehead"]), raw[8 + n :]


def put_together(header, structure, data, text=lambda x: x.encode()):
    """A model file with its checksum; `text` turns the header's JSON into bytes."""
    header = copy.deepcopy(header)
    header["__metadata__"]["sparsehead"] = json.dumps(structure)
    packed = text(json.dumps(header, separators=(",", ":")))
    raw = struct.pack("<Q", len(packed)) + packed + data
    return seal(raw) or raw


def fields(structure, *path):
    """The fields of a part, such as fields(structure, "layers", 0)."""
    node = structure["model"]
    for step in path:
        node = node["tuple"][step] if isinstance(step, int) else node["fields"][step]
    return node["fields"]


def number_kind(entry):
    return np.dtype({"F64": "<f8", "F32": "<f4"}[entry["dtype"]])


def with_number(header, data, name, index, value):
    """The data with one number of a tensor replaced."""
    entry = header[name]
    kind, start = number_kind(entry), entry["data_offsets"][0]
    at = start + kind.itemsize * index
    return data[:at] + np.array(value, dtype=kind).tobytes() + data[at + kind.itemsize :]


def for_file(content, raw):
    """The certificate with the hash of another file."""
    return {**copy.deepcopy(content), "model": hashlib.sha256(raw).hexdigest()}


def at(*path, **values):
    """A change of a model's structure: fields of the part at `path`, as values."""
    return lambda header, structure, data: fields(structure, *path).update(
        {name: {"value": value} for name, value in values.items()}
    )


def node(*path, **nodes):
    """A change of a model's structure: fields of the part at `path`, as nodes."""
    return lambda header, structure, data: fields(structure, *path).update(nodes)


def entry(name, **values):
    """A change of a tensor's entry in the header."""
    return lambda header, structure, data: header[name].update(values)


def number(name, value):
    """A change of the first number of a tensor."""
    return lambda header, structure, data: with_number(header, data, name, 0, value)


def shifted(by):
    """A change of every offset."""

    def change(header, structure, data):
        for name in header.keys() - {"__metadata__"}:
            header[name]["data_offsets"] = [x + by for x in header[name]["data_offsets"]]
        return b"\0" * by + data if by > 0 else data

    return change


def overlapping(header, structure, data):
    header["w"]["data_offsets"] = header["encoding.cls"]["data_offsets"]
    return data[: header["w"]["data_offsets"][1]]


def repeated(key):
    """A header's text in which a key occurs once more, at the end."""
    return lambda text: (text[:-1] + f', "{key}": {json.dumps(json.loads(text)[key])}}}').encode()


LAYER, DENSE = ("layers", 0), {"W": {"tensor": "layers.0.W_K"}, "b": {"value": [float("nan")]}}
# Changes of the model file of build("x2 & x5", T=8): its header, its structure, its numbers.
MODEL_CHANGES = {
    "T is not whole": at("encoding", T=8.5),
    "T as a float": at("encoding", T=8.0),
    "T as a truth value": at("encoding", T=True),
    "T as text": at("encoding", T="8"),
    "T too small for the tensors": at("encoding", T=7),
    "T beyond 2^53": at("encoding", T=2**60),
    "no T": lambda header, structure, data: fields(structure, "encoding").pop("T") and None,
    "an unknown encoding": at("encoding", kind="sinusoidal"),
    "temperature 0": at(*LAYER, temperature=0.0),
    "temperature negative": at(*LAYER, temperature=-1.0),
    "temperature as a truth value": at(*LAYER, temperature=True),
    "temperature infinite": at(*LAYER, temperature=float("inf")),
    "threshold NaN": at(threshold=float("nan")),
    "threshold missing": at(threshold=None),
    "bias a whole number that float64 does not hold": at(bias=2**53 + 1),
    "bias too large for float64": at(bias=10**400),
    "attends_cls as text": at(attends_cls="false"),
    "attends_cls as a number": at(attends_cls=1),
    "residual null": at(*LAYER, residual=None),
    "GELU": at(*LAYER, sigma="gelu"),
    "projection": at(*LAYER, project=True),
    "a LayerNorm": node(
        final_norm={
            "part": "LayerNorm",
            "fields": {"gain": {"tensor": "w"}, "bias": {"tensor": "w"}, "eps": {"value": -1.0}},
        }
    ),
    "another schema": lambda header, structure, data: structure.update(schema=3),
    "a schema that equals 2": lambda header, structure, data: structure.update(schema=2.0),
    "an unknown field": at(*LAYER, scale=7.0),
    "another part": lambda header, structure, data: structure["model"].update(part="Layer"),
    "no layer": node(layers={"tuple": []}),
    "two layers": lambda header, structure, data: fields(structure)["layers"]["tuple"].append(
        fields(structure)["layers"]["tuple"][0]
    ),
    "weights as values": at(w=[1.0] * 11),
    "a bias of NaN as a value": node(decoder={"tuple": [{"part": "Dense", "fields": DENSE}]}),
    "a node of two kinds": node(w={"tensor": "w", "value": None}),
    "a tensor that is not there": node(w={"tensor": "v"}),
    "a tensor of another shape": node(w={"tensor": "encoding.E"}),
    "a tensor of another length": node(*LAYER, b_C={"tensor": "b"}),
    "a shape that is too large": entry("w", shape=[99]),
    "a shape that is too small": entry("w", shape=[10]),
    "a shape with a negative side": entry("w", shape=[-11]),
    "a shape with truth values": entry("w", shape=[11, True]),
    "a shape with a zero": entry("w", shape=[11, 0]),
    "a dtype of half the width": entry("w", dtype="F16"),
    "a dtype of integers": entry("w", dtype="I32"),
    "offsets as floats": entry("w", data_offsets=[660.0, 704.0]),
    "offsets the wrong way": entry("w", data_offsets=[704, 660]),
    "offsets behind the end": entry("w", data_offsets=[660, 8000]),
    "negative offsets": shifted(-704),
    "bytes before the tensors": shifted(8),
    "bytes after the tensors": lambda header, structure, data: data + b"\0" * 8,
    "overlapping tensors": overlapping,
    "a weight of NaN": number("layers.0.W_V", np.nan),
    "a weight of infinity": number("layers.0.W_K", np.inf),
    "a weight of NaN that is not used": number("encoding.cls", np.nan),
}
# Changes of how the header is written.
HEADER_TEXTS = {
    "a tensor named twice": repeated("w"),
    "metadata twice": repeated("__metadata__"),
    "UTF-16": lambda text: text.encode("utf-16"),
    "a byte order mark": lambda text: text.encode("utf-8-sig"),
    "not UTF-8": lambda text: text.replace("layers.0.W_Q", "layers.0.W_é").encode("latin-1"),
    "not JSON": lambda text: text[:-1].encode(),
    "more behind the JSON": lambda text: (text + "{}").encode(),
    "deep JSON": lambda text: (text[:-1] + ', "x": ' + "[" * 20_000 + "]" * 20_000 + "}").encode(),
    "a comma at the end": lambda text: (text[:-1] + ",}").encode(),
    "a control character": lambda text: text.replace("F64", "F64\x01").encode(),
}


def rows(change):
    """A change of every row of a certificate."""
    return lambda content: [change(row) for row in content["patterns"]]


def bound(side, text):
    """A change of the first bound."""
    return lambda content: content["patterns"][0]["bounds"][0].__setitem__(side, text)


CERTIFICATE_CHANGES = {
    "a pattern too few": lambda c: c["patterns"].pop(),
    "a pattern twice": lambda c: c["patterns"].append(c["patterns"][0]),
    "patterns in another order": lambda c: c["patterns"].reverse(),
    "bits of other digits": lambda c: c["patterns"][3].update(bits="\u0661\u0661"),
    "bits as a number": lambda c: c["patterns"][3].update(bits=11),
    "bits of another length": rows(lambda row: row.update(bits="0" + row["bits"])),
    "a value that is wrong": lambda c: c["patterns"][0].update(value=1),
    "values as truth values": rows(lambda row: row.update(value=bool(row["value"]))),
    "values as floats": rows(lambda row: row.update(value=float(row["value"]))),
    "a value of 2": lambda c: c["patterns"][3].update(value=2),
    "a bound too few": lambda c: c["patterns"][0]["bounds"].pop(),
    "a bound too many": lambda c: c["patterns"][0]["bounds"].append(["0x0.0p+0", "0x0.0p+0"]),
    "a bound of one side": lambda c: c["patterns"][0]["bounds"][0].pop(),
    "bounds the wrong way": lambda c: c["patterns"][0]["bounds"][0].reverse(),
    "a bound in decimals": bound(1, "1"),
    "a bound as a number": bound(1, 1.0),
    "a bound that is infinite": bound(1, "inf"),
    "a bound that is NaN": bound(1, "nan"),
    "a bound in other digits": bound(1, "0x1.\u0660p+0"),
    "a bound with a space": bound(1, "0x1.0p+0 "),
    "a bound with a line break": bound(1, "0x1.0p+0\n"),
    "a bound with an underscore": bound(1, "0x1.0_0p+0"),
    "a bound of many digits": bound(1, "0x1.00000000000000p+0"),
    "a support out of order": lambda c: c.update(support=[5, 2]),
    "a support with a repetition": lambda c: c.update(support=[2, 2]),
    "a support beyond T": lambda c: c.update(support=[2, 8]),
    "a negative support": lambda c: c.update(support=[-6, 5]),
    "a support of other bits": lambda c: c.update(support=[2, 6]),
    "a support of floats": lambda c: c.update(support=[2.0, 5.0]),
    "a support of truth values": lambda c: c.update(support=[True, 5]),
    "a support as text": lambda c: c.update(support="25"),
    "a support that is too long": lambda c: c.update(support=list(range(8)) * 10),
    "no error": lambda c: c.update(max_error="0x0.0p+0"),
    "a negative error": lambda c: c.update(max_error="-0x1.0p+0"),
    "an error in decimals": lambda c: c.update(max_error="10"),
    "an unknown entry": lambda c: c.update(delta="0x1.0p-3"),
    "an unknown entry of a row": lambda c: c["patterns"][0].update(share="0x1.0p-3"),
    "a missing entry": lambda c: c.pop("max_error"),
    "another format": lambda c: c.update(format="certificate of sparsehead, version 2"),
    "another model": lambda c: c.update(model="0" * 64),
    "a hash in capitals": lambda c: c.update(model=c["model"].upper()),
}
CERTIFICATE_TEXTS = {
    "an entry twice": lambda text: text[:-1] + ', "max_error": "0x1.0p+0"}',
    "a list": lambda text: f"[{text}]",
    "a NaN": lambda text: text.replace('"value": 1', '"value": NaN'),
    "no text": lambda text: "",
    "deep JSON": lambda text: "[" * 20_000,
    "more behind it": lambda text: text + "{}",
    "a byte order mark": lambda text: "\ufeff" + text,
}


def attacks(raw, content):
    """name -> (model file, certificate's bytes) that no checker may accept, from a model and its certificate."""
    found = {}
    for name, change in MODEL_CHANGES.items():
        header, structure, data = taken_apart(raw)
        if "b" not in header and name == "a tensor of another length":
            header["b"] = {"dtype": "F32", "shape": [10], "data_offsets": [len(data), len(data) + 40]}
            data += b"\0" * 40
        data = change(header, structure, data) or data
        new = put_together(header, structure, data)
        found[f"model: {name}"] = new, json.dumps(for_file(content, new)).encode()
    for name, text in HEADER_TEXTS.items():
        header, structure, data = taken_apart(raw)
        new = put_together(header, structure, data, text)
        found[f"header: {name}"] = new, json.dumps(for_file(content, new)).encode()
    for name, new in {"empty": b"", "short": raw[:6], "cut": raw[:-1], "long": b"\xff" * 8 + raw[8:]}.items():
        found[f"file: {name}"] = new, json.dumps(for_file(content, new)).encode()
    for name, change in CERTIFICATE_CHANGES.items():
        change(changed := copy.deepcopy(content))
        found[f"certificate: {name}"] = raw, json.dumps(changed).encode()
    for name, text in CERTIFICATE_TEXTS.items():
        found[f"certificate: {name}"] = raw, text(json.dumps(content)).encode()
    return found


def moved(rng, x):
    """A number near x, or far from it, or 0, or x with one bit of its representation flipped."""
    choice = rng.integers(5)
    if choice == 0:
        return 0.0 if x else 1.0
    if choice == 1:
        return -x if x else -1.0
    if choice == 2:
        return float(np.nextafter(x, rng.choice([-np.inf, np.inf])))
    if choice == 3:
        return x + float(rng.choice([-1, 1]) * 10.0 ** rng.integers(-16, 2) * max(1.0, abs(x)))
    bits = np.array(x, dtype="<f8").view("<u8") ^ (np.uint64(1) << np.uint64(rng.integers(64)))
    return float(bits.view("<f8"))


def changed_once(raw, content, rng):
    """(model file, certificate's bytes, what changed): one number of the model or of the certificate is another.

    The certificate names the changed model, as that of an attacker would.
    """
    if rng.integers(2):
        header, structure, data = taken_apart(raw)
        tensors = sorted(header.keys() - {"__metadata__"})
        name = tensors[rng.integers(len(tensors))] if rng.integers(4) else "scalar"
        if name == "scalar":
            where = fields(structure), fields(structure, "layers", 0), fields(structure, "encoding")
            part, name = [
                (where[0], "bias"),
                (where[0], "threshold"),
                (where[1], "temperature"),
                (where[2], "T"),
            ][rng.integers(4)]
            old = part[name]["value"]
            part[name]["value"] = old + int(rng.choice([-1, 1])) if name == "T" else moved(rng, old)
        else:
            kind, (start, end) = number_kind(header[name]), header[name]["data_offsets"]
            numbers = np.frombuffer(data[start:end], dtype=kind)
            # Zeros are most of the numbers of a built head; half of the changes are of others.
            others = np.flatnonzero(numbers) if rng.integers(2) else np.arange(len(numbers))
            index = int(rng.choice(others if len(others) else np.arange(len(numbers))))
            data = with_number(header, data, name, index, moved(rng, float(numbers[index])))
        new = put_together(header, structure, data)
        return new, json.dumps(for_file(content, new)).encode(), f"model {name}"
    content = copy.deepcopy(content)
    bounds = [pair for row in content["patterns"] for pair in row["bounds"]]
    choice = rng.integers(8)
    if choice == 0:
        content["max_error"] = moved(rng, float.fromhex(content["max_error"])).hex()
        what = "max_error"
    elif choice == 1 and content["support"]:
        content["support"][rng.integers(len(content["support"]))] += int(rng.choice([-1, 1]))
        what = "support"
    elif choice == 2 or not bounds:
        row = content["patterns"][rng.integers(len(content["patterns"]))]
        row["value"] = int(rng.choice([1 - row["value"], 2, -1]))
        what = "value"
    else:
        pair, side = bounds[rng.integers(len(bounds))], int(rng.integers(2))
        pair[side] = moved(rng, float.fromhex(pair[side])).hex()
        what = "bound"
    return raw, json.dumps(content).encode(), f"certificate {what}"
