(** Rational arithmetic that is quick for denominators that are powers of two, and how it relates to the reals. *)

From Coq Require Import Reals QArith Qreals ZArith List Lra Lia.
From Sparsehead Require Import Head Exponential.
Import ListNotations.
Local Open Scope Z_scope.

Definition is_zero (x : Q) : bool := Qnum x =? 0.
Definition log_den (x : Q) : Z := Z.log2 (Zpos (Qden x)).

(** x + y with the larger denominator, if it is the smaller one times a power of two. *)
Definition add_scaled (x y : Q) : Q :=
  let k := log_den y - log_den x in
  if (0 <=? k) && (Z.shiftl (Zpos (Qden x)) k =? Zpos (Qden y))
  then Qmake (Z.shiftl (Qnum x) k + Qnum y) (Qden y)
  else Qplus x y.

Definition qadd (x y : Q) : Q :=
  if is_zero x then y else if is_zero y then x
  else if log_den x <=? log_den y then add_scaled x y else add_scaled y x.

Definition qmul (x y : Q) : Q := if is_zero x || is_zero y then 0%Q else Qmult x y.

Lemma is_zero_sound (x : Q) : is_zero x = true -> Q2R x = 0%R.
Proof. unfold is_zero, Q2R. intros E. apply Z.eqb_eq in E. rewrite E. apply Rmult_0_l. Qed.

Lemma add_scaled_sound (x y : Q) : Q2R (add_scaled x y) = (Q2R x + Q2R y)%R.
Proof.
  unfold add_scaled. destruct (_ && _)%bool eqn:E; [|apply Q2R_plus].
  apply andb_prop in E as [k0 E]. apply Z.leb_le in k0. apply Z.eqb_eq in E.
  rewrite <- Q2R_plus. apply Qeq_eqR. unfold Qeq, Qplus. cbn [Qnum Qden].
  rewrite Pos2Z.inj_mul. rewrite Z.shiftl_mul_pow2 in * by exact k0. rewrite <- E. ring.
Qed.

Lemma Q2R_0 : Q2R 0 = 0%R.
Proof. unfold Q2R. simpl. lra. Qed.

Lemma qadd_sound (x y : Q) : Q2R (qadd x y) = (Q2R x + Q2R y)%R.
Proof.
  unfold qadd. destruct (is_zero x) eqn:X; [rewrite (is_zero_sound x X); lra|].
  destruct (is_zero y) eqn:Y; [rewrite (is_zero_sound y Y); lra|].
  destruct (_ <=? _); rewrite add_scaled_sound; lra.
Qed.

Lemma qmul_sound (x y : Q) : Q2R (qmul x y) = (Q2R x * Q2R y)%R.
Proof.
  unfold qmul. destruct (is_zero x) eqn:X; [simpl; rewrite (is_zero_sound x X), Q2R_0; lra|].
  destruct (is_zero y) eqn:Y; [simpl; rewrite (is_zero_sound y Y), Q2R_0; lra|]. apply Q2R_mult.
Qed.

Definition qopp (x : Q) : Q := Qopp x.
Definition qsub (x y : Q) : Q := qadd x (qopp y).
Definition qle (x y : Q) : bool := Qnum (qsub y x) >=? 0.

Lemma qopp_sound (x : Q) : Q2R (qopp x) = (- Q2R x)%R.
Proof. apply Q2R_opp. Qed.

Lemma qsub_sound (x y : Q) : Q2R (qsub x y) = (Q2R x - Q2R y)%R.
Proof. unfold qsub. rewrite qadd_sound, qopp_sound. lra. Qed.

Lemma Q2R_fraction (x : Q) : Q2R x = (IZR (Qnum x) / IZR (Zpos (Qden x)))%R.
Proof. reflexivity. Qed.

Lemma den_pos (x : Q) : (0 < IZR (Zpos (Qden x)))%R.
Proof. now apply IZR_lt. Qed.

Lemma qle_sound (x y : Q) : qle x y = true -> (Q2R x <= Q2R y)%R.
Proof.
  unfold qle. rewrite Z.geb_le. intros E. apply IZR_le in E.
  assert (0 <= Q2R (qsub y x))%R.
  { rewrite Q2R_fraction. apply Rmult_le_pos; [exact E | apply Rlt_le, Rinv_0_lt_compat, den_pos]. }
  rewrite qsub_sound in H. lra.
Qed.

(** ** Rounded to multiples of 2^-P *)

Definition floor_at (P : Z) (x : Q) : Z :=
  let k := log_den x in
  if Z.shiftl 1 k =? Zpos (Qden x) then Z.shiftl (Qnum x) (P - k) else div_down (Z.shiftl (Qnum x) P) (Zpos (Qden x)).

Definition ceil_at (P : Z) (x : Q) : Z := - floor_at P (qopp x).

