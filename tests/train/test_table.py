"""Table path = general path = Model on the same weights, in outputs and gradients, for every option both allow."""

import itertools

import numpy as np
import pytest
import torch

from sparsehead.architecture import Architecture
from sparsehead.train import general, plain, safe
from sparsehead.train.compiled import kernel_spec, library
from sparsehead.train.gradient import step as fast_step
from sparsehead.train.parameters import Ensemble
from sparsehead.train.weights import to_model
from sparsehead.train.workspace import Workspace

OUTPUT, GRADIENT = 1e-10, 1e-8  # float64: what the project promises
OPTIONS = list(
    itertools.product(("trainable", "random", "bag"), (True, False), (True, False), (True, False), (0, 9))
)


def architecture(encoding, norm, residual, bias, mlp, **more):
    settings = {"T": 7, "d": 6, "H": 3, "k": 2, **more}
    return Architecture(encoding=encoding, norm=norm, residual=residual, bias=bias, mlp=mlp, **settings)


def random_weights(a, n_runs=1, *, dtype=torch.float64, seed=0):
    p = Ensemble.zeros(a, n_runs, dtype=dtype)
    p.flat.normal_(0, 0.5, generator=torch.Generator().manual_seed(seed))
    if a.is_bag:
        p["E"][:, :2] = 0
    return p


def sample(a, m=11, n_runs=1, seed=1):
    g = torch.Generator().manual_seed(seed)
    bits = (torch.rand(n_runs, m, a.T, generator=g) > 0.4).double()
    return bits, (torch.rand(n_runs, m, generator=g) > 0.5).double()


def compiled(p, bits, labels, *, dropout=0.0, number=0, seed=0):
    """Margins and gradient of the compiled kernel, or None where it hands the step back."""
    a, m = p.architecture, bits.shape[1]
    name = str(p.flat.dtype).removeprefix("torch.")
    lib, spec = library(name), kernel_spec(p.architecture, m, dropout=dropout)
    if lib is None:
        pytest.skip("no C compiler here; the torch form is tested instead")
    gradient = Ensemble.zeros(a, 1, dtype=p.flat.dtype)
    margins, loss = torch.zeros(m, dtype=p.flat.dtype), torch.zeros(1, dtype=p.flat.dtype)
    scratch = torch.full(
        (lib.training_scratch_size(spec),), float("nan"), dtype=p.flat.dtype
    )  # nothing may be read first
    given = bits[0].to(torch.uint8).contiguous(), labels[0].contiguous()
    weights, slope, *rest = (x.data_ptr() for x in (p.flat, gradient.flat, *given, margins, loss, scratch))
    return None if lib.gradient(spec, weights, slope, number, seed, *rest) else (margins[None], gradient)


def trained(gradient):
    return gradient.flat[:, : gradient.layout.n_trained]


def close(a, b, tolerance):
    """Largest difference, relative to the largest entry where that exceeds one."""
    return float((a - b).abs().max()) <= tolerance * max(1.0, float(b.abs().max()))


@pytest.mark.parametrize(("encoding", "norm", "residual", "bias", "mlp"), OPTIONS)
def test_all_paths_agree_with_the_model(encoding, norm, residual, bias, mlp):
    for sigma, H, scaled in (
        ("identity", 1, True),
        ("relu", 3, False),
        ("tanh", 3, True),
        ("gelu", 1, False),
    ):
        a = architecture(encoding, norm, residual, bias, mlp, sigma=sigma, H=H, scaled=scaled)
        p, (bits, labels) = random_weights(a), sample(a)
        reference = torch.from_numpy(to_model(p)(bits[0].numpy()))[None]
        obvious = Ensemble.zeros(a, 1, dtype=torch.float64)
        assert close(plain.add_gradient(p, obvious, bits, labels, by_sample=True), reference, OUTPUT)
        found = Ensemble.zeros(a, 1, dtype=torch.float64)
        _, margins = general.step(p, found, bits, labels, dropout=0.0, seed=0, number=0)
        assert close(margins, reference, OUTPUT) and close(trained(found), trained(obvious), GRADIENT)
        _, margins = safe.step(p, found, bits, labels, Workspace(dtype=torch.float64))
        assert close(margins, reference, OUTPUT) and close(trained(found), trained(obvious), GRADIENT)
        result = compiled(p, bits, labels)
        if result is not None:
            assert close(result[0], reference, OUTPUT)
            assert close(trained(result[1]), trained(obvious), GRADIENT)


@pytest.mark.parametrize("L", [2, 3])
@pytest.mark.parametrize("encoding", ["trainable", "bag"])
def test_deep_models_agree_with_the_model(L, encoding):
    for norm, bias in ((True, True), (False, False)):
        a = architecture(encoding, norm, True, bias, 9, L=L, sigma="relu")
        p, (bits, _) = random_weights(a), sample(a, m=4)
        reference = to_model(p)(bits[0].numpy())
        assert np.abs(general.margins(p, bits[0]).numpy() - reference).max() < OUTPUT


