(** exp(-u) for u >= 0, enclosed by integers in units of 2^-P: the nested product of [Series], factor by factor. *)

From Coq Require Import Reals ZArith Lra Lia Psatz.
From Sparsehead Require Import Series.
Local Open Scope R_scope.

(** ** Enclosures by integers *)

Local Open Scope Z_scope.

(** Quotients rounded down and up. *)
Definition div_down (a b : Z) : Z := a / b.
Definition div_up (a b : Z) : Z := - (- a / b).
Definition shift_down (a P : Z) : Z := Z.shiftr a P.
Definition shift_up (a P : Z) : Z := - Z.shiftr (- a) P.

Local Open Scope R_scope.

Lemma div_down_le (a b : Z) : (0 < b)%Z -> IZR (div_down a b) * IZR b <= IZR a.
Proof.
  intros b0. rewrite <- mult_IZR. apply IZR_le. unfold div_down. rewrite Z.mul_comm. apply Z.mul_div_le, b0.
Qed.

Lemma div_up_ge (a b : Z) : (0 < b)%Z -> IZR a <= IZR (div_up a b) * IZR b.
Proof.
  intros b0. rewrite <- mult_IZR. apply IZR_le. unfold div_up. pose proof (Z.mul_div_le (- a) b b0). nia.
Qed.

Lemma pow2_pos (P : Z) : (0 <= P)%Z -> (0 < 2 ^ P)%Z.
Proof. intros. now apply Z.pow_pos_nonneg. Qed.

Lemma shift_down_le (a P : Z) : (0 <= P)%Z -> IZR (shift_down a P) * IZR (2 ^ P) <= IZR a.
Proof.
  intros P0. unfold shift_down. rewrite Z.shiftr_div_pow2 by exact P0. apply div_down_le, pow2_pos, P0.
Qed.

Lemma shift_up_ge (a P : Z) : (0 <= P)%Z -> IZR a <= IZR (shift_up a P) * IZR (2 ^ P).
Proof.
  intros P0. unfold shift_up. rewrite Z.shiftr_div_pow2 by exact P0. apply div_up_ge, pow2_pos, P0.
Qed.

(** [inside P e x]: x lies between the two integers of e, in units of 2^-P. *)
Definition inside (P : Z) (e : Z * Z) (x : R) : Prop := IZR (fst e) <= x * IZR (2 ^ P) <= IZR (snd e).

(** One factor of the nested form, and all of them. *)
Definition nested_step (P : Z) (z h : Z * Z) (k : Z) : Z * Z :=
  let one := (2 ^ P)%Z in
  (Z.max 0 (one - div_up (shift_up (snd z * snd h) P) k), one - div_down (shift_down (fst z * fst h) P) k)%Z.

Fixpoint nested_bounds (P : Z) (z : Z * Z) (n : nat) (k : Z) : Z * Z :=
  match n with
  | O => (0, 2 ^ P)%Z
  | S n' => nested_step P z (nested_bounds P z n' (k + 1)%Z) k
  end.

Lemma nested_unit (u r : R) (n : nat) : 0 <= u <= 1 -> 0 <= r <= 1 -> forall k, (0 < k)%nat -> 0 <= nested u r n k <= 1.
Proof.
  intros U Hr. induction n as [|n IH]; intros k k0; [exact Hr|]. simpl.
  specialize (IH (S k) ltac:(lia)).
  assert (1 <= INR k) by (change 1 with (INR 1); apply le_INR; lia).
  assert (0 < / INR k <= 1).
  { split; [apply Rinv_0_lt_compat; lra|]. rewrite <- Rinv_1. apply Rinv_le_contravar; lra. }
  unfold Rdiv. assert (0 <= u * / INR k <= 1) by nra. nra.
Qed.

Lemma nested_step_sound (P : Z) (z h : Z * Z) (k : Z) (u y : R) :
  (0 <= P)%Z -> (0 < k)%Z -> (0 <= fst z)%Z -> (0 <= fst h)%Z -> 0 <= u -> 0 <= y ->
  0 <= 1 - u / IZR k * y -> inside P z u -> inside P h y -> inside P (nested_step P z h k) (1 - u / IZR k * y).
