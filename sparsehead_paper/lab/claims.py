"""The Claims page: the registry of statements, with the verdicts that were found here, kept in a file beside the store.

Verdicts that another version of the package found are not shown. Importing the registry takes 4 s, since it imports
everything that its checks need, torch included. Therefore it is imported at the first request for claims, not when the
lab or one of its jobs starts.
"""

import json
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field, field_validator

from sparsehead import __version__
from sparsehead._base.arguments import shown
from sparsehead._base.claim import VERDICTS
from sparsehead._base.errors import FileError
from sparsehead._base.files import read_json, write_whole
from sparsehead.lab.answers import Unknown
from sparsehead.lab.endpoints.jobs import jobs_of
from sparsehead.lab.work import Tell, Values

router = APIRouter(tags=["Claims"])


class ClaimsRequest(BaseModel):
    """Request to check the claims with these labels; an empty list means all claims."""

    model_config = ConfigDict(extra="forbid")

    labels: Annotated[list[Annotated[str, Field(max_length=80)]], Field(max_length=500)] = []

    @field_validator("labels")
    @classmethod
    def _known(cls, labels: list[str]) -> list[str]:
        from ..claims.registry import CLAIMS

        unknown = [label for label in labels if label not in CLAIMS]
        if unknown:
            raise ValueError(f"there is no claim {shown(unknown[0])}")
        return labels


class KeptFinding(BaseModel):
    """A finding, the time at which it was found in seconds since 1970, and the version that found it."""

    label: str
    verdict: str
    paper: str
    ours: str
    detail: str
    checked: float
    version: str

    @property
    def is_current(self) -> bool:
        """Return whether this version found it, about a claim that the registry has."""
        from ..claims.registry import CLAIMS

        return self.version == __version__ and self.label in CLAIMS and self.verdict in VERDICTS


@router.get("/api/claims")
def claims_list(request: Request) -> Response:
    """Return every claim: its statement, where it is printed, and its last finding if it was checked."""
    found = kept_findings(jobs_of(request).db)
    for job in list(jobs_of(request).jobs.values()):
        if job.kind == "claims":
            found |= {row["label"]: row for row in list(job.points) if newer(row, found.get(row["label"]))}
    rows = [{**row, "finding": found.get(row["label"])} for row in _registry()]
    return JSONResponse({"claims": rows, "verdicts": VERDICTS})


def newer(row: dict[str, Any], known: dict[str, Any] | None) -> bool:
    """Return whether this version found `row`, and not before `known`."""
    return row["version"] == __version__ and (known is None or row["checked"] >= known["checked"])


def findings_file(db: Path) -> Path:
    """Return the file beside the store that keeps findings."""
    return db.with_name(f"{db.name}.claims.json")


def kept_findings(db: Path) -> dict[str, dict[str, Any]]:
    """Return label -> finding of this version; nothing from a file that is damaged."""
    with suppress(FileError, KeyError, TypeError, ValueError):
        rows = read_json(findings_file(db), wanted="findings of claims")["findings"]
        return {
            row.label: row.model_dump() for row in map(KeptFinding.model_validate, rows) if row.is_current
        }
    return {}


@router.get("/api/claims/{label}")
def claim_behind(label: str) -> dict[str, Any]:
    """Return the names of the code and of the tests that belong to one claim."""
    from ..claims.claim import labelled_code, marked_tests
    from ..claims.registry import CLAIMS

    if label not in CLAIMS:
        raise Unknown("the registry has no claim of that label.")
    claim = CLAIMS[label]
    return {"label": label, "code": list(labelled_code(claim)), "tests": list(marked_tests(claim))}


@cache
def _registry() -> list[dict[str, Any]]:
    from ..claims.formulas import plain
    from ..claims.registry import SECTIONS

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
    from ..claims.claim import finding_json
    from ..claims.registry import CLAIMS, Claim, Context, Finding, run_checks
    from ..studies.folder import default_folder

    labels = request["labels"] or list(CLAIMS)
    total, done = sum(CLAIMS[label].check is not None for label in labels), 0
    findings: list[dict[str, Any]] = []

    def progress(claim: Claim, found: Finding | None) -> None:
        nonlocal done
        if found is None:
            tell({"progress": {"done": done, "total": total, "label": claim.label}})
            return
        done += 1
        findings.append({**finding_json(found), "checked": time.time(), "version": __version__})
        tell({"point": findings[-1]})
        known = kept_findings(db) | {found.label: findings[-1]}
        with suppress(FileError):  # a full disk does not end the check
            text = json.dumps({"findings": list(known.values())})
            write_whole(findings_file(db), text.encode(), force=True)

    run_checks(labels, context=Context(options={"results": str(default_folder())}), progress=progress)
    return {"findings": findings}
