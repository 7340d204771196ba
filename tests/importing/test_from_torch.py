import numpy as np
import pytest

import sparsehead as sh
from sparsehead._base.rng import stream
from sparsehead.functions import assignments, from_table

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from torch import nn  # noqa: E402

from .kinds import KINDS, embedded, layer  # noqa: E402


def check(name, seed, T):
    """One random network: its outputs, and the verdicts on its own labels, right and with one label changed."""
    make, is_model = KINDS[name]
    rng = stream(seed, "import", name)
    module, asked, outputs = make(rng, T)
    found = sh.from_torch(module, **asked)
    bits = assignments(T)
    assert isinstance(found, sh.Model) == is_model, found
    scale = max(1.0, np.abs(outputs).max())
    assert np.abs(found(bits) - outputs).max() <= 1e-12 * scale
    threshold = float(np.median(outputs)) + 1e-7 * scale  # so that both labels occur
    found = sh.from_torch(module, **asked, threshold=threshold)
    table = (outputs > threshold).astype(np.uint8)
    verdict = sh.verify(found, from_table(T=T, support=range(T), table=table))
    assert verdict.correct is True, verdict
    wrong = int(rng.integers(2**T))
    table[wrong] ^= 1
    verdict = sh.verify(found, from_table(T=T, support=range(T), table=table))
    assert verdict.correct is False
    assert verdict.counterexample.tolist() == bits[wrong].tolist()


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("seed", [0, 1])
def test_outputs_and_verdicts_are_those_of_enumeration(name, seed):
    check(name, seed, T=3 + seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_outputs_and_verdicts_of_fifty_of_each_kind(name):
    for seed in range(50):
        check(name, 100 + seed, T=12 if seed == 0 else 2 + seed % 7)


def test_the_distance_is_measured_and_said():
    module, asked, _ = KINDS["post-norm layer"][0](stream(3, "import"), 5)
    model = sh.from_torch(module, **asked)
    assert isinstance(model, sh.Model) and model.meta["source"] == "TransformerEncoderLayer"
    assert 0 <= model.meta["distance"] < 1e-12 and model.meta["inputs_compared"] == 32


def test_a_module_that_computes_something_else_than_its_weights_say_is_not_a_model():
    class Doubled(nn.TransformerEncoderLayer):
        def forward(self, src, *args, **kwargs):
            return super().forward(src) * 2

    module = Doubled(8, 2, 12, batch_first=True).double()
    rng = stream(0, "doubled")
    E, P, w = (rng.standard_normal(shape) for shape in ((3, 8), (4, 8), 8))
    found = sh.from_torch(module, embeddings=E, positions=P, readout=w)
    assert isinstance(found, sh.Network) and "differs from it by" in found.why
    plain = nn.TransformerEncoderLayer(8, 2, 12, batch_first=True).double()
    plain.load_state_dict(module.state_dict())
    half = sh.from_torch(plain, embeddings=E, positions=P, readout=w)
    np.testing.assert_allclose(found(assignments(4)), 2 * half(assignments(4)), atol=1e-12)


def test_what_a_module_computes_decides_not_what_it_is_called():
    """torch's fused evaluation takes nn.GELU("tanh") for the exact GELU; without biases it is not used."""
    rng = stream(0, "fused")
    E, P, w = (rng.standard_normal(shape) for shape in ((3, 8), (4, 8), 8))
    for bias in (True, False):
        layer = nn.TransformerEncoderLayer(
            8, 2, 12, activation=nn.GELU("tanh"), batch_first=True, bias=bias
        ).double()
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.copy_(torch.as_tensor(rng.standard_normal(parameter.shape)))
        found = sh.from_torch(layer, embeddings=E, positions=P, readout=w)
        assert isinstance(found, sh.Network) == bias
        if isinstance(found, sh.Network):
            assert "differs from it by" in found.why
        else:
            assert found.layers[0].mlp.activation == "gelu_tanh"


def encoder_with(norm):
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 12), 1, norm, enable_nested_tensor=False)


@pytest.mark.parametrize(
    ("module", "why"),
    [
        (nn.MultiheadAttention(8, 2, add_bias_kv=True), "extra token"),
        (nn.TransformerEncoderLayer(8, 2, 12, activation=nn.SiLU()), "activation SiLU"),
        (encoder_with(nn.LayerNorm(8)), "two norms follow"),
        (encoder_with(nn.RMSNorm(8)), "norm is a RMSNorm"),
        (nn.Sequential(nn.Linear(8, 8), nn.ReLU()), "Sequential is not one of nn.MultiheadAttention"),
    ],
    ids=["bias_kv", "silu", "two norms", "rms", "another module"],
)  # fmt: skip
def test_one_sentence_says_why_there_is_no_model(module, why):
    rng = stream(0, "why")
    E, P, w = (rng.standard_normal(shape) for shape in ((3, 8), (4, 8), 8))
    found = sh.from_torch(module, embeddings=E, positions=P, readout=w)
    assert isinstance(found, sh.Network) and why in found.why and "\n" not in found.why
    assert found(assignments(4)).shape == (16,)
    assert sh.read(found, seed=0).proved


