"""`Probe.attention` is what the model computes; the page shows it, loads nothing, and has its limits."""

import base64
import json
import re
import zlib
from typing import Any

import numpy as np
import pytest
import torch

import sparsehead as sh
from sparsehead._base.errors import DomainError, FileError, ShapeError
from sparsehead.probing.page import MOST_WEIGHTS, heads_of_page, parse_heads
from sparsehead.probing.result import Probe

PLAIN: dict[str, Any] = {"baselines": False, "bounds": False}


def ids(n=12, seed=0):
    return np.random.default_rng(seed).integers(0, 100, n)


@pytest.fixture(scope="module")
def probed(tiny):
    """A tiny Qwen3, probed on two sequences, and the model."""
    model = tiny("qwen3")
    return sh.probe(model, tokens=[ids(), ids(9, seed=1)], **PLAIN), model


def content(page):
    """The data of a page and its weights by head."""
    text = page.read_text()
    (inside,) = re.findall(r'id="data">(.*?)</script>', text, re.S)
    data = json.loads(inside)
    T = len(data["tokens"])
    weights = {}
    for head in data["heads"]:
        raw = zlib.decompress(base64.b64decode(head["weights"]))
        weights[head["layer"], head["head"]] = np.frombuffer(raw, "<u2").reshape(T, T) / data["unit"]
    return data, weights


def test_attention_is_what_transformers_returns(probed):
    found, model = probed
    for sequence, tokens in ((0, ids()), (1, ids(9, seed=1)), (ids(7, seed=2), ids(7, seed=2))):
        with torch.no_grad():
            own = model(input_ids=torch.as_tensor(tokens)[None], output_attentions=True).attentions
        for layer in range(2):
            for head in range(4):
                weights = found.attention(layer, head, sequence)
                assert weights.shape == (len(tokens), len(tokens))
                assert np.abs(weights - own[layer][0, head].numpy()).max() < 5e-6
    assert found.tokens_of(1) == tuple(map(str, ids(9, seed=1)))


def test_attention_of_other_kinds_of_models(encoder, tiny):
    model = sh.build("x2 & x5", T=7)
    bits = np.array([[0, 1, 1, 0, 0, 1, 0]])
    found = sh.probe(model, tokens=bits, **PLAIN)
    assert np.allclose(found.attention(0, 0)[-1], model.attention(bits)[0, 0], atol=1e-6)
    assert found.tokens_of(0) == ("x0=0", "x1=1", "x2=1", "x3=0", "x4=0", "x5=1", "x6=0", "[CLS]")
    X = np.random.default_rng(0).normal(size=(5, 32))
    found = sh.probe(encoder(), tokens=[X], **PLAIN)
    assert np.allclose(found.attention(1, 3).sum(axis=1), 1) and found.tokens_of() == tuple(
        f"token {t}" for t in range(5)
    )
    found = sh.probe(tiny("vit"), **PLAIN)
    assert found.attention(0, 0, 7).shape == (10, 10)
    assert found.tokens_of(7)[:3] == ("[CLS]", "row 0, column 0", "row 0, column 1")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((2, 0), "layer is a whole number from 0 to 1; got 2"),
        ((-1, 0), "layer is a whole number from 0 to 1; got -1"),
        ((0, 4), "head is a whole number from 0 to 3; got 4"),
        ((0, True), "head is a whole number from 0 to 3; got True"),
        ((0, 0, 2), "sequence is 0 to 1, a text or an array of tokens; got 2"),
        ((0, 0, -1), "sequence is 0 to 1, a text or an array of tokens; got -1"),
        ((0, 0, "a text"), "has no folder in which a tokenizer could be"),
        ((0, 0, [1, 100]), "token ids of this model are 0 to 99; 100 arrived"),
        ((0, 0, [1]), "array of ids (T,) with T >= 2"),
        ((0, 0, [0.5, 1.0]), "token ids and bits are whole numbers"),
        ((0, 0, None), "array of ids (T,) with T >= 2"),
    ],
    ids=str,
)
def test_wrong_heads_and_sequences_are_one_line(arguments, words, probed):
    with pytest.raises((DomainError, ShapeError, FileError)) as refused:
        probed[0].attention(*arguments)
    assert words in str(refused.value) and "\n" not in str(refused.value)


def test_a_record_without_its_model_says_so(tiny):
    found = sh.probe(tiny("bert").state_dict(), heads=4, **PLAIN)
    with pytest.raises(DomainError, match="attention takes running the model"):
        found.attention(0, 0)
    fields = {name: value for name, value in vars(found).items() if name != "_measured"}
    with pytest.raises(DomainError, match="no model beside it"):
        Probe(**fields).attention(0, 0)
    assert "_measured" not in found.to_dict()


