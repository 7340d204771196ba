"""Entries: generalisation, other measures of size, lower bounds (paper appendix A and section 5; notes section 2.2)."""

from .claim import CHECKS, Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        label="generalization",
        kind="lemma",
        statement="If ln N(F; eps) <= C/eps^2 on every sample and the loss is b-bounded and L-Lipschitz, "
        "then with probability 1 - delta every f has risk at most its training risk plus O(L sqrt(C/m) (1 + "
        "ln^+(b sqrt(m/C) / L))) + b sqrt(ln(1/delta) / 2m), here with all constants.",
        where="paper lemma A.5; notes lemma 2.3",
        code=(
            "sparsehead.capacity.generalization:uniform_gap",
            "sparsehead.capacity.generalization:margin_gap",
        ),
        tests=(
            "tests/claims/test_generalization_bounds.py::test_generalization_uniform_bound_holds_on_a_finite_class",
        ),
        check=f"{CHECKS}.generalization:check_generalization",
    ),
    Claim(
        label="vc-cover",
        kind="lemma",
        statement="A 0/1 class of VC dimension d has N_inf(F, eps, m) <= sum_{i<=d} C(m, i) <= (em/d)^d for "
        "eps < 1 and m >= d.",
        where="notes section 2.2.1",
        code=("sparsehead.covering.relations:log_cover_vc",),
        tests=(
            "tests/claims/test_generalization_bounds.py::test_vc_cover_is_the_number_of_patterns_and_below_sauer",
        ),
        check=f"{CHECKS}.generalization:check_vc_cover",
    ),
    Claim(
        label="fat-cover",
        kind="lemma",
        statement="A class in [0,1]^X with fat-shattering dimension d at eps/4 has N_inf(F, eps, m) < 2 (m "
        "b^2)^{ceil(log2 y)}, b = floor(2/eps) + 1, y = sum_{i<=d} C(m, i) b^i.",
        where="notes section 2.2.2",
        code=("sparsehead.covering.relations:log_cover_fat",),
        tests=("tests/claims/test_generalization_bounds.py::test_fat_cover_bounds_covers_and_packings",),
        check=f"{CHECKS}.generalization:check_fat_cover",
    ),
    Claim(
        label="rademacher-cover",
        kind="lemma",
        statement="If ln N(F; eps) <= C/eps^2 and |f| <= A, the empirical Rademacher complexity is at most "
        "e sqrt(2) r (1 + ln^+(A / (sqrt(2) r))), r = sqrt(C/m), for proper covers.",
        where="paper appendix A, before A.5; notes section 2.2.3",
        code=(
            "sparsehead.capacity.generalization:rademacher",
            "sparsehead.capacity.generalization:rademacher_closed",
        ),
        tests=(
            "tests/claims/test_generalization_bounds.py::test_rademacher_cover_chaining_bounds_the_exact_complexity",
        ),
        check=f"{CHECKS}.generalization:check_rademacher_cover",
    ),
    Claim(
        label="realizable",
        kind="ours",
        statement="With probability 1 - delta every f of the class with margin above g on all m training "
        "points errs with probability at most (2/m)(log2 N_inf(F; g/2; 2m) + log2(2/delta)).",
        where="not in the paper",
        code=("sparsehead.capacity.generalization:realizable_error",),
        tests=(
            "tests/claims/test_generalization_bounds.py::test_generalization_ghost_sample_step",
            "tests/claims/test_generalization_bounds.py::test_generalization_realizable_error_holds_on_a_finite_class",
        ),
        check=f"{CHECKS}.generalization:check_realizable",
    ),
    Claim(
        label="sample-size",
        kind="ours",
        statement="The smallest m at which a bound's gap falls below a wanted accuracy, by doubling and "
        "bisection; for a finite class m >= (ln|F| + ln(1/delta))/eps suffices.",
        where="not in the paper",
        code=(
            "sparsehead.capacity.generalization:samples_needed",
            "sparsehead.capacity.generalization:finite_class_samples",
        ),
        tests=(
            "tests/claims/test_generalization_bounds.py::test_generalization_samples_needed_is_the_first_that_suffices",
        ),
        check=f"{CHECKS}.generalization:check_sample_size",
    ),
    Claim(
        label="sample-lower-bound",
        kind="remark",
        statement="C(T, s) subsets must be told apart, so any learner needs at least of the order of s "
        "ln(T/s) samples.",
        where="paper section 5, end; notes section 5, end",
        code=(
            "sparsehead.floor.floor:fano",
            "sparsehead.floor.floor:floor",
        ),
        tests=(
            "tests/claims/test_floor.py::test_sample_lower_bound_fano_is_below_the_floor",
            "tests/claims/test_floor.py::test_sample_lower_bound_slope_is_the_entropy_of_a_label_not_a_single_swap",
        ),
        check=f"{CHECKS}.floor:check_sample_lower_bound",
    ),
    Claim(
        label="information-floor",
        kind="ours",
        statement="The best possible probability of identifying an s-conjunction from m samples is E[1 / "
        "number of consistent s-subsets]; where it reaches 0.8 no learner needs fewer samples. It grows "
        "like 4.3 ln T for s = 3 and balanced labels.",
        where="not in the paper",
        code=(
            "sparsehead.floor.floor:floor_curve",
            "sparsehead.floor.floor:identification",
        ),
        tests=(
            "tests/claims/test_floor.py::test_sample_lower_bound_floor_on_the_papers_grid",
            "tests/floor/test_floor.py::test_elimination_equals_brute_force",
        ),
        check=f"{CHECKS}.floor:check_information_floor",
    ),
    Claim(
        label="parity-floor",
        kind="ours",
        statement="For s-parities of uniform bits every wrong subset survives m samples with probability "
        "exactly 2^-m, so the threshold is log2 C(T, s) + O(1).",
        where="not in the paper",
        code=(
            "sparsehead.floor.floor:parity_bounds",
            "sparsehead.floor.elimination:parity_counts",
        ),
        tests=("tests/floor/test_floor.py::test_parity_brackets_hold_and_are_tighter_than_jensen",),
        check=f"{CHECKS}.floor:check_parity_floor",
    ),
)
