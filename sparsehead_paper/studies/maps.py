"""A runner for sweeps that keeps attention maps beside the outcome."""

from collections.abc import Callable, Sequence
from typing import Any

from sparsehead.train.data import Holdout
from sparsehead.train.learn import learn_spec
from sparsehead.train.outcome import TrialProgress
from sparsehead.train.spec import TrainSpec

from ..published import ATTENTION_AND


def run_with_maps(
    specs: Sequence[TrainSpec],
    *,
    on_outcome: Callable[..., None],
    progress: TrialProgress | None = None,
    **options: Any,
) -> None:
    """`run_trials`, and for each spec the [CLS] attention (n, H, T+1) of its last weights on holdout samples.

    The array is handed to `on_outcome` as {"attention": weights}.   Paper: attention-and
    """
    for spec in specs:
        run = learn_spec(spec, progress=progress, **options)
        bits, _ = Holdout(spec).chunk(0)
        arrays = {} if run.model is None else {"attention": run.model.attention(bits[: ATTENTION_AND.inputs])}
        on_outcome(spec, run.outcome, arrays)
