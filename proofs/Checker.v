(** A checker that decides by computation that a model computes a sparse function, and the proof that it is right.

    For each pattern of the relevant bits it is given claims: bounds L <= g . m <= U of linear forms of what the heads
    mix, which are checked ([Forms]). The forms are those inside the ReLUs, one after the other ([Layers]), and the
    output. *)

From Coq Require Import Reals QArith Qreals ZArith List Lra Lia.
From Sparsehead Require Import Head Exponential Rationals Bracket Tables Together Forms Layers.
Import ListNotations.
Local Open Scope Z_scope.

(** ** The checker *)

Definition unit_form (i : nat) : form := Form (repeat 0%Q i ++ [1%Q]) 0%Q 0%Q.

Definition pattern_of (T : nat) (support : list nat) (bits : list bool) (cls : bool) : pattern :=
  map (fun t => option_map snd (find (fun e => Nat.eqb (fst e) t) (combine support bits))) (seq 0 T)
  ++ (if cls then [Some false] else []).

Definition width (h : head Q) : nat := Nat.min (length (W_V h)) (length (b_V h)).

Fixpoint all_tables (P : Z) (m : model Q) (hs : list (head Q)) : option (list (nat * list row)) :=
  match hs with
  | [] => Some []
  | h :: hs' =>
      match table P m h, all_tables P m hs' with
      | Some rows, Some tables => Some ((width h, rows) :: tables)
      | _, _ => None
      end
  end.

Definition rational_bit (b : bool) : Q := if b then 1%Q else 0%Q.

(** Whether all outputs of the inputs of a pattern are within eps of the value. *)
Definition pattern_holds (P : Z) (m : model Q) (tables : list (nat * list row)) (layers : list (layer Q * list bool))
    (pat : pattern) (value : bool) (eps : Q) (cl : claims) : bool :=
  let forms := map (fun i => Some (unit_form i)) (seq 0 (list_sum (map fst tables))) in
  match (if relu_of_mix m then relus P tables pat forms cl else Some (forms, cl)) with
  | None => false
  | Some (state, cl1) =>
      match run P tables pat layers state cl1 with
      | Some (Some f :: _, cl2) =>
          match range P tables pat f cl2 with
          | Some ((l, u), []) => qle (qsub (rational_bit value) eps) l && qle u (qadd (rational_bit value) eps)
          | _ => false
          end
      | _ => false
      end
  end.

