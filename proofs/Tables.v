(** Tables of tokens with enclosed weights, and bounds of what a head mixes that are checked with integers.

    A table holds, for each position and each bit, the weight exp(score - largest score) between two integers in units
    of 2^-P, and the value as a rational vector. [never_exceeds] decides F(U) <= 0 of the bracket lemma from above. *)

From Coq Require Import Reals QArith Qreals ZArith List Lra Lia.
From Sparsehead Require Import Head Exponential Rationals Bracket.
Import ListNotations.
Local Open Scope Z_scope.

(** ** What is known of a token: its weight, enclosed, and its value *)

Record entry := Entry { weight : Z * Z; value : vector Q }.
Definition row := (entry * entry)%type.  (* the tokens with bit 0 and bit 1 of a position *)
Definition pick {A : Type} (r : A * A) (c : bool) : A := if c then snd r else fst r.

(** What a pattern says of a position: the bit, or nothing. *)
Definition pattern := list (option bool).
Definition allows (p : option bool) (c : bool) : Prop := match p with Some x => c = x | None => True end.

(** ** The sum F(U) over a table of tokens, from above *)

Definition entry_gain (P : Z) (g : vector Q) (u : Z) (e : entry) : Z :=
  let a := ceil_at P (dotQ g (value e)) - u in a * (if 0 <? a then snd (weight e) else fst (weight e)).

Definition row_gain (P : Z) (g : vector Q) (u : Z) (p : option bool) (r : row) : Z :=
  match p with
  | Some c => entry_gain P g u (pick r c)
  | None => Z.max (entry_gain P g u (fst r)) (entry_gain P g u (snd r))
  end.

Definition total_gain (P : Z) (rows : list row) (ps : pattern) (g : vector Q) (u : Z) : Z :=
  fold_right Z.add 0 (map2 (row_gain P g u) ps rows).

Definition never_exceeds (P : Z) (rows : list row) (ps : pattern) (g : vector Q) (U : Q) : bool :=
  total_gain P rows ps g (floor_at P U) <=? 0.

(** A real token fits an entry: its weight is enclosed, and g . value is its value. *)
Definition fits (P : Z) (g : vector Q) (e : entry) (x : weighted) : Prop :=
  (0 < fst x)%R /\ inside P (weight e) (fst x) /\ snd x = dotR (map Q2R g) (map Q2R (value e)).

(** The real tokens of an input whose bits are cs, position by position. *)
Inductive input_of (P : Z) (g : vector Q) : list bool -> list row -> list weighted -> Prop :=
  | no_tokens : input_of P g [] [] []
  | one_more c r x cs rows xs :
      fits P g (pick r c) x -> input_of P g cs rows xs -> input_of P g (c :: cs) (r :: rows) (x :: xs).

Lemma entry_gain_sound (P : Z) (g : vector Q) (U : Q) (e : entry) (x : weighted) :
  0 <= P -> fits P g e x ->
  (gain (Q2R U) x * (IZR (2 ^ P) * IZR (2 ^ P)) <= IZR (entry_gain P g (floor_at P U) e))%R.
Proof.
  intros P0 (w0 & [wl wh] & v). unfold gain. rewrite v, <- dotQ_sound. unfold entry_gain.
  pose proof (ceil_at_ge P (dotQ g (value e)) P0) as up. pose proof (floor_at_le P U P0) as down.
  set (a := ceil_at P (dotQ g (value e)) - floor_at P U).
  assert (A : ((Q2R (dotQ g (value e)) - Q2R U) * IZR (2 ^ P) <= IZR a)%R) by (unfold a; rewrite minus_IZR; lra).
  assert (o : (0 < IZR (2 ^ P))%R) by (apply IZR_lt, pow2_pos, P0).
  set (one := IZR (2 ^ P)) in *. set (y := (Q2R (dotQ g (value e)) - Q2R U)%R) in *. set (w := fst x) in *.
  replace (w * y * (one * one))%R with ((w * one) * (y * one))%R by ring.
  assert (wpos : (0 < w * one)%R) by now apply Rmult_lt_0_compat.
  rewrite mult_IZR. destruct (Z.ltb_spec 0 a) as [pos | neg].
  - apply IZR_lt in pos. nra.
  - apply IZR_le in neg. nra.
