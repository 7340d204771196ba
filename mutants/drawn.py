"""The sample of machine-made breakages: which changes there are, which are drawn, and which tests are shown them."""

import difflib
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from operators import Change, changes, parses

ROOT = Path(__file__).resolve().parents[1]
COUNT, LEAST = 480, 50
# by folder, where it lies in the checkout and beside tests/, unless it is a folder of sparsehead/ with tests/FOLDER
PLACES = {
    "theory": ("sparsehead_paper/theory", "tests/paper/theory"),
    "studies": ("sparsehead_paper/studies", "tests/paper/studies"),
}
# by folder, the only files that are changed, and tested by the files of the same names; all files of other folders
ONLY = {"studies": ("pointers", "token_learners", "taught_parity", "input_laws")}
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
    "studies": ("tests/paper/claims/test_neighbours.py",),
}  # fmt: skip


class Broken(Exception):
    """What was asked for cannot be judged."""


def place(folder: str) -> tuple[str, str]:
    """The paths of a folder and of its tests."""
    return PLACES.get(folder, (f"sparsehead/{folder}", f"tests/{folder}"))


@cache
def candidates(folder: str) -> tuple[Change, ...]:
    files = [f for f in sorted((ROOT / place(folder)[0]).rglob("*.py")) if _taken(folder, f.stem)]
    return tuple(c for file in files for c in changes(str(file.relative_to(ROOT)), text_of(file)))


def _taken(folder: str, stem: str) -> bool:
    return stem in ONLY.get(folder, (stem,))


@cache
def text_of(path: Path) -> str:
    return path.read_text()


def sample(folder: str, seed: int, count: int, files: Sequence[str] = ()) -> list[Change]:
    """The `count` changes of a folder whose names hash lowest with the seed, among those that parse.

    With `files`, only changes of these.
    """
    rank = lambda c: hashlib.sha256(f"{seed} {c.name}".encode()).digest()  # noqa: E731
    found: list[Change] = []
    for change in sorted(candidates(folder), key=rank):
        if files and change.file not in files:
            continue
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
    tests = sorted((ROOT / place(folder)[1]).glob("test_*.py"))
    own = [str(f.relative_to(ROOT)) for f in tests if _taken(folder, f.stem.removeprefix("test_"))]
    return [*own, *TESTS[folder], "tests/house/test_doctests.py"]
