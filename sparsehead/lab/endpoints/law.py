"""Law: stored measurements of m_80(T), with information floor, bound and fits; one series, or several in one chart."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from ...functions import FAMILIES
from ...laws.law import LawResult
from ...laws.stored import stored_law
from ...store import Record
from ...train.spec import LEARNERS, PRESETS, SETTINGS, OverT, preset_settings
from ..answers import Unknown
from ..extension import extensions
from ..stored import known_records, stores
from .jobs import jobs_of

router = APIRouter(tags=["Law"])

Key = Annotated[str, Field(pattern="^[0-9a-z-]{1,40}$")]


class OverlayRequest(BaseModel):
    """Series to draw together, by id."""

    model_config = ConfigDict(extra="forbid")

    ids: Annotated[list[Key], Field(min_length=1, max_length=6)]


@router.get("/api/law")
def law_list(request: Request) -> Response:
    """The experiments in the store (trials that differ only in T, m and seed), the laws that extensions add, and an
    example that comes with the lab; the page opens with the first."""
    rows: list[dict[str, Any]] = []
    for source, path in stores(jobs_of(request).db):
        for key, records in _groups(path).items():
            Ts, trials = sorted({record.spec["T"] for record in records}), len(records)
            name = _name(records[0].spec) + (" (example)" if source == "example" else "")
            if all(row["id"] != key for row in rows):
                rows.append({"id": key, "name": name, "trials": trials, "Ts": Ts, "source": source})
    for key, (name, law) in _committed().items():
        Ts, trials = list(law.thresholds), sum(row.trials for row in law.thresholds.values())
        name = f"{name} (reproduce)"
        rows.append({"id": key, "name": name, "trials": trials, "Ts": Ts, "source": "results"})
    order = ("store", "results", "example")
    return JSONResponse({"series": sorted(rows, key=lambda row: order.index(row["source"]))})


@router.get("/api/law/{key}")
def law_show(request: Request, key: str) -> Response:
    """One series: its name and the record of `sparsehead law --json`."""
    name, law = _series(jobs_of(request).db, key)
    return JSONResponse({"id": key, "name": name, **law.to_dict()})


@router.post("/api/law/chart")
def law_chart(request: Request, asked: OverlayRequest) -> Response:
    """The report's chart of a law, with information floor, bound and fits; for several series, only their m_80(T)."""
    from ...figures.law import bound_samples, law_figure
    from ...figures.overlay import overlay_chart
    from ...figures.render import specification

    found = [_series(jobs_of(request).db, key) for key in dict.fromkeys(asked.ids)]
    if len(found) > 1:
        return JSONResponse(specification(overlay_chart(found)))
    name, law = found[0]
    bound = bound_samples(list(law.thresholds)) if law.in_paper else ()
    return JSONResponse(specification(law_figure(replace(law, target=name), bound=bound)))


def _committed() -> dict[str, tuple[str, LawResult]]:
    """Return the laws that extensions offer: id -> (name, law)."""
    return {key: law for found in extensions() for key, law in found.laws().items()}


def _groups(db: Path) -> dict[str, list[Record]]:
    """Return id -> records for every experiment with at least eight trials."""
    groups: dict[str, list[Record]] = {}
    for record in known_records(db):
        groups.setdefault(_key(record.spec), []).append(record)
    return {key: records for key, records in groups.items() if len(records) >= 8}


def _key(spec: Mapping[str, Any]) -> str:
    ruled = _ruled(spec)
    rest = {name: ruled.get(name, value) for name, value in spec.items() if name not in ("T", "m", "seed")}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()[:16]


def _ruled(spec: Mapping[str, Any]) -> dict[str, str]:
    """Return setting -> rule for the settings that a preset computes from T; they may differ between trials of one
    series.

    A preset is taken into account only if all of its rules give the values in `spec`; a single value may agree by
    chance.
    """
    ruled: dict[str, str] = {}
    for changes in PRESETS.values():
        rules = {field: rule for field, rule in changes.items() if isinstance(rule, OverT)}
        if all(spec.get(field) == rule.at(spec["T"]) for field, rule in rules.items()):
            ruled |= {field: str(rule) for field, rule in rules.items()}
    return ruled


def _name(spec: Mapping[str, Any]) -> str:
    """Return a name for the series: function, learner, preset, and settings that differ from the preset."""
    named = ("function", "s", "T", "m", "seed", "learner")
    known_settings = {n: v for n, v in spec.items() if n in SETTINGS and n not in named}
    changed = {n: v for n, v in known_settings.items() if v != SETTINGS[n].default}
    fitting = [name for name in PRESETS if preset_settings(name, spec["T"]).items() <= spec.items()]
    known = max(fitting, key=lambda name: len(PRESETS[name]), default=None)
    if known is not None:
        changed = {name: value for name, value in changed.items() if name not in PRESETS[known]}
    learner = spec.get("learner", "transformer")
    if learner in LEARNERS and LEARNERS.find(learner).as_drawn:
        changed.pop("unique", None)  # `law` sets it for this learner
    of = "" if spec.get("s") is None else f" of {spec['s']} bits"
    function = spec["function"].upper() if spec["function"] in FAMILIES else spec["function"]
    ruled = _ruled(spec)
    rest = "".join(f", {name} {ruled.get(name, value)}" for name, value in changed.items())
    preset = "" if known is None else f", preset {known}"
    return f"{function}{of}, {learner}{preset}{rest}"


def _series(db: Path, key: str) -> tuple[str, LawResult]:
    """Return the name and the law of a series, from an extension or from the store."""
    if found := _committed().get(key):
        return found
    for _, path in stores(db):
        if records := _groups(path).get(key):
            return _name(records[0].spec), _fitted(path, key, len(records))
    raise Unknown("the store holds no experiment of that id, or too few trials of it.")


@lru_cache(maxsize=32)
def _fitted(db: Path, key: str, trials: int) -> LawResult:
    """Return the law of an experiment; `trials` is its number of trials, so that new ones invalidate the cache."""
    return stored_law(_groups(db)[key])
