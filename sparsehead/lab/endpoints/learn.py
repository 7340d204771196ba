"""Learn: the presets, the chart of a run, and the model that a job stored."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from ...train.spec import PRESETS, SETTINGS, OverT
from ..answers import Unknown, download
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


@router.post("/api/learn/{key}/model")
def learn_model(request: Request, key: Key) -> Response:
    """The trained model of a stored trial, by the `id` of its result, as a safetensors file."""
    from ...store import Store

    db = jobs_of(request).db
    if not db.exists():
        raise Unknown("the store holds nothing yet.")
    with Store(db, readonly=True) as store:
        found = store.arrays(key).get("lab/model")
    if found is None:
        raise Unknown("the store holds no model of that trial.")
    return download(found.tobytes(), "learned.safetensors")
