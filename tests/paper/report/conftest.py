"""A folder of small made-up results, and its figures.

The tests that look at all figures or open the report are one group, so that one process of several draws them.
"""

import math
from dataclasses import replace
from typing import Any

import pytest

from sparsehead.floor.floor import Floor
from sparsehead.laws.curves import Cell
from sparsehead.laws.fits import LawFit
from sparsehead.laws.law import LawResult
from sparsehead.laws.thresholds import Threshold
from sparsehead_paper.report.catalogue import draw_all
from sparsehead_paper.studies.attention import AttentionRecord
from sparsehead_paper.studies.curves import AccuracyPoint, CurvesRecord
from sparsehead_paper.studies.failures import FailureRun, FailuresRecord
from sparsehead_paper.studies.folder import write_results
from sparsehead_paper.studies.interpretations import (
    ComparedInterpretation,
    InterpretationsRecord,
    NumberEvidence,
    PaperNumber,
    Standing,
)
from sparsehead_paper.studies.interpreters import InterpretersRecord, MethodCell, Share
from sparsehead_paper.studies.law_stage import LabelledLaw, LawsRecord, SuccessRecord
from sparsehead_paper.studies.norms import BoundAlongRecord, BoundPoint, NormPoint, NormsRecord
from sparsehead_paper.studies.parity import LossPoint, ParityRecord, ParitySettingRun, ParitySettingsRecord
from sparsehead_paper.studies.pointers import PointerRun, PointersRecord
from sparsehead_paper.studies.read_trained import AppearanceRecord, AppearanceRun, ReadTrial, ReadTrialsRecord
from sparsehead_paper.studies.taught_parity import DirectCell, GapCell, OwnCell, StepCell, TaughtParityRecord


def made_up_results():
    """What each results file holds; numbers are invented and only have the right shape."""
    Ts = (100, 300, 1000)
    logs = [(T, math.log(T)) for T in Ts]
    thresholds = {T: Threshold(T, 12 * x, 11 * x, 13 * x, trials=50) for T, x in logs}
    fit: dict[str, Any] = {"params": {"a": 0.5, "b": 0.1}, "intervals": {"b": (0.0, None)}}
    fits = {"log": LawFit(**fit, aic=10.0, delta_aic=0.0), "linear": LawFit(**fit, aic=14.0, delta_aic=4.0)}
    floor = {T: Floor(T, round(4 * x), round(5 * x)) for T, x in logs}
    cells = {T: [Cell(m, 3, 4) for m in (50, 100)] for T in Ts}
    measured: dict[str, Any] = {"thresholds": thresholds, "fits": fits, "floor": floor}
    law = LawResult(**measured, best="log", note="", cells=cells, seconds=1.0)
    steps = range(0, 101, 10)
    accuracy = [
        AccuracyPoint(m, r, s, min(1.0, 0.5 + s * r * m / 2e4)) for m in (50, 200) for r in (0, 1) for s in steps
    ]  # fmt: skip
    losses = tuple(LossPoint(T, 0, s, 0.69 / (1 + s * s)) for T in (10, 15) for s in steps)
    norms = tuple(NormPoint(T, "learned", 9.0, 8.0, 11.0) for T in Ts)
    along = tuple(BoundPoint(s, 10.0 + s, 0.5 + s / 200) for s in steps)
    number = NumberEvidence("solved", 4, -2.0, "3/4")
    readings = tuple(
        ComparedInterpretation(
            name, "L2 on all", clip, "mingpt", 0.1, (number,), {"law": Standing(behind, left)}
        )
        for name, clip, behind, left in (
            ("one", "clipped", 0.0, ""),
            ("other", "not clipped", 8.0, "solved, 4 trials"),
        )
    )
    several = LawsRecord(
        (LabelledLaw(label="AND of 3", group="functions", settings={}, complete=True, **measured),),
        "1 of 2 laws",
        complete=False,
    )
    read = tuple(
        ReadTrial(
            family=family, T=T, m=m, seed=0, solved=m > 60, planted="x1", read="x1", found="planted",
            method="sampling", queries=100, agreement=1.0, function_error=0.0, model_error=0.001, bound=0.1,
            model_bound=0.12,
        )
        for family in ("and", "parity") for T in (30, 100) for m in (40, 90)
    )  # fmt: skip
    appeared = tuple(AppearanceRun("and", 300, 200, i, True, 400, 50 + i, 60 + i, 50) for i in range(3))
    curves = CurvesRecord(300, tuple(accuracy))
    attention = AttentionRecord(((0.1, 0.7, 0.1, 0.1),) * 5, support=(1,))
    half = Share(0.5, 0.2, 0.8)
    planted = tuple(
        MethodCell(T, x, kind, method, 4, half, half, half, half)
        for T in (16, 48)
        for x, kind in ((0.0, "dial"), (1.0, "dial"), (0.25, "silent"))
        for method in ("attention", "linear probe")
    )
    return {
        "law": law,
        "law-matched": law,
        "law-literal": law,
        "law-matched-decades": law,
        "law-best": law,
        "law-gated": law,
        "readings": InterpretationsRecord(
            (PaperNumber("solved", "law", "24/40"),), readings, "law: solved", complete=False
        ),
        "slope": several,
        "functions": several,
        "predicted": replace(
            several,
            laws=tuple(
                replace(several.laws[0], label=f"{name}: AND of 3, p = 0.794", group="AND of 3, p = 0.794")
                for name in ("best", "greedy", "comp")
            ),
        ),
        "every-function": several,
        "input-laws": several,
        "interpreters": InterpretersRecord(3, 32, planted),
        "taught-parity": TaughtParityRecord(
            (GapCell(64, 8, 0.9, 0.04, 500, 0.8, 0.1), GapCell(128, 8, 0.95, 0.02, 1000, 0.9, 0.08)),
            (StepCell(64, 8, 500, 4, 3, 2, 1), StepCell(128, 8, 1000, 4, 4, 4, 4)),
            (OwnCell(64, 8, 500, 3, 2, 2, 1e-3),),
            (DirectCell(64, 2, 500, 10, (1.0,)), DirectCell(64, 8, 500, 10, (0.5,))),
        ),
        "pointers": PointersRecord(
            tuple(
                PointerRun(name, N, 1, 1, False, 1, m, 0, error)
                for name in ("heads", "recurrent")
                for N in (8, 16)
                for m, error in ((32, 0.5), (64, 0.1))
            )
            + tuple(PointerRun("heads", 8, 4, 2, True, H, 0, 0, 1 - H / 4) for H in (1, 2)),
        ),
        "parity-settings": ParitySettingsRecord((ParitySettingRun("one", 10, 0, 200, 1000),), 2),
        "failures": FailuresRecord((FailureRun(1000, 42, 0, True, 90, 0.3, 1),), 2),
        "law-grid": law,
        "law-decades": law,
        "success": SuccessRecord(cells),
        "curves": curves,
        "curves-paper": curves,
        "attention": attention,
        "attention-paper": attention,
        "parity": ParityRecord(losses),
        "reading": ReadTrialsRecord(0.05, read),
        "appearance": AppearanceRecord(appeared),
        "learned-norms": NormsRecord(norms),
        "bound-training": BoundAlongRecord(along),
    }


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    for name, record in made_up_results().items():
        write_results(folder, name, record)
    return folder


@pytest.fixture(scope="session")
def drawn(results):
    """Every figure on the made-up results, once for all tests that look at them."""
    return draw_all(results)
