"""The registry is in step with code, tests, docstrings and docs/paper.md, and its checks say what they should."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from sparsehead.claims import registry
from sparsehead.claims.claim import Claim, Context, Finding, exists, resolve
from sparsehead.claims.document import document
from sparsehead.errors import DomainError

ROOT = Path(__file__).parents[2]
CLAIMS = registry.CLAIMS
THEORY = [c for c in CLAIMS.values() if c.check and exists(c.check) and "checks.experiments" not in c.check]


@cache
def functions_in(path: str) -> set[str]:
    file = ROOT / path
    if not file.is_file():
        return set()
    return {node.name for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.FunctionDef)}


def test_labels_are_kebab_case_and_unique():
    entries = [c for section in registry.SECTIONS.values() for c in section]
    assert len(entries) == len(CLAIMS)
    assert [c.label for c in entries if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", c.label)] == []


def test_every_erratum_has_its_number():
    assert [c.label for c in registry.SECTIONS["Errata of the paper"]] == [
        f"errata-paper-{i}" for i in range(1, 7)
    ]
    assert [c.label for c in registry.SECTIONS["Errata of the lecture notes"]] == [
        f"errata-notes-{i}" for i in range(1, 27)
    ]


def test_every_code_reference_is_alive():
    assert [r for c in CLAIMS.values() for r in c.code if not exists(r)] == []


def test_every_test_reference_is_alive():
    named = [r for c in CLAIMS.values() for r in c.tests]
    assert [r for r in named if r.split("::")[1] not in functions_in(r.split("::")[0])] == []


def test_every_label_in_a_docstring_is_an_entry():
    """`Paper: a, b` in any file of the package; the labels may be followed by a full stop."""
    unknown = {}
    for file in (ROOT / "sparsehead").rglob("*.py"):
        if "claims" in file.relative_to(ROOT).parts:
            continue
        for labels in re.findall(r"Paper: ([a-z0-9-]+(?:, [a-z0-9-]+)*)", file.read_text()):
            if missing := set(labels.split(", ")) - set(CLAIMS):
                unknown.setdefault(str(file.relative_to(ROOT)), set()).update(missing)
    assert unknown == {}


def test_the_document_is_in_step():
    """python -m sparsehead.claims.document > docs/paper.md"""
    assert (ROOT / "docs" / "paper.md").read_text() == document()


def test_the_document_says_what_is_not_there_yet():
    rows = {line.split("`")[1]: line for line in document().splitlines() if line.startswith("| `")}
    assert rows.keys() == CLAIMS.keys()
    for label, claim in CLAIMS.items():
        assert ("not yet |" in rows[label]) == (claim.status == "not yet")


@pytest.mark.parametrize("claim", THEORY, ids=lambda c: c.label)
def test_a_theory_claim_checks_out(claim):
    found = resolve(claim.check)(
        Context(seed=1, options={"stride": 16})
    )  # test_representation.py has all 256
    assert found.label == claim.label
    assert found.verdict in ("holds", "differs"), f"{found.ours}: {found.detail}"
    assert found.ours


def test_a_claim_without_code_is_not_yet_implemented():
    bare = Claim("x", "lemma", "", "")
    assert bare.status == "not yet"
    assert Claim("x", "lemma", "", "", ("a:b",), ("t",)).status == "implemented"
    assert Claim("x", "lemma", "", "", ("a:b",), ("t",), "sparsehead.no_such:check").status == "not yet"
    assert Claim("x", "erratum", "", "", text_only=True).status == "text only"


def test_checks_run_in_order_and_report_progress():
    seen = []
    found = registry.run_checks(
        ["tf-scalar", "tf-layer"], progress=lambda c, f: seen.append((c.label, f and f.verdict))
    )
    assert [f.label for f in found] == ["tf-layer", "tf-scalar"]
    assert seen == [("tf-layer", None), ("tf-layer", "holds"), ("tf-scalar", None), ("tf-scalar", "holds")]
    with pytest.raises(KeyError, match="no-such-label"):
        registry.run_checks(["no-such-label"])


def test_a_broken_check_is_reported_and_the_rest_goes_on(monkeypatch):
    monkeypatch.setattr("sparsehead.claims.checks.definitions.check_tf_layer", lambda context: 1 / 0)
    first, second = registry.run_checks(["tf-scalar", "tf-layer"])
    assert (first.verdict, second.verdict) == ("not run", "holds")
    assert "ZeroDivisionError" in first.detail


def test_a_missing_check_is_not_run():
    bare = Claim("x", "lemma", "", "here", check="sparsehead.no_such:check")
    assert registry.run_check(bare, Context()) == Finding("x", "not run", "here", "", "not implemented yet")


def test_unknown_kinds_and_verdicts_are_refused():
    with pytest.raises(DomainError, match="kind 'axiom' is unknown"):
        Claim("x", "axiom", "", "")
    with pytest.raises(DomainError, match="verdict 'maybe' is unknown"):
        Finding("x", "maybe", "", "")
