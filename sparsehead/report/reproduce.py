"""The main job: experiments, checks, figures, report, in that order; each step leaves its result on disk."""

import platform
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..claims.registry import CLAIMS, Claim, Context, Finding, run_checks
from ..errors import FileError
from ..experiments import plans
from ..experiments.run import Report, run_stage
from ..provenance import made_by, processor
from .catalogue import draw_all
from .page import write_report


@dataclass(frozen=True)
class Reproduction:
    """What came out: the findings, where the report is, how long it took."""

    findings: tuple[Finding, ...]
    path: Path
    seconds: float
    problems: tuple[str, ...] = ()

    @property
    def verdicts(self) -> dict[str, int]:
        """How many claims hold, differ, fail or were not run."""
        return dict(Counter(finding.verdict for finding in self.findings))

    def as_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        rows = [
            {"label": f.label, "verdict": f.verdict, "paper": f.paper, "ours": f.ours, "detail": f.detail}
            for f in self.findings
        ]
        return {
            "report": str(self.path),
            "verdicts": self.verdicts,
            "findings": rows,
            "problems": list(self.problems),
            "seconds": self.seconds,
        }

    def summary(self) -> str:
        """For the terminal: the verdicts, those that are not "holds" by name, and the report's path."""
        lines = [", ".join(f"{n} {verdict}" for verdict, n in sorted(self.verdicts.items()))]
        lines += [f"  {f.verdict}: {f.label}: {f.ours}" for f in self.findings if f.verdict != "holds"]
        lines += [f"  {problem}" for problem in self.problems]
        return "\n".join([*lines, f"{self.seconds:.0f} s; the report is {self.path}"])


def reproduce(
    scale: str, *, db: Path, folder: Path, workers: int, report: Report, say: Callable[[str], None]
) -> Reproduction:
    """Run what the store lacks of `scale`, check every claim, draw every figure, write folder/report.html.

    Interrupted at any moment, it goes on where it was when called again.
    """
    plans.check_scale(scale)
    started = time.monotonic()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {folder}: {error.strerror}; nothing was run.") from error
    problems: list[str] = []
    for stage in plans.plan(scale):
        problems += run_stage(stage, db, folder, workers=workers, report=report)
    say("Checking the claims")
    context = Context(options={"results": str(folder)})
    findings = run_checks(context=context, progress=_tell(say))
    say("Drawing the figures and writing the report")
    seconds = time.monotonic() - started
    path = write_report(
        folder / "report.html",
        findings=findings,
        claims=CLAIMS.values(),
        figures=draw_all(folder),
        run=run_info(scale, seconds, workers),
        problems=problems,
    )
    return Reproduction(tuple(findings), path, seconds, tuple(problems))


def run_info(scale: str, seconds: float, workers: int) -> dict[str, str]:
    """What was run, on what, how long: for the report's last section."""
    version, commit = made_by()
    option = {"quick": " --quick", "default": "", "full": " --full"}[scale]
    return {
        "Command": f"sparsehead reproduce{option}",
        "Version": version + (f" ({commit})" if commit else ""),
        "Machine": f"{processor()}; {workers} worker processes of one thread",
        "Python": platform.python_version(),
        "Time": f"{seconds / 60:.1f} minutes in this call; trials that the store knew already cost none",
        "Finished": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
    }


def _tell(say: Callable[[str], None]) -> Callable[[Claim, Finding | None], None]:
    def progress(claim: Claim, finding: Finding | None) -> None:
        if finding is not None and finding.verdict in ("fails", "differs"):
            say(f"  {finding.verdict}: {claim.label}: {finding.ours}")

    return progress
