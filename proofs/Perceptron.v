(** A cover of linear functions by the perceptron (theory 3.1).

    To approximate x -> w . x on N points, start at 0 and, while a point is off by more than eps, move by eps/b^2 along it,
    and back to length a if that is exceeded. Every move brings the centre nearer to w by more than eps^2/b^2 in squares,
    so there are fewer than (a b / eps)^2 moves. *)

From Coq Require Import Reals List Lra Lia.
From Sparsehead Require Import Head.
Import ListNotations.
Local Open Scope R_scope.

(** A space with a scalar product; of the laws of a vector space none but these is needed. *)
Record product_space := ProductSpace {
  point :> Type;
  zero : point;
  plus : point -> point -> point;
  scale : R -> point -> point;
  ip : point -> point -> R;
  ip_comm : forall x y, ip x y = ip y x;
  ip_zero : forall x, ip zero x = 0;
  ip_plus : forall x y z, ip (plus x y) z = ip x z + ip y z;
  ip_scale : forall c x y, ip (scale c x) y = c * ip x y;
  ip_square : forall x, 0 <= ip x x;
}.

Arguments zero {_}. Arguments plus {_}. Arguments scale {_}. Arguments ip {_}.

Section Perceptron.
  Context {V : product_space}.

  (** The squared distance of w and v. *)
  Definition apart (w v : V) : R := ip w w - 2 * ip w v + ip v v.

  Lemma apart_nonnegative (w v : V) : 0 <= apart w v.
  Proof.
    pose proof (ip_square V (plus w (scale (-1) v))) as S.
    rewrite ip_plus, ip_scale, !(ip_comm V _ (plus _ _)), !ip_plus, !ip_scale, (ip_comm V v w) in S. unfold apart. lra.
  Qed.

  (** A step c along x, or against it, or none. *)
  Definition moves (c : R) (xs : list V) : list V := zero :: flat_map (fun x => [scale c x; scale (- c) x]) xs.

  (** The nearest vector of length at most a. *)
  Definition project (a : R) (v : V) : V := if Rle_dec (ip v v) (a ^ 2) then v else scale (a / sqrt (ip v v)) v.

  Fixpoint centres (a c : R) (xs : list V) (k : nat) : list V :=
    match k with
    | O => [zero]
    | S k' => flat_map (fun v => map (fun m => project a (plus v m)) (moves c xs)) (centres a c xs k')
    end.

  Lemma ip_scaled (s : R) (v w : V) : ip (scale s v) (scale s v) = s ^ 2 * ip v v /\ ip w (scale s v) = s * ip w v.
  Proof. rewrite ip_scale, !(ip_comm V _ (scale s v)), !ip_scale, (ip_comm V v w). split; ring. Qed.

  (** Beyond length a: the length n, and what the projection does to the squared distance. *)
  Lemma project_long (a : R) (v : V) :
    0 <= a -> ~ ip v v <= a ^ 2 -> exists n, a < n /\ n ^ 2 = ip v v /\ project a v = scale (a / n) v.
  Proof.
    intros a0 long. exists (sqrt (ip v v)). pose proof (ip_square V v) as S. apply Rnot_le_lt in long.
    assert (E : sqrt (ip v v) ^ 2 = ip v v) by (simpl; rewrite Rmult_1_r; now apply sqrt_sqrt).
    pose proof (sqrt_pos (ip v v)). split; [|split; [exact E|]].
    - apply Rnot_le_lt. intros le. assert (sqrt (ip v v) ^ 2 <= a ^ 2) by (apply pow_incr; lra). lra.
    - unfold project. destruct (Rle_dec (ip v v) (a ^ 2)); [lra | reflexivity].
  Qed.

  Lemma project_inside (a : R) (v : V) : 0 <= a -> ip (project a v) (project a v) <= a ^ 2.
  Proof.
    intros a0. destruct (Rle_dec (ip v v) (a ^ 2)) as [le | long].
    - unfold project. destruct (Rle_dec (ip v v) (a ^ 2)); [exact le | contradiction].
    - destruct (project_long a v a0 long) as (n & n0 & N & ->). rewrite (proj1 (ip_scaled _ v v)), <- N.
      right. field. lra.
  Qed.

  Lemma project_nearer (a : R) (w v : V) : 0 <= a -> ip w w <= a ^ 2 -> apart w (project a v) <= apart w v.
  Proof.
    intros a0 W. destruct (Rle_dec (ip v v) (a ^ 2)) as [le | long].
    - unfold project. destruct (Rle_dec (ip v v) (a ^ 2)); [lra | contradiction].
    - destruct (project_long a v a0 long) as (n & n0 & N & ->). unfold apart.
      rewrite (proj1 (ip_scaled _ v v)), (proj2 (ip_scaled _ v w)), <- N.
      assert (CS : ip w v <= a * n).
      { (* a n w v is at most half of n^2 w w + a^2 n^2 *)
        destruct (Req_dec a 0) as [-> | an].
        - assert (ip w w = 0) by (pose proof (ip_square V w); lra).
          (* then w v > 0 is impossible, because apart (t w) v >= 0 for every t *)
          destruct (Rle_dec (ip w v) 0) as [? | pos]; [lra|].
          pose proof (apart_nonnegative (scale (n ^ 2 / ip w v) w) v) as A. unfold apart in A.
          rewrite (proj1 (ip_scaled _ w v)), (ip_comm V (scale _ w) v), (proj2 (ip_scaled _ w v)), (ip_comm V v w), H, <- N in A.
          replace (2 * (n ^ 2 / ip w v * ip w v)) with (2 * n ^ 2) in A by (field; lra).
          assert (0 < n ^ 2) by (apply pow_lt; lra). lra.
        - pose proof (apart_nonnegative (scale n w) (scale a v)) as A. unfold apart in A.
          rewrite (proj1 (ip_scaled _ w v)), (proj1 (ip_scaled _ v w)), (proj2 (ip_scaled _ v _)), (ip_comm V (scale n w) v),
            (proj2 (ip_scaled _ w v)), (ip_comm V v w), <- N in A.
          assert (0 < a * n) by (apply Rmult_lt_0_compat; lra).
          assert (n ^ 2 * ip w w <= n ^ 2 * a ^ 2) by (apply Rmult_le_compat_l; [apply pow_le; lra | lra]).
          apply Rmult_le_reg_l with (a * n); [lra|]. nra. }
      replace ((a / n) ^ 2 * n ^ 2) with (a ^ 2) by (field; lra).
      assert (ratio : 0 <= a / n <= 1).
      { split; [apply Rmult_le_pos; [lra | apply Rlt_le, Rinv_0_lt_compat; lra]|].
        apply Rmult_le_reg_r with n; [lra|]. replace (a / n * n) with a by (field; lra). lra. }
      assert (E : a / n * n = a) by (field; lra). set (t := a / n) in *. clearbody t.
      assert (K : (1 - t) * ip w v <= (1 - t) * (a * n)) by (apply Rmult_le_compat_l; lra).
      assert ((1 - t) * (a * n) = a * n - a ^ 2) by (rewrite <- E; ring).
      assert (0 <= (n - a) ^ 2) by apply pow2_ge_0. lra.
  Qed.

  Lemma centres_length (a c : R) (xs : list V) (k : nat) :
    length (centres a c xs k) = ((2 * length xs + 1) ^ k)%nat.
  Proof.
    assert (M : length (moves c xs) = (2 * length xs + 1)%nat).
    { unfold moves. simpl. induction xs as [|x xs IH]; simpl in *; lia. }
    induction k as [|k IH]; [reflexivity|]. rewrite Nat.pow_succ_r', <- IH, <- M. simpl centres.
    generalize (centres a c xs k) as vs. induction vs as [|v vs IH']; simpl; [lia|].
    rewrite app_length, map_length, IH'. simpl. lia.
  Qed.

  Definition good (eps : R) (xs : list V) (w v : V) : Prop := Forall (fun x => Rabs (ip w x - ip v x) <= eps) xs.

  Lemma step (eps b : R) (w v x : V) :
    0 < eps -> 0 < b -> ip x x <= b ^ 2 -> eps < Rabs (ip w x - ip v x) ->
    exists s, (s = eps / b ^ 2 \/ s = - (eps / b ^ 2)) /\ apart w (plus v (scale s x)) < apart w v - eps ^ 2 / b ^ 2.
  Proof.
    intros e0 b0 X far. set (c := eps / b ^ 2). assert (B0 : 0 < b ^ 2) by (apply pow_lt; lra).
    assert (c0 : 0 < c) by (apply Rmult_lt_0_compat; [lra | now apply Rinv_0_lt_compat]).
    assert (E : forall s, apart w (plus v (scale s x)) = apart w v - 2 * s * (ip w x - ip v x) + s ^ 2 * ip x x).
    { intros s. unfold apart. rewrite (ip_comm V w (plus v (scale s x))), !ip_plus, !ip_scale,
        !(ip_comm V _ (plus v (scale s x))), !ip_plus, !ip_scale, (ip_comm V v w), (ip_comm V x w), (ip_comm V x v). ring. }
    assert (cc : c ^ 2 * ip x x <= c * eps).
    { assert (F : c * b ^ 2 = eps) by (unfold c; field; lra).
      replace (c * eps) with (c ^ 2 * b ^ 2) by (rewrite <- F; ring). apply Rmult_le_compat_l; [apply pow_le; lra | lra]. }
    assert (ce : c * eps = eps ^ 2 / b ^ 2) by (unfold c; field; lra). rewrite <- ce.
    unfold Rabs in far. destruct (Rcase_abs (ip w x - ip v x)) as [neg | pos].
    - exists (- c). split; [now right|]. rewrite E. replace ((- c) ^ 2) with (c ^ 2) by ring. nra.
    - exists c. split; [now left|]. rewrite E. nra.
  Qed.

  (** With K + 1 >= (a b / eps)^2, (2 N + 1)^K vectors of length at most a cover all w of length at most a on N points of length
      at most b. Paper: vector-cover *)
  Theorem perceptron_cover (eps a b : R) (xs : list V) (K : nat) :
    0 < eps -> 0 <= a -> 0 < b -> Forall (fun x => ip x x <= b ^ 2) xs -> (a * b / eps) ^ 2 <= INR (K + 1) ->
    let vs := centres a (eps / b ^ 2) xs K in
    length vs = ((2 * length xs + 1) ^ K)%nat /\ Forall (fun v => ip v v <= a ^ 2) vs /\
    forall w : V, ip w w <= a ^ 2 -> exists v, In v vs /\ good eps xs w v.
  Proof.
    intros e0 a0 b0 X enough vs. unfold vs. clear vs. set (c := eps / b ^ 2).
    split; [apply centres_length|].
    assert (short : forall k v, In v (centres a c xs k) -> ip v v <= a ^ 2).
    { intros k v I. destruct k as [|k].
      - destruct I as [<- | []]. rewrite ip_zero. apply pow2_ge_0.
      - apply in_flat_map in I as (u & _ & I). apply in_map_iff in I as (m & <- & _). now apply project_inside. }
    split; [apply Forall_forall; apply short|]. intros w W.
    assert (B0 : 0 < b ^ 2) by (apply pow_lt; lra).
    set (drop := eps ^ 2 / b ^ 2).
    assert (d0 : 0 < drop) by (apply Rmult_lt_0_compat; [apply pow_lt; lra | now apply Rinv_0_lt_compat]).
    assert (all : a ^ 2 <= INR (K + 1) * drop).
    { replace (a ^ 2) with ((a * b / eps) ^ 2 * drop) by (unfold drop; field; lra). apply Rmult_le_compat_r; lra. }
    assert (next : forall v, Exists (fun x => ~ Rabs (ip w x - ip v x) <= eps) xs ->
      exists m, In m (moves c xs) /\ apart w (project a (plus v m)) < apart w v - drop).
    { intros v bad. apply Exists_exists in bad as (x & I & far). apply Rnot_le_lt in far.
      rewrite Forall_forall in X. destruct (step eps b w v x e0 b0 (X x I) far) as (s & S & D).
      exists (scale s x). split; [|eapply Rle_lt_trans; [now apply project_nearer | exact D]]. right. apply in_flat_map. exists x. split; [exact I|].
      destruct S as [-> | ->]; simpl; auto. }
    assert (decide : forall v, good eps xs w v \/ Exists (fun x => ~ Rabs (ip w x - ip v x) <= eps) xs).
    { intros v. destruct (Forall_Exists_dec (fun x => Rabs (ip w x - ip v x) <= eps)
        (fun x => Rle_dec (Rabs (ip w x - ip v x)) eps) xs); auto. }
    assert (run : forall k, exists v, In v (centres a c xs k) /\ (good eps xs w v \/ apart w v <= a ^ 2 - INR k * drop)).
    { induction k as [|k (v & I & IH)].
      - exists zero. split; [now left|]. right. unfold apart. rewrite (ip_comm V w zero), !ip_zero. simpl. lra.
      - assert (same : project a (plus v zero) = plus v zero).
        { unfold project. destruct (Rle_dec _ _) as [_ | long]; [reflexivity|]. exfalso. apply long.
          rewrite ip_plus, ip_zero, (ip_comm V v), ip_plus, ip_zero. specialize (short k v I). lra. }
        assert (stay : In (project a (plus v zero)) (centres a c xs (S k))).
        { simpl. apply in_flat_map. exists v. split; [exact I|]. now left. }
        destruct (decide v) as [g | bad].
        + exists (plus v zero). split; [now rewrite <- same|]. left. unfold good. eapply Forall_impl; [|exact g].
          intros x. simpl. now rewrite ip_plus, ip_zero, Rplus_0_r.
        + destruct IH as [g | IH].
          * exfalso. apply Exists_exists in bad as (x & J & far). unfold good in g. rewrite Forall_forall in g. auto.
          * destruct (next v bad) as (m & J & D). exists (project a (plus v m)).
            split; [apply in_flat_map; exists v; split; [exact I | now apply (in_map (fun m => project a (plus v m)))]|].
            right. rewrite S_INR. lra. }
    destruct (run K) as (v & I & [g | D]); [now exists v|]. exists v. split; [exact I|].
    destruct (decide v) as [g | bad]; [exact g|]. exfalso.
    destruct (next v bad) as (m & _ & D'). pose proof (apart_nonnegative w (project a (plus v m))).
    rewrite plus_INR in all. simpl in all. lra.
  Qed.
End Perceptron.
