"""The application: pages, endpoints, error responses, and the checks that every request passes first."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio.to_thread
from fastapi import FastAPI
from fastapi.responses import Response

from .. import __version__
from . import answers
from .endpoints import bound, build, cover, data, jobs, law, learn, probe, read
from .extension import extensions
from .jobs import Jobs
from .pages import PAGES, Asset, assets
from .remembered import Remembered
from .safety import App, Guard
from .sandbox import Sandbox


@dataclass(frozen=True)
class Settings:
    """The settings of a server. hosts, token, cookie: see `Guard`; the others: see `Jobs`."""

    db: Path
    hosts: tuple[str, ...]
    token: str
    cookie: str
    running: int = 1
    waiting: int = 20
    models: Mapping[str, Path] = field(default_factory=dict)
    pickle: bool = False


def make_app(settings: Settings) -> App:
    """Return the whole server, checks of requests included, as one ASGI application."""
    answering = Remembered(make_api(settings))
    return Guard(answering, hosts=settings.hosts, token=settings.token, cookie=settings.cookie)


def make_api(settings: Settings) -> FastAPI:
    """Return the application without the checks of `Guard`."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        # four requests are computed at once; the others wait their turn
        anyio.to_thread.current_default_thread_limiter().total_tokens = 4
        app.state.sandbox = Sandbox()
        app.state.jobs = Jobs(
            settings.db,
            kinds=jobs.CHECKS
            | {"probe": lambda given: probe.ProbeRequest.model_validate(given).model_dump()}
            | {name: kind.check for found in extensions() for name, kind in found.jobs.items()},
            running=settings.running,
            waiting=settings.waiting,
            models=settings.models,
            pickle=settings.pickle,
        )
        try:
            yield
        finally:
            await app.state.jobs.close()

    app = FastAPI(
        title="sparsehead lab",
        version=__version__,
        description="Every page of the lab asks these endpoints, and a script may do the same: send the token of the "
        "printed address as `Authorization: Bearer`. Answers are the records of the command line's `--json`; a "
        "request that cannot be answered gets one sentence as `error`.",
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        responses=answers.PROBLEMS,
        generate_unique_id_function=lambda route: route.name,
    )
    answers.install(app)
    for page in (learn, data, build, law, bound, cover, read, probe, jobs):
        app.include_router(page.router)
    for found in extensions():
        for router in found.routers:
            app.include_router(router)
    _serve_files(app)
    return app


def _serve_files(app: FastAPI) -> None:
    """Serve index.html at / and at the path of every page, and each file below static/ at its own path."""
    found = assets()

    def respond(asset: Asset) -> Response:
        return Response(asset.content, media_type=asset.kind, headers={"cache-control": "no-cache"})

    async def page() -> Response:
        return respond(found["/static/index.html"])

    def charts() -> Response:
        """Respond with Vega, Vega-Lite and vega-embed, from the copy inside vl-convert."""
        from ..figures.render import chart_script

        return respond(Asset(chart_script().encode(), "text/javascript; charset=utf-8"))

    for path in ("/", *(f"/{name}" for name in PAGES)):
        app.add_api_route(path, page, include_in_schema=False)
    app.add_api_route("/static/vendor/charts.js", charts, include_in_schema=False)

    async def file(name: str) -> Response:
        if (asset := found.get(f"/static/{name}")) is None:
            raise answers.Unknown("the lab has no file of that name.")
        return respond(asset)

    app.add_api_route("/static/{name:path}", file, include_in_schema=False)
