"""The statistics of heads beside other people's: TransformerLens' detectors, WeightWatcher's norms, SciPy's entropies.

TransformerLens and WeightWatcher are optional (extra `oracles`); their tests are skipped with a sentence where they are
not installed. `detector_score` is TransformerLens' published formula written out by us, so that the comparison is made
everywhere; where the package is there, it is compared with `detector_score` itself.
"""

import numpy as np
import pytest
import torch
from scipy import stats

import sparsehead as sh

T = 24


@pytest.fixture(scope="module")
def ids():
    """Tokens that come again: the second half repeats the first, and a few come three times."""
    half = np.random.default_rng(5).integers(5, 14, T // 2)
    return np.concatenate([half, half])


@pytest.fixture
def causal(tiny, ids):
    """A GPT-2-like model with random weights: its attention as transformers returns it, and what probe measures."""
    model = tiny("gpt2", scale=8.0)
    with torch.no_grad():
        out = model(input_ids=torch.as_tensor(ids)[None], output_attentions=True)
    found = sh.probe(model, tokens=[ids], baselines=False, bounds=False)
    return torch.stack(out.attentions)[:, 0].double(), found


def patterns(ids):
    """Where each kind of head looks, as T x T zeros and ones, from the words that describe it."""
    previous, duplicate, induction = np.zeros((3, len(ids), len(ids)))
    for i in range(len(ids)):
        for j in range(i):
            previous[i, j] = j == i - 1
            duplicate[i, j] = ids[j] == ids[i]
            induction[i, j + 1] = ids[j] == ids[i]
    return {"previous": previous, "same_token": duplicate, "induction": induction}


def detector_score(A, pattern):
    """The share of all attention that lies on the pattern ("mul" in TransformerLens' head detector)."""
    return (A * pattern).sum() / A.sum()


def test_scores_are_those_of_the_head_detector(causal, ids):
    """Rows without a place to look at are left out by probe and counted by the detector: a known factor."""
    A, found = causal
    sizes = []
    for name, pattern in patterns(ids).items():
        rows = pattern.any(axis=1).sum()
        for layer in range(A.shape[0]):
            for h in range(A.shape[1]):
                wanted = detector_score(A[layer, h].numpy(), pattern) * T / rows
                assert getattr(found.head(layer, h).measured, name) == pytest.approx(wanted, rel=1e-4), name
                sizes.append(wanted)
    assert max(sizes) > 1.2 * min(sizes)  # the heads differ


def test_the_head_detector_is_the_one_of_transformerlens(causal, ids):
    detector = pytest.importorskip(
        "transformer_lens.head_detector", reason="TransformerLens is not installed (extra oracles)"
    )
    A, _ = causal
    theirs = {"previous": "previous_token_head", "same_token": "duplicate_token_head"}
    for name, pattern in patterns(ids).items():
        make = getattr(detector, f"get_{theirs.get(name, 'induction_head')}_detection_pattern")
        made = make(torch.as_tensor(ids)[None])
        assert (made.numpy() == pattern).all(), name
        for head in A.flatten(0, 1):
            score = detector.compute_head_attention_similarity_score(
                head, made, exclude_bos=False, exclude_current_token=False, error_measure="mul"
            )
            assert score == pytest.approx(detector_score(head.numpy(), pattern), rel=1e-6)


def test_entropy_and_support_are_scipys(causal):
    A, found = causal
    for layer in range(A.shape[0]):
        for h in range(A.shape[1]):
            measured, rows = found.head(layer, h).measured, A[layer, h].numpy()
            assert measured.entropy == pytest.approx(stats.entropy(rows, axis=1).mean(), rel=1e-4)
            # 1 / sum a^2 is exp of Renyi's entropy of order 2
            assert measured.effective_support == pytest.approx(
                np.mean([1 / np.dot(row, row) for row in rows]), rel=1e-4
            )


def state_dict(d=12):
    rng = np.random.default_rng(3)
    return {f"0.{n}_proj.weight": rng.normal(size=(d, d)).astype(np.float32) for n in ("q", "k", "v", "o")}


@pytest.mark.parametrize("heads", [1, 3])
def test_ranks_and_norms_are_numpys_and_scipys(heads):
    state, k = state_dict(), 12 // heads
    found = sh.probe(state, heads=heads, bounds=False)
    for h in range(heads):
        # rows of a torch weight are outputs: head h has k of them, and k columns of the output map
        Q, K, V = (state[f"0.{n}_proj.weight"][h * k : (h + 1) * k].T.astype(float) for n in "qkv")
        O = state["0.o_proj.weight"][:, h * k : (h + 1) * k].T.astype(float)
        weights = found.head(0, h).weights
        QK, VO = Q @ K.T / np.sqrt(k), V @ O
        for W, rank, stable in (
            (QK, weights.rank_QK, weights.stable_rank_QK),
            (VO, weights.rank_OV, weights.stable_rank_OV),
        ):
            sigma = np.linalg.svd(W, compute_uv=False)
            assert rank == pytest.approx(np.exp(stats.entropy(sigma)), rel=1e-5)
            assert stable == pytest.approx(np.square(sigma).sum() / sigma[0] ** 2, rel=1e-5)
        for W, norms in ((QK, weights.norms.QK), (V, weights.norms.V), (O, weights.norms.C)):
            assert norms.spectral == pytest.approx(np.linalg.norm(W, 2), rel=1e-5)
            assert norms.frobenius == pytest.approx(np.linalg.norm(W), rel=1e-5)
            assert norms.n21 == pytest.approx(np.linalg.norm(W, axis=0).sum(), rel=1e-5)


def test_norms_are_those_of_weightwatcher():
    """One head, whose matrices are those of the layer: WeightWatcher looks at one linear map at a time."""
    watcher = pytest.importorskip("weightwatcher", reason="WeightWatcher is not installed (extra oracles)")
    state = state_dict(60)  # it leaves smaller layers out
    model = torch.nn.Sequential(torch.nn.Linear(60, 60, bias=False), torch.nn.Linear(60, 60, bias=False))
    for linear, name in zip(model, ("v", "o"), strict=True):
        linear.weight.data = torch.as_tensor(state[f"0.{name}_proj.weight"])
    details = watcher.WeightWatcher(model=model).analyze(min_evals=1)
    norms = sh.probe(state, heads=1, bounds=False).head(0, 0).weights.norms
    for i, own in enumerate((norms.V, norms.C)):
        row = details.iloc[i]
        assert float(row.lambda_max) == pytest.approx(own.spectral**2, rel=1e-4)  # squared, as they report it
        assert float(row.stable_rank) == pytest.approx((own.frobenius / own.spectral) ** 2, rel=1e-4)
