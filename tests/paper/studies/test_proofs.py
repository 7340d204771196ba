"""Counts of proofs of learned models: which rows reach the bar, and which are wrong too often to be proved."""

from sparsehead_paper.studies.proofs import ProofRow, proof_counts


def row(seed, share, wrong=None, preset="best"):
    sampled = None if wrong is None else 20_000
    return ProofRow(
        preset, "and", 300, seed, "undecided", 1.0 + seed, share, sampled_wrong=wrong, sampled=sampled
    )


def test_a_row_reaches_the_bar_of_its_preset():
    assert row(0, 9e-10).below and not row(0, 1e-9).below
    assert row(0, 9e-7, preset="fast").below and not row(0, 1e-6, preset="fast").below
    assert not row(0, None).below


def test_a_model_is_truly_wrong_if_its_sample_is():
    assert row(0, 1.0, wrong=1).truly_wrong and not row(0, 1.0, wrong=0).truly_wrong
    assert not row(0, 1.0).truly_wrong


def test_both_rates_are_counted():
    rows = (row(0, 1e-10), row(1, 1.0, wrong=40), row(2, 0.5, wrong=0), row(0, 1e-10, preset="fast"))
    counts = {(count.preset, count.T): count for count in proof_counts(rows, share=True)}
    best = counts["best", 300]
    assert (best.models, best.reached, best.provable) == (3, 1, 2)
    assert best.interval == (0.008, 0.906) and best.interval_of_provable == (0.013, 0.987)
    assert best.most_seconds == 3.0 and best.verdicts == {"proved": 0, "refuted": 0, "undecided": 3}
    assert counts["fast", None].reached == 1
    assert {(count.preset, count.T) for count in proof_counts(rows, share=False)} == counts.keys()
    assert proof_counts(rows, share=False)[0].reached == 0
