"""The front end's files, read once when the server starts; a request can only select one of these, never a path."""

from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

PAGES = ("learn", "data", "build", "law", "bound", "cover", "read", "probe", "check", "claims")


@dataclass(frozen=True)
class Asset:
    """A file of the front end."""

    content: bytes
    kind: str


def assets() -> dict[str, Asset]:
    """Return URL path -> file for every file below static/."""
    return dict(_below(files(__package__) / "static", "/static"))


def _below(folder: Traversable, path: str) -> list[tuple[str, Asset]]:
    types = {"html": "text/html", "css": "text/css", "js": "text/javascript", "txt": "text/plain"}
    kinds = {ending: f"{kind}; charset=utf-8" for ending, kind in types.items()} | {"svg": "image/svg+xml"}
    found = []
    for entry in folder.iterdir():
        address = f"{path}/{entry.name}"
        if entry.is_dir():
            found += _below(entry, address)
        elif (kind := kinds.get(entry.name.rpartition(".")[2])) is not None:
            found.append((address, Asset(entry.read_bytes(), kind)))
    return found
