(** Errata that are counterexamples: the printed statement fails in the case named, and the corrected one holds.
    The numbers are those of the map from paper to code. *)

From Coq Require Import Reals List Bool Lra Lia Classical_Prop.
From Sparsehead Require Import Head Covers.
Import ListNotations.
Local Open Scope R_scope.

(** ** Bumps (paper, appendix B) *)

Definition relu_at (x : R) : R := Rmax 0 x.
Definition ramp (delta x : R) : R := relu_at (x / delta + 1) - relu_at (x / delta).
Definition printed_bump (delta x : R) : R := ramp delta x - ramp delta (2 * delta - x).
Definition bump (delta x : R) : R := ramp delta x + ramp delta (2 * delta - x) - 1.

Lemma ramp_scaled (delta t : R) : 0 < delta -> ramp delta (t * delta) = Rmax 0 (t + 1) - Rmax 0 t.
Proof. intros d0. unfold ramp, relu_at. replace (t * delta / delta) with t by (field; lra). reflexivity. Qed.

Lemma bump_scaled (delta t : R) : 0 < delta ->
  bump delta (t * delta) = Rmax 0 (t + 1) - Rmax 0 t + (Rmax 0 (2 - t + 1) - Rmax 0 (2 - t)) - 1.
Proof.
  intros d0. unfold bump. rewrite (ramp_scaled delta t d0).
  replace (2 * delta - t * delta) with ((2 - t) * delta) by ring. now rewrite ramp_scaled.
Qed.

Ltac maxima := unfold Rmax; repeat destruct (Rle_dec _ _); try lra.

(** At its centre delta the printed bump is 0, for every delta; the corrected one is 1. Paper: errata-paper-1 *)
Theorem bump_at_its_centre (delta : R) : 0 < delta -> printed_bump delta delta = 0 /\ bump delta delta = 1.
Proof.
  intros d0. unfold printed_bump, bump. replace (2 * delta - delta) with delta by ring. split; [ring|].
  replace delta with (1 * delta) at 2 4 by ring. rewrite ramp_scaled by exact d0. maxima.
Qed.

(** At 3g/16 from its centre, nearer than the g/4 that the approximation allows, the bump of width g/8 is 1/2 and that of
    width g/4 is 1. Paper: errata-paper-2 *)
Theorem bump_of_width (g : R) : 0 < g ->
  bump (g / 8) (g / 8 + 3 * g / 16) = 1 / 2 /\ bump (g / 4) (g / 4 + 3 * g / 16) = 1.
Proof.
  intros g0. split.
  - replace (g / 8 + 3 * g / 16) with (5 / 2 * (g / 8)) by field. rewrite bump_scaled by lra. maxima.
  - replace (g / 4 + 3 * g / 16) with (7 / 4 * (g / 4)) by field. rewrite bump_scaled by lra. maxima.
Qed.

(** W_V = (E_0 - E_1) e_2^T followed by W_C = e_1 e_h^T gives 0 for every token; with e_1 in both it gives the bit's sign.
    Paper: errata-paper-11 *)
Theorem s_heads_read_nothing (x y : R) :
  let difference := [x - y] in
  let second := affineR [[0]; [1]] [0; 0] difference in
  let first := affineR [[1]; [0]] [0; 0] difference in
  affineR [[1; 0]] [0] second = [0] /\ affineR [[1; 0]] [0] first = [x - y].
Proof. unfold affineR, affine. simpl. split; f_equal; ring. Qed.

(** ** Covering numbers (lecture notes, section 2.1) *)

(** N is the size of a smallest cover with centres in the set. *)
Definition covering_number {X : Type} (d : X -> X -> R) (eps : R) (points : list X) (N : nat) : Prop :=
  (exists centres, incl centres points /\ length centres = N /\ covers d eps centres (fun x => In x points)) /\
  forall centres, incl centres points -> covers d eps centres (fun x => In x points) -> (N <= length centres)%nat.

(** With the two printed axioms, symmetry and the triangle inequality, a set need not cover itself: d = 1 everywhere.
    Paper: errata-notes-1 *)
Theorem pseudometric_needs_zero {X : Type} (x : X) :
  let d := fun _ _ : X => 1 in
  (forall x y, d x y = d y x) /\ (forall x y z, d x z <= d x y + d y z) /\ ~ covers d (1 / 2) [x] (fun y => y = x).
Proof.
  simpl. repeat split; intros; try lra. intros C. destruct (C x eq_refl) as (c & _ & D). lra.
Qed.

(** If all distances between different points exceed eps, every point is a centre. *)
Lemma separated_number {X : Type} (d : X -> X -> R) (eps : R) (points : list X) :
  (forall x, d x x <= eps) -> NoDup points ->
  (forall x y, In x points -> In y points -> x <> y -> eps < d x y) ->
  covering_number d eps points (length points).
