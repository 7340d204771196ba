"""Entries: capacity (paper section 4 and appendix A; notes sections 3 and 4)."""

from .claim import CHECKS, Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        label="head-assumptions",
        kind="assumption",
        statement="phi_out is L_out-Lipschitz, ||phi_in(a)|| <= B_in ||a||, and Norm is differentiable with "
        "||J Norm||_{1,1} <= C_Norm. For softmax that norm is 2(1 - sum p_i^2) < 2.",
        where="paper assumption 4.1; notes assumption 3.1",
        code=(
            "sparsehead.capacity.lipschitz:jacobian_entries",
            "sparsehead.capacity.lipschitz:jacobian_operator",
        ),
        tests=("tests/claims/test_attention_lipschitz.py::test_head_assumptions_jacobian_of_softmax",),
        check=f"{CHECKS}.capacity:check_head_assumptions",
    ),
    Claim(
        label="softmax-lipschitz",
        kind="lemma",
        statement="||softmax(a) - softmax(b)||_1 <= 2 tanh(||a - b||_inf / 2) <= ||a - b||_inf: what the "
        "capacity proofs need of softmax holds with constant 1, where the paper uses 2.",
        where="paper assumption 4.1, where softmax has C_Norm = 2",
        code=(
            "sparsehead.heads:softmax",
            "sparsehead.capacity.lipschitz:softmax_l1_bound",
        ),
        tests=(
            "tests/claims/test_attention_lipschitz.py::test_softmax_lipschitz_holds_at_random",
            "tests/claims/test_attention_lipschitz.py::test_softmax_lipschitz_is_attained_by_search",
        ),
        check=f"{CHECKS}.capacity:check_softmax_lipschitz",
    ),
    Claim(
        label="head-lipschitz",
        kind="lemma",
        statement="Changing the parameters moves the head's output by at most C_Norm L_out B_in B_X max_t "
        "|change of score| + L_out max_t ||change of phi_in(x_t)||; for softmax C_Norm = 1 suffices.",
        where="paper lemma 4.3; notes lemma 3.2",
        code=("sparsehead.capacity.lipschitz:head_error_bound",),
        tests=(
            "tests/claims/test_attention_lipschitz.py::test_head_lipschitz_holds_with_constant_one",
            "tests/claims/test_attention_lipschitz.py::test_head_lipschitz_is_attained",
        ),
        check=f"{CHECKS}.capacity:check_head_lipschitz",
    ),
    Claim(
        label="token-aggregation",
        kind="remark",
        statement="A maximum over samples of a maximum over positions is one maximum over mT tokens; hence "
        "covers of Score and phi_in on mT points serve the head, and T enters only through their logarithm.",
        where="paper, proof of theorem 4.2; notes section 3.1",
        code=("sparsehead.covering.function_classes:sup_distances",),
        tests=(
            "tests/claims/test_capacity.py::test_head_capacity_packing_of_real_heads_stays_below_the_bound",
        ),
        check=f"{CHECKS}.capacity:check_token_aggregation",
    ),
    Claim(
        label="head-capacity",
        kind="theorem",
        statement="For every split of eps, ln N(F_head; eps) <= ln N(F_Score; eps_s; mT points) + ln "
        "N(F_in; eps_in; mT points) with L_out (C_Norm B_in B_X eps_s + eps_in) = eps, phi_out being fixed. "
        "A scalar output divides eps by B_w.",
        where="paper theorem 4.2; notes section 3.1",
        code=(
            "sparsehead.capacity.head_class:head_class_items",
            "sparsehead.capacity.items:covering",
        ),
        tests=(
            "tests/claims/test_capacity.py::test_head_capacity_packing_of_real_heads_stays_below_the_bound",
        ),
        check=f"{CHECKS}.capacity:check_head_capacity",
    ),
    Claim(
        label="pseudo-dimension",
        kind="proposition",
        statement="Without norm bounds, d = 3 suffices for pseudo-dimension >= floor(log2 T): points on a "
        "circle that carry the bits of their own index are shattered by queries of length T^2.",
        where="paper proposition 4.4",
        code=(
            "sparsehead.covering.shattering:shatters",
            "sparsehead.covering.shattering:shattering_head",
        ),
        tests=(
            "tests/claims/test_capacity.py::test_pseudo_dimension_is_at_least_log2_T",
            "tests/claims/test_capacity.py::test_pseudo_dimension_margin_needs_large_norms",
        ),
        check=f"{CHECKS}.capacity:check_pseudo_dimension",
    ),
    Claim(
        label="vector-cover",
        kind="ours",
        statement="{x -> <w, x>: ||w|| <= a} on N points of length <= b has a proper eps-cover with ln N <= "
        "(ceil(r^2) - 1) ln(2N + 1), r = ab/eps; a perceptron finds the cover's element for a given w in "
        "fewer than r^2 updates.",
        where="not in the paper; replaces A.10 with a smaller constant",
        code=(
            "sparsehead.capacity.perceptron:cover_vector",
            "sparsehead.capacity.linear:log_cover_vector",
        ),
        tests=(
            "tests/claims/test_linear_covers.py::test_vector_cover_element_is_found_within_the_promised_updates",
            "tests/claims/test_linear_covers.py::test_vector_cover_update_count_is_attained",
        ),
        check=f"{CHECKS}.linear_covers:check_vector_cover",
    ),
    Claim(
        label="parametric-cover",
        kind="ours",
        statement="The same class in d dimensions has a proper eps-cover with ln N <= d ln(1 + 2ab/eps), "
        "whatever the number of points: counting parameters, which wins at practical sizes.",
        where="not in the paper; classical",
        code=("sparsehead.capacity.linear:log_cover_parametric",),
        tests=("tests/claims/test_linear_covers.py::test_parametric_cover_by_volume_on_the_line",),
        check=f"{CHECKS}.linear_covers:check_parametric_cover",
    ),
    Claim(
        label="zhang-cover",
        kind="theorem",
        statement="For the same class ln N <= 36 (ab/eps)^2 ln(2 ceil(4ab/eps + 2) N + 1): logarithmic in "
        "the number of points, free of the dimension.",
        where="paper lemma A.10 (Zhang 2002, theorem 4); notes equation (8)",
        code=("sparsehead.capacity.linear:log_cover_zhang",),
        tests=(
            "tests/claims/test_linear_covers.py::test_zhang_cover_is_the_formula",
            "tests/claims/test_linear_covers.py::test_vector_cover_beats_zhang_and_respects_the_lower_bound",
        ),
        check=f"{CHECKS}.linear_covers:check_zhang_cover",
    ),
    Claim(
        label="linear-cover",
        kind="lemma",
        statement="{x -> W x: ||W^T||_{2,1} <= B_W} on N points of length <= B_X has ln N <~ (B_X B_W / "
        "eps)^2 ln(d_1 N); ours is (B_X B_W / eps)^2 (ln^{1/3}(d_1 + 1) + ln^{1/3}(2 N d_1 + 1))^3, by an "
        "algorithm that returns the cover's element.",
        where="paper lemma 4.6; notes lemma 3.3",
        code=(
            "sparsehead.capacity.perceptron:cover_matrix",
            "sparsehead.capacity.linear:log_cover_matrix",
            "sparsehead.capacity.linear:log_cover_paper",
        ),
        tests=(
            "tests/claims/test_linear_covers.py::test_linear_cover_element_is_found_within_the_promised_updates",
            "tests/claims/test_linear_covers.py::test_linear_cover_as_printed_is_no_bound_without_its_constant",
        ),
        check=f"{CHECKS}.linear_covers:check_linear_cover",
    ),
    Claim(
        label="split-lemma",
        kind="lemma",
        statement="min of sum_k c_k / x_k^2 subject to sum_k p_k x_k = eps is (sum_k c_k^{1/3} p_k^{2/3})^3 "
        "/ eps^2, attained at x_k proportional to (c_k / p_k)^{1/3}.",
        where="paper lemma A.8",
        code=(
            "sparsehead.capacity.items:split",
            "sparsehead.capacity.items:log_capacity",
        ),
        tests=("tests/claims/test_capacity.py::test_split_lemma_closed_form_is_the_minimum",),
        check=f"{CHECKS}.linear_covers:check_split_lemma",
    ),
    Claim(
        label="single-layer-capacity",
        kind="corollary",
        statement="ln N(F_tf-head; eps) <= (L_sigma B_X / eps)^2 [ (B_V^{2,1})^{2/3} Lambda^{1/3} + (B_QK "
        "B_Z B_X B_V)^{2/3} ln^{1/3}(2 N_S + 1) ]^3 with N_S <= mT: T enters through a logarithm only.",
        where="paper corollary 4.5; notes section 3.2",
        code=(
            "sparsehead.capacity.head_class:head_class_items",
            "sparsehead.capacity:bound",
        ),
        tests=(
            "tests/claims/test_capacity.py::test_single_layer_capacity_is_the_displayed_formula",
            "tests/claims/test_capacity.py::test_single_layer_capacity_is_invariant_under_rescaling",
            "tests/claims/test_depth.py::test_single_layer_capacity_errors_add_up_as_the_items_say",
        ),
        check=f"{CHECKS}.capacity:check_single_layer_capacity",
    ),
    Claim(
        label="positional-capacity",
        kind="corollary",
        statement="With a fixed table of positions added to the tokens, B_X becomes B_X + B_P in every term.",
        where="paper A.11",
        code=("sparsehead.capacity.head_class:head_class",),
        tests=("tests/claims/test_capacity.py::test_positional_capacity_adds_the_positions_length",),
        check=f"{CHECKS}.capacity:check_positional_capacity",
    ),
    Claim(
        label="multi-head-capacity",
        kind="corollary",
        statement="The sum of H heads: the items of all heads in one list, (sum_h [..])^3 / eps^2. A head "
        "with zero weights adds nothing.",
        where="paper A.12; notes section 4",
        code=(
            "sparsehead.capacity.head_class:head_class_items",
            "sparsehead.capacity.networks:model_items",
        ),
        tests=(
            "tests/claims/test_capacity.py::test_multi_head_capacity_adds_under_the_cube_and_a_zero_head_adds_nothing",
        ),
        check=f"{CHECKS}.capacity:check_multi_head_capacity",
    ),
    Claim(
        label="multi-layer-capacity",
        kind="theorem",
        statement="Depth L: the items of every block, each weighted by the Lipschitz constants of the "
        "blocks above it, ||W_V|| (1 + 2 B_X^2 ||W_QK||) per attention (the paper: 1 + 4 ||W_QK||).",
        where="paper theorem 4.7 and A.17",
        code=(
            "sparsehead.capacity.networks:model_items",
            "sparsehead.capacity.lipschitz:attention_lipschitz",
        ),
        tests=(
            "tests/claims/test_depth.py::test_multi_layer_capacity_errors_add_up_as_the_items_say",
            "tests/claims/test_attention_lipschitz.py::test_multi_layer_capacity_stretch_of_attention_by_search",
        ),
        check=f"{CHECKS}.capacity:check_multi_layer_capacity",
    ),
    Claim(
        label="layer-norm",
        kind="ours",
        statement="LayerNorm with eps_ln in place of Pi: Lipschitz with constant max|gain| / sqrt(eps_ln), "
        "attained at 0, and rows of length at most sqrt(d) max|gain| + |bias|.",
        where="not in the paper, whose Pi stands in for it",
        code=(
            "sparsehead.capacity.lipschitz:layer_norm_lipschitz",
            "sparsehead.capacity.lipschitz:layer_norm_radius",
        ),
        tests=(
            "tests/claims/test_attention_lipschitz.py::test_layer_norm_radius_and_lipschitz",
            "tests/claims/test_attention_lipschitz.py::test_layer_norm_lipschitz_is_attained_at_zero",
        ),
        check=f"{CHECKS}.capacity:check_layer_norm",
    ),
    Claim(
        label="trauger-tewari",
        kind="remark",
        statement="A capacity bound without T exists under ||W_QK||_{1,1}: Maurey's sparsification instead "
        "of a cover of mT points.",
        where="Trauger and Tewari 2024, cited for comparison",
        code=(
            "sparsehead.capacity.linear:log_cover_maurey",
            "sparsehead.capacity.head_class:trauger_tewari_rademacher",
        ),
        tests=(
            "tests/claims/test_linear_covers.py::test_trauger_tewari_cover_exists_whatever_the_points",
            "tests/claims/test_capacity.py::test_trauger_tewari_printed_bound_has_no_T_and_falls_in_m",
        ),
        check=f"{CHECKS}.capacity:check_trauger_tewari",
    ),
)
