"""What made a result: the version, the commit when it runs from a checkout, the engine, the processor."""

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from . import __version__

NOT_RECORDED = "not recorded"
# What fits the learners that are no Transformer.
ENGINES = {
    "mlp": "torch",
    "lstm": "torch",
    "logistic": "scikit-learn",
    "tree": "scikit-learn",
    "exhaustive": "numpy",
}
# From the widest; the kernel is compiled for the processor it runs on.
INSTRUCTIONS = ("avx512f", "avx2", "avx", "sse4_2", "sse2", "asimd", "neon")


@cache
def version_and_commit() -> tuple[str, str]:
    """(version, commit); the commit ends in "-dirty" with uncommitted changes, and is "" outside a checkout."""
    root = Path(__file__).resolve().parents[1]
    if not (root / ".git").exists():  # an installed copy, perhaps inside somebody else's repository
        return __version__, ""
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return __version__, ""
    return __version__, done.stdout.strip()


def made_by(engine: Mapping[str, str] | None = None, *, spec: Mapping[str, Any]) -> dict[str, str]:
    """Version, commit and engine, as the store keeps them with every outcome.

    Args:
        engine: what computed the outcome, with the keys of `engine_info`; found out if not given.
        spec: the fields of the trial's spec.
    """
    version, commit = version_and_commit()
    return {"version": version, "commit": commit, **(engine_info(spec) if engine is None else engine)}


def engine_info(spec: Mapping[str, Any], *, dtype: str = "float32", device: str = "cpu") -> dict[str, str]:
    """{engine, instructions, dtype, device} with which this process trains a spec.

    The engine is "compiled", "torch", "scikit-learn" or "numpy"; "not recorded" in a process that has not loaded
    the training code, which then cannot have trained it.
    """
    engine = _engine(spec, dtype, device)
    return {
        "engine": engine,
        "instructions": instruction_set(),
        "dtype": "float64" if engine in ("scikit-learn", "numpy") else dtype,
        "device": device,
    }


def _engine(spec: Mapping[str, Any], dtype: str, device: str) -> str:
    learner = spec.get("learner", "transformer")
    if learner in ENGINES:
        return ENGINES[learner]
    # Looked up, not imported: asking must not load torch or build the kernel.
    compiled = sys.modules.get(f"{__package__}.train.compiled")
    if compiled is None:
        return NOT_RECORDED
    one_layer = spec.get("L", 1) == 1 and device == "cpu"
    return "compiled" if one_layer and compiled.library(dtype) is not None else "torch"


@cache
def instruction_set() -> str:
    """The widest of `INSTRUCTIONS` that the processor has, or else the machine's name, such as "x86_64"."""
    words = {word for line in _cpuinfo() if line.startswith(("flags", "Features")) for word in line.split()}
    return next((name for name in INSTRUCTIONS if name in words), platform.machine())


def described(origin: Mapping[str, Any]) -> str:
    """One phrase for an outcome's `made_by`, such as "0.1.0 (9a583d1), compiled avx2 float32 on cpu"."""
    commit = f" ({origin['commit']})" if origin.get("commit") else ""
    engine = origin.get("engine", NOT_RECORDED)
    if engine == NOT_RECORDED:
        return f"{origin.get('version', 'an unknown version')}{commit}, engine {NOT_RECORDED}"
    how = " ".join(str(origin.get(name, "?")) for name in ("instructions", "dtype"))
    return f"{origin.get('version', '?')}{commit}, {engine} {how} on {origin.get('device', '?')}"


def processor() -> str:
    """The processor's name and the number of cores."""
    names = [line.split(":", 1)[1].strip() for line in _cpuinfo() if line.startswith("model name")]
    return f"{names[0] if names else platform.processor() or platform.machine()}, {os.cpu_count()} cores"


def _cpuinfo() -> list[str]:
    info = Path("/proc/cpuinfo")
    return info.read_text().splitlines() if info.is_file() else []
