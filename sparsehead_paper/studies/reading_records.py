"""What the results files of reading hold: functions read from trained models, and when the support appears."""

from dataclasses import dataclass

from sparsehead._base.jsonable import ResultsRecord


@dataclass(frozen=True)
class TrainedTask:
    """What a model was trained on, and whether its trial was solved."""

    family: str
    T: int
    m: int
    seed: int
    solved: bool


@dataclass(frozen=True)
class ReadModel:
    """What was read from one trained model.

    Args:
        planted, read: the function to be learned and the one found, as text; `read` is None where none was claimed.
        found: "planted" (exactly it), "other" (another function) or "none".
        method, queries: see `Reading`.
        agreement: share of fresh inputs on which the model and the best function found agree.
        function_error: P(the function read differs from the planted one), exactly; None where none was read.
        model_error: share of `read_trained.FRESH` inputs on which the model and the planted function differ.
        bound, model_bound: the certificate's upper bounds on those two; None where none was read.
    Paper: read-trained
    """

    planted: str
    read: str | None
    found: str
    method: str
    queries: int
    agreement: float
    function_error: float | None
    model_error: float
    bound: float | None
    model_bound: float | None


@dataclass(frozen=True)
class ReadTrial(ReadModel, TrainedTask):
    """One trained model, read; in the file the task stands first."""


@dataclass(frozen=True)
class ReadingRecord(ResultsRecord):
    """reading.json: what was read from trained models, and certificates that fail with probability `delta`."""

    delta: float
    trials: tuple[ReadTrial, ...]


@dataclass(frozen=True)
class AppearanceRun:
    """One run of `steps` steps: from which step on the support leads in influence and in attention, and validation
    accuracy is at least 3/4; None: not at the end."""

    task: str
    T: int
    m: int
    seed: int
    solved: bool
    steps: int
    influence: int | None
    attention: int | None
    accuracy: int | None


@dataclass(frozen=True)
class AppearanceRecord(ResultsRecord):
    """appearance.json: when the support appears along training."""

    runs: tuple[AppearanceRun, ...]


READING_RECORDS: dict[str, type[ResultsRecord]] = {
    "reading": ReadingRecord,
    "appearance": AppearanceRecord,
}
