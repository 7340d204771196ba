"""Claims: the registry of statements, with the verdicts that were found since the server started."""

from functools import cache
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from sparsehead.lab.answers import Unknown, packed_json, sent

from ..claims.claim import VERDICTS
from ..claims.registry import CLAIMS, SECTIONS

router = APIRouter(tags=["Claims"])


@router.get("/api/claims")
def claims_list(request: Request) -> Response:
    """Every claim with its statement, its place in print, and its finding if it was checked."""
    found: dict[str, Any] = {}
    for job in list(request.app.state.jobs.jobs.values()):
        if job.kind == "claims":
            found |= {row["label"]: row for row in list(job.points)}
    rows = [{**row, "finding": found.get(row["label"])} for row in _registry()]
    return sent(packed_json({"claims": rows, "verdicts": VERDICTS}))


@router.get("/api/claims/{label}")
def claim_behind(label: str) -> dict[str, Any]:
    """What stands behind one claim: code and tests, by name."""
    if label not in CLAIMS:
        raise Unknown("the registry has no claim of that label.")
    return {"label": label, "code": list(CLAIMS[label].code), "tests": list(CLAIMS[label].tests)}


@cache
def _registry() -> list[dict[str, Any]]:
    return [
        {
            "label": claim.label,
            "kind": claim.kind,
            "section": title,
            "where": claim.where,
            "statement": claim.statement,
            "about": claim.about,
            "has_check": claim.check is not None,
        }
        for title, claims in SECTIONS.items()
        for claim in claims
    ]
