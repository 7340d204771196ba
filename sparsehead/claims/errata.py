"""Entries: what is wrong in print, what is true instead, and the test that shows it.

Each statement is ours: the printed form, then why it fails. A check that "holds" has demonstrated the fault.
"""

from .claim import CHECKS, Claim

TESTS = "tests/claims/test_errata.py"
PRINTED, SECOND = "tests/claims/test_paper_errata.py", "tests/claims/test_notes_errata.py"
SPARSE = "tests/claims/test_sparse_functions.py"
# Where a second test shows the fault independently of the check.
MORE: dict[str, str] = {
    "errata-paper-1": f"{PRINTED}::test_errata_paper_1_the_printed_bump_is_zero_at_its_centre",
    "errata-paper-2": f"{PRINTED}::test_errata_paper_2_delta_of_an_eighth_misses_what_the_head_delivers",
    "errata-paper-3": f"{PRINTED}::test_errata_paper_3_the_sum_of_positions_"
    "is_no_key_when_positions_are_not_orthogonal",
    "errata-paper-4": f"{PRINTED}::test_errata_paper_4_the_first_layer_reaches_B_over_delta_plus_2",
    "errata-paper-5": f"{PRINTED}::test_errata_paper_5_the_target_falls_with_the_number_of_ones",
    "errata-paper-6": f"{PRINTED}::test_errata_paper_6_the_true_norms",
    "errata-notes-1": f"{SECOND}::test_notes_erratum_01_pseudometric_needs_d_x_x_zero",
    "errata-notes-2": f"{SECOND}::test_notes_erratum_02_the_example_is_2_for_neither_set",
    "errata-notes-3": f"{SECOND}::test_notes_erratum_03_covering_numbers_fall_as_eps_grows",
    "errata-notes-4": f"{SECOND}::test_notes_erratum_04_more_spread_is_not_more_covers",
    "errata-notes-5": f"{SECOND}::test_notes_erratum_05_functions_are_covered_jointly",
    "errata-notes-7": f"{SECOND}::test_notes_erratum_07_the_hidden_logarithm_is_there",
    "errata-notes-8": f"{SECOND}::test_notes_erratum_08_vc_bound_needs_m_at_least_d",
    "errata-notes-9": f"{SECOND}::test_notes_erratum_09_fat_bound_misprints_eps_and_needs_m_at_least_d",
    "errata-notes-10": f"{SECOND}::test_notes_erratum_10_the_rademacher_factor_turns_negative",
    "errata-notes-12": f"{SECOND}::test_notes_erratum_12_phi_out_must_be_fixed_or_covered",
    "errata-notes-13": f"{SECOND}::test_notes_erratum_13_the_product_cover_is_an_upper_bound",
    "errata-notes-14": f"{SECOND}::test_notes_erratum_14_the_bound_is_on_the_logarithm",
    "errata-notes-15": f"{SECOND}::test_notes_erratum_15_W_acts_on_its_columns",
    "errata-notes-16": f"{SECOND}::test_notes_erratum_16_the_score_is_bilinear",
    "errata-notes-17": f"{SECOND}::test_notes_erratum_17_the_printed_bound_breaks_under_rescaling",
    "errata-notes-18": f"{SECOND}::test_notes_erratum_18_layers_amplify_where_heads_add",
    "errata-notes-20": f"{SECOND}::test_notes_erratum_20_approximately_orthonormal_is_no_basis",
    "errata-notes-21": f"{SECOND}::test_notes_erratum_21_bag_is_diag_b_V",
    "errata-notes-24": f"{SECOND}::test_notes_erratum_24_the_information_is_s_log_T_over_s",
    "errata-notes-25": f"{SECOND}::test_notes_erratum_25_the_number_of_functions_is_T_to_the_s",
    "errata-notes-19": f"{SPARSE}::test_errata_notes_19_symmetry_needs_its_conclusion",
}


def _paper(number: int, where: str, statement: str, *code: str) -> Claim:
    return _erratum("paper", number, where, statement, code)


def _notes(number: int, where: str, statement: str, *code: str, text_only: bool = False) -> Claim:
    return _erratum("notes", number, f"notes {where}", statement, code, text_only)


def _home(source: str, number: int) -> str:
    """The module of the check: the notes' errata are grouped by section."""
    if source == "paper":
        return "errata_paper"
    return "errata_covering" if number <= 10 else "errata_capacity" if number <= 18 else "errata_sparse"