Proof.
  intros self N far. split.
  - exists points. repeat split; [apply incl_refl|]. intros x I. exists x. split; [exact I | apply self].
  - intros centres inside C. apply NoDup_incl_length; [exact N|]. intros x I. destruct (C x I) as (c & J & D).
    replace x with c; [exact J|]. apply NNPP. intros ne. pose proof (far x c I (inside c J) (fun E => ne (eq_sym E))). lra.
Qed.

(** If one point covers all, the number is 1. *)
Lemma number_one {X : Type} (d : X -> X -> R) (eps : R) (points : list X) (c : X) :
  In c points -> Forall (fun x => d x c <= eps) points -> covering_number d eps points 1.
Proof.
  intros I near. rewrite Forall_forall in near. split.
  - exists [c]. repeat split; [intros x [<- | []]; exact I|]. intros x J. exists c. split; [now left | now apply near].
  - intros centres _ C. destruct (C c I) as (c' & J & _). destruct centres; [contradiction | simpl; lia].
Qed.

Definition euclid (x y : R * R) : R := sqrt ((fst x - fst y) ^ 2 + (snd x - snd y) ^ 2).

Lemma euclid_far (x y : R * R) : (1 / 2) ^ 2 < (fst x - fst y) ^ 2 + (snd x - snd y) ^ 2 -> 1 / 2 < euclid x y.
Proof. intros L. unfold euclid. rewrite <- (sqrt_pow2 (1 / 2)) by lra. apply sqrt_lt_1_alt. lra. Qed.

Lemma euclid_near (x y : R * R) : (fst x - fst y) ^ 2 + (snd x - snd y) ^ 2 <= (1 / 2) ^ 2 -> euclid x y <= 1 / 2.
Proof. intros L. unfold euclid. rewrite <- (sqrt_pow2 (1 / 2)) by lra. apply sqrt_le_1_alt. lra. Qed.

(** The printed example: at eps = 0.5 the covering number of the set as printed is 3, and of the set as used 1; the notes
    say 2. Paper: errata-notes-2, covering-example *)
Theorem covering_example :
  covering_number euclid (1 / 2) [(0.5, 0.7); (0.2, 3); (0.6, 2.5)] 3 /\
  covering_number euclid (1 / 2) [(0.5, 0.7); (0.2, 0.3); (0.6, 0.65)] 1.
Proof.
  split.
  - apply (separated_number euclid (1 / 2) [(0.5, 0.7); (0.2, 3); (0.6, 2.5)]).
    + intros x. apply euclid_near. lra.
    + repeat constructor; simpl; intros J; repeat destruct J as [J | J]; try contradiction; injection J; lra.
    + intros x y I J ne. apply euclid_far.
      destruct I as [<- | [<- | [<- | []]]]; destruct J as [<- | [<- | [<- | []]]]; try congruence; simpl; lra.
  - apply (number_one euclid _ _ (0.5, 0.7)); [now left|]. repeat (apply Forall_cons; [apply euclid_near; simpl; lra|]). apply Forall_nil.
Qed.

Definition distance (x y : R) : R := Rabs (x - y).

Ltac on_the_line := unfold distance, Rabs; repeat destruct (Rcase_abs _); lra.

(** The covering number falls as eps grows: from 2 at 1/2 to 1 at 1 for {0, 1}. Paper: errata-notes-3 *)
Theorem covering_number_falls : covering_number distance (1 / 2) [0; 1] 2 /\ covering_number distance 1 [0; 1] 1.
Proof.
  split.
  - apply (separated_number distance (1 / 2) [0; 1]).
    + intros x. on_the_line.
    + repeat constructor; simpl; intros J; repeat destruct J as [J | J]; try contradiction; lra.
    + intros x y I J ne. destruct I as [<- | [<- | []]]; destruct J as [<- | [<- | []]]; try congruence; on_the_line.
  - apply (number_one distance _ _ 0); [now left|]. repeat (apply Forall_cons; [on_the_line|]). apply Forall_nil.
Qed.

(** Adding a point may lower the covering number: {-1, 1} has 2 at eps = 1, {-1, 0, 1} has 1. Paper: errata-notes-4 *)
Theorem more_points_fewer_balls : covering_number distance 1 [-1; 1] 2 /\ covering_number distance 1 [-1; 0; 1] 1.
Proof.
  split.
  - apply (separated_number distance 1 [-1; 1]).
    + intros x. on_the_line.
    + repeat constructor; simpl; intros J; repeat destruct J as [J | J]; try contradiction; lra.
    + intros x y I J ne. destruct I as [<- | [<- | []]]; destruct J as [<- | [<- | []]]; try congruence; on_the_line.
  - apply (number_one distance _ _ 0); [right; now left|]. repeat (apply Forall_cons; [on_the_line|]). apply Forall_nil.
Qed.

(** *** All functions from m points to +-1 *)

Definition sign (b : bool) : R := if b then -1 else 1.
Definition sup (u v : vector R) : R := fold_right Rmax 0 (map2 (fun x y => Rabs (x - y)) u v).

Fixpoint sign_vectors (m : nat) : list (vector R) :=
  match m with
  | O => [[]]
  | S m' => map (cons (sign false)) (sign_vectors m') ++ map (cons (sign true)) (sign_vectors m')
  end.

Lemma sup_nonnegative (u v : vector R) : 0 <= sup u v.
Proof.
  unfold sup. induction (map2 _ u v) as [|x xs IH]; simpl; [lra|]. eapply Rle_trans; [exact IH | apply Rmax_r].
Qed.

Lemma sup_self (u : vector R) : sup u u = 0.
Proof.
  unfold sup. induction u as [|x u IH]; simpl; [reflexivity|]. rewrite IH.
  replace (x - x) with 0 by ring. rewrite Rabs_R0. apply Rmax_left. lra.
Qed.

Lemma sign_vectors_far (m : nat) : forall u v, In u (sign_vectors m) -> In v (sign_vectors m) -> u <> v -> 2 <= sup u v.
Proof.
  induction m as [|m IH]; intros u v I J ne; simpl in I, J.
  - destruct I as [<- | []]. destruct J as [<- | []]. congruence.
  - assert (shape : forall w, In w (map (cons (sign false)) (sign_vectors m) ++ map (cons (sign true)) (sign_vectors m)) ->
      exists b w', w = sign b :: w' /\ In w' (sign_vectors m)).
    { intros w K. apply in_app_or in K as [K | K]; apply in_map_iff in K as (w' & <- & K); eauto. }
    destruct (shape u I) as (b & u' & -> & I'). destruct (shape v J) as (c & v' & -> & J'). unfold sup. simpl.
    destruct (bool_dec b c) as [<- | bc].
    + eapply Rle_trans; [|apply Rmax_r]. apply (IH u' v' I' J'). congruence.
    + eapply Rle_trans; [|apply Rmax_l]. destruct b, c; try congruence; unfold sign, Rabs; destruct (Rcase_abs _); lra.
Qed.

Lemma sign_vectors_distinct (m : nat) : NoDup (sign_vectors m) /\ length (sign_vectors m) = (2 ^ m)%nat.
Proof.
  induction m as [|m [N L]]; [split; [repeat constructor; auto | reflexivity]|]. split.
  - simpl. assert (inj : forall (x : R) vs, NoDup vs -> NoDup (map (cons x) vs)).
    { intros x vs H. induction H as [|v vs out H IH]; simpl; constructor; [|exact IH]. intros K.
      apply in_map_iff in K as (w & E & K). injection E as ->. contradiction. }
    assert (app : forall us vs : list (vector R), NoDup us -> NoDup vs -> (forall w, In w us -> ~ In w vs) -> NoDup (us ++ vs)).
    { intros us vs H H'. induction H as [|u us out H IH]; intros dis; simpl; [exact H'|]. constructor.
      - intros K. apply in_app_or in K as [K | K]; [contradiction | apply (dis u); simpl; auto].
      - apply IH. intros w K. apply dis. simpl. auto. }
    apply app; auto. intros w K K'. apply in_map_iff in K as (a & <- & _). apply in_map_iff in K' as (b & E & _).
    injection E as E _. unfold sign in E. lra.
  - transitivity (length (sign_vectors m) + length (sign_vectors m))%nat; [|rewrite L; simpl; lia].
    cbn [sign_vectors]. rewrite app_length, !map_length. reflexivity.
Qed.

(** Two values, but 2^m functions on m points: the covering number in the sup norm at every eps from 0 to below 2.
    Paper: errata-notes-5 *)
Theorem sign_functions (m : nat) (eps : R) : 0 <= eps < 2 -> covering_number sup eps (sign_vectors m) (2 ^ m).
Proof.
  intros [e0 e2]. destruct (sign_vectors_distinct m) as [N L]. rewrite <- L. apply separated_number; [|exact N|].
  - intros u. rewrite sup_self. exact e0.
  - intros u v I J ne. pose proof (sign_vectors_far m u v I J ne). lra.
Qed.

(** ** Formulas (lecture notes, section 2.2) *)

(** (e m / VC)^VC is below 1 at m = 1, VC = 4, while a cover has at least one function. Paper: errata-notes-8 *)
Theorem vc_bound_below_one : (exp 1 * 1 / 4) ^ 4 < 1.
Proof.
  pose proof exp_le_3 as e3. pose proof (exp_pos 1) as e0. set (e := exp 1) in *.
  assert (q : 0 <= e * 1 / 4 <= 3 / 4) by lra.
  assert ((e * 1 / 4) ^ 4 <= (3 / 4) ^ 4) by (apply pow_incr; exact q). lra.
Qed.

(** 1 + ln x, with x = A sqrt(m / C), is negative for every x below 1/e. Paper: errata-notes-10 *)
Theorem chaining_factor_negative (x : R) : 0 < x < exp (- 1) -> 1 + ln x < 0.
Proof. intros [x0 xe]. pose proof (ln_increasing x (exp (- 1)) x0 xe) as L. rewrite ln_exp in L. lra. Qed.
