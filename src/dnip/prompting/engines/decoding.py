"""Greedy decoding of many rows at a time, each until its own end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from dnip.base.typing import Floats
    from dnip.prompting.engines.causal_lm import CausalLM

#: Rows that have ended are dropped once they are this share of all.
_ENDED = 0.25


class Decoding:
    """Rows that are being continued: their keys and values, and what may come next.

    Parameters
    ----------
    model : CausalLM
    cache : cache
        Keys and values of all rows, one slot per column of `seen`; it will be changed.
    seen : ndarray of shape (B, S), bool
        False in slots of padding.
    logits : tensor of shape (B, V)
        Of each row's next token.
    """

    def __init__(self, model: CausalLM, cache: Any, seen: NDArray[np.bool_], logits: Any) -> None:
        self._model = model
        self._cache = cache
        self._seen = seen
        self.logits = logits
        if (seen[:, :-1] > seen[:, 1:]).any():
            self._close_gaps()

    def _close_gaps(self) -> None:
        """Bring padding in front of all else, so that every row's tokens stand side by side.

        Keys carry their positions with them, so only the mask tells where they stand; and a
        sliding window takes slots for distances.
        """
        order = np.argsort(self._seen, axis=1, kind="stable")
        self._seen = np.sort(self._seen, axis=1)
        slots = self.tensor(order)[:, None, :, None]
        for layer in self._cache.layers:
            layer.keys = layer.keys.gather(2, slots.expand_as(layer.keys))
            layer.values = layer.values.gather(2, slots.expand_as(layer.values))

    def advance(self, tokens: Sequence[int]) -> None:
        """Give each row its next token; `logits` are then of the one after."""
        given = np.asarray(tokens, np.int64)[:, None]
        positions = self._seen.sum(axis=1, keepdims=True)
        self._seen = np.hstack([self._seen, np.ones_like(given, bool)])
        masked = {} if self._seen.all() else {"seen": self._seen, "positions": positions}
        output = self._model.forward(given, np.zeros_like(given), cache=self._cache, **masked)
        self.logits = output.logits[:, 0]

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with some of the rows only."""
        self._seen = self._seen[np.asarray(rows)]
        kept = self.tensor(rows)
        self.logits = self.logits[kept]
        for layer in self._cache.layers:
            layer.keys = layer.keys[kept]
            layer.values = layer.values[kept]

    def tensor(self, values: Any) -> Any:
        """Return values as a tensor on the model's device."""
        return self._model.tensor(values)


class Generated(NamedTuple):
    """What a row was continued with.

    Attributes
    ----------
    tokens : list of int
        Up to the end, a token that means the end of the sequence left out.
    logprobs : ndarray of shape (steps, W)
        Log-probabilities of the wanted tokens at each step; one step at least, and one for each
        token.
    ended : bool
        False where the row was cut at the most tokens allowed.
    """

    tokens: list[int]
    logprobs: Floats
    ended: bool


def generate(
    decoding: Decoding,
    wanted: NDArray[np.int64],
    *,
    most: int,
    closing: frozenset[int],
    is_over: Callable[[list[int]], bool],
) -> list[Generated]:
    """Continue every row with the likeliest token, again and again, until it ends.

    Parameters
    ----------
    decoding : Decoding
        Of B rows, within the model's `computing`.
    wanted : ndarray of shape (W,)
        Tokens whose log-probabilities are noted at each step.
    most : int
        Most tokens of a row.
    closing : frozenset of int
        Tokens that mean the end of the sequence.
    is_over : callable
        Says of the tokens so far whether they are a whole answer.
    """
    places = decoding.tensor(wanted)
    going = list(range(len(decoding.logits)))
    tokens: list[list[int]] = [[] for _ in going]
    steps: list[list[Floats]] = [[] for _ in going]
    ended = [False] * len(going)
    for step in range(most):
        logits = decoding.logits.float()
        noted = logits[:, places] - logits.logsumexp(-1, keepdim=True)
        chosen = logits.argmax(-1).tolist()
        for row, token, own in zip(going, chosen, noted.cpu().numpy(), strict=True):
            if ended[row]:
                continue
            steps[row].append(own)
            if token in closing:
                ended[row] = True
            else:
                tokens[row].append(token)
                ended[row] = is_over(tokens[row])
        left = [place for place, row in enumerate(going) if not ended[row]]
        if not left or step == most - 1:
            break
        if len(left) <= (1 - _ENDED) * len(going):
            decoding.keep(left)
            going = [going[place] for place in left]
            chosen = [chosen[place] for place in left]
        decoding.advance(chosen)
    return [
        Generated(own, np.asarray(noted, np.float64), over)
        for own, noted, over in zip(tokens, steps, ended, strict=True)
    ]
