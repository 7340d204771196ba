(** What bounded scores rule out (theory 8.8): one token among n + 1 moves what a head mixes by at most
    2 V e^(2B) / (n + e^(2B)), if scores lie in [-B, B] and values in [-V, V]. *)

From Coq Require Import Reals List Lra Lia.
From Sparsehead Require Import Head Bracket.
Import ListNotations.
Local Open Scope R_scope.

Definition allowed (B V : R) (x : weighted) : Prop := exp (- B) <= fst x <= exp B /\ - V <= snd x <= V.

Lemma allowed_positive (B V : R) (xs : list weighted) : Forall (allowed B V) xs -> positive xs.
Proof.
  intros A. unfold positive. eapply Forall_impl; [|exact A]. intros x [[lo _] _]. pose proof (exp_pos (- B)). lra.
Qed.

Lemma allowed_total (B V : R) (xs : list weighted) :
  Forall (allowed B V) xs -> INR (length xs) * exp (- B) <= total xs.
Proof.
  intros A. unfold total. induction A as [|x xs [[lo _] _] A IH]; [simpl; lra|].
  cbn [length map]. rewrite S_INR. unfold sum in *. simpl. lra.
Qed.

Lemma mean_between (B V : R) (x : weighted) (xs : list weighted) :
  Forall (allowed B V) (x :: xs) -> - V <= mean (x :: xs) <= V.
Proof.
  intros A. pose proof (total_pos (x :: xs) (allowed_positive B V _ A) ltac:(discriminate)) as t.
  assert (S : - V * total (x :: xs) <= sum (map (fun y => fst y * snd y) (x :: xs)) <= V * total (x :: xs)).
  { clear t. unfold total. induction A as [|y ys [[lo _] [vl vh]] A IH]; simpl in *; [lra|].
    pose proof (exp_pos (- B)). nra. }
  unfold mean. split; apply Rmult_le_reg_r with (total (x :: xs)); try exact t; unfold Rdiv;
    rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra; lra.
Qed.

(** Replacing a token by one with at least its weight. *)
Lemma heavier_token (B V : R) (x y : weighted) (xs : list weighted) :
  Forall (allowed B V) (x :: xs) -> Forall (allowed B V) (y :: xs) -> fst x <= fst y ->
  Rabs (mean (y :: xs) - mean (x :: xs)) <= 2 * V * exp (2 * B) / (INR (length xs) + exp (2 * B)).
