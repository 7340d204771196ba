(** Linear forms of what the heads mix, and their bounds from claims that are checked.

    A claim is a pair L <= g . m <= U about one head's part of a form, over all inputs of a pattern. It is checked by the
    bracket lemma ([Tables]), or together with the claims about the other heads ([Together]). *)

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
