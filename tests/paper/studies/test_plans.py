"""Plans: the paper's settings, and scales that share what they have in common."""

import pytest

from sparsehead._base.errors import DomainError
from sparsehead.train.spec import spec_id
from sparsehead_paper.studies import plans
from sparsehead_paper.studies.attention import attention
from sparsehead_paper.studies.curves import curves
from sparsehead_paper.studies.law_stage import Law
from sparsehead_paper.studies.parity import parity
from sparsehead_paper.studies.stage import Experiment, conjunctions


def ids(scale):
    stages = [stage for stage in plans.plan(scale) if isinstance(stage, Experiment)]
    return {spec_id(spec) for experiment in stages for spec in experiment.specs}


def test_larger_scales_contain_the_smaller_ones():
    assert ids("quick") < ids("default") < ids("full")


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


def test_laws_come_in_every_scale_and_reach_a_hundred_thousand():
    laws = {scale: [x for x in plans.plan(scale) if isinstance(x, Law)] for scale in plans.SCALES}
    assert all(laws.values()) and {x.name for x in laws["full"]} == {
        "law",
        "law-decades",
        "law-mingpt",
        "law-matched",
        "law-matched-decades",
        "law-matched-beyond",
        "law-literal",
        "law-best",
        "law-grid",
    }
    assert max(T for x in laws["full"] for T in x.Ts) == 100_000


def test_trials_at_different_m_share_no_seed():
    specs = [spec for m in (50, 60, 200) for spec in conjunctions(T=100, m=m, trials=range(40))]
    assert len({s.seed for s in specs}) == len(specs) == 120


def test_an_unknown_scale_is_named():
    with pytest.raises(DomainError, match="quick, default, full"):
        plans.plan("enormous")
