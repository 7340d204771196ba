"""Figures that need no experiment: each is one or two quick calls of the library."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from sparsehead._base.rng import stream
from sparsehead.capacity import Bound, bound, norms
from sparsehead.capacity.bound import smallest_gap
from sparsehead.certify import verify
from sparsehead.construct import build
from sparsehead.covering import covering_number
from sparsehead.figures.bounds import bound_terms_chart
from sparsehead.figures.built import built_head_chart
from sparsehead.figures.covers import cover_chart
from sparsehead.figures.data import Rows
from sparsehead.figures.diagram import attention_module_diagram, head_reads_chart
from sparsehead.figures.theme import Chart
from sparsehead.floor.floor import floor
from sparsehead.functions import SparseFunction, conjunction, parse
from sparsehead.functions.task import conjunction_p
from sparsehead.heads.block import Layer
from sparsehead.heads.encoding import positional
from sparsehead.heads.model import Model
from sparsehead.heads.ranges import Choices, extremes
from sparsehead.reading.occam import log_price, tail_inversion

from ..figures.certificates import CAPACITY, READ, certificates_chart
from ..figures.norms import norms_chart
from ..figures.story import story_chart
from ..studies.records import ThresholdRow

FIRST = [("0.5", "0.7"), ("0.2", "3"), ("0.6", "2.5")]  # the notes' set as first printed
LATER = [("0.5", "0.7"), ("0.2", "0.3"), ("0.6", "0.65")]  # the set that their text and figure then use
NORM_T = (10, 30, 100, 300, 1000, 3000, 10_000)


def cover_figure(eps: str, note: str) -> Chart:
    """The notes' example at one eps, for both readings of the point set; the covers are exact."""
    panels: list[dict[str, Any]] = []
    for name, points in (("set as first printed", FIRST), ("set as later used", LATER)):
        cover = covering_number(points, eps=Fraction(eps))
        plane = [(float(x), float(y)) for x, y in points]
        panels.append({"points": plane, "eps": float(eps), "centers": cover.centers, "name": name})
    sizes = [len(p["centers"]) for p in panels]
    both = (
        f"{sizes[0]} balls"
        if sizes[0] == sizes[1]
        else f"{sizes[0]} balls or {sizes[1]}, depending on the set"
    )
    return cover_chart(panels, title=f"At eps = {eps} the three points need {both}", note=note)


def modules_figure() -> Chart:
    """The three attention modules: a written head and its [CLS] form, and a layer of random weights."""
    f = conjunction((1, 3), T=5)
    bits = np.array([1, 1, 0, 1, 0])
    rng, d = stream(0, "figure", "modules"), positional(5).d
    random = Layer(
        W_Q=rng.standard_normal((1, d, 3)),
        W_K=rng.standard_normal((1, d, 3)),
        W_V=rng.standard_normal((1, d, 3)),
        W_C=rng.standard_normal((1, 3, d)),
    )
    layer = Model(positional(5), (random,), w=np.zeros(d))
    head, scalar = build(f, readout="mlp", attends_cls=False), build(f, readout="mlp")
    return attention_module_diagram([("head", head, bits), ("layer", layer, bits), ("scalar", scalar, bits)])


def reads_figure() -> Chart:
    """A written head that reads 3 of 12 bits."""
    f = parse("x2 & x5 & x9", T=12)
    bits = np.array([0, 1, 1, 0, 1, 1, 0, 0, 1, 1, 0, 1])
    return head_reads_chart(build(f, readout="mlp"), bits, f.support, formula=str(f))


def story_figure(thresholds: Sequence[ThresholdRow]) -> Chart:
    """The README's picture: a written head on 200 random inputs, beside the thresholds that were measured."""
    f = parse("x5 & x20 & x30", T=50)
    bits = stream(0, "figure", "story").integers(0, 2, (200, f.T))
    weights = build(f).attention(bits).mean(axis=(0, 1))
    return story_chart(weights, f.support, thresholds, formula=str(f))


