"""Probe: measure the heads of a model that was named when the lab was started, or of an uploaded file."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from ..answers import Unknown
from ..sandbox import FILE, parse_upload
from .jobs import Seed, jobs_of

router = APIRouter(tags=["Probe"])

Kept = Literal[1, 2, 4, 8, 16, 32]
Sequences = Annotated[int, Field(ge=0, le=16)]


class ProbeRequest(BaseModel):
    """The name of a model, and how to measure it; the fields are options of `sparsehead probe`."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())

    model: Annotated[str, Field(min_length=1, max_length=300)]
    text: Annotated[list[Annotated[str, Field(max_length=4000)]], Field(max_length=64)] = []
    s: Kept = 4
    heads: Annotated[int | None, Field(ge=1, le=1024)] = None
    longest: Annotated[int, Field(ge=2, le=2048)] = 128
    influence: Sequences = 0
    ablation: Sequences = 0
    seed: Seed = 0


@router.get("/api/probe")
async def probe_models(request: Request) -> dict[str, Any]:
    """The names of the models that `sparsehead lab --probe PATH` was started with."""
    return {"models": list(jobs_of(request).models)}


@router.post("/api/jobs/probe", status_code=202)
async def start_probe(request: Request, asked: ProbeRequest) -> dict[str, Any]:
    """Measure every head of a model that GET /api/probe names. The job's result is the record of `sparsehead probe
    --json` with `summary`, `rows` (one record per head, the highest score first) and `chart` (the map of `--chart`)."""
    jobs = jobs_of(request)
    if asked.model not in jobs.models:
        raise Unknown("the lab was not started with a model of that name; add --probe PATH.")
    return jobs.start("probe", asked.model_dump()).summary()


@router.post("/api/probe", openapi_extra=FILE)
async def probe_file(
    request: Request,
    s: Annotated[int, Field(ge=1, le=32)] = 4,
    heads: Annotated[int | None, Field(ge=1, le=1024)] = None,
    seed: Seed = 0,
) -> Response:
    """The record that a probe job returns, for an uploaded safetensors file. A model of this library is measured on
    random inputs. For a state dict only the weights are measured, and `heads`, the number per layer, is required."""
    return await parse_upload(request, "probe", {"s": s, "heads": heads, "seed": seed})
