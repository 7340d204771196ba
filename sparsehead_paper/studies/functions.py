"""Laws for other functions, sparsities and learners.   Paper: law-functions"""

from typing import Any

from .law_stage import Law, Laws
from .paper_laws import PAPER_WIDTH


def functions() -> Laws:
    """Return laws for other functions, sparsities and learners, drawn on the same axes.   Paper: law-functions"""
    laws: dict[str, Law] = {}
    groups: dict[str, str] = {}

    def add(group: str, label: str, **changes: Any) -> None:
        given: dict[str, Any] = {
            "Ts": (50, 100, 300, 1000),
            "most_trials": 32,
            "width": PAPER_WIDTH,
            **changes,
        }
        laws[label], groups[label] = Law(f"functions-{label}", **given), group

    for s in (2, 3, 4, 5):
        start = (30, 40, 60, 90)[s - 2]
        add("AND of s bits", f"AND of {s}", s=s, start=start)
    add("functions of 3 bits", "OR of 3", function="or")
    add("functions of 3 bits", "majority of 3", function="majority", start=100)
    add("functions of 3 bits", "random 3-juntas", function="junta", start=200)
    add(
        "functions of 3 bits",
        "parity of 3",
        function="parity",
        Ts=(10, 15, 20, 30),
        start=300,
        most_trials=24,
    )
    # A trial of an MLP takes ten seconds and more, of an LSTM minutes.
    for learner, Ts, start, trials in (
        ("mlp", (50, 100, 300), 200, 12),
        ("lstm", (20,), 200, 6),
        ("logistic", (50, 100, 300, 1000), 200, 32),
        ("tree", (50, 100, 300, 1000), 200, 32),
        ("exhaustive", (50, 100, 300), 30, 32),
    ):
        given = {"learner": learner}
        add("learners of AND of 3", learner, Ts=Ts, start=start, most_trials=trials, settings=given)
    return Laws("functions", "Other functions and learners", laws, groups)
