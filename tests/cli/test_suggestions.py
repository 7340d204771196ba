"""What the program tells its user to run exists: commands and options named in messages, help, documents, reports."""

import ast
import html
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main

from sparsehead.cli.app import app
from sparsehead_paper.claims.claim import Context
from sparsehead_paper.claims.registry import CLAIMS, SECTIONS, run_checks
from sparsehead_paper.report.catalogue import FIGURES, draw_all
from sparsehead_paper.report.page import report_html

ROOT = Path(__file__).parents[2]
COMMANDS = typer.main.get_command(app)
# Text in backticks or code tags, or a line of a console or sh block, that begins with the program's name.
QUOTED = re.compile(r"(?:`|<code>|^\$ |^)(sparsehead [a-z][^`<>\n]*)", re.M)
MAKE = re.compile(r"(?:`|^)make ([a-z][a-z-]*)", re.M)
WORD = re.compile(r"[a-z]+")


def strings(file: Path) -> list[str]:
    """Every string of a Python file that may name a command; what is inserted into an f-string becomes X."""
    text = file.read_text()
    found: list[Any] = []
    if "sparsehead " not in text and "make " not in text:
        return found
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(node.value)
        if isinstance(node, ast.JoinedStr):
            parts = [p.value if isinstance(p, ast.Constant) else "X" for p in node.values]
            found.append("".join(map(str, parts)))
    return found


def sources() -> dict[str, str]:
    """Where suggestions stand: strings of the package by file, and the documents."""
    files = sorted(
        f for package in ("sparsehead", "sparsehead_paper") for f in (ROOT / package).rglob("*.py")
    )
    texts = {str(f.relative_to(ROOT)): "\n".join(strings(f)) for f in files}
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "results").glob("*.md")]
    return texts | {str(f.relative_to(ROOT)): f.read_text() for f in pages}


SOURCES = sources()
SUGGESTED = sorted(
    {(name, found.strip()) for name, text in SOURCES.items() for found in QUOTED.findall(text)}
)


def test_suggestions_are_found():
    assert len(SUGGESTED) >= 20
    assert any(name.endswith("plans.py") for name, _ in SUGGESTED)


def check_command(where: str, command: str) -> None:
    """The command exists, and so does each of its options."""
    try:
        words = shlex.split(command, comments=True)[1:]
    except ValueError:
        words = command.split()[1:]
    here: Any = COMMANDS
    while getattr(here, "commands", None) and words and WORD.fullmatch(words[0]):
        assert words[0] in here.commands, f"{where}: there is no command {command!r}"
        here = here.commands[words.pop(0)]
    known = {"--help"} | {option for p in here.params for option in (*p.opts, *p.secondary_opts)}
    options = {w.split("=")[0].rstrip(",.;:)") for w in words if w.startswith("--")}
    assert options <= known, f"{where}: {command!r} names {sorted(options - known)}"


@pytest.mark.parametrize(("where", "command"), SUGGESTED)
def test_a_suggested_command_and_its_options_exist(where, command):
    check_command(where, command)


def test_what_a_report_suggests_exists(tmp_path):
    """The page of a run that measured nothing yet: every experiment and every figure says which command it awaits."""
    experiments = [c.label for c in SECTIONS["Experiments"] if c.check]
    findings = run_checks(experiments, context=Context(options={"results": str(tmp_path)}))
    awaiting = [name for name, entry in FIGURES.items() if entry.needs]
    page = report_html(
        findings=findings,
        claims=CLAIMS.values(),
        figures=draw_all(tmp_path, awaiting),
        run={"Command": "sparsehead reproduce --quick"},
        problems=[f"{f.label}: {f.detail}" for f in findings],
    )
    text = html.unescape(re.sub(r"<(script|style).*?</\1>", "", page, flags=re.S))
    suggested = re.findall(r"(?:`|>)(sparsehead [a-z][^`<>\n]*)", text)
    assert len(suggested) >= len(awaiting) + len([f for f in findings if f.verdict == "not run"])
    for command in sorted(set(suggested)):
        check_command("report", command.replace(str(tmp_path), "results"))


def test_a_suggested_make_target_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.M))
    for page in ("README.md", "CONTRIBUTING.md", "results/README.md"):
        code = re.findall(r"`make ([a-z-]+)|^(?:    )?make ([a-z-]+)  ", SOURCES[page], flags=re.M)
        assert {a or b for a, b in code} <= targets, page


def test_times_agree_in_readme_make_help_and_command_help():
    makefile = (ROOT / "Makefile").read_text()
    for target in ("reproduce", "test"):
        (said,) = re.findall(
            rf"^make {target} .*?(\d+ minutes on two cores)", SOURCES["README.md"], flags=re.M
        )
        assert re.search(rf'"make {target} .*{said}', makefile)
    (said,) = re.findall(r"^make reproduce .*?(\d+ minutes on two cores)", SOURCES["README.md"], flags=re.M)
    assert f"neither for {said}" in SOURCES["sparsehead_paper/commands/reproduce.py"]
