"""Attention weights of single sequences as arrays, computed again from the model that was probed."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .._base.arguments import shown
from .._base.errors import DomainError
from .._base.types import Array, Float
from .inputs import Inputs, Tokenizer, inputs_of, token_names
from .load import Source
from .recompute import Call
from .running import check, run

Places = tuple[int, int]  # layer, head


@dataclass(frozen=True, eq=False, repr=False)
class Measured:
    """The model that was probed, and the `inputs` on which it was run (None if it could not be run)."""

    source: Source
    inputs: Inputs | None
    tokenizer: Tokenizer | None = None

    def sequence(self, given: Any) -> tuple[Array, Inputs]:
        """Return one sequence and its kind: the i-th one that was measured, a text, or an array of tokens."""
        if self.inputs is None:
            raise DomainError(
                "attention takes running the model on tokens; a state dict, or an encoder without tokens, has none."
            )
        if isinstance(given, bool) or not isinstance(given, int | np.integer):
            kind = "text" if isinstance(given, str) else "tokens"
            one: dict[str, Any] = {"text": None, "tokens": None} | {kind: [given]}
            found = inputs_of(self.source, **one, tokenizer=self.tokenizer, longest=None, seed=0)
            assert found is not None
            return found.sequences[0], found
        n = len(self.inputs.sequences)
        if not 0 <= given < n:
            raise DomainError(f"sequence is 0 to {n - 1}, a text or an array of tokens; got {given}.")
        return self.inputs.sequences[int(given)], self.inputs

    def attention(self, places: Iterable[Places], given: Any) -> dict[Places, Float[Array, "T T"]]:
        """Return the attention weights, (queries, keys), of each (layer, head) in `places` on one sequence."""
        wanted = list(places)
        for layer, head in wanted:
            _within("layer", layer, len(self.source.weights))
            _within("head", head, self.source.weights[layer].H)
        tokens, _ = self.sequence(given)
        found: dict[Places, Float[Array, "T T"]] = {}

        def visit(call: Call) -> None:
            heads = [h for layer, h in wanted if layer == call.layer]
            if heads:
                check(call)
            for h in heads:
                found[call.layer, h] = call.attention(h, torch.arange(call.T)).numpy()

        run(self.source, tokens, visit)
        return {place: found[place] for place in wanted}

    def labels(self, given: Any) -> tuple[str, ...]:
        """Return a name for each position of the sequence `given` to which heads attend."""
        tokens, inputs = self.sequence(given)
        return token_names(self.source, tokens, inputs, self.tokenizer)


def _within(name: str, value: Any, n: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 <= value < n:
        raise DomainError(f"{name} is a whole number from 0 to {n - 1}; got {shown(value)}.")