def built_figure(text: str = "x2 ^ x5 ^ x11", T: int = 16) -> Chart:
    """A parity written down: attention on two inputs, the decoder, and the certificate's verdict."""
    f = parse(text, T=T)
    model = build(f, readout="mlp")
    return written_figure(model, f, exact=bool(verify(model, f).exact))


def written_figure(model: Model, f: SparseFunction, *, exact: bool | None) -> Chart:
    """A written model: mean attention of its heads on two inputs, and the decoder where it reads one number."""
    inputs = np.zeros((2, f.T), dtype=np.int64)
    inputs[1] = 1
    weights = model.attention(inputs).mean(axis=1)
    attention = [
        {"position": t, "weight": float(row[t]), "input": f"all bits {i}"}
        for i, row in enumerate(weights)
        for t in range(f.T + 1)
    ]
    decoder, intervals = decoder_rows(model, f)
    return built_head_chart(
        attention, decoder=decoder, intervals=intervals, support=f.support, formula=str(f), exact=exact
    )


def decoder_rows(model: Model, f: SparseFunction) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What the decoder makes of the head's number o, and where o lies; nothing where the head's output is no number."""
    layer = model.layers[0]
    if not model.decoder or model.H > 1 or layer.W_V.shape[-1] > 1 or f.s == 0:
        return [], []
    intervals = head_intervals(model, f)
    o = np.linspace(min(r["low"] for r in intervals) - 0.02, max(r["high"] for r in intervals) + 0.02, 400)
    decoded = model.read_out(o[:, None] * layer.W_C[0])
    return [{"o": float(a), "value": float(b)} for a, b in zip(o, decoded)], intervals


def head_intervals(model: Model, f: SparseFunction) -> list[dict[str, Any]]:
    """Where the scalar output of a one-head model lies over all inputs, for each pattern of the bits read."""
    scores, values = model.cls_tables()
    choices = Choices.of(scores[..., 0], values[..., 0, 0], f.support)
    low, high = extremes(choices, largest=False), extremes(choices, largest=True)
    return [{"low": float(a), "high": float(b), "value": float(g)} for a, b, g in zip(low, high, f.table)]


def built_norms() -> list[dict[str, Any]]:
    """Frobenius norms of W_QK for AND of 3 bits, written our way and the paper's, over decades of T."""
    rows = []
    for T in NORM_T:
        f = conjunction((0, T // 3, T - 1), T=T)
        for builder, method in (("ours", "compact"), ("the paper's", "paper")):
            heads = norms(build(f, method=method))["layer0"]
            size = math.sqrt(sum(head.QK.frobenius**2 for head in heads))
            rows.append({"T": T, "builder": builder, "norm": size})
    return rows


def norms_figure(tracr: Rows = ()) -> Chart:
    """Ours and the paper's, computed here; Tracr's where its measurement is given as {T, builder, norm}."""
    return norms_chart([*built_norms(), *tracr])


def bound_samples(Ts: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs (T, m): with m samples capacity alone guarantees 5 % error (delta = 5 %) of heads like the written AND.

    The realisable form at the norms of the written head, taken as given beforehand.
    """
    points = []
    for T in sorted(set(Ts)):
        found = bound(build(conjunction((0, T // 3, T - 1), T=T)), m=1000, form="ours", a_posteriori=False)
        if found.realizable_samples is not None:
            points.append((T, found.realizable_samples))
    return points


def certificates_figure(T: int = 300, s: int = 3, delta: float = 0.05) -> Chart:
    """The Occam bound of an s-conjunction that was read, the capacity bound of the written head, and the floor."""
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


def bound_figure(T: int = 300, m: int = 1000) -> Chart:
    """The capacity bound of a written AND head by norms alone, by term."""
    return terms_figure(bound(build(conjunction((5, 20, 30), T=T), readout="mlp"), m=m, form="ours"))


def terms_figure(found: Bound) -> Chart:
    """A bound by term."""
    items = [
        {"name": t.name.replace("layer0.head0.", "W_"), "share": t.share, "c": t.c, "p": t.p}
        for t in found.items
    ]
    return bound_terms_chart(items, form=found.form, m=found.m, vacuous=found.vacuous)
