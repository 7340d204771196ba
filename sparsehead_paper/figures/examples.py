"""Figures that need no experiment: each is computed by one or two quick calls of the library."""

import math
from collections.abc import Collection
from fractions import Fraction
from typing import Any

import numpy as np

from sparsehead._base.rng import stream
from sparsehead.capacity import bound, norms
from sparsehead.capacity.declared import declare_model
from sparsehead.capacity.verdict import smallest
from sparsehead.certify import verify
from sparsehead.construct import build
from sparsehead.covering import covering_number
from sparsehead.figures.bounds import terms_figure
from sparsehead.figures.built import written_figure
from sparsehead.figures.covers import NOTES_SETS, cover_chart
from sparsehead.figures.theme import Chart, Fields, Rows
from sparsehead.floor.floor import floor
from sparsehead.functions import conjunction, parse
from sparsehead.functions.task import conjunction_p
from sparsehead.heads.block import Layer
from sparsehead.heads.encoding import positional
from sparsehead.heads.model import Model
from sparsehead.laws.thresholds import Threshold
from sparsehead.reading.occam import log_price, tail_inversion

from .certificates import CAPACITY, READ, certificates_chart
from .diagram import attention_module_diagram, head_reads_chart
from .norms import norms_chart
from .story import story_chart


def cover_figure(eps: str) -> Chart:
    """Draw exact covers of the notes' example at eps = 0.05 or 0.5, for both interpretations of its point set."""
    note = {
        "0.05": "The notes' figure 1. They say 3, which is right for both readings of the set.",
        "0.5": "The notes' figure 2. They say 2, which is right for neither reading of the set.",
    }[eps]
    panels: list[dict[str, Any]] = []
    for name, points in NOTES_SETS.items():
        cover = covering_number(points, eps=Fraction(eps))
        plane = [(float(x), float(y)) for x, y in points]
        panels.append({"points": plane, "eps": float(eps), "centers": cover.centers, "name": name})
    sizes = [len(p["centers"]) for p in panels]
    other = "" if sizes[0] == sizes[1] else f" or {sizes[1]}, depending on the set"
    both = f"{sizes[0]} balls{other}"
    return cover_chart(panels, title=f"At eps = {eps} the three points need {both}", note=note)


def modules_figure() -> Chart:
    """Draw the three attention modules: a written head, its [CLS] variant, and a layer with random weights."""
    f = conjunction((1, 3), T=5)
    bits = np.array([1, 1, 0, 1, 0])
    rng, d = stream(0, "figure", "modules"), positional(5).d
    W_Q, W_K, W_V = (rng.standard_normal((1, d, 3)) for _ in range(3))
    random = Layer(W_Q=W_Q, W_K=W_K, W_V=W_V, W_C=rng.standard_normal((1, 3, d)))
    layer = Model(positional(5), (random,), w=np.zeros(d))
    head, scalar = build(f, readout="mlp", attends_cls=False), build(f, readout="mlp")
    return attention_module_diagram([("head", head, bits), ("layer", layer, bits), ("scalar", scalar, bits)])


def reads_figure() -> Chart:
    """Draw a written head that reads 3 of 12 bits."""
    f = parse("x2 & x5 & x9", T=12)
    bits = np.array([0, 1, 1, 0, 1, 1, 0, 0, 1, 1, 0, 1])
    return head_reads_chart(build(f, readout="mlp"), bits, f.support, formula=str(f))


def story_figure(thresholds: Collection[Threshold]) -> Chart:
    """Draw the README's picture: attention of a written head on 200 random inputs, and the measured thresholds."""
    f = parse("x5 & x20 & x30", T=50)
    bits = stream(0, "figure", "story").integers(0, 2, (200, f.T))
    weights = build(f).attention(bits).mean(axis=(0, 1))
    return story_chart(weights, f.support, thresholds, formula=str(f))


def built_figure() -> Chart:
    """Draw a constructed parity: attention on two inputs, the decoder, and the certificate's verdict."""
    f = parse("x2 ^ x5 ^ x11", T=16)
    model = build(f, readout="mlp")
    return written_figure(model, f, exact=bool(verify(model, f).exact))


def norms_figure(tracr: Rows = ()) -> Chart:
    """Draw Frobenius norms of W_QK for AND of 3 bits against T, in our construction and in the paper's.

    Args:
        tracr: rows {T, builder, norm} of Tracr's norms, if they were measured.
    """
    rows: list[Fields] = []
    for T in (10, 30, 100, 300, 1000, 3000, 10_000):
        f = conjunction((0, T // 3, T - 1), T=T)
        for builder, method in (("ours", "compact"), ("the paper's", "paper")):
            heads = norms(build(f, method=method))["layer0"]
            size = math.sqrt(sum(head.QK.frobenius**2 for head in heads))
            rows.append({"T": T, "builder": builder, "norm": size})
    return norms_chart([*rows, *tracr])


def certificates_figure() -> Chart:
    """Draw against m the Occam bound of a conjunction read from a head, its capacity bound, the information floor."""
    T, s, delta = 300, 3, 0.05
    model = build(conjunction(range(s), T=T))
    rows: list[dict[str, Any]] = []
    for m in np.unique(np.geomspace(20, 1e4, 40).astype(int)).tolist():
        rows.append({"m": m, "bound": tail_inversion(0, m, log_price(s, T) - math.log(delta)), "name": READ})
    for exponent in [1.3, *np.linspace(4, 8, 13).tolist()]:
        m = round(10**exponent)
        gap = smallest_gap(model, m=m, delta=delta)
        rows.append({"m": m, "bound": min(1.0, gap), "name": CAPACITY})
    least = floor("and", s=s, T=T, p=conjunction_p(s))
    return certificates_chart(rows, floor=least.m, T=T, s=s)


def bound_figure() -> Chart:
    """Draw each term of the capacity bound of a written AND head, computed from norms alone."""
    return terms_figure(bound(build(conjunction((5, 20, 30), T=300), readout="mlp"), m=1000, form="ours"))


def smallest_gap(model: Model, *, m: int, delta: float) -> float:
    """Return only the gap of `bound(model, m=m, delta=delta)`; its sample sizes take most of the time."""
    declared = declare_model(model)
    coverings, gaps = declared.by_form(m, declared.usual_eps, delta)
    return gaps[smallest(coverings, gaps)]
