"""The forward pass in JavaScript against Python's, on random models, in the browser that will run it."""

from itertools import pairwise

import numpy as np
import pytest

import sparsehead as sh
from sparsehead._base.rng import stream
from sparsehead.heads.block import Layer
from sparsehead.heads.encoding import bag, positional, random_positions, trainable
from sparsehead.heads.model import Dense, Model
from sparsehead.lab.head import head_tables
from sparsehead.lab.pages import assets


def random_model(seed):
    """A head, or several, of random shape: every encoding, activation and decoder that the page may meet."""
    rng = stream(seed, "random head")
    T, H, k, v = (int(rng.integers(1, top)) for top in (13, 4, 4, 4))
    own = trainable(rng.standard_normal((T, 5)), rng.standard_normal((2, 5)), rng.standard_normal(5))
    encoding = [positional(T), bag(T), own, random_positions(T, 6, rng=rng)][seed % 4]
    d = encoding.d
    layer = Layer(
        W_Q=rng.standard_normal((H, d, k)),
        W_K=rng.standard_normal((H, d, k)),
        W_V=rng.standard_normal((H, d, v)),
        W_C=rng.standard_normal((H, v, d)),
        b_Q=rng.standard_normal((H, k)) if seed % 3 else None,
        b_K=rng.standard_normal((H, k)) if seed % 2 else None,
        b_V=rng.standard_normal((H, v)) if seed % 5 else None,
        b_C=rng.standard_normal(d) if seed % 7 else None,
        temperature=float(rng.uniform(0.5, 2)),
        sigma=("identity", "relu", "tanh")[seed % 3],
        residual=bool(seed % 2),
    )
    widths = [d, *rng.integers(1, 6, seed % 3).tolist()]
    decoder = tuple(Dense(rng.standard_normal((a, b)), rng.standard_normal(b)) for a, b in pairwise(widths))
    w = rng.standard_normal(widths[-1])
    return Model(
        encoding, (layer,), w=w, bias=float(rng.normal()), decoder=decoder, attends_cls=bool(seed % 4)
    )


@pytest.fixture(scope="module")
def run_forward(browser):
    """forward(head, bits) of static/head.js for many inputs at once."""
    script = assets()["/static/head.js"].content.decode().replace("export function", "function")
    page = browser.new_page()
    page.add_script_tag(content=f"{script}\nwindow.forward = forward;")
    yield lambda head, inputs: page.evaluate(
        """([head, inputs]) => inputs.map((bits) => {
            const { weights, output, predicts } = forward(head, bits);
            return { weights: weights.map((row) => [...row]), output, predicts };
        })""",
        [head, inputs],
    )
    page.close()


@pytest.mark.browser
def test_the_page_computes_what_python_computes_on_random_models(run_forward):
    for seed in range(40):
        model = random_model(seed)
        bits = stream(seed, "bits").integers(0, 2, (6, model.T))
        found = run_forward(head_tables(model), bits.tolist())
        outputs, weights = model(bits), model.attention(bits)
        scale = max(1.0, float(np.abs(outputs).max()))
        assert np.array([f["output"] for f in found]) == pytest.approx(outputs, abs=1e-9 * scale), seed
        assert np.array([f["weights"] for f in found]) == pytest.approx(weights, abs=1e-9), seed
        assert [f["predicts"] for f in found] == model.predict(bits).tolist()


@pytest.mark.browser
@pytest.mark.parametrize(
    "settings", [{}, {"heads": "s"}, {"method": "paper"}, {"encoding": "bag"}, {"attends_cls": False}]
)
def test_the_page_computes_what_python_computes_on_written_heads(run_forward, settings):
    f = sh.parse("x2 & !x5 | x7", T=9) if "encoding" not in settings else sh.parse("x2 & x5", T=9)
    model = sh.build(f, **settings)
    bits = np.array([[(n >> t) & 1 for t in range(9)] for n in range(512)])
    found = run_forward(head_tables(model), bits.tolist())
    assert np.array([f["output"] for f in found]) == pytest.approx(model(bits), abs=1e-9)
    assert [one["predicts"] for one in found] == f(bits).tolist()