Qed.

Lemma row_gain_sound (P : Z) (g : vector Q) (u : Z) (p : option bool) (c : bool) (r : row) :
  allows p c -> entry_gain P g u (pick r c) <= row_gain P g u p r.
Proof.
  destruct p as [x|]; simpl; [intros ->; lia|]. intros _. destruct c; simpl; lia.
Qed.

Lemma total_gain_sound (P : Z) (g : vector Q) (U : Q) (ps : pattern) (cs : list bool) (rows : list row) xs :
  0 <= P -> Forall2 allows ps cs -> input_of P g cs rows xs ->
  (Head.sum (map (gain (Q2R U)) xs) * (IZR (2 ^ P) * IZR (2 ^ P)) <= IZR (total_gain P rows ps g (floor_at P U)))%R.
Proof.
  intros P0 A I. revert ps A. induction I as [|c r x cs rows xs fi I IH]; intros ps A;
    inversion A as [|p ? ps' ? al A']; subst; unfold total_gain in *; simpl in *; [lra|].
  rewrite plus_IZR, Rmult_plus_distr_r. apply Rplus_le_compat; [|now apply IH].
  eapply Rle_trans; [apply entry_gain_sound; eauto|]. apply IZR_le. now apply row_gain_sound.
Qed.

Lemma input_positive (P : Z) (g : vector Q) (cs : list bool) (rows : list row) (xs : list weighted) :
  input_of P g cs rows xs -> positive xs.
Proof. intros I. induction I as [|c r x cs rows xs [w0 _] I IH]; constructor; assumption. Qed.

(** Checked with integers, no input of the pattern mixes more than U. *)
Theorem never_exceeds_sound (P : Z) (g : vector Q) (U : Q) (ps : pattern) (cs : list bool) (rows : list row) xs :
  0 <= P -> xs <> [] -> Forall2 allows ps cs -> input_of P g cs rows xs -> never_exceeds P rows ps g U = true ->
  (mean xs <= Q2R U)%R.
Proof.
  intros P0 N A I E. apply mean_le; [now apply (input_positive P g cs rows) | exact N |].
  apply Z.leb_le, IZR_le in E. pose proof (total_gain_sound P g U ps cs rows xs P0 A I) as S.
  assert (o : (0 < IZR (2 ^ P))%R) by (apply IZR_lt, pow2_pos, P0).
  assert (0 < IZR (2 ^ P) * IZR (2 ^ P))%R by now apply Rmult_lt_0_compat.
  apply Rmult_le_reg_r with (IZR (2 ^ P) * IZR (2 ^ P))%R; lra.
Qed.

(** ** The table of a head *)

(** exp((s - top) / temperature), for s <= top. *)
Definition weight_of (P : Z) (temperature top s : Q) : Z * Z :=
  let x := qsub top s in
  exp_bounds P (Qnum x * Zpos (Qden temperature)) (Zpos (Qden x) * Qnum temperature).

Definition same (x y : Q) : bool := (Qnum x =? Qnum y) && (Pos.eqb (Qden x) (Qden y)).

(** Different tokens often have the same score, whose exponential is computed once. *)
Definition distinct (xs : list Q) : list Q :=
  fold_left (fun known x => if existsb (same x) known then known else x :: known) xs [].

Definition look_up (known : list (Q * (Z * Z))) (otherwise : Q -> Z * Z) (s : Q) : Z * Z :=
  match find (fun e => same (fst e) s) known with Some e => snd e | None => otherwise s end.

Definition token_pairs (m : model Q) : list (vector Q * vector Q) :=
  map (fun p => (token 0%Q qadd (bits_as m) p false, token 0%Q qadd (bits_as m) p true)) (positions m)
  ++ (if attends_cls m then [(cls m, cls m)] else []).

Definition all_scores (m : model Q) (h : head Q) : list Q :=
  concat (map (fun xy => [scoreQ m h (fst xy); scoreQ m h (snd xy)]) (token_pairs m)).

