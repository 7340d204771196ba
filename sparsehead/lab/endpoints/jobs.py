"""Jobs: start, list, follow, cancel and resume long work."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from ..._base.errors import DomainError
from ...functions import FAMILIES, parse
from ..jobs import Jobs
from ..work import spec_of
from .build import Text

router = APIRouter(tags=["Jobs"])

Key = Annotated[str, Path(pattern="^[0-9a-f]{16}$", description="A job's id.")]
Seed = Annotated[int, Field(ge=0, lt=2**53)]
PresetName = Literal["fast", "paper", "literal", "mingpt", "best"]
LearnerName = Literal["transformer", "mlp", "lstm", "logistic", "tree", "exhaustive"]
EncodingName = Literal["trainable", "random", "positional", "bag"]


class LearnRequest(BaseModel):
    """One trial; the fields are options of `sparsehead learn`. What is null is left to the preset."""

    model_config = ConfigDict(extra="forbid")

    function: Text
    T: Annotated[int, Field(ge=2, le=2000, examples=[50])]
    m: Annotated[int, Field(ge=1, le=5000, examples=[300])]
    seed: Seed = 0
    preset: PresetName = "fast"
    H: Annotated[int | None, Field(ge=1, le=16)] = None
    k: Annotated[int | None, Field(ge=1, le=64)] = None
    n_steps: Annotated[int | None, Field(ge=1, le=5000)] = None
    restarts: Annotated[int | None, Field(ge=1, le=5)] = None
    noise: Annotated[float, Field(ge=0, lt=0.5)] = 0.0
    learning_rate: Annotated[float | None, Field(gt=0, le=1)] = None
    encoding: EncodingName = "trainable"
    keep_training: bool = False
    check_every: Annotated[int, Field(ge=1, le=100)] = 10


class LawRequest(BaseModel):
    """A measurement of m_80(T); the fields are options of `sparsehead law`."""

    model_config = ConfigDict(extra="forbid")

    function: Text = "and"
    s: Annotated[int | None, Field(ge=1, le=8)] = 3
    T: Annotated[
        list[Annotated[int, Field(ge=2, le=100_000)]],
        Field(min_length=1, max_length=12, examples=[[30, 100]]),
    ]
    learner: LearnerName = "transformer"
    preset: PresetName = "fast"
    encoding: EncodingName = "trainable"
    trials: Annotated[int, Field(ge=4, le=400)] = 48
    width: Annotated[float, Field(gt=0, le=4)] = 0.4
    start: Annotated[int, Field(ge=2, le=5000)] = 60
    seed: Seed = 0
    workers: Annotated[int, Field(ge=1, le=8)] = 2


def learn_request(asked: LearnRequest) -> dict[str, Any]:
    """The fields of a trial that can be run."""
    parse(asked.function, T=asked.T)
    spec_of(asked.model_dump())
    return asked.model_dump()


def law_request(asked: LawRequest) -> dict[str, Any]:
    """The fields of a law that can be measured."""
    if asked.function not in FAMILIES:
        for T in asked.T:
            parse(asked.function, T=T)
        if "s" not in asked.model_fields_set:  # an expression says itself how many positions it has
            asked = asked.model_copy(update={"s": None})
    elif asked.s is None or any(asked.s >= T for T in asked.T):
        raise DomainError(f"the family {asked.function!r} needs s, below every T; got s={asked.s}.")
    return asked.model_dump()


# The requests of a journal pass the checks of the endpoints that made them.
KINDS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "learn": lambda given: learn_request(LearnRequest.model_validate(given)),
    "law": lambda given: law_request(LawRequest.model_validate(given)),
}


def jobs_of(request: Request) -> Jobs:
    """The jobs of the server that answers this request."""
    found = request.app.state.jobs
    assert isinstance(found, Jobs)
    return found


@router.post("/api/jobs/learn", status_code=202)
async def start_learn(request: Request, asked: LearnRequest) -> dict[str, Any]:
    """Train on m samples of a sparse function; trial and model land in the store. Asking twice is asking once."""
    return jobs_of(request).start("learn", learn_request(asked)).summary()


@router.post("/api/jobs/law", status_code=202)
async def start_law(request: Request, asked: LawRequest) -> dict[str, Any]:
    """Measure m_80(T); trials land in the store, and what it holds is not run again."""
    return jobs_of(request).start("law", law_request(asked)).summary()


@router.get("/api/jobs")
async def list_jobs(request: Request) -> dict[str, Any]:
    """Every job that is remembered, the oldest first."""
    jobs = jobs_of(request)
    rows = [job.summary() for job in jobs.jobs.values()]
    return {"jobs": rows, "running": jobs.running, "waiting": jobs.waiting}


@router.get("/api/jobs/{key}")
async def show_job(request: Request, key: Key) -> dict[str, Any]:
    """One job with its points and its result."""
    return jobs_of(request).get(key).to_dict()


@router.delete("/api/jobs/{key}")
async def cancel_job(request: Request, key: Key) -> dict[str, Any]:
    """End a job. What it finished stays in the store, and it can be resumed."""
    return jobs_of(request).cancel(key).summary()


@router.post("/api/jobs/{key}/resume", status_code=202)
async def resume_job(request: Request, key: Key) -> dict[str, Any]:
    """Start a job that was cancelled, interrupted or failed again, from what the store holds."""
    return jobs_of(request).resume(key).summary()


@router.get("/api/jobs/{key}/events", response_class=StreamingResponse)
async def follow_job(request: Request, key: Key) -> StreamingResponse:
    """The job as server-sent events: "job" (its state and progress), "points" (what is new of its curve), "result"."""
    events = jobs_of(request).follow(key)
    first = await anext(events)

    async def lines() -> AsyncIterator[bytes]:
        yield _event(*first)
        async for name, data in events:
            yield _event(name, data)
        yield b"event: end\ndata: {}\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream")


def _event(name: str, data: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n".encode()
