(** Softmax is 1-Lipschitz from the largest difference of scores to the sum of differences of weights, and what follows
    for a head. (Theory 4.1 and 4.2; the paper has 2 in the place of 1.) *)

From Coq Require Import Reals List Lra Lia.
From Sparsehead Require Import Head Series.
Import ListNotations.
Local Open Scope R_scope.

(** ** Sums *)

Definition l1 (u v : vector R) : R := sum (map2 (fun x y => Rabs (x - y)) u v).

(** No entry of u differs from that of v by more than h. *)
Definition within (h : R) (u v : vector R) : Prop := Forall2 (fun x y => Rabs (x - y) <= h) u v.

Lemma sum_exp_pos (s : vector R) : s <> [] -> 0 < sum (map exp s).
Proof.
  destruct s as [|x s]; [congruence|]. intros _. simpl.
  assert (0 <= sum (map exp s)).
  { induction s as [|y s IH]; simpl; [lra|]. pose proof (exp_pos y). lra. }
  pose proof (exp_pos x). lra.
Qed.

Lemma exp_monotone (x y : R) : x <= y -> exp x <= exp y.
Proof. intros [lt | ->]; [left; now apply exp_increasing | lra]. Qed.

Lemma Rabs_bounds (x h : R) : Rabs x <= h -> - h <= x <= h.
Proof. intros H. pose proof (Rle_abs x). pose proof (Rle_abs (- x)) as L. rewrite Rabs_Ropp in L. lra. Qed.

(** ** The hyperbolic tangent of half of h, as (e^h - 1) / (e^h + 1) *)

Definition half_tanh (h : R) : R := (exp h - 1) / (exp h + 1).

Lemma half_tanh_nonnegative (h : R) : 0 <= h -> 0 <= half_tanh h.
Proof.
  intros h0. unfold half_tanh. pose proof (exp_ineq1_le h) as E. pose proof (exp_pos h).
  apply Rmult_le_pos; [lra|]. apply Rlt_le, Rinv_0_lt_compat. lra.
Qed.

(** tanh(h/2) <= h/2. *)
Lemma half_tanh_le (h : R) : 0 <= h -> 2 * half_tanh h <= h.
Proof.
  intros h0.
  assert (G : 0 <= h * (exp h + 1) - 2 * (exp h - 1)).
  { apply (stays_nonnegative (fun h => h * (exp h + 1) - 2 * (exp h - 1)) (fun h => 1 + (h - 1) * exp h)); [| | |exact h0].
    - intros u. replace (1 + (u - 1) * exp u) with ((1 * (exp u + 1) + u * (exp u + 0)) - 2 * (exp u - 0)) by ring.
      apply (derivable_pt_lim_minus (fun h => h * (exp h + 1)) (fun h => 2 * (exp h - 1))).
      + apply (derivable_pt_lim_mult id (fun h => exp h + 1)); [apply derivable_pt_lim_id|].
        apply (derivable_pt_lim_plus exp (fun _ => 1)); [apply derivable_pt_lim_exp | apply derivable_pt_lim_const].
      + apply (derivable_pt_lim_scal (fun h => exp h - 1)).
        apply (derivable_pt_lim_minus exp (fun _ => 1)); [apply derivable_pt_lim_exp | apply derivable_pt_lim_const].
    - rewrite exp_0. ring.
    - intros u u0. pose proof (exp_ineq1_le (- u)) as E. pose proof (exp_pos u) as p.
      assert (inverse : exp (- u) * exp u = 1) by (rewrite <- exp_plus, Rplus_opp_l; apply exp_0). nra. }
  pose proof (exp_pos h). unfold half_tanh. apply Rmult_le_reg_r with (exp h + 1); [lra|].
  replace (2 * ((exp h - 1) / (exp h + 1)) * (exp h + 1)) with (2 * (exp h - 1)) by (field; lra). lra.
Qed.

(** ** Two distributions whose ratios lie between l and u *)

Lemma chord (l u p q : R) :
  l * q <= p <= u * q -> 0 <= q -> l <= 1 <= u -> (u - l) * Rabs (p - q) <= (u * q - p) * (1 - l) + (p - l * q) * (u - 1).
Proof. intros P q0 LU. unfold Rabs. destruct (Rcase_abs (p - q)); nra. Qed.

