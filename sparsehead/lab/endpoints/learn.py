"""Learn: the presets, the chart of a run, and the model that a job left in the store."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from ...train.spec import PRESETS, SETTINGS, OverT
from ..answers import Unknown, packed_json, sent
from .jobs import Key

router = APIRouter(tags=["Learn"])


@router.get("/api/learn/presets")
def learn_presets() -> dict[str, Any]:
    """What each preset trains with, in the fields of a request to learn."""
    return {"presets": {name: _shown(name) for name in PRESETS}}


def _shown(name: str) -> dict[str, Any]:
    """The settings of a preset; null for those that depend on T."""
    own = PRESETS[name]
    known = {field: own.get(field, each.default) for field, each in SETTINGS.items() if not each.is_required}
    return {field: None if isinstance(value, OverT) else value for field, value in known.items()}


@router.get("/api/learn/chart")
def learn_chart() -> Response:
    """The figure of one run as a Vega-Lite specification; its dataset "points" is empty, the page fills it."""
    from ...figures.render import specification
    from ...figures.training import training_chart

    return sent(packed_json(specification(training_chart())))


@router.post("/api/learn/{key}/model")
def learn_model(request: Request, key: Key) -> Response:
    """The trained model of a stored trial, by the `id` of its result, as a safetensors file."""
    from ...store import Store

    db = request.app.state.jobs.db
    if not db.exists():
        raise Unknown("the store holds nothing yet.")
    with Store(db, readonly=True) as store:
        found = store.arrays(key).get("lab/model")
    if found is None:
        raise Unknown("the store holds no model of that trial.")
    name = {"content-disposition": 'attachment; filename="learned.safetensors"'}
    return Response(found.tobytes(), media_type="application/octet-stream", headers=name)
