"""The stages of each scale in execution order: spot checks of committed results, or all experiments anew."""

from collections.abc import Iterable
from functools import cache

from sparsehead._base.arguments import meant
from sparsehead._base.errors import DomainError

from .attention import attention
from .comparison import Interpretations
from .curves import curves
from .dropout import dropout
from .every_function import every_function
from .failures import failures
from .functions import functions
from .gated import gated
from .input_laws import input_laws
from .interpreters import Interpreters
from .law_stage import Law
from .norms import norms
from .paper_laws import DECADES, PAPER_TS, best, law_gated, literal, matched, matched_beyond, matched_decades
from .parity import parity, parity_settings
from .pointers import Pointers
from .predicted import predicted
from .protocols import protocols
from .read_trained import appearance_plan, reading
from .slope import slope, slope_norms
from .spot import FRESH_SEED, spots, stages
from .stage import Stage
from .steepness import steepness
from .taught_parity import TaughtParity


def plan(scale: str, seed: int = FRESH_SEED) -> list[Stage]:
    """Return the stages of a scale in execution order.

    "quick" and "default" run fresh trials of committed results, with seeds made from `seed`. "full" measures everything
    anew. Stages with the most information per unit of time come first, studies of settings last. If two stages have the
    same name, the later one has more trials and replaces the results file of the earlier one.
    """
    return list(_everything() if check_scale(scale) == "full" else stages(spots(scale, seed)))


@cache  # thousands of specs, and each is checked
def _everything() -> tuple[Stage, ...]:
    fewer = {30_000: {"max_trials": 56}, 100_000: {"max_trials": 24}}  # one trial takes minutes there
    # With dropout a failure takes minutes: not far below the threshold.
    with_dropout = {1000: {"max_trials": 32, "start": 95}}
    return (
        attention(),
        curves(),
        norms((30, 100, 300, 1000, 3000), 5),
        reading(20, 300),
        appearance_plan(),
        Law("law", PAPER_TS, 160, with_map=True),
        Law("law-decades", DECADES[:5], 160),
        parity(),
        dropout(),
        attention("mingpt"),
        Law("law-mingpt", (100, 300), 64, {"preset": "mingpt"}),
        Law("law-decades", DECADES, 160, {"exceptions": fewer}),
        Law("law-grid", PAPER_TS, 0, {"method": "grid"}, with_map=True),  # comes later and has every cell
        Law("law-mingpt", (100, 300, 1000), 64, {"preset": "mingpt", "exceptions": with_dropout}),
        curves("mingpt"),
        *settings_studies(),
    )


@cache
def settings_studies() -> tuple[Stage, ...]:
    """Return the studies of settings, which `--only NAME` runs singly, the most informative per unit of time first."""
    return (
        curves("paper"), Interpretations(), matched(), attention("paper"), best(), failures(), parity_settings(),
        slope(), slope_norms(), functions(), matched_decades(), matched_beyond(), curves("literal"),
        attention("literal"), literal(), steepness(), protocols(), predicted(), every_function(), gated(), law_gated(),
        Interpreters(), Pointers(), TaughtParity(), input_laws(),
    )  # fmt: skip


def command_for(name: str) -> str:
    """Return the command that measures the results file NAME.json.

    >>> command_for("law"), command_for("success")
    ('sparsehead reproduce --only law', 'sparsehead reproduce --only law-grid')
    """
    for stage in reversed(_everything()):
        if name in stage.files:
            return f"sparsehead reproduce --only {stage.name}"
    raise DomainError(f"no stage of any scale writes {name}.json.")


def only(names: Iterable[str]) -> list[Stage]:
    """Return the stages of the full scale with these names; of two with equal names the later, complete one.

    Raises:
        DomainError: no stage has one of the names.
    """
    known = {stage.name: stage for stage in _everything()}
    wanted = list(names)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise DomainError(
            f"there is no experiment {unknown[0]!r}; the experiments are {', '.join(known)}.{meant(unknown[0], known)}"
        )
    return [stage for name, stage in known.items() if name in wanted]


def check_scale(scale: str) -> str:
    """Return `scale` if it is the name of a scale; else raise an error."""
    scales = ("quick", "default", "full")
    if scale not in scales:
        raise DomainError(f"scale {scale!r} is unknown; the scales are {', '.join(scales)}.")
    return scale
