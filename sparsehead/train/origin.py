"""What an engine says of itself in every outcome: its name, the instruction set, the dtype and the device."""

from importlib.metadata import version


def compiled_origin(level: str, dtype: str) -> dict[str, str]:
    """The compiled engine, at an instruction-set level such as x86-64-v3."""
    return {"engine": "compiled", "instructions": level, "dtype": dtype, "device": "cpu"}


def torch_origin(dtype: str, device: str) -> dict[str, str]:
    """PyTorch, whose version decides the numbers."""
    return {"engine": f"torch {version('torch')}", "instructions": "", "dtype": dtype, "device": device}
