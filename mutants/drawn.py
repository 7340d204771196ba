"""The sample of machine-made breakages: which changes there are, which are drawn, and which tests are shown them."""

import difflib
import hashlib
from functools import cache
from pathlib import Path

from operators import Change, changes, parses

ROOT = Path(__file__).resolve().parents[1]
COUNT, LEAST = 480, 50
# by folder, where it lies in the checkout and beside tests/, unless it is a folder of sparsehead/ with tests/FOLDER
PLACES = {"theory": ("sparsehead_paper/theory", "tests/paper/theory")}
# by folder, tests besides those of its place and tests/house/test_doctests.py
TESTS = {
    "certify": (),
    "capacity": (
        "tests/paper/claims/test_attention_lipschitz.py", "tests/paper/claims/test_capacity.py",
        "tests/paper/claims/test_capacity_lemmas.py", "tests/paper/claims/test_depth.py",
        "tests/paper/claims/test_generalization_bounds.py", "tests/paper/claims/test_limits.py",
        "tests/paper/claims/test_linear_covers.py", "tests/paper/claims/test_notes_errata.py",
        "tests/paper/claims/test_paper_errata.py",
    ),
    "reading": (),
    "floor": ("tests/paper/claims/test_floor.py",),
    "laws": (),
    "theory": (
        "tests/floor/test_bracket.py", "tests/paper/claims/test_attention_lipschitz.py",
        "tests/paper/claims/test_capacity.py", "tests/paper/claims/test_capacity_lemmas.py",
        "tests/paper/claims/test_covering.py", "tests/paper/claims/test_floor.py",
        "tests/paper/claims/test_generalization_bounds.py", "tests/paper/claims/test_limits.py",
        "tests/paper/claims/test_linear_covers.py", "tests/paper/claims/test_notes_errata.py",
        "tests/paper/claims/test_paper_errata.py", "tests/paper/claims/test_sparse_functions.py",
    ),
    "covering": (
        "tests/paper/claims/test_capacity.py", "tests/paper/claims/test_covering.py",
        "tests/paper/claims/test_generalization_bounds.py", "tests/paper/claims/test_notes_errata.py",
    ),
    "construct": (
        "tests/paper/claims/test_limits.py", "tests/paper/claims/test_paper_errata.py",
        "tests/paper/claims/test_representation.py", "tests/paper/claims/test_sparse_functions.py",
        "tests/cli/test_build.py",
    ),
}  # fmt: skip


class Broken(Exception):
    """What was asked for cannot be judged."""


def place(folder: str) -> tuple[str, str]:
    """The paths of a folder and of its tests."""
    return PLACES.get(folder, (f"sparsehead/{folder}", f"tests/{folder}"))


@cache
def candidates(folder: str) -> tuple[Change, ...]:
    files = sorted((ROOT / place(folder)[0]).rglob("*.py"))
    return tuple(c for file in files for c in changes(str(file.relative_to(ROOT)), text_of(file)))


@cache
def text_of(path: Path) -> str:
    return path.read_text()


def sample(folder: str, seed: int, count: int) -> list[Change]:
    """The `count` changes of a folder whose names hash lowest with the seed, among those that parse."""
    rank = lambda c: hashlib.sha256(f"{seed} {c.name}".encode()).digest()  # noqa: E731
    found: list[Change] = []
    for change in sorted(candidates(folder), key=rank):
        if len(found) < count and parses(change.applied(text_of(ROOT / change.file))):
            found.append(change)
    return found


def shares(count: int, least: int = LEAST) -> dict[str, int]:
    """How many of `count` each folder gets: in proportion to its candidates, at least `least`."""
    sizes = {folder: len(candidates(folder)) for folder in TESTS}
    free = max(0, count - least * len(sizes))
    total = sum(sizes.values())
    return {folder: least + round(free * size / total) for folder, size in sizes.items()}


def difference(change: Change) -> str:
    text = text_of(ROOT / change.file)
    pair = (text.splitlines(), change.applied(text).splitlines())
    rows = list(difflib.unified_diff(*pair, change.file, change.file, lineterm="", n=2))
    return "\n".join([change.id, *rows])


def find(start: str) -> list[Change]:
    """Changes whose id begins so."""
    folder = start.partition("/")[0]
    found = [c for c in candidates(folder) if c.id.startswith(start)] if folder in TESTS else []
    if not found:
        raise Broken(
            f"no change begins with {start!r}; ids look like floor/bracket:_cut:arithmetic.1@01234567."
        )
    return found


def test_files(folder: str) -> list[str]:
    """The files whose tests a folder's changes are shown to."""
    own = sorted(str(f.relative_to(ROOT)) for f in (ROOT / place(folder)[1]).glob("test_*.py"))
    return [*own, *TESTS[folder], "tests/house/test_doctests.py"]
