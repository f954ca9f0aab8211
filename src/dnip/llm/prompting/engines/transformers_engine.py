"""Engine `transformers`: any causal language model, on this machine's CPU or GPU."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dnip.base.errors import BackendError, InvalidInputError, listed
from dnip.base.typing import Floats
from dnip.base.validation import check_integer
from dnip.llm.prompting.engines.base import ScoredRow, blocks, prompted
from dnip.llm.prompting.engines.causal_lm import CausalLM, OutOfMemoryBackendError
from dnip.llm.prompting.engines.hub import HubTokenizer
from dnip.llm.prompting.labels import LabelTokens, Scoring, check_first_tokens
from dnip.llm.prompting.prompt import Prompt
from dnip.llm.prompting.task import Task
from dnip.tables.provenance import Question

#: Of a batch, the probability of every label after each row, and what else is known of the row.
Computed: TypeAlias = "tuple[Floats, list[dict[str, Any]]]"


class TransformersEngine:
    """Scores labels with one forward pass per row.

    What all prompts begin with is computed once; rows of similar length go through the model
    together, and the vocabulary's logits are computed at the answer position only.

    The same prompts give the same numbers, to the last bit, on a CPU, whichever of them are done
    already. Another `batch_tokens`, or other prompts beside them, may change the last bits.

    Parameters
    ----------
    model : str or path-like
        A folder, or a name on the hub.
    revision : str, optional
        Branch, tag or commit, for a name on the hub.
    dtype : {"float32", "bfloat16", "float16", "auto"}
        Precision of weights and arithmetic; "auto" takes the checkpoint's own. Probabilities are
        always computed in float32.
    device : str
        Such as ``"cpu"`` or ``"cuda:1"``; ``"auto"`` takes a GPU where there is one.
    batch_tokens : int, optional
        Most tokens of a batch, those of the shared prefix apart; by default 768 on a CPU and
        16,384 on a GPU.
    chat : bool, default=False
        Give every prompt as the user's turn of a chat, in the tokenizer's chat template; the answer
        is the reply.
    scoring : Scoring, default=Scoring.FIRST
        How the probability of a label word of several tokens is read.

    Raises
    ------
    MissingDependencyError
        If torch or transformers is not installed.
    InvalidInputError, BackendError
        If the model cannot be loaded, or a setting is out of range.
    """

    #: The options of `dnip.llm.prompting.models.ModelOptions` that it takes.
    OPTIONS: tuple[str, ...] = (
        *("dtype", "device", "chat", "revision", "batch_tokens", "scoring", "truncate"),
    )
    #: What it is, for messages.
    KIND = "a model on this machine"
    #: Most tokens of a batch on a CPU and on a GPU, by default.
    BATCH_TOKENS = (768, 16384)
    # What is said of prompts that are too long, and what to do about it.
    _long = ("are longer than", "Shorten them")

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        revision: str | None = None,
        dtype: str = "float32",
        device: str = "auto",
        batch_tokens: int | None = None,
        chat: bool = False,
        scoring: Scoring = Scoring.FIRST,
    ) -> None:
        if batch_tokens is not None:
            check_integer("batch_tokens", batch_tokens, at_least=1)
        self._name, self._revision = str(model), revision
        self.tokenizer = HubTokenizer(model, revision=revision)
        self.chat = chat
        self.scoring = Scoring(scoring)
        if chat:
            self.tokenizer.chat(Prompt("", "prompt").messages)  # refused before the model is loaded
        # The commit of the tokenizer, even if the branch moves in between.
        same = self.tokenizer.commit or revision
        self._model = CausalLM(model, revision=same, dtype=dtype, device=device)
        on_gpu = self._model.device.type != "cpu"
        self._batch_tokens = batch_tokens or self.BATCH_TOKENS[on_gpu]

    def describe(self) -> dict[str, Any]:
        """Return model, precision and library versions, for the table's metadata."""
        return {
            "engine": "transformers",
            "model": self._name,
            "revision": self._revision,
            **self._model.describe(),
            "batch_tokens": self._batch_tokens,
            "chat_template": self.tokenizer.chat_template if self.chat else None,
        }

    def in_form(self, *, chat: bool) -> Self:
        """Return an engine of the same model that gives prompts as they are, or as a chat."""
        other = copy.copy(self)
        other.chat = chat
        return other

    def question(self, prompts: Sequence[Prompt], task: Task) -> Question:
        """Return what is the same for every row."""
        return prompted(self._name, prompts, task, chat=self.chat)

    def too_long(self, prompts: Sequence[Prompt], task: Task) -> list[int]:
        """Return the row numbers of prompts that leave no room in the model's context.

        Raises
        ------
        InvalidInputError
            If labels cannot be told apart.
        """
        return self._beyond(self._encode_all(prompts), self._forms(prompts, task))

    def score(
        self, prompts: Sequence[Prompt], task: Task, *, done: frozenset[int] = frozenset()
    ) -> Iterator[ScoredRow]:
        """Yield the scores of the prompts that are not `done`, longest prompts first.

        Everything is checked before the first row. Batches are the same whatever is done: one that
        was cut short is scored, and yielded, as a whole again.

        Raises
        ------
        InvalidInputError
            If labels cannot be told apart, or prompts do not fit into the model's context.
        BackendError
            If the device has no memory for a single row, or the model gives no numbers.
        """
        if not prompts:
            return iter(())
        rows, forms = self._encode_all(prompts), self._forms(prompts, task)
        if self.scoring is Scoring.FIRST:
            for form in forms:
                check_first_tokens(form, self.tokenizer.decode)
        if merged := forms[0].merged:
            rows = [row[:-merged] for row in rows]
        if empty := [number for number, row in enumerate(rows) if not row]:
            raise InvalidInputError(
                f"the prompts of rows {listed(list(map(str, empty)))} are empty",
                hint="Give the task an instruction",
            )
        if long := self._beyond(rows, forms):
            reason, hint = self._long
            raise InvalidInputError(
                f"{len(long)} prompts {reason} the model's context of {self._model.context} "
                f"tokens: rows {listed(list(map(str, long)))}",
                hint=f"{hint} (--truncate), show fewer demonstrations, or take a model of a longer "
                "context",
            )
        return self._in_blocks(rows, done, forms)

    def _encode_all(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        """Return the tokens of what the model is given, up to where the answer begins."""
        return self.tokenizer.encode_all(
            self.tokenizer.texts(prompts, chat=self.chat), chat=self.chat
        )

    def _forms(self, prompts: Sequence[Prompt], task: Task) -> list[LabelTokens]:
        """Return the ways in which labels may be written."""
        return [self.tokenizer.label_tokens(prompts, task, chat=self.chat)]

    def _room(self, forms: Sequence[LabelTokens]) -> int:
        """Return how many tokens of an answer are scored; the last needs no place of its own."""
        return max(len(ids) for form in forms for ids in form.ids) if self.scoring.is_whole else 1

    def _beyond(self, rows: Sequence[Sequence[int]], forms: Sequence[LabelTokens]) -> list[int]:
        context = self._model.context
        most = math.inf if context is None else context - (self._room(forms) - 1)
        return [number for number, row in enumerate(rows) if len(row) > most]

    def _in_blocks(
        self, rows: list[list[int]], done: frozenset[int], forms: list[LabelTokens]
    ) -> Iterator[ScoredRow]:
        """Score block by block, so that a block comes to the same without the others."""
        for first, last in blocks(len(rows)):
            if not done.issuperset(range(first, last)):
                done_here = frozenset(row - first for row in done)
                for scored in self._score_block(rows[first:last], done_here, forms):
                    yield replace(scored, row=first + scored.row)

    def _score_block(
        self, rows: list[list[int]], done: frozenset[int], forms: list[LabelTokens]
    ) -> Iterator[ScoredRow]:
        past, rest = self._without_prefix(rows)

        def compute(batch: NDArray[np.int64]) -> Computed:
            captured = self._probabilities([rest[i] for i in batch], past, forms[0])
            return captured, [{} for _ in batch]

        # Answers go on from their rows' cache, in which there must be no padding.
        lengths = [len(row) for row in rest]
        return self._in_batches(lengths, done, compute, alike=self.scoring.is_whole)

    def _in_batches(
        self,
        lengths: list[int],
        done: frozenset[int],
        compute: Callable[[NDArray[np.int64]], Computed],
        *,
        alike: bool,
    ) -> Iterator[ScoredRow]:
        """Score all batches that hold a row which is not done."""
        for batch in batches(lengths, self._batch_tokens, alike=alike):
            if done.issuperset(batch.tolist()):
                continue
            for numbers, (captured, details) in self._in_memory(batch, compute):
                bad = numbers[~np.isfinite(captured).all(axis=1)]
                if len(bad):
                    raise BackendError(
                        f"the model gives no probabilities for rows {listed(list(map(str, bad)))}",
                        hint="Take the precision bfloat16 or float32",
                    )
                for number, scores, known in zip(numbers.tolist(), captured, details, strict=True):
                    yield ScoredRow(number, scores, details=known)

    def _without_prefix(self, rows: list[list[int]]) -> tuple[Any, list[list[int]]]:
        """Return the cache of the rows' common beginning, if there is one, and the rest of each."""
        shared = _shared_length(rows)
        past = self._model.prefix(rows[0][:shared])
        return (None, rows) if past is None else (past, [row[shared:] for row in rows])

    def _in_memory(
        self, batch: NDArray[np.int64], compute: Callable[[NDArray[np.int64]], Computed]
    ) -> Iterator[tuple[NDArray[np.int64], Computed]]:
        """Compute a batch, or its halves where it does not fit into memory."""
        try:
            result = compute(batch)
        except OutOfMemoryBackendError:
            if len(batch) == 1:
                raise
        else:
            yield batch, result
            return
        for half in np.split(batch, [len(batch) // 2]):
            yield from self._in_memory(half, compute)

    def _probabilities(self, rows: list[list[int]], past: Any, labels: LabelTokens) -> Floats:
        """Return the probability of every label; shape (B, N)."""
        model, scoring = self._model, self.scoring
        if not scoring.is_whole:
            wanted = labels.first if scoring is Scoring.FIRST else labels.all
            probabilities = np.exp(model.next_tokens(rows, wanted, past=past))
            return (
                probabilities if scoring is Scoring.FIRST else mean_per_label(probabilities, labels)
            )
        sums = model.continuations(rows, labels.ids, past=past)
        if scoring is Scoring.PER_TOKEN:
            sums = sums / [len(ids) for ids in labels.ids]
        return np.exp(sums)


def mean_per_label(probabilities: Floats, labels: LabelTokens) -> Floats:
    """Return the mean over the tokens of each label, from that of all labels' tokens in a row."""
    begins = np.cumsum([0, *map(len, labels.ids)])[:-1]
    sums: Floats = np.add.reduceat(probabilities, begins, axis=-1)
    return sums / [len(ids) for ids in labels.ids]


def _shared_length(rows: Sequence[list[int]]) -> int:
    """Return how many tokens all rows begin with, leaving each at least one of its own.

    One row alone shares nothing.

    Examples
    --------
    >>> _shared_length([[5, 6, 7], [5, 6, 8, 9]])
    2
    >>> _shared_length([[5, 6], [5, 6, 8, 9]]), _shared_length([[5, 6]])
    (1, 0)
    """
    if len(rows) < 2:
        return 0
    # What the first and the last in sorted order share, all between them share.
    low, high = min(rows), max(rows)
    most = min(map(len, rows)) - 1
    differ = (i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b)
    return min(most, next(differ, most))


def batches(
    lengths: Sequence[int], budget: int, *, alike: bool = False
) -> Iterator[NDArray[np.int64]]:
    """Yield the row numbers of each batch, longest rows first.

    Rows of similar length come together, so that little is padding; the longest come first, so
    that memory that does not suffice shows at once.

    Parameters
    ----------
    lengths : sequence of int
        Tokens of each row.
    budget : int
        Most tokens of a batch, padding included; a longer row goes alone.
    alike : bool, default=False
        Give a batch rows of one length only.

    Examples
    --------
    >>> [batch.tolist() for batch in batches([3, 1, 3, 2], 6)]
    [[0, 2], [3, 1]]
    >>> [batch.tolist() for batch in batches([3, 1, 3, 2], 6, alike=True)]
    [[0, 2], [3], [1]]
    """
    sizes = np.asarray(lengths, np.int64)
    order = np.argsort(-sizes, kind="stable")
    begin = 0
    while begin < len(order):
        longest = int(sizes[order[begin]])
        end = begin + max(1, budget // max(1, longest))
        batch = order[begin:end]
        if alike:
            batch = batch[sizes[batch] == longest]
        yield batch
        begin += len(batch)
