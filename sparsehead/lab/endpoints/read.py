"""Read: from a model file to support, formula, evidence and certificate."""

from typing import Annotated

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import Field

from ..sandbox import FILE, parse_upload, read_answer
from .build import BuildRequest, built_for

router = APIRouter(tags=["Read"])


@router.post("/api/read", openapi_extra=FILE)
async def read_file(
    request: Request,
    most: Annotated[int, Field(ge=1, le=12)] = 8,
    delta: Annotated[float, Field(gt=0, lt=1)] = 0.05,
    seed: Annotated[int, Field(ge=0, lt=2**53)] = 0,
) -> Response:
    """The record of `sparsehead read MODEL --json` for an uploaded safetensors file, with its `verdict` in words."""
    return await parse_upload(request, "read", {"most": most, "delta": delta, "seed": seed})


@router.post("/api/read/built")
def read_built(asked: BuildRequest) -> Response:
    """The record of `read` for the head that `build` constructs; the function read should be the one requested."""
    return JSONResponse(read_answer(built_for(asked).model, seed=0))
