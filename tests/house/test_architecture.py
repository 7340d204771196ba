"""docs/architecture.md names files that are there, each of which the first file of its journey reaches by imports."""

import functools
import re
import tomllib

import pytest

from .test_layers import FILES, ROOT, imports_of, module_of, string_edges

PAGE = (ROOT / "docs" / "architecture.md").read_text()
JOURNEYS = {
    title: re.findall(r"`(sparsehead\w*/[\w/]+\.py)`", text)
    for title, text in re.findall(r"^## `sparsehead (\w+).*?`\n(.*?)(?=^## )", PAGE, re.M | re.S)
}
COMMANDS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][
    "sparsehead.commands"
]


@functools.cache
def imported_modules() -> dict[str, set[str]]:
    """For each module those that it imports, or names in strings for later; the commands of entry points too."""
    modules = {module_of(file): file for file in FILES}
    graph = {name: imports_of(file) | string_edges(file) for name, file in modules.items()}
    for name, file in modules.items():
        # python -m sparsehead.sweep.worker; relative names of commands and runners
        graph[name] |= modules.keys() & set(re.findall(r"(?<=[\"' ])[\w.]+(?=[\"': ])", file.read_text()))
    graph["sparsehead.cli.app"] |= {
        f"sparsehead.cli.{file.stem}" for file in (ROOT / "sparsehead/cli").glob("*.py")
    }
    graph["sparsehead.cli.app"] |= {target.partition(":")[0] for target in COMMANDS.values()}
    return {
        name: found | {m.rpartition(".")[0] for m in found} for name, found in graph.items()
    }  # and packages


def reached(graph: dict[str, set[str]], start: str) -> set[str]:
    found, todo = {start}, [start]
    while todo:
        new = graph.get(todo.pop(), set()) - found
        found |= new
        todo += new
    return found


def test_the_journeys_are_those_of_three_commands():
    assert list(JOURNEYS) == ["build", "law", "reproduce"]
    assert all(len(files) >= 10 for files in JOURNEYS.values())


@pytest.mark.parametrize("verb", JOURNEYS)
def test_the_first_file_of_a_journey_reaches_the_others_by_imports(verb):
    graph = imported_modules()
    modules = [module_of(ROOT / file) for file in JOURNEYS[verb]]
    assert [file for file in JOURNEYS[verb] if not (ROOT / file).is_file()] == []
    known = reached(graph, modules[0])
    assert [module for module in modules if module not in known] == []


def test_every_file_named_in_the_text_is_there():
    named = re.findall(r"`((?:sparsehead|sparsehead_paper|docs|tests)/[\w/.]*)`", PAGE)
    assert [path for path in named if not (ROOT / path).exists()] == []