Definition largest (xs : list Q) : Q := fold_left (fun top x => if qle x top then top else x) xs (hd 0%Q xs).

(** The table, if every score is at most the largest one. *)
Definition table (P : Z) (m : model Q) (h : head Q) : option (list row) :=
  let ss := all_scores m h in
  let top := largest ss in
  let compute := weight_of P (temperature m) top in
  let known := map (fun s => (s, compute s)) (distinct ss) in
  let entry_of := fun x => Entry (look_up known compute (scoreQ m h x)) (affineQ (W_V h) (b_V h) x) in
  if forallb (fun s => qle s top) ss
  then Some (map (fun xy => (entry_of (fst xy), entry_of (snd xy))) (token_pairs m))
  else None.

Lemma same_eq (x y : Q) : same x y = true -> x = y.
Proof.
  unfold same. intros E. apply andb_prop in E as [n d]. apply Z.eqb_eq in n. apply Pos.eqb_eq in d.
  destruct x, y. simpl in *. congruence.
Qed.

Lemma look_up_sound (xs : list Q) (compute : Q -> Z * Z) (s : Q) :
  look_up (map (fun x => (x, compute x)) xs) compute s = compute s.
Proof.
  unfold look_up. destruct (find _ _) as [e|] eqn:E; [|reflexivity].
  apply find_some in E as [I E]. apply in_map_iff in I as (x & <- & _). simpl in *. now apply same_eq in E as ->.
Qed.

Lemma weight_of_sound (P : Z) (temperature top s : Q) :
  0 <= P -> 0 < Qnum temperature -> (Q2R s <= Q2R top)%R ->
  inside P (weight_of P temperature top s) (exp (Q2R s / Q2R temperature - Q2R top / Q2R temperature)).
