"""Learn: the chart of a run, and the model that a job left in the store."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from ..answers import Unknown, packed_json, sent
from .jobs import Key

router = APIRouter(tags=["Learn"])


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
