"""Build: from a function to weights, certificate and attention, as JSON, as a model file and as a picture."""

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from ..._base.errors import TooLarge
from ...certify.written import WrittenModel, certify_written
from ...construct.build import CONSTRUCTIONS, build
from ...functions import parse
from ...heads.encoding import ENCODINGS
from ...heads.model_file import packed
from ..answers import download
from ..head import built_record
from ..requests import OneOf, Text

router = APIRouter(tags=["Build"])


class BuildRequest(BaseModel):
    """The head to construct; the fields are the options of `sparsehead build`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    function: Text
    T: Annotated[int, Field(ge=1, le=4096, examples=[16])]
    encoding: Annotated[str, OneOf("encoding", ENCODINGS)] = "positional"
    d: Annotated[int | None, Field(ge=1, le=1024)] = None
    method: Annotated[str, OneOf("method", CONSTRUCTIONS)] = "compact"
    heads: Literal["one", "s", "cancel"] = "one"
    readout: Literal["head", "mlp"] | None = None
    epsilon: Annotated[float | None, Field(gt=0, lt=1)] = None
    attends_cls: bool = True
    seed: Annotated[int, Field(ge=0, lt=2**53)] = 0


@router.post("/api/build")
def build_head(asked: BuildRequest) -> Response:
    """The record of `sparsehead build --json`, with the certificate's `verdict` in words, `weights` (matrices) and
    `head` (tables from which the page computes attention and output; null if the model is too large or too deep)."""
    return JSONResponse(built_record(built_for(asked)))


@router.post("/api/build/model")
def build_model(asked: BuildRequest) -> Response:
    """The model as a safetensors file, as `sparsehead build --out` writes it."""
    return download(packed(built_for(asked).model), "head.safetensors")


@router.post("/api/build/certificate")
def build_certificate(asked: BuildRequest) -> Response:
    """The certificate file of the model, as `sparsehead verify --out` writes it; the page Check checks it."""
    from ...certify.certificate_file import certificate_content

    written = built_for(asked)
    found = certificate_content(packed(written.model), written.function)
    return download(json.dumps(found).encode(), "head.cert.json", "application/json")


@router.post("/api/build/chart")
def build_chart(asked: BuildRequest) -> Response:
    """A chart of the head's weights and attention, as in the report, as a Vega-Lite specification."""
    from ...figures.render import specification

    return JSONResponse(specification(_figure(asked)))


@router.post("/api/build/picture")
def build_picture(asked: BuildRequest) -> Response:
    """The figure of /api/build/chart as PNG."""
    from ...figures.render import render

    return download(render(_figure(asked), "png"), "head.png", "image/png")


def built_for(asked: BuildRequest) -> WrittenModel:
    """Construct the head; refuse, before any work, a request that would take more than a few seconds."""
    f = parse(asked.function, T=asked.T)
    most_work = 2**20  # T 2^s: the largest work is done within seconds
    if asked.T * 2**f.s > most_work:
        raise TooLarge(
            f"T = {asked.T} with s = {f.s} relevant bits is more than the page builds (T 2^s up to {most_work}); "
            "`sparsehead build` in a terminal has no such limit."
        )
    return certify_written(build(f, **asked.model_dump(exclude={"function", "T"})), f)


def _figure(asked: BuildRequest) -> Any:
    from ...figures.built import written_figure

    written = built_for(asked)
    return written_figure(written.model, written.function, exact=written.certificate.exact)