Fixpoint all_bits (s : nat) : list (list bool) :=
  match s with
  | O => [[]]
  | S s' => map (cons false) (all_bits s') ++ map (cons true) (all_bits s')
  end.

Fixpoint for_each {A B : Type} (f : A -> B -> bool) (xs : list A) (ys : list B) : bool :=
  match xs, ys with
  | [], [] => true
  | x :: xs', y :: ys' => f x y && for_each f xs' ys'
  | _, _ => false
  end.

(** The claims are one list for each pattern of the support, from 0..0 to 1..1. *)
Definition check (P : Z) (T : nat) (m : model Q) (support : list nat) (rule : list bool -> bool) (eps : Q)
    (all_claims : list claims) : bool :=
  (0 <=? P) && Nat.eqb T (length (positions m)) && (0 <? Qnum (temperature m))
  && negb (Nat.eqb (length (token_pairs m)) 0)
  && match all_tables P m (heads m) with
     | None => false
     | Some tables =>
         let layers := combine (decoder m) (needed_after (decoder m) ++ repeat [] (length (decoder m))) in
         for_each
           (fun bits cl =>
              pattern_holds P m tables layers (pattern_of T support bits (attends_cls m)) (rule bits) eps cl)
           (all_bits (length support)) all_claims
     end.

(** ** It is right *)

Lemma mixed_is_linear (m : model Q) (h : head Q) (b : list bool) (g : vector R) :
  dotR g (mixed (real_model m) b (map_head Q2R h)) =
  dotR (softmax (map (real_score m h) (tokensR (real_model m) b)))
       (map (fun x => dotR g (real_value h x)) (tokensR (real_model m) b)).
Proof.
  unfold mixed, real_value, affineR, affine.
  change (scores (real_model m) (map_head Q2R h) b) with (map (real_score m h) (tokensR (real_model m) b)).
  set (p := softmax _). set (xs := tokensR (real_model m) b). clearbody p xs.
  assert (lin : forall (c : R) (v r : vector R -> R) (p : vector R) xs,
    dotR p (map (fun x => c * v x + r x)%R xs) = (c * dotR p (map v xs) + dotR p (map r xs))%R).
  { clear. intros c v r p. unfold dotR. induction p as [|y p IH]; intros [|x xs]; simpl; try lra. rewrite IH. ring. }
  assert (null : forall (p : vector R) (xs : list (vector R)), dotR p (map (fun _ => 0%R) xs) = 0%R).
  { clear. unfold dotR. induction p as [|y p IH]; intros [|x xs]; simpl; try lra. rewrite IH. ring. }
  cbn [W_V b_V map_head]. generalize (map Q2R (b_V h)) as c. generalize (map_matrix Q2R (W_V h)) as W.
  revert g. induction g as [|y g IH]; intros W c.
  - unfold dotR at 1 3. simpl. symmetry. apply null.
  - destruct W as [|w W]; [symmetry; apply null|]. destruct c as [|c0 c]; [symmetry; apply null|].
    simpl map2. specialize (IH W c). unfold dotR at 1. simpl dot. fold (dotR).
    change (dot 0%R Rplus Rmult g) with (dotR g). rewrite IH.
    rewrite <- (lin y (fun x => dotR x w + c0)%R). reflexivity.
Qed.

Lemma mixed_length (m : model Q) (h : head Q) (b : list bool) :
  length (mixed (real_model m) b (map_head Q2R h)) = width h.
Proof.
  unfold mixed, width. cbn [W_V b_V map_head].
  replace (length (W_V h)) with (length (map_matrix Q2R (W_V h))) by apply map_length.
  replace (length (b_V h)) with (length (map Q2R (b_V h))) by apply map_length.
  generalize (map_matrix Q2R (W_V h)) as W. generalize (map Q2R (b_V h)) as c.
  intros c W. revert c. induction W as [|w W IH]; intros [|x c]; simpl; try reflexivity. now rewrite IH.
Qed.

Lemma all_tables_sound (P : Z) (m : model Q) (b cs : list bool) :
  0 <= P -> 0 < Qnum (temperature m) -> token_pairs m <> [] ->
  tokensR (real_model m) b = map (map Q2R) (map2 pick (token_pairs m) cs) -> length cs = length (token_pairs m) ->
  forall hs tables, all_tables P m hs = Some tables ->
  Forall2 (belongs P cs) tables (map (mixed (real_model m) b) (map (map_head Q2R) hs)).
Proof.
  intros P0 t0 N toks L. induction hs as [|h hs IH]; intros tables E; simpl in E.
  - injection E as <-. constructor.
  - destruct (table P m h) as [rows|] eqn:T; [|discriminate].
    destruct (all_tables P m hs) as [tables'|]; [|discriminate]. injection E as <-. simpl.
    constructor; [|now apply IH]. split; [apply mixed_length|]. intros g. cbn [snd].
    exists (real_tokens m h g (Q2R (largest (all_scores m h)) / Q2R (temperature m))
             (map (map Q2R) (map2 pick (token_pairs m) cs))).
    assert (nonempty : map (map Q2R) (map2 pick (token_pairs m) cs) <> []).
    { destruct (token_pairs m); [congruence|]. destruct cs; simpl in *; discriminate. }
    repeat split.
    + unfold real_tokens. destruct (map (map Q2R) _); [congruence | discriminate].
    + now apply table_sound.
    + rewrite mixed_is_linear, toks. now apply softmax_is_mean.
Qed.

Lemma pattern_of_sound (T : nat) (support : list nat) (b cs : list bool) (cls : bool) :
  length b = T -> cs = (if cls then b ++ [false] else b) ->
  Forall2 allows (pattern_of T support (map (fun i => nth i b false) support) cls) cs.
Proof.
  intros L ->.
  assert (body : Forall2 allows (map (fun t => option_map snd (find (fun e => Nat.eqb (fst e) t)
      (combine support (map (fun i => nth i b false) support)))) (seq 0 T)) b).
  { assert (E : map (fun t => nth t b false) (seq 0 T) = b).
    { rewrite <- L. clear. induction b as [|x b IH]; [reflexivity|]. simpl. f_equal.
      rewrite <- seq_shift, map_map. exact IH. }
    assert (G : forall ts, Forall2 allows (map (fun t => option_map snd (find (fun e => Nat.eqb (fst e) t)
      (combine support (map (fun i => nth i b false) support)))) ts) (map (fun t => nth t b false) ts)).
    { induction ts as [|t ts IH]; simpl; constructor; [|exact IH].
      destruct (find _ _) as [e|] eqn:F; simpl; [|exact Logic.I].
      apply find_some in F as [I F]. apply Nat.eqb_eq in F.
      clear - I F. induction support as [|i support IH]; simpl in I; [contradiction|].
      destruct I as [<- | I]; [simpl in *; now subst | auto]. }
    specialize (G (seq 0 T)). now rewrite E in G. }
  unfold pattern_of. destruct cls; [|now rewrite app_nil_r].
  apply Forall2_app; [exact body|]. constructor; [reflexivity | constructor].
Qed.

Lemma units_sound (M : vector R) :
  Forall2 (known M) (map (fun i => Some (unit_form i)) (seq 0 (length M))) M.
Proof.
  assert (G : forall (tail front : vector R),
    Forall2 (known (front ++ tail)) (map (fun i => Some (unit_form i)) (seq (length front) (length tail))) tail).
  { induction tail as [|x tail IH]; intros front; simpl; constructor.
    - simpl. unfold follows, unit_form. cbn [coefficients low high]. rewrite Q2R_0.
      assert (E : dotR (map Q2R (repeat 0%Q (length front) ++ [1%Q])) (front ++ x :: tail) = x).
      { induction front as [|y front IHf]; unfold dotR in *; simpl.
        - replace (Q2R 1) with 1%R by (unfold Q2R; simpl; lra). ring.
        - rewrite Q2R_0, IHf. ring. }
      rewrite E. lra.
    - specialize (IH (front ++ [x])). rewrite <- app_assoc in IH. simpl in IH.
      rewrite app_length in IH. simpl in IH. now rewrite Nat.add_1_r in IH. }
  exact (G M []).
Qed.

Lemma rational_bit_sound (b : bool) : Q2R (rational_bit b) = real_bit b.
Proof. destruct b; unfold Q2R; simpl; lra. Qed.

Lemma all_bits_complete (bits : list bool) : In bits (all_bits (length bits)).
Proof.
  induction bits as [|x bits IH]; simpl; [auto|]. apply in_or_app.
  destruct x; [right | left]; now apply in_map.
Qed.

Lemma for_each_sound {A B : Type} (f : A -> B -> bool) (xs : list A) :
  forall ys, for_each f xs ys = true -> forall x, In x xs -> exists y, f x y = true.
Proof.
  induction xs as [|z xs IH]; intros [|y ys] E x I; simpl in *; try contradiction; try discriminate.
  apply andb_prop in E as [E1 E2]. destruct I as [<- | I]; eauto.
Qed.

Lemma fst_combine {A B : Type} (u : list A) : forall v : list B, (length u <= length v)%nat -> map fst (combine u v) = u.
Proof. induction u as [|x u IH]; intros [|y v] L; simpl in *; try reflexivity; try lia. f_equal. apply IH. lia. Qed.

(** If the checker says true, the model computes the sparse function within eps on all 2^T inputs, over the reals.
    Paper: exact-certificate *)
Theorem check_sound (P : Z) (T : nat) (m : model Q) (support : list nat) (rule : list bool -> bool) (eps : Q)
    (all_claims : list claims) :
  check P T m support rule eps all_claims = true -> computes T m (sparse support rule) eps.
Proof.
  unfold check. intros E b L. rewrite !Bool.andb_true_iff in E. destruct E as [[[[P0 E1] t0] N] E].
  apply Z.leb_le in P0. apply Nat.eqb_eq in E1. apply Z.ltb_lt in t0. apply Bool.negb_true_iff, Nat.eqb_neq in N.
  assert (nonempty : token_pairs m <> []) by (intros Z; rewrite Z in N; auto).
  destruct (all_tables P m (heads m)) as [tables|] eqn:Et; [|discriminate].
  set (bits := map (fun i => nth i b false) support).
  destruct (for_each_sound _ _ _ E bits) as (cl & H).
  { replace (length support) with (length bits) by apply map_length. apply all_bits_complete. }
  clear E. unfold sparse. fold bits.
  destruct (tokens_are_picked m b) as (cs & toks & Lc & Ec); [congruence|].
  assert (A : Forall2 allows (pattern_of T support bits (attends_cls m)) cs).
  { apply pattern_of_sound; [exact L|]. destruct (attends_cls m) eqn:C.
    - destruct Ec as [-> | ->]; [|reflexivity]. exfalso.
      unfold token_pairs in Lc. rewrite C, app_length, map_length in Lc. simpl in Lc. lia.
    - destruct Ec as [-> | ->]; [reflexivity|]. exfalso.
      unfold token_pairs in Lc. rewrite C, app_length, !app_length, map_length in Lc. simpl in Lc. lia. }
  pose proof (all_tables_sound P m b cs P0 t0 nonempty toks Lc _ _ Et) as B.
  set (vs := map (mixed (real_model m) b) (map (map_head Q2R) (heads m))) in *.
  unfold pattern_holds in H.
  assert (K : Forall2 (known (concat vs)) (map (fun i => Some (unit_form i)) (seq 0 (list_sum (map fst tables)))) (concat vs)).
  { replace (list_sum (map fst tables)) with (length (concat vs)); [apply units_sound|].
    clear - B. induction B as [|t v tables vs [Lv _] B IH]; simpl; [reflexivity|]. rewrite app_length, IH. lia. }
  set (pat := pattern_of T support bits (attends_cls m)) in *.
  set (layers := combine (decoder m) _) in H.
  assert (El : map fst layers = decoder m).
  { apply fst_combine. rewrite app_length, repeat_length. lia. }
  destruct (if relu_of_mix m then _ else _) as [[state cl1]|] eqn:E0; [|discriminate].
  assert (K0 : Forall2 (known (concat vs)) state (mixed_by_all (real_model m) b)).
  { unfold mixed_by_all. cbn [heads relu_of_mix real_model map_model]. fold vs. destruct (relu_of_mix m).
    - eapply relus_sound; eauto.
    - injection E0 as <- <-. exact K. }
  destruct (run P tables pat layers state cl1) as [[state' cl2]|] eqn:E2; [|discriminate].
  pose proof (run_sound P pat cs tables vs layers P0 A B _ _ _ _ _ K0 E2) as K2. rewrite El in K2.
  destruct state' as [|[f|] state']; try discriminate.
  destruct (range P tables pat f cl2) as [[[l u] [|? ?]]|] eqn:Er; try discriminate.
  apply andb_prop in H as [lo hi]. apply qle_sound in lo, hi.
  rewrite qsub_sound, rational_bit_sound in lo. rewrite qadd_sound, rational_bit_sound in hi.
  unfold output. cbn [decoder real_model map_model]. change (map_model Q2R m) with (real_model m).
  inversion K2 as [|? y ? ys k K3 Ef Ey]. simpl hd.
  pose proof (range_sound P pat cs tables vs f y cl2 [] l u P0 A B k Er). apply Rabs_le. lra.
Qed.