def test_the_page_has_the_weights_and_loads_nothing(probed, tmp_path):
    found, _ = probed
    page = found.write_page(tmp_path / "maps.html")
    data, weights = content(page)
    assert data["tokens"] == list(map(str, ids())) and data["allHeads"] == 8
    assert list(weights) == [(h.layer, h.head) for h in found.heads]
    for (layer, head), kept in weights.items():
        assert np.abs(kept - found.attention(layer, head)).max() <= 0.5 / 65535 + 1e-9
    text = page.read_text()
    assert not re.search(r"https?:|//cdn|\bsrc=|\bhref=|url\(|@import|fetch\(|XMLHttp|import\(", text)
    assert "default-src 'none'" in text and 'lang="en"' in text and "prefers-color-scheme" in text
    data, weights = content(found.write_page(page, sequence=1, heads=[(1, 2), (0, 3)], force=True))
    assert list(weights) == [(1, 2), (0, 3)] and len(data["tokens"]) == 9


def test_tokens_cannot_end_the_script_of_the_page(tiny, tmp_path):
    class Words:
        def __call__(self, text):
            return [1, 2, 3]

        def convert_ids_to_tokens(self, ids):
            return ["</script><script>alert(1)</script>", "\x1b[31m<!--", "&lt;"][: len(ids)]

    found = sh.probe(tiny("bert"), text="any", tokenizer=Words(), **PLAIN)
    page = found.write_page(tmp_path / "maps.html")
    assert page.read_text().count("</script>") == 2 and "alert(1)</script>" not in page.read_text()
    assert content(page)[0]["tokens"][0] == "</script><script>alert(1)</script>"
    assert "\x1b" not in page.read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"path": "maps.txt"}, "a page of attention maps is written as .html; got"),
        ({"path": "maps"}, "a page of attention maps is written as .html; got"),
        ({"path": "nowhere/maps.html"}, "nowhere"),
        ({"path": "there.html"}, "force"),
        ({"sequence": 9}, "sequence is 0 to 1"),
        ({"heads": []}, "from 0.0 to 1.3; got none"),
        ({"heads": [(0, 4)]}, "from 0.0 to 1.3; got 0.4"),
        ({"heads": [(2, 0)]}, "from 0.0 to 1.3; got 2.0"),
        ({"heads": [(0, True)]}, "are pairs (layer, head) of whole numbers"),
    ],
    ids=str,
)
def test_pages_that_cannot_be_are_refused_and_nothing_is_written(options, words, probed, tmp_path):
    (tmp_path / "there.html").write_text("mine")
    given: dict[str, Any] = {"path": "maps.html"} | options
    with pytest.raises((DomainError, FileError)) as refused:
        probed[0].write_page(tmp_path / given.pop("path"), **given)
    assert words in str(refused.value) and "\n" not in str(refused.value)
    assert [p.name for p in tmp_path.iterdir()] == ["there.html"]
    assert (tmp_path / "there.html").read_text() == "mine"


def test_a_page_has_up_to_512_tokens_and_as_many_heads_as_it_has_room_for(tiny, tmp_path):
    order = [(layer, head) for layer in range(12) for head in range(12)]
    assert heads_of_page(512, order, None) == order[:16] and heads_of_page(100, order, None) == order
    assert MOST_WEIGHTS == 16 * 512**2
    with pytest.raises(DomainError, match="512 tokens has room for 16 heads; got 17"):
        heads_of_page(512, order, order[:17])
    with pytest.raises(
        DomainError, match=r"up to 512 tokens; this sequence has 513: longest=512 \(--longest\)"
    ):
        heads_of_page(513, order, None)
    found = sh.probe(tiny("llama", max_position_embeddings=600), tokens=[ids(512)], **PLAIN)
    page = found.write_page(tmp_path / "maps.html")
    assert len(content(page)[0]["tokens"]) == 512 and page.stat().st_size < 8e6


def test_heads_are_written_with_dots_and_commas():
    assert parse_heads("0.3, 5.11") == [(0, 3), (5, 11)]
    for wrong in ("", "0", "0.", ".1", "a.b", "0.1;2.3", "0.1,", "-1.0", "1.2.3", "9" * 9 + ".1", "\u0663.1"):
        with pytest.raises(DomainError, match=r"--page-heads takes layer\.head with commas"):
            parse_heads(wrong)
