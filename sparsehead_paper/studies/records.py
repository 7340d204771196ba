"""What each results file holds, as one frozen dataclass per kind of file.

A file of kind K is K.json or K-VARIANT.json (RECORDS names the kinds); `folder` reads and writes it. A new field gets
a default, so that older files stay readable. What changes the meaning of a field or removes one raises the kind's
`schema`, and files of the older schema are refused with a sentence.
"""

from dataclasses import dataclass, field

from sparsehead._base.jsonable import ResultsRecord
from sparsehead.laws.curves import Cell
from sparsehead.laws.law import LawResult
from sparsehead.laws.thresholds import Threshold


@dataclass(frozen=True)
class SuccessRecord(ResultsRecord):
    """success.json: the share of trials solved over (T, m)."""

    cells: dict[int, list[Cell]]
    thresholds: dict[int, Threshold] = field(default_factory=dict)


@dataclass(frozen=True)
class AccuracyPoint:
    """Validation accuracy of one replicate at one step."""

    m: int
    replicate: int
    step: int
    accuracy: float


@dataclass(frozen=True)
class CurveTrial:
    """One replicate: solved or not, after how many steps, and the best training accuracy."""

    m: int
    solved: bool
    steps: int
    train_accuracy: float


@dataclass(frozen=True)
class CurvesRecord(ResultsRecord):
    """curves.json, curves-paper.json: validation curves above and below the threshold."""

    T: int
    curves: tuple[AccuracyPoint, ...]
    trials: tuple[CurveTrial, ...] = ()


@dataclass(frozen=True)
class AttentionRun:
    """Mean attention of one run: on each position of the support, on it in all, on [CLS], and elsewhere."""

    seed: int
    solved: bool
    on_support: tuple[float, ...]
    total: float
    on_cls: float
    irrelevant_median: float
    irrelevant_total: float


@dataclass(frozen=True)
class AttentionRecord(ResultsRecord):
    """attention.json, attention-paper.json: `weights` has a row per input and T + 1 columns, [CLS] last."""

    weights: tuple[tuple[float, ...], ...]
    support: tuple[int, ...]
    runs: tuple[AttentionRun, ...] = ()


@dataclass(frozen=True)
class LossPoint:
    """The training loss of one run at one step."""

    T: int
    seed: int
    step: int
    loss: float


@dataclass(frozen=True)
class ParityRun:
    """When one run's loss passed the paper's level: the first step below it, and the step from which the smoothed
    loss stays below; None: never."""

    T: int
    seed: int
    first_below: int | None
    learned: int | None


@dataclass(frozen=True)
class ParityRecord(ResultsRecord):
    """parity.json: loss curves on parity; `first_below` has one row per run."""

    curves: tuple[LossPoint, ...]
    first_below: tuple[ParityRun, ...] = ()


@dataclass(frozen=True)
class DropoutRun:
    """One run with the rate `dropout`; runs of equal seed have equal data."""

    dropout: float
    seed: int
    solved: bool
    steps: int


@dataclass(frozen=True)
class DropoutRecord(ResultsRecord):
    """dropout.json: single runs with dropout and without, on the same data."""

    T: int
    m: int
    runs: tuple[DropoutRun, ...]


@dataclass(frozen=True)
class NormPoint:
    """A norm at T from one source ("learned", "random", "written"): median and middle half over `runs` runs."""

    T: int
    source: str
    norm: float
    low: float | None = None
    high: float | None = None
    runs: int = 1


@dataclass(frozen=True)
class NormsRecord(ResultsRecord):
    """learned-norms.json: norms of learned heads beside written ones; `norm` says which norm it is."""

    points: tuple[NormPoint, ...]
    norm: str = "Frobenius norm of W_QK"


@dataclass(frozen=True)
class BoundPoint:
    """The capacity C = eps^2 ln N of a head at one step of its training, and its validation accuracy there."""

    step: int
    bound: float
    accuracy: float


@dataclass(frozen=True)
class BoundRecord(ResultsRecord):
    """bound-training.json: the bound along the training of one head at T from m samples; None without such a run."""

    points: tuple[BoundPoint, ...]
    T: int | None = None
    m: int | None = None


@dataclass(frozen=True)
class BuildRow:
    """One function at one T compiled by one tool: sizes, norms, speed, and whether it was proved right."""

    tool: str
    function: str
    T: int
    s: int
    layers: int
    heads: int
    width: int
    hidden_units: int
    parameters: int
    norm_QK: float
    norm_QK_21: float
    norm_QK_stored: float
    compile_seconds: float
    examples_per_second: float
    wrong: int
    certified: bool
    certificate_seconds: float | None


@dataclass(frozen=True)
class BuildRecord(ResultsRecord):
    """build_vs_tracr.json, written by benchmarks/build.py."""

    command: str
    machine: str
    python: str
    rows: tuple[BuildRow, ...]


@dataclass(frozen=True)
class RunRecord(ResultsRecord):
    """run.json: what was run, on what, how long; the report's last section prints it under these names."""

    command: str
    version: str
    machine: str
    python: str
    time: str
    finished: str


RECORDS: dict[str, type[ResultsRecord]] = {
    "law": LawResult,
    "success": SuccessRecord,
    "curves": CurvesRecord,
    "attention": AttentionRecord,
    "parity": ParityRecord,
    "dropout": DropoutRecord,
    "learned-norms": NormsRecord,
    "bound-training": BoundRecord,
    "build_vs_tracr": BuildRecord,
    "run": RunRecord,
}
