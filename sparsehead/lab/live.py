"""Run the trials of a sweep, report attention at every check, and store the model with the outcome."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._base.types import Array, Float
from ..heads.model_file import packed
from ..train.learn import learn_spec
from ..train.outcome import TrialProgress
from ..train.spec import TrainSpec, target_function
from ..train.trial import Trial


class AttentionHistory:
    """The attention during a run: for each recorded step, T + 1 weights averaged over heads and inputs."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.rows: list[Float[Array, " tokens"]] = []
        self._restart, self._seen, self._every = 0, 0, 1

    def take(self, trial: Trial) -> Float[Array, " tokens"] | None:
        """Record the trial's current attention and return it; a restart of the training clears earlier rows."""
        if trial.restart != self._restart:
            self.steps, self.rows, self._restart, self._seen, self._every = [], [], trial.restart, 0, 1
        model = trial.model()
        if model is None:
            return None
        # the mean over so many inputs of the holdout; several layers take longer
        bits = trial.holdout.chunk(0)[0][: 16 if model.L == 1 else 2]
        row = model.attention(bits).mean(axis=(0, 1))
        if self._seen % self._every == 0:
            self.steps.append(trial.step)
            self.rows.append(row)
        self._seen += 1
        if len(self.rows) > 60:  # keep every other one
            self.steps, self.rows, self._every = self.steps[::2], self.rows[::2], 2 * self._every
        return row

    def arrays(self) -> dict[str, Array]:
        """Return the steps and rows as arrays for the store."""
        if not self.rows:
            return {}
        return {"lab/steps": np.array(self.steps), "lab/attention": np.array(self.rows, dtype=np.float32)}


def run_live(
    specs: Sequence[TrainSpec],
    *,
    on_outcome: Callable[..., None],
    progress: TrialProgress | None = None,
    **options: Any,
) -> None:
    """Run trials one by one, as `run_trials` does; report the current attention and the support, and store its history.

    A model of at most 8 MB is stored too, as the bytes of its file, under "lab/model".
    """
    for spec in specs:
        history, support = AttentionHistory(), list(target_function(spec).support)

        def watch(trial: Trial, history: AttentionHistory = history, support: list[int] = support) -> None:
            row = history.take(trial)
            if progress is not None:
                seen = {"attention": None if row is None else row.round(5).tolist(), "support": support}
                progress({**trial.state(), **seen})

        run = learn_spec(spec, watch=watch, **options)
        arrays = history.arrays()
        if run.model is not None and len(content := packed(run.model)) <= 8_000_000:
            arrays["lab/model"] = np.frombuffer(content, dtype=np.uint8)
        on_outcome(spec, run.outcome, arrays)
