"""Bound: from norms or a model file to capacity term by term, samples needed and the information floor."""

from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from ..._base.errors import DomainError
from ...capacity import bound
from ...capacity.forms import FORMS
from ...floor.floor import conjunction_floor
from ..requests import OneOf
from ..sandbox import FILE, parse_upload

router = APIRouter(tags=["Bound"])

Form = Annotated[str, OneOf("form", FORMS)]
Chance = Annotated[float, Field(gt=0, lt=1)]
Size = Annotated[float, Field(ge=0, le=1e12)]


class BoundRequest(BaseModel):
    """A class of heads by its norms; the fields are the options of `sparsehead bound --norms`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    V21: Annotated[Size, Field(examples=[1.0])]
    V: Annotated[Size, Field(examples=[1.0])]
    QK: Annotated[Size, Field(examples=[9.4])]
    BX: Annotated[Size, Field(examples=[1.42])]
    w: Size | None = None
    H: Annotated[int, Field(ge=1, le=10_000)] = 1
    d: Annotated[int, Field(ge=1, le=10**6)] = 64
    T: Annotated[int, Field(ge=1, le=10**9, examples=[100])]
    m: Annotated[int, Field(ge=1, le=10**15, examples=[1000])]
    delta: Chance = 0.05
    margin: Annotated[float, Field(gt=0, le=1e6)] = 1.0
    accuracy: Annotated[float, Field(gt=0, le=10)] = 0.05
    form: Form | None = "ours"


@router.post("/api/bound")
def bound_norms(asked: BoundRequest) -> Response:
    """Respond with the record of `sparsehead bound --norms .. --json`; `floor` is null: see /api/floor."""
    return JSONResponse({**_bound(asked).to_dict(), "floor": None})


@router.post("/api/bound/chart")
def bound_chart(asked: BoundRequest) -> Response:
    """The report's figure of a bound by term, as a Vega-Lite specification."""
    from ...figures.bounds import terms_figure
    from ...figures.render import specification

    return JSONResponse(specification(terms_figure(_bound(asked))))


@router.get("/api/floor")
def floor_of(s: int, T: int) -> Response:
    """The number of samples below which no learner finds the support of an AND of s of T bits in 80 % of cases."""
    if not (1 <= s <= 8 and s < T <= 10**6):
        raise DomainError(f"the floor is computed for 1 <= s <= 8 and s < T <= 10^6; got s={s}, T={T}.")
    return JSONResponse({"s": s, "T": T, **conjunction_floor(s, T).to_dict()})


@router.post("/api/bound/model", openapi_extra=FILE)
async def bound_model(
    request: Request,
    m: Annotated[int, Field(ge=1, le=10**15)] = 1000,
    delta: Chance = 0.05,
    form: Form | None = None,
) -> Response:
    """The record of `sparsehead bound MODEL --json` for an uploaded safetensors file."""
    return await parse_upload(request, "bound", {"m": m, "delta": delta, "form": form})


def _bound(asked: BoundRequest) -> Any:
    names = ("V21", "V", "QK", "BX", "w", "H", "d")
    norms = {name: getattr(asked, name) for name in names if getattr(asked, name) is not None}
    return bound(norms=norms, **asked.model_dump(exclude=set(names)))
