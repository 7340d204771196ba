(** A checker that decides by computation that a model computes a sparse function, and the proof that it is right.

    For each pattern of the relevant bits it is given claims: bounds L <= g . m <= U of linear forms of what the heads
    mix. Each claim is checked by the bracket lemma ([Tables]). The forms are those inside the ReLUs, one after the
    other, and the output. A ReLU whose form cannot be negative passes it on; any other gives something between 0 and
    its upper bound. *)

From Coq Require Import Reals QArith Qreals ZArith List Lra Lia.
From Sparsehead Require Import Head Exponential Rationals Bracket Tables Together.
Import ListNotations.
Local Open Scope Z_scope.

Definition claims := list (Q * Q).

(** ** Linear forms of the mixed values, up to a constant that is known between two numbers *)

Record form := Form { coefficients : vector Q; low : Q; high : Q }.

Definition follows (M : vector R) (f : form) (x : R) : Prop :=
  (Q2R (low f) <= x - dotR (map Q2R (coefficients f)) M <= Q2R (high f))%R.

(** None stands for a coordinate of which nothing is known. *)
Definition known (M : vector R) (f : option form) (x : R) : Prop :=
  match f with Some f => follows M f x | None => True end.

(** The shorter vector is continued by zeros. *)
Fixpoint vadd (u v : vector Q) : vector Q :=
  match u, v with
  | [], _ => v
  | _, [] => u
  | x :: u', y :: v' => qadd x y :: vadd u' v'
  end.

Definition add_form (w : Q) (f acc : form) : form :=
  let (a, b) := if qle 0 w then (low f, high f) else (high f, low f) in
  Form (vadd (map (qmul w) (coefficients f)) (coefficients acc)) (qadd (qmul w a) (low acc)) (qadd (qmul w b) (high acc)).

(** The form of x . column + c, given those of the entries of x; entries with weight 0 need not be known. *)
Fixpoint combined (state : list (option form)) (column : vector Q) (c : Q) : option form :=
  match state, column with
  | f :: state', w :: column' =>
      match combined state' column' c with
      | None => None
      | Some acc => if is_zero w then Some acc else match f with Some f => Some (add_form w f acc) | None => None end
      end
  | _, _ => Some (Form [] c c)
  end.

Lemma dotR_nil (u : vector R) : dotR u [] = 0%R.
Proof. now destruct u. Qed.

Lemma vadd_sound (u : vector Q) : forall v M,
  dotR (map Q2R (vadd u v)) M = (dotR (map Q2R u) M + dotR (map Q2R v) M)%R.
Proof.
  induction u as [|x u IH]; intros [|y v] [|z M]; unfold dotR in *; simpl; try lra.
  rewrite qadd_sound, IH. ring.
Qed.

Lemma scaled_sound (w : Q) (u : vector Q) : forall M,
  dotR (map Q2R (map (qmul w) u)) M = (Q2R w * dotR (map Q2R u) M)%R.
Proof.
  induction u as [|x u IH]; intros [|z M]; unfold dotR in *; simpl; try lra.
  rewrite qmul_sound, IH. ring.
Qed.

Lemma qle_false (x y : Q) : qle x y = false -> (Q2R y <= Q2R x)%R.
Proof.
  unfold qle. rewrite Z.geb_leb. intros E. apply Z.leb_gt in E. apply IZR_lt in E.
  assert (Q2R (qsub y x) <= 0)%R.
  { rewrite Q2R_fraction. pose proof (den_pos (qsub y x)) as d. apply Rinv_0_lt_compat in d. unfold Rdiv. nra. }
  rewrite qsub_sound in H. lra.
Qed.

Lemma add_form_sound (M : vector R) (w : Q) (f acc : form) (x y : R) :
  follows M f x -> follows M acc y -> follows M (add_form w f acc) (x * Q2R w + y).
Proof.
  unfold follows, add_form. intros F A. destruct (qle 0 w) eqn:E; cbn [coefficients low high];
    rewrite vadd_sound, scaled_sound, !qadd_sound, !qmul_sound;
    [apply qle_sound in E | apply qle_false in E]; rewrite Q2R_0 in E; split; nra.
Qed.

Lemma combined_sound (M : vector R) (c : Q) (state : list (option form)) (xs : vector R) :
  Forall2 (known M) state xs ->
  forall column, known M (combined state column c) (dotR xs (map Q2R column) + Q2R c).
