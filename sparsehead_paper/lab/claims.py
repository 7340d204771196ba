"""The Claims page: the registry of statements, with verdicts of jobs run since the server started."""

from functools import cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field, field_validator

from sparsehead._base.arguments import shown
from sparsehead.lab.answers import Unknown
from sparsehead.lab.endpoints.jobs import jobs_of
from sparsehead.lab.work import Tell, Values

from ..claims.claim import VERDICTS, finding_json, labelled_code, marked_tests
from ..claims.formulas import plain
from ..claims.registry import CLAIMS, SECTIONS

router = APIRouter(tags=["Claims"])


class ClaimsRequest(BaseModel):
    """Request to check the claims with these labels; an empty list means all claims."""

    model_config = ConfigDict(extra="forbid")

    labels: Annotated[list[Annotated[str, Field(max_length=80)]], Field(max_length=500)] = []

    @field_validator("labels")
    @classmethod
    def _known(cls, labels: list[str]) -> list[str]:
        unknown = [label for label in labels if label not in CLAIMS]
        if unknown:
            raise ValueError(f"there is no claim {shown(unknown[0])}")
        return labels


@router.get("/api/claims")
def claims_list(request: Request) -> Response:
    """Return every claim: its statement, where it is printed, and its finding if it was checked."""
    found: dict[str, Any] = {}
    for job in list(jobs_of(request).jobs.values()):
        if job.kind == "claims":
            found |= {row["label"]: row for row in list(job.points)}
    rows = [{**row, "finding": found.get(row["label"])} for row in _registry()]
    return JSONResponse({"claims": rows, "verdicts": VERDICTS})


@router.get("/api/claims/{label}")
def claim_behind(label: str) -> dict[str, Any]:
    """Return the names of the code and of the tests that belong to one claim."""
    if label not in CLAIMS:
        raise Unknown("the registry has no claim of that label.")
    claim = CLAIMS[label]
    return {"label": label, "code": list(labelled_code(claim)), "tests": list(marked_tests(claim))}


@cache
def _registry() -> list[dict[str, Any]]:
    return [
        {
            "label": claim.label,
            "kind": claim.kind,
            "section": title,
            "where": claim.where,
            "statement": plain(claim.statement),
            "about": claim.about,
            "has_check": claim.check is not None,
        }
        for title, claims in SECTIONS.items()
        for claim in claims
    ]


@router.post("/api/jobs/claims", status_code=202)
async def start_claims(request: Request, asked: ClaimsRequest) -> dict[str, Any]:
    """Start a job that checks claims; claims that were checked before are checked again."""
    return jobs_of(request).start("claims", asked.model_dump(), again=True).summary()


def check_claims(request: Values, db: Path, tell: Tell) -> Values:
    """Check claims of the registry, and report each finding as soon as it is known."""
    from ..claims.registry import Claim, Context, Finding, run_checks
    from ..report.catalogue import default_folder

    labels = request["labels"] or list(CLAIMS)
    total, done = sum(CLAIMS[label].check is not None for label in labels), 0
    findings = []

    def progress(claim: Claim, found: Finding | None) -> None:
        nonlocal done
        if found is None:
            tell({"progress": {"done": done, "total": total, "label": claim.label}})
            return
        done += 1
        findings.append(finding_json(found))
        tell({"point": findings[-1]})

    run_checks(labels, context=Context(options={"results": str(default_folder())}), progress=progress)
    return {"findings": findings}
