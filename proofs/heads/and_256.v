(** On all 2^256 inputs this head is within 2.23e-16 of x2 & x5 & x11: a theorem over the real numbers.

    Written by `sparsehead verify --coq` from the model with SHA-256
    f951abb6d2166c87504dd0cf082feb42fa34f57e2fcc67940f6a4148b0b2003f.
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
  {| bits_as := Additive (entries 259 [(0%nat, 1)]) (entries 259 [(1%nat, 1)]);
     positions := one_hot_positions 256;
     cls := entries 259 [(2%nat, 1)];
     attends_cls := true;
     heads := [
    {| W_Q := [entries 259 [(2%nat, 0x1a9a7cd23da7dbp-51)]];
        b_Q := [0];
        W_K := [entries 259 [(5%nat, 0x1eb812dc9c1f29p-52); (8%nat, 0x1eb812dc9c1f29p-52); (14%nat, 0x1eb812dc9c1f29p-52)]];
        b_K := [0];
        W_V := [entries 259 [(0%nat, -0x17fcf9f3e7cf9fp-53); (1%nat, 0x803060c183061p-53); (2%nat, -0x17fcf9f3e7cf9fp-53)]; entries 259 [(0%nat, -0xd54d453514d45p-52); (1%nat, 0x2ab2bacaeb2bbp-52); (2%nat, -0xd54d453514d45p-52)]];
        b_V := [0; 0] |}];
     temperature := 1;
     relu_of_mix := true;
     decoder := [
    {| weights := columns 259 2 [(0%nat, [0x2fdbd2c77957bp-46; -0x2fdbd2c77957bp-46])];
        bias := entries 259 []; relu := false |};
    {| weights := [entries 259 [(0%nat, 1)]];
        bias := [0]; relu := false |}] |}.

Definition eps : Q := 0x10000000000001p-104.

(** For each pattern of the relevant bits, from 0..0 to 1..1: bounds of the linear forms that the proof needs. *)
Definition bounds : list claims := [
  [(-0xbfe7cf9f3e7dp-48, -0xa00810204080fp-52); (-0x1aa9a8a6a29a8bp-53, -0x16adb0b6c2db09p-53)];
  [(-0x1d4f493d24f495p-54, -0x1557595d657587p-54); (-0x8aa29a8a6a29bp-52, -0x1ab0b6c2db0b5dp-54)];
  [(-0x1d4f493d24f495p-54, -0x1557595d657587p-54); (-0x8aa29a8a6a29bp-52, -0x1ab0b6c2db0b5dp-54)];
  [(-0x15493d24f493d3p-55, -0x5595d65759599p-55); (-0x1ffbf7efdfbf7fp-55, -0x100c183060c175p-55)];
  [(-0x1d4f493d24f495p-54, -0x1557595d657587p-54); (-0x8aa29a8a6a29bp-52, -0x1ab0b6c2db0b5dp-54)];
  [(-0x15493d24f493d3p-55, -0x15657595d6574bp-57); (-0x1ffbf7efdfbf7fp-55, -0x8060c183060b9p-54)];
  [(-0x15493d24f493d3p-55, -0x5595d65759599p-55); (-0x1ffbf7efdfbf7fp-55, -0x100c183060c175p-55)];
  [(0x8060c183060c1p-54, 0x1ffbf7efdfbf81p-55); (0x15657595d6574dp-57, 0x15493d24f493d5p-55); (0x1fffffffffffffp-53, 0x10000000000001p-52)]].

Theorem head_computes_f :
  forall b : list bool, length b = 256%nat ->
  (Rabs (output (real_model head) b - (if f b then 1 else 0)) <= Q2R eps)%R.
Proof.
  apply (check_sound 256 256 head [2; 5; 11]%nat (fun x => match x with [x2; x5; x11] => x2 && x5 && x11 | _ => false end) eps bounds).
  vm_cast_no_check (eq_refl true).
Qed.

Print Assumptions head_computes_f.
