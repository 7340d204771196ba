"""The front end's files, read once when the server starts: a request names one of them, never a path."""

from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

PAGES = ("learn", "build", "law", "bound", "cover", "read", "probe", "claims")
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}


@dataclass(frozen=True)
class Asset:
    """A file of the front end."""

    content: bytes
    kind: str


def assets() -> dict[str, Asset]:
    """Every file below static/, by the path under which it is served."""
    return dict(_below(files(__package__) / "static", "/static"))


def _below(folder: Traversable, path: str) -> list[tuple[str, Asset]]:
    found = []
    for entry in folder.iterdir():
        address = f"{path}/{entry.name}"
        if entry.is_dir():
            found += _below(entry, address)
        elif (kind := TYPES.get("." + entry.name.rpartition(".")[2])) is not None:
            found.append((address, Asset(entry.read_bytes(), kind)))
    return found