def _erratum(
    source: str, number: int, where: str, statement: str, code: tuple[str, ...], text_only: bool = False
) -> Claim:
    """Check and test carry the erratum's number: check_errata_notes_3, test_errata_notes_3."""
    name, label = f"errata_{source}_{number}", f"errata-{source}-{number}"
    tests = (f"{TESTS}::test_{name}", *([MORE[label]] if label in MORE else []))
    return Claim(
        label=label,
        kind="erratum",
        statement=statement,
        where=where,
        code=tuple(f"sparsehead.{c}" for c in code),
        tests=() if text_only else tests,
        check=None if text_only else f"{CHECKS}.{_home(source, number)}:check_{name}",
        text_only=text_only,
    )


PAPER: tuple[Claim, ...] = (
    _paper(
        1,
        "paper appendix B, MLP lemma",
        "The printed bump is 0 at its centre, where it should be 1; psi(x) = nu(x) + nu(2 delta - x) - 1 is "
        "right.",
        "construct.paper:bump",
    ),
    _paper(
        2,
        "paper appendix B, MLP lemma",
        "delta = g/8 contradicts an approximation that is only good to g/4: values inside the allowed error "
        "fall outside the bump. delta = g/4 works.",
        "construct.paper:bump_net",
    ),
    _paper(
        3,
        "paper appendix B, one head, encoding (a)",
        "For Delta > 0 the printed keys (the sum of the positions of I) give unequal scores inside I, and "
        "the stated error is exceeded however large R is: the softmax prefers one of them. Dual keys repair "
        "it.",
        "construct.attention:dual",
    ),
    _paper(
        4,
        "paper appendix B, MLP lemma",
        "||W_1||_inf can reach B/delta + 2, more than printed: the biases of the outer kinks are counted in "
        "it.",
        "construct.paper:bump_net",
    ),
    _paper(
        5,
        "paper appendix B, target of encoding (a)",
        "The printed target (1/s) sum chi_i, chi = +1 for a zero bit, decreases in the number of ones; a "
        "monotone function needs its sign changed.",
        "construct.paper:paper_model",
    ),
    _paper(
        6,
        "paper proposition 5.1, norms",
        "The true norms at Delta = 0 are smaller than the printed O(s): ||W_K||, ||W_V||, ||W_C||_F = "
        "sqrt(s), sqrt(2), 1 for (a) and sqrt(s+1), sqrt(2s), sqrt(s) for (c); ||W_K W_Q^T||_{2,1} = R "
        "sqrt(s).",
        "construct.paper:paper_model",
    ),
)

