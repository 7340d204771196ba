"""Plans: the paper's settings, and what each scale contains."""

import pytest

from sparsehead._base.errors import DomainError
from sparsehead_paper.studies import plans
from sparsehead_paper.studies.attention import attention
from sparsehead_paper.studies.curves import curves
from sparsehead_paper.studies.law_stage import Law
from sparsehead_paper.studies.parity import parity
from sparsehead_paper.studies.stage import conjunctions


def test_the_papers_settings_are_the_papers():
    """Paper 4.1, 4.2: T = 300, 40 replicates at m = 50 and 200, five restarts of 1000 steps, checks every ten."""
    specs = curves("mingpt").specs
    assert len(specs) == 80 and {s.m for s in specs} == {50, 200} and {s.T for s in specs} == {300}
    one = specs[0]
    assert (one.s, one.restarts, one.n_steps, one.check_every, one.holdout) == (3, 5, 1000, 10, 10_000)
    assert (one.d, one.H, one.k, one.mlp, one.L, one.dropout) == (64, 16, 4, 256, 1, 0.1)
    assert (one.learning_rate, one.weight_decay, one.clip, one.init_std) == (1e-3, 1e-4, 1.0, 0.02)
    assert one.stall == 0 and one.unique and one.target == 0.99
    assert (attention().specs[0].H, attention().specs[0].k) == (1, 64)
    online = parity().specs
    assert {(s.T, s.m, s.online, s.restarts) for s in online} == {(10, 2048, True, 1), (15, 2048, True, 1)}


def test_the_full_scale_has_every_law_and_reaches_a_hundred_thousand():
    laws = [stage for stage in plans.plan("full") if isinstance(stage, Law)]
    assert {x.name for x in laws} == {
        "law",
        "law-decades",
        "law-mingpt",
        "law-matched",
        "law-matched-decades",
        "law-matched-beyond",
        "law-literal",
        "law-best",
        "law-gated",
        "law-grid",
    }
    assert max(T for x in laws for T in x.Ts) == 100_000


def test_trials_at_different_m_share_no_seed():
    specs = [spec for m in (50, 60, 200) for spec in conjunctions(T=100, m=m, trials=range(40))]
    assert len({s.seed for s in specs}) == len(specs) == 120


def test_an_unknown_scale_is_named():
    with pytest.raises(DomainError, match="quick, default, full"):
        plans.plan("enormous")
