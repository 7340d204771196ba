"""Norms of a constructed model, compared with the values that formulas predict and with the paper's."""

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from .._base.errors import DomainError
from ..capacity.norms import matrix_norms, product_norms
from ..functions import SparseFunction
from ..heads.model import Model
from .attention import scale_for_leak
from .code import Code


def norm_report(model: Model, f: SparseFunction) -> dict[str, Any]:
    """Return the norms of every matrix, per head: Frobenius, spectral, (2,1), (2,1) of the transpose, (1,1).

    For compact models of one head, also `predicted`, norms of W_QK from eta, the scores of the relevant positions
    (|eta|_2 and |eta|_1), and `paper`, the norms of the paper's weights. W_QK includes the temperature.
    Paper: representation-norms
    """
    if model.L != 1:
        raise DomainError(f"a norm report is about one layer, this model has L={model.L}.")
    layer = model.layers[0]
    heads = []
    for h in range(model.H):
        named = {name: matrix_norms(getattr(layer, name)[h]) for name in ("W_Q", "W_K", "W_V", "W_C")}
        named["W_QK"] = product_norms(layer.W_Q[h] / layer.temperature, layer.W_K[h])
        shape = ("rows", "columns", "rank")
        heads.append(
            {W: {n: v for n, v in asdict(norms).items() if n not in shape} for W, norms in named.items()}
        )
    return {"heads": heads, "predicted": predicted_norms(model, f), "paper": paper_norms(model, f)}


def predicted_scores(T: int, code: Code, *, leak: float, attends_cls: bool, bag: bool = False) -> list[float]:
    """Return the scores eta_i of the relevant positions. With the integers c_i of the code and C = sum |c_i|, they are
    ln(n (1 - leak) / leak) + ln(|c_i| / C) for orthonormal or trainable positions and n irrelevant tokens, and ln(1 + N
    tau |c_i| / C) in a bag of vectors with N attended tokens, where tau is 1, or 1/(8 C) for mixed signs.
    """
    sizes, total = [abs(c) for c in code.weights], code.total
    if bag:
        tau = code.tilt if code.mixed else 1.0
        return [math.log1p((T + attends_cls) * tau * size / total) for size in sizes]
    n = T - len(sizes) + attends_cls
    move = math.log1p(code.tilt) if code.mixed else 0.0
    beta = scale_for_leak(np.zeros(n), np.full(n, move), total=total, leak=leak)
    return [beta + math.log(size) for size in sizes]


def predicted_norms(model: Model, f: SparseFunction) -> dict[str, float] | None:
    """Return norms of W_QK by formula, for compact one-head models with one-hot rows and positive code; else None."""
    code = model.meta.get("code")
    if code is None or model.encoding.P is not None or min(code) < 0 or f.s == 0:
        return None
    eta = predicted_scores(
        f.T, Code(tuple(code), 0), leak=model.meta["leak"],
        attends_cls=model.attends_cls, bag=not model.encoding.additive,
    )  # fmt: skip
    length = math.sqrt(sum(e * e for e in eta))
    return {"frobenius": length, "spectral": length, "n21": sum(eta), "n21_T": length, "n11": sum(eta)}


def paper_norms(model: Model, f: SparseFunction) -> dict[str, float] | None:
    """Return the Frobenius norms of the paper's weights for this T and s, if all embeddings are orthonormal.

    W_Q has the norm R, the scale of the scores, which grows like ln T; W_K, W_V and W_C have norms O(sqrt s).
    Paper: errata-paper-6
    """
    s = f.s
    if s == 0:
        return None
    if model.encoding.additive:
        R = math.log(8 * f.T * s / 2)
        return {"W_Q": R, "W_K": math.sqrt(s), "W_V": math.sqrt(2), "W_C": 1.0, "W_QK": R * math.sqrt(s)}
    R = math.log(8 * f.T * s * s)
    root = math.sqrt(s + 1)
    return {"W_Q": R, "W_K": root, "W_V": math.sqrt(2 * s), "W_C": math.sqrt(s), "W_QK": R * root}
