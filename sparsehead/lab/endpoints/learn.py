"""Learn: the presets, the chart of a run, and stored runs with their models, certificates, readings and heads."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, Response
from pydantic import Field

from ...train.spec import PRESETS, SETTINGS, OverT
from .. import stored
from ..answers import download
from ..worker import finite
from .jobs import Key, jobs_of

router = APIRouter(tags=["Learn"])


@router.get("/api/learn/presets")
def learn_presets() -> dict[str, Any]:
    """The settings of each preset, named like the fields of `LearnRequest`."""
    defaults = {field: each.default for field, each in SETTINGS.items() if not each.is_required}
    shown = {
        name: {field: changes.get(field, default) for field, default in defaults.items()}
        for name, changes in PRESETS.items()
    }
    for settings in shown.values():  # null for what depends on T
        settings |= {field: None for field, value in settings.items() if isinstance(value, OverT)}
    return {"presets": shown}


@router.get("/api/learn/chart")
def learn_chart() -> Response:
    """The chart of one run as a Vega-Lite specification; the page fills its empty dataset "points"."""
    from ...figures.render import specification
    from ...figures.training import training_chart

    return JSONResponse(specification(training_chart()))


@router.get("/api/learn")
def learn_runs(request: Request) -> dict[str, Any]:
    """The stored runs that have a model: the newest of the store, then the examples that come with the lab."""
    return {"runs": stored.stored_runs(jobs_of(request).db)}


@router.get("/api/learn/{key}")
def learn_run(request: Request, key: Key) -> Response:
    """The result of a stored run, by the `id` of its result."""
    return JSONResponse(finite(stored.run_result(jobs_of(request).db, key)))


@router.post("/api/learn/{key}/model")
def learn_model(request: Request, key: Key) -> Response:
    """The trained model of a stored run as a safetensors file."""
    return download(stored.model_bytes(jobs_of(request).db, key), "learned.safetensors")


@router.post("/api/learn/{key}/certificate")
def learn_certificate(request: Request, key: Key) -> Response:
    """Respond with a stored run's certificate file: a proof that its model computes its function on every input."""
    found = stored.run_certificate(jobs_of(request).db, key)
    return download(json.dumps(found).encode(), "learned.cert.json", "application/json")


@router.get("/api/learn/{key}/reading")
def learn_reading(request: Request, key: Key) -> Response:
    """The record of `sparsehead read` for the model of a stored run, as /api/read returns it."""
    return JSONResponse(stored.run_reading(jobs_of(request).db, key))


@router.get("/api/learn/{key}/heads")
async def learn_heads(request: Request, key: Key, s: Annotated[int, Field(ge=1, le=32)] = 4) -> Response:
    """The record that a probe job returns, for the model of a stored run."""
    content = await run_in_threadpool(stored.model_bytes, jobs_of(request).db, key)
    options = {"s": s, "heads": None, "seed": 0}
    return JSONResponse(await request.app.state.sandbox.run("probe", content, options))
