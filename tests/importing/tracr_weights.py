"""The program of Tracr's issue 25 (google-deepmind/tracr), and the weights that Tracr compiles it to.

    sel = Select(indices, tokens, ==)       a token v looks at the position with index v
    sop = Aggregate(sel, indices)           that index, None if there is no such position
    program = Aggregate(sel, sop)           the same once more

over the tokens 1, 2, 3, 4 and at most five positions. Tracr is not installed here; the weights follow its rules
(tracr/craft/chamber/categorical_attn.py, tracr/compiler/assemble.py): one-hot tokens, indices and outputs in the
residual stream and a constant 1 beside them; scores of 100 where the predicate holds and 50 on the token BOS, from
which an aggregate gets nothing (its default None); scores divided by the square root of the width of a head; the output
is the argmax of the last aggregate. The issue prints what the compiled model answers to 1, 2, 3, 4; the test compares.
"""

import numpy as np

TOKENS = [1, 2, 3, 4, "BOS", "pad"]  # token ids are places in this list
INDICES = range(5)
SPACES = {"aggregate_1": INDICES, "aggregate_2": INDICES, "indices": INDICES, "one": [None], "tokens": TOKENS}
DIRECTIONS = [(name, value) for name, values in SPACES.items() for value in values]
AT = {direction: i for i, direction in enumerate(DIRECTIONS)}


def program(tokens):
    """What the program means, None included."""
    sop = [v if v < len(tokens) else None for v in tokens]
    return [sop[v] if v < len(tokens) else None for v in tokens]


def one_hots(name, values):
    rows = np.zeros((len(values), len(DIRECTIONS)))
    for row, value in zip(rows, values):
        row[AT[name, value]] = 1
    return rows


def params():
    """The parameters of the compiled model, by the names of its modules."""
    d = len(DIRECTIONS)
    words = one_hots("tokens", TOKENS)
    words[:, AT["one", None]] = 1
    places = np.vstack([np.zeros((1, d)), one_hots("indices", INDICES)])
    found = {"token_embed": {"embeddings": words}, "pos_embed": {"embeddings": places}}
    width = (
        len(INDICES) + 1
    )  # keys are the indices and BOS; queries, the tokens 1 to 4, BOS and one, are as many
    for i, (source, target) in enumerate([("indices", "aggregate_1"), ("aggregate_1", "aggregate_2")]):
        query, key, value, linear = (np.zeros(shape) for shape in [(d, width)] * 3 + [(width, d)])
        for index in INDICES:
            key[AT["indices", index], index] = 1
            if index in TOKENS:
                query[AT["tokens", index], index] = 100
            value[AT[source, index], index] = 1
            linear[index, AT[target, index]] = 1
        key[AT["tokens", "BOS"], len(INDICES)] = 1
        query[AT["one", None], len(INDICES)] = 50
        for name, w in {"query": query, "key": key, "value": value, "linear": linear}.items():
            found[f"transformer/layer_{i}/attn/{name}"] = {"w": w, "b": np.zeros(w.shape[1])}
        for name, w in {"linear_1": np.zeros((d, 1)), "linear_2": np.zeros((1, d))}.items():
            found[f"transformer/layer_{i}/mlp/{name}"] = {"w": w, "b": np.zeros(w.shape[1])}
    return found


def output(value):
    """The read-out of one value of the program."""
    return one_hots("aggregate_2", [value])[0]
