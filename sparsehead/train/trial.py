"""A trial in progress: restarts, checks, history, verdict."""

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import __version__
from .._base.types import Array, Float
from ..capacity.norms import layer_norms
from ..functions import is_monotone
from ..heads.model import Model
from ..reading.appearance import look
from .data import FreshBatches, Holdout, check_on, training_set
from .lean import LeanRule
from .outcome import Outcome, TrialProgress
from .spec import TrainSpec, spec_id, target_function, task_of
from .transformer.engine import Engine


class Trial:
    """One trial on an engine: `run` returns its Outcome.

    Restarts are run one after the other on the same data, and the first success ends the trial (the paper's "best of
    five").
    Paper: law-and
    """

    def __init__(
        self, spec: TrainSpec, engine: Engine, *, record_every: int = 0, mass_every: int = 0
    ) -> None:
        self.spec, self.engine = spec, engine
        self.record_every, self.mass_every = record_every or spec.check_every, mass_every
        self.started = time.perf_counter()
        self.holdout = Holdout(spec)
        self.restart, self.best = 0, 0.0
        self.diverged: list[int] = []
        self.best_run: tuple[float, dict[str, list[float | int]]] = (-1.0, {})
        self._sample = None if spec.online else training_set(spec)
        self._rule: LeanRule | None = None
        if spec.least_lean and self._sample is not None and is_monotone(target_function(spec)):
            self._rule = LeanRule(self._sample, spec.least_lean)
        self._begin()

    def _begin(self) -> None:
        """Start the next restart."""
        self.step, self.best_here, self.best_step = 0, 0.0, 0
        self.solved_at: int | None = None
        self.fitted_at: int | None = None
        self.loss, self.train_accuracy, self.accuracy = math.nan, 0.0, 0.0
        self.history: dict[str, list[float | int]] = {
            name: [] for name in ("step", "loss", "check_step", "train_accuracy", "val_accuracy")
        }
        source = FreshBatches(self.spec, self.restart) if self._sample is None else self._sample
        self.engine.start(self.spec, self.restart, source)

    def run(
        self, progress: TrialProgress | None = None, watch: Callable[["Trial"], None] | None = None
    ) -> Outcome:
        """Train until success or failure; each check calls `progress` with the state and `watch` with the trial."""
        while True:
            every, n_steps = self.spec.check_every, self.spec.n_steps
            steps = min(every - self.step % every, n_steps - self.step)  # until the next check, or the end
            outcome = self.take(self.engine.advance(steps))
            if progress is not None:
                progress(self.state())
            if watch is not None:
                watch(self)
            if outcome is not None:
                return outcome

    def take(self, losses: list[float]) -> Outcome | None:
        """Record the losses of the next steps, and check the holdout if it is time; return the outcome once known."""
        self._record(losses)
        if losses and not math.isfinite(losses[-1]):
            if self.solved_at is not None:  # divergence after success does not change the status
                return self._outcome("solved")
            self.diverged.append(self.step)
            return self._next_restart()
        if self.step % self.spec.check_every and self.step < self.spec.n_steps:
            return None
        self._check(bool(losses))
        if self.solved_at is not None:
            ended = self.step >= self.spec.n_steps or not self.spec.keep_training
            return self._outcome("solved") if ended else None
        return self._next_restart() if self.step >= self.spec.n_steps or self._given_up() else None

    def _given_up(self) -> bool:
        """Return whether the run has fitted its training set and is to end by the rule of `stall` or `least_lean`."""
        if self.loss >= 0.01:
            return False
        if self.fitted_at is None:
            self.fitted_at = self.step
        stall = self.spec.stall
        if stall > 0 and self.step - self.best_step >= stall:
            return True
        return self._rule is not None and self._rule.lost(self.engine.model({}), self.step - self.fitted_at)

    def _check(self, trained: bool) -> None:
        """Measure and record the accuracies. If no step was made before (`trained` is False), record 0 as training
        accuracy.
        """
        self.train_accuracy = self.engine.train_accuracy() if trained else 0.0
        self.accuracy, solved = check_on(self.engine.predict, self.holdout, self.spec.allowed_errors)
        if self.accuracy > self.best_here:
            self.best_here, self.best_step = self.accuracy, self.step
        self.best = max(self.best, self.accuracy)
        self.history["check_step"].append(self.step)
        self.history["train_accuracy"].append(self.train_accuracy)
        self.history["val_accuracy"].append(self.accuracy)
        if self.mass_every and self.step % self.mass_every == 0:
            self._look()
        if solved and self.solved_at is None:
            self.solved_at = self.step

    def _record(self, losses: list[float]) -> None:
        for loss in losses:
            self.step += 1
            self.loss = loss
            if self.step % self.record_every == 0 and math.isfinite(loss):
                self.history["step"].append(self.step)
                self.history["loss"].append(loss)

    def _next_restart(self) -> Outcome | None:
        if self.best_here > self.best_run[0]:
            self.best_run = self.best_here, self.history
        if self.restart + 1 < self.spec.restarts:
            self.restart += 1
            self._begin()
            return None
        return self._outcome("diverged" if len(self.diverged) == self.spec.restarts else "budget_spent")

    def model(self) -> Model | None:
        """The current weights; None if the learner has no attention, or they are not finite."""
        s = self.spec
        meta = {
            "made_by": "learn",
            "function": str(target_function(s)),
            "seed": s.seed,
            "p": task_of(s).shared_p,
            "m": s.m,
        }
        return self.engine.model(meta | {"restart": self.restart, "steps": self.step, **self.engine.made_by})

    def _mean_attention(self, model: Model) -> Float[Array, " T"]:
        """Return the mean attention weight on each position, over heads and the first holdout samples."""
        n = max(4, min(100, 2**22 // (model.H * model.T)))
        bits = self.holdout.chunk(0)[0][: n if model.L == 1 else 4]
        # Take a few samples at a time, 2^22 numbers: at T = 10^6 the tokens of one sample take half a gigabyte.
        size = max(1, 2**22 // (model.T * model.d))
        parts = (bits[i : i + size] for i in range(0, len(bits), size))
        total = sum(model.attention(part)[:, :, :-1].sum(axis=(0, 1)) for part in parts)
        return total / (len(bits) * model.H)

    def _look(self) -> None:
        """Record attention and influence on the support and elsewhere, and the norms in the capacity bounds."""
        model = self.model()
        if model is None:
            return
        support, attention = list(target_function(self.spec).support), self._mean_attention(model)
        values = {"mass_step": float(self.step), "support_mass": float(attention[support].sum())}
        if support:
            values |= look(self.engine.predict, attention, support, self.holdout.chunk(0)[0])
        for name, value in (values | bound_norms(model)).items():
            self.history.setdefault(name, []).append(value)

    def _outcome(self, status: str) -> Outcome:
        model, support = self.model(), list(target_function(self.spec).support)
        return Outcome(
            spec_id=spec_id(self.spec),
            status=status,
            steps=self.step if self.solved_at is None else self.solved_at,
            restarts_used=self.restart + 1,
            train_accuracy=self.train_accuracy,
            val_accuracy=self.best,
            support_mass=None if model is None else float(self._mean_attention(model)[support].sum()),
            seconds=time.perf_counter() - self.started,
            history=self.history if status == "solved" else self.best_run[1],
            made_by={**self.engine.made_by, "version": __version__},
        )

    def state(self) -> dict[str, Any]:
        """The progress of the trial: restart, step, and the latest values of its curves."""
        seen = [
            "support_mass",
            "support_attention",
            "other_attention",
            "support_influence",
            "other_influence",
        ]
        latest = {name: values[-1] for name in seen if (values := self.history.get(name))}
        return {
            "spec_id": spec_id(self.spec),
            "restart": self.restart,
            "restarts": self.spec.restarts,
            "step": self.step,
            "n_steps": self.spec.n_steps,
            "loss": self.loss,
            "train_accuracy": self.train_accuracy,
            "val_accuracy": self.accuracy,
            "support_mass": None,
            **latest,
            "seconds": time.perf_counter() - self.started,
        }


def bound_norms(model: Model) -> dict[str, float]:
    """The largest norms over the last layer's heads, without biases, named as in the capacity bounds."""
    heads = layer_norms(model.layers[-1], biases=False)
    return {
        "norm_QK": max(h.QK.frobenius for h in heads),
        "norm_QK_21": max(h.QK.n21 for h in heads),
        "norm_V_21": max(h.V.n21 for h in heads),
        "norm_V": max(h.V.spectral for h in heads),
        "norm_C": max(h.C.spectral for h in heads),
        "norm_X": attended_radius(model),
    }


def attended_radius(model: Model) -> float:
    """The largest norm of a token that the first layer's heads receive: after LayerNorm, if there is one."""
    tokens, cls = model.encoding.token_table()
    norm = model.layers[0].norm_attention
    rows = np.vstack([tokens.reshape(-1, model.d), cls])
    return float(np.linalg.norm(rows if norm is None else norm(rows), axis=1).max())