def test_a_readout_may_have_a_bias_or_be_a_linear_map():
    module, asked, outputs = embedded(lambda rng: layer(rng, norm_first=True))(stream(5, "readout"), 4)
    bits, w = assignments(4), asked.pop("readout")
    shifted = sh.from_torch(module, **asked, readout=(w, -0.5))
    np.testing.assert_allclose(shifted(bits), outputs - 0.5, atol=1e-12)
    one, two = nn.Linear(8, 1, dtype=torch.float64), nn.Linear(8, 2, dtype=torch.float64)
    with torch.no_grad():
        one.weight.copy_(w[None])
        two.weight.copy_(torch.stack([torch.zeros(8), w]))
        two.bias.copy_(torch.tensor([1.0, 3.0]))
    assert sh.from_torch(module, **asked, readout=one).threshold == 0.5
    np.testing.assert_allclose(
        sh.from_torch(module, **asked, readout=one)(bits), outputs + one.bias.item(), atol=1e-12
    )
    logits = sh.from_torch(module, **asked, readout=two)
    assert logits.threshold == 0
    np.testing.assert_allclose(logits(bits), outputs + 2, atol=1e-12)


def test_the_module_is_left_as_it_was_and_the_import_keeps_what_it_saw():
    module, asked, outputs = KINDS["post-norm encoder"][0](stream(6, "import"), 3)
    module.train()
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    found = sh.from_torch(module, **asked)
    assert module.training
    assert all(torch.equal(tensor, before[name]) for name, tensor in module.state_dict().items())
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.zero_()
    np.testing.assert_allclose(found(assignments(3)), outputs, atol=1e-12)


class And(nn.Module):
    """x1 & x3 of floats."""

    def forward(self, bits):
        return bits[:, 1] * bits[:, 3]


class Table(nn.Module):
    """x2, looked up; takes whole numbers only, and answers with (n, 1)."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding.from_pretrained(torch.tensor([[-1.0], [1.0]]))

    def forward(self, bits):
        return self.table(bits)[:, 2]


def test_read_and_verify_take_a_module_of_bits():
    reading = sh.read(And(), T=9, seed=0)
    assert reading.formula == "x1 & x3" and reading.proved
    assert sh.verify(And(), sh.parse("x1 & x3", T=9)).correct is True
    refuted = sh.verify(And(), sh.parse("x1", T=9))
    assert refuted.correct is False and refuted.counterexample[1] == 1 and refuted.counterexample[3] == 0
    assert sh.read(Table(), T=5, seed=0, threshold=0).formula == "x2"
    assert sh.verify(sh.from_torch(Table(), T=5, threshold=0), "x2").correct is True


def test_a_module_of_to_torch_is_read_and_verified_as_its_model():
    f = sh.parse("x1 & x3", T=40)
    module = sh.to_torch(sh.build(f))
    assert sh.verify(module, f).exact
    assert sh.read(module, seed=0).proved
    assert isinstance(sh.from_torch(module), sh.Model)


def test_nothing_is_called_exact_or_proved_that_was_only_run():
    f = sh.parse("x1 & x3", T=9)
    run = sh.verify(And(), f)
    assert not run.exact and run.method == "exhaustive" and "were run" in run.note
    long = sh.verify(And(), sh.parse("x1 & x3", T=40))
    assert long.correct is None and long.method == "search" and long.max_error == np.inf
    assert sh.verify(And(), sh.parse("x1 | x3", T=40)).correct is False
    assert not sh.read(And(), T=40, seed=0).proved


def test_an_answer_that_depends_on_the_batch_proves_nothing():
    class Centred(nn.Module):
        def forward(self, bits):
            return bits[:, 0] - bits[:, 1:].mean() if len(bits) > 1 else bits[:, 0]

    found = sh.verify(sh.from_torch(Centred(), T=3, threshold=0.7), "x0")
    assert found.correct is None and "depending on those" in found.note


def test_a_causal_network_of_two_layers_says_so():
    module, asked, _ = KINDS["causal HookedTransformer"][0](stream(0, "causal"), 3)
    found = sh.from_torch(module, **asked)
    assert isinstance(found, sh.Network) and "a causal mask hides later tokens" in found.why
