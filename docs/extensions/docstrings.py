"""Docstrings of the package as autodoc wants them.

They are plain text: `name` is code, an indented block is kept as it stands, `>>>` begins an example, a section such as
"Args:" has one item per name, and "Paper: label" names rows of the paper map. Everything else is text, so the signs
that reStructuredText reads as markup (|x|, *, trailing _) are escaped.
"""

import re
from typing import Any

from sphinx.application import Sphinx

SECTION = re.compile(r"^(Args|Returns|Raises|Yields):(.*)$")
ITEM = re.compile(r"^([A-Za-z_][\w., ]*): +(.+)$")
PAPER = re.compile(r"\bPaper: +([\w, -]+?)\s*$")


def rst(lines: list[str]) -> list[str]:
    """The docstring's lines as reStructuredText."""
    out: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        heading = SECTION.match(line)
        end = at + 1
        if heading:
            while end < len(lines) and (not lines[end].strip() or lines[end].startswith(" ")):
                end += 1
            out += section(heading[1], [heading[2].strip(), *lines[at + 1 : end]])
        elif line.startswith(">>>"):
            while end < len(lines) and lines[end].strip():
                end += 1
            out += ["", *lines[at:end], ""]
        elif line.startswith("    ") and (not out or not out[-1].strip()):
            while end < len(lines) and (not lines[end].strip() or lines[end].startswith("    ")):
                end += 1
            out += ["::", "", *lines[at:end], ""]
        elif PAPER.search(line):
            before = PAPER.sub("", line).rstrip()
            out += [text(before)] if before else []
            out += ["", f"Paper: {links(PAPER.search(line)[1])}", ""]  # type: ignore[index]
        else:
            out += ["", text(line)] if line.startswith("- ") else [text(line)]
        at = end
    return out


def section(name: str, lines: list[str]) -> list[str]:
    """A section as a rubric and a definition list; text without a name stays a paragraph."""
    out = ["", f".. rubric:: {name}", ""]
    for line in (line.strip() for line in lines):
        item = ITEM.match(line)
        if name != "Returns" and item:
            terms = ", ".join(f"``{term.strip()}``" for term in item[1].split(","))
            out += ["", terms, f"    {text(item[2])}"]
        elif line:
            out.append(f"    {text(line)}" if name != "Returns" else text(line))
    return [*out, ""]


def links(labels: str) -> str:
    """Labels of claims, each a link to the paper map."""
    return ", ".join(f":doc:`{label.strip()} </paper>`" for label in labels.split(","))


def text(line: str) -> str:
    """One line: `code` as literals, markup signs outside of it escaped; indentation and bullets kept."""
    parts = re.split(r"(`[^`]+`)", line)
    return "".join(
        f"``{part[1:-1]}``" if part.startswith("`") else re.sub(r"([\\*|_])", r"\\\1", part) for part in parts
    )


def convert(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = rst(lines)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", convert)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
