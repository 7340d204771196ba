"""Entries: what heads can represent (paper section 5 and appendix B; notes section 5)."""

from .claim import CHECKS, Claim

PAPER = "paper proposition 5.1 and appendix B; notes proposition 5.5"

CLAIMS: tuple[Claim, ...] = (
    Claim(
        label="sparse-representation",
        kind="proposition",
        statement="For each of the three encodings, bounded-norm attention represents s-sparse functions: "
        "monotone symmetric ones by f_tf-scalar approximately, symmetric and general ones by f_tf+mlp "
        "exactly. Ours: one head and 2 ReLU units per change of value for every s-sparse function.",
        where=PAPER,
        code=(
            "sparsehead.construct:build",
            "sparsehead.certify:verify",
        ),
        tests=(
            "tests/claims/test_representation.py::test_sparse_representation_every_function_of_three_bits",
            "tests/claims/test_representation.py::test_sparse_representation_random_functions_of_four_and_five_bits",
        ),
        check=f"{CHECKS}.representation:check_sparse_representation",
    ),
    Claim(
        label="monotone-symmetric-representation",
        kind="proposition",
        statement="f_tf-scalar, the head alone with no MLP, computes every threshold function of s bits.",
        where=f"{PAPER}, first item",
        code=("sparsehead.construct.assemble:head_alone",),
        tests=(
            "tests/claims/test_representation.py::test_monotone_symmetric_representation_by_the_head_alone",
        ),
        check=f"{CHECKS}.representation:check_monotone_symmetric_representation",
    ),
    Claim(
        label="symmetric-representation",
        kind="proposition",
        statement="f_tf+mlp with one head computes every symmetric s-sparse function exactly, with a "
        "decoder of size poly(s); ours needs at most 2s units.",
        where=f"{PAPER}, second item",
        code=("sparsehead.construct.assemble:with_mlp",),
        tests=(
            "tests/claims/test_representation.py::test_symmetric_representation_takes_one_head_and_2s_units",
        ),
        check=f"{CHECKS}.representation:check_symmetric_representation",
    ),
    Claim(
        label="general-representation",
        kind="proposition",
        statement="f_tf+mlp computes every s-sparse function exactly with a decoder of size 2^s poly(s): s "
        "heads in the paper's encodings (a) and (b), one in (c); ours one head and at most 2(2^s - 1) units "
        "in all three.",
        where=f"{PAPER}, third item",
        code=(
            "sparsehead.construct.assemble:with_mlp",
            "sparsehead.construct.paper:paper_model",
        ),
        tests=(
            "tests/claims/test_representation.py::test_general_representation_takes_one_head_and_fewer_units_than_the_paper",
            "tests/claims/test_representation.py::test_paper_method_is_exact_once_repaired",
        ),
        check=f"{CHECKS}.representation:check_general_representation",
    ),
    Claim(
        label="single-head",
        kind="proposition",
        statement="Encoding (a), deterministic positions: W_Q = R v_CLS e_1^T, W_K reads the positions of "
        "I, W_V the bit.",
        where="paper appendix B, encoding (a)",
        code=("sparsehead.construct.attention:additive_selection",),
        tests=(
            "tests/claims/test_representation.py::test_single_head_leaks_the_same_share_on_every_input",
            "tests/claims/test_representation.py::test_single_head_fills_the_predicted_interval",
        ),
        check=f"{CHECKS}.representation:check_single_head",
    ),
    Claim(
        label="single-head-random",
        kind="ours",
        statement="Encoding (a) with random, approximately orthonormal positions: keys dual to the "
        "positions of I instead of their sum. The scores inside I are then equal and d = O(s ln T) suffices.",
        where="replaces the paper's keys of encoding (a) for Delta > 0",
        code=(
            "sparsehead.construct.attention:dual",
            "sparsehead.construct.attention:additive_selection",
        ),
        tests=(
            "tests/claims/test_representation.py::test_single_head_random_ten_thousand_positions_in_512_dimensions",
            "tests/claims/test_representation.py::test_single_head_random_dual_vectors_beat_the_sum_of_positions",
        ),
        check=f"{CHECKS}.representation:check_single_head_random",
    ),
    Claim(
        label="single-head-trainable",
        kind="proposition",
        statement="Encoding (b), trainable positions: one direction marks I, all other positions are 0; d = "
        "4 suffices.",
        where="paper appendix B, encoding (b)",
        code=("sparsehead.construct.attention:trainable_selection",),
        tests=(
            "tests/claims/test_representation.py::test_single_head_trainable_needs_four_dimensions_and_little_position",
        ),
        check=f"{CHECKS}.representation:check_single_head_trainable",
    ),
    Claim(
        label="single-head-bag",
        kind="proposition",
        statement="Encoding (c), bag of vectors: tokens of zero bits vanish, and one head gives tau v / (1 "
        "+ tau v) exactly, without leakage.",
        where="paper appendix B, encoding (c)",
        code=("sparsehead.construct.attention:bag_selection",),
        tests=("tests/claims/test_representation.py::test_single_head_bag_has_no_leakage_into_its_output",),
        check=f"{CHECKS}.representation:check_single_head_bag",
    ),
    Claim(
        label="single-head-bag-approximate",
        kind="proposition",
        statement="Encoding (c) with approximately orthonormal rows: one head of value width s reads every "
        "bit apart, a present one above what an absent one can reach, and two ReLU units clean it.",
        where="paper appendix B, encoding (c), for Delta > 0",
        code=("sparsehead.construct.multi:bag_bits",),
        tests=(
            "tests/claims/test_representation.py::test_sparse_representation_every_function_of_three_bits",
        ),
        check=f"{CHECKS}.representation:check_single_head_bag_approximate",
    ),
    Claim(
        label="linear-head",
        kind="ours",
        statement="With sigma = identity, no ReLU anywhere, a head is within eps of AND and of OR with "
        "scores of size O(ln(T/eps)); interior thresholds are out of its reach, except by the sign of the "
        "output.",
        where="not in the paper; cf. proposition 5.1, first item",
        code=("sparsehead.construct.linear:linear_head",),
        tests=("tests/claims/test_representation.py::test_linear_head_approximates_and_or_within_epsilon",),
        check=f"{CHECKS}.representation:check_linear_head",
    ),
    Claim(
        label="s-heads",
        kind="proposition",
        statement="s heads, one position each: all slopes of the decoder are O(1), with 2s cleaning units "
        "and at most 2^{s-1} minterms.",
        where="paper appendix B, encodings (a) and (b) with s heads",
        code=("sparsehead.construct.multi:s_heads",),
        tests=("tests/claims/test_representation.py::test_s_heads_compute_random_functions",),
        check=f"{CHECKS}.representation:check_s_heads",
    ),
    Claim(
        label="cancelling-heads",
        kind="ours",
        statement="Two heads, one selecting and one uniform: Z o_1 - N o_2 = sum over I of (e^eta_i - 1) "
        "b_i exactly, for any scale; the count without any ReLU.",
        where="not in the paper",
        code=("sparsehead.construct.multi:cancelling_heads",),
        tests=("tests/claims/test_representation.py::test_cancelling_heads_give_the_linear_count",),
        check=f"{CHECKS}.representation:check_cancelling_heads",
    ),
    Claim(
        label="bump",
        kind="lemma",
        statement="A ReLU net with one bump per target value turns approximate values into exact ones; the "
        "bump is psi(x) = nu(x) + nu(2 delta - x) - 1, which is 1 at its centre.",
        where="paper appendix B, MLP lemma",
        code=(
            "sparsehead.construct.paper:bump",
            "sparsehead.construct.paper:bump_net",
        ),
        tests=(
            "tests/claims/test_paper_errata.py::test_bump_nets_are_exact_within_a_quarter_of_the_smallest_distance",
        ),
        check=f"{CHECKS}.representation:check_bump",
    ),
    Claim(
        label="exact-decoder",
        kind="ours",
        statement="A piecewise linear read-out with two units per change of value is constant on every "
        "interval in which the head's output can lie; inside the head, with sigma = ReLU, it needs no MLP "
        "at all.",
        where="not in the paper",
        code=("sparsehead.construct.decoder:plateaus",),
        tests=(
            "tests/construct/test_decoder.py::test_plateaus_are_exact_on_every_interval_with_two_units_per_change",
        ),
        check=f"{CHECKS}.representation:check_exact_decoder",
    ),
    Claim(
        label="best-code",
        kind="ours",
        statement="Bits may be weighed in any order and complemented: the code with the fewest changes of "
        "value along the head's output has the smallest decoder, and every linear threshold function needs "
        "2 units.",
        where="not in the paper",
        code=("sparsehead.construct.code:best_code",),
        tests=(
            "tests/construct/test_code.py::test_no_random_weights_beat_the_best_code",
            "tests/construct/test_code.py::test_linear_threshold_functions_change_once",
        ),
        check=f"{CHECKS}.representation:check_best_code",
    ),
    Claim(
        label="representation-norms",
        kind="proposition",
        statement="||W_Q||_F <= O(log(Ts)), ||W_K||, ||W_V||, ||W_C||_F <= O(s). Ours: ||W_QK||_F = "
        "|eta|_2, which is sqrt(s) ln(n(2s+1)/s) for symmetric functions: logarithmic in T.",
        where=PAPER,
        code=(
            "sparsehead.construct:build",
            "sparsehead.capacity.norms:product_norms",
        ),
        tests=(
            "tests/claims/test_representation.py::test_representation_norms_grow_as_log_T",
            "tests/claims/test_representation.py::test_representation_norms_are_those_predicted",
        ),
        check=f"{CHECKS}.representation:check_representation_norms",
    ),
    Claim(
        label="exact-certificate",
        kind="ours",
        statement="For a single-head scalar read-out the extreme outputs over all 2^T inputs are found "
        "exactly, pattern by pattern of the s relevant bits, by Dinkelbach's iteration: O(T) a step.",
        where="not in the paper",
        code=(
            "sparsehead.certify:verify",
            "sparsehead.ranges:extremes",
        ),
        tests=(
            "tests/certify/test_verify.py::test_patterns_agree_with_enumeration",
            "tests/claims/test_representation.py::test_exact_certificate_for_a_hundred_thousand_positions",
        ),
        check=f"{CHECKS}.representation:check_exact_certificate",
    ),
)
