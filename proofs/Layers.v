(** Forms behind ReLUs and affine layers.

    A ReLU whose form cannot be negative passes it on; any other gives something between 0 and its upper bound. *)

From Coq Require Import Reals QArith Qreals ZArith List Lra Lia.
From Sparsehead Require Import Head Exponential Rationals Bracket Tables Together Forms.
Import ListNotations.
Local Open Scope Z_scope.

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
