"""The registry is in step with code, tests, docstrings and docs/paper.md, and its checks say what they should."""

import re
from pathlib import Path

import pytest

from sparsehead._base.errors import DomainError
from sparsehead_paper.claims import registry
from sparsehead_paper.claims.claim import (
    Claim,
    Context,
    Finding,
    claim,
    finding,
    labelled_code,
    marked_tests,
    status,
)
from sparsehead_paper.claims.document import document
from sparsehead_paper.claims.evidence import evidence, find_evidence
from sparsehead_paper.claims.measured import FILES
from sparsehead_paper.claims.tally import tally

ROOT = Path(__file__).parents[3]
CLAIMS = registry.CLAIMS
EXPERIMENTS = registry.SECTIONS["Experiments"]
THEORY = [c for c in CLAIMS.values() if c.check and c not in EXPERIMENTS and c.label not in FILES]


def test_labels_are_kebab_case_and_unique():
    entries = [c for section in registry.SECTIONS.values() for c in section]
    assert len(entries) == len(CLAIMS)
    assert [c.label for c in entries if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", c.label)] == []


def test_errata_are_numbered_without_a_gap():
    for source, title in (("paper", "Errata of the paper"), ("notes", "Errata of the lecture notes")):
        section = registry.SECTIONS[title]
        assert [c.label for c in section] == [f"errata-{source}-{i + 1}" for i in range(len(section))]


def test_code_and_a_test_stand_behind_every_claim():
    computed = [c for c in CLAIMS.values() if not c.text_only]
    assert [c.label for c in computed if not labelled_code(c)] == []
    assert [c.label for c in computed if not marked_tests(c)] == []


def test_every_label_in_use_is_a_claim():
    assert set(evidence()) - set(CLAIMS) == set()
    assert {c.about for c in CLAIMS.values() if c.about} - set(CLAIMS) == set()


def test_what_cannot_be_checked_says_so():
    """Drawings and definitions by reference are tested but have no check; a remark on wording has neither."""
    assert {c.label for c in CLAIMS.values() if c.check is None} == {
        "attention-modules",
        "practical-block",
        "sparse-reading",
        "errata-notes-6",
        "errata-notes-15",
        "errata-notes-26",
    }


def test_the_document_is_in_step():
    """python -m sparsehead_paper.claims.document"""
    assert evidence() == find_evidence(ROOT)
    assert (ROOT / "docs" / "paper.md").read_text() == document()


def test_evidence_is_found_by_label_and_from_nowhere_but_the_checkout(tmp_path):
    """Somebody else's tests, beside an installed package, are no evidence."""
    for name, text in (
        ("sparsehead/a/__init__.py", '"""A.   Paper: one, two"""'),
        (
            "sparsehead/a/b.py",
            'class B:\n    """B."""\n\n    def c(self):\n        """C.\n\n        Paper: one\n        """',
        ),
        ("sparsehead_paper/claims/d.py", '"""D.   Paper: one"""'),
        ("tests/test_e.py", '@pytest.mark.claim("two", "one")\ndef test_f(): ...'),
        (
            "proofs/G.v",
            "(** So.\n    Paper: two, one *)\nTheorem g : True.\n(** Paper: one *)\nLemma h : True.",
        ),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert find_evidence(tmp_path) == {
        "one": {
            "code": ["sparsehead.a", "sparsehead.a.b:B.c"],
            "tests": ["tests/test_e.py::test_f"],
            "proofs": ["proofs/G.v::g"],
        },
        "two": {"code": ["sparsehead.a"], "tests": ["tests/test_e.py::test_f"], "proofs": ["proofs/G.v::g"]},
    }
    assert not any("tests/test_e.py" in test for found in evidence().values() for test in found["tests"])


def test_the_document_says_what_is_not_there_yet():
    rows = {line.split("`")[1]: line for line in document().splitlines() if line.startswith("| `")}
    assert rows.keys() == CLAIMS.keys()
    for label, entry in CLAIMS.items():
        assert ("not yet |" in rows[label]) == (status(entry) == "not yet")


@pytest.mark.parametrize("entry", THEORY, ids=lambda c: c.label)
def test_a_theory_claim_checks_out(entry):
    # test_representation.py goes through all 256 functions of three bits
    found = entry(Context(seed=1, options={"stride": 16, "results": ROOT / "results"}))
    assert found.label == entry.label
    assert found.verdict in ("holds", "differs"), f"{found.ours}: {found.detail}"
    assert found.ours


def test_a_claim_is_one_decorated_function():
    @claim("x", kind="lemma", where="here")
    def check_x(context):
        """One
        is one.

        How it is checked.
        """
        return finding(context.seed == 1, paper="1", ours=str(context.seed))

    assert (check_x.label, check_x.kind, check_x.where, check_x.statement) == (
        "x",
        "lemma",
        "here",
        "One is one.",
    )
    assert check_x(Context(seed=1)) == Finding("x", "holds", "1", "1")
    assert check_x(Context(seed=2)).verdict == "fails"
    assert status(check_x) == "not yet"
    assert status(Claim("x", "erratum", "", "", text_only=True)) == "text only"
    with pytest.raises(DomainError, match="claim x has no check"):
        Claim("x", "erratum", "", "")(Context())


def test_the_labelled_code_an_erratum_is_that_of_the_claim_it_corrects():
    assert labelled_code(CLAIMS["errata-notes-3"]) == labelled_code(CLAIMS["pseudometric-cover"])
    assert "tests/paper/claims/test_errata.py::test_errata_notes_3" in marked_tests(CLAIMS["errata-notes-3"])


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
    broken = Claim("tf-layer", "definition", "", "", check=lambda context: 1 / 0)  # type: ignore[arg-type]
    monkeypatch.setitem(CLAIMS, "tf-layer", broken)
    first, second = registry.run_checks(["tf-scalar", "tf-layer"])
    assert (first.verdict, second.verdict) == ("fails", "holds")
    assert "ZeroDivisionError" in first.detail


def test_counts_add_up_and_errata_are_counted_apart():
    claims = [
        Claim("a", "lemma", "", "", check=lambda context: None),
        Claim("b", "ours", "", "", check=lambda context: None),
        Claim("c", "figure", "", ""),
        Claim("d", "erratum", "", "", check=lambda context: None),
        Claim("e", "erratum", "", "", check=lambda context: None),
        Claim("f", "erratum", "", "", text_only=True),
        Claim("g", "neighbour", "", "", check=lambda context: None),
        Claim("h", "neighbour", "", "", check=lambda context: None),
    ]
    found = [Finding("a", "holds", "", ""), Finding("d", "holds", "", ""), Finding("e", "fails", "", "")]
    found.append(Finding("h", "differs", "", ""))
    counts = tally(claims, found, {"b"})
    assert sum(counts.statements.values()) == sum(counts.errata.values()) == 3
    assert counts.sentence() == (
        "3 statements: 1 recomputed here (1 holds) + 1 measured (1 not run) + 1 with nothing to compute; "
        "3 errata: 1 demonstrated, 1 not demonstrated, 1 about wording only; "
        "2 about neighbouring papers: 1 differs, 1 not run"
    )


def test_unknown_kinds_and_verdicts_are_refused():
    with pytest.raises(DomainError, match="kind 'axiom' is unknown"):
        Claim("x", "axiom", "", "")
    with pytest.raises(DomainError, match="verdict 'maybe' is unknown"):
        Finding("x", "maybe", "", "")
