"""Entries: the experiments (paper figures 2 to 4; notes section 6). Their checks read the results store."""

from .claim import CHECKS, Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        label="law-and",
        kind="figure",
        statement="3-sparse AND, balanced labels: the smallest m at which 80 % of trials reach 99 % "
        "validation accuracy grows like log T. The paper's points for T = 100..1100 fit m = -98.65 + 29.65 "
        "ln T.",
        where="paper figure 2; notes figure 5",
        code=(
            "sparsehead.experiments.law:law",
            "sparsehead.figures.law:law_chart",
            "sparsehead.measure.published:LAW_AND",
        ),
        tests=(
            "tests/sweep/test_thresholds.py::test_adaptive_rounds_find_the_law_and_resume_without_a_single_trial",
            "tests/experiments/test_collect.py::test_the_law_verdict_needs_the_points_the_form_and_the_slope",
        ),
        check=f"{CHECKS}.experiments:check_law",
    ),
    Claim(
        label="law-grid",
        kind="figure",
        statement="The same by the paper's own protocol, without dropout: at each of its 18 context lengths and each "
        "m = 50, 60, .., 200, forty trials of five restarts; the smallest m with at least 80 % solved.",
        where="paper figure 2 and appendix C",
        code=("sparsehead.sweep.thresholds:grid_cells", "sparsehead.measure.thresholds:grid"),
        tests=("tests/experiments/test_collect.py::test_other_laws_are_judged_like_the_first",),
        check=f"{CHECKS}.experiments:check_law_grid",
    ),
    Claim(
        label="law-dropout",
        kind="figure",
        statement="The same with the paper's dropout of 0.1, at some of its context lengths.",
        where="paper figure 2 and appendix C",
        code=("sparsehead.train.dropout:Dropout", "sparsehead.experiments.law:law"),
        tests=(
            "tests/train/test_dropout.py::test_the_compiled_path_is_the_general_one_under_the_same_masks",
            "tests/experiments/test_collect.py::test_other_laws_are_judged_like_the_first",
        ),
        check=f"{CHECKS}.experiments:check_law_dropout",
    ),
    Claim(
        label="law-decades",
        kind="ours",
        statement="From T = 100 to T = 10^5, a hundred times further than the paper, the number of samples that a head "
        "needs without dropout is described by a + b ln T as well as by any other law.",
        where="not in the paper",
        code=("sparsehead.experiments.law:law", "sparsehead.measure.laws:fit_laws"),
        tests=("tests/experiments/test_collect.py::test_the_law_over_decades_is_judged_by_its_form",),
        check=f"{CHECKS}.experiments:check_law_decades",
    ),
    Claim(
        label="curves-and",
        kind="figure",
        statement="T = 300, best of five restarts: with m = 200 all 40 replicates are solved, first above "
        ".99 at iteration 59/99/409 (least/median/most); with m = 50, below the threshold, 24 of 40. "
        "Training accuracy reaches 100 % either way.",
        where="paper figure 3 left; notes figure 6 left",
        code=(
            "sparsehead.experiments.collect:curves",
            "sparsehead.figures.curves:validation_curves",
            "sparsehead.measure.published:CURVES_AND",
        ),
        tests=("tests/experiments/test_collect.py::test_the_curves_verdict_comes_from_the_interval",),
        check=f"{CHECKS}.experiments:check_curves",
    ),
    Claim(
        label="attention-and",
        kind="figure",
        statement="T = 50, m = 300, I = {5, 20, 30}, one head: after training the attention lies on I (mean "
        "weights .294/.274/.428) and vanishes elsewhere (.0034 in total per sample).",
        where="paper figure 3 right; notes figure 6 right",
        code=(
            "sparsehead.experiments.collect:attention",
            "sparsehead.figures.attention:attention_weights",
            "sparsehead.measure.published:ATTENTION_AND",
        ),
        tests=("tests/experiments/test_collect.py::test_the_attention_map_is_kept_and_lies_on_the_support",),
        check=f"{CHECKS}.experiments:check_attention",
    ),
    Claim(
        label="parity-curves",
        kind="figure",
        statement="3-sparse parity with fresh batches of 2048: all ten seeds learn it; the loss first falls "
        "below .35 at iterations 156-247 (median 206) for T = 10 and 381-1029 (median 538) for T = 15.",
        where="paper figure 4; notes figure 7",
        code=(
            "sparsehead.experiments.collect:parity",
            "sparsehead.figures.curves:parity_curves",
            "sparsehead.measure.published:PARITY",
        ),
        tests=(
            "tests/experiments/test_collect.py::test_the_parity_verdict_needs_every_seed_and_a_median_in_range",
        ),
        check=f"{CHECKS}.experiments:check_parity",
    ),
    Claim(
        label="dropout-cost",
        kind="ours",
        statement="At T = 1000, m = 80, a single run with the paper's dropout of 0.1 succeeds less often than the same "
        "run without it on the same data.",
        where="not in the paper",
        code=("sparsehead.experiments.plans:dropout", "sparsehead.experiments.collect:dropout"),
        tests=("tests/experiments/test_collect.py::test_the_dropout_verdict_compares_runs_on_the_same_data",),
        check=f"{CHECKS}.experiments:check_dropout",
    ),
    Claim(
        label="bound-along-training",
        kind="ours",
        statement="The capacity bound of the weights at each recorded step of training, beside the accuracy.",
        where="not in the paper",
        code=(
            "sparsehead.experiments.collect:bound_along",
            "sparsehead.figures.bounds:bound_along_training",
        ),
        tests=("tests/experiments/test_collect.py::test_learned_norms_stand_beside_written_ones",),
        check=f"{CHECKS}.experiments:check_bound_along_training",
    ),
    Claim(
        label="norms-learned",
        kind="ours",
        statement="How the norm of W_QK that gradient descent reaches grows with T, beside the norm that "
        "suffices.",
        where="not in the paper",
        code=(
            "sparsehead.experiments.collect:learned_norms",
            "sparsehead.figures.norms:learned_vs_built_norms",
        ),
        tests=("tests/experiments/test_collect.py::test_learned_norms_stand_beside_written_ones",),
        check=f"{CHECKS}.experiments:check_norms_learned",
    ),
)
