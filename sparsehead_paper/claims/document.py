"""docs/paper.md, written from the registry:  python -m sparsehead_paper.claims.document > docs/paper.md"""

import re
from importlib.util import find_spec

from .claim import Claim
from .registry import SECTIONS

HEAD = """# From paper to code

Written by `python -m sparsehead_paper.claims.document > docs/paper.md` from `sparsehead_paper/claims/`; a test keeps
the two in step, so edit those. The paper is Edelman, Goel, Kakade and Zhang, "Inductive Biases and
Variable Creation in Self-Attention Mechanisms" (ICML 2022); the notes are lecture notes on it (April 2025).
Statements are in our words; `Paper: label` in a docstring and `@pytest.mark.claim("label")` on a test point to a row
here. `sparsehead reproduce` runs the check of every row that has one and says what came out; this page holds no
verdicts. For an erratum the statement is ours: the printed form, and why it fails.
"""


def document() -> str:
    """The whole page."""
    parts = [HEAD, *(_section(title, claims) for title, claims in SECTIONS.items())]
    return "\n".join(parts)


def _section(title: str, claims: tuple[Claim, ...]) -> str:
    lines = [f"## {title}", "", _counts(claims), ""]
    lines += ["| label | statement | where | code | tests | check |", "|---|---|---|---|---|---|"]
    lines += [_row(c) for c in claims]
    return "\n".join(lines) + "\n"


def _counts(claims: tuple[Claim, ...]) -> str:
    """How many entries there are and what stands behind them; verdicts are computed by `reproduce`, not here."""
    coded = sum(c.status == "implemented" for c in claims)
    checked = sum(c.check is not None for c in claims)
    return (
        f"{len(claims)} entries: {coded} with code, {checked} with a check that `sparsehead reproduce` runs."
    )


def _row(claim: Claim) -> str:
    code = "<br>".join(_code(r) for r in claim.code) or "-"
    tests = "<br>".join(_test(r) for r in claim.tests) or "-"
    check = "-" if claim.check is None else _check(claim)
    if claim.status != "implemented":
        check = claim.status
    cells = [
        f"`{claim.label}`<br>{claim.kind}",
        _text(claim.statement),
        _text(claim.where),
        code,
        tests,
        check,
    ]
    return "| " + " | ".join(cells) + " |"


def _text(statement: str) -> str:
    """Letters and bars as they are: nothing in a statement is markup."""
    return re.sub(r"([|_*<\\`])", r"\\\1", statement)


def _check(claim: Claim) -> str:
    module, name = claim.check.__module__, getattr(claim.check, "__name__", "check")
    return f"[`{name.removeprefix('check_')}`](../{module.replace('.', '/')}.py)"


def _code(reference: str) -> str:
    module, _, name = reference.partition(":")
    spec = find_spec(module)
    package = spec is not None and spec.submodule_search_locations is not None
    path = module.replace(".", "/") + ("/__init__.py" if package else ".py")
    shown = ".".join(part for part in (module.removeprefix("sparsehead."), name) if part)
    return f"[`{shown}`](../{path})"


def _test(reference: str) -> str:
    path, name = reference.split("::")
    return f"[`{name.removeprefix('test_')}`](../{path})"


if __name__ == "__main__":
    print(document(), end="")
