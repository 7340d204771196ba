"""Try to refute every proved form of the atlas with small classes of known size: a thousand each, in a minute.

    python benchmarks/refute_forms.py            334 classes of each kind (single matrices, scores, heads)
    python benchmarks/refute_forms.py 5000 3     5000 of each, from seed 3

It prints one line per form, and ends with 1 if one is refuted or inconsistent.
"""

import sys
from dataclasses import replace

from sparsehead import check_form
from sparsehead.capacity.forms import FORMS, Form
from sparsehead.capacity.neighbours import RANK


def main(classes: int = 334, seed: int = 0) -> int:
    """Check all forms; return the exit code."""
    proved: dict[str, str | Form] = {name: name for name, form in FORMS.items() if form.proven} | {
        "rank": RANK
    }
    failed = 0
    for name, form in proved.items():
        found = replace(check_form(form, classes=classes, seed=seed), form=name)
        print(found.verdict, flush=True)
        failed += not found.passed
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