Proof.
  intros P0 k0 z0 h0 u0 y0 pos [zl zh] [hl hh]. unfold nested_step, inside. cbn [fst snd].
  set (one := (2 ^ P)%Z) in *. assert (o : 0 < IZR one) by (apply IZR_lt, pow2_pos, P0).
  apply IZR_lt in k0 as kr. apply IZR_le in z0 as zr. apply IZR_le in h0 as hr.
  set (q := u / IZR k * y) in *. assert (E : q * IZR k = u * y) by (unfold q; field; lra).
  assert (prod_h : u * y * IZR one * IZR one <= IZR (snd z * snd h)).
  { rewrite mult_IZR. replace (u * y * IZR one * IZR one) with ((u * IZR one) * (y * IZR one)) by ring.
    apply Rmult_le_compat; try lra; apply Rmult_le_pos; lra. }
  assert (prod_l : IZR (fst z * fst h) <= u * y * IZR one * IZR one).
  { rewrite mult_IZR. replace (u * y * IZR one * IZR one) with ((u * IZR one) * (y * IZR one)) by ring.
    apply Rmult_le_compat; lra. }
  pose proof (shift_up_ge (snd z * snd h) P P0) as su. pose proof (shift_down_le (fst z * fst h) P P0) as sd.
  fold one in su, sd.
  pose proof (div_up_ge (shift_up (snd z * snd h) P) k k0) as du.
  pose proof (div_down_le (shift_down (fst z * fst h) P) k k0) as dd.
  assert (up : q * IZR one <= IZR (div_up (shift_up (snd z * snd h) P) k)).
  { apply Rmult_le_reg_r with (IZR k); [exact kr|].
    replace (q * IZR one * IZR k) with (u * y * IZR one) by (rewrite <- E; ring).
    apply Rle_trans with (IZR (shift_up (snd z * snd h) P)); [|exact du].
    apply Rmult_le_reg_r with (IZR one); [exact o|]. lra. }
  assert (down : IZR (div_down (shift_down (fst z * fst h) P) k) <= q * IZR one).
  { apply Rmult_le_reg_r with (IZR k); [exact kr|].
    replace (q * IZR one * IZR k) with (u * y * IZR one) by (rewrite <- E; ring).
    apply Rle_trans with (IZR (shift_down (fst z * fst h) P)); [exact dd|].
    apply Rmult_le_reg_r with (IZR one); [exact o|]. lra. }
  split.
  - destruct (Z.max_spec 0 (one - div_up (shift_up (snd z * snd h) P) k)) as [[_ ->] | [_ ->]];
      [rewrite minus_IZR; lra|]. apply Rmult_le_pos; lra.
  - rewrite minus_IZR. lra.
Qed.

Lemma nested_bounds_nonnegative (P : Z) (z : Z * Z) (n : nat) (k : Z) : (0 <= fst (nested_bounds P z n k))%Z.
Proof. destruct n; [apply Z.le_refl | apply Z.le_max_l]. Qed.

Lemma nested_bounds_sound (P : Z) (z : Z * Z) (u r : R) (n : nat) :
  (0 <= P)%Z -> (0 <= fst z)%Z -> 0 <= u <= 1 -> 0 <= r <= 1 -> inside P z u ->
  forall k, (0 < k)%nat -> inside P (nested_bounds P z n (Z.of_nat k)) (nested u r n k).
Proof.
  intros P0 z0 U Hr I. induction n as [|n IH]; intros k k0.
  - unfold inside. simpl. assert (0 < IZR (2 ^ P)) by (apply IZR_lt, pow2_pos, P0). nra.
  - simpl nested_bounds. simpl nested. rewrite INR_IZR_INZ.
    replace (Z.of_nat k + 1)%Z with (Z.of_nat (S k)) by lia.
    pose proof (nested_unit u r (S n) U Hr k k0) as whole. simpl in whole. rewrite INR_IZR_INZ in whole.
    apply nested_step_sound; auto; try lia; try lra.
    + apply nested_bounds_nonnegative.
    + apply nested_unit; auto; lia.
