"""Test whether the probe finds the head of RXNMapper's ALBERT that maps atoms: layer 10, head 5 (counted from 0),
according to its authors.

The reactions are made here, so that the true atom map is known without a chemistry package: a left and a right reactant
are joined, so the reactant atom of each product atom follows from the construction.

    left = L + kept + leaving,    right = leaving + kept + R,    product = L + kept + kept + R

The strings are valid SMILES but not canonical; the model was trained on canonical SMILES. Atoms that a symmetry of
the molecule exchanges count as different here. Both make accuracies lower than published ones, for all heads alike.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sparsehead._base.rng import stream
from sparsehead._base.types import Array
from sparsehead.probing.baselines import randomised
from sparsehead.probing.load import Source, source_of
from sparsehead.probing.probe import probe
from sparsehead.probing.recompute import Call
from sparsehead.probing.running import run

from .packages import package_folder

REQUIREMENT = "rxnmapper==0.4.3"
FOLDER = "models/transformers/albert_heads_8_uspto_all_1310k"
PUBLISHED = (10, 5)


@dataclass(frozen=True, eq=False)
class Reaction:
    """The tokens, with [CLS] and [SEP], and a map from each product atom's position to its reactant atom's position."""

    tokens: tuple[str, ...]
    partner: dict[int, int]

    @property
    def reactant_atoms(self) -> list[int]:
        """The positions of all reactant atoms, which are the atoms before the arrow."""
        arrow = self.tokens.index(">>")
        return [i for i, token in enumerate(self.tokens[:arrow]) if is_atom(token)]


def is_atom(token: str) -> bool:
    """Return whether a token is an atom; False for [CLS] and [SEP]."""
    return re.match(r"\[|[A-Za-z]", token) is not None and token not in ("[CLS]", "[SEP]")


def reaction(L: str, R: str, template: Sequence[str]) -> Reaction:
    """Return the reaction of two fragments, with the atom map that follows from its construction."""
    kept, leaving, gone, joined = template
    token = re.compile(r"\[[^]]*\]|Br|Cl|>>|.")
    left, right, joint = (
        [*token.findall(x)] for x in (L + kept + leaving, gone + joined + R, L + kept + joined + R)
    )
    tokens = ("[CLS]", *left, ".", *right, ">>", *joint, "[SEP]")
    start = len(left) + len(right) + 3  # of the product
    size = len(token.findall(L + kept))
    partner = {start + i: 1 + i for i in range(size) if is_atom(joint[i])}
    offset = len(left) + 2 + len(token.findall(gone))  # of the right reactant's kept part
    partner |= {start + i: offset + i - size for i in range(size, len(joint)) if is_atom(joint[i])}
    return Reaction(tokens, partner)


def reactions(count: int = 48, seed: int = 0) -> list[Reaction]:
    """Return `count` reactions drawn with a fixed seed from all combinations of fragments and templates."""
    left = [
        "CCC",
        "CC(C)C",
        "COc1ccc(cc1)",
        "Fc1ccc(cc1)",
        "Cc1ccc(cc1)",
        "C1CCCCC1",
        "CCOC(=O)CC",
        "N#Cc1ccc(cc1)",
    ]
    right = ["CC", "CCC(C)C", "Cc1ccccc1", "c1ccc(F)cc1", "C1CCCCC1", "CCOC", "Cc1ccncc1", "CCc1ccc(Cl)cc1"]
    # kept and leaving part of the left reactant, leaving and kept part of the right one
    templates = {
        "amide": ("C(=O)", "O", "", "N"),
        "sulfonamide": ("S(=O)(=O)", "Cl", "", "N"),
        "ester": ("C(=O)", "Cl", "", "O"),
        "alkylation": ("C", "Br", "", "N"),
        "ether": ("C", "Br", "", "O"),
        "reductive amination": ("C", "=O", "", "N"),
    }
    every = list(product(left, right, templates.values()))
    chosen = stream(seed, "reactions").choice(len(every), count, replace=False)
    return [reaction(*every[int(i)]) for i in chosen]


def token_ids(folder: Path, given: Sequence[Reaction]) -> list[Array]:
    """Return the token ids of each reaction in the model's vocabulary."""
    names = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
    known = {name: i for i, name in enumerate(names)}
    return [np.array([known.get(token, known["[UNK]"]) for token in r.tokens]) for r in given]


