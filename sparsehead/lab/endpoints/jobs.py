"""Jobs: start, list, follow, cancel and resume long work."""

import json
from collections.abc import AsyncIterator, Callable, Collection
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.responses import StreamingResponse
from pydantic import ConfigDict, Field, create_model

from ..._base.errors import DomainError
from ..._base.fields import Setting
from ...capacity.forms import FORMS
from ...construct.build import CONSTRUCTIONS
from ...functions import FAMILIES, parse
from ...train.spec import PRESETS, SETTINGS
from ..jobs import Jobs
from ..requests import OneOf, Text
from ..work import spec_of

router = APIRouter(tags=["Jobs"])

Key = Annotated[str, Path(pattern="^[0-9a-f]{16}$", description="A job's id.")]
Seed = Annotated[int, Field(ge=0, lt=2**53)]
Preset = Annotated[str, OneOf("preset", PRESETS)]
# The largest whole numbers that the pages take: with them a trial fits into memory and ends within minutes.
MOST = {
    "d": 256, "H": 16, "k": 64, "L": 4, "mlp": 1024, "s": 8, "warmup": 5000, "n_steps": 5000, "check_every": 100,
    "restarts": 5, "holdout": 20_000, "stall": 5000, "learning_rate": 1.0,
}  # fmt: skip


def _field(setting: Setting, default: str | None = None) -> Any:
    """Return the type and the default of a request field for this setting; null means the preset's value."""
    least = 0 if setting.kind is int and setting.least is None else setting.least
    limits = {
        "ge": least, "gt": setting.above, "lt": setting.below, "le": MOST.get(setting.name, setting.most),
        "allow_inf_nan": False if setting.kind is float else None,
    }  # fmt: skip
    given: Any = {name: limit for name, limit in limits.items() if limit is not None}
    rule = OneOf(setting.name, setting.choices) if setting.choices else Field(**given)
    kind: Any = Annotated[setting.kind, rule]
    return kind | None, Field(default, description=setting.help)


def _request(name: str, *, without: Collection[str], **defaults: str) -> Any:
    """Return a request model with one field per setting of `TrainSpec`; fields not in `defaults` default to null."""
    fields = {key: _field(each, defaults.get(key)) for key, each in SETTINGS.items() if key not in without}
    return create_model(name, __config__=ConfigDict(extra="forbid"), **fields)


_Trial = _request("TrialRequest", without=("function", "T", "m", "seed"))


class LearnRequest(_Trial):  # type: ignore[valid-type,misc]
    """One trial; the fields are options of `sparsehead learn`. A null field takes the preset's value."""

    function: Text
    T: Annotated[int, Field(ge=2, le=2000, examples=[50])]
    m: Annotated[int, Field(ge=1, le=5000, examples=[300])]
    seed: Seed = 0
    preset: Preset = "fast"


_Sweep = _request(
    "SweepRequest", without=("function", "T", "m", "seed", "online", "keep_training"), learner="transformer",
    encoding="trainable",
)  # fmt: skip


class LawRequest(_Sweep):  # type: ignore[valid-type,misc]
    """A measurement of m_80(T); the fields are options of `sparsehead law`. A null field takes the preset's value."""

    function: Text = "and"
    s: Annotated[int | None, Field(ge=1, le=8)] = 3
    T: Annotated[
        list[Annotated[int, Field(ge=2, le=100_000)]],
        Field(min_length=1, max_length=12, examples=[[30, 100]]),
    ]
    preset: Preset = "fast"
    trials: Annotated[int, Field(ge=4, le=400)] = 48
    width: Annotated[float, Field(gt=0, le=4)] = 0.4
    start: Annotated[int, Field(ge=2, le=5000)] = 60
    seed: Seed = 0
    workers: Annotated[int, Field(ge=1, le=8)] = 2


def learn_request(asked: LearnRequest) -> dict[str, Any]:
    """Return the fields that are not null; raise if the trial cannot be run."""
    if asked.function not in FAMILIES:
        parse(asked.function, T=asked.T)
    given: dict[str, Any] = asked.model_dump(exclude_none=True)
    spec_of(given)
    return given


def law_request(asked: LawRequest) -> dict[str, Any]:
    """Return the fields that are not null; raise if the law cannot be measured."""
    if asked.function not in FAMILIES:
        for T in asked.T:
            parse(asked.function, T=T)
        if "s" not in asked.model_fields_set:  # an expression has its own number of positions
            asked = asked.model_copy(update={"s": None})
    elif asked.s is None or any(asked.s >= T for T in asked.T):
        raise DomainError(f"the family {asked.function!r} needs s, below every T; got s={asked.s}.")
    given: dict[str, Any] = asked.model_dump(exclude_none=True)
    return given


@router.get("/api/settings")
def settings_list() -> dict[str, Any]:
    """Return the choices on the pages, plugins included: settings with help, limits and choices; names of presets,
    families of functions, constructions and forms of the bound."""
    rows = [
        {
            "name": name, "group": each.group, "help": each.help, "kind": each.kind.__name__,
            "choices": list(each.choices), "least": each.least if each.above is None else each.above,
            "most": MOST.get(name, each.most if each.below is None else each.below),
        }
        for name, each in SETTINGS.items()
    ]  # fmt: skip
    others = {"presets": PRESETS, "families": FAMILIES, "constructions": CONSTRUCTIONS, "forms": FORMS}
    return {"settings": rows, **{name: list(known) for name, known in others.items()}}


# The requests of a journal pass the checks of the endpoints that made them.
CHECKS: dict[str, Callable[[Any], dict[str, Any]]] = {
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
    """Train on m samples of a sparse function; store trial and model. Equal requests share one job."""
    return jobs_of(request).start("learn", learn_request(asked)).summary()


@router.post("/api/jobs/law", status_code=202)
async def start_law(request: Request, asked: LawRequest) -> dict[str, Any]:
    """Measure m_80(T) and store its trials; trials already in the store are not run again."""
    return jobs_of(request).start("law", law_request(asked)).summary()


@router.get("/api/jobs")
async def list_jobs(request: Request) -> dict[str, Any]:
    """Return all jobs that the server remembers, the oldest first."""
    jobs = jobs_of(request)
    rows = [job.summary() for job in jobs.jobs.values()]
    return {"jobs": rows, "running": jobs.running, "waiting": jobs.waiting}


@router.get("/api/jobs/{key}")
async def show_job(request: Request, key: Key) -> dict[str, Any]:
    """One job with its points and its result."""
    return jobs_of(request).get(key).to_dict()


@router.delete("/api/jobs/{key}")
async def cancel_job(request: Request, key: Key) -> dict[str, Any]:
    """Cancel a job. Its finished trials stay in the store, and the job can be resumed."""
    return jobs_of(request).cancel(key).summary()


@router.post("/api/jobs/{key}/resume", status_code=202)
async def resume_job(request: Request, key: Key) -> dict[str, Any]:
    """Restart a job that was cancelled, interrupted or failed; trials already in the store are not run again."""
    return jobs_of(request).resume(key).summary()


@router.get("/api/jobs/{key}/events", response_class=StreamingResponse)
async def follow_job(request: Request, key: Key) -> StreamingResponse:
    """The job as server-sent events: "job" (its state and progress), "points" (new points of its curve), "result"."""
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
