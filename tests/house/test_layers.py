"""The shape of the package: what may import what, what is public, what must not be there, what starts light."""

import ast
import json
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import sparsehead
from sparsehead._base.lazy import install_command

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "sparsehead"
PAPER = ROOT / "sparsehead_paper"
FILES = sorted([*PACKAGE.rglob("*.py"), *PAPER.rglob("*.py")])

# The data flow, read downwards: a file imports only from folders above it, or from its own.
FLOW = """
    _base functions datasets heads covering capacity floor construct importing certify planting reading train store
    sweep laws probing figures lab cli extend __main__
"""
PAPER_FLOW = "published theory studies figures claims report probe_studies lab commands"
ORDER = {"sparsehead": FLOW.split(), "sparsehead_paper": PAPER_FLOW.split()}
HEAVY = ("torch", "fastapi", "distributed", "sklearn", "altair")


def module_of(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(f) for f in FILES}


def imports_of(file: Path, *, anywhere: bool = True) -> set[str]:
    """The modules of both packages that a file imports: anywhere in it, or when it is loaded."""
    here = module_of(file).split(".")
    package = here if file.name == "__init__.py" else here[:-1]
    found = set()
    tree = ast.parse(file.read_text())
    for node in ast.walk(tree) if anywhere else tree.body:
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names if a.name.split(".")[0] in ORDER}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            if source.split(".")[0] in ORDER:
                found |= {m if (m := f"{source}.{a.name}") in MODULES else source for a in node.names}
    return found - {"sparsehead"}  # the version, and the lazy names


def layer(module: str) -> tuple[int, int]:
    """The library lies above the paper's package."""
    package, folder = module.split(".")[:2]
    return list(ORDER).index(package), ORDER[package].index(folder)


def string_edges(file: Path) -> set[str]:
    """The modules that a file names as "module:name" in a string, for later: registries, charts, runners."""
    texts = [n.value for n in ast.walk(ast.parse(file.read_text())) if isinstance(n, ast.Constant)]
    named = [re.fullmatch(r"((?:[a-z_]+\.)+[a-z_]+):[A-Za-z_]+", x) for x in texts if isinstance(x, str)]
    modules = {m[1] if m[1].split(".")[0] in ORDER else f"sparsehead.{m[1]}" for m in named if m}
    return modules & MODULES


def test_every_file_has_its_place_in_the_order():
    packages = {"sparsehead", "sparsehead_paper"}
    assert {tuple(m.split(".")[:2]) for m in MODULES - packages} <= {(p, f) for p in ORDER for f in ORDER[p]}


def test_contributors_are_told_the_same_order():
    layout = (ROOT / "CONTRIBUTING.md").read_text().partition("## Layout")[2].partition("\n## ")[0]
    rows = [line.split("  ")[0] for line in re.findall(r"^    (\S.*)$", layout, flags=re.M)]
    told = [name for package in ORDER.values() for name in package if name not in ("__main__", "extend")]
    assert " ".join(rows).split() == told


@pytest.mark.parametrize("file", [f for f in FILES if f.parent not in (PACKAGE, PAPER)], ids=module_of)
def test_a_file_imports_only_from_files_above_it(file):
    own = layer(module_of(file))
    assert [m for m in sorted(imports_of(file)) if layer(m) > own] == []


@pytest.mark.parametrize("file", [f for f in FILES if f.is_relative_to(PACKAGE)], ids=module_of)
def test_nothing_in_the_library_names_the_paper_s_package(file):
    assert "sparsehead_paper" not in file.read_text()


def test_what_is_named_in_strings_is_a_chart_or_of_the_same_folder():
    """Results name the chart that draws them; other registries and runners stay within their folder, or look up."""
    edges = {(module_of(f), m) for f in FILES if f.is_relative_to(PACKAGE) for m in string_edges(f)}
    assert len(edges) >= 15
    assert {(a, b) for a, b in edges if layer(b) > layer(a)} == {
        (a, b) for a, b in edges if b.startswith("sparsehead.figures.")
    }


def test_files_of_one_folder_do_not_import_each_other_in_a_circle():
    graph = {module_of(f): imports_of(f, anywhere=False) - {module_of(f)} for f in FILES}
    assert len(list(TopologicalSorter(graph).static_order())) >= len(FILES)  # raises CycleError otherwise


def test_public_names_are_sorted_and_importable():
    """Also once every file is loaded: a submodule of the same name must not take a function's place."""
    assert sparsehead.__all__ == sorted(sparsehead.__all__)
    wrong = []
    for _ in range(2):
        for name in sparsehead.__all__:
            try:
                if isinstance(getattr(sparsehead, name), ModuleType):
                    wrong.append(f"{name} is a module")
            except (ImportError, AttributeError) as error:
                wrong.append(f"{name}: {error}")
        for module in MODULES - {"sparsehead.__main__"}:
            import_module(module)
    assert wrong == []


