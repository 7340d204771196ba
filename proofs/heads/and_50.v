(** On all 2^50 inputs this head is within 2.23e-16 of x2 & x5 & x11: a theorem over the real numbers.

    Written by `sparsehead verify --coq` from the model with SHA-256
    e9c5434657a867017843c73e3751a079841237d4d537f1ae9fde6759f74d637e.
    Check it with `coqc -Q PROOFS Sparsehead FILE`, where PROOFS is the folder proofs/ of sparsehead, compiled by
    `make proofs`. The definitions that the statement rests on are in Head.v there. *)

From Coq Require Import Reals QArith Qreals List Bool.
From Sparsehead Require Import Head Forms Checker.
Import ListNotations.

(** The function: x i is the bit at position i. *)
Open Scope nat_scope.
Definition f (b : list bool) : bool :=
  let x (i : nat) := nth i b false in x 2 && x 5 && x 11.

(** The weights of the model file. All numbers are exact; 0x3p-1 is 3 times 2^-1. *)
Open Scope Q_scope.

Definition head : model Q :=
  {| bits_as := Additive (entries 53 [(0%nat, 1)]) (entries 53 [(1%nat, 1)]);
     positions := one_hot_positions 50;
     cls := entries 53 [(2%nat, 1)];
     attends_cls := true;
     heads := [
    {| W_Q := [entries 53 [(2%nat, 0x5b7b34fd1c695p-49)]];
        b_Q := [0];
        W_K := [entries 53 [(5%nat, 0xd34457825df99p-51); (8%nat, 0xd34457825df99p-51); (14%nat, 0xd34457825df99p-51)]];
        b_K := [0];
        W_V := [entries 53 [(0%nat, -0x17fp-9); (1%nat, 0x81p-9); (2%nat, -0x17fp-9)]; entries 53 [(0%nat, -0x1aa55555555555p-53); (1%nat, 0x55aaaaaaaaaabp-53); (2%nat, -0x1aa55555555555p-53)]];
        b_V := [0; 0] |}];
     temperature := 1;
     relu_of_mix := true;
     decoder := [
    {| weights := columns 53 2 [(0%nat, [0x17a17a17a17a1bp-49; -0x17a17a17a17a1bp-49])];
        bias := entries 53 []; relu := false |};
    {| weights := [entries 53 [(0%nat, 1)]];
        bias := [0]; relu := false |}] |}.

Definition eps : Q := 0x10000000000001p-104.

(** For each pattern of the relevant bits, from 0..0 to 1..1: bounds of the linear forms that the proof needs. *)
Definition bounds : list claims := [
  [(-0x17f00000000001p-53, -0x5015555555555p-51); (-0xd52aaaaaaaaabp-52, -0x16baaaaaaaaaa9p-53)];
  [(-0x1d355555555557p-54, -0xabp-9); (-0x11500000000001p-53, -0xd655555555555p-53)];
  [(-0x1d355555555557p-54, -0xabp-9); (-0x11500000000001p-53, -0xd655555555555p-53)];
  [(-0x15155555555557p-55, -0xad55555555555p-56); (-0x1feaaaaaaaaaabp-55, -0x103ffffffffffdp-55)];
  [(-0x1d355555555557p-54, -0xabp-9); (-0x11500000000001p-53, -0xd655555555555p-53)];
  [(-0x15155555555557p-55, -0xad55555555555p-56); (-0x1feaaaaaaaaaabp-55, -0x103ffffffffffdp-55)];
  [(-0x15155555555557p-55, -0xad55555555555p-56); (-0x1feaaaaaaaaaabp-55, -0x103ffffffffffdp-55)];
  [(0x103fffffffffffp-55, 0x7faaaaaaaaaabp-53); (0x15aaaaaaaaaabp-53, 0x2a2aaaaaaaaabp-52); (0x1fffffffffffffp-53, 0x10000000000001p-52)]].

Theorem head_computes_f :
  forall b : list bool, length b = 50%nat ->
  (Rabs (output (real_model head) b - (if f b then 1 else 0)) <= Q2R eps)%R.
Proof.
  apply (check_sound 256 50 head [2; 5; 11]%nat (fun x => match x with [x2; x5; x11] => x2 && x5 && x11 | _ => false end) eps bounds).
  vm_cast_no_check (eq_refl true).
Qed.

Print Assumptions head_computes_f.
