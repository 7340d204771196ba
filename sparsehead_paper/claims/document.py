"""Write docs/paper.md and evidence.json in a checkout: `python -m sparsehead_paper.claims.document`."""

import json
import re
from pathlib import Path

from sparsehead._base.errors import FileError

from .claim import Claim, labelled_code, machine_checked, marked_tests, status
from .evidence import find_evidence
from .formulas import latex, split_formulas
from .registry import SECTIONS

CHECKOUT = Path(__file__).parents[2]


def document() -> str:
    """Return the text of docs/paper.md."""
    head = """# From paper to code

Written by `python -m sparsehead_paper.claims.document` from `sparsehead_paper/claims/`; a test keeps the two in step,
so edit those. The paper is Edelman, Goel, Kakade and Zhang, "Inductive Biases and Variable Creation in
Self-Attention Mechanisms" (ICML 2022); the notes are lecture notes on it (April 2025). Statements are in our words;
`Paper: label` in a docstring and `@pytest.mark.claim("label")` on a test point to a row here. `sparsehead reproduce`
runs the check of every row that has one and says what came out; this page holds no verdicts. For an erratum the
statement is ours: the printed form, and why it fails. "Coq" below a label names a theorem that is machine-checked
([proofs](proofs.md)): the statement, or a part of it that the theorem's comment names.
"""
    return "\n".join([head, *(_section(title, claims) for title, claims in SECTIONS.items())])


def _section(title: str, claims: tuple[Claim, ...]) -> str:
    coded = sum(status(claim) == "implemented" for claim in claims)
    checked = sum(claim.check is not None for claim in claims)
    counts = (
        f"{len(claims)} entries: {coded} with code, {checked} with a check that `sparsehead reproduce` runs."
    )
    table = ["| label | statement | where | code | tests | check |", "|---|---|---|---|---|---|"]
    return "\n".join([f"## {title}", "", counts, "", *table, *map(_row, claims)]) + "\n"


def _row(claim: Claim) -> str:
    check = status(claim)
    if check == "implemented":
        check = "-" if claim.check is None else _check(claim)
    cells = [
        "<br>".join([f"`{claim.label}`", claim.kind, *map(_proof, machine_checked(claim))]),
        _text(claim.statement),
        _text(claim.where),
        "<br>".join(map(_code, labelled_code(claim))) or "-",
        "<br>".join(map(_test, marked_tests(claim))) or "-",
        check,
    ]
    return "| " + " | ".join(cells) + " |"


def _text(text: str) -> str:
    """Return `text` with formulas as LaTeX and all other characters escaped, since a statement contains no markup."""
    parts = split_formulas(text)
    return "".join(
        f"${latex(part)}$" if i % 2 else re.sub(r"([|_*<\\`$])", r"\\\1", part)
        for i, part in enumerate(parts)
    )


def _check(claim: Claim) -> str:
    module, name = claim.check.__module__, getattr(claim.check, "__name__", "check")
    return f"[`{name.removeprefix('check_')}`](../{module.replace('.', '/')}.py)"


def _code(reference: str) -> str:
    module, _, name = reference.partition(":")
    path = module.replace(".", "/")
    path += ".py" if (CHECKOUT / f"{path}.py").is_file() else "/__init__.py"
    shown = ".".join(part for part in (module.removeprefix("sparsehead."), name) if part)
    return f"[`{shown}`](../{path})"


def _test(reference: str) -> str:
    path, name = reference.split("::")
    return f"[`{name.removeprefix('test_')}`](../{path})"


def _proof(reference: str) -> str:
    path, name = reference.split("::")
    return f"[Coq: `{name}`](../{path})"


def main() -> None:
    """Write docs/paper.md and evidence.json.

    Raises:
        FileError: the package does not lie in a checkout of the repository.
    """
    page = CHECKOUT / "docs" / "paper.md"
    if not page.is_file():
        raise FileError(f"{page} is not there; run this in a checkout of the repository.")
    rows = [f"{json.dumps(label)}: {json.dumps(found)}" for label, found in find_evidence(CHECKOUT).items()]
    Path(__file__).with_name("evidence.json").write_text("{\n" + ",\n".join(rows) + "\n}\n")
    page.write_text(document())


if __name__ == "__main__":
    main()
