"""One layer, compiled: found, built or done without.

`native/kernel.c` is built with the machine's own C compiler at first use and kept in the user's cache directory under
a name that holds a hash of source, compiler and processor. Where there is no compiler, or SPARSEHEAD_COMPILE=0,
`library` returns None and the same formulas run in torch (`table.py`, `general.py`), several times slower.
"""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from ..architecture import SIGMAS, Architecture
from .parameters import layout

FLAGS = ["-O3", "-march=native", "-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-shared"]
SOURCES = ("kernel.c", "special.h", "gemm.h", "spec.h", "tokens.h", "samples.h", "dropout.h")
_SIZES = ("T", "d", "H", "k", "f", "m", "norm", "residual", "bias", "bag", "sigma", "trains_encoding")
_WEIGHTS = (
    "W_Q",
    "W_K",
    "W_V",
    "W_C",
    "W_1",
    "W_2",
    "head",
    "g_1",
    "c_1",
    "b_Q",
    "b_K",
    "b_V",
    "b_C",
    "g_2",
    "c_2",
    "b_1",
    "b_2",
    "g_f",
    "c_f",
    "E",
    "P_cls",
    "P",
)
_RULES = ("n_decayed", "n_trained", "decoupled", "warmup")
_NUMBERS = (
    "temperature",
    "eps",
    "dropout",
    "learning_rate",
    "beta_1",
    "beta_2",
    "adam_eps",
    "weight_decay",
    "clip",
)

_FIELDS = _SIZES + _WEIGHTS + _RULES + _NUMBERS


class Spec(ctypes.Structure):
    """`spec` of native/spec.h, field by field."""

    _fields_ = [(name, ctypes.c_long) for name in _SIZES + _WEIGHTS + _RULES] + [
        (name, ctypes.c_double) for name in _NUMBERS
    ]


def kernel_spec(a: Architecture, m: int, **optimiser: float | int) -> Spec:
    """What the kernel needs to know about a run of shape `a` on m samples."""
    at = layout(a)
    places = {segment.name.removesuffix(".0"): segment.start for segment in at.segments}
    given: dict[str, float | int] = {
        "T": a.T, "d": a.d, "H": a.H, "k": a.k, "f": a.mlp, "m": m, "norm": a.norm, "residual": a.residual,
        "bias": a.bias, "bag": a.is_bag, "sigma": SIGMAS.index(a.sigma), "trains_encoding": a.trains_encoding,
        "n_decayed": at.n_decayed, "n_trained": at.n_trained, "temperature": a.temperature, "eps": a.eps,
        "decoupled": 1, "adam_eps": 1e-8,
    }  # fmt: skip
    given.update({name: places.get(name, -1) for name in _WEIGHTS})
    given.update(optimiser)
    return Spec(**{n: float(given.get(n, 0)) if n in _NUMBERS else int(given.get(n, 0)) for n in _FIELDS})


def _directories() -> list[Path]:
    """Where built kernels are kept: the user's cache, or a folder of our own among temporary files."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path(os.path.expanduser("~")) / ".cache")
    return [Path(base) / "sparsehead", Path(tempfile.gettempdir()) / f"sparsehead-{os.getuid()}"]


def _processor() -> str:
    """What -march=native depends on, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine() + platform.processor()
    return "".join(sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))}))


def _build(compiler: str, dtype: str) -> Path | None:
    folder = Path(__file__).parent / "native"
    text = b"".join((folder / name).read_bytes() for name in SOURCES)
    flags = [*FLAGS, *(["-DDOUBLE"] if dtype == "float64" else [])]
    key = hashlib.sha256(text + " ".join([compiler, *flags, _processor()]).encode()).hexdigest()[:16]
    for directory in _directories():
        target = directory / f"kernel-{dtype}-{key}.so"
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            if directory.stat().st_uid != os.getuid():
                continue  # a library in somebody else's directory is not ours to load
            if target.exists():
                return target
            with tempfile.TemporaryDirectory(dir=directory) as work:
                made = Path(work) / "kernel.so"
                subprocess.run(
                    [compiler, *flags, str(folder / "kernel.c"), "-o", str(made), "-lm"],
                    check=True,
                    capture_output=True,
                    timeout=120,
                )
                made.replace(target)  # at once, so that processes side by side never load half a library
        except (OSError, subprocess.SubprocessError):
            continue
        return target
    return None


@cache
def library(dtype: str) -> ctypes.CDLL | None:
    """The kernel for "float32" or "float64", or None where it cannot be had."""
    if os.environ.get("SPARSEHEAD_COMPILE") == "0" or not hasattr(os, "getuid"):
        return None
    compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc") or shutil.which("clang")
    path = _build(compiler, dtype) if compiler else None
    if path is None:
        return None
    try:
        lib = ctypes.CDLL(str(path))
    except OSError:
        return None
    spec, p, n = ctypes.POINTER(Spec), ctypes.c_void_p, ctypes.c_long
    lib.scratch_size.argtypes, lib.scratch_size.restype = [spec, n], n
    lib.training_scratch_size.argtypes, lib.training_scratch_size.restype = [spec], n
    lib.margins.argtypes, lib.margins.restype = [spec, p, p, n, p, p], ctypes.c_int
    lib.gradient.argtypes, lib.gradient.restype = [spec, p, p, n, n, p, p, p, p, p], ctypes.c_int
    lib.train.argtypes = [spec, p, p, p, p, n, n, p, p, p, n, p, ctypes.POINTER(ctypes.c_int), p]
    lib.train.restype = n
    return lib
