(** Attention heads of one layer over the reals, read at [CLS]: the definitions that every theorem about a head rests on.

    A model is a record of numbers. [output] evaluates it on real numbers, by definition and without rounding; the
    numbers of a file are rationals (every float64 number is one) and enter by [Q2R].

    An input is a list of T bits. A token is a vector, a matrix the list of its columns, so that the product of a row
    [x] with a matrix [W] is [map (dot x) W]. *)

From Coq Require Import Reals QArith Qreals List.
Import ListNotations.

Definition vector (A : Type) := list A.
Definition matrix (A : Type) := list (vector A).  (* by columns *)

(** ** Vectors, over any kind of number *)

Section Vectors.
  Context {A B C : Type} (zero : A) (add mul : A -> A -> A).

  Fixpoint map2 (f : A -> B -> C) (u : list A) (v : list B) : list C :=
    match u, v with
    | x :: u', y :: v' => f x y :: map2 f u' v'
    | _, _ => []
    end.

  Fixpoint dot (u v : vector A) : A :=
    match u, v with
    | x :: u', y :: v' => add (mul x y) (dot u' v')
    | _, _ => zero
    end.
End Vectors.

(** ** Models *)

Record head (A : Type) := Head {
  W_Q : matrix A; b_Q : vector A;
  W_K : matrix A; b_K : vector A;
  W_V : matrix A; b_V : vector A;
}.

(** x -> x W + b, and its positive part if [relu]. *)
Record layer (A : Type) := Layer { weights : matrix A; bias : vector A; relu : bool }.

(** The token at a position with vector p and bit b is E_b + p, or b p in a bag of vectors. *)
Inductive encoding (A : Type) :=
  | Additive (E_0 E_1 : vector A)
  | Bag.

Record model (A : Type) := Model {
  bits_as : encoding A;
  positions : list (vector A);     (* one vector for each of the T positions *)
  cls : vector A;                  (* the token [CLS] *)
  attends_cls : bool;              (* whether [CLS] is among the tokens that are mixed *)
  heads : list (head A);
  temperature : A;
  relu_of_mix : bool;              (* whether the mixed values pass a ReLU *)
  decoder : list (layer A);        (* from the mixed values of all heads to the output *)
}.

Arguments Head {A}. Arguments W_Q {A}. Arguments b_Q {A}. Arguments W_K {A}. Arguments b_K {A}.
Arguments W_V {A}. Arguments b_V {A}. Arguments Layer {A}. Arguments weights {A}. Arguments bias {A}.
Arguments relu {A}. Arguments Additive {A}. Arguments Bag {A}. Arguments Model {A}. Arguments bits_as {A}.
Arguments positions {A}. Arguments cls {A}. Arguments attends_cls {A}. Arguments heads {A}.
Arguments temperature {A}. Arguments relu_of_mix {A}. Arguments decoder {A}.

(** ** Tokens, queries, keys and values, over any kind of number *)

Section Tokens.
  Context {A : Type} (zero : A) (add mul : A -> A -> A).
  Notation "u • v" := (dot zero add mul u v) (at level 40).

  Definition affine (W : matrix A) (b : vector A) (x : vector A) : vector A :=
    map2 (fun column c => add (x • column) c) W b.

  Definition token (e : encoding A) (p : vector A) (b : bool) : vector A :=
    match e with
    | Additive E_0 E_1 => map2 add (if b then E_1 else E_0) p
    | Bag => if b then p else map (fun _ => zero) p
    end.

  Definition tokens (m : model A) (b : list bool) : list (vector A) :=
    map2 (token (bits_as m)) (positions m) b ++ (if attends_cls m then [cls m] else []).

  (** The score of a token, before it is divided by the temperature. *)
  Definition raw_score (m : model A) (h : head A) (x : vector A) : A :=
    affine (W_Q h) (b_Q h) (cls m) • affine (W_K h) (b_K h) x.
End Tokens.

(** ** Evaluation on the reals *)

Local Open Scope R_scope.

