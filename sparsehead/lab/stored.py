"""The stored runs that the pages show: those of the user's store, and a few that come with the lab, so that no page is
empty before anything was run."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..store import Record, Store
from ..train.spec import TrainSpec, target_function
from .answers import Unknown

# Written by scripts/lab_examples.py.
EXAMPLES = Path(__file__).with_name("examples.sqlite")
MODEL = "lab/model"


def stores(db: Path) -> Iterator[tuple[str, Path]]:
    """Yield (source, path): the user's store if it exists, then the examples."""
    if db.exists():
        yield "store", db
    yield "example", EXAMPLES


def known_records(path: Path) -> list[Record]:
    """Return the records that can be shown; `sparsehead results check` names the damaged ones, which are left out."""
    damage: list[str] = []
    with Store(path, readonly=True, check=False) as store:
        return [record for record in store.records(damage) if record.is_known]


def stored_runs(db: Path) -> list[dict[str, Any]]:
    """Return the runs that have a model: of the user's store the newest, then the examples; each run once."""
    found: dict[str, dict[str, Any]] = {}
    most_shown = 20  # runs of the user's store in the list, the newest
    for source, path in stores(db):
        with_model = [record for record in known_records(path) if MODEL in record.arrays]
        if source == "store":
            with_model = sorted(with_model, key=lambda record: -record.created)[:most_shown]
        for record in with_model:
            found.setdefault(record.id, _run_row(record, source))
    return list(found.values())


def _run_row(record: Record, source: str) -> dict[str, Any]:
    named = {name: record.spec[name] for name in ("function", "T", "m", "seed")}
    return {"id": record.id, **named, "solved": record.solved, "source": source}


def found_run(db: Path, key: str) -> tuple[Path, Record]:
    """Return the store and the record of a run with a model."""
    for _, path in stores(db):
        with Store(path, readonly=True, check=False) as store:
            record = store.get(key)
        if record is not None and record.is_known and MODEL in record.arrays:
            return path, record
    raise Unknown("the store holds no model of that trial.")


def model_bytes(db: Path, key: str) -> bytes:
    """Return the model of a run as the bytes of its file."""
    path, record = found_run(db, key)
    with Store(path, readonly=True, check=False) as store:
        return store.arrays(record.id)[MODEL].tobytes()


def spec_of_run(db: Path, key: str) -> TrainSpec:
    """Return the spec of the trial that a run trained."""
    return TrainSpec(**found_run(db, key)[1].spec)


def run_result(db: Path, key: str) -> dict[str, Any]:
    """Return the result of a run, as the job that trained it returned it."""
    path, record = found_run(db, key)
    return _result(path, record.id)


@lru_cache(maxsize=32)
def _result(path: Path, key: str) -> dict[str, Any]:
    from .work import result_of

    with Store(path, readonly=True, check=False) as store:
        record = store.get(key)
        assert record is not None
        return result_of(record, store)


@lru_cache(maxsize=8)
def run_reading(db: Path, key: str) -> dict[str, Any]:
    """Return the result of `read` on the model of a run; `read` does not get the function that was trained on."""
    from .sandbox import loaded, read_answer

    return read_answer(loaded(model_bytes(db, key)), seed=0)


@lru_cache(maxsize=32)
def run_certificate(db: Path, key: str) -> dict[str, Any]:
    """Return a certificate file, which proves that the model of a run computes its function on every input.

    Raises:
        DomainError: the model does not compute its function, or models of its kind have no such file.
    """
    from ..certify.certificate_file import certificate_content

    return certificate_content(model_bytes(db, key), target_function(spec_of_run(db, key)))