Qed.

(** Squared n times. *)
Fixpoint squared (P : Z) (e : Z * Z) (n : nat) : Z * Z :=
  match n with
  | O => e
  | S n' => let e' := squared P e n' in (shift_down (fst e' * fst e') P, shift_up (snd e' * snd e') P)
  end.

Lemma squared_nonnegative (P : Z) (e : Z * Z) (n : nat) : (0 <= fst e)%Z -> (0 <= fst (squared P e n))%Z.
Proof.
  destruct n; [auto|]. intros _. simpl. unfold shift_down. apply Z.shiftr_nonneg. nia.
Qed.

Lemma squared_sound (P : Z) (e : Z * Z) (x : R) (n : nat) :
  (0 <= P)%Z -> (0 <= fst e)%Z -> 0 <= x -> inside P e x -> inside P (squared P e n) (x ^ (2 ^ n)).
Proof.
  intros P0 e0 x0 I. induction n as [|n IH]; [simpl; now rewrite Rmult_1_r|].
  replace (x ^ (2 ^ S n)) with (x ^ (2 ^ n) * x ^ (2 ^ n)) by (rewrite <- pow_add; f_equal; simpl; lia).
  simpl squared. set (e' := squared P e n) in *. set (y := x ^ (2 ^ n)) in *.
  assert (y0 : 0 <= y) by (apply pow_le, x0).
  assert (e1 : 0 <= IZR (fst e')) by (apply IZR_le, squared_nonnegative, e0).
  destruct IH as [yl yh]. unfold inside. cbn [fst snd].
  assert (o : 0 < IZR (2 ^ P)) by (apply IZR_lt, pow2_pos, P0).
  pose proof (shift_down_le (fst e' * fst e') P P0) as sd. pose proof (shift_up_ge (snd e' * snd e') P P0) as su.
  rewrite mult_IZR in sd, su. set (one := IZR (2 ^ P)) in *.
  assert (IZR (fst e') * IZR (fst e') <= (y * one) * (y * one)) by (apply Rmult_le_compat; lra).
  assert ((y * one) * (y * one) <= IZR (snd e') * IZR (snd e'))
    by (apply Rmult_le_compat; try lra; apply Rmult_le_pos; lra).
  split; apply Rmult_le_reg_r with one; lra.
Qed.

(** exp(-a/b) for integers a >= 0 and b > 0: the argument is divided by 2^n to at most 2^-8, n terms are added. *)
Definition terms : nat := 32.

Definition exp_bounds (P a b : Z) : Z * Z :=
  let n := Z.to_nat (Z.log2 (a / b + 1) + 9) in
  let c := (b * 2 ^ Z.of_nat n)%Z in
  let z := div_down (Z.shiftl a P) c in
  if (n <=? 64)%nat then squared P (nested_bounds P (z, z + 1)%Z terms 1) n else (0, 2 ^ P)%Z.

Lemma exp_multiple (u : R) (n : nat) : exp (u * INR n) = exp u ^ n.
Proof.
  induction n as [|n IH]; [simpl; now rewrite Rmult_0_r, exp_0|].
  rewrite S_INR, Rmult_plus_distr_l, Rmult_1_r, exp_plus, IH. simpl. ring.
Qed.

(** The two integers enclose exp(-a/b), in units of 2^-P. *)
Theorem exp_bounds_sound (P a b : Z) :
  (0 <= P)%Z -> (0 <= a)%Z -> (0 < b)%Z -> inside P (exp_bounds P a b) (exp (- (IZR a / IZR b))).
Proof.
  intros P0 a0 b0. unfold exp_bounds.
  set (n := Z.to_nat (Z.log2 (a / b + 1) + 9)).
  assert (o : 0 < IZR (2 ^ P)) by (apply IZR_lt, pow2_pos, P0).
  apply IZR_lt in b0 as br. apply IZR_le in a0 as ar.
  assert (x0 : 0 <= IZR a / IZR b) by (apply Rmult_le_pos; [lra | apply Rlt_le, Rinv_0_lt_compat, br]).
  destruct (Nat.leb_spec n 64) as [_ | _].
  2:{ unfold inside. simpl. pose proof (exp_pos (- (IZR a / IZR b))).
      assert (exp (- (IZR a / IZR b)) <= 1).
      { rewrite <- exp_0. destruct x0 as [L | <-]; [|rewrite Ropp_0; lra]. left. apply exp_increasing. lra. }
      nra. }
  set (c := (b * 2 ^ Z.of_nat n)%Z).
  assert (c0 : (0 < c)%Z) by (apply Z.mul_pos_pos; [exact b0 | apply pow2_pos; lia]).
  apply IZR_lt in c0 as cr.
  set (u := IZR a / IZR c).
  assert (Epow : IZR (2 ^ Z.of_nat n) = INR (2 ^ n)).
  { rewrite pow_INR. simpl (INR 2). replace (1 + 1) with 2 by ring. now rewrite pow_IZR. }
  assert (Eu : IZR a / IZR b = u * INR (2 ^ n)).
  { unfold u, c. rewrite mult_IZR, Epow. field. split; [|lra]. apply not_0_INR. apply Nat.pow_nonzero. lia. }
  rewrite Eu, Ropp_mult_distr_l, exp_multiple.
  assert (u0 : 0 <= u) by (apply Rmult_le_pos; [lra | apply Rlt_le, Rinv_0_lt_compat, cr]).
  assert (u1 : u <= 1).
  { unfold u. apply Rmult_le_reg_r with (IZR c); [exact cr|]. unfold Rdiv.
    rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_1_l by lra. apply IZR_le. unfold c.
    pose proof (Z.div_mod a b ltac:(lia)) as D. pose proof (Z.mod_pos_bound a b b0).
    assert (0 <= a / b)%Z by (apply Z.div_pos; lia).
    assert (a / b + 1 <= 2 ^ Z.of_nat n)%Z.
    { unfold n. rewrite Z2Nat.id by (pose proof (Z.log2_nonneg (a / b + 1)); lia).
      pose proof (Z.log2_spec (a / b + 1) ltac:(lia)) as [_ L].
      apply Z.lt_le_incl. eapply Z.lt_le_trans; [exact L|]. apply Z.pow_le_mono_r; lia. }
    nia. }
  set (z := div_down (Z.shiftl a P) c).
  assert (z0 : (0 <= z)%Z).
  { apply Z.div_pos; [apply Z.shiftl_nonneg; exact a0 | exact c0]. }
  assert (I : inside P (z, z + 1)%Z u).
  { assert (E : u * IZR (2 ^ P) * IZR c = IZR (Z.shiftl a P)).
    { rewrite Z.shiftl_mul_pow2, mult_IZR by exact P0. unfold u. field. lra. }
    pose proof (div_down_le (Z.shiftl a P) c c0) as lo. fold z in lo.
    assert (hi : (Z.shiftl a P < (z + 1) * c)%Z).
    { unfold z, div_down. pose proof (Z.div_mod (Z.shiftl a P) c ltac:(lia)).
      pose proof (Z.mod_pos_bound (Z.shiftl a P) c c0). nia. }
    apply IZR_lt in hi. rewrite mult_IZR in hi. unfold inside. cbn [fst snd].
    split; apply Rmult_le_reg_r with (IZR c); lra. }
  destruct (exp_is_nested u terms u0) as (r & Hr & ->).
  apply squared_sound; [exact P0 | apply nested_bounds_nonnegative | apply nested_unit; auto; lra |].
  apply (nested_bounds_sound P (z, z + 1)%Z u r terms P0 z0 (conj u0 u1) Hr I 1). lia.
Qed.
