"""Causal language models on this machine, through the library transformers."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dnip.base.errors import BackendError, DNIPError, InvalidInputError, first_line, listed
from dnip.base.typing import Floats
from dnip.base.validation import check_choice, check_integer
from dnip.llm.answers.reader import LabelReader
from dnip.llm.prompting.engines import ScoredRow, blocks, prompted
from dnip.llm.prompting.engines.hub import (
    SMALL_FILES,
    WEIGHTS,
    HubTokenizer,
    commit_of,
    draw_no_bars,
    find_files,
    find_here,
    library,
    load,
    read_gguf,
)
from dnip.llm.prompting.labels import LabelTokens, Scoring, check_first_tokens
from dnip.llm.prompting.prompt import Prompt
from dnip.llm.prompting.task import Task
from dnip.llm.questions import Question
from dnip.tables.columns import FALLBACK

#: Precisions by name; "auto" takes the checkpoint's own.
PRECISIONS = ("float32", "bfloat16", "float16", "auto")
#: Layers of a cache that hold keys and values alone.
_GROWING = ("DynamicLayer", "DynamicSlidingWindowLayer")


class TransformersEngine:
    """Scores labels with one forward pass per row.

    What all prompts begin with is computed once; rows of similar length go through the model
    together, and the vocabulary's logits are computed at the answer position only. The model is
    loaded when it is needed: there may be nothing left to ask.

    The same prompts give the same numbers, to the last bit, on a CPU. Another `batch_tokens`, or
    other prompts next to them, may change the last bits.

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
        *("dtype", "device", "endpoint", "revision", "batch_tokens", "scoring", "truncate"),
    )
    #: What it is, for messages.
    KIND = "a model on this machine"
    #: Most tokens of a batch on a CPU and on a GPU, by default.
    BATCH_TOKENS = (768, 16384)
    # Tokens that it writes after a prompt, at most.
    _new_tokens = 0
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
        check_choice("dtype", dtype, PRECISIONS)
        if batch_tokens is not None:
            check_integer("batch_tokens", batch_tokens, at_least=1)
        self._name, self._revision = str(model), revision
        self._dtype, self._device, self._batch_tokens = dtype, device, batch_tokens
        self.chat, self.scoring = chat, Scoring(scoring)
        self._here = find_here(self._name, "model", revision)
        draw_no_bars()

    @cached_property
    def tokenizer(self) -> HubTokenizer:
        """That of the model."""
        try:
            return HubTokenizer(self._name, revision=self._revision)
        except DNIPError as error:
            if self._here is None:  # it may be the name of a model that only a server has
                error.hint = (
                    f"{error.hint}. If a server has the model, give its URL: --model URL "
                    f"--served-model {self._name}"
                )
            raise

    @cached_property
    def _model(self) -> CausalLM:
        if self.chat:
            self.tokenizer.chat(Prompt("", "prompt").messages)  # refused before weights are read
        # The commit of the tokenizer, even if the branch moves in between.
        same = self.tokenizer.commit or self._revision
        return CausalLM(self._name, revision=same, dtype=self._dtype, device=self._device)

    @property
    def _most_tokens(self) -> int:
        return self._batch_tokens or self.BATCH_TOKENS[self._model.device.type != "cpu"]

    @property
    def mark(self) -> list[Any] | None:
        """What its description follows from, known without the model; None for one of the hub."""
        if self._here is None:
            return None
        paths = [self._here] if self._here.is_file() else sorted(self._here.iterdir())
        stats = [(path.name, path.stat()) for path in paths if path.is_file()]
        files = [[name, stat.st_size, stat.st_mtime_ns] for name, stat in stats]
        libraries = [name for name in ("torch", "transformers") if find_spec(name)]
        return [*self._settings, files, {name: version(name) for name in libraries}]

    @property
    def _settings(self) -> list[Any]:
        own = [self.KIND, self._name, self._revision, self._dtype, self._device]
        return [*own, self._batch_tokens, self.chat]

    def describe(self) -> dict[str, Any]:
        """Return model, precision and library versions, for the table's metadata."""
        return {
            "engine": "transformers",
            "model": self._name,
            "revision": self._revision,
            **self._model.describe(),
            "batch_tokens": self._most_tokens,
            "chat_template": self.tokenizer.chat_template if self.chat else None,
        }

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

    def score(self, prompts: Sequence[Prompt], task: Task) -> Iterator[ScoredRow]:
        """Yield the scores of the prompts, longest prompts first.

        Everything is checked before the first row.

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
        return self._in_blocks(rows, forms)

    def says(self, prompts: Sequence[Prompt]) -> list[str]:
        """Return the likeliest token after each prompt."""
        tokens = (self._model.likeliest(row) for row in self._encode_all(prompts))
        return [self.tokenizer.decode([token]) for token in tokens]

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

    def _in_blocks(self, rows: list[list[int]], forms: list[LabelTokens]) -> Iterator[ScoredRow]:
        """Score block by block, so that a block comes to the same without the others."""
        for first, last in blocks(len(rows)):
            for scored in self._score_block(rows[first:last], forms):
                yield replace(scored, row=first + scored.row)

    def _score_block(self, rows: list[list[int]], forms: list[LabelTokens]) -> Iterator[ScoredRow]:
        past, rest = self._without_prefix(rows)
        lengths = [len(row) + self._new_tokens for row in rest]
        for batch in batches(lengths, self._most_tokens, alike=self._needs_one_length):
            for numbers, captured, details in self._in_memory(batch, rest, past, forms):
                bad = numbers[~np.isfinite(captured).all(axis=1)]
                if len(bad):
                    raise BackendError(
                        f"the model gives no probabilities for rows {listed(list(map(str, bad)))}",
                        hint="Take the precision bfloat16 or float32",
                    )
                for number, scores, known in zip(numbers.tolist(), captured, details, strict=True):
                    answer = known.pop("answer", None)
                    yield ScoredRow(number, scores, details=known, answer=answer)

    @property
    def _needs_one_length(self) -> bool:
        # Answers go on from their rows' cache, in which there must be no padding.
        return self.scoring.is_whole

    def _without_prefix(self, rows: list[list[int]]) -> tuple[Any, list[list[int]]]:
        """Return the cache of the rows' common beginning, if there is one, and the rest of each."""
        shared = _shared_length(rows)
        past = self._model.prefix(rows[0][:shared])
        return (None, rows) if past is None else (past, [row[shared:] for row in rows])

    def _in_memory(
        self, batch: NDArray[np.int64], rows: list[list[int]], past: Any, forms: list[LabelTokens]
    ) -> Iterator[tuple[NDArray[np.int64], Floats, list[dict[str, Any]]]]:
        """Compute a batch, or its halves where it does not fit into memory."""
        try:
            captured, details = self._compute([rows[i] for i in batch], past, forms)
        except OutOfMemoryBackendError:
            if len(batch) == 1:
                raise
        else:
            yield batch, captured, details
            return
        for half in np.split(batch, [len(batch) // 2]):
            yield from self._in_memory(half, rows, past, forms)

    def _compute(
        self, rows: list[list[int]], past: Any, forms: list[LabelTokens]
    ) -> tuple[Floats, list[dict[str, Any]]]:
        """Return the probability of every label after each row, and what else is known of it."""
        return self._probabilities(rows, past, forms[0]), [{} for _ in rows]

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
    """Scores labels where the model states one, after it has reasoned.

    An answer is generated greedily, with the key-value cache of what all prompts begin with and
    many rows at a time. The probabilities of a row are those at the place of the label that its
    answer states, or else of the only one in its last sentence: from the softmax that chose the
    label's first token. Where the answer states no label, they are those at the place of its last
    token, that which ends the answer not counted.

    ``details["fallback"]`` of a row is 1 where its answer states no label, else 0; ``"cut"`` is 1
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
        self._new_tokens = check_integer("max_new_tokens", max_new_tokens, at_least=1)
        self._stop = stop
        self._long = (
            f"leave no room for answers of {max_new_tokens} tokens in",
            "Allow shorter answers (--max-new-tokens), shorten the prompts",
        )
        super().__init__(model, **options)

    @property
    def _settings(self) -> list[Any]:
        return [*super()._settings, self._new_tokens, self._stop]

    def describe(self) -> dict[str, Any]:
        """Return model, precision and library versions, for the table's metadata."""
        return {
            **super().describe(),
            "decoding": "greedy",
            "max_new_tokens": self._new_tokens,
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
        return self._new_tokens + super()._room(forms) - 1

    @property
    def _needs_one_length(self) -> bool:
        # Not all versions of transformers keep padding out of a recurrent model's state.
        return self._model.is_recurrent

    def _without_prefix(self, rows: list[list[int]]) -> tuple[Any, list[list[int]]]:
        past, rest = super()._without_prefix(rows)
        if past is not None and not self._model.bears_gaps(past):
            return None, rows
        return past, rest

    def _compute(
        self, rows: list[list[int]], past: Any, forms: list[LabelTokens]
    ) -> tuple[Floats, list[dict[str, Any]]]:
        answers = self._generate(rows, past, forms)
        captured, is_named = self._read(rows, answers, past, forms)
        details = [
            {
                FALLBACK: int(not has_label),
                "cut": int(not answer.ended),
                "new_tokens": len(answer.tokens),
                "answer": self.tokenizer.decode(answer.tokens),
            }
            for answer, has_label in zip(answers, is_named, strict=True)
        ]
        return captured, details

    def _generate(
        self, rows: list[list[int]], past: Any, forms: list[LabelTokens]
    ) -> list[_Generated]:
        """Continue every row with the likeliest token, again and again, until it ends.

        `past` is of `CausalLM.prefix` and left as it is; `CausalLM.bears_gaps` must hold for it.
        """
        model, closing = self._model, self._model.closing | self.tokenizer.closing
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
                max_new_tokens=self._new_tokens,
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
            answers.append(_Generated(tokens, logs, len(tokens) < self._new_tokens))
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
        """Return label probabilities, shape (B, N), and whether each answer states a label."""
        words = tuple((word,) for word in forms[0].words)
        reader = LabelReader(words, exact=True, last=True)
        places = [self._place(answer.tokens, forms, reader) for answer in answers]
        captured = np.empty((len(rows), len(forms[0].ids)))
        # Answers go on from their rows' cache, in which there must be no padding.
        alike: dict[tuple[int, int], list[int]] = {}
        read = []
        for row, (answer, place) in enumerate(zip(answers, places, strict=True)):
            start, number = place or (max(len(answer.tokens) - 1, 0), 0)
            read.append(rows[row] + answer.tokens[:start])
            if self.scoring.is_whole:
                alike.setdefault((number, len(read[row])), []).append(row)
            else:
                captured[row] = _at_place(answer.logprobs[start], number, forms, self.scoring)
        for (number, _), group in alike.items():
            prefixes = [read[row] for row in group]
            captured[group] = self._probabilities(prefixes, past, forms[number])
        return captured, [place is not None for place in places]

    def _place(
        self, tokens: list[int], forms: list[LabelTokens], reader: LabelReader
    ) -> tuple[int, int] | None:
        """Return where the stated label begins, and which form it has; None where none is stated.

        In other tokens than those of the forms it is read where its first letter stands.
        """
        decode = self.tokenizer.decode
        if not (stated := reader.state(decode(tokens)).mentions):
            return None
        label, begin = stated[0].label, stated[0].start
        at = next(i for i in range(len(tokens)) if len(decode(tokens[: i + 1])) > begin)
        for number, form in enumerate(forms):
            ids = form.ids[label]
            for start in range(max(0, at - len(ids) + 1), at + 1):
                if tuple(tokens[start : start + len(ids)]) == ids:
                    return start, number
        return at, 0


def _at_place(logprobs: Floats, number: int, forms: list[LabelTokens], scoring: Scoring) -> Floats:
    """Return label probabilities from what was noted at one place of all forms' tokens."""
    begin = sum(len(form.all) for form in forms[:number])
    labels = forms[number]
    noted: Floats = np.exp(logprobs[begin : begin + len(labels.all)])
    if scoring is Scoring.MEAN:
        return mean_per_label(noted, labels)
    firsts: Floats = noted[np.cumsum([0, *map(len, labels.ids)])[:-1]]
    return firsts


class CausalLM:
    """A causal language model of the library transformers.

    Parameters
    ----------
    model : str or path-like
        A folder, or a name on the hub.
    revision : str, optional
        Branch, tag or commit, for a name on the hub.
    dtype : {"float32", "bfloat16", "float16", "auto"}
        Precision of weights and arithmetic.
    device : str
        Such as ``"cpu"`` or ``"cuda:1"``; ``"auto"`` takes a GPU where there is one.

    Attributes
    ----------
    context : int or None
        Most tokens that the model takes; None where it names no limit.
    closing : frozenset of int
        Tokens that mean the end of a sequence, as far as the model itself says.

    Raises
    ------
    MissingDependencyError
        If torch or transformers is not installed.
    InvalidInputError, BackendError
        If the model cannot be loaded, or there is no such device.
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        revision: str | None = None,
        dtype: str = "float32",
        device: str = "auto",
    ) -> None:
        self._transformers = library()  # it comes with torch
        self._torch: Any = import_module("torch")
        self.device = self._find_device(device)
        folder = find_files(model, "model", SMALL_FILES + WEIGHTS, revision=revision)
        self._commit = commit_of(folder)
        self._gguf = read_gguf(folder) if folder.is_file() else None
        self.model, loading = load(
            self._transformers.AutoModelForCausalLM.from_pretrained,
            folder,
            "model",
            dtype=dtype if dtype == "auto" else getattr(self._torch, dtype),
            output_loading_info=True,
            use_safetensors=True,  # pickled weights can run code
        )
        if loading["missing_keys"]:
            raise InvalidInputError(
                f"the model {str(model)!r} lacks weights: "
                f"{', '.join(sorted(loading['missing_keys'])[:3])}",
                hint="Its files belong to another architecture, or are damaged",
            )
        self.model.to(self.device).eval()
        if self.device.type == "cpu":
            # glibc gives freed memory back to the system beyond twice the largest block that was
            # ever mapped and freed, 32 MiB at most; fetching it page by page again costs a batch up
            # to a sixth of its time. So one such block is made, and freed.
            self._torch.empty((32 << 20) - (1 << 16), dtype=self._torch.uint8)
        text = self.model.config.get_text_config()
        self.context: int | None = getattr(text, "max_position_embeddings", None)
        self.closing = _closing(self.model)
        # A checkpoint's own settings may sample, or change probabilities, as a penalty does.
        self.model.generation_config = self._transformers.GenerationConfig()
        takes = signature(self.model.forward).parameters
        self._narrows, self._takes_positions = "logits_to_keep" in takes, "position_ids" in takes
        #: What the model calls its cache; the older name makes newer versions warn.
        self.cache_name = "cache" if "cache" in takes else "past_key_values"
        self._prefix: tuple[tuple[int, ...], Any] = ((), None)

    def _find_device(self, device: str) -> Any:
        torch = self._torch
        if device == "auto":
            return torch.device("cuda" if torch.cuda.is_available() else "cpu")
        try:
            chosen = torch.device(device)
            torch.empty(1, device=chosen)
        except (RuntimeError, AssertionError) as error:
            raise InvalidInputError(
                f"device {device!r} cannot be used: {first_line(error)}",
                hint="Give cpu, cuda, or auto",
            ) from error
        return chosen

    def describe(self) -> dict[str, Any]:
        """Return what the numbers depend on, beside the model's name."""
        gguf = self._gguf
        file = {} if gguf is None else {"sha256": gguf.sha256, "quantisation": gguf.quantisation}
        return {
            **file,
            "architecture": type(self.model).__name__,
            "commit": self._commit,
            "dtype": str(self.model.dtype).removeprefix("torch."),
            "device": self.device.type,
            "attention": getattr(self.model.config, "_attn_implementation", None),
            "torch": self._torch.__version__,
            "transformers": self._transformers.__version__,
        }

    def prefix(self, tokens: Sequence[int]) -> Any | None:
        """Return the key-value cache of a prefix; the last one is kept.

        Returns
        -------
        cache or None
            None for an empty prefix, and for a model whose state is not made of keys and values
            alone (such as a recurrent one); rows must then hold the prefix themselves.
        """
        key = tuple(tokens)
        if not key:
            return None
        if self._prefix[0] != key:
            self._prefix = ((), None)  # frees the old one before the new one is made
            with self.computing():
                self._prefix = (key, _cache_of(self._run([key], keep=True)))
        return self._prefix[1]

    @cached_property
    def is_recurrent(self) -> bool:
        """Whether the model keeps a state that padding may disturb, beside keys and values."""
        with self.computing():
            return _cache_of(self._run([[0]], keep=True)) is None

    def bears_gaps(self, past: Any) -> bool:
        """Say whether `generate` may go on from a cache with rows of different lengths.

        The padding of shorter rows lies between the cache and the row. A sliding window, or a model
        that counts places itself, would take it for text.
        """
        windowed = any(type(layer).__name__ == _GROWING[1] for layer in past.layers)
        return self._takes_positions and not windowed

    def next_tokens(
        self, rows: Sequence[Sequence[int]], wanted: Sequence[int], *, past: Any = None
    ) -> Floats:
        """Return the log-probabilities of tokens that may come next.

        Parameters
        ----------
        rows : sequence of B sequences of int
            Tokens of each row, without those of `past`.
        wanted : sequence of W int
            Tokens to look up.
        past : cache, optional
            Of `prefix`; it is left as it is.

        Returns
        -------
        ndarray of shape (B, W)
            From the softmax over the whole vocabulary, in float32.
        """
        with self.computing():
            logits = self._run(rows, past=past).logits[:, 0].float()
            picked = logits[:, self.tensor(wanted)] - logits.logsumexp(-1, keepdim=True)
            return np.asarray(picked.cpu().numpy(), np.float64)

    def likeliest(self, row: Sequence[int]) -> int:
        """Return the token that is most likely to come next."""
        with self.computing():
            return int(self._run([row]).logits[0, 0].argmax())

    def continuations(
        self, rows: Sequence[Sequence[int]], answers: Sequence[Sequence[int]], *, past: Any = None
    ) -> Floats:
        """Return the log-probability of whole answers: sums over their tokens.

        The rows go through the model once; each answer of several tokens goes on from there.

        Parameters
        ----------
        rows : sequence of B sequences of int
            Tokens of each row, all of one length, without those of `past`.
        answers : sequence of N sequences of int
            Tokens of each answer.
        past : cache, optional
            Of `prefix`; it is left as it is.

        Returns
        -------
        ndarray of shape (B, N)
        """
        with self.computing():
            first = self._run(rows, past=past, keep=True)
            cache = _cache_of(first)
            if cache is None:
                columns = [self._whole(rows, answer, past) for answer in answers]
            else:
                start = first.logits[:, 0].float().log_softmax(-1)
                columns = [self._from(start, cache, answer) for answer in answers]
            stacked = self._torch.stack(columns, dim=1)
            return np.asarray(stacked.cpu().numpy(), np.float64)

    def _from(self, start: Any, cache: Any, answer: Sequence[int]) -> Any:
        """Go on from the rows' cache with one answer; shape (B,)."""
        total = start[:, answer[0]]
        if len(answer) > 1:
            places = [list(range(len(answer) - 1))] * len(start)
            logits = self._run([answer[:-1]] * len(start), places, cache).logits
            total = total + self._along(logits, answer[1:])
        return total

    def _whole(self, rows: Sequence[Sequence[int]], answer: Sequence[int], past: Any) -> Any:
        """Give rows and one answer together; for models whose cache cannot be forked."""
        begin = len(rows[0]) - 1
        places = [list(range(begin, begin + len(answer)))] * len(rows)
        logits = self._run([[*row, *answer[:-1]] for row in rows], places, past).logits
        return self._along(logits, answer)

    def _along(self, logits: Any, tokens: Sequence[int]) -> Any:
        """Sum over places the log-probability of one token at each; shape (B,)."""
        chosen = self.tensor(tokens).expand(len(logits), -1)
        return logits.float().log_softmax(-1).gather(-1, chosen[..., None]).sum(dim=(1, 2))

    def _run(
        self,
        rows: Sequence[Sequence[int]],
        places: Sequence[Sequence[int]] | None = None,
        past: Any = None,
        *,
        keep: bool = False,
    ) -> Any:
        """Run the model; its logits are of `places` only, shape (B, number of places, V).

        By default these are the places of the rows' last tokens.

        Shorter rows are padded on the right, which needs no mask: causal attention never looks
        ahead, and positions and sliding windows stand as without padding.
        """
        tokens = self.tensor(pad(rows)[0])
        at = self.tensor(places or [[len(row) - 1] for row in rows])
        options: dict[str, Any] = {"use_cache": keep or past is not None}
        if past is not None:
            options[self.cache_name] = fork(past, len(rows))
        if self._narrows:  # the head costs the most for each place; rows have few different lengths
            options["logits_to_keep"], at = at.unique(return_inverse=True)
        output = self.model(input_ids=tokens, **options)
        output.logits = output.logits.take_along_dim(at[..., None], dim=1)
        return output

    def tensor(self, values: Any) -> Any:
        """Return values as a tensor on the model's device."""
        return self._torch.as_tensor(np.asarray(values), device=self.device)

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Compute without gradients; say in our own words what the device refuses."""
        try:
            with self._torch.inference_mode():
                yield
        except RuntimeError as error:  # the type of a full GPU is one of these
            first = first_line(error)
            if "out of memory" in first.lower() or "can't allocate memory" in first:
                raise OutOfMemoryBackendError(
                    f"the {self.device.type} has no memory for this batch: {first}",
                    hint="Take a smaller model, a smaller batch, or a precision of 16 bits",
                ) from error
            raise BackendError(
                f"the model fails on {self.device.type}: {type(error).__name__}: {first}",
                hint="Try another device or precision",
            ) from error


class OutOfMemoryBackendError(BackendError):
    """The device has no memory for a batch; a smaller one may pass."""


def _closing(model: Any) -> frozenset[int]:
    tokens: set[int] = set()
    for settings in (model.config, getattr(model, "generation_config", None)):
        eos = getattr(settings, "eos_token_id", None)
        tokens.update(eos if isinstance(eos, list) else [] if eos is None else [eos])
    return frozenset(tokens)


def _cache_of(output: Any) -> Any | None:
    """Return the cache in a model's output, None for one that is not of keys and values alone.

    A recurrent layer may not go on from its state with several tokens.
    """
    name = "cache" if hasattr(output, "cache") else "past_key_values"
    cache = getattr(output, name, None)
    layers = getattr(cache, "layers", None) or []
    known = all(type(layer).__name__ in _GROWING for layer in layers)
    return cache if layers and known else None


def fork(cache: Any, rows: int) -> Any:
    """Return a copy of a cache, for so many rows where it is of one."""
    forked = copy.deepcopy(cache)
    if rows > 1 and len(cache.layers[0].keys) == 1:
        forked.batch_repeat_interleave(rows)
    return forked


def pad(
    rows: Sequence[Sequence[int]], *, left: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Make one matrix of rows of different lengths.

    Parameters
    ----------
    rows : sequence of B sequences of int
    left : bool, default=False
        Pad in front of a row instead of behind it.

    Returns
    -------
    tokens : ndarray of shape (B, T), int64
        0 where a row is padded.
    real : ndarray of shape (B, T), bool
        False where a row is padded.

    Examples
    --------
    >>> pad([[5, 6], [7]])[0]
    array([[5, 6],
           [7, 0]])
    >>> pad([[5, 6], [7]], left=True)[1]
    array([[ True,  True],
           [False,  True]])
    """
    lengths = np.array([len(row) for row in rows])[:, None]
    places = np.arange(lengths.max())
    real = places >= lengths.max() - lengths if left else places < lengths
    tokens = np.zeros(real.shape, np.int64)
    tokens[real] = np.concatenate([np.asarray(row, np.int64) for row in rows])
    return tokens, real
