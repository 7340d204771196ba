"""Texts that the tokenizer does not know are said to be unknown, and refused where they are the larger part."""

import pytest

import sparsehead as sh
from sparsehead._base.errors import DomainError

WORDS = ["[UNK]", "[CLS]", "[SEP]", "the", "cat", "sat"]


class Words:
    """A tokenizer of whole words between [CLS] and [SEP], as those of transformers are called."""

    unk_token_id = 0

    def __call__(self, text):
        return {"input_ids": [WORDS.index(w) if w in WORDS else 0 for w in text.split()]}

    def convert_ids_to_tokens(self, ids):
        return [WORDS[i] for i in ids]


def probe(model, *texts):
    return sh.probe(model, text=texts, tokenizer=Words(), baselines=False, bounds=False)


def test_the_share_and_the_first_tokens_are_said(tiny):
    found = probe(tiny("bert"), "the cat sat", "the dog sat the")
    assert (
        "1 of 7 tokens (14%) are unknown to the tokenizer; the first are the cat sat the [UNK] sat the"
        in found.notes
    )
    assert any("2 of 4 tokens (50%)" in note for note in probe(tiny("bert"), "the cat", "dogs bark").notes)


def test_more_than_half_unknown_is_refused(tiny):
    with pytest.raises(
        DomainError, match=r"3 of 5 tokens \(60%\) are unknown to the tokenizer of BertModel; the first are"
    ):
        probe(tiny("bert"), "the cat", "dogs bark loudly")
    with pytest.raises(
        DomainError, match=r"Split the text as the model's training did, or give tokens= \(ids\)"
    ):
        probe(tiny("bert"), "CC(=O)O")
