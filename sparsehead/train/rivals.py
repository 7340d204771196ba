"""Fit a decision tree and a logistic regression to the rows that a head was trained on, for comparison."""

import numpy as np

from .._base.errors import MissingExtra
from .._base.lazy import require_module
from .._base.types import Array, Shaped
from ..datasets import Dataset
from ..functions import assignments, from_table
from ..reading.sampling import agreement_of
from .data_run import Rival


def rivals_of(
    data: Dataset, seen: Shaped[Array, " seen"], kept: Shaped[Array, " kept"], *, seed: int
) -> tuple[Rival, ...]:
    """Fit a tree and a regression to the rows `seen`, with their sizes chosen by cross-validation, and test them on the
    rows `kept`. Return an empty tuple without scikit-learn.
    """
    try:
        require_module("sklearn")
    except MissingExtra:
        return ()
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.tree import DecisionTreeClassifier

    bits, labels = data.rows(seen)
    held_out, answers = data.rows(kept)
    rarer = int(np.bincount(labels).min())
    folds = StratifiedKFold(max(2, min(5, rarer)), shuffle=True, random_state=seed)
    trees = GridSearchCV(
        DecisionTreeClassifier(random_state=seed), {"max_leaf_nodes": [2, 3, 4, 6, 8, 12, 16]}, cv=folds
    )
    lines = GridSearchCV(
        LogisticRegression(l1_ratio=1.0, solver="liblinear", random_state=seed),
        {"C": [0.01, 0.03, 0.1, 0.3, 1.0]},
        cv=folds,
    )
    found = []
    for name, search, spell in (
        ("decision tree", trees, _tree_formula), ("logistic regression", lines, _largest_weights)
    ):  # fmt: skip
        fitted = search.fit(bits, labels).best_estimator_
        same = int((fitted.predict(held_out) == answers).sum())
        found.append(Rival(name, agreement_of(same, len(answers)), spell(fitted, data)))
    return tuple(found)


def _tree_formula(tree: object, data: Dataset) -> str:
    """Write the tree's function with the names of its columns; if it has many columns, only its number of leaves."""
    used = sorted({int(t) for t in tree.tree_.feature if t >= 0})  # type: ignore[attr-defined]
    most_spelled = 10  # a tree that reads more columns is not written as a formula
    if len(used) > most_spelled:
        return f"a tree of {tree.get_n_leaves()} leaves over {len(used)} columns"  # type: ignore[attr-defined]
    rows = np.zeros((2 ** len(used), data.T), dtype=np.uint8)
    rows[:, used] = assignments(len(used))
    table = tree.predict(rows)  # type: ignore[attr-defined]
    return data.formula(from_table(T=data.T, support=used, table=table))


def _largest_weights(line: object, data: Dataset) -> str:
    """List the five largest weights by column, and the number of other nonzero weights."""
    weights = line.coef_[0]  # type: ignore[attr-defined]
    order = [int(t) for t in np.argsort(-np.abs(weights)) if weights[t]]
    shown = ", ".join(f"{data.names[t]} {weights[t]:+.2f}" for t in order[:5])
    more = f" and {len(order) - 5} more" if len(order) > 5 else ""
    return f"{shown}{more}" if order else "no column"
