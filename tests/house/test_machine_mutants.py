"""Machine-made breakages: each operator, names that survive edits elsewhere, and what is kept."""

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILE = "sparsehead/floor/small.py"


def script(name):
    """A file of mutants/, which are scripts and no part of the package."""
    sys.path.insert(0, str(ROOT / "mutants"))
    spec = importlib.util.spec_from_file_location(name, ROOT / "mutants" / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.path.remove(str(ROOT / "mutants"))
    return module


@pytest.fixture(scope="module")
def operators():
    return script("operators")


@pytest.fixture(scope="module")
def machine(operators):
    return script("machine")


def bodies(operators, code, operator):
    """What the changes of one operator make of `code`, the body of a function f(a, b, n)."""
    text = "def f(a, b, n):\n" + "".join(f"    {line}\n" for line in code.split("\n"))
    found = [c for c in operators.changes(FILE, text) if c.id.split(":")[2].startswith(f"{operator}.")]
    return [
        "\n".join(line[4:] for line in c.applied(text).splitlines()[1:])
        for c in found
        if operators.parses(c.applied(text))
    ]


@pytest.mark.parametrize(
    ("operator", "code", "expected"),
    [
        ("arithmetic", "return a - b", ["return a + b"]),
        ("arithmetic", "return a // b", ["return a / b"]),
        ("arithmetic", "return (a) ** (b)", ["return (a) * (b)"]),
        ("arithmetic", "a += b", ["a -= b"]),
        ("arithmetic", 'return "x" + a', []),
        ("operand", "return a * b", ["return (a)", "return (b)"]),
        ("comparison", "return a < b", ["return a <= b", "return a >= b"]),
        (
            "comparison",
            "return 0 <= a == b",
            ["return 0 < a == b", "return 0 > a == b", "return 0 <= a != b"],
        ),
        ("comparison", "return a is not b", ["return a is b"]),
        ("comparison", "return a not in b", ["return a in b"]),
        ("boolean", "return a and b", ["return a or b", "return True and b", "return a and True"]),
        ("boolean", "return a or b", ["return a and b", "return False or b", "return a or False"]),
        ("unary", "return not a", ["return (a)"]),
        ("unary", "return -a", ["return (a)"]),
        ("constant", "return 3", ["return 4", "return 2", "return 0"]),
        ("constant", "return 0", ["return 1", "return (-1)"]),
        ("constant", "return 0.0", ["return 1.0"]),
        ("constant", "return 1e-9", ["return (2 * 1e-9)", "return (1e-9 / 2)", "return (-1e-9)"]),
        ("constant", "return True", ["return False"]),
        ("constant", "return math.inf", ["return (-math.inf)"]),
        ("constant", "return a[1]", ["return a[2]", "return a[0]"]),
        ("opposite", "return min(a, b)", ["return max(a, b)"]),
        ("opposite", "return np.maximum(a, b)", ["return np.minimum(a, b)"]),
        ("opposite", "return math.ceil(a)", ["return math.floor(a)"]),
        ("opposite", "return a.any()", ["return a.all()"]),
        ("swap", "return g(a, b, n)", ["return g(b, a, n)"]),
        ("swap", "return isinstance(a, b)", []),
        ("keyword", "return g(a, axis=1, keep=True)", ["return g(a, keep=True)", "return g(a, axis=1)"]),
        ("keyword", "return g(a, axis=b)", []),
        (
            "boundary",
            "return a[b:n]",
            ["return a[:n]", "return a[(b) + 1:n]", "return a[b:]", "return a[b:(n) - 1]"],
        ),
        ("boundary", "return range(n)", ["return range((n) - 1)"]),
        ("transpose", "return a.T", ["return a"]),
        ("condition", "if a:\n    b = n", [f"if {x}:\n    b = n" for x in ("(not (a))", "True", "False")]),
        ("condition", "return a if b else n", ["return (a)", "return (n)"]),
        ("condition", "return [x for x in a if x]", ["return [x for x in a if True]"]),
        ("drop", "g(a)", ["pass"]),
        ("drop", "a = 1\nc = 2", ["pass\nc = 2"]),
        ("drop", "a[0] = b", ["pass"]),
        ("loop", "for x in a:\n    continue", ["for x in a:\n    break"]),
        ("return", "return g(a, b)", ["return a"]),
    ],
)
def test_operator(operators, operator, code, expected):
    assert bodies(operators, code, operator) == expected


@pytest.mark.parametrize(
    "text",
    [
        '"""1 + 1"""\nfrom a import b\n__all__ = ["a", 1 + 1]\n',
        'def f(x: "a | b") -> list[3]:\n    """One < two."""\n    raise ValueError(f"{x + 1}", 3)\n',
        "@cache(maxsize=1)\ndef f():\n    ...\n",
        "class A:\n    x: Shaped[3]\n\n    def __repr__(self):\n        return self.x + 1\n",
        'def f(x):\n    warn(f"{x + 1}", 2)\n    return f"{x + 1}"\n',
        "if TYPE_CHECKING:\n    pass\n",
    ],
)
def test_what_is_never_changed(operators, text):
    assert [c.id for c in operators.changes(FILE, text) if "condition" not in c.id] == []


SMALL = '''"""Small."""

LIMIT = 3


class A:
    """é, before which bytes and characters agree."""

    def f(self, x, *, n=2):
        """Doc."""
        é = x + n  # + is a sign
        return é if é < LIMIT else -x


def g(x):
    return x - 1
'''


def test_names_say_where_a_change_is(operators):
    found = {c.name: c for c in operators.changes(FILE, SMALL)}
    assert {n.split(":")[1] for n in found} == {"module", "A.f", "g"}
    changed = found["floor/small:A.f:arithmetic.1"]
    assert "é = x - n  # + is a sign" in changed.applied(SMALL)
    assert changed.lines == (11, 11) and not changed.at_import
    assert found["floor/small:module:constant.1"].at_import
    assert found["floor/small:A.f:constant.1"].at_import  # a default is computed at import


def test_an_edit_elsewhere_changes_no_id(operators):
    before = {c.id for c in operators.changes(FILE, SMALL)}
    text = SMALL.replace('"""Doc."""', '"""More."""').replace("# +", "# another")
    assert {c.id for c in operators.changes(FILE, text)} == before
    text = "import math\n" + SMALL.replace("x - 1", "x - 2")
    after = {c.id for c in operators.changes(FILE, text)}
    assert {i for i in before if ":g:" not in i} == {i for i in after if ":g:" not in i}
    assert not {i for i in before if ":g:" in i} & after


def test_drawn_changes_parse_and_differ(machine):
    small, large = (machine.sample("floor", 0, n) for n in (20, 40))
    assert large[:20] == small
    assert len({c.id for c in large}) == 40 and machine.sample("floor", 1, 20) != small
    for change in large:
        text = (ROOT / change.file).read_text()
        assert ast.dump(ast.parse(change.applied(text))) != ast.dump(ast.parse(text)), change.id
        assert change.id in machine.difference(change)


def test_every_folder_gets_its_share(machine):
    counts = machine.shares(machine.COUNT)
    assert set(counts) == {
        "certify",
        "capacity",
        "reading",
        "floor",
        "laws",
        "theory",
        "covering",
        "construct",
        "studies",
    }
    assert min(counts.values()) >= 50 and sum(counts.values()) >= 400
    for folder in counts:
        assert all((ROOT / file).is_file() for file in machine.test_files(folder))


def test_only_tests_that_run_the_statement_are_asked(machine, operators):
    change = next(c for c in operators.changes(FILE, SMALL) if c.name == "floor/small:A.f:arithmetic.1")
    ran = {
        "t.py::test_a": [2.0, {FILE: [11, 12]}],
        "t.py::test_b": [1.0, {FILE: [12]}],
        "t.py::test_c": [1.0, {"sparsehead/_base/rng.py": [11]}],
        "t.py::test_d": [1.0, {}],  # reads a constant and runs nothing
    }
    assert machine.reaching(change, {"t.py": {"tests": ran}}) == {"t.py::test_a": 2.0}
    shared = {"t.py": [0.0, {FILE: [11]}]}  # a fixture runs it, which each test may use
    assert set(machine.reaching(change, {"t.py": {"tests": ran | shared}})) == set(ran)
    constant = next(c for c in operators.changes(FILE, SMALL) if ":module:" in c.id)
    assert set(machine.reaching(constant, {"t.py": {"tests": ran}})) == set(ran) - {"t.py::test_c"}


def test_the_fastest_tests_are_asked_up_to_a_budget(machine, monkeypatch):
    monkeypatch.setattr(sys.modules["reach"], "BUDGET", 3.0)
    assert machine.affordable({"slow": 5.0, "a": 1.0, "b": 2.0, "c": 2.5}) == {"a": 1.0, "b": 2.0}
    assert machine.affordable({"slow": 5.0}) == {"slow": 5.0}
    assert machine.affordable({}) == {}


JUDGED = """
import sys
from pathlib import Path

tree = Path.cwd()
sys.path.insert(0, sys.argv[1])
import machine, operators, reach

reach.PATIENCE = 0.2
lines = {"test_small.py": machine.ask(tree, lambda: reach.trace("test_small.py"), 600)}
file = "sparsehead/small.py"
for change in operators.changes(file, (tree / file).read_text()):
    if change.name.rpartition(":")[2] in ("constant.4", "drop.1", "comparison.2"):
        tests = machine.reaching(change, lines)
        print(change.name.rpartition(":")[2], len(tests), *machine.judge(change, tests, tree)[:2])
"""


def test_a_change_is_traced_and_judged_in_a_fork(tmp_path):
    """One function, a test that sees only its type, one that sees its value, and one that does not call it."""
    (tmp_path / "sparsehead").mkdir()
    (tmp_path / "sparsehead" / "__init__.py").touch()
    code = "def f(x):\n    while x > 0:\n        x = x - 2\n    return x\n"
    (tmp_path / "sparsehead" / "small.py").write_text(code)
    (tmp_path / "test_small.py").write_text(
        "from sparsehead.small import f\n\n"
        "def test_type():\n    assert isinstance(f(2), int)\n\n"
        "def test_value():\n    assert sum(f(3) for _ in range(1000)) == -1000\n\n"
        "def test_other():\n    pass\n"
    )
    command = [sys.executable, "-c", JUDGED, str(ROOT / "mutants")]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    less, loop, other = said.splitlines()
    assert less == "comparison.2 2 test_small.py::test_value "  # while x <= 0
    assert loop.startswith("drop.1 2 test_small.py::test_")  # without end, in either test
    assert other == "constant.4 2 test_small.py::test_value "  # x - 3
    assert (tmp_path / "sparsehead" / "small.py").read_text() == code


def test_results_are_kept_while_nothing_they_depend_on_changes(machine, tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "RESULTS", tmp_path / "machine.json")
    killed, alive, gone = machine.sample("floor", 0, 3)
    by = "tests/floor/test_floor.py::test_x"
    machine.remember(
        {
            killed.id: machine.Result(machine.key(killed, by), by, "", 1.0),
            alive.id: machine.Result(machine.key(alive, ""), "", "3 of 3 tests pass", 1.0),
            f"{gone.name}@00000000": machine.Result("", by, "", 1.0),
        }
    )
    kept = machine.recall()
    assert set(kept) == {killed.id, alive.id}
    assert machine.is_known(killed, kept, {}) and machine.is_known(alive, kept, {})
    monkeypatch.setattr(machine, "file_hash", lambda file: "other")
    assert not machine.is_known(killed, kept, {}) and not machine.is_known(alive, kept, {})
    assert machine.is_known(alive, kept, {alive.id: "why"})
    text = machine.section({"floor": [killed, alive]}, 0)
    assert "| floor | 2 | 1 | 0 | 1 | 0 |" in text and "**unexplained**: 3 of 3 tests pass" in text


def test_a_part_of_the_page_is_replaced_and_the_other_kept(machine, tmp_path):
    page = tmp_path / "RESULT.md"
    machine.write_part(page, machine.HEADING, f"{machine.HEADING}\n\nsecond\n")
    machine.write_part(page, "# Deliberate breakages", "# Deliberate breakages\n\nfirst\n")
    machine.write_part(page, machine.HEADING, f"{machine.HEADING}\n\nnew\n")
    assert page.read_text() == f"# Deliberate breakages\n\nfirst\n\n{machine.HEADING}\n\nnew\n"


def test_every_reason_is_one_sentence_for_a_change_of_the_code_as_it_is(machine):
    """A reason goes stale when its function changes: read the change again, then mend the entry or kill it."""
    assert machine.stale_reasons() == []
    assert [name for name, why in machine.equivalents().items() if len(why) < 20 or "\n" in why] == []


def test_what_is_wrong_with_a_question_is_said(machine, capsys):
    assert machine.main(["--show", "floor/none"]) == 2
    assert "no change begins with 'floor/none'" in capsys.readouterr().err