Proof.
  intros K. induction K as [|f x state xs k K IH]; intros column.
  - simpl. unfold follows. simpl. unfold dotR. simpl. lra.
  - destruct column as [|w column]; [unfold follows, dotR; simpl; unfold follows; simpl; unfold dotR; simpl; lra|].
    simpl combined. specialize (IH column). destruct (combined state column c) as [acc|]; [|exact I].
    unfold dotR in *. simpl in *. destruct (is_zero w) eqn:Z.
    + simpl. rewrite (is_zero_sound w Z). now replace (x * 0 + dot 0%R Rplus Rmult xs (map Q2R column) + Q2R c)%R
        with (dot 0%R Rplus Rmult xs (map Q2R column) + Q2R c)%R by ring.
    + destruct f as [f|]; [|exact I]. simpl. rewrite Rplus_assoc. now apply add_form_sound.
Qed.

(** ** Bounds of a form *)

Record part := Part { part_rows : list row; part_form : vector Q; part_claim : Q * Q }.

(** The coefficients, head by head, with the claims for the heads in which they are not all zero. *)
Fixpoint parts (tables : list (nat * list row)) (g : vector Q) (cl : claims) : option (list part * claims) :=
  match tables with
  | [] => Some ([], cl)
  | (n, rows) :: tables' =>
      if forallb is_zero (firstn n g) then parts tables' (skipn n g) cl
      else match cl with
           | [] => None
           | c :: cl' =>
               match parts tables' (skipn n g) cl' with
               | Some (ps, rest) => Some (Part rows (firstn n g) c :: ps, rest)
               | None => None
               end
           end
  end.

Definition upper (p : part) : summand := (part_rows p, part_form p, snd (part_claim p)).
Definition lower (p : part) : summand := (part_rows p, map qopp (part_form p), qopp (fst (part_claim p))).

