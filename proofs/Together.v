(** Several heads at once: a bound of the sum of what they mix, where their parts cancel.

    With D_h the total weight of head h, sum_h (g_h . m_h - U_h) is the sum over tokens of
    sum_h w_h (g_h . v_h - U_h) / D_h. Each quotient is bounded with the least or the largest D_h in its place, and then
    each position takes the bit with the larger sum. *)

From Coq Require Import Reals QArith Qreals ZArith List Lra Lia.
From Sparsehead Require Import Head Exponential Rationals Bracket Tables.
Import ListNotations.
Local Open Scope Z_scope.

Definition zsum (xs : list Z) : Z := fold_right Z.add 0 xs.

(** The least or the largest of two numbers that a pattern allows. *)
Definition choose (best : Z -> Z -> Z) (p : option bool) (x : Z * Z) : Z :=
  match p with Some c => pick x c | None => best (fst x) (snd x) end.

Definition both {A B : Type} (f : A -> B) (r : A * A) : B * B := (f (fst r), f (snd r)).

Definition least_total (pat : pattern) (rows : list row) : Z :=
  zsum (map2 (fun p r => choose Z.min p (both (fun e => fst (weight e)) r)) pat rows).
Definition largest_total (pat : pattern) (rows : list row) : Z :=
  zsum (map2 (fun p r => choose Z.max p (both (fun e => snd (weight e)) r)) pat rows).

Definition share (P : Z) (g : vector Q) (u least most : Z) (e : entry) : Z :=
  let a := ceil_at P (dotQ g (value e)) - u in
  if 0 <? a then div_up (a * snd (weight e)) least else div_up (a * fst (weight e)) most.

Definition shares (P : Z) (pat : pattern) (rows : list row) (g : vector Q) (U : Q) : list (Z * Z) :=
  map (both (share P g (floor_at P U) (least_total pat rows) (largest_total pat rows))) rows.

Definition add_pairs (u v : list (Z * Z)) : list (Z * Z) :=
  map2 (fun x y => (fst x + fst y, snd x + snd y)) u v.

(** A head's rows, the form g and the number U. *)
Definition summand := (list row * vector Q * Q)%type.

Fixpoint all_shares (P : Z) (pat : pattern) (hs : list summand) : list (Z * Z) :=
  match hs with
  | [] => map (fun _ => (0, 0)) pat
  | (rows, g, U) :: hs' => add_pairs (shares P pat rows g U) (all_shares P pat hs')
  end.

