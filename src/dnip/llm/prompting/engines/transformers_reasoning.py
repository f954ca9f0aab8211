"""Chain of thought with the library transformers: generate, find the last label, score it there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dnip.base.columns import FALLBACK
from dnip.base.typing import Floats
from dnip.base.validation import check_integer
from dnip.llm.prompting.engines.base import ScoredRow
from dnip.llm.prompting.engines.causal_lm import fork, pad
from dnip.llm.prompting.engines.transformers_engine import (
    Computed,
    TransformersEngine,
    mean_per_label,
)
from dnip.llm.prompting.labels import LabelTokens, Scoring, last_label
from dnip.llm.prompting.prompt import Prompt
from dnip.llm.prompting.task import Task


class _Generated(NamedTuple):
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


class TransformersReasoningEngine(TransformersEngine):
    """Scores labels where the model names the last one, after it has reasoned.

    An answer is generated greedily, with the key-value cache of what all prompts begin with and
    many rows at a time. The probabilities of a row are those at the place of the last label in its
    answer: from the softmax that chose the label's first token. Where the answer holds no label,
    they are those at the place of its last token, that which ends the answer not counted.

    ``details["fallback"]`` of a row is 1 where its answer holds no label, else 0; ``"cut"`` is 1
    where it was cut at `max_new_tokens`; ``"new_tokens"`` is its length.

    Parameters
    ----------
    model : str or path-like
        A folder, or a name on the hub.
    max_new_tokens : int, default=256
        Most tokens of an answer.
    stop : str, optional
        Text that ends an answer, beside the model's own end-of-sequence tokens.
    batch_tokens : int, optional
        Most tokens of a batch, those of the answers included and of the shared prefix apart; by
        default 8,192 on a CPU and 65,536 on a GPU.
    **options
        As for `TransformersEngine`.

    Raises
    ------
    MissingDependencyError, InvalidInputError, BackendError
        As `TransformersEngine`.
    """

    OPTIONS = (*TransformersEngine.OPTIONS, "chain_of_thought", "max_new_tokens")
    KIND = "chain of thought"
    BATCH_TOKENS = (8192, 65536)

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        max_new_tokens: int = 256,
        stop: str | None = None,
        **options: Any,
    ) -> None:
        self._most = check_integer("max_new_tokens", max_new_tokens, at_least=1)
        self._stop = stop
        self._long = (
            f"leave no room for answers of {max_new_tokens} tokens in",
            "Allow shorter answers (--max-new-tokens), shorten the prompts",
        )
        super().__init__(model, **options)
        self._closing = self._model.closing | self.tokenizer.closing

    def describe(self) -> dict[str, Any]:
        """Return model, precision and library versions, for the table's metadata."""
        return {
            **super().describe(),
            "decoding": "greedy",
            "max_new_tokens": self._most,
            "stop": self._stop,
        }

    def _forms(self, prompts: Sequence[Prompt], task: Task) -> list[LabelTokens]:
        """Return label tokens as they follow the reasoning; in a chat, also as a reply begins."""
        lead, find = prompts[0].lead, partial(self.tokenizer.label_tokens, prompts, task)
        forms = [find(chat=self.chat, lead=lead)]
        if self.chat and lead:
            forms.append(find(chat=True))
        return [replace(form, merged=0) for form in forms]

    def _room(self, forms: Sequence[LabelTokens]) -> int:
        """Return how many tokens may follow a prompt, the last of which needs no place."""
        return self._most + super()._room(forms) - 1

    def _score_block(
        self, rows: list[list[int]], done: frozenset[int], forms: list[LabelTokens]
    ) -> Iterator[ScoredRow]:
        past, rest = self._without_prefix(rows)
        if past is not None and not self._model.bears_gaps(past):
            past, rest = None, rows

        def compute(batch: NDArray[np.int64]) -> Computed:
            prompts = [rest[i] for i in batch]
            answers = self._generate(prompts, past, forms)
            captured, is_named = self._read(prompts, answers, past, forms)
            details = [
                {
                    FALLBACK: int(not has_label),
                    "cut": int(not answer.ended),
                    "new_tokens": len(answer.tokens),
                }
                for answer, has_label in zip(answers, is_named, strict=True)
            ]
            return captured, details

        lengths = [len(row) + self._most for row in rest]
        # Not all versions of transformers keep padding out of a recurrent model's state.
        return self._in_batches(lengths, done, compute, alike=self._model.is_recurrent)

    def _generate(
        self, rows: list[list[int]], past: Any, forms: list[LabelTokens]
    ) -> list[_Generated]:
        """Continue every row with the likeliest token, again and again, until it ends.

        `past` is of `CausalLM.prefix` and left as it is; `CausalLM.bears_gaps` must hold for it.
        """
        model, closing = self._model, self._closing
        shared = 0 if past is None else past.get_seq_length()
        padded, real = pad(rows, left=True)
        # The prefix is in the cache: its tokens are not looked at, but they take places.
        inputs = np.pad(padded, ((0, 0), (shared, 0)))
        seen = np.pad(real, ((0, 0), (shared, 0)), constant_values=True)
        places = model.tensor([token for form in forms for token in form.all])
        steps: list[Floats] = []

        def note(_tokens: Any, logits: Any) -> Any:
            at_places = logits[:, places] - logits.logsumexp(-1, keepdim=True)
            steps.append(at_places.double().cpu().numpy())
            return logits

        options: dict[str, Any] = {}
        if past is not None:
            options[model.cache_name] = fork(past, len(rows))
        if self._stop is not None:
            options |= {"stop_strings": self._stop, "tokenizer": self.tokenizer.backend}
        with model.computing():
            whole = model.model.generate(
                model.tensor(inputs),
                attention_mask=model.tensor(seen).long(),
                max_new_tokens=self._most,
                do_sample=False,
                logits_processor=[note],
                eos_token_id=sorted(closing) or None,
                pad_token_id=0,
                **options,
            )
        logprobs = np.stack(steps, axis=1)
        answers = []
        for new, logs in zip(whole[:, inputs.shape[1] :].tolist(), logprobs, strict=True):
            end = next((i for i, token in enumerate(new) if token in closing), len(new))
            tokens = self._before_stop(new[:end])
            answers.append(_Generated(tokens, logs, len(tokens) < self._most))
        return answers

    def _before_stop(self, tokens: list[int]) -> list[int]:
        """Return the tokens that begin before the stop text does."""
        begin = -1 if self._stop is None else self.tokenizer.decode(tokens).find(self._stop)
        end = len(tokens)
        while begin >= 0 and end and len(self.tokenizer.decode(tokens[: end - 1])) >= begin:
            end -= 1
        return tokens[:end]

    def _read(
        self, rows: list[list[int]], answers: list[_Generated], past: Any, forms: list[LabelTokens]
    ) -> tuple[Floats, list[bool]]:
        """Return label probabilities, shape (B, N), and whether each answer holds a label."""
        labels = [last_label(answer.tokens, forms) for answer in answers]
        captured = np.empty((len(rows), len(forms[0].ids)))
        # Answers go on from their rows' cache, in which there must be no padding.
        alike: dict[tuple[int, int], list[int]] = {}
        read = []
        for row, (answer, label) in enumerate(zip(answers, labels, strict=True)):
            start, number = label or (max(len(answer.tokens) - 1, 0), 0)
            read.append(rows[row] + answer.tokens[:start])
            if self.scoring.is_whole:
                alike.setdefault((number, len(read[row])), []).append(row)
            else:
                captured[row] = _at_place(answer.logprobs[start], number, forms, self.scoring)
        for (number, _), group in alike.items():
            prefixes = [read[row] for row in group]
            captured[group] = self._probabilities(prefixes, past, forms[number])
        return captured, [label is not None for label in labels]


def _at_place(logprobs: Floats, number: int, forms: list[LabelTokens], scoring: Scoring) -> Floats:
    """Return label probabilities from what was noted at one place of all forms' tokens."""
    begin = sum(len(form.all) for form in forms[:number])
    labels = forms[number]
    noted: Floats = np.exp(logprobs[begin : begin + len(labels.all)])
    if scoring is Scoring.MEAN:
        return mean_per_label(noted, labels)
    firsts: Floats = noted[np.cumsum([0, *map(len, labels.ids)])[:-1]]
    return firsts
