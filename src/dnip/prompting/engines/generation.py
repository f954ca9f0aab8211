"""Greedy generation of many rows at a time, with the probabilities of chosen tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnip.prompting.engines.batches import pad
from dnip.prompting.engines.prefix_cache import cache_of, fork

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dnip.base.typing import Floats
    from dnip.prompting.engines.causal_lm import CausalLM

#: So many tokens are generated before rows that have ended are dropped.
_ROUND = 16


class Generated(NamedTuple):
    """What a row was continued with.

    Attributes
    ----------
    tokens : list of int
        Up to the end; a token that means the end of the sequence is left out.
    logprobs : ndarray of shape (steps, W)
        Log-probabilities of the wanted tokens at each step: at least one step, and at least one for
        each token.
    ended : bool
        False where the row was cut at the most tokens allowed.
    """

    tokens: list[int]
    logprobs: Floats
    ended: bool


def generate(
    model: CausalLM,
    rows: Sequence[Sequence[int]],
    wanted: Sequence[int],
    *,
    past: Any = None,
    most: int,
    closing: frozenset[int],
    is_over: Callable[[list[int]], bool],
) -> list[Generated]:
    """Continue every row with the likeliest token, again and again, until it ends.

    Parameters
    ----------
    model : CausalLM
    rows : sequence of B sequences of int
        Tokens of each row, without those of `past`.
    wanted : sequence of W int
        Tokens whose log-probabilities are noted at each step.
    past : cache, optional
        Of `CausalLM.prefix`; it is left as it is. `CausalLM.bears_gaps` must hold for it.
    most : int
        Most tokens of a row.
    closing : frozenset of int
        Tokens that mean the end of the sequence.
    is_over : callable
        Says of the new tokens so far whether they are a whole answer.
    """
    shared = 0 if past is None else past.get_seq_length()
    padded, real = pad(rows, left=True)
    # The prefix is in the cache: its tokens are not looked at, but they take places.
    given = model.tensor(np.pad(padded, ((0, 0), (shared, 0))))
    seen = np.pad(real, ((0, 0), (shared, 0)), constant_values=True)
    cache = None if past is None else fork(past, len(rows))
    begin, places = given.shape[1], model.tensor(wanted)
    tokens: list[list[int]] = [[] for _ in rows]
    logprobs: list[list[Floats]] = [[] for _ in rows]
    ended: dict[int, int] = {}
    going = list(range(len(rows)))
    steps: list[Any] = []

    def note(_tokens: Any, logits: Any) -> Any:
        noted = logits[:, places] - logits.logsumexp(-1, keepdim=True)
        steps.append(noted)
        return logits

    def stop(tokens: Any, _logits: Any, **_options: Any) -> Any:
        for row, own in zip(going, tokens[:, begin:].tolist(), strict=True):
            if row not in ended and (own[-1] in closing or is_over(own)):
                ended[row] = len(own) - (own[-1] in closing)
        return model.tensor([row in ended for row in going])

    while going and given.shape[1] < begin + most:
        with model.computing():
            output = model.model.generate(
                given,
                attention_mask=model.tensor(seen).long(),
                max_new_tokens=min(_ROUND, begin + most - given.shape[1]),
                do_sample=False,
                logits_processor=[note],
                stopping_criteria=[stop],
                return_dict_in_generate=True,
                **({} if cache is None else {"past_key_values": cache}),
            )
        whole = output.sequences
        for place, row in enumerate(going):
            logprobs[row] += [step[place].double().cpu().numpy() for step in steps]
            tokens[row] = whole[place, begin:].tolist()[: ended.get(row)]
        steps.clear()
        left = np.flatnonzero([row not in ended for row in going])
        grown = whole.shape[1] - given.shape[1]
        given = whole[model.tensor(left)]
        seen = np.pad(seen[left], ((0, 0), (0, grown)), constant_values=True)
        cache = cache_of(output)
        if cache is not None:
            cache.batch_select_indices(model.tensor(left))
        going = [going[place] for place in left]
    return [
        Generated(own, np.array(noted), row in ended)
        for row, (own, noted) in enumerate(zip(tokens, logprobs, strict=True))
    ]
