"""Entries: the definitions (paper sections 3 and 5.1; notes sections 2, 2.1, 2.3 and 5)."""

from .claim import CHECKS, Claim

HEADS = "tests/test_heads.py::"

CLAIMS: tuple[Claim, ...] = (
    Claim(
        label="matrix-norms",
        kind="definition",
        statement="||M||_{p,q} takes the p-norm of each column, then the q-norm of those numbers; so "
        "||W||_{2,1} sums column lengths and ||X^T||_{2,inf} is the longest row of X. Always spectral <= "
        "Frobenius <= (2,1) <= sqrt(columns) Frobenius.",
        where="paper section 3, notation; notes section 2",
        code=(
            "sparsehead.capacity.norms:matrix_norm",
            "sparsehead.capacity.norms:matrix_norms",
        ),
        tests=(
            "tests/capacity/test_norms.py::test_matrix_norms_convention_columns_first",
            "tests/capacity/test_norms.py::test_matrix_norms_chain",
        ),
        check=f"{CHECKS}.definitions:check_matrix_norms",
    ),
    Claim(
        label="pseudometric-cover",
        kind="definition",
        statement="In a pseudometric space an eps-cover of a set is a subset such that every point of the "
        "set lies within eps of one of its members; the covering number is the size of the smallest. It "
        "never grows with eps.",
        where="notes section 2.1.1",
        code=("sparsehead.covering:covering_number",),
        tests=(
            "tests/claims/test_covering.py::test_pseudometric_cover_equals_brute_force_and_the_sandwich_holds",
            "tests/claims/test_covering.py::test_pseudometric_cover_falls_as_eps_grows",
        ),
        check=f"{CHECKS}.covering:check_pseudometric_cover",
    ),
    Claim(
        label="covering-example",
        kind="figure",
        statement="Three points in the plane at eps = 0.05 and 0.5. At 0.05 the covering number is 3. At "
        "0.5 it is 3 for the set as first printed and 1 for the set as used later; the printed 2 belongs to "
        "neither.",
        where="notes section 2.1.2, figures 1 and 2",
        code=("sparsehead.covering:covering_number",),
        tests=("tests/claims/test_covering.py::test_covering_example_both_readings",),
        check=f"{CHECKS}.covering:check_covering_example",
    ),
    Claim(
        label="covering-number",
        kind="definition",
        statement="N_inf(F; eps; z_1..z_m): the size of the smallest C inside F such that every f in F has "
        "a member of C within eps of it at all m points at once; N_inf(F, eps, m) is the supremum over "
        "samples.",
        where="paper definition in section 3; notes definition 2.1",
        code=(
            "sparsehead.covering.function_classes:class_covering_number",
            "sparsehead.covering.function_classes:evaluate",
        ),
        tests=(
            "tests/claims/test_covering.py::test_covering_number_of_all_sign_functions_is_2_to_the_m",
            "tests/claims/test_covering.py::test_covering_number_of_a_subsample_is_compared_by_packing",
        ),
        check=f"{CHECKS}.covering:check_covering_number",
    ),
    Claim(
        label="parameterized-covering-number",
        kind="definition",
        statement="For F = {f(.; theta)} a cover may be given by its parameters: a subset of Theta whose "
        "functions cover F at the m points. Two parameters with the same values on the sample count once.",
        where="notes definition 2.2",
        code=("sparsehead.covering.function_classes:evaluate_parameters",),
        tests=(
            "tests/claims/test_covering.py::test_parameterized_covering_number_counts_parameters_by_their_functions",
        ),
        check=f"{CHECKS}.covering:check_parameterized_covering_number",
    ),
    Claim(
        label="attention-head",
        kind="definition",
        statement="y = phi_out( sum_t Norm(Score(x_1, z), .., Score(x_T, z))_t phi_in(x_t) ), with Norm: "
        "R^T -> simplex; Score, Norm, phi_in and phi_out are whatever the caller gives.",
        where="paper definition 3.1; notes definition 2.4",
        code=("sparsehead.heads:attention_head",),
        tests=(
            "tests/test_heads.py::test_the_general_head_specialises_to_every_other_form",
            "tests/test_heads.py::test_norm_is_pluggable",
        ),
        check=f"{CHECKS}.definitions:check_attention_head",
    ),
    Claim(
        label="self-attention",
        kind="definition",
        statement="The head with a token of the sequence as its context: z = x_tau, one output per tau.",
        where="notes equation (1)",
        code=("sparsehead.heads:attention_head", "sparsehead.heads:tf_layer"),
        tests=("tests/test_heads.py::test_the_general_head_specialises_to_every_other_form",),
        check=f"{CHECKS}.definitions:check_self_attention",
    ),
    Claim(
        label="tf-layer",
        kind="definition",
        statement="Y = sigma( RowSoftmax( X W_Q (X W_K)^T ) X W_V ) W_C: the head with Score(x, z) = z^T "
        "W_Q W_K^T x, linear phi_in, phi_out = W_C^T sigma(.), sigma Lipschitz with sigma(0) = 0, and "
        "softmax, at every position.",
        where="paper definition 3.2; notes definition 2.5",
        code=("sparsehead.heads:tf_layer", "sparsehead.heads:attention"),
        tests=(
            "tests/test_heads.py::test_attention_is_torchs_scaled_dot_product",
            "tests/test_heads.py::test_the_general_head_specialises_to_every_other_form",
        ),
        check=f"{CHECKS}.definitions:check_tf_layer",
    ),
    Claim(
        label="tf-scalar",
        kind="definition",
        statement="One extra token [CLS], itself attended, and the output w^T y_[CLS].",
        where="paper section 3, scalar output; notes definition 2.5, last line",
        code=("sparsehead.heads:tf_scalar",),
        tests=(
            "tests/test_heads.py::test_the_general_head_specialises_to_every_other_form",
            "tests/test_model.py::test_tf_scalar_tf_heads_and_tf_mlp_are_models",
        ),
        check=f"{CHECKS}.definitions:check_tf_scalar",
    ),
    Claim(
        label="tf-head",
        kind="definition",
        statement="f_tf-head(X, z) = sigma( W_V^T X^T softmax( X W_QK^T z ) ): the layer with k = d and W_C "
        "dropped.",
        where="paper section 4, with corollary 4.5; notes section 3.2",
        code=("sparsehead.heads:tf_head",),
        tests=("tests/test_heads.py::test_the_general_head_specialises_to_every_other_form",),
        check=f"{CHECKS}.definitions:check_tf_head",
    ),
    Claim(
        label="tf-heads",
        kind="definition",
        statement="Multi-head attention: the sum of H heads, each with its own weights.",
        where="paper appendix A (A.12); notes section 4",
        code=("sparsehead.heads:tf_heads",),
        tests=(
            "tests/test_heads.py::test_the_general_head_specialises_to_every_other_form",
            "tests/test_model.py::test_tf_scalar_tf_heads_and_tf_mlp_are_models",
        ),
        check=f"{CHECKS}.definitions:check_tf_heads",
    ),
    Claim(
        label="tf-mlp",
        kind="definition",
        statement="f_tf+mlp: a head, or s heads, read at [CLS] by a three-layer ReLU net ((y^T W_1)_+ "
        "W_2)_+ w.",
        where="paper section 5; notes section 5",
        code=("sparsehead.heads:tf_mlp", "sparsehead.heads:mlp"),
        tests=(
            "tests/test_heads.py::test_tf_mlp_reads_cls_through_two_relu_layers",
            "tests/test_model.py::test_tf_scalar_tf_heads_and_tf_mlp_are_models",
        ),
        check=f"{CHECKS}.definitions:check_tf_mlp",
    ),
    Claim(
        label="tf-deep",
        kind="definition",
        statement="Depth L: g_{i+1} = Pi( sigma( Pi( f(g_i) ) ) W_C ), with Pi the projection of each row "
        "to the unit ball, which stands in for LayerNorm.",
        where="paper section 4, with theorem 4.7",
        code=("sparsehead.heads:tf_deep", "sparsehead.heads:project_rows"),
        tests=(
            "tests/test_heads.py::test_projection_stays_in_the_unit_ball_and_moves_nothing_inside_it",
            "tests/test_model.py::test_depth_with_the_projection_is_tf_deep",
        ),
        check=f"{CHECKS}.definitions:check_tf_deep",
    ),
    Claim(
        label="attention-modules",
        kind="figure",
        statement="Three modules side by side: a head with a general context, a self-attention layer, and a "
        "layer read at [CLS]; scores in grey, normalised weights in blue.",
        where="paper figure 1; notes figure 3",
        code=("sparsehead.figures.diagram:attention_module_diagram",),
        tests=(
            "tests/figures/test_diagrams.py::test_weights_are_blue_and_as_thick_as_they_are_large",
            "tests/figures/test_diagrams.py::test_scores_are_grey_and_one_per_pair",
        ),
    ),
    Claim(
        label="model",
        kind="ours",
        statement="Any of the modules above with its encoding and read-out is one frozen Model, evaluated "
        "on all 2T + 1 distinct tokens instead of m sequences; the numbers are those of the definitions.",
        where="not in the paper",
        code=("sparsehead.model:Model",),
        tests=("tests/test_model.py::test_outputs_and_attention_equal_the_definitions_on_every_input",),
        check=f"{CHECKS}.definitions:check_model",
    ),
    Claim(
        label="practical-block",
        kind="definition",
        statement="What the experiments train: pre-LayerNorm, biases, scores over sqrt(k), GELU MLP of "
        "width 4d, residuals and a final LayerNorm (the minGPT block, to which the paper points).",
        where="paper, setup of the experiments",
        code=("sparsehead.block:block", "sparsehead.block:Layer"),
        tests=("tests/test_heads.py::test_the_practical_block_is_torchs_pre_ln_encoder_layer",),
    ),
    Claim(
        label="sparse-function",
        kind="definition",
        statement="f: {0,1}^T -> Y is s-sparse if it depends only on the bits in a set I of s positions.",
        where="paper section 5; notes definition 5.1",
        code=(
            "sparsehead.functions:SparseFunction",
            "sparsehead.functions:is_sparse",
        ),
        tests=("tests/claims/test_sparse_functions.py::test_sparse_function_depends_on_s_positions",),
        check=f"{CHECKS}.definitions:check_sparse_function",
    ),
    Claim(
        label="symmetric",
        kind="definition",
        statement="An s-sparse f is symmetric if its value depends only on how many bits of I are 1; "
        "monotone if in addition it never falls when a bit rises.",
        where="paper section 5; notes definition 5.2",
        code=(
            "sparsehead.functions:is_symmetric",
            "sparsehead.functions:is_monotone",
        ),
        tests=("tests/claims/test_sparse_functions.py::test_symmetric_function_depends_on_the_count_alone",),
        check=f"{CHECKS}.definitions:check_symmetric",
    ),
    Claim(
        label="bounded-function",
        kind="definition",
        statement="f is B-bounded if ||f(b)||_inf <= B for every b.",
        where="paper section 5; notes definition 5.3",
        code=("sparsehead.functions:sup_norm",),
        tests=(
            "tests/claims/test_sparse_functions.py::test_bounded_function_has_the_largest_absolute_value_as_norm",
        ),
        check=f"{CHECKS}.definitions:check_bounded_function",
    ),
    Claim(
        label="uniform-approximation",
        kind="definition",
        statement="f^ approximates f eps-uniformly under b -> X(b) if ||f^(X(b)) - f(b)||_inf <= eps for "
        "every one of the 2^T inputs.",
        where="paper section 5; notes definition 5.4",
        code=("sparsehead.functions:uniform_distance",),
        tests=(
            "tests/claims/test_sparse_functions.py::test_uniform_distance_is_the_supremum_over_all_inputs",
        ),
        check=f"{CHECKS}.definitions:check_uniform_approximation",
    ),
    Claim(
        label="encodings",
        kind="definition",
        statement="b -> X(b): (a) deterministic positions, X = E_b + P; (b) the same with P trainable; (c) "
        "bag of vectors, X = diag(b) V. Rows are approximately orthonormal (all |<v_i, v_j>| <= Delta); "
        "E_0, E_1 and [CLS] are exactly orthogonal to everything.",
        where="paper section 5; notes section 5",
        code=(
            "sparsehead.encoding:positional",
            "sparsehead.encoding:random_positions",
            "sparsehead.encoding:trainable",
            "sparsehead.encoding:bag",
            "sparsehead.encoding:random_bag",
        ),
        tests=(
            "tests/test_encoding.py::test_tokens_are_as_the_paper_writes_them",
            "tests/test_encoding.py::test_coherence_is_the_largest_product_of_two_rows",
        ),
        check=f"{CHECKS}.definitions:check_encodings",
    ),
    Claim(
        label="bag-symmetry",
        kind="remark",
        statement="A scalar Transformer on a bag of vectors does not see the order of its tokens: permuting "
        "the rows of diag(b) V changes nothing.",
        where="paper section 5; notes section 5",
        code=("sparsehead.heads:tf_scalar", "sparsehead.encoding:bag"),
        tests=("tests/claims/test_registry.py::test_a_theory_claim_checks_out",),
        check=f"{CHECKS}.definitions:check_bag_symmetry",
    ),
    Claim(
        label="sparse-reading",
        kind="figure",
        statement="A head that reads s of T tokens and ignores the others.",
        where="notes figure 4",
        code=("sparsehead.figures.diagram:head_reads_chart",),
        tests=("tests/figures/test_diagrams.py::test_the_head_that_reads_s_of_T_says_where_it_looks",),
    ),
)
