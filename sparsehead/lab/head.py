"""One small head as tables of scores and values and a decoder, which the page evaluates in the browser.

`static/head.js` computes the output from this record, so that the page responds to a flipped bit at once. Linear maps
between mixed values and first ReLU are multiplied together here. b_t: bit of token t; dense_i: later decoder layers.

    a_h    = softmax over tokens of scores[t][b_t][h]
    y      = offset + sum_h sigma( sum_t a_h[t] values[t][b_t][h] ) mix[h]
    output = bias + w . dense_n(.. dense_1(relu y))          with a decoder
    output = bias + w . y                                    without one
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..heads.model import Model

if TYPE_CHECKING:
    from ..certify.written import WrittenModel

MOST_NUMBERS = 120_000  # in the tables: about 2 MB of JSON


def head_tables(model: Model) -> dict[str, Any] | None:
    """Return the record for `static/head.js`; None for models of another form and for models too large to send.

    The model must be one layer of heads without MLP, projection and final LayerNorm; its decoder may have any depth.
    """
    layer = model.layers[0]
    small = (model.T + 1) * 2 * model.H * (1 + layer.W_V.shape[-1]) <= MOST_NUMBERS
    plain = layer.mlp is None and not layer.project and model.final_norm is None
    if model.L != 1 or not plain or not small or layer.sigma not in ("identity", "relu", "tanh"):
        return None
    scores, values = model.cls_tables()
    first = model.decoder[0].W if model.decoder else np.eye(model.d)
    offset = np.zeros(model.d) if layer.b_C is None else layer.b_C
    offset = (offset + (model.encoding.cls if layer.residual else 0)) @ first
    w = model.w
    mix = layer.W_C @ first
    if model.decoder:
        offset = offset + model.decoder[0].b
    else:  # everything is linear: one number instead of d
        offset, mix, w = np.array([offset @ w]), mix @ w[:, None], np.ones(1)
    return {
        "T": model.T,
        "H": model.H,
        "attends_cls": model.attends_cls,
        "sigma": layer.sigma,
        "scores": np.where(np.isfinite(scores), scores, 0.0).tolist(),
        "values": values.tolist(),
        "mix": mix.tolist(),
        "offset": offset.tolist(),
        "relu": bool(model.decoder),
        "dense": [{"W": dense.W.tolist(), "b": dense.b.tolist()} for dense in model.decoder[1:]],
        "w": w.tolist(),
        "bias": float(model.bias),
        "threshold": float(model.threshold),
    }


def built_record(written: "WrittenModel") -> dict[str, Any]:
    """Return the content of the page Build: the record of `sparsehead build --json`, the verdict and tables."""
    tables = {"head": head_tables(written.model), "weights": weight_matrices(written.model)}
    return {**written.to_dict(), "verdict": written.verdict, **tables}


def weight_matrices(model: Model) -> dict[str, list[list[float]]] | None:
    """Return W_Q, W_K, W_V and W_C^T of each head of a one-layer model, for display; None if they are too large."""
    layer = model.layers[0]
    if 4 * model.H * model.d * max(layer.W_Q.shape[-1], layer.W_V.shape[-1]) > MOST_NUMBERS // 4:
        return None
    found: dict[str, list[list[float]]] = {}
    for h in range(model.H):
        which = "" if model.H == 1 else f" of head {h}"
        matrices = {"W_Q": layer.W_Q[h], "W_K": layer.W_K[h], "W_V": layer.W_V[h], "W_C^T": layer.W_C[h].T}
        found |= {f"{name}{which}": matrix.tolist() for name, matrix in matrices.items()}
    return found
