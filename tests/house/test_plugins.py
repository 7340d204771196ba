"""A thing of each of eight kinds that an installed package adds: each of at most 60 lines, each known to its command
without another change. The package of this test is what CONTRIBUTING.md shows.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sparsehead._base.errors import DomainError
from sparsehead._base.plugins import Registry

ROOT = Path(__file__).parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
TEMPLATES = dict(re.findall(r"^```python\n# (\w+)\.py\n(.*?)^```", CONTRIBUTING, re.M | re.S))
# the groups and names of the [project.entry-points] tables there
ENTRY_POINTS = re.sub(
    r"""^\[project\.entry-points\."(.*)"\]$|"(.*)"$""",
    lambda found: f"[{found[1]}]" if found[1] else found[2],
    "".join(re.findall(r"^```toml\n(.*?)^```", CONTRIBUTING, re.M | re.S)),
    flags=re.M,
)
SCRIPT = """
import json, sys
from sparsehead.cli.app import main

def run(*arguments):
    try:
        main(list(arguments))
    except SystemExit as ended:
        assert not ended.code, (arguments, ended.code)

small = ["--start", "20", "--trials", "16", "--workers", "1", "--db", "r.db", "--json"]
run("law", "and", "--s", "1", "--T", "4", "--learner", "nearest", *small)
shape = ["--encoding", "signs", "--d", "12", "--heads", "2", "--learning-rate", "0.01", "--steps", "300"]
run("learn", "x1", "--T", "6", "--m", "60", *shape, "--json")
plain = ["--optimiser", "sgd", "--weight-decay", "0", "--clip", "0", "--learning-rate", "0.5", "--steps", "400"]
plain += ["--T", "4", "--m", "12", "--d", "8", "--heads", "2", "--dtype", "float64", "--json"]
run("learn", "x1", *plain, "--engine", "descent")
run("learn", "x1", *plain, "--engine", "torch")
run("build", "x2 ^ x5 ^ x7", "--T", "12", "--method", "counting", "--json")
run("build", "x1 & x3", "--T", "6", "--encoding", "signs", "--json")
run("figure", "--list", "--json")
run("figure", "halves", "--out", "halves.svg", "--json")
run("reproduce", "--no-train", "--out", "report", "--json")
norms = ["--norms", "V21=2,V=1,QK=3,BX=1.5,k=4", "--T", "100", "--m", "1000"]
run("bound", *norms, "--json")
run("bound", *norms, "--form", "columns", "--json")
from pathlib import Path
from compass import Compass
from safetensors.torch import save_file
about = {"model_type": "compass", "d": 12, "n": 2, "layers": 2, "vocab_size": 9}
Path("checkpoint").mkdir()
Path("checkpoint/config.json").write_text(json.dumps(about))
save_file(Compass(about).state_dict(), "checkpoint/model.safetensors")
run("probe", "checkpoint", "--no-baselines", "--no-bounds", "--json")
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What the commands print in a process that has the package on its path."""
    folder = tmp_path_factory.mktemp("plugins")
    for name, text in TEMPLATES.items():
        (folder / f"{name}.py").write_text(text)
    about = folder / "additions-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: additions\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    path = os.pathsep.join([str(folder), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(part) for part in re.split(r"(?<=\})\n(?=\{)", done.stdout.strip())]


def test_the_templates_are_short():
    assert len(TEMPLATES) == 8
    assert all(len(text.splitlines()) <= 60 for text in TEMPLATES.values())


def test_the_templates_import_the_contracts_alone():
    for text in TEMPLATES.values():
        lines = re.findall(r"^ *(?:import|from) (\S+)(?: import (\w+))?", text, re.M)
        ours = {".".join(line) if line[0] == "sparsehead" else line[0] for line in lines}
        assert {name for name in ours if name.startswith("sparsehead")} == {"sparsehead.extend"}


# One change to each template that breaks its contract, and what mypy says about it.
WRONG = {
    "nearest": (" -> Predict:", " -> None:", 'expected "Fit | None"'),
    "descent": (
        "return found\n",
        "return [found]\n",
        'has incompatible type "list[float]"; expected "float"',
    ),
    "signs": (
        " -> Encoding:\n",
        " -> np.ndarray[int, np.dtype[np.float64]]:\n",
        'expected "MakeEncoding | None"',
    ),
    "counting": ("tuple[ex.Model, dict[str, Any]]", "ex.Model", 'variable has type "Construction"'),
    "columns": (
        ", W.columns * W.spectral, log_ln(log_N))",
        ", W.columns * W.spectral)",
        "Missing positional",
    ),
    "compass": (
        "module, arguments, T: ahead(T)",
        "module, arguments: ahead(3)",
        'expected "ReadMask | None"',
    ),
    "even_parity": (" -> Finding:", " -> bool:", 'expected "Check"'),
    "halves": ("-> Chart:", "-> str:", 'expected "Draw"'),
}


@pytest.fixture(scope="module")
def type_errors(tmp_path_factory):
    """What `mypy --strict` says of the templates, and of each with a mistake in it, by file."""
    folder = tmp_path_factory.mktemp("typed")
    for name, text in TEMPLATES.items():
        (folder / f"{name}.py").write_text(text)
    for name, (old, new, _) in WRONG.items():
        assert TEMPLATES[name].count(old) >= 1, name
        (folder / f"wrong_{name}.py").write_text(TEMPLATES[name].replace(old, new))
    said = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--no-error-summary"]
        + ["--cache-dir", str(ROOT / ".mypy_cache" / "templates"), *map(str, sorted(folder.glob("*.py")))],
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert not said.stderr, said.stderr
    errors: dict[str, str] = {}
    for line in said.stdout.splitlines():
        name = Path(line.partition(":")[0]).stem
        errors[name] = errors.get(name, "") + line
    return errors


def test_a_type_checker_accepts_the_templates(type_errors):
    assert {name: said for name, said in type_errors.items() if name in TEMPLATES} == {}


@pytest.mark.parametrize("name", WRONG)
def test_a_type_checker_refuses_an_implementation_that_breaks_its_contract(type_errors, name):
    assert WRONG[name][2] in type_errors.get(f"wrong_{name}", "")


def test_law_measures_an_added_learner(answers):
    (row,) = answers[0]["thresholds"]
    assert row["T"] == 4 and row["trials"] == 16  # one relevant bit of four, and 1-nearest neighbour


def test_learn_trains_with_an_added_encoding(answers):
    assert answers[1]["solved"]
    assert answers[1]["made_by"]["engine"].split()[0] in ("compiled", "torch")


def test_learn_trains_in_an_added_engine(answers):
    """What it trains is what the torch engine trains: the same steps, the same attention but for rounding."""
    added, known = answers[2:4]
    assert added["made_by"]["engine"] == "descent" and added["solved"]
    assert (added["steps"], added["appearance"]) == (known["steps"], known["appearance"])
    assert added["support_mass"] == pytest.approx(known["support_mass"], rel=1e-6)


def test_build_writes_with_an_added_construction(answers):
    assert answers[4]["construction"] == "counting" and answers[4]["exact"]


def test_build_writes_for_an_added_encoding(answers):
    assert answers[5]["encoding"] == "random" and answers[5]["exact"]


def test_figure_lists_and_draws_an_added_figure(answers):
    assert "halves" in [entry["name"] for entry in answers[6]["figures"]]
    assert answers[7]["figure"] == "halves" and answers[7]["bytes"] > 1000


def test_reproduce_checks_an_added_claim(answers):
    (finding,) = [row for row in answers[8]["findings"] if row["label"] == "even-parity"]
    assert finding["verdict"] == "holds" and answers[8]["report"].endswith("report.html")


def test_bound_has_an_added_form(answers):
    every, asked = answers[9:11]
    assert every["form"] != "columns" and every["forms"]["columns"] == asked["log_covering"] > 0
    assert (
        asked["form"] == "columns" and not asked["proven"] and "each column by itself" in asked["notes"][-1]
    )


def test_probe_reads_an_added_architecture(answers):
    found = answers[11]
    assert (found["family"], found["layers"], found["heads_per_layer"]) == ("compass", 2, 2)
    assert found["recomputed_error"] < 1e-5 and len(found["heads"]) == 4


def test_a_registry_names_what_it_has():
    things = Registry("thing", {"here": 1, "there": "math:pi"})
    assert list(things) == ["here", "there"] and things["there"] == pytest.approx(3.14159, abs=1e-5)
    assert len(things) == 2 and "elsewhere" not in things
    with pytest.raises(DomainError, match="thing 'elsewhere' is unknown; the things are here, there"):
        things.find("elsewhere")
    with pytest.raises(KeyError):
        things["elsewhere"]


def test_a_registry_quotes_only_the_beginning_of_a_long_name():
    with pytest.raises(DomainError) as refused:
        Registry("thing", {"here": 1}).find("x" * 3000)
    assert len(str(refused.value)) < 200
