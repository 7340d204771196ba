"""Record types of results files: a file of type K is named K.json or K-VARIANT.json; `folder` reads and writes it.

A new field has a default, so that older files stay readable. A change that alters the meaning of a field or removes one
increases the type's `schema`; files with the older schema are then refused with an explanation.
"""

from dataclasses import dataclass

from sparsehead._base.jsonable import ResultsRecord
from sparsehead.laws.law import LawResult

from .attention import AttentionRecord
from .curves import CurvesRecord
from .dropout import DropoutRecord
from .failures import FailuresRecord
from .gated import GatedRecord
from .interpretations import InterpretationsRecord
from .interpreters import InterpretersRecord
from .law_stage import LawsRecord, SuccessRecord
from .norms import BoundAlongRecord, NormsRecord
from .origin import MeasuredRecord
from .parity import ParityRecord, ParitySettingsRecord
from .pointers import PointersRecord
from .proofs import ProofRecord, SoundnessRecord
from .protocols import ProtocolsRecord
from .read_trained import AppearanceRecord, ReadTrialsRecord
from .slope import SlopeNormsRecord
from .steepness import SteepnessRecord
from .taught_parity import TaughtParityRecord


@dataclass(frozen=True)
class BuiltFunction:
    """One function at one T, compiled by one tool: sizes, norms, speed, and whether it was proved correct."""

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
class BuildComparison(ResultsRecord):
    """build_vs_tracr.json, written by benchmarks/build.py."""

    command: str
    machine: str
    python: str
    rows: tuple[BuiltFunction, ...]


@dataclass(frozen=True)
class RunRecord(ResultsRecord):
    """run.json: command, machine and time of a run; the report's last section prints the fields under these names."""

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
    "bound-training": BoundAlongRecord,
    "build_vs_tracr": BuildComparison,
    "run": RunRecord,
    "measured": MeasuredRecord,
    "reading": ReadTrialsRecord,
    "appearance": AppearanceRecord,
    "readings": InterpretationsRecord,
    "slope": LawsRecord,
    "slope-norms": SlopeNormsRecord,
    "functions": LawsRecord,
    "predicted": LawsRecord,
    "every-function": LawsRecord,
    "input-laws": LawsRecord,
    "pointers": PointersRecord,
    "interpreters": InterpretersRecord,
    "parity-settings": ParitySettingsRecord,
    "failures": FailuresRecord,
    "gated": GatedRecord,
    "steepness": SteepnessRecord,
    "protocols": ProtocolsRecord,
    "taught-parity": TaughtParityRecord,
    "proof": ProofRecord,
    "soundness": SoundnessRecord,
}
