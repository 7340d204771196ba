"""Errata of the weights that appendix B of the paper writes down: exponents, a coordinate, a norm."""

import itertools
import math
from dataclasses import replace

import numpy as np

from sparsehead.certify import verify
from sparsehead.construct.paper import bump_net, paper_model
from sparsehead.functions import parity, parse
from sparsehead.heads import encoding as encodings

from .claim import Context, Finding, claim, finding


@claim(
    "errata-paper-10",
    kind="erratum",
    where="paper lemmas B.2 and B.4, exponents (our reading)",
    about="single-head",
)
def check_errata_paper_10(context: Context) -> Finding:
    """The attention outside $I$ is bounded with a score gap of $R(1 - s Delta)$. Scores inside $I$ are themselves
    unequal for $Delta > 0$, so the printed keys leave a gap of $R(1 - (2s - 1) Delta)$ only, which is attained: with
    the printed $R$ most of the attention can fall outside $I$.
    """
    s, T, delta = 3, 400, 0.15
    gram = np.full((T, T), delta) + (1 - delta) * np.eye(T)
    gram[:s, :s] = (1 + delta) * np.eye(s) - delta
    P = np.hstack([np.zeros((T, 3)), np.linalg.cholesky(gram)])
    encoding = encodings.Encoding("random", T, np.eye(2, T + 3), P, np.eye(3, T + 3)[2])
    f, R = parity((0, 1, 2), T=T), math.log(8 * T / (2 / s)) / (1 - s * delta)
    layer = paper_model(f, encoding, printed=frozenset({"key"})).layers[0]
    scores = P @ layer.W_K[0, :, 0]
    gap = float(scores[:s].min() - scores[s:].max())
    weights = np.exp(R * np.append(scores, 0.0))  # [CLS] scores 0
    outside = float(1 - weights[:s].sum() / weights.sum())
    promised = (T - s + 1) * math.exp(-R * (1 - s * delta))
    right = abs(gap - (1 - (2 * s - 1) * delta)) < 1e-9 and abs(encoding.coherence() - delta) < 1e-9
    return finding(
        right and outside > 0.5 > promised,
        paper=f"at most {promised:.3f} outside I",
        ours=f"{outside:.3f} outside I",
        detail=f"$T = {T}$, $s = {s}$, $Delta = {delta}$: relevant positions $-Delta$ to each other, "
        f"$+Delta$ to the rest. Score gap {gap:.3f} $R$, not {1 - s * delta:.2f} $R$.",
        outside=outside,
        gap=gap,
    )


@claim("errata-paper-11", kind="erratum", where="paper appendix B, weights of the s heads", about="s-heads")
def check_errata_paper_11(context: Context) -> Finding:
    """For $s$ heads $W_V = (E_0 - E_1) e_2^T$ is printed, while $W_C = e_1 e_h^T$ reads the first coordinate: the
    product is 0 and every head outputs 0. $e_1$ is meant in both.
    """
    f = parse("x0 & !x2 ^ x4", T=6)
    model = paper_model(f, encodings.positional(6))
    layer, bits = model.layers[0], np.array(list(itertools.product([0, 1], repeat=6)))
    printed = replace(
        layer,
        W_V=np.concatenate([np.zeros_like(layer.W_V), layer.W_V], axis=2),
        W_C=np.concatenate([layer.W_C, np.zeros_like(layer.W_C)], axis=1),
    )
    silent = float(np.abs(replace(model, layers=(printed,)).cls_state(bits)).max())
    loud = float(np.abs(model.cls_state(bits)[:, : f.s]).min())
    return finding(
        silent == 0 and loud > 0.5 and verify(model, f).exact,
        paper=f"outputs of size {silent:g}",
        ours=f"outputs of size {loud:.2f} or more, and $f$ exactly",
        detail="A function of three bits at $T = 6$, all 64 inputs: the values put on the second "
        "coordinate, as printed, and on the first.",
    )


@claim(
    "errata-paper-12",
    kind="erratum",
    where="paper lemma B.8, norm of the second layer (our reading)",
    about="bump-net",
)
def check_errata_paper_12(context: Context) -> Finding:
    """$||W_2||_inf <= 2 d_f/delta$ cannot be the bound: the second layer adds up bumps with weights 1 and its bias is
    $2 d_f$ whatever $delta$, more than $2 d_f/delta$ for every $delta > 1$. $2 d_f$ holds for all.
    """
    largest = {}
    for d_f, delta in ((3, 2.0), (3, 0.25), (2, 5.0)):
        targets = np.vstack([np.zeros(d_f), np.full(d_f, 4 * delta)])
        (_, second), _ = bump_net(targets, np.array([0.0, 1.0]), delta, d_f)
        largest[(d_f, delta)] = float(max(np.abs(second.W).max(), np.abs(second.b).max()))
    exceeded = [case for case, size in largest.items() if size > 2 * case[0] / case[1]]
    return finding(
        exceeded == [(3, 2.0), (2, 5.0)] and all(size == 2 * d_f for (d_f, _), size in largest.items()),
        paper="at most $2 d_f/delta = 3$ at $d_f = 3$, $delta = 2$",
        ours=f"{largest[(3, 2.0)]:g} there; $2 d_f$ in every case",
        detail="Two targets $4 delta$ apart; $d_f = 3$ with $delta = 2$ and 1/4, $d_f = 2$ with $delta = "
        "5$; biases included.",
    )