Lemma l1_of_ratios (l u : R) (ps qs : vector R) :
  Forall2 (fun p q => l * q <= p <= u * q /\ 0 <= q) ps qs -> sum ps = 1 -> sum qs = 1 ->
  l <= 1 <= u /\ (u - l) * l1 ps qs <= 2 * ((1 - l) * (u - 1)).
Proof.
  intros F P Q.
  assert (LU : l * sum qs <= sum ps <= u * sum qs).
  { clear P Q. induction F as [|p q ps qs [PQ _] F IH]; simpl; lra. }
  rewrite P, Q in LU. split; [lra|].
  assert (S : (u - l) * l1 ps qs <= (u * sum qs - sum ps) * (1 - l) + (sum ps - l * sum qs) * (u - 1)).
  { clear P Q. unfold l1. induction F as [|p q ps qs [PQ q0] F IH]; simpl; [lra|].
    pose proof (chord l u p q PQ q0 ltac:(lra)). lra. }
  rewrite P, Q in S. lra.
Qed.

Lemma sum_scaled (c : R) (u : vector R) : sum (map (fun x => x / c) u) = sum u / c.
Proof. induction u as [|x u IH]; simpl; [unfold Rdiv; ring|]. rewrite IH. unfold Rdiv. ring. Qed.

Lemma softmax_sum (s : vector R) : s <> [] -> sum (softmax s) = 1.
Proof.
  intros N. pose proof (sum_exp_pos s N). unfold softmax.
  rewrite <- (map_map exp (fun x => x / sum (map exp s))), sum_scaled. field. lra.
Qed.

(** If no score moves by more than h, the weights move by at most 2 tanh(h/2) in sum, where tanh(h/2) is
    (e^h - 1) / (e^h + 1). Paper: softmax-lipschitz *)
Theorem softmax_moves (h : R) (a b : vector R) :
  0 <= h -> a <> [] -> within h a b -> l1 (softmax a) (softmax b) <= 2 * half_tanh h.