(** The sum of the forms never exceeds the sum of the U: head by head, or by all heads at once. *)
Definition proved (P : Z) (pat : pattern) (hs : list summand) : bool :=
  (* not orb, both sides of which would be computed *)
  if forallb (fun '(rows, g, U) => never_exceeds P rows pat g U) hs then true else sum_never_exceeds P pat hs.

Definition qsum (xs : list Q) : Q := fold_right qadd 0%Q xs.

(** The least and the largest value of a form, from the next claims, and the claims that are left. *)
Definition range (P : Z) (tables : list (nat * list row)) (pat : pattern) (f : form) (cl : claims)
  : option ((Q * Q) * claims) :=
  match parts tables (coefficients f) cl with
  | None => None
  | Some (ps, rest) =>
      if proved P pat (map upper ps) && proved P pat (map lower ps)
      then Some ((qadd (low f) (qsum (map (fun p => fst (part_claim p)) ps)),
                  qadd (high f) (qsum (map (fun p => snd (part_claim p)) ps))), rest)
      else None
  end.

(** x is what a head with these rows mixes of the form g, on the input with bits cs. *)
Definition mixes (P : Z) (cs : list bool) (rows : list row) (g : vector Q) (x : R) : Prop :=
  exists xs, xs <> [] /\ input_of P g cs rows xs /\ x = mean xs.

Lemma opp_sound (g : vector Q) : forall M, dotR (map Q2R (map qopp g)) M = (- dotR (map Q2R g) M)%R.
Proof.
  induction g as [|x g IH]; intros [|y M]; unfold dotR in *; simpl; try lra. rewrite qopp_sound, IH. ring.
Qed.

Lemma mixes_opp (P : Z) (cs : list bool) (rows : list row) (g : vector Q) (x : R) :
  mixes P cs rows g x -> mixes P cs rows (map qopp g) (- x).
Proof.
  intros (xs & N & I & ->). exists (map (fun x => (fst x, - snd x)%R) xs). repeat split.
  - destruct xs; [congruence | discriminate].
  - clear N. induction I as [|c r x cs rows xs (w0 & ins & v) I IH]; simpl; constructor; [|exact IH].
    repeat split; cbn [fst snd]; [exact w0 | apply ins | apply ins |]. rewrite v. symmetry. apply opp_sound.
  - unfold mean, total. rewrite !map_map. cbn [fst snd].
    replace (Head.sum (map (fun x => (fst x * - snd x)%R) xs)) with (- Head.sum (map (fun x => (fst x * snd x)%R) xs))%R.
    + change (map (fun x : R * R => fst x) xs) with (map fst xs). unfold Rdiv. ring.
    + clear. induction xs as [|x xs IH]; simpl; lra.
Qed.

Lemma proved_sound (P : Z) (pat : pattern) (cs : list bool) (hs : list summand) (xs : list R) :
  0 <= P -> Forall2 allows pat cs -> Forall2 (fun '(rows, g, _) x => mixes P cs rows g x) hs xs ->
  proved P pat hs = true -> (Head.sum xs <= Head.sum (map (fun '(_, _, U) => Q2R U) hs))%R.
Proof.
  intros P0 A X. unfold proved.
  match goal with |- context [forallb ?f hs] => destruct (forallb f hs) eqn:E end; [intros _ | clear E; intros E].
  - induction X as [|[[rows g] U] x hs xs (ts & N & I & ->) X IH]; simpl in *; [lra|].
    apply andb_prop in E as [E1 E]. apply Rplus_le_compat; [eapply never_exceeds_sound; eauto | auto].
  - eapply sum_never_exceeds_sound; eauto.
Qed.

Lemma qsum_sound (xs : list Q) : Q2R (qsum xs) = Head.sum (map Q2R xs).
Proof. induction xs as [|x xs IH]; simpl; [apply Q2R_0|]. now rewrite qadd_sound, IH. Qed.

(** A table belongs to the mixed values v of a head: for every form g of them, g . v is what its tokens mix. *)
Definition belongs (P : Z) (cs : list bool) (t : nat * list row) (v : vector R) : Prop :=
  length v = fst t /\ forall g, mixes P cs (snd t) g (dotR (map Q2R g) v).

Lemma dotR_app (u : vector Q) (v w : vector R) :
  dotR (map Q2R u) (v ++ w) =
  (dotR (map Q2R (firstn (length v) u)) v + dotR (map Q2R (skipn (length v) u)) w)%R.
Proof.
  revert u. induction v as [|x v IH]; intros u.
  - rewrite dotR_nil. simpl. lra.
  - destruct u as [|y u]; unfold dotR in *; simpl; [lra|]. rewrite IH. ring.
Qed.

Lemma zeros_sound (g : vector Q) : forallb is_zero g = true -> forall v, dotR (map Q2R g) v = 0%R.
Proof.
  induction g as [|x g IH]; intros E [|y v]; unfold dotR in *; simpl in *; try reflexivity.
  apply andb_prop in E as [z E]. rewrite (is_zero_sound x z), IH by exact E. ring.
Qed.

Lemma parts_sound (P : Z) (cs : list bool) (tables : list (nat * list row)) (vs : list (vector R)) :
  Forall2 (belongs P cs) tables vs ->
  forall g cl ps rest, parts tables g cl = Some (ps, rest) ->
  exists xs, Forall2 (fun p x => mixes P cs (part_rows p) (part_form p) x) ps xs
    /\ dotR (map Q2R g) (concat vs) = Head.sum xs.
Proof.
  intros B. induction B as [|[n rows] v tables vs [L B] Bs IH]; intros g cl ps rest E.
  - simpl in E. injection E as <- <-. exists []. split; [constructor|]. simpl. apply dotR_nil.
  - simpl in E, L. subst n. simpl concat. destruct (forallb is_zero (firstn (length v) g)) eqn:Z.
    + destruct (IH _ _ _ _ E) as (xs & X & S). exists xs. split; [exact X|].
      rewrite dotR_app, (zeros_sound _ Z), S. lra.
    + destruct cl as [|c cl]; [discriminate|]. destruct (parts tables _ cl) as [[ps' rest']|] eqn:E'; [|discriminate].
      injection E as <- <-. destruct (IH _ _ _ _ E') as (xs & X & S).
      exists (dotR (map Q2R (firstn (length v) g)) v :: xs). split; [constructor; [apply B | exact X]|].
      rewrite dotR_app, S. reflexivity.
Qed.

Lemma range_sound (P : Z) (pat : pattern) (cs : list bool) (tables : list (nat * list row)) (vs : list (vector R))
    (f : form) (x : R) (cl rest : claims) (l u : Q) :
  0 <= P -> Forall2 allows pat cs -> Forall2 (belongs P cs) tables vs -> follows (concat vs) f x ->
  range P tables pat f cl = Some ((l, u), rest) -> (Q2R l <= x <= Q2R u)%R.
Proof.
  intros P0 A B F. unfold range. destruct (parts tables (coefficients f) cl) as [[ps rest']|] eqn:E; [|discriminate].
  destruct (proved _ _ _ && proved _ _ _)%bool eqn:H; [|discriminate]. intros [= <- <- <-].
  apply andb_prop in H as [up lo].
  destruct (parts_sound P cs tables vs B _ _ _ _ E) as (xs & X & S).
  apply (proved_sound P pat cs _ xs P0 A) in up.
  2:{ clear - X. induction X; simpl; constructor; assumption. }
  apply (proved_sound P pat cs _ (map Ropp xs) P0 A) in lo.
  2:{ clear - X. induction X; simpl; constructor; [now apply mixes_opp | assumption]. }
  assert (U : (Head.sum (map (fun '(_, _, U) => Q2R U) (map upper ps))
               = Head.sum (map Q2R (map (fun p => snd (part_claim p)) ps)))%R) by now rewrite !map_map.
  assert (L : (Head.sum (map (fun '(_, _, U) => Q2R U) (map lower ps))
               = - Head.sum (map Q2R (map (fun p => fst (part_claim p)) ps)))%R).
  { clear. induction ps as [|p ps IH]; simpl; [lra|]. rewrite IH, qopp_sound. lra. }
  assert (O : (Head.sum (map Ropp xs) = - Head.sum xs)%R).
  { clear. induction xs as [|x xs IH]; simpl; lra. }
  unfold follows in F. rewrite S in F. rewrite !qadd_sound, !qsum_sound. lra.
Qed.

(** ** ReLUs and layers *)

Definition relu_form (P : Z) (tables : list (nat * list row)) (pat : pattern) (f : form) (cl : claims)
  : option (form * claims) :=
  match range P tables pat f cl with
  | None => None
  | Some ((l, u), rest) => Some (if qle 0 l then f else Form [] 0%Q (if qle 0 u then u else 0%Q), rest)
  end.

Fixpoint relus (P : Z) (tables : list (nat * list row)) (pat : pattern) (state : list (option form)) (cl : claims)
  : option (list (option form) * claims) :=
  match state with
  | [] => Some ([], cl)
  | None :: state' =>
      match relus P tables pat state' cl with
      | Some (done, rest) => Some (None :: done, rest)
      | None => None
      end
  | Some f :: state' =>
      match relu_form P tables pat f cl with
      | None => None
      | Some (f', cl') =>
          match relus P tables pat state' cl' with
          | Some (done, rest) => Some (Some f' :: done, rest)
          | None => None
          end
      end
  end.

(** The coordinates that matter after each layer, from the output backwards; this only saves claims and time. *)
Fixpoint any (u v : list bool) : list bool :=
  match u, v with
  | [], _ => v
  | _, [] => u
  | x :: u', y :: v' => orb x y :: any u' v'
  end.

Definition needed_before (l : layer Q) (needed : list bool) : list bool :=
  fold_right any [] (map2 (fun column n => if (n : bool) then map (fun w => negb (is_zero w)) column else [])
                          (weights l) needed).

Fixpoint needed_after (layers : list (layer Q)) : list (list bool) :=
  match layers with
  | [] => []
  | [_] => [[true]]
  | _ :: (l :: _) as rest =>
      let later := needed_after rest in needed_before l (hd [] later) :: later
  end.

Definition layer_forms (l : layer Q) (needed : list bool) (state : list (option form)) : list (option form) :=
  map2 (fun '(column, c) n => if (n : bool) then combined state column c else None)
       (combine (weights l) (bias l)) (needed ++ repeat false (length (weights l))).

Fixpoint run (P : Z) (tables : list (nat * list row)) (pat : pattern) (layers : list (layer Q * list bool))
    (state : list (option form)) (cl : claims) : option (list (option form) * claims) :=
  match layers with
  | [] => Some (state, cl)
  | (l, needed) :: layers' =>
      let forms := layer_forms l needed state in
      match (if relu l then relus P tables pat forms cl else Some (forms, cl)) with
      | Some (state', cl') => run P tables pat layers' state' cl'
      | None => None
      end
  end.

Lemma relu_form_sound (P : Z) (pat : pattern) (cs : list bool) (tables : list (nat * list row)) (vs : list (vector R))
    (f f' : form) (x : R) (cl rest : claims) :
  0 <= P -> Forall2 allows pat cs -> Forall2 (belongs P cs) tables vs -> follows (concat vs) f x ->
  relu_form P tables pat f cl = Some (f', rest) -> follows (concat vs) f' (Rmax 0 x).
Proof.
  intros P0 A B F. unfold relu_form. destruct (range P tables pat f cl) as [[[l u] rest']|] eqn:E; [|discriminate].
  intros [= <- <-]. pose proof (range_sound P pat cs tables vs f x cl rest' l u P0 A B F E) as R.
  destruct (qle 0 l) eqn:L.
  - apply qle_sound in L. rewrite Q2R_0 in L. now rewrite Rmax_right by lra.
  - unfold follows. cbn [coefficients low high]. simpl map. unfold dotR. simpl dot.
    pose proof (Rmax_l 0 x). pose proof (Rmax_r 0 x). rewrite Q2R_0.
    split; [lra|]. rewrite Rminus_0_r. apply Rmax_lub; destruct (qle 0 u) eqn:Z;
      first [apply qle_sound in Z | apply qle_false in Z]; rewrite Q2R_0 in *; lra.
Qed.

Lemma relus_sound (P : Z) (pat : pattern) (cs : list bool) (tables : list (nat * list row)) (vs : list (vector R))
    (state : list (option form)) (xs : vector R) :
  0 <= P -> Forall2 allows pat cs -> Forall2 (belongs P cs) tables vs -> Forall2 (known (concat vs)) state xs ->
  forall cl state' rest, relus P tables pat state cl = Some (state', rest) ->
  Forall2 (known (concat vs)) state' (map (Rmax 0) xs).
Proof.
  intros P0 A B K. induction K as [|f x state xs k K IH]; intros cl state' rest E; simpl in E.
  - injection E as <- <-. constructor.
  - destruct f as [f|].
    + destruct (relu_form P tables pat f cl) as [[f' cl']|] eqn:E1; [|discriminate].
      destruct (relus P tables pat state cl') as [[done rest']|] eqn:E2; [|discriminate].
      injection E as <- <-. simpl. constructor; [|eapply IH; eauto]. simpl in k |- *. eapply relu_form_sound; eauto.
    + destruct (relus P tables pat state cl) as [[done rest']|] eqn:E2; [|discriminate].
      injection E as <- <-. simpl. constructor; [exact Logic.I | eapply IH; eauto].
Qed.

Lemma layer_forms_sound (M : vector R) (l : layer Q) (needed : list bool) (state : list (option form)) (xs : vector R) :
  Forall2 (known M) state xs ->
  Forall2 (known M) (layer_forms l needed state) (affineR (map_matrix Q2R (weights l)) (map Q2R (bias l)) xs).
Proof.
  intros K. unfold layer_forms, affineR, affine, map_matrix. rewrite map2_map.
  assert (enough : (length (weights l) <= length (needed ++ repeat false (length (weights l))))%nat).
  { rewrite app_length, repeat_length. lia. }
  revert enough. generalize (needed ++ repeat false (length (weights l))) as ns. generalize (bias l) as b.
  induction (weights l) as [|column W IH]; intros [|c b] [|n ns] enough; simpl in *; try constructor; try lia.
  - destruct n; [|exact Logic.I]. now apply combined_sound.
  - apply IH. lia.
Qed.

Lemma run_sound (P : Z) (pat : pattern) (cs : list bool) (tables : list (nat * list row)) (vs : list (vector R))
    (layers : list (layer Q * list bool)) :
  0 <= P -> Forall2 allows pat cs -> Forall2 (belongs P cs) tables vs ->
  forall state xs cl state' rest, Forall2 (known (concat vs)) state xs ->
  run P tables pat layers state cl = Some (state', rest) ->
  Forall2 (known (concat vs)) state'
    (fold_left (fun x l => apply_layer l x) (map (map_layer Q2R) (map fst layers)) xs).
Proof.
  intros P0 A B. induction layers as [|[l needed] layers IH]; intros state xs cl state' rest K E; simpl in E.
  - injection E as <- <-. exact K.
  - simpl fold_left. pose proof (layer_forms_sound (concat vs) l needed state xs K) as K1.
    unfold apply_layer. cbn [relu weights bias map_layer]. destruct (relu l).
    + destruct (relus P tables pat (layer_forms l needed state) cl) as [[s1 cl1]|] eqn:E1; [|discriminate].
      eapply IH; [|exact E]. eapply relus_sound; eauto.
    + eapply IH; [exact K1 | exact E].
Qed.

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