Proof.
  intros P0 t0 le. unfold weight_of. set (x := qsub top s).
  assert (x0 : 0 <= Qnum x).
  { assert (0 <= Q2R x)%R by (unfold x; rewrite qsub_sound; lra).
    apply le_IZR. rewrite Q2R_fraction in H. pose proof (den_pos x) as d. apply Rinv_0_lt_compat in d as d'.
    apply Rmult_le_reg_r with (/ IZR (Zpos (Qden x)))%R; [exact d'|]. lra. }
  assert (T : (0 < IZR (Qnum temperature))%R) by now apply IZR_lt.
  pose proof (den_pos temperature). pose proof (den_pos x).
  replace (Q2R s / Q2R temperature - Q2R top / Q2R temperature)%R with
    (- (IZR (Qnum x * Zpos (Qden temperature)) / IZR (Zpos (Qden x) * Qnum temperature)))%R.
  - apply exp_bounds_sound; [exact P0 | nia | nia].
  - rewrite !mult_IZR.
    replace (IZR (Qnum x)) with (Q2R x * IZR (Zpos (Qden x)))%R by (rewrite Q2R_fraction; field; lra).
    unfold x at 1. rewrite qsub_sound, (Q2R_fraction temperature). field. repeat split; lra.
Qed.

(** The tokens of an input, with real weights and the values of a linear form. *)
Definition real_score (m : model Q) (h : head Q) (x : vector R) : R :=
  (raw_score 0 Rplus Rmult (real_model m) (map_head Q2R h) x / temperature (real_model m))%R.

Definition real_value (h : head Q) (x : vector R) : vector R :=
  affineR (W_V (map_head Q2R h)) (b_V (map_head Q2R h)) x.

Definition real_tokens (m : model Q) (h : head Q) (g : vector Q) (top : R) (xs : list (vector R)) : list weighted :=
  map (fun x => (exp (real_score m h x - top), dotR (map Q2R g) (real_value h x))%R) xs.

Lemma pair_scores (m : model Q) (h : head Q) (xy : vector Q * vector Q) (c : bool) :
  In xy (token_pairs m) -> In (scoreQ m h (pick xy c)) (all_scores m h).
Proof.
  intros I. unfold all_scores. apply in_concat. exists [scoreQ m h (fst xy); scoreQ m h (snd xy)].
  split; [now apply (in_map (fun xy => [scoreQ m h (fst xy); scoreQ m h (snd xy)]))|]. destruct c; simpl; auto.
Qed.

(** The tokens of an input are a choice from the pairs. *)
Lemma tokens_are_picked (m : model Q) (b : list bool) :
  length b = length (positions m) ->
  exists cs, tokensR (real_model m) b = map (map Q2R) (map2 pick (token_pairs m) cs)
    /\ length cs = length (token_pairs m) /\ (cs = b \/ cs = b ++ [false]).
Proof.
  intros L. unfold tokensR, tokens, token_pairs. cbn [bits_as positions attends_cls cls real_model map_model].
  assert (E : map2 (token 0%R Rplus (map_encoding Q2R (bits_as m))) (map_matrix Q2R (positions m)) b =
    map (map Q2R) (map2 pick (map (fun p => (token 0%Q qadd (bits_as m) p false, token 0%Q qadd (bits_as m) p true))
      (positions m)) b)).
  { revert b L. induction (positions m) as [|p ps IH]; intros [|x b] L; simpl in *; try reflexivity; try discriminate.
    f_equal; [|apply IH; lia]. destruct x; simpl; now rewrite token_sound. }
  destruct (attends_cls m).
  - exists (b ++ [false]). rewrite E. repeat split; auto.
    + clear E. revert b L.
      induction (positions m) as [|p ps IH]; intros [|x b] L; simpl in *; try reflexivity; try discriminate.
      f_equal. apply IH. lia.
    + rewrite !app_length, map_length. simpl. lia.
  - exists b. rewrite E, !app_nil_r. repeat split; auto. now rewrite map_length.
Qed.

Lemma table_sound (P : Z) (m : model Q) (h : head Q) (rows : list row) (g : vector Q) :
  0 <= P -> 0 < Qnum (temperature m) -> table P m h = Some rows ->
  forall cs, length cs = length (token_pairs m) ->
  input_of P g cs rows
    (real_tokens m h g (Q2R (largest (all_scores m h)) / Q2R (temperature m)) (map (map Q2R) (map2 pick (token_pairs m) cs))).
Proof.
  intros P0 t0. unfold table. destruct (forallb _ _) eqn:B; [|discriminate]. intros [= <-].
  rewrite forallb_forall in B.
  assert (S : forall xy, In xy (token_pairs m) -> forall c,
    (Q2R (scoreQ m h (pick xy c)) <= Q2R (largest (all_scores m h)))%R).
  { intros xy I c. apply qle_sound, B, pair_scores, I. }
  clear B. revert S. generalize (token_pairs m) as pairs. induction pairs as [|xy pairs IH]; intros S cs L.
  - destruct cs; [constructor | discriminate].
  - destruct cs as [|c cs]; [discriminate|]. simpl in L |- *.
    apply one_more; [|apply IH; [intros; apply S; simpl; auto | lia]].
    rewrite !look_up_sound. specialize (S xy (or_introl eq_refl) c).
    assert (E : forall e0 e1 : entry, pick (e0, e1) c = if c then e1 else e0) by reflexivity. rewrite E.
    assert (G : forall x : vector Q, (Q2R (scoreQ m h x) <= Q2R (largest (all_scores m h)))%R ->
      fits P g (Entry (weight_of P (temperature m) (largest (all_scores m h)) (scoreQ m h x)) (affineQ (W_V h) (b_V h) x))
        (exp (real_score m h (map Q2R x) - Q2R (largest (all_scores m h)) / Q2R (temperature m)),
         dotR (map Q2R g) (real_value h (map Q2R x)))%R).
    { intros x le. repeat split; cbn [fst snd weight value].
      - apply exp_pos.
      - unfold real_score. rewrite <- score_sound. cbn [temperature real_model map_model].
        now apply weight_of_sound.
      - unfold real_score. rewrite <- score_sound. cbn [temperature real_model map_model].
        now apply weight_of_sound.
      - unfold real_value. cbn [W_V b_V map_head]. now rewrite affineQ_sound. }
    destruct c; apply G; exact S.
Qed.