Proof.
  intros Ax Ay le. pose proof (mean_between B V x xs Ax) as [ol oh].
  pose proof (total_pos (x :: xs) (allowed_positive B V _ Ax) ltac:(discriminate)) as tx.
  pose proof (total_pos (y :: xs) (allowed_positive B V _ Ay) ltac:(discriminate)) as ty.
  inversion Ax as [|? ? [[wl wh] [vl vh]] A]; subst. inversion Ay as [|? ? [[wl' wh'] [vl' vh']] _]; subst.
  pose proof (allowed_total B V xs A) as T. set (o := mean (x :: xs)) in *.
  assert (S : sum (map (fun z => fst z * snd z) (x :: xs)) = o * total (x :: xs)) by (unfold o, mean; field; lra).
  set (Z := total xs) in *.
  assert (Ex : total (x :: xs) = fst x + Z) by reflexivity. assert (Ey : total (y :: xs) = fst y + Z) by reflexivity.
  assert (D : (mean (y :: xs) - o) * (fst y + Z) = (fst y - fst x) * (snd y - o) + fst x * (snd y - snd x)).
  { unfold mean. rewrite Ey in *. replace ((sum (map (fun z => fst z * snd z) (y :: xs)) / (fst y + Z) - o) * (fst y + Z))
      with (sum (map (fun z => fst z * snd z) (y :: xs)) - o * (fst y + Z)) by (field; lra).
    rewrite Ex in S. simpl in S |- *. lra. }
  pose proof (exp_pos (- B)) as e0. pose proof (exp_pos B) as E0.
  assert (num : Rabs (mean (y :: xs) - o) * (fst y + Z) <= 2 * V * fst y).
  { rewrite <- (Rabs_right (fst y + Z)) by lra. rewrite <- Rabs_mult, D.
    apply Rabs_le. split; nra. }
  assert (E2 : exp (2 * B) = exp B * exp B) by (rewrite <- exp_plus; f_equal; ring).
  assert (inv : exp B * exp (- B) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
  set (n := INR (length xs)) in *. assert (n0 : 0 <= n) by apply pos_INR.
  assert (V0 : 0 <= V) by lra.
  apply Rmult_le_reg_r with ((fst y + Z) * (n + exp (2 * B))); [apply Rmult_lt_0_compat; nra|].
  replace (2 * V * exp (2 * B) / (n + exp (2 * B)) * ((fst y + Z) * (n + exp (2 * B))))
    with (2 * V * exp (2 * B) * (fst y + Z)) by (field; nra).
  apply Rle_trans with (2 * V * fst y * (n + exp (2 * B))).
  - replace (Rabs (mean (y :: xs) - o) * ((fst y + Z) * (n + exp (2 * B))))
      with (Rabs (mean (y :: xs) - o) * (fst y + Z) * (n + exp (2 * B))) by ring.
    apply Rmult_le_compat_r; [nra | exact num].
  - (* w n <= e^(2B) Z, because w <= e^B and n <= e^B Z *)
    assert (nZ : n <= exp B * Z).
    { replace n with (exp B * (n * exp (- B))) by (rewrite (Rmult_comm n), <- Rmult_assoc, inv; ring).
      apply Rmult_le_compat_l; lra. }
    assert (fst y * n <= exp B * (exp B * Z)) by (apply Rmult_le_compat; lra).
    replace (2 * V * fst y * (n + exp (2 * B))) with (2 * V * (fst y * n + exp (2 * B) * fst y)) by ring.
    replace (2 * V * exp (2 * B) * (fst y + Z)) with (2 * V * (exp (2 * B) * Z + exp (2 * B) * fst y)) by ring.
    apply Rmult_le_compat_l; [lra|]. rewrite E2 at 1 2. rewrite E2. lra.
Qed.

(** With scores in [-B, B] and values in [-V, V], replacing one of n + 1 tokens moves what a head mixes by at most
    2 V e^(2B) / (n + e^(2B)). Paper: bounded-scores *)
Theorem one_token_moves_little (B V : R) (x y : weighted) (xs : list weighted) :
  Forall (allowed B V) (x :: xs) -> Forall (allowed B V) (y :: xs) ->
  Rabs (mean (y :: xs) - mean (x :: xs)) <= 2 * V * exp (2 * B) / (INR (length xs) + exp (2 * B)).
Proof.
  intros Ax Ay. destruct (Rle_dec (fst x) (fst y)) as [le | gt].
  - now apply heavier_token.
  - rewrite Rabs_minus_sym. apply heavier_token; [exact Ay | exact Ax | lra].
Qed.

(** That far it moves if all tokens have weight e^-B and value -V, and one of them gets weight e^B and value V.
    Paper: bounded-scores *)
Theorem one_token_moves_that_far (B V : R) (n : nat) :
  let others := repeat (exp (- B), - V) n in
  mean ((exp B, V) :: others) - mean ((exp (- B), - V) :: others) = 2 * V * exp (2 * B) / (INR n + exp (2 * B)).
Proof.
  simpl. set (e := exp (- B)). set (E := exp B). assert (e0 : 0 < e) by apply exp_pos. assert (E0 : 0 < E) by apply exp_pos.
  assert (inv : E * e = 1) by (unfold E, e; rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
  assert (E2 : exp (2 * B) = E * E) by (unfold E; rewrite <- exp_plus; f_equal; ring).
  assert (T : total (repeat (e, - V) n) = INR n * e).
  { unfold total. induction n as [|n IH]; [simpl; ring|]. rewrite S_INR. simpl in *. rewrite IH. ring. }
  assert (S : sum (map (fun x => fst x * snd x) (repeat (e, - V) n)) = - V * (INR n * e)).
  { clear T. induction n as [|n IH]; [simpl; ring|]. rewrite S_INR. simpl in *. rewrite IH. ring. }
  pose proof (pos_INR n) as n0. set (k := INR n) in *. assert (ke : 0 <= k * e) by (apply Rmult_le_pos; lra).
  unfold mean. unfold total in *. simpl. rewrite T, S, E2.
  replace (k + E * E) with (E * (k * e + E)) by (replace (E * (k * e + E)) with (k * (E * e) + E * E) by ring; rewrite inv; ring).
  field. repeat split; lra.
Qed.

(** So telling two inputs apart by g when one of n + 1 tokens changes takes scores of at least ln(g n / (2 V - g)) / 2.
    Paper: bounded-scores *)
Theorem scores_grow_with_length (B V g : R) (x y : weighted) (xs : list weighted) :
  Forall (allowed B V) (x :: xs) -> Forall (allowed B V) (y :: xs) -> xs <> [] -> 0 < g < 2 * V ->
  g <= Rabs (mean (y :: xs) - mean (x :: xs)) -> ln (g * INR (length xs) / (2 * V - g)) / 2 <= B.
Proof.
  intros Ax Ay N g0 far. pose proof (one_token_moves_little B V x y xs Ax Ay) as M.
  assert (n0 : 0 < INR (length xs)) by (apply lt_0_INR; destruct xs; [congruence | simpl; lia]).
  set (n := INR (length xs)) in *. pose proof (exp_pos (2 * B)) as e0.
  assert (K : g * n <= (2 * V - g) * exp (2 * B)).
  { assert (L : g <= 2 * V * exp (2 * B) / (n + exp (2 * B))) by lra.
    apply (Rmult_le_compat_r (n + exp (2 * B))) in L; [|lra].
    replace (2 * V * exp (2 * B) / (n + exp (2 * B)) * (n + exp (2 * B))) with (2 * V * exp (2 * B)) in L by (field; lra). lra. }
  assert (q0 : 0 < g * n / (2 * V - g)) by (apply Rmult_lt_0_compat; [nra | apply Rinv_0_lt_compat; lra]).
  assert (Q : g * n / (2 * V - g) <= exp (2 * B)).
  { apply Rmult_le_reg_r with (2 * V - g); [lra|].
    replace (g * n / (2 * V - g) * (2 * V - g)) with (g * n) by (field; lra). lra. }
  assert (ln (g * n / (2 * V - g)) <= 2 * B); [|lra].
  rewrite <- (ln_exp (2 * B)). destruct Q as [lt | ->]; [left; now apply ln_increasing | lra].
Qed.
