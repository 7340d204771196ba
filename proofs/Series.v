(** exp(-u) for u >= 0 as a finite nested product.

    Truncated, the series of exp(-u) is above or below it in turn. So exp(-u) is
    1 - u (1 - u/2 (1 - .. (1 - u/n r))) for some r in [0, 1]. *)

From Coq Require Import Reals Lra Lia Psatz.
Local Open Scope R_scope.

(** ** The alternating series *)

Definition term (u : R) (k : nat) : R := (- u) ^ k / INR (fact k).

Fixpoint series (u : R) (n : nat) : R :=  (* the first n terms *)
  match n with O => 0 | S n' => series u n' + term u n' end.

Lemma fact_S (n : nat) : INR (fact (S n)) = INR (S n) * INR (fact n).
Proof. now rewrite <- mult_INR. Qed.

Lemma term_S (u : R) (k : nat) : term u (S k) = term u k * (- (u / INR (S k))).
Proof.
  unfold term. rewrite fact_S. simpl pow. field. split; apply not_0_INR; auto using fact_neq_0.
Qed.

Lemma term_derivative (n : nat) (u : R) : derivable_pt_lim (fun u => term u (S n)) u (- term u n).
Proof.
  replace (- term u n) with (INR (S n) * (- u) ^ n * -1 * / INR (fact (S n))).
  2:{ unfold term. rewrite fact_S. field. split; apply not_0_INR; auto using fact_neq_0. }
  unfold term, Rdiv.
  replace (INR (S n) * (- u) ^ n * -1 * / INR (fact (S n)))
    with ((INR (S n) * (- u) ^ n * -1) * / INR (fact (S n)) + (- u) ^ (S n) * 0) by ring.
  apply (derivable_pt_lim_mult (fun u => (- u) ^ S n) (fun _ => / INR (fact (S n)))).
  - apply (derivable_pt_lim_comp (fun u => - u) (fun v => v ^ S n)).
    + apply (derivable_pt_lim_opp (fun v => v)), derivable_pt_lim_id.
    + apply derivable_pt_lim_pow.
  - apply derivable_pt_lim_const.
Qed.

Lemma series_derivative (n : nat) (u : R) : derivable_pt_lim (fun u => series u (S n)) u (- series u n).
Proof.
  induction n as [|n IH].
  - simpl series. apply (derivable_pt_lim_ext (fun _ => 1)).
    + intros. unfold term. simpl. field.
    + rewrite Ropp_0. apply derivable_pt_lim_const.
  - change (- series u (S n)) with (- (series u n + term u n)). rewrite Ropp_plus_distr.
    apply (derivable_pt_lim_plus (fun u => series u (S n)) (fun u => term u (S n))); [exact IH|].
    apply term_derivative.
Qed.

Lemma exp_opp_derivative (u : R) : derivable_pt_lim (fun u => exp (- u)) u (- exp (- u)).
Proof.
  replace (- exp (- u)) with (exp (- u) * -1) by ring.
  apply (derivable_pt_lim_comp (fun u => - u) exp).
  - apply (derivable_pt_lim_opp (fun v => v)), derivable_pt_lim_id.
  - apply derivable_pt_lim_exp.
Qed.