Definition sum (u : vector R) : R := fold_right Rplus 0 u.
Definition dotR : vector R -> vector R -> R := dot 0 Rplus Rmult.
Definition affineR : matrix R -> vector R -> vector R -> vector R := affine 0 Rplus Rmult.
Definition tokensR : model R -> list bool -> list (vector R) := tokens 0 Rplus.

Definition softmax (s : vector R) : vector R := map (fun x => exp x / sum (map exp s)) s.

Definition scores (m : model R) (h : head R) (b : list bool) : vector R :=
  map (fun x => raw_score 0 Rplus Rmult m h x / temperature m) (tokensR m b).

(** Coordinate j of what a head mixes: the mean of coordinate j of the values, weighted by the softmax of the scores. *)
Definition mixed (m : model R) (b : list bool) (h : head R) : vector R :=
  map2 (fun column c => dotR (softmax (scores m h b)) (map (fun x => dotR x column + c) (tokensR m b)))
       (W_V h) (b_V h).

Definition apply_layer (l : layer R) (x : vector R) : vector R :=
  let y := affineR (weights l) (bias l) x in if relu l then map (Rmax 0) y else y.

Definition mixed_by_all (m : model R) (b : list bool) : vector R :=
  let x := concat (map (mixed m b) (heads m)) in if relu_of_mix m then map (Rmax 0) x else x.

Definition output (m : model R) (b : list bool) : R :=
  hd 0 (fold_left (fun x l => apply_layer l x) (decoder m) (mixed_by_all m b)).

(** ** Numbers of a file as real numbers *)

Section Mapped.
  Context {A B : Type} (f : A -> B).
  Definition map_matrix : matrix A -> matrix B := map (map f).

  Definition map_head (h : head A) : head B :=
    Head (map_matrix (W_Q h)) (map f (b_Q h)) (map_matrix (W_K h)) (map f (b_K h))
         (map_matrix (W_V h)) (map f (b_V h)).

  Definition map_layer (l : layer A) : layer B := Layer (map_matrix (weights l)) (map f (bias l)) (relu l).

  Definition map_encoding (e : encoding A) : encoding B :=
    match e with Additive E_0 E_1 => Additive (map f E_0) (map f E_1) | Bag => Bag end.

  Definition map_model (m : model A) : model B :=
    Model (map_encoding (bits_as m)) (map_matrix (positions m)) (map f (cls m)) (attends_cls m)
          (map map_head (heads m)) (f (temperature m)) (relu_of_mix m) (map map_layer (decoder m)).
End Mapped.

Definition real_model : model Q -> model R := map_model Q2R.

(** ** Sparse functions, and what it means to compute one *)

(** The function of T bits that applies a rule to the bits at the positions of its support. *)
Definition sparse (support : list nat) (rule : list bool -> bool) (b : list bool) : bool :=
  rule (map (fun i => nth i b false) support).

Definition real_bit (b : bool) : R := if b then 1 else 0.

(** On every one of the 2^T inputs of T bits the output is within eps of f. *)
Definition computes (T : nat) (m : model Q) (f : list bool -> bool) (eps : Q) : Prop :=
  forall b : list bool, length b = T -> Rabs (output (real_model m) b - real_bit (f b)) <= Q2R eps.

(** ** Sparse vectors, to write models of one-hot positions briefly *)

(** n times the same, but for the listed places. *)
Definition filled {A : Type} (most : A) (n : nat) (listed : list (nat * A)) : list A :=
  map (fun i => match find (fun e => Nat.eqb (fst e) i) listed with Some e => snd e | None => most end) (seq 0 n).

(** The vector of n numbers that is 0 but for the listed entries; the matrix of n columns of k numbers that is 0 but for
    the listed columns; the T one-hot positions behind three coordinates, which belong to the two bits and [CLS]. *)
Definition entries (n : nat) (listed : list (nat * Q)) : vector Q := filled 0%Q n listed.
Definition columns (n k : nat) (listed : list (nat * vector Q)) : matrix Q := filled (entries k []) n listed.
Definition one_hot_positions (T : nat) : list (vector Q) :=
  map (fun t => entries (T + 3) [(t + 3, 1%Q)]%nat) (seq 0 T).
