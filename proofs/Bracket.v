(** The bracket lemma: a bound of what a head mixes, over all inputs at once.

    A token has a weight w > 0 and a value v; an input takes one of two tokens at each position. No input mixes more
    than U if F(U) = sum over positions of the larger of w (v - U) is at most 0; and if F(U) > 0, some input does. *)

From Coq Require Import Reals List Lra.
From Sparsehead Require Import Head.
Import ListNotations.
Local Open Scope R_scope.

Definition weighted := (R * R)%type.  (* weight and value *)
Definition total (xs : list weighted) : R := sum (map fst xs).
Definition mean (xs : list weighted) : R := sum (map (fun x => fst x * snd x) xs) / total xs.
Definition gain (U : R) (x : weighted) : R := fst x * (snd x - U).

Definition positive (xs : list weighted) : Prop := Forall (fun x => 0 < fst x) xs.

Lemma total_pos (xs : list weighted) : positive xs -> xs <> [] -> 0 < total xs.
Proof.
  unfold total. intros H. destruct H as [|x xs Hx H]; [intros N; now destruct N|]. intros _. simpl.
  induction H as [|y ys Hy H IH]; simpl in *; lra.
Qed.

Lemma sum_gain (U : R) (xs : list weighted) :
  sum (map (gain U) xs) = sum (map (fun x => fst x * snd x) xs) - U * total xs.
Proof. unfold total, gain. induction xs as [|x xs IH]; simpl in *; lra. Qed.

(** The mean minus U has the sign of the sum of the gains. *)
Lemma mean_minus (U : R) (xs : list weighted) :
  positive xs -> xs <> [] -> mean xs - U = sum (map (gain U) xs) / total xs.
Proof. intros H N. pose proof (total_pos xs H N). rewrite sum_gain. unfold mean. field. lra. Qed.

Lemma mean_le (U : R) (xs : list weighted) :
  positive xs -> xs <> [] -> sum (map (gain U) xs) <= 0 -> mean xs <= U.
Proof.
  intros H N S. pose proof (mean_minus U xs H N) as E. pose proof (total_pos xs H N) as t.
  apply Rinv_0_lt_compat in t. unfold Rdiv in E. nra.
Qed.

(** ** All inputs at once *)

Definition F (options : list (weighted * weighted)) (U : R) : R :=
  sum (map (fun o => Rmax (gain U (fst o)) (gain U (snd o))) options).

(** xs takes one of the two tokens at each position. *)
Definition taken (x : weighted) (o : weighted * weighted) : Prop := x = fst o \/ x = snd o.

(** If F(U) <= 0, no input mixes more than U. Paper: exact-certificate *)
Theorem bracket (options : list (weighted * weighted)) (U : R) (xs : list weighted) :
  Forall2 taken xs options -> positive xs -> xs <> [] -> F options U <= 0 -> mean xs <= U.
Proof.
  intros T H N B. apply mean_le; [exact H | exact N|]. eapply Rle_trans; [|exact B].
  clear H N B. unfold F. induction T as [|x o xs options t T IH]; simpl; [lra|].
  destruct t as [-> | ->]; [pose proof (Rmax_l (gain U (fst o)) (gain U (snd o)))
                           | pose proof (Rmax_r (gain U (fst o)) (gain U (snd o)))]; lra.
Qed.

Definition best (U : R) (o : weighted * weighted) : weighted :=
  if Rle_dec (gain U (fst o)) (gain U (snd o)) then snd o else fst o.

(** If F(U) > 0, some input mixes more than U. Paper: exact-certificate *)
Theorem bracket_is_sharp (options : list (weighted * weighted)) (U : R) :
  Forall (fun o => 0 < fst (fst o) /\ 0 < fst (snd o)) options -> 0 < F options U ->
  exists xs, Forall2 taken xs options /\ U < mean xs.
Proof.
  intros H f. exists (map (best U) options).
  assert (E : F options U = sum (map (gain U) (map (best U) options))).
  { unfold F. rewrite map_map. f_equal. apply map_ext. intros o. unfold best, Rmax.
    destruct (Rle_dec _ _); reflexivity. }
  assert (P : positive (map (best U) options)).
  { clear f E. induction H as [|o options [a b] H IH]; simpl; constructor; auto.
    unfold best. destruct (Rle_dec _ _); assumption. }
  assert (N : map (best U) options <> []).
  { intros Z. rewrite Z in E. simpl in E. lra. }
  split.
  - clear. induction options as [|o options IH]; simpl; constructor; auto.
    unfold taken, best. destruct (Rle_dec _ _); auto.
  - pose proof (mean_minus U _ P N) as D. pose proof (total_pos _ P N) as t.
    apply Rinv_0_lt_compat in t. rewrite <- E in D. unfold Rdiv in D. nra.
Qed.

(** ** Softmax *)

Lemma dot_scaled (c : R) (s v : vector R) : dotR (map (fun x => exp x / c) s) v = dotR (map exp s) v / c.
Proof.
  unfold dotR. revert v. induction s as [|x s IH]; intros [|y v]; simpl; try (unfold Rdiv; ring).
  rewrite IH. unfold Rdiv. ring.
Qed.

(** A head mixes the mean of the values with weights exp(score - top), for any number top. *)
Lemma softmax_is_mean {A : Type} (score value : A -> R) (top : R) (xs : list A) :
  xs <> [] ->
  dotR (softmax (map score xs)) (map value xs) = mean (map (fun x => (exp (score x - top), value x)) xs).
Proof.
  intros N. unfold softmax. rewrite dot_scaled. unfold mean, total. rewrite !map_map. cbn [fst snd].
  set (c := exp (- top)). assert (c0 : 0 < c) by apply exp_pos.
  assert (E : forall x, exp (score x - top) = exp (score x) * c).
  { intros x. unfold c. rewrite <- exp_plus. f_equal. }
  assert (num : sum (map (fun x => exp (score x - top) * value x) xs) = dotR (map (fun x => exp (score x)) xs) (map value xs) * c).
  { clear N. unfold dotR. induction xs as [|x xs IH]; simpl; [ring|]. rewrite IH, E. ring. }
  assert (den : sum (map (fun x => exp (score x - top)) xs) = sum (map (fun x => exp (score x)) xs) * c).
  { clear N num. induction xs as [|x xs IH]; simpl; [ring|]. rewrite IH, E. ring. }
  rewrite num, den. assert (0 < sum (map (fun x => exp (score x)) xs)).
  { clear num den. destruct xs as [|x xs]; [congruence|]. simpl.
    assert (0 <= sum (map (fun x => exp (score x)) xs)).
    { induction xs as [|y ys IH]; simpl; [lra|]. pose proof (exp_pos (score y)).
      specialize (IH ltac:(discriminate)). lra. }
    pose proof (exp_pos (score x)). lra. }
  field. lra.
Qed.
