"""A trial in progress: restarts, checks, history, verdict."""

import math
import time
from typing import Any

import numpy as np

from ..capacity.norms import head_norms
from ..model import Model
from ..rng import stream
from .data import Fresh, Holdout, training_set
from .engine import Slots
from .outcome import Outcome
from .spec import TrainSpec, spec_id, target_function
from .weights import initial, to_model

FITTED = 0.01  # training loss below which a run counts as fitted, for the stall rule
ATTENTION_SAMPLES = 100


class Trial:
    """Drives one slot: call `advance` until it returns an Outcome.

    Restarts follow one another on the same data, and the trial ends with the first that succeeds: "best of five" as
    the paper has it.   Paper: law-and
    """

    def __init__(
        self, spec: TrainSpec, slots: Slots, slot: int, *, record_every: int, mass_every: int
    ) -> None:
        self.spec, self.slots, self.slot = spec, slots, slot
        self.record_every, self.mass_every = record_every, mass_every
        self.started = time.perf_counter()
        self.holdout = Holdout(spec)
        self.restart, self.best = 0, 0.0
        self.diverged: list[int] = []
        if not spec.online:
            slots.load_data(slot, training_set(spec))
        self._begin()

    def _begin(self) -> None:
        """Start the next restart."""
        self.step, self.best_here, self.best_step = 0, 0.0, 0
        self.solved_at: int | None = None
        self.loss, self.train_accuracy, self.accuracy = math.nan, 0.0, 0.0
        self.history: dict[str, list[float]] = {
            name: [] for name in ("step", "loss", "check_step", "train_accuracy", "val_accuracy")
        }
        self.fresh = Fresh(self.spec, self.restart) if self.spec.online else None
        seed = int(stream(self.spec.seed, "dropout", self.restart).integers(2**62))
        self.slots.load_weights(self.slot, initial(self.spec, self.restart), dropout_seed=seed)

    def advance(self) -> Outcome | None:
        """Train up to the next check and look; the outcome once it is known."""
        spec = self.spec
        n = min(spec.check_every, spec.n_steps - self.step)
        losses = self.slots.advance(self.slot, n, self.fresh)
        self._record(losses)
        if losses and not math.isfinite(losses[-1]):
            self.diverged.append(self.step)
            return self._next_restart()
        self.train_accuracy = self.slots.train_accuracy(self.slot) if losses else 0.0
        self.accuracy, solved = self._check()
        if self.accuracy > self.best_here:
            self.best_here, self.best_step = self.accuracy, self.step
        self.best = max(self.best, self.accuracy)
        for name, value in (
            ("check_step", self.step),
            ("train_accuracy", self.train_accuracy),
            ("val_accuracy", self.accuracy),
        ):
            self.history[name].append(value)
        if self.mass_every and self.step % self.mass_every == 0:
            self._look()
        if solved and self.solved_at is None:
            self.solved_at = self.step
        if self.solved_at is not None:
            ended = self.step >= spec.n_steps or not spec.keep_training
            return self._outcome("solved") if ended else None
        return self._next_restart() if self.step >= spec.n_steps or self._stalled() else None

    def _record(self, losses: list[float]) -> None:
        for loss in losses:
            self.step += 1
            self.loss = loss
            if self.step % self.record_every == 0 and math.isfinite(loss):
                self.history["step"].append(self.step)
                self.history["loss"].append(loss)

    def _check(self) -> tuple[float, bool]:
        """Accuracy on the holdout, walked until success is certain or excluded; and whether it succeeded."""
        errors, seen, allowed = 0, 0, self.spec.allowed_errors
        for i in range(len(self.holdout.sizes)):
            bits, labels = self.holdout.chunk(i)
            errors += int((self.slots.predict(self.slot, bits) != labels).sum())
            seen += len(labels)
            if errors > allowed:
                return 1 - errors / seen, False
        return 1 - errors / seen, True

    def _stalled(self) -> bool:
        s = self.spec
        return bool(s.stall) and self.loss < FITTED and self.step - self.best_step >= s.stall

    def _next_restart(self) -> Outcome | None:
        if self.restart + 1 < self.spec.restarts:
            self.restart += 1
            self._begin()
            return None
        return self._outcome("diverged" if len(self.diverged) == self.spec.restarts else "budget_spent")

    def model(self) -> Model:
        """The weights as they are now."""
        p = self.slots.weights.rows(self.slot, self.slot + 1)
        return to_model(
            p,
            {
                "made_by": "learn",
                "function": str(target_function(self.spec)),
                "seed": self.spec.seed,
                "m": self.spec.m,
                "restart": self.restart,
                "steps": self.step,
            },
        )

    def support_mass(self, model: Model) -> float:
        """Mean attention on the support, over heads and the first holdout samples."""
        support = list(target_function(self.spec).support)
        n = max(4, min(ATTENTION_SAMPLES, 2**22 // (self.spec.H * self.spec.T)))
        bits = self.holdout.chunk(0)[0][:n]
        if self.spec.L > 1:
            bits = bits[:4]
        return float(model.attention(bits)[:, :, support].sum(2).mean())

    def _look(self) -> None:
        """Record attention on the support and the norms that enter the bounds (largest over heads)."""
        model = self.model()
        values: dict[str, float] = {"mass_step": self.step, "support_mass": self.support_mass(model)}
        layer = model.layers[-1]
        heads = [
            head_norms(layer.W_Q[h], layer.W_K[h], layer.W_V[h], layer.W_C[h], temperature=layer.temperature)
            for h in range(layer.H)
        ]
        values["norm_QK_21"] = max(h.QK.n21 for h in heads)
        values["norm_V_21"] = max(h.V.n21 for h in heads)
        values["norm_V"] = max(h.V.spectral for h in heads)
        values["norm_C"] = max(h.C.spectral for h in heads)
        for name, value in values.items():
            self.history.setdefault(name, []).append(value)

    def _outcome(self, status: str) -> Outcome:
        finite = bool(np.isfinite(self.slots.weights.flat[self.slot].sum().item()))
        return Outcome(
            spec_id=spec_id(self.spec),
            status=status,
            steps=self.step if self.solved_at is None else self.solved_at,
            restarts_used=self.restart + 1,
            train_accuracy=self.train_accuracy,
            val_accuracy=self.best,
            support_mass=self.support_mass(self.model()) if finite and status != "diverged" else None,
            seconds=time.perf_counter() - self.started,
            history=self.history,
        )

    def state(self) -> dict[str, Any]:
        """Where the trial stands, for a progress line."""
        mass = self.history.get("support_mass")
        return {
            "spec_id": spec_id(self.spec),
            "restart": self.restart,
            "restarts": self.spec.restarts,
            "step": self.step,
            "n_steps": self.spec.n_steps,
            "loss": self.loss,
            "train_accuracy": self.train_accuracy,
            "val_accuracy": self.accuracy,
            "support_mass": mass[-1] if mass else None,
            "seconds": time.perf_counter() - self.started,
        }