@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("encoding", ["trainable", "bag"])
@pytest.mark.parametrize("size", [3.0, 10.0, 30.0, 100.0, 500.0])
def test_large_scores_are_never_wrong(norm, encoding, size):
    a = architecture(encoding, norm, True, True, 9, T=23)
    p, (bits, labels) = random_weights(a, seed=3), sample(a, m=40)
    scores, _, _ = plain.tables(p)
    p["W_K.0"].mul_(size / scores.abs().max())
    assert float(plain.tables(p)[0].abs().max()) == pytest.approx(size)
    reference = torch.from_numpy(to_model(p)(bits[0].numpy()))[None]
    obvious, found = (Ensemble.zeros(a, 1, dtype=torch.float64) for _ in range(2))
    plain.add_gradient(p, obvious, bits, labels, by_sample=True)
    _, margins = safe.step(p, found, bits, labels, Workspace(dtype=torch.float64))
    assert close(margins, reference, OUTPUT) and close(trained(found), trained(obvious), GRADIENT)
    assert close(safe.Margins(p, Workspace(dtype=torch.float64))(bits), reference, OUTPUT)
    result = compiled(p, bits, labels)
    if result is not None:  # else it said that it could not
        assert close(result[0], reference, OUTPUT) and close(trained(result[1]), trained(obvious), GRADIENT)


def test_the_guard_fires_where_sums_cancel_and_the_kernel_sums_apart():
    a = architecture("trainable", True, True, True, 9, T=23)
    p, (bits, labels) = random_weights(a, seed=3), sample(a, m=40)
    p["W_K.0"].mul_(300 / plain.tables(p)[0].abs().max())
    gradient = Ensemble.zeros(a, 1, dtype=torch.float64)
    assert bool(fast_step(p, gradient, bits, labels, Workspace(dtype=torch.float64))[2])
    exact = plain.add_gradient(p, gradient, bits, labels, by_sample=True)
    found = compiled(p, bits, labels)  # e^-600 still is a float64
    assert (
        found is not None and close(found[0], exact, OUTPUT) and close(found[1].flat, gradient.flat, GRADIENT)
    )


def test_the_kernel_hands_back_what_underflows():
    a = architecture("trainable", True, True, True, 9, T=23)
    p, (bits, labels) = random_weights(a, seed=3), sample(a, m=40)
    p["W_K.0"].mul_(5000 / plain.tables(p)[0].abs().max())
    assert compiled(p, bits, labels) is None
    p["W_K.0"].mul_(0.06)
    assert compiled(Ensemble(a, p.flat.float()), bits.float(), labels.float()) is None  # e^-600 is no float32


def test_an_ensemble_is_its_runs_one_by_one():
    a = architecture("trainable", True, True, True, 9)
    p, (bits, labels) = random_weights(a, 4), sample(a, n_runs=4)
    together = Ensemble.zeros(a, 4, dtype=torch.float64)
    loss, margins, _ = fast_step(p, together, bits, labels, Workspace(dtype=torch.float64))
    for i in range(4):
        alone, own = Ensemble.zeros(a, 1, dtype=torch.float64), slice(i, i + 1)
        one = fast_step(p.rows(i, i + 1), alone, bits[own], labels[own], Workspace(dtype=torch.float64))
        assert close(one[1], margins[own], 1e-13) and close(one[0], loss[own], 1e-13)  # order of sums only
        assert close(alone.flat, together.flat[own], 1e-13)


@pytest.mark.parametrize("encoding", ["trainable", "random", "bag"])
@pytest.mark.parametrize("norm", [True, False])
def test_gradients_match_finite_differences(encoding, norm):
    a = architecture(encoding, norm, True, True, 9)
    p, (bits, labels) = random_weights(a), sample(a)
    gradient = Ensemble.zeros(a, 1, dtype=torch.float64)
    safe.step(p, gradient, bits, labels, Workspace(dtype=torch.float64))
    rng, h, n = np.random.default_rng(0), 1e-6, gradient.layout.n_trained

    def loss(shift):
        moved = Ensemble(a, p.flat.clone())
        moved.flat[0, :n] += shift
        return float(plain.losses(plain.margins(moved, bits), labels).mean())

    for _ in range(5):
        way = torch.from_numpy(rng.standard_normal(n))
        slope = (loss(h * way) - loss(-h * way)) / (2 * h)
        # the error of a central difference: h^2 times a third derivative, and rounding 1e-16 / h
        assert float(gradient.flat[0, :n] @ way) == pytest.approx(slope, rel=1e-6, abs=1e-7)


def test_float32_kernel_is_as_accurate_as_float32_allows():
    a = Architecture(T=600)
    p32 = Ensemble.zeros(a, 1, dtype=torch.float32)
    p32.flat.normal_(0, 0.1, generator=torch.Generator().manual_seed(0))
    bits, labels = sample(a, m=50)
    p64, exact = Ensemble(a, p32.flat.double()), Ensemble.zeros(a, 1, dtype=torch.float64)
    margins = plain.add_gradient(p64, exact, bits, labels, by_sample=True)
    found = compiled(p32, bits.float(), labels.float())
    assert found is not None
    # sums of 600 terms in float32, eps = 6e-8, two layers of products
    assert float((found[0].double() - margins).abs().max()) < 2e-5
    assert float((found[1].flat.double() - exact.flat).abs().max()) < 2e-5 * float(exact.flat.abs().max())
