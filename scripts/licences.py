"""docs/licences.md: the licence of every package in requirements.lock, as the installed packages themselves state it.

python scripts/licences.py        in the environment that `make` installs
"""

import re
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK, PAGE = ROOT / "requirements.lock", ROOT / "docs" / "licences.md"
HEAD = """# Licences

The project has the MIT licence. What `make` installs beside it, with the licence that each package states of itself;
written by `python scripts/licences.py`, from the packages as they are installed. Nothing of them is part of
sparsehead's own files; what the lab brings along has its licence in `sparsehead/lab/static/vendor`.

| package | version | licence |
|---|---|---|
"""


def locked() -> dict[str, str]:
    """The packages of the lock, with their versions."""
    return dict(re.findall(r"^([\w.-]+)==(\S+)", LOCK.read_text(), re.MULTILINE))


def licence(name: str) -> str:
    """What a package says: its SPDX expression, else the classifiers, else the first line of its licence field."""
    try:
        said = metadata(name)
    except PackageNotFoundError:
        return ""
    if said["License-Expression"]:
        return str(said["License-Expression"])
    classes = [
        text.split(" :: ")[-1]
        for text in said.get_all("Classifier") or ()
        if text.startswith("License ::") and text != "License :: OSI Approved"
    ]
    return ", ".join(classes) or (said["License"] or "").strip().split("\n")[0][:80]


def main() -> None:
    """Write the page; a package without a word about its licence is an error."""
    rows = {name: (version, licence(name)) for name, version in sorted(locked().items())}
    silent = [name for name, (_, said) in rows.items() if not said]
    if silent:
        raise SystemExit(f"no licence is known for {', '.join(silent)}")
    PAGE.write_text(
        HEAD + "".join(f"| {name} | {version} | {said} |\n" for name, (version, said) in rows.items())
    )
    print(f"{len(rows)} packages")


if __name__ == "__main__":
    main()