(** A function that starts at 0 and has a derivative >= 0 stays >= 0. *)
Lemma stays_nonnegative (g g' : R -> R) :
  (forall u, derivable_pt_lim g u (g' u)) -> g 0 = 0 -> (forall u, 0 <= u -> 0 <= g' u) ->
  forall u, 0 <= u -> 0 <= g u.
Proof.
  intros D g0 pos u [up | <-]; [|lra].
  destruct (MVT_cor2 g g' 0 u up) as (c & E & [c0 _]); [auto|].
  specialize (pos c ltac:(lra)). nra.
Qed.

Lemma series_0 (n : nat) : series 0 (S n) = 1.
Proof.
  induction n as [|n IH]; [unfold series, term; simpl; field|].
  change (series 0 (S n) + term 0 (S n) = 1). rewrite IH. unfold term.
  rewrite Ropp_0, pow_i by lia. unfold Rdiv. lra.
Qed.

(** (-1)^n (exp(-u) - first n terms) >= 0. *)
Lemma series_alternates (n : nat) : forall u, 0 <= u -> 0 <= (-1) ^ n * (exp (- u) - series u n).
Proof.
  induction n as [|n IH].
  - intros u _. simpl. pose proof (exp_pos (- u)). lra.
  - apply (stays_nonnegative _ (fun u => (-1) ^ n * (exp (- u) - series u n))).
    + intros u.
      replace ((-1) ^ n * (exp (- u) - series u n)) with
        (0 * (exp (- u) - series u (S n)) + (-1) ^ S n * (- exp (- u) - - series u n)) by (simpl; ring).
      apply (derivable_pt_lim_mult (fun _ => (-1) ^ S n) (fun u => exp (- u) - series u (S n))).
      * apply derivable_pt_lim_const.
      * apply (derivable_pt_lim_minus (fun u => exp (- u)) (fun u => series u (S n))).
        -- apply exp_opp_derivative.
        -- apply series_derivative.
    + rewrite series_0, Ropp_0, exp_0. ring.
    + exact IH.
Qed.

(** ** The nested form *)

(** 1 - u/k (1 - u/(k+1) (1 - .. r)) with n factors. *)
Fixpoint nested (u r : R) (n k : nat) : R :=
  match n with O => r | S n' => 1 - u / INR k * nested u r n' (S k) end.

Lemma nested_series (u r : R) (n : nat) :
  forall k, term u k * nested u r n (S k) = series u (n + k) - series u k + r * term u (n + k).
Proof.
  induction n as [|n IH]; intros k; [simpl; ring|].
  change (nested u r (S n) (S k)) with (1 - u / INR (S k) * nested u r n (S (S k))).
  replace (term u k * (1 - u / INR (S k) * nested u r n (S (S k))))
    with (term u k + term u (S k) * nested u r n (S (S k))) by (rewrite term_S; ring).
  rewrite IH. replace (n + S k)%nat with (S n + k)%nat by lia. simpl series. ring.
Qed.

Lemma exp_is_nested (u : R) (n : nat) : 0 <= u -> exists r, 0 <= r <= 1 /\ exp (- u) = nested u r n 1.
Proof.
  intros u0.
  assert (N : forall r, nested u r n 1 = series u n + r * term u n).
  { intros r. pose proof (nested_series u r n 0) as E. rewrite Nat.add_0_r in E.
    unfold term at 1 in E. simpl in E. replace (1 / 1) with 1 in E by field. lra. }
  pose proof (series_alternates n u u0) as A. pose proof (series_alternates (S n) u u0) as B.
  simpl in B. set (d := exp (- u) - series u n) in *.
  replace (exp (- u) - (series u n + term u n)) with (d - term u n) in B by (unfold d; ring).
  assert (sign : (-1) ^ n = 1 \/ (-1) ^ n = -1).
  { clear. induction n as [|n [E | E]]; simpl; [left | rewrite E; right | rewrite E; left]; ring. }
  destruct (Req_dec (term u n) 0) as [z | nz].
  - exists 0. split; [lra|]. rewrite N. unfold d in *. rewrite z in *. destruct sign as [E | E]; rewrite E in *; lra.
  - exists (d / term u n). split; [|rewrite N; unfold d; field; exact nz].
    assert (bounds : 0 <= d <= term u n \/ term u n <= d <= 0) by (destruct sign as [E | E]; rewrite E in *; lra).
    assert (E : d = d / term u n * term u n) by (field; exact nz).
    set (q := d / term u n) in *. clearbody q.
    destruct bounds; destruct (Rtotal_order (term u n) 0) as [? | [? | ?]]; try lra; split; nra.
Qed.
