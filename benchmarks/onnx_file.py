"""ONNX files written by hand: just enough of the format for a graph of float64 tensors.

An ONNX file is one protobuf message; the numbers of its fields are those of onnx.proto3
(github.com/onnx/onnx, Apache-2.0). Written here because the package `onnx` is not a dependency of ours.
"""

from dataclasses import dataclass, field

import numpy as np

DOUBLE, INT64 = 11, 7  # TensorProto.DataType
OPSET, IR_VERSION = 13, 8


def varint(x: int) -> bytes:
    out = bytearray()
    while x > 127:
        out.append(x & 127 | 128)
        x >>= 7
    return bytes([*out, x])


def whole(number: int, x: int) -> bytes:
    """A field that holds a whole number, x >= 0."""
    return varint(number << 3) + varint(x)


def text(number: int, x: str | bytes) -> bytes:
    """A field that holds text, bytes or a message."""
    content = x.encode() if isinstance(x, str) else x
    return varint(number << 3 | 2) + varint(len(content)) + content


def tensor(name: str, array: np.ndarray) -> bytes:
    kind, code = (INT64, "<i8") if array.dtype.kind == "i" else (DOUBLE, "<f8")
    dims = b"".join(whole(1, n) for n in array.shape)
    return dims + whole(2, kind) + text(8, name) + text(9, np.ascontiguousarray(array, dtype=code).tobytes())


def value_info(name: str, shape: tuple[int, ...]) -> bytes:
    dims = b"".join(text(1, whole(1, n)) for n in shape)
    return text(1, name) + text(2, text(1, whole(1, DOUBLE) + text(2, dims)))


def _attribute(name: str, value: int | tuple[int, ...]) -> bytes:
    """AttributeProto: the name, then i and type INT (2), or ints and type INTS (7)."""
    if isinstance(value, int):
        return text(1, name) + whole(3, value) + whole(20, 2)
    return text(1, name) + b"".join(whole(8, x) for x in value) + whole(20, 7)


@dataclass
class Graph:
    """Nodes and constants, in the order in which they are added; every node has one output, named by its number."""

    nodes: list[bytes] = field(default_factory=list)
    constants: list[bytes] = field(default_factory=list)

    def constant(self, array: np.ndarray) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(tensor(name, np.asarray(array)))
        return name

    def node(self, op: str, *inputs: "str | np.ndarray", **attributes: int | tuple[int, ...]) -> str:
        """Add a node; arrays become constants, attributes are whole numbers from 0 on. Returns its output's name."""
        names = [x if isinstance(x, str) else self.constant(x) for x in inputs]
        output = f"n{len(self.nodes)}"
        given = [text(5, _attribute(name, value)) for name, value in sorted(attributes.items())]
        parts = [text(1, name) for name in names] + [text(2, output), text(3, output), text(4, op), *given]
        self.nodes.append(b"".join(parts))
        return output

    def packed(self, *, inputs: dict[str, tuple[int, ...]], output: str, shape: tuple[int, ...]) -> bytes:
        """The file's content."""
        graph = b"".join(text(1, each) for each in self.nodes) + text(2, "head")
        graph += b"".join(text(5, each) for each in self.constants)
        graph += b"".join(text(11, value_info(*each)) for each in inputs.items())
        graph += text(12, value_info(output, shape))
        return whole(1, IR_VERSION) + text(2, "sparsehead") + text(7, graph) + text(8, whole(2, OPSET))
