"""docs/paper.md, written from the registry:  python -m sparsehead.claims.document > docs/paper.md"""

import re
from importlib.util import find_spec

from .claim import Claim
from .registry import SECTIONS

HEAD = """# From paper to code

Written by `python -m sparsehead.claims.document > docs/paper.md` from the entries in `sparsehead/claims/`; a test
keeps the two in step, so edit the entries. The paper is Edelman, Goel, Kakade and Zhang, "Inductive Biases and
Variable Creation in Self-Attention Mechanisms" (ICML 2022); the notes are lecture notes on it (April 2025).
Statements are in our words; `Paper: label` in a docstring points to a row here. `sparsehead reproduce` runs the
check of every row that has one. For an erratum the statement is ours: the printed form, and why it fails.
"""


def document() -> str:
    """The whole page."""
    parts = [HEAD, *(_section(title, claims) for title, claims in SECTIONS.items())]
    return "\n".join(parts)


def _section(title: str, claims: tuple[Claim, ...]) -> str:
    done = sum(c.status != "not yet" for c in claims)
    lines = [f"## {title}", "", f"{done} of {len(claims)} stand.", ""]
    lines += ["| label | statement | where | code | tests | check |", "|---|---|---|---|---|---|"]
    lines += [_row(c) for c in claims]
    return "\n".join(lines) + "\n"


def _row(claim: Claim) -> str:
    code = "<br>".join(_code(r) for r in claim.code) or "-"
    tests = "<br>".join(_test(r) for r in claim.tests) or "-"
    check = f"`{claim.check.split('.')[-1]}`" if claim.check else "-"
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


def _code(reference: str) -> str:
    module, name = reference.split(":")
    spec = find_spec(module)
    package = spec is not None and spec.submodule_search_locations is not None
    path = module.replace(".", "/") + ("/__init__.py" if package else ".py")
    return f"[`{module.removeprefix('sparsehead.')}.{name}`](../{path})"


def _test(reference: str) -> str:
    path, name = reference.split("::")
    return f"[`{name.removeprefix('test_')}`](../{path})"


if __name__ == "__main__":
    print(document(), end="")