Definition sum_never_exceeds (P : Z) (pat : pattern) (hs : list summand) : bool :=
  forallb (fun '(rows, _, _) => (0 <? least_total pat rows) && Nat.eqb (length rows) (length pat)) hs
  && (zsum (map2 (choose Z.max) pat (all_shares P pat hs)) <=? 0).

Lemma choose_max (p : option bool) (c : bool) (x : Z * Z) : allows p c -> pick x c <= choose Z.max p x.
Proof. destruct p as [y|]; simpl; [intros ->; lia|]. intros _. destruct c; simpl; lia. Qed.

Lemma choose_min (p : option bool) (c : bool) (x : Z * Z) : allows p c -> choose Z.min p x <= pick x c.
Proof. destruct p as [y|]; simpl; [intros ->; lia|]. intros _. destruct c; simpl; lia. Qed.

Lemma pick_both {A B : Type} (f : A -> B) (r : A * A) (c : bool) : pick (both f r) c = f (pick r c).
Proof. now destruct c. Qed.

(** The real total weight lies between the two sums. *)
Lemma total_between (P : Z) (g : vector Q) (pat : pattern) (cs : list bool) (rows : list row) xs :
  Forall2 allows pat cs -> input_of P g cs rows xs ->
  (IZR (least_total pat rows) <= total xs * IZR (2 ^ P) <= IZR (largest_total pat rows))%R.
Proof.
  intros A I. revert pat A. unfold total, least_total, largest_total.
  induction I as [|c r x cs rows xs (w0 & [wl wh] & v) I IH]; intros pat A;
    inversion A as [|p ? pat' ? al A']; subst; simpl; [lra|].
  specialize (IH pat' A'). rewrite !plus_IZR, Rmult_plus_distr_r.
  pose proof (choose_min p c (both (fun e => fst (weight e)) r) al) as lo.
  pose proof (choose_max p c (both (fun e => snd (weight e)) r) al) as hi.
  rewrite pick_both in lo, hi. apply IZR_le in lo, hi. lra.
Qed.

Lemma share_sound (P : Z) (g : vector Q) (U : Q) (least most : Z) (e : entry) (x : weighted) (D : R) :
  0 <= P -> 0 < least -> (0 < D)%R -> (IZR least <= D * IZR (2 ^ P) <= IZR most)%R -> fits P g e x ->
  (gain (Q2R U) x / D * IZR (2 ^ P) <= IZR (share P g (floor_at P U) least most e))%R.
Proof.
  intros P0 l0 D0 [Dl Dm] (w0 & [wl wh] & v). unfold gain. rewrite v, <- dotQ_sound. unfold share.
  pose proof (ceil_at_ge P (dotQ g (value e)) P0) as up. pose proof (floor_at_le P U P0) as down.
  set (a := ceil_at P (dotQ g (value e)) - floor_at P U).
  assert (A : ((Q2R (dotQ g (value e)) - Q2R U) * IZR (2 ^ P) <= IZR a)%R) by (unfold a; rewrite minus_IZR; lra).
  assert (o : (0 < IZR (2 ^ P))%R) by (apply IZR_lt, pow2_pos, P0).
  set (one := IZR (2 ^ P)) in *. set (y := (Q2R (dotQ g (value e)) - Q2R U)%R) in *. set (w := fst x) in *.
  set (q := (w / D)%R). assert (q0 : (0 < q)%R) by (apply Rmult_lt_0_compat; [exact w0 | now apply Rinv_0_lt_compat]).
  assert (E : (q * (D * one) = w * one)%R) by (unfold q; field; lra).
  replace (w * y / D * one)%R with (q * (y * one))%R by (unfold q; field; lra).
  apply Rle_trans with (q * IZR a)%R; [apply Rmult_le_compat_l; lra|].
  assert (m0 : 0 < most) by (apply lt_IZR; nra). apply IZR_lt in l0 as lr. apply IZR_lt in m0 as mr.
  destruct (Z.ltb_spec 0 a) as [pos | neg].
  - apply IZR_lt in pos. pose proof (div_up_ge (a * snd (weight e)) least l0) as d. rewrite mult_IZR in d.
    assert (q * IZR least <= IZR (snd (weight e)))%R by nra.
    apply Rmult_le_reg_r with (IZR least); [exact lr|]. nra.
  - apply IZR_le in neg. pose proof (div_up_ge (a * fst (weight e)) most m0) as d. rewrite mult_IZR in d.
    assert (IZR (fst (weight e)) <= q * IZR most)%R by nra.
    apply Rmult_le_reg_r with (IZR most); [exact mr|]. nra.
Qed.

Lemma shares_sound (P : Z) (g : vector Q) (U : Q) (pat : pattern) (cs : list bool) (rows : list row) xs :
  0 <= P -> 0 < least_total pat rows -> xs <> [] -> Forall2 allows pat cs -> input_of P g cs rows xs ->
  ((mean xs - Q2R U) * IZR (2 ^ P) <= IZR (zsum (map2 pick (shares P pat rows g U) cs)))%R.
Proof.
  intros P0 l0 N A I. pose proof (input_positive P g cs rows xs I) as pos.
  rewrite (mean_minus (Q2R U) xs pos N). pose proof (total_pos xs pos N) as D0.
  pose proof (total_between P g pat cs rows xs A I) as D. unfold shares.
  revert D0 D l0. generalize (total xs) as D. generalize (least_total pat rows) as least.
  generalize (largest_total pat rows) as most. intros most least D D0 DD l0. clear A N pos.
  induction I as [|c r x cs rows xs fi I IH]; simpl; [unfold Rdiv; lra|].
  rewrite plus_IZR. unfold Rdiv. rewrite !Rmult_plus_distr_r. apply Rplus_le_compat; [|exact IH].
  rewrite pick_both. now apply (share_sound P g U least most (pick r c) x D).
Qed.

Lemma zsum_add_pairs (u v : list (Z * Z)) : forall cs, length u = length v ->
  zsum (map2 pick (add_pairs u v) cs) = zsum (map2 pick u cs) + zsum (map2 pick v cs).
Proof.
  revert v. induction u as [|x u IH]; intros [|y v] cs L; simpl in *; try discriminate; [reflexivity|].
  destruct cs as [|c cs]; [reflexivity|]. simpl. rewrite IH by lia. destruct c; simpl; lia.
Qed.

Lemma map2_length {A B C : Type} (f : A -> B -> C) (u : list A) :
  forall v, length u = length v -> length (map2 f u v) = length u.
Proof. induction u as [|x u IH]; intros [|y v] L; simpl in *; try lia. now rewrite IH by lia. Qed.

(** Checked for several heads at once, the sum of what they mix never exceeds the sum of the U. *)
Theorem sum_never_exceeds_sound (P : Z) (pat : pattern) (cs : list bool) (hs : list summand) (ys : list R) :
  0 <= P -> Forall2 allows pat cs -> sum_never_exceeds P pat hs = true ->
  Forall2 (fun '(rows, g, U) y => exists xs, xs <> [] /\ input_of P g cs rows xs /\ y = mean xs) hs ys ->
  (Head.sum ys <= Head.sum (map (fun '(_, _, U) => Q2R U) hs))%R.
Proof.
  intros P0 A E F. apply andb_prop in E as [ok E]. apply Z.leb_le in E.
  assert (S : length (all_shares P pat hs) = length pat /\
    ((Head.sum ys - Head.sum (map (fun '(_, _, U) => Q2R U) hs)) * IZR (2 ^ P)
     <= IZR (zsum (map2 pick (all_shares P pat hs) cs)))%R).
  { clear E. induction F as [|[[rows g] U] y hs ys (xs & N & I & ->) F IH].
    - simpl. rewrite map_length. split; [reflexivity|].
      replace (zsum _) with 0; [lra|]. clear - A. induction A as [|p c pat cs al A IH]; simpl; [reflexivity|].
      rewrite <- IH. now destruct c.
    - simpl in ok. apply andb_prop in ok as [ok1 ok]. apply andb_prop in ok1 as [l0 Lr].
      apply Z.ltb_lt in l0. apply Nat.eqb_eq in Lr. destruct (IH ok) as [L S]. clear IH.
      assert (Ls : length (shares P pat rows g U) = length pat) by (unfold shares; now rewrite map_length).
      simpl all_shares. split.
      + unfold add_pairs. rewrite map2_length; congruence.
      + rewrite zsum_add_pairs, plus_IZR by congruence. simpl.
        pose proof (shares_sound P g U pat cs rows xs P0 l0 N A I). lra. }
  destruct S as [L S].
  assert (M : zsum (map2 pick (all_shares P pat hs) cs) <= zsum (map2 (choose Z.max) pat (all_shares P pat hs))).
  { clear - A L. revert L. generalize (all_shares P pat hs) as u. induction A as [|p c pat cs al A IH]; intros [|x u] L; simpl in *; try lia.
    apply Z.add_le_mono; [now apply choose_max | apply IH; lia]. }
  assert (o : (0 < IZR (2 ^ P))%R) by (apply IZR_lt, pow2_pos, P0).
  assert (Z : (IZR (zsum (map2 pick (all_shares P pat hs) cs)) <= 0)%R) by (apply IZR_le; lia). nra.
Qed.
