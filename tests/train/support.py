"""What the tests of the engines share: shapes, random weights, and one gradient from either engine."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

from sparsehead.train.spec import preset
from sparsehead.train.transformer.compiled import CompiledEngine
from sparsehead.train.transformer.engines import make_engine
from sparsehead.train.transformer.layout import layout
from sparsehead.train.transformer.library import Missing, library

OUTPUT, GRADIENT = 1e-10, 1e-8  # float64: what the project promises
OPTIONS = list(
    itertools.product(("trainable", "random", "bag"), (True, False), (True, False), (True, False), (0, 9))
)


def needs_kernel(dtype="float32"):
    found = library(dtype)
    if isinstance(found, Missing):
        pytest.skip(f"the kernel itself is tested here, and {found.reason}")
    return found


def spec_of(seed=0, **settings):
    given = {"function": "and", "s": 2, "T": 31, "m": 37, "d": 16, "H": 4, "k": 4, "mlp": 32, "holdout": 1000}
    return preset("fast", seed=seed, **{**given, **settings})


def tiny(encoding, norm, residual, bias, mlp, **more):
    given = {"T": 7, "d": 6, "H": 3, "k": 2, "m": 11, "unique": False, **more}
    return spec_of(encoding=encoding, norm=norm, residual=residual, bias=bias, mlp=mlp, **given)


def random_row(spec, seed=0, size=0.5):
    """Weights far from their initialisation, so that every term of a gradient counts."""
    a = spec.architecture
    row = np.zeros(layout(a).size)
    p, rng = layout(a).views(row), np.random.default_rng(seed)
    for array in p.values():
        array[...] = size * rng.standard_normal(array.shape)
    if a.is_bag:
        p["E"][:2] = 0
    return row


def random_sample(spec, seed=1):
    rng = np.random.default_rng(seed)
    return (rng.random((spec.m, spec.T)) > 0.4).astype(np.uint8), rng.integers(0, 2, spec.m, dtype=np.uint8)


def engine_of(spec, engine, row=None, sample=None, dtype="float64"):
    """An engine that is about to make its first step from these weights."""
    if engine == "compiled":
        needs_kernel(dtype)
    made = make_engine(spec, engine=engine, dtype=dtype)
    made.start(spec, 0, random_sample(spec) if sample is None else sample)
    if row is not None:
        made.load(row)  # type: ignore[attr-defined]
    return made


def one_step(spec, engine, row, sample=None, dtype="float64", *, number=0):
    """Margins and gradient at `row`: one step of plain descent with a rate that moves nothing."""
    still = replace(spec, optimiser="sgd", learning_rate=1e-300 if dtype == "float64" else 1e-38, clip=0.0)
    made = engine_of(still, engine, row, sample, dtype)
    if isinstance(made, CompiledEngine):
        made._step = number
        made.advance(1)
        gradient, margins = made.gradient, made.margins
    else:
        made._step = number
        made.advance(1)
        gradient, margins = made.gradient.numpy(), made.margins.numpy()
    return margins.astype(np.float64), gradient[: layout(spec.architecture).n_trained].astype(np.float64)


def close(a, b, tolerance):
    """Largest difference, relative to the largest entry where that exceeds one."""
    return float(np.abs(a - b).max()) <= tolerance * max(1.0, float(np.abs(b).max()))


def weights_of(made):
    """The weights that an engine holds now."""
    return made.flat.double().numpy() if hasattr(made, "flat") else made.weights.astype(np.float64)


torch.set_num_threads(1)
