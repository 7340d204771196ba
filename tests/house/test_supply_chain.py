"""What `make` installs: pinned, with hashes, from the lock; and what licences that has."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text()


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(text):
    return {
        canonical(name): version for name, version in re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE)
    }


def test_the_lock_has_the_versions_of_the_constraints():
    """After a change of constraints.txt: python scripts/lock.py --index URL --wheels FOLDER."""
    assert pins(LOCK) == pins((ROOT / "constraints.txt").read_text())


def test_every_locked_package_has_hashes_and_no_address():
    entries = re.split(r"^(?=[a-z0-9])", LOCK, flags=re.MULTILINE)[1:]
    assert len(entries) == len(pins(LOCK)) > 100
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", entry) for entry in entries)
    assert "://" not in LOCK and "--index" not in LOCK


def test_what_the_project_asks_for_and_is_built_with_is_locked():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    wanted = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    wanted += [
        name
        for extra in ("learn", "charts", "parquet", "lab", "probe", "cluster", "docs", "test")
        for name in extras[extra]
    ]
    names = {canonical(re.match(r"[\w.-]+", text)[0]) for text in wanted} - {"sparsehead"}
    assert names <= set(pins(LOCK))
    assert pins(LOCK)["hatchling"] == project["build-system"]["requires"][0].split("==")[1]


# Stands in for Python: notes what pip is asked for, and answers as told when the lock is installed.
STUB = """#!/bin/sh
echo "$*" >> {folder}/asked
case "$*" in *requirements.lock*) echo "{answer}" >&2; exit {code};; esac
"""


@pytest.mark.parametrize(
    ("answer", "code", "settings", "ends", "unlocked"),
    [
        ("", 0, {}, 0, False),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE", 1, {}, 2, False),
        ("ERROR: No matching distribution found for numpy", 1, {}, 0, True),
        ("", 0, {"UNLOCKED": "1"}, 0, True),
    ],
    ids=["as locked", "another file", "no file", "unlocked"],
)
def test_hashes_are_checked_and_another_file_is_never_installed(
    tmp_path, answer, code, settings, ends, unlocked
):
    stub = tmp_path / "python"
    stub.write_text(STUB.format(folder=tmp_path, answer=answer, code=code))
    stub.chmod(0o755)
    command = ["/bin/sh", str(ROOT / "scripts" / "install.sh"), str(stub)]
    done = subprocess.run(
        command, env={"PATH": os.environ["PATH"], **settings}, cwd=ROOT, capture_output=True, text=True
    )
    asked = (tmp_path / "asked").read_text()
    assert done.returncode == ends
    assert ("-c constraints.txt" in asked) == unlocked == ("without checking hashes" in done.stdout)
    assert "UNLOCKED" in settings or "--require-hashes -r requirements.lock" in asked
    assert ("-r requirements-models.txt" in asked) == (ends == 0)


def test_make_installs_with_the_script_and_again_when_the_lock_changes():
    makefile = (ROOT / "Makefile").read_text()
    rule, recipe = re.search(r"^\$\(STAMP\): (.*)\n((?:\t.*\n)+)", makefile, re.MULTILINE).groups()
    assert "requirements.lock" in rule.split()
    assert "scripts/install.sh" in recipe and "pip install" not in recipe


def test_the_licence_of_every_locked_package_is_listed():
    """After a change of the lock: python scripts/licences.py."""
    page = (ROOT / "docs" / "licences.md").read_text()
    rows = {
        name: (version, said)
        for name, version, said in re.findall(r"^\| (\S+) \| (\S+) \| (.+) \|$", page, re.MULTILINE)
    }
    rows.pop("package", None)
    assert {name: version for name, (version, _) in rows.items()} == pins(LOCK)
    assert all(said.strip() for _, said in rows.values())


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github" / "workflows").iterdir()), ids=lambda path: path.name
)
def test_workflows_pin_their_actions_have_least_permissions_and_call_make(path):
    text = path.read_text()
    actions = re.findall(r"uses: (.*)", text)
    assert actions and all(
        re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action) for action in actions
    )
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    more = {name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job}
    assert more == ({"publish": {"id-token": "write"}} if path.name == "release.yml" else {})
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.M))
    called = re.findall(r"(?:run: make|target:) ([a-z-]+)", text)
    assert set(called) <= targets and (called or path.name == "release.yml")
