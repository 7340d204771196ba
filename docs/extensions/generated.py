"""Parts of pages that are written while the site is built: a line `<!-- generated: NAME -->` becomes the text of NAME.

commands          every command with its help, from the Typer app
api               every public name, from `sparsehead/__init__.pyi`; Sphinx reads the docstrings (autodoc)
charts            every committed chart of results/
page NAME         the name of a page where there is one, else nothing: a place in a table of contents
file PATH         a document of the repository, its links turned to where this page stands
"""

import contextlib
import inspect
import io
import os
import re
import typing
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
# documents of the repository that are pages of the site
PAGES = {
    "README.md": "index",
    "CONTRIBUTING.md": "contributing",
    "CHANGELOG.md": "changelog",
    "SECURITY.md": "security",
    "results/README.md": "results",
    "mutants/RESULT.md": "mutants",
    "fuzz/RESULT.md": "fuzz",
    "fuzz/FOUND.md": "fuzz",
    "torture/RESULT.md": "torture",
    "torture/FOUND.md": "torture",
    "proofs/RESULT.md": "proofs",
}
MARK = re.compile(r"^<!-- generated: (\w+) ?(\S*) -->$", re.M)
WIDTH = "88"
GROUPS = {
    "Functions of s bits": ("functions", "task"),
    "Weights": ("encoding", "model", "model_file", "construct", "certify", "reading"),
    "Capacity": ("capacity", "covering", "floor"),
    "Learning": ("train", "experiments", "spec", "sweep", "store"),
}
REST = "Everything else"


def expand(app: Sphinx, docname: str, source: list[str]) -> None:
    source[0] = MARK.sub(lambda match: MAKERS[match[1]](match[2]), source[0])


def commands(_: str) -> str:
    """A section per command, subcommands below theirs."""
    import typer.main

    from sparsehead.cli.app import app

    parts, group = [], typer.main.get_command(app)
    for verb, command in group.commands.items():  # type: ignore[attr-defined]
        text, line = help_of(verb), command.short_help or command.help
        parts.append(f"## sparsehead {verb}\n\n{line}\n\n```text\n{text}\n```\n")
        below = re.findall(r"^  (\w+) ", text.partition("Commands:")[2], flags=re.M)
        parts += [f"### {verb} {name}\n\n```text\n{help_of(verb, name)}\n```\n" for name in below]
    return "\n".join(parts)


def help_of(*words: str) -> str:
    """What `sparsehead WORDS --help` prints on a terminal of WIDTH columns."""
    from sparsehead.cli.app import main

    said, before = io.StringIO(), os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = os.environ["TERMINAL_WIDTH"] = WIDTH
    try:
        with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
            main([*words, "--help"])
    finally:
        del os.environ["TERMINAL_WIDTH"]
        os.environ.pop("COLUMNS") if before is None else os.environ.update(COLUMNS=before)
    return said.getvalue().strip()


def api(_: str) -> str:
    """A section per subject with its public names, then the types that they return."""
    import sparsehead
    from sparsehead._base.lazy import names_for_type_checkers

    home = names_for_type_checkers(f"{sparsehead.__file__}i")
    groups: dict[str, list[str]] = {title: [] for title in (*GROUPS, REST)}
    for name in sorted(home, key=str.lower):
        room = home[name].lstrip(".").split(".")[0]
        title = next((title for title, rooms in GROUPS.items() if room in rooms), REST)
        groups[title].append(name)
    parts = [_section(title, [f"sparsehead.{n}" for n in names]) for title, names in groups.items() if names]
    return "\n".join([*parts, _section("What the functions return", returned(home))])


def returned(home: dict[str, str]) -> list[str]:
    """Our own types that public functions return and that are no public names themselves, by full name."""
    import sparsehead

    found = {}
    for name in home:
        thing = getattr(sparsehead, name)
        if inspect.isfunction(thing):
            # a name in quotes is an optional library's type, such as a torch module, and not ours to document
            for kind in _types(inspect.get_annotations(thing).get("return")):
                if kind.__module__.startswith("sparsehead") and kind.__name__ not in home:
                    found[kind.__name__] = f"{kind.__module__}.{kind.__name__}"
    return [found[name] for name in sorted(found)]


def _types(annotation: Any) -> list[type]:
    inner = [kind for part in typing.get_args(annotation) for kind in _types(part)]
    return [annotation, *inner] if isinstance(annotation, type) and not inner else inner


def _section(title: str, names: list[str]) -> str:
    lines = [f"## {title}", ""]
    for name in names:
        short = name.rsplit(".")[-1]
        lines += [f"### {short}", "", "```{eval-rst}", f".. {_directive(name)}:: {name}", "```", ""]
    return "\n".join(lines)


def _directive(name: str) -> str:
    module, _, short = name.rpartition(".")
    thing = getattr(import_module(module), short)
    if not inspect.isclass(thing):
        return "autofunction"
    return "autoexception" if issubclass(thing, Exception) else "autoclass"


def charts(_: str) -> str:
    """Every chart of results/, with the line that `sparsehead figure --list` has for it."""
    from sparsehead_paper.report.catalogue import FIGURES

    lines = {entry.name: entry.line for entry in FIGURES.values()}
    parts = []
    for file in sorted((ROOT / "results").glob("*.svg")):
        title = lines.get(file.stem, file.stem)
        command = f"`sparsehead figure {file.stem}`" if file.stem in lines else ""
        parts.append(f"### {file.stem}\n\n{title} {command}\n\n![{title}](../results/{file.name})\n")
    return "\n".join(parts)


def repository_file(path: str) -> str:
    """The document at `path`, without its title, links turned: those into docs/ become links between pages."""
    text = (ROOT / path).read_text(encoding="utf-8").partition("\n")[2]
    folder = (ROOT / path).parent

    def turned(match: re.Match[str]) -> str:
        target, _, anchor = match[1].partition("#")
        whole = (folder / target).resolve()
        page = PAGES.get(whole.relative_to(ROOT).as_posix())
        if page is not None:
            return f"]({page}.md{'#' + anchor if anchor else ''})"
        inside = whole.relative_to(ROOT / "docs") if whole.is_relative_to(ROOT / "docs") else None
        moved = inside or Path("..") / whole.relative_to(ROOT)
        return f"]({moved.as_posix()}{'#' + anchor if anchor else ''})"

    return re.sub(r"\]\((?!\w+:|#)([^)\s]+)\)", turned, text)


def page(name: str) -> str:
    """`name` if docs/ has that page."""
    return name if (ROOT / "docs" / f"{name}.md").exists() else ""


MAKERS: dict[str, Callable[[str], str]] = {
    "commands": commands,
    "api": api,
    "charts": charts,
    "page": page,
    "file": repository_file,
}


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", expand)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
