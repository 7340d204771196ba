"""Responses of endpoints: file downloads, and one-sentence errors."""

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from .._base.arguments import shown
from .._base.errors import MissingExtra, SparseheadError, TooLarge
from .._base.lazy import missing_extra
from .error_page import error_page, page_headers, wants_page


class Problem(BaseModel):
    """The JSON body of an error response: one sentence that says what would work."""

    error: str


class Busy(SparseheadError):
    """A limit of the server is reached; the request can be repeated later."""


class Unknown(SparseheadError):
    """There is no such job, result or page."""


# In the description of every endpoint.
PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "The request is not valid HTTP or JSON."},
    401: {"model": Problem, "description": "The token is missing or wrong."},
    403: {"model": Problem, "description": "The request comes from another Host or Origin."},
    404: {"model": Problem, "description": "There is no such page, job or result."},
    413: {"model": Problem, "description": "The request, or the work that it asks for, is too large."},
    415: {"model": Problem, "description": "The body has another media type than this endpoint accepts."},
    422: {"model": Problem, "description": "The request is invalid; the sentence says what would work."},
    424: {"model": Problem, "description": "An optional package is not installed."},
    429: {"model": Problem, "description": "A limit of the server is reached; try again later."},
}


def download(content: bytes, name: str, kind: str = "application/octet-stream") -> Response:
    """Return a response that the browser saves as a file called `name`."""
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=kind, headers=headers)


def explained(error: Exception) -> tuple[int, str]:
    """Return the HTTP status and the sentence for an exception; a bug gets status 500 and no details."""
    if isinstance(error, ModuleNotFoundError):
        error = missing_extra(error)
    if isinstance(error, HTTPException):
        return error.status_code, str(error.detail)
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        refusal = first.get("ctx", {}).get("error")  # of a validator of ours
        where = ".".join(str(part) for part in first["loc"] if part not in ("body", "query", "path"))
        sentence = f"{where or 'the request'}: {first['msg']}."
        return 422, (str(refusal) if isinstance(refusal, SparseheadError) else sentence)[:500]
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
    return 500, "something broke on the server's side; its terminal has the details."


def install(app: FastAPI) -> None:
    """Answer every exception of `app` with one sentence: as JSON, or as a page where a browser asked for one."""

    async def explain(request: Request, error: Exception) -> Response:
        status, sentence = explained(error)
        if wants_page(request.method, request.url.path, request.headers.get("accept", "")):
            if status == 404:
                sentence = f"the lab has no page {shown(request.url.path)}."
            return Response(error_page(status, sentence), status, page_headers())
        return JSONResponse({"error": sentence}, status, getattr(error, "headers", None))

    own = (SparseheadError, ModuleNotFoundError, MemoryError, RecursionError, OverflowError, Exception)
    for kind in (*own, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, explain)