Proof.
  intros h0 N W. assert (N' : b <> []) by (intros ->; inversion W; subst; congruence).
  pose proof (sum_exp_pos a N) as A. pose proof (sum_exp_pos b N') as B.
  set (E := exp h). assert (E1 : 1 <= E) by (unfold E; pose proof (exp_ineq1_le h); lra).
  set (c := sum (map exp b) / sum (map exp a)).
  assert (c0 : 0 < c) by (apply Rmult_lt_0_compat; [exact B | now apply Rinv_0_lt_compat]).
  assert (F : Forall2 (fun p q => c / E * q <= p <= c * E * q /\ 0 <= q) (softmax a) (softmax b)).
  { unfold softmax, c. revert A B. generalize (sum (map exp a)) as SA. generalize (sum (map exp b)) as SB. intros SB SA A B.
    clear c c0 N N'. induction W as [|x y a b w W IH]; simpl; constructor; [|exact IH].
    assert (ratio : exp x <= E * exp y /\ exp y <= E * exp x).
    { unfold E. rewrite <- !exp_plus. pose proof (Rabs_bounds _ _ w). split; apply exp_monotone; lra. }
    pose proof (exp_pos x). pose proof (exp_pos y).
    assert (ia : 0 < / SA) by now apply Rinv_0_lt_compat. assert (ib : 0 < / SB) by now apply Rinv_0_lt_compat.
    replace (SB / SA / E * (exp y / SB)) with (exp y / E * / SA) by (field; lra).
    replace (SB / SA * E * (exp y / SB)) with (E * exp y * / SA) by (field; lra).
    repeat split; unfold Rdiv; try (apply Rmult_le_compat_r; [lra|]); [| lra | apply Rmult_le_pos; lra].
    apply Rmult_le_reg_r with E; [lra|]. replace (exp y * / E * E) with (exp y) by (field; lra). lra. }
  destruct (l1_of_ratios (c / E) (c * E) _ _ F (softmax_sum a N) (softmax_sum b N')) as [LU S].
  assert (key : 2 * ((1 - c / E) * (c * E - 1)) <= 2 * half_tanh h * (c * E - c / E)).
  { unfold half_tanh. fold E.
    replace (2 * ((E - 1) / (E + 1)) * (c * E - c / E)) with (2 * (c * E + c / E - 2 * c)) by (field; lra).
    replace ((1 - c / E) * (c * E - 1)) with (c * E + c / E - 1 - c * c) by (field; lra).
    pose proof (Rle_0_sqr (c - 1)) as sq. unfold Rsqr in sq. lra. }
  assert (gap : c * E - c / E = c / E * (E * E - 1)) by (field; lra).
  assert (cE : 0 < c / E) by (apply Rmult_lt_0_compat; [exact c0 | apply Rinv_0_lt_compat; lra]).
  destruct (Rle_lt_or_eq_dec 1 E E1) as [lt | eq].
  - apply Rmult_le_reg_l with (c * E - c / E); [rewrite gap; apply Rmult_lt_0_compat; nra|]. lra.
  - assert (C : c = 1) by (rewrite <- eq in LU; unfold Rdiv in LU; rewrite Rinv_1 in LU; lra).
    pose proof (half_tanh_nonnegative h h0).
    assert (Z : l1 (softmax a) (softmax b) = 0); [|lra].
    clear - F C eq. rewrite C, <- eq in F. unfold l1. induction F as [|p q ps qs [PQ _] F IH]; simpl; [reflexivity|].
    rewrite IH. unfold Rdiv in PQ. rewrite Rinv_1 in PQ. rewrite Rabs_right by lra. lra.
Qed.

(** Softmax is 1-Lipschitz from l_inf to l_1: half of the paper's constant. Paper: softmax-lipschitz *)
Theorem softmax_lipschitz (h : R) (a b : vector R) :
  0 <= h -> a <> [] -> within h a b -> l1 (softmax a) (softmax b) <= h.
Proof.
  intros h0 N W. pose proof (softmax_moves h a b h0 N W). pose proof (half_tanh_le h h0). lra.
Qed.

(** The bound 2 tanh(h/2) is attained, by two coordinates. Paper: softmax-lipschitz *)
Theorem softmax_moves_that_far (h : R) : 0 <= h -> within h [h; 0] [0; h] /\ l1 (softmax [h; 0]) (softmax [0; h]) = 2 * half_tanh h.
Proof.
  intros h0. split.
  - repeat constructor; [rewrite Rabs_right by lra; lra | rewrite Rabs_left1 by lra; lra].
  - unfold l1, softmax, half_tanh. simpl. rewrite exp_0. pose proof (exp_ineq1_le h) as E. set (e := exp h) in *.
    replace (e / (e + (1 + 0)) - 1 / (1 + (e + 0))) with ((e - 1) / (e + 1)) by (field; lra).
    replace (1 / (e + (1 + 0)) - e / (1 + (e + 0))) with (- ((e - 1) / (e + 1))) by (field; lra).
    rewrite Rabs_Ropp, Rabs_right; [ring|]. apply Rle_ge, Rmult_le_pos; [lra|]. apply Rlt_le, Rinv_0_lt_compat. lra.
Qed.

(** ** A head: the mean of vectors with softmax weights, in any normed space *)

Record normed_space := NormedSpace {
  point :> Type;
  zero : point;
  plus : point -> point -> point;
  scale : R -> point -> point;
  norm : point -> R;
  plus_comm : forall x y, plus x y = plus y x;
  plus_assoc : forall x y z, plus x (plus y z) = plus (plus x y) z;
  plus_zero : forall x, plus zero x = x;
  scale_zero : forall x, scale 0 x = zero;
  scale_one : forall x, scale 1 x = x;
  scale_plus : forall a x y, scale a (plus x y) = plus (scale a x) (scale a y);
  plus_scale : forall a b x, scale (a + b) x = plus (scale a x) (scale b x);
  scale_scale : forall a b x, scale a (scale b x) = scale (a * b) x;
  norm_plus : forall x y, norm (plus x y) <= norm x + norm y;
  norm_scale : forall a x, norm (scale a x) = Rabs a * norm x;
}.

Arguments zero {_}. Arguments plus {_}. Arguments scale {_}. Arguments norm {_}.

Section Mixes.
  Context {V : normed_space}.

  Definition minus (x y : V) : V := plus x (scale (-1) y).

  (** sum_t a_t x_t *)
  Fixpoint mix (a : vector R) (xs : list V) : V :=
    match a, xs with
    | w :: a', x :: xs' => plus (scale w x) (mix a' xs')
    | _, _ => zero
    end.

  Lemma norm_zero : norm (@zero V) = 0.
  Proof. rewrite <- (scale_zero V zero), norm_scale, Rabs_R0. ring. Qed.

  Lemma scaled_zero (a : R) : scale a (@zero V) = zero.
  Proof. rewrite <- (scale_zero V zero), scale_scale, Rmult_0_r, !scale_zero. reflexivity. Qed.

  Lemma plus_swap (a b c d : V) : plus (plus a b) (plus c d) = plus (plus a c) (plus b d).
  Proof. rewrite <- !plus_assoc. f_equal. rewrite !plus_assoc. f_equal. apply plus_comm. Qed.

  Lemma minus_plus (a b c d : V) : minus (plus a b) (plus c d) = plus (minus a c) (minus b d).
  Proof. unfold minus. rewrite scale_plus. apply plus_swap. Qed.

  (** a x - c y = (a - c) x + c (x - y) *)
  Lemma minus_scaled (a c : R) (x y : V) : minus (scale a x) (scale c y) = plus (scale (a - c) x) (scale c (minus x y)).
  Proof.
    unfold minus. rewrite scale_plus, !scale_scale, plus_assoc, <- plus_scale. f_equal; f_equal; ring.
  Qed.

  Lemma mixes_apart (B D : R) (a c : vector R) :
    Forall2 (fun _ w => 0 <= w) a c ->
    forall xs ys : list V, Forall2 (fun x y => norm x <= B /\ norm (minus x y) <= D) xs ys -> length a = length xs ->
    norm (minus (mix a xs) (mix c ys)) <= B * l1 a c + D * sum c.
  Proof.
    intros F. induction F as [|v w a c w0 F IH]; intros xs ys X L; unfold l1 in *.
    - simpl. unfold minus. rewrite scaled_zero, plus_zero, norm_zero. lra.
    - destruct X as [|x y xs ys [nx nd] X]; [discriminate|]. simpl. rewrite minus_plus, minus_scaled.
      eapply Rle_trans; [apply norm_plus|]. specialize (IH xs ys X ltac:(simpl in L; lia)).
      pose proof (norm_plus V (scale (v - w) x) (scale w (minus x y))) as N. rewrite !norm_scale, (Rabs_right w) in N by lra.
      pose proof (Rabs_pos (v - w)). assert (Rabs (v - w) * norm x <= Rabs (v - w) * B) by (apply Rmult_le_compat_l; lra).
      assert (w * norm (minus x y) <= w * D) by (apply Rmult_le_compat_l; lra). lra.
  Qed.
End Mixes.

Lemma softmax_nonnegative (s : vector R) : s <> [] -> forall a : vector R, length a = length s -> Forall2 (fun _ w => 0 <= w) a (softmax s).
Proof.
  intros N. pose proof (sum_exp_pos s N) as p. unfold softmax. revert p. generalize (sum (map exp s)) as c. intros c p.
  clear N. induction s as [|x s IH]; intros [|y a] L; simpl in *; try discriminate; constructor.
  - apply Rlt_le, Rmult_lt_0_compat; [apply exp_pos | now apply Rinv_0_lt_compat].
  - apply IH. lia.
Qed.

(** If scores move by at most h and the values, of length at most B, by at most D, what a head mixes moves by at most
    2 B tanh(h/2) + D, in any norm; and L times as far behind an L-Lipschitz map. Paper: head-lipschitz *)
Theorem head_lipschitz {V W : normed_space} (out : V -> W) (L h B D : R) (s s' : vector R) (xs ys : list V) :
  0 <= h -> 0 <= B -> 0 <= L -> s <> [] -> within h s s' -> length s = length xs ->
  Forall2 (fun x y => norm x <= B /\ norm (minus x y) <= D) xs ys ->
  (forall x y, norm (minus (out x) (out y)) <= L * norm (minus x y)) ->
  norm (minus (out (mix (softmax s) xs)) (out (mix (softmax s') ys))) <= L * (2 * B * half_tanh h + D).
Proof.
  intros h0 B0 L0 N Ws Len X Lip. eapply Rle_trans; [apply Lip|]. apply Rmult_le_compat_l; [exact L0|].
  assert (N' : s' <> []) by (intros ->; inversion Ws; subst; congruence).
  assert (Ls : length s = length s') by (clear - Ws; induction Ws; simpl; congruence).
  eapply Rle_trans.
  - apply (mixes_apart B D); [|exact X |].
    + apply softmax_nonnegative; [exact N'|]. unfold softmax. now rewrite map_length.
    + unfold softmax. now rewrite map_length.
  - rewrite (softmax_sum s' N'). pose proof (softmax_moves h s s' h0 N Ws). nra.
Qed.