@pytest.mark.parametrize("file", FILES, ids=module_of)
def test_nothing_forbidden_is_in_a_file(file):
    tree = ast.parse(file.read_text())
    calls = {ast.unparse(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    assert calls.isdisjoint({"eval", "exec", "__import__"})
    loads = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n.func) == "torch.load"]
    # a pickle may run code; with weights_only it builds tensors and nothing else
    assert all("weights_only=True" in ast.unparse(call) for call in loads)
    modules = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    modules |= {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert {m.split(".")[0] for m in modules}.isdisjoint(
        {"pickle", "cPickle", "dill", "joblib", "__future__"}
    )
    alone = (
        file == PACKAGE / "certify" / "check.py"
    )  # one file by design, so that it can be read and run by itself
    assert len(file.read_text().splitlines()) <= (400 if alone else 350)


SCRIPTS = [
    f
    for folder in ("benchmarks", "fuzz", "mutants", "proofs", "torture")
    for f in (ROOT / folder).glob("*.py")
]


@pytest.mark.parametrize("file", SCRIPTS, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_scripts_are_short_enough_to_read(file):
    assert len(file.read_text().splitlines()) <= 350


# Commands one after the other in a process in which the heavy packages cannot be imported.
BLOCK = f"""
import contextlib, io, json, sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {HEAVY!r}:
            raise ModuleNotFoundError(name + " was made unimportable", name=name)
sys.meta_path.insert(0, Blocked())
"""
COMMANDS = """
from sparsehead.cli.app import main
said = {}
for verb, arguments in json.loads(sys.argv[1]).items():
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as ended:
            code = ended.code
    said[verb] = [code, out.getvalue(), err.getvalue()]
print(json.dumps(said))
"""


def run_without_heavy_packages(commands, folder):
    """By verb: exit code, standard output, standard error."""
    done = subprocess.run(
        [sys.executable, "-c", BLOCK + COMMANDS, json.dumps(commands)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_contracts_of_plugins_load_no_proofs_readings_or_heavy_packages():
    code = "import sys, sparsehead.extend; print(*sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    loaded = set(said.split())
    rooms = {name.split(".")[1] for name in loaded if name.startswith("sparsehead.")}
    assert rooms >= {"functions", "train"} and rooms.isdisjoint(
        {"certify", "reading", "floor", "sweep", "store"}
    )
    assert loaded.isdisjoint({*HEAVY, "scipy.stats", "sparsehead_paper"})


def test_what_extensions_are_made_of_is_imported_when_first_used():
    extend = import_module("sparsehead.extend")
    block = (PACKAGE / "extend.py").read_text().partition("if TYPE_CHECKING")[2]
    names = re.findall(r" as (\w+)$", block, re.M)
    assert len(names) >= 15 and all(callable(getattr(extend, name)) for name in names)
    with pytest.raises(AttributeError, match=r"'sparsehead\.extend' has no attribute 'nothing'"):
        _ = extend.nothing


LIGHT = {
    "help": ["--help"],
    "build": ["build", "x2 & x5", "--T", "9", "--json"],
    "bound": ["bound", "--norms", "V21=2,V=1,QK=3,BX=1.5", "--T", "100", "--m", "1000", "--json"],
    "cover": ["cover", "points.csv", "--eps", "0.5", "--json"],
    "learn": ["learn", "x1 & x2", "--T", "9", "--m", "60", "--restarts", "1", "--steps", "20", "--json"],
    "law": [
        "law",
        "or",
        "--s",
        "2",
        "--T",
        "8,12",
        "--learner",
        "greedy",
        "--trials",
        "4",
        "--workers",
        "1",
        "--json",
    ],
}


NEED_AN_EXTRA = {
    "learn": (["learn", "x1 & x2", "--T", "9", "--m", "30", "--engine", "torch"], "torch", "learn"),
    "law": (["law", "and", "--s", "2", "--T", "10", "--layers", "2"], "torch", "learn"),
    "mlp": (["law", "and", "--s", "2", "--T", "10", "--learner", "mlp"], "torch", "learn"),
    "figure": (["figure", "covers", "--out", "x.png"], "altair", "charts"),
}


def test_a_missing_extra_is_one_sentence_with_the_command_that_installs_it(tmp_path):
    commands = {verb: arguments for verb, (arguments, _, _) in NEED_AN_EXTRA.items()}
    for verb, said in run_without_heavy_packages(commands, tmp_path).items():
        _, module, extra = NEED_AN_EXTRA[verb]
        sentence = f"this needs {module}, which is not installed; {install_command(extra)} brings it."
        assert said == [2, "", f"sparsehead: {sentence}\n"]
    assert list(tmp_path.iterdir()) == []


INTROSPECTION = """
import inspect, sparsehead, sparsehead.extend
names = dict(inspect.getmembers(sparsehead))
assert set(sparsehead.__all__) <= set(names) == set(dir(sparsehead)) and not hasattr(sparsehead, "no_such_name")
assert "architecture" in inspect.signature(sparsehead.probe).parameters and inspect.getmembers(sparsehead.extend)
help(sparsehead)
"""


def test_names_signatures_and_help_need_no_extra():
    done = subprocess.run([sys.executable, "-c", BLOCK + INTROSPECTION], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "covering_number" in done.stdout


def test_light_commands_start_without_the_heavy_packages(tmp_path):
    (tmp_path / "points.csv").write_text("0.5,0.7\n0.2,0.3\n0.6,0.65\n")
    said = run_without_heavy_packages(LIGHT, tmp_path)
    assert said.keys() == LIGHT.keys()
    assert {verb: (code, err) for verb, (code, out, err) in said.items() if code or not out} == {}