Lemma floor_at_le (P : Z) (x : Q) : 0 <= P -> (IZR (floor_at P x) <= Q2R x * IZR (2 ^ P))%R.
Proof.
  intros P0. assert (E : floor_at P x = div_down (Z.shiftl (Qnum x) P) (Zpos (Qden x))).
  { unfold floor_at. destruct (Z.eqb_spec (Z.shiftl 1 (log_den x)) (Zpos (Qden x))) as [E |]; [|reflexivity].
    assert (k0 : 0 <= log_den x) by apply Z.log2_nonneg. set (k := log_den x) in *.
    rewrite Z.shiftl_mul_pow2, Z.mul_1_l in E by exact k0. rewrite <- E. unfold div_down.
    rewrite (Z.shiftl_mul_pow2 _ P) by exact P0.
    assert (0 < 2 ^ k) by now apply pow2_pos.
    destruct (Z.le_ge_cases k P) as [le | ge].
    - rewrite Z.shiftl_mul_pow2 by lia. replace (2 ^ P) with (2 ^ (P - k) * 2 ^ k) by (rewrite <- Z.pow_add_r; [f_equal|..]; lia).
      rewrite Z.mul_assoc, Z.div_mul; lia.
    - rewrite Z.shiftl_div_pow2 by lia. replace (- (P - k)) with (k - P) by lia.
      replace (2 ^ k) with (2 ^ (k - P) * 2 ^ P) by (rewrite <- Z.pow_add_r; [f_equal|..]; lia).
      rewrite Z.div_mul_cancel_r; [reflexivity | |]; apply Z.pow_nonzero; lia. }
  rewrite E. pose proof (div_down_le (Z.shiftl (Qnum x) P) (Zpos (Qden x)) ltac:(lia)) as L.
  rewrite Z.shiftl_mul_pow2, mult_IZR in L by exact P0.
  apply Rmult_le_reg_r with (IZR (Zpos (Qden x))); [apply den_pos|].
  rewrite Z.shiftl_mul_pow2 by exact P0. eapply Rle_trans; [exact L|]. right.
  rewrite Q2R_fraction. field. apply Rgt_not_eq, den_pos.
Qed.

Lemma ceil_at_ge (P : Z) (x : Q) : 0 <= P -> (Q2R x * IZR (2 ^ P) <= IZR (ceil_at P x))%R.
Proof.
  intros P0. pose proof (floor_at_le P (qopp x) P0) as L. rewrite qopp_sound in L.
  unfold ceil_at. rewrite opp_IZR. lra.
Qed.

(** ** Vectors and models of rationals *)

Definition dotQ : vector Q -> vector Q -> Q := dot 0%Q qadd qmul.
Definition affineQ : matrix Q -> vector Q -> vector Q -> vector Q := affine 0%Q qadd qmul.

Lemma map_map2 {A B C D : Type} (g : C -> D) (f : A -> B -> C) (u : list A) :
  forall v, map g (map2 f u v) = map2 (fun x y => g (f x y)) u v.
Proof. induction u as [|x u IH]; intros [|y v]; simpl; congruence. Qed.

Lemma map2_map {A A' B B' C : Type} (g : A -> A') (h : B -> B') (f : A' -> B' -> C) (u : list A) :
  forall v, map2 f (map g u) (map h v) = map2 (fun x y => f (g x) (h y)) u v.
Proof. induction u as [|x u IH]; intros [|y v]; simpl; congruence. Qed.

Lemma map2_ext {A B C : Type} (f g : A -> B -> C) : (forall x y, f x y = g x y) -> forall u v, map2 f u v = map2 g u v.
Proof. intros E u. induction u as [|x u IH]; intros [|y v]; simpl; congruence. Qed.

Lemma dotQ_sound (u : vector Q) : forall v, Q2R (dotQ u v) = dotR (map Q2R u) (map Q2R v).
Proof.
  induction u as [|x u IH]; intros [|y v]; try apply Q2R_0.
  unfold dotQ, dotR in *. simpl. now rewrite qadd_sound, qmul_sound, IH.
Qed.

Lemma affineQ_sound (W : matrix Q) (b x : vector Q) :
  map Q2R (affineQ W b x) = affineR (map (map Q2R) W) (map Q2R b) (map Q2R x).
Proof.
  unfold affineQ, affineR, affine. rewrite map_map2, map2_map. apply map2_ext. intros column c.
  rewrite qadd_sound. now rewrite dotQ_sound.
Qed.

Lemma token_sound (e : encoding Q) (p : vector Q) (b : bool) :
  map Q2R (token 0%Q qadd e p b) = token 0%R Rplus (map_encoding Q2R e) (map Q2R p) b.
Proof.
  destruct e as [E_0 E_1 |]; simpl.
  - rewrite map_map2. destruct b; rewrite map2_map; apply map2_ext; intros; apply qadd_sound.
  - destruct b; [reflexivity|]. rewrite !map_map. apply map_ext. intros. apply Q2R_0.
Qed.

Definition scoreQ : model Q -> head Q -> vector Q -> Q := raw_score 0%Q qadd qmul.

Lemma score_sound (m : model Q) (h : head Q) (x : vector Q) :
  Q2R (scoreQ m h x) = raw_score 0%R Rplus Rmult (real_model m) (map_head Q2R h) (map Q2R x).
Proof.
  unfold scoreQ, raw_score. change (dot 0%Q qadd qmul) with dotQ. rewrite dotQ_sound.
  change (affine 0%Q qadd qmul) with affineQ. now rewrite !affineQ_sound.
Qed.
