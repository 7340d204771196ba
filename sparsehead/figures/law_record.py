"""A measured law as a chart, with the samples that capacity asks for beside it."""

from collections.abc import Sequence

from .._base.log_math import Real
from ..capacity.bound import bound as capacity_bound
from ..construct.build import build
from ..functions import conjunction
from ..laws.law import LawResult
from ..laws.published import LAW_AND
from .law import law_chart
from .theme import Chart


def law_figure(
    law: LawResult, *, dropout: LawResult | None = None, bound: Sequence[tuple[int, Real]] = ()
) -> Chart:
    """A measured law; beside it thresholds measured with dropout and samples (T, m) that capacity asks for."""
    return law_chart(
        law.thresholds.values(),
        dropout=dropout.thresholds.values() if dropout else (),
        paper=LAW_AND if law.in_paper else (),
        floor=law.floor.values(),
        bound=bound,
        fits=law.fits,
        misfit=law.misfit,
        target=law.target,
    )


def bound_samples(Ts: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs (T, m): with m samples capacity alone guarantees 5 % error (delta = 5 %) of heads like the written AND.

    The realisable form at the norms of the written head, taken as given beforehand.
    """
    points = []
    for T in sorted(set(Ts)):
        found = capacity_bound(
            build(conjunction((0, T // 3, T - 1), T=T)), m=1000, form="ours", a_posteriori=False
        )
        if found.realizable_samples is not None:
            points.append((T, found.realizable_samples))
    return points