def mapping_accuracy(source: Source, given: Sequence[Reaction], ids: Sequence[Array]) -> Array:
    """Return for each (layer, head) the share of product atoms whose most attended atom of equal element is right."""
    H = source.weights[0].H
    right, total = np.zeros((len(source.weights), H)), 0
    for r, tokens in zip(given, ids, strict=True):
        rows = torch.tensor(list(r.partner))
        alike = torch.tensor(
            [[r.tokens[p] == r.tokens[j] for j in r.reactant_atoms] for p in r.partner], dtype=torch.bool
        )
        atoms, truth = torch.tensor(r.reactant_atoms), torch.tensor(list(r.partner.values()))

        def visit(
            call: Call, rows: Any = rows, alike: Any = alike, atoms: Any = atoms, truth: Any = truth
        ) -> None:
            for h in range(H):
                seen = call.attention(h, rows)[:, atoms].masked_fill(~alike, -1.0)
                right[call.layer, h] += int((atoms[seen.argmax(dim=1)] == truth).sum())

        run(source, tokens, visit)
        total += len(r.partner)
    return right / total


def chance(given: Sequence[Reaction]) -> float:
    """Return the expected accuracy of guessing uniformly among the reactant atoms of the same element."""
    shares = [1 / sum(r.tokens[j] == r.tokens[p] for j in r.reactant_atoms) for r in given for p in r.partner]
    return float(np.mean(shares))


def place(values: Array, where: tuple[int, int]) -> int:
    """Return the rank of one head when heads are sorted by value in descending order; 1 is the largest."""
    return int((values > values[where]).sum()) + 1


def rxn_study() -> dict[str, Any]:
    """Return each head's mapping accuracy and label-free statistics, and the published head's rank in each."""
    folder = package_folder("rxnmapper", REQUIREMENT) / FOLDER
    given = reactions()
    ids = token_ids(folder, given)
    found = probe(folder, tokens=ids, pickle=True, s=1, influence=8)
    source = source_of(folder, pickle=True)
    accuracy = mapping_accuracy(source, given, ids)
    random = mapping_accuracy(randomised(source, 0), given, ids)
    rows = sorted(found.rows(), key=lambda row: (row["layer"], row["head"]))
    for row in rows:
        head = found.head(row["layer"], row["head"])
        row["accuracy"] = float(accuracy[row["layer"], row["head"]])
        row["accuracy_random_weights"] = float(random[row["layer"], row["head"]])
        row["influence_correlation"] = head.influence["direct"].correlation
        row["influence_overlap"] = head.influence["direct"].overlap
        row["same_token_random_weights"] = head.baselines["random_weights"].same_token
        row["same_token_uniform_attention"] = head.baselines["uniform_attention"].same_token
        row["sparsity"] = -row["effective_support"]
    shape = accuracy.shape
    blind = ("score", "same_token", "sparsity", "induction", "stability", "rank_QK")
    grids = {name: np.array([row[name] for row in rows]).reshape(shape) for name in (*blind, "accuracy")}
    return {
        "name": "RXNMapper",
        "model": REQUIREMENT,
        "s": 1,
        "reactions": len(given),
        "product_atoms": sum(len(r.partner) for r in given),
        "chance": chance(given),
        "published": list(PUBLISHED),
        "places": {name: place(grid, PUBLISHED) for name, grid in grids.items()},
        "best_head": [int(i) for i in np.unravel_index(int(np.argmax(accuracy)), shape)],
        "recomputed_error": found.recomputed_error,
        "rows": rows,
    }