NOTES: tuple[Claim, ...] = (
    _notes(
        1,
        "section 2.1.1",
        "A pseudometric also needs d(x, x) = 0: d = 1 everywhere satisfies both printed axioms, and then no "
        "point covers even itself at eps < 1. And the covering number is a size, not a subset.",
        "covering:covering_number",
    ),
    _notes(
        2,
        "section 2.1.2",
        "The point set changes between the two examples (3 becomes 0.3, 2.5 becomes 0.65), and N(0.5) = 2 "
        "is false for both: it is 3 for the first set and 1 for the second. {(.2, 3), (.6, 2.5)} covers "
        "neither.",
        "covering:covering_number",
    ),
    _notes(
        3,
        "section 2.1.2, end",
        "'As eps increases the covering number can only increase' is the wrong way round: an eps-cover is "
        "also an eps'-cover for every eps' >= eps.",
        "covering:covering_number",
    ),
    _notes(
        4,
        "section 2.1.2, end",
        "'More spread out, hence larger' holds for scaling, N(cT, eps) = N(T, eps/c), not for adding "
        "points: N({-1, 1}, 1) = 2 but N({-1, 0, 1}, 1) = 1 with centres in the set.",
        "covering:covering_number",
    ),
    _notes(
        5,
        "section 2.1.2, after definition 2.1",
        "Not every single value f(z_i) is the point to cover but the vector of all m: the +-1 functions on "
        "m points have two values, and covering number 2^m.",
        "covering.function_classes:class_covering_number",
    ),
    _notes(
        6,
        "section 2.1",
        "N(T, eps, d), N_2(T, eps, .) and N_2(eps, T, .) are one quantity with its arguments permuted. Our "
        "eps is named at every call.",
        "covering:covering_number",
    ),
    _notes(
        7,
        "lemma 2.3",
        "The lemma needs a bounded, Lipschitz loss before eps_gen(f) means anything; a class of unbounded "
        "functions with the squared loss has no such bound. The O~ hides a ln m that comes from the entropy "
        "integral.",
        "capacity.generalization:uniform_gap",
    ),
    _notes(
        8,
        "section 2.2.1",
        "(em/VC)^VC needs m >= VC and eps < 1: at m = 1, VC = 4 it is 0.21, less than one function. The "
        "constant e is Euler's number.",
        "covering.relations:log_cover_vc",
    ),
    _notes(
        9,
        "section 2.2.2",
        "In the exponent 'de' must be d eps, the logarithm is base 2, and m >= d is needed: literally at m "
        "= 1, d = 8 the bound is below 1e-40 while N_inf([0,1]^X, .1, 1) = 5.",
        "covering.relations:log_cover_fat",
    ),
    _notes(
        10,
        "section 2.2.3",
        "The factor 1 + log(A sqrt(m/C)) is negative for A sqrt(m/C) < 1/e; the positive part of the "
        "logarithm is meant. With proper covers c = e sqrt(2).",
        "capacity.generalization:rademacher_closed",
    ),
    _notes(
        11,
        "figure 3, definition 2.4",
        "The modules are f_tf-head, f_tf-layer, f_tf-scalar; a head maps X^T x Z to Y, not X to Y: its "
        "output depends on the whole sequence and on the context.",
        "heads:attention_head",
    ),
    _notes(
        12,
        "assumption 3.1, equation (3)",
        "theta_out ranges over a set, but the product cover covers theta_s and theta_in only: with one "
        "score, one phi_in and phi_out = c y, c in [0, 1], it claims N = 1. phi_out must be fixed, or "
        "covered too.",
        "capacity.stages:read_stage",
    ),
    _notes(
        13,
        "section 3.1, display of theorem 4.2",
        "The '=' is '<=': the product of two covers is a cover, rarely the smallest; and the infimum over "
        "the split of eps and the constants are missing.",
        "capacity.items:split",
    ),
    _notes(
        14,
        "equation (8)",
        "The logarithm is missing on the left: on x_i = e_i with a = b = 1 and eps = 0.2 the covering "
        "number is at least C(N, 6) 2^6, while the printed right side is O(log N).",
        "capacity.linear:log_cover_vector",
    ),
    _notes(
        15,
        "lemma 3.3",
        "W in R^{d1 x d2} acts on x in R^{d2}; printed is R^{d1}.",
        "capacity.linear:log_cover_matrix",
    ),
    _notes(
        16,
        "equation (10)",
        "The score is bilinear: doubling the query doubles it, so the bound must carry ||z||. Combining the "
        "terms needs the split lemma.",
        "capacity.pricing:Pricing.bilinear",
    ),
    _notes(
        17,
        "section 3.2, head bound",
        "The term of W_QK lacks B_X ||z||: scaling the inputs by c and (W_QK, W_V) by (1/c^2, 1/c) leaves "
        "the class as it is, but changes the printed bound.",
        "capacity.head_class:head_class_items",
    ),
    _notes(
        18,
        "section 4",
        "The displayed class is multi-head, not multi-layer: errors of heads add, errors of layers are "
        "multiplied by the Lipschitz constants of the layers above.",
        "capacity.networks:model_items",
    ),
    _notes(
        19,
        "definitions 5.2, 5.4",
        "Definition 5.2 lacks its conclusion 'implies f(b) = f(b')'; the range is R in one place and R^d in "
        "another; the other T - s inputs are irrelevant, not relevant.",
        "functions:is_symmetric",
    ),
    _notes(
        20,
        "section 5, deterministic positions",
        "T + 3 approximately orthonormal vectors need not be a basis: they fit into far fewer than T + 3 "
        "dimensions, and are then linearly dependent.",
        "encoding:random_positions",
    ),
    _notes(
        21,
        "section 5, bag of vectors",
        "V is T x d, so X = diag(b) V; V diag(b) is not even defined unless d = T, and then it masks "
        "columns. The permutation acts from the left.",
        "encoding:bag",
    ),
    _notes(
        22,
        "section 5, proposition 5.5",
        "The composition defines f_tf+mlp, not f_mlp; 'for any input mapping' means the three listed: a "
        "constant mapping represents nothing. The score is x^T W_K W_Q^T z.",
        "heads:tf_mlp",
    ),
    _notes(
        23,
        "proposition 5.5, proof sketch",
        "O(s^2) neurons cannot serve all functions of s bits: 2^(2^s) functions have to be told apart, and "
        "a ReLU net of fixed depth with W parameters has VC dimension O(W log W).",
        "construct.decoder:plateaus",
    ),
    _notes(
        24,
        "section 5, end",
        "log2 C(T, s) is of the order s log(T/s), not s log T: at s = T it is 0. For AND a label carries "
        "only H(2^-s) bits.",
        "floor.floor:fano",
    ),
    _notes(
        25,
        "section 6",
        "N = C(T, s), which grows like T^s, not in proportion to T; what succeeds at 100 % is validation, "
        "training accuracy does either way; the log T experiment is the AND task, not parity.",
        "functions:conjunction",
    ),
    _notes(
        26,
        "references",
        "[LPM15] is attention between two sequences, not self-attention; [BM02] is about Rademacher "
        "complexities, not covers; the attribution of [Hau14] is doubtful.",
        text_only=True,
    ),
)
