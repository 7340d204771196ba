"""One-layer models with random weights, for tests of certificate files."""

from sparsehead.heads.block import Layer
from sparsehead.heads.encoding import trainable
from sparsehead.heads.model import Dense, Model


def random_model(rng, T):
    """One layer with everything that the checker knows, far from any construction."""
    d, H, k, v = 4, int(rng.integers(1, 3)), 2, int(rng.integers(1, 3))
    shape = {"W_Q": (H, d, k), "W_K": (H, d, k), "W_V": (H, d, v), "W_C": (H, v, d)}
    bias = {"b_Q": (H, k), "b_K": (H, k), "b_V": (H, v), "b_C": (d,)}
    parts = {name: rng.standard_normal(size) for name, size in shape.items()}
    parts |= {name: rng.standard_normal(size) for name, size in bias.items() if rng.integers(2)}
    sigma, residual = str(rng.choice(["relu", "identity"])), bool(rng.integers(2))
    layer = Layer(**parts, temperature=float(rng.uniform(0.5, 2)), sigma=sigma, residual=residual)
    hidden = int(rng.integers(0, 4))
    decoder = (Dense(rng.standard_normal((d, hidden)), rng.standard_normal(hidden)),) if hidden else ()
    encoding = trainable(rng.standard_normal((T, d)), rng.standard_normal((2, d)), rng.standard_normal(d))
    w = rng.standard_normal(hidden or d)
    return Model(encoding, (layer,), w=w, decoder=decoder, threshold=0.1, attends_cls=bool(rng.integers(2)))
