"""Cover: from points to a smallest cover, or to a lower and an upper bound on its size."""

import math
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from ...covering import Cover, covering_number
from ...covering.metrics import fraction_of
from ..answers import download
from ..sandbox import CSV_FILE, parse_upload

router = APIRouter(tags=["Cover"])

MOST_POINTS = 200
Number = Annotated[str, Field(min_length=1, max_length=40, examples=["0.5"])]
Point = Annotated[tuple[Number, ...], Field(min_length=1, max_length=50)]


class CoverRequest(BaseModel):
    """The points and the radius of the closed balls, as texts of decimals or fractions, which are read exactly."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    points: Annotated[
        tuple[Point, ...],
        Field(min_length=1, max_length=MOST_POINTS, examples=[[["0.5", "0.7"], ["0.2", "0.3"]]]),
    ]
    eps: Annotated[Number, Field(examples=["0.5"])]
    p: Literal["1", "2", "inf"] = "2"
    external: bool = False


@router.post("/api/cover")
def cover_points(asked: CoverRequest) -> Response:
    """The record of `sparsehead cover --json`: the exact number, or bounds on it if 4 seconds are not enough."""
    return JSONResponse(_covered(asked).to_dict())


@router.post("/api/cover/picture")
def cover_picture(asked: CoverRequest) -> Response:
    """The report's figure of a cover in the plane, as PNG."""
    from ...figures.covers import cover_chart
    from ...figures.render import render

    found = _covered(asked)
    plane = [tuple(float(fraction_of(number)) for number in point) for point in asked.points]
    panel = {"points": plane, "eps": found.eps, "centers": found.centers, "name": "these points"}
    return download(render(cover_chart([panel]), "png"), "cover.png", "image/png")


@router.get("/api/cover/examples")
def cover_examples() -> dict[str, Any]:
    """The lecture notes' example: the point sets of two interpretations of its text, each with eps = 0.05 and 0.5."""
    from ...figures.covers import NOTES_SETS

    pairs = [(name, points, eps) for name, points in NOTES_SETS.items() for eps in ("0.05", "0.5")]
    return {"examples": [{"name": f"{name}, eps = {eps}", "points": p, "eps": eps} for name, p, eps in pairs]}


@router.post("/api/cover/points", openapi_extra=CSV_FILE)
async def cover_file(request: Request) -> Response:
    """The points of an uploaded CSV file: one per row, numbers only; a header row is skipped."""
    return await parse_upload(request, "points", {"most": MOST_POINTS}, "text/csv")


def _covered(asked: CoverRequest) -> Cover:
    p = math.inf if asked.p == "inf" else float(asked.p)
    return covering_number(asked.points, eps=asked.eps, p=p, external=asked.external, time_limit=4.0)
