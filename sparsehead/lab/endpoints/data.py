"""Data: from a table to a formula in the names of its columns, with evidence."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import Field

from ..._base.rng import stream
from ..sandbox import CSV_FILE, parse_upload

router = APIRouter(tags=["Data"])

Name = Annotated[str, Field(min_length=1, max_length=500)]


@router.get("/api/data/example")
def data_example() -> Response:
    """Respond with the page's first table: 300 rows, a label that depends on three columns, 5 % of labels wrong."""
    return Response(example_table(), media_type="text/csv")


@router.post("/api/data/columns", openapi_extra=CSV_FILE)
async def data_columns(request: Request) -> Response:
    """The columns of an uploaded CSV file: their names, kinds and some of their values."""
    return await parse_upload(request, "columns", {"most_values": 50}, "text/csv")


@router.post("/api/data", openapi_extra=CSV_FILE)
async def data_formula(
    request: Request,
    label: Name,
    positive: Annotated[str | None, Field(max_length=500)] = None,
    cut: Annotated[list[Name], Query(description="COLUMN=CUT, as --threshold.", max_length=500)] = [],  # noqa: B006
    onehot: Annotated[list[Name], Query(description="Columns of categories.", max_length=500)] = [],  # noqa: B006
    seed: Annotated[int, Field(ge=0, lt=2**53)] = 0,
) -> Response:
    """The record of `sparsehead learn --data --json` for an uploaded CSV file, with its `verdict` and all methods."""
    options: dict[str, Any] = {
        "label": label, "positive": positive, "cut": cut, "onehot": onehot, "seed": seed,
        "most_bits": 10**6,  # rows times bits: half a minute of training
    }  # fmt: skip
    return await parse_upload(request, "table", options, "text/csv")


def example_table() -> str:
    """Return a CSV: numbers, categories, bits, and the label smokes & (age >= 50 | male), 5 % of it wrong."""
    rng, n = stream(0, "table of the lab"), 300
    ages = rng.permutation([20 + 60 * i // (n - 1) for i in range(n)])  # their median is 49.5
    cities = rng.choice(["north", "south", "east"], n)
    habits = ("smokes", "male", "coffee", "runs", "vegan", "married", "night_shift", "glasses")
    bits = {name: rng.integers(0, 2, n) for name in habits}
    ill = (bits["smokes"] & ((ages >= 50) | bits["male"])) ^ (rng.random(n) < 0.05)
    lines = [",".join(("age", "city", *bits, "ill"))]
    lines += [",".join(map(str, row)) for row in zip(ages, cities, *bits.values(), ill)]
    return "\n".join(lines) + "\n"
