"""The samples of a trial: the training set, fresh batches, and the holdout, which is drawn only as far as needed."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .._base.rng import stream
from .._base.types import Array, Shaped
from ..functions.task import Sample
from .spec import TrainSpec, task_of

CHUNK_BITS = 2**25  # largest number of bits in one chunk of the holdout


def training_set(spec: TrainSpec) -> Sample:
    """Draw m samples from stream(seed, "train"), which all restarts share."""
    return drawn_training_set(spec)[0]


def drawn_training_set(spec: TrainSpec) -> tuple[Sample, int | None]:
    """Return the training set, and the number of sets drawn until one was accepted; None in place of the number if the
    spec accepts any set.
    """
    return task_of(spec).drawn_training_set(spec.m, rng=stream(spec.seed, "train"), unique=spec.unique)


class FreshBatches:
    """Batches of m samples, never the same twice; one stream per restart."""

    def __init__(self, spec: TrainSpec, restart: int) -> None:
        self._task, self._m = task_of(spec), spec.m
        self._rng = stream(spec.seed, "online", restart)

    def __call__(self) -> Sample:
        return self._task.sample(self._m, rng=self._rng)


class Holdout:
    """The holdout, in chunks that double in size; chunk i comes from stream(seed, "holdout", i).

    Most checks stop in the first chunk, so most chunks are never drawn. Labels and bits have no noise: a perfect
    learner has accuracy 1.
    """

    def __init__(self, spec: TrainSpec) -> None:
        self._task = replace(task_of(spec), noise=0.0, feature_noise=0.0)
        self._seed, self._T = spec.seed, spec.T
        self.sizes = _chunks(spec.holdout, max(1, CHUNK_BITS // spec.T))
        self._kept: dict[int, Sample] = {}
        self._free_bytes = 2**26  # for chunks kept in memory; the others are drawn again when needed

    def chunk(self, i: int) -> Sample:
        """Return bits (n, T) and labels (n,) of chunk i, uint8."""
        if i in self._kept:
            packed, labels = self._kept[i]
            return np.unpackbits(packed, axis=1, count=self._T), labels
        bits, labels = self._task.sample(self.sizes[i], rng=stream(self._seed, "holdout", i))
        packed = np.packbits(bits, axis=1)
        if packed.nbytes <= self._free_bytes:
            self._free_bytes -= packed.nbytes
            self._kept[i] = packed, labels
        return bits, labels


def _chunks(total: int, most: int) -> list[int]:
    sizes, done, size = [], 0, min(256, most)  # 256 samples are enough to reject accuracy at chance level
    while done < total:
        sizes.append(min(size, total - done))
        done += sizes[-1]
        size = min(most, done)
    return sizes


def check_on(
    predict: Callable[[Shaped[Array, "n T"]], Shaped[Array, " n"]], holdout: Holdout, allowed: int
) -> tuple[float, bool]:
    """Return the accuracy on the holdout, and whether the whole holdout has at most `allowed` errors.

    Stops at more than `allowed` errors; the accuracy is then that on the chunks used so far.
    """
    errors, seen = 0, 0
    for i in range(len(holdout.sizes)):
        bits, labels = holdout.chunk(i)
        errors += int((predict(bits) != labels).sum())
        seen += len(labels)
        if errors > allowed:
            return 1 - errors / seen, False
    return 1 - errors / seen, True
