(** Covers: of wholes from covers of parts, beside packings, and how to split the error between the parts.
    (Theory 2.1, 5.1 and 5.2.) *)

From Coq Require Import Reals List Lra Lia.
From Sparsehead Require Import Head.
Import ListNotations.
Local Open Scope R_scope.

(** ** Covers and packings *)

Section Covers.
  Context {X : Type} (d : X -> X -> R).

  (** Every point of S is within eps of a centre. *)
  Definition covers (eps : R) (centres : list X) (S : X -> Prop) : Prop :=
    forall x, S x -> exists c, In c centres /\ d x c <= eps.

  (** The points lie in S, and any two of them are more than r apart. *)
  Definition packed (r : R) (points : list X) (S : X -> Prop) : Prop :=
    Forall S points /\ ForallOrdPairs (fun x y => r < d x y) points.
End Covers.

(** A cover at eps is a cover at every larger eps. Paper: pseudometric-cover *)
Theorem covers_grow {X : Type} (d : X -> X -> R) (eps eps' : R) (centres : list X) (S : X -> Prop) :
  eps <= eps' -> covers d eps centres S -> covers d eps' centres S.
Proof. intros le C x Sx. destruct (C x Sx) as (c & I & D). exists c. split; [exact I | lra]. Qed.

(** Points more than 2 eps apart are at most as many as the centres of any cover at eps, which may lie outside of the set.
    Paper: pseudometric-cover *)
Theorem packing_below_cover {X : Type} (d : X -> X -> R) (eps : R) (points centres : list X) (S : X -> Prop) :
  (forall x y, d x y = d y x) -> (forall x y z, d x z <= d x y + d y z) ->
  packed d (2 * eps) points S -> covers d eps centres S -> (length points <= length centres)%nat.
Proof.
  intros sym tri [inside apart] C.
  assert (choice : exists cs, length cs = length points /\ incl cs centres /\ NoDup cs).
  { assert (more : exists cs, Forall2 (fun x c => In c centres /\ d x c <= eps) points cs).
    { clear apart. induction inside as [|x points Sx inside (cs & IH)]; [exists []; constructor|].
      destruct (C x Sx) as (c & I & D). exists (c :: cs). now constructor. }
    destruct more as (cs & F). exists cs. split; [clear - F; induction F; simpl; congruence|]. split.
    - intros c I. clear - F I. induction F as [|x c' points cs [I' _] F IH]; [contradiction|].
      destruct I as [<- | I]; auto.
    - clear inside C. revert apart. induction F as [|x c points cs [I D] F IH]; intros apart; constructor.
      + inversion apart as [|? ? far apart']; subst. intros J. clear - F J far D sym tri.
        induction F as [|y c' points cs [_ D'] F IH]; [contradiction|].
        inversion far as [|? ? fy far']; subst. destruct J as [-> | J]; [|auto].
        pose proof (tri x c y) as T. rewrite (sym c y) in T. lra.
      + inversion apart; subst. auto. }
  destruct choice as (cs & <- & I & N). now apply NoDup_incl_length.
Qed.

(** A packing at eps to which no point of the set can be added is a cover at eps. Paper: pseudometric-cover *)
Theorem maximal_packing_covers {X : Type} (d : X -> X -> R) (eps : R) (points : list X) (S : X -> Prop) :
  (forall x, S x -> ~ Forall (fun y => eps < d x y) points) -> covers d eps points S.
Proof.
  intros full x Sx. destruct (Exists_dec (fun y => d x y <= eps) points) as [near | far].
  - intros y. apply Rle_dec.
  - apply Exists_exists in near as (c & I & D). now exists c.
  - exfalso. apply (full x Sx). apply Forall_forall. intros y I. apply Rnot_le_lt. intros le. apply far.
    apply Exists_exists. now exists y.
Qed.

(** A whole out(x, y) is covered by covering its parts one after the other: the second cover may depend on the centre of
    the first. The errors add, the sizes multiply. Paper: head-capacity *)
Theorem cover_of_parts {X Y Z : Type} (d : Z -> Z -> R) (out : X -> Y -> Z) (S : X -> Prop) (S' : Y -> Prop)
    (e e' : R) (centres : list X) (centres' : X -> list Y) (n : nat) :
  (forall x y z, d x z <= d x y + d y z) ->
  (forall x, S x -> exists c, In c centres /\ forall y, S' y -> d (out x y) (out c y) <= e) ->
  (forall c y, S' y -> exists c', In c' (centres' c) /\ d (out c y) (out c c') <= e') ->
  (forall c, (length (centres' c) <= n)%nat) ->
  exists all, (length all <= length centres * n)%nat /\
    covers d (e + e') all (fun z => exists x y, S x /\ S' y /\ z = out x y).
Proof.
  intros tri first second size. exists (flat_map (fun c => map (out c) (centres' c)) centres). split.
  - clear first. induction centres as [|c centres IH]; simpl; [lia|].
    rewrite app_length, map_length. specialize (size c). lia.
  - intros z (x & y & Sx & Sy & ->). destruct (first x Sx) as (c & I & D).
    destruct (second c y Sy) as (c' & I' & D'). exists (out c c'). split.
    + apply in_flat_map. exists c. split; [exact I | now apply in_map].
    + specialize (D y Sy). pose proof (tri (out x y) (out c y) (out c c')). lra.
Qed.

(** A sum of two classes is covered by the sums of the centres: errors add, sizes multiply. Paper: multi-head-capacity *)
Theorem cover_of_sums {X : Type} (d : X -> X -> R) (plus : X -> X -> X) (S S' : X -> Prop) (e e' : R)
    (centres centres' : list X) :
  (forall x y z, d x z <= d x y + d y z) ->
  (forall x y z, d (plus x z) (plus y z) <= d x y) -> (forall x y z, d (plus z x) (plus z y) <= d x y) ->
  covers d e centres S -> covers d e' centres' S' ->
  exists all, (length all <= length centres * length centres')%nat /\
    covers d (e + e') all (fun z => exists x y, S x /\ S' y /\ z = plus x y).
Proof.
  intros tri left right C C'.
  apply (cover_of_parts d plus S S' e e' centres (fun _ => centres') (length centres') tri).
  - intros x Sx. destruct (C x Sx) as (c & I & D). exists c. split; [exact I|]. intros y _. specialize (left x c y). lra.
  - intros c y Sy. destruct (C' y Sy) as (c' & I & D). exists c'. split; [exact I|]. specialize (right y c' c). lra.
  - intros _. apply le_n.
Qed.

(** ** The split of the error *)

(** An item: its price a^3 / x^2 at resolution x, and the factor q^3 by which an error of it counts. *)
Record item := Item { a : R; q : R; x : R }.

Definition price (i : item) : R := a i ^ 3 / x i ^ 2.
Definition error (i : item) : R := q i ^ 3 * x i.
Definition root (i : item) : R := a i * q i ^ 2.  (* (a^3)^(1/3) (q^3)^(2/3) *)

Definition proper (i : item) : Prop := 0 <= a i /\ 0 < q i /\ 0 < x i.

(** The tangent at any slope: a^3 / x^2 >= 3 t^2 a q^2 - 2 t^3 q^3 x. *)
Lemma price_tangent (t : R) (i : item) : 0 <= t -> proper i -> 3 * t ^ 2 * root i - 2 * t ^ 3 * error i <= price i.
Proof.
  intros t0 (a0 & q0 & x0). unfold price, root, error. destruct i as [a q x]. simpl in *.
  apply Rmult_le_reg_r with (x * (x * 1)); [nra|].
  replace (a * (a * (a * 1)) / (x * (x * 1)) * (x * (x * 1))) with (a * a * a) by (field; lra).
  set (z := t * q * x). assert (z0 : 0 <= z) by (unfold z; apply Rmult_le_pos; [apply Rmult_le_pos; lra | lra]).
  replace ((3 * (t * (t * 1)) * (a * (q * (q * 1))) - 2 * (t * (t * (t * 1))) * (q * (q * (q * 1)) * x)) * (x * (x * 1)))
    with (3 * a * z * z - 2 * z * z * z) by (unfold z; ring).
  assert (0 <= (a - z) * (a - z) * (a + 2 * z)) by (apply Rmult_le_pos; [apply Rle_0_sqr | lra]). nra.
Qed.

(** Prices at any resolutions with total error eps add up to at least (sum c^(1/3) p^(2/3))^3 / eps^2, where c = a^3 and
    p = q^3. Paper: split-lemma *)
Theorem split_lower (eps : R) (items : list item) :
  0 < eps -> Forall proper items -> sum (map error items) = eps ->
  sum (map root items) ^ 3 / eps ^ 2 <= sum (map price items).
Proof.
  intros e0 P E.
  assert (T : forall t, 0 <= t -> 3 * t ^ 2 * sum (map root items) - 2 * t ^ 3 * sum (map error items) <= sum (map price items)).
  { intros t t0. clear E. induction P as [|i items p P IH]; simpl; [lra|].
    pose proof (price_tangent t i t0 p) as L. simpl in L, IH. lra. }
  set (S := sum (map root items)) in *.
  assert (S0 : 0 <= S).
  { unfold S. clear - P. induction P as [|i items (a0 & q0 & x0) P IH]; simpl; [lra|].
    apply Rplus_le_le_0_compat; [unfold root; apply Rmult_le_pos; [lra | apply pow_le; lra] | exact IH]. }
  specialize (T (S / eps)). rewrite E in T.
  replace (3 * (S / eps) ^ 2 * S - 2 * (S / eps) ^ 3 * eps) with (S ^ 3 / eps ^ 2) in T by (field; lra).
  apply T. apply Rmult_le_pos; [exact S0 | apply Rlt_le, Rinv_0_lt_compat, e0].
Qed.

(** The bound is attained at resolutions proportional to (c/p)^(1/3). Paper: split-lemma *)
Theorem split_attained (eps : R) (items : list (R * R)) :
  0 < eps -> items <> [] -> Forall (fun i => 0 < fst i /\ 0 < snd i) items ->
  let S := sum (map (fun i => fst i * snd i ^ 2) items) in
  let best := map (fun i => Item (fst i) (snd i) (eps / S * (fst i / snd i))) items in
  Forall proper best /\ sum (map error best) = eps /\ sum (map price best) = S ^ 3 / eps ^ 2.
Proof.
  intros e0 N P S best.
  assert (S0 : 0 < S).
  { unfold S. destruct P as [|i items [a0 q0] P]; [congruence|]. simpl.
    assert (0 <= sum (map (fun i => fst i * (snd i * (snd i * 1))) items)).
    { clear - P. induction P as [|i items [a0 q0] P IH]; simpl; [lra|].
      apply Rplus_le_le_0_compat; [|exact IH]. apply Rmult_le_pos; [lra|]. nra. }
    apply Rplus_lt_le_0_compat; [|assumption]. apply Rmult_lt_0_compat; [lra | nra]. }
  assert (t0 : 0 < eps / S) by (apply Rmult_lt_0_compat; [lra | now apply Rinv_0_lt_compat]).
  unfold best. rewrite !map_map. clear best. set (t := eps / S) in *.
  assert (E : forall S', S' = S -> sum (map (fun i => t * (fst i * snd i ^ 2)) items) = t * S'
    /\ sum (map (fun i => / t ^ 2 * (fst i * snd i ^ 2)) items) = / t ^ 2 * S').
  { intros S' ->. unfold S. clear. clearbody t. induction items as [|i items [IH1 IH2]]; simpl in *; [split; ring|].
    rewrite IH1, IH2. split; ring. }
  destruct (E S eq_refl) as [E1 E2]. split; [|split].
  - clear - P t0. clearbody t. clear S. induction P as [|i items [a0 q0] P IH]; simpl; constructor; [|exact IH].
    unfold proper. simpl. repeat split; [lra | lra |]. apply Rmult_lt_0_compat; [lra|].
    apply Rmult_lt_0_compat; [lra | now apply Rinv_0_lt_compat].
  - transitivity (t * S); [|unfold t; field; lra]. rewrite <- E1. f_equal. apply map_ext_in. intros i I.
    rewrite Forall_forall in P. destruct (P i I) as [a0 q0]. unfold error. simpl. field. lra.
  - transitivity (/ t ^ 2 * S); [|unfold t; field; split; lra]. rewrite <- E2. f_equal. apply map_ext_in. intros i I.
    rewrite Forall_forall in P. destruct (P i I) as [a0 q0]. unfold price. simpl. field. repeat split; lra.
Qed.
