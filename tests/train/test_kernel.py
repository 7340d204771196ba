"""The torch engine = Model; the compiled engine = the torch engine, in outputs and gradients, for every option."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch

from sparsehead.train.transformer import build, forward
from sparsehead.train.transformer.layout import layout
from sparsehead.train.transformer.weights import to_model

from .support import (
    GRADIENT,
    OPTIONS,
    OUTPUT,
    close,
    engine_of,
    needs_kernel,
    one_step,
    random_row,
    random_sample,
    spec_of,
    tiny,
)

SHAPES = (
    {"sigma": "identity", "H": 1, "scaled": True},
    {"sigma": "relu", "H": 3, "scaled": False},
    {"sigma": "tanh", "H": 3, "scaled": True, "m": 1},
    {"sigma": "gelu", "H": 1, "scaled": False, "T": 1},
)


@pytest.mark.parametrize(("encoding", "norm", "residual", "bias", "mlp"), OPTIONS)
def test_torch_agrees_with_the_model_and_the_kernel_with_torch(encoding, norm, residual, bias, mlp):
    for shape in SHAPES:
        spec = tiny(encoding, norm, residual, bias, mlp, **shape)
        row, sample = random_row(spec), random_sample(spec)
        margins, gradient = one_step(spec, "torch", row, sample)
        assert close(margins, to_model(spec.architecture, row)(sample[0]), OUTPUT)
        found = one_step(spec, "compiled", row, sample)
        assert close(found[0], margins, OUTPUT) and close(found[1], gradient, GRADIENT)


@pytest.mark.parametrize("positions", ["trainable", "sinusoidal"])
def test_fixed_positions_have_no_gradient_but_bit_vectors_do(positions):
    spec = tiny("trainable", True, True, True, 9, positions=positions)
    row = random_row(spec)
    (_, expected), (_, found) = one_step(spec, "torch", row), one_step(spec, "compiled", row)
    assert close(found, expected, GRADIENT)
    at = layout(spec.architecture)
    inside = {s.name for s in at.segments if s.start < at.n_trained}
    assert ("P" in inside) == ("P_cls" in inside) == (positions == "trainable") and "E" in inside


@pytest.mark.parametrize("L", [2, 3])
@pytest.mark.parametrize("encoding", ["trainable", "bag"])
def test_deep_models_agree_with_the_model(L, encoding):
    """Table and token forms of the first layer give the same margins and gradients."""
    for norm, bias, sigma in ((True, True, "relu"), (False, False, "identity")):
        spec = tiny(encoding, norm, True, bias, 9, L=L, sigma=sigma, m=4)
        row, (bits, labels) = random_row(spec), random_sample(spec)
        margins, gradient = one_step(spec, "torch", row, (bits, labels))
        assert close(margins, to_model(spec.architecture, row)(bits), OUTPUT)
        made = engine_of(spec, "torch", row, (bits, labels))
        tokens = forward.margins(made.p, made.a, made.bits)
        assert close(tokens.detach().numpy(), margins, OUTPUT)
        forward.losses(tokens, made.labels).mean().backward()
        assert close(gathered(made), gradient, GRADIENT)


@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("encoding", ["trainable", "bag"])
@pytest.mark.parametrize("size", [3.0, 10.0, 30.0, 100.0, 500.0, 3000.0])
def test_large_scores_are_never_wrong(norm, encoding, size):
    """From scores that cancel in a difference to those that underflow in any shared shift."""
    spec = tiny(encoding, norm, True, True, 9, T=23, m=40)
    row, (bits, labels) = random_row(spec, seed=3), random_sample(spec)
    p = layout(spec.architecture).views(row)
    p["W_K.0"] *= size / largest_score(spec, row)
    assert largest_score(spec, row) == pytest.approx(size)
    expected = to_model(spec.architecture, row)(bits)
    made = engine_of(spec, "torch", row, (bits, labels))
    forward.losses(forward.margins(made.p, made.a, made.bits), made.labels).mean().backward()
    exact = gathered(made)
    for engine in ("torch", "compiled"):
        margins, gradient = one_step(spec, engine, row, (bits, labels))
        assert close(margins, expected, OUTPUT) and close(gradient, exact, GRADIENT)
        predicted = engine_of(spec, engine, row, (bits, labels)).predict(bits)
        assert (predicted == (expected > 0)).all()


@pytest.mark.parametrize(("H", "k"), [(1, 2), (2, 7), (4, 4), (3, 9), (16, 2), (16, 4), (16, 5)])
@pytest.mark.parametrize("size", [1.0, 30.0])
def test_any_number_of_columns_is_summed(H, k, size):
    """k H values and H scores, from part of a vector to more than are summed at once; large scores sum set and clear
    bits apart."""
    spec = tiny("trainable", True, True, True, 0, T=27, H=H, k=k)
    row = random_row(spec, seed=1)
    layout(spec.architecture).views(row)["W_K.0"][...] *= size / largest_score(spec, row)
    (margins, gradient), found = one_step(spec, "torch", row), one_step(spec, "compiled", row)
    assert close(found[0], margins, OUTPUT) and close(found[1], gradient, GRADIENT)


def test_steps_after_one_that_sums_apart_are_the_same_in_one_call_and_in_many():
    spec = tiny("trainable", True, True, True, 9, T=23, m=40, n_steps=20)
    row = random_row(spec, seed=3)
    layout(spec.architecture).views(row)["W_K.0"][...] *= 30.0 / largest_score(spec, row)
    at_once, one_by_one = (engine_of(spec, "compiled", row) for _ in range(2))
    together = at_once.advance(8)
    assert close(np.array(together), np.concatenate([one_by_one.advance(1) for _ in range(8)]), 1e-9)


def gathered(made):
    """The gradient that autograd left at the weights, as a row."""
    at = layout(made.a)
    row = np.zeros(at.size)
    for name, view in at.views(row).items():
        if made.p[name].grad is not None:
            view[...] = made.p[name].grad.numpy()
    return row[: at.n_trained]


def largest_score(spec, row):
    """The largest difference between two scores of one head that the table form can meet."""
    p = {name: torch.from_numpy(w) for name, w in layout(spec.architecture).views(row).items()}
    a = spec.architecture
    z = forward.norm(forward.token_table(p, a), p, "1.0", a)
    q = forward.heads(forward.linear(z[-1:], p["W_Q.0"], p.get("b_Q.0")), a) / a.temperature
    return float((z @ (forward.heads(p["W_K.0"], a) * q).sum(1)).abs().max())


@pytest.mark.parametrize("encoding", ["trainable", "random", "bag"])
@pytest.mark.parametrize("norm", [True, False])
def test_gradients_match_finite_differences(encoding, norm):
    spec = tiny(encoding, norm, True, True, 9)
    row, (bits, labels) = random_row(spec), random_sample(spec)
    _, gradient = one_step(spec, "torch", row, (bits, labels))
    rng, h = np.random.default_rng(0), 1e-6

    def loss(shift):
        moved = row.copy()
        moved[: len(shift)] += shift
        margins = to_model(spec.architecture, moved)(bits)
        return np.logaddexp(0, (1 - 2.0 * labels) * margins).mean()

    for _ in range(5):
        way = rng.standard_normal(len(gradient))
        slope = (loss(h * way) - loss(-h * way)) / (2 * h)
        # the error of a central difference: h^2 times a third derivative, and rounding 1e-16 / h
        assert float(gradient @ way) == pytest.approx(slope, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize(("T", "m"), [(600, 50), (97, 131)])
def test_the_float32_kernel_is_as_accurate_as_float32_allows(T, m):
    spec = spec_of(T=T, m=m, d=64, H=16, k=4, mlp=256)
    row = random_row(spec, size=0.1)
    row = row.astype(np.float32).astype(np.float64)
    margins, gradient = one_step(spec, "torch", row)
    found = one_step(spec, "compiled", row, dtype="float32")
    # sums of T terms in float32, eps = 6e-8, two layers of products
    assert close(found[0], margins, 2e-5)
    assert np.abs(found[1] - gradient).max() < 2e-5 * np.abs(gradient).max()


def test_subnormal_numbers_are_zero_inside_the_kernel_and_numbers_outside():
    """Saturated attention makes many of them, and arithmetic with each takes a hundred times longer."""
    tiny_gradient = spec_of(clip=2e-18)  # second moments of at most 4e-39
    made = engine_of(tiny_gradient, "compiled", dtype="float32")
    made.advance(1)
    first, second = made._moments
    assert (first != 0).any() and not second.any()
    made.predict(made.bits)
    assert np.float32(1e-40) * np.float32(0.5) > 0


def test_the_struct_lies_in_memory_as_c_has_it():
    kernel = needs_kernel()
    names = [name for name, _ in kernel.spec._fields_]
    offsets = [getattr(kernel.spec, name).offset for name in names]
    assert offsets == [kernel.functions.spec_offset(i) for i in range(len(names))]
    assert ctypes.sizeof(kernel.spec) == kernel.functions.spec_offset(len(names))
    assert {"T", "n_decayed", "optimiser", "adam_eps", "clip", "dropout"} <= set(names)


def test_what_is_not_a_number_is_not_converted_to_a_whole_one(tmp_path):
    """Converting NaN to an integer is undefined in C."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no compiler")
    header = Path(build.__file__).parent / "kernel" / "special.h"
    source, program = tmp_path / "nan.c", tmp_path / "nan"
    source.write_text(
        f'#include "{header}"\nint main(void) {{ volatile float zero = 0; real value, slope;'
        " gelu(zero / zero, &value, &slope);"
        " return !(value != value && slope != slope && exp_negative(zero) == 1); }\n"
    )
    sanitised = ["-fsanitize=undefined,float-cast-overflow", "-fno-sanitize-recover=all"]
    if subprocess.run([compiler, *sanitised, "-o", program, source, "-lm"], capture_output=True).returncode:
        pytest.skip("no sanitisers")
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
