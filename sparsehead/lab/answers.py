"""How endpoints answer: JSON that was computed once, and one sentence for whatever cannot be answered."""

import json
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from .._base.errors import MissingExtra, SparseheadError, TooLarge
from .._base.lazy import missing_extra


class Problem(BaseModel):
    """What an endpoint answers when it cannot do what was asked: one sentence that says what would work."""

    error: str


class Busy(SparseheadError):
    """The server is as busy as it may be; the request can be repeated later."""


class Unknown(SparseheadError):
    """There is no such job, result or page."""


# In the description of every endpoint.
PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "The request is not what HTTP or JSON has."},
    401: {"model": Problem, "description": "The token is missing or wrong."},
    403: {"model": Problem, "description": "Another Host or Origin."},
    404: {"model": Problem, "description": "There is no such thing."},
    413: {"model": Problem, "description": "The request, or the work that it asks for, is too large."},
    415: {"model": Problem, "description": "Not the type of file that is taken here."},
    422: {"model": Problem, "description": "It cannot be done, and the sentence says what could be."},
    424: {"model": Problem, "description": "An optional package is not installed."},
    429: {"model": Problem, "description": "The server does as much as it may; try again later."},
}
BROKEN = "something broke on the server's side; its terminal has the details."


def packed_json(content: Any) -> bytes:
    """JSON as it is sent; numbers that are not finite are refused, since JSON has none."""
    return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


def sent(content: bytes) -> Response:
    """An answer that is JSON already."""
    return Response(content, media_type="application/json")


def explained(error: Exception) -> tuple[int, str]:
    """The status and the sentence for an exception; 500 for a mistake of ours, which says nothing about its insides."""
    if isinstance(error, ModuleNotFoundError):
        error = missing_extra(error)
    if isinstance(error, SparseheadError):
        special = {Busy: 429, Unknown: 404, TooLarge: 413, MissingExtra: 424}
        status = next((status for kind, status in special.items() if isinstance(error, kind)), 422)
        return status, " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return 413, "not enough memory; a smaller T, m or d needs less."
    if isinstance(error, RecursionError):
        return 422, "the input is nested too deeply; a flatter one works."
    if isinstance(error, OverflowError):
        return 422, "a number is too large; use smaller ones."
    return 500, BROKEN


def install(app: FastAPI) -> None:
    """Answer every exception of `app` with one sentence as JSON."""

    async def ours(request: Request, error: Exception) -> Response:
        status, sentence = explained(error)
        return JSONResponse({"error": sentence}, status)

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if part not in ("body", "query", "path"))
        raised = first.get("ctx", {}).get(
            "error"
        )  # a sentence of ours, if a validator of ours refused the value
        sentence = (
            str(raised)
            if isinstance(raised, SparseheadError)
            else f"{where or 'the request'}: {first['msg']}."
        )
        return JSONResponse({"error": sentence[:500]}, 422)

    async def other(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return JSONResponse({"error": str(error.detail)}, error.status_code, error.headers)

    for kind in (SparseheadError, ModuleNotFoundError, MemoryError, RecursionError, OverflowError, Exception):
        app.add_exception_handler(kind, ours)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, other)
