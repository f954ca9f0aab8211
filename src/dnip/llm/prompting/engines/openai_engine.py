"""Label probabilities that an OpenAI-compatible server reports, or that its answers vote for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import permutations, product
from typing import Any, Self

from dnip.base.columns import FALLBACK, SAMPLES
from dnip.base.errors import InvalidInputError
from dnip.base.validation import check_integer
from dnip.llm.answers.answer import Answer
from dnip.llm.answers.completions import read_completion
from dnip.llm.answers.reader import LabelReader, Match, Reading, reader_of
from dnip.llm.prompting.engines.base import ScoredRow
from dnip.llm.prompting.engines.hub import HubTokenizer
from dnip.llm.prompting.engines.server import Read, ServerEngine
from dnip.llm.prompting.labels import check_first_tokens
from dnip.llm.prompting.prompt import Prompt
from dnip.llm.prompting.task import Task

#: The most tokens that OpenAI's own service reports per position; vLLM's default limit as well.
MAX_TOP_LOGPROBS = 20
#: The most token ids that vLLM takes in ``logprob_token_ids``.
MAX_LABEL_TOKEN_IDS = 128


class Endpoint(StrEnum):
    """Where a request goes. COMPLETIONS continues the prompt itself; CHAT wraps it in a template.

    A model's own chat template stands between prompt and answer in CHAT, so that its probabilities
    are those of a reply that begins afresh, without the answer's leading space.
    """

    COMPLETIONS = "completions"
    CHAT = "chat"


#: The path of each endpoint, after the base URL.
PATHS: Mapping[str, str] = {Endpoint.COMPLETIONS: "completions", Endpoint.CHAT: "chat/completions"}


def asked(prompt: Prompt, *, chat: bool) -> dict[str, Any]:
    """Return the field of a request that holds the prompt."""
    return {"messages": prompt.messages} if chat else {"prompt": prompt.text}


@dataclass(frozen=True)
class OpenAIEngine(ServerEngine):
    """Scores labels by the log-probabilities that an OpenAI-compatible server reports.

    One request per prompt, for one token. Labels outside the reported ones are bounded: captured 0,
    and in `ScoredRow.ceiling` the most that they can be. ``details["ambiguous"]`` is the
    probability on tokens that begin several labels' answers, where there is any.

    Parameters
    ----------
    model, server, extra_body
        As for `ServerEngine`.
    endpoint : Endpoint or str, default="completions"
        ``"completions"``, or ``"chat"`` for models that only chat.
    top_logprobs : int, default=20
        How many of the likeliest tokens to ask for, up to 20.
    tokenizer : HubTokenizer, optional
        The model's own. Servers that can (vLLM) then report the labels' first tokens exactly, and
        they are matched by id where the server tells ids. Without it a reported token counts for
        the only label whose answer it begins; see `LabelReader`.

    Examples
    --------
    >>> from dnip.llm.prompting.engines.server import Server
    >>> engine = OpenAIEngine("small", Server("http://127.0.0.1:8000/v1"), top_logprobs=5)
    >>> [engine.describe()[key] for key in ("model", "endpoint", "top_logprobs")]
    ['small', 'completions', 5]
    """

    OPTIONS = (*ServerEngine.OPTIONS, "endpoint", "top_logprobs", "tokenizer", "fill")
    KIND = "a server's log-probabilities"
    NAME = "openai"
    ENDPOINTS = PATHS

    endpoint: str = Endpoint.COMPLETIONS
    top_logprobs: int = MAX_TOP_LOGPROBS
    tokenizer: HubTokenizer | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("top_logprobs", self.top_logprobs, at_least=1, at_most=MAX_TOP_LOGPROBS)

    def in_form(self, *, chat: bool) -> Self:
        """Return an engine of the same model that gives prompts as they are, or as a chat."""
        return replace(self, endpoint=Endpoint.CHAT if chat else Endpoint.COMPLETIONS)

    def describe(self) -> dict[str, Any]:
        """Return all that the probabilities depend on; never the key."""
        name = None if self.tokenizer is None else self.tokenizer.name
        return {**super().describe(), "tokenizer": name}

    def _prepare(
        self, prompts: Sequence[Prompt], task: Task
    ) -> tuple[Callable[[Prompt], dict[str, Any]], Callable[[Any], Read]]:
        fields: dict[str, Any] = {"logprobs": self.top_logprobs}
        if self.chat:
            fields = {"logprobs": True, "top_logprobs": self.top_logprobs}
        ids = self._label_token_ids(prompts, task)
        if ids is not None:
            fields |= {"logprob_token_ids": ids, "return_tokens_as_token_ids": True}
        fields |= self._answer_fields()
        reader = label_reader(task, chat=self.chat, token_ids=ids)

        def read(content: Any) -> Read:
            match, details = self._read(read_completion(content), reader)
            if match.ambiguous > 0:
                details["ambiguous"] = match.ambiguous
            return match.captured, match.ceiling, details

        return lambda prompt: asked(prompt, chat=self.chat) | fields, read

    def _label_token_ids(self, prompts: Sequence[Prompt], task: Task) -> tuple[int, ...] | None:
        """Return the ids of the labels' first tokens, as they follow the prompts on the server."""
        if self.tokenizer is None:
            return None
        lead = prompts[0].lead
        labels = self.tokenizer.label_tokens(prompts, task, chat=self.chat, lead=lead)
        if labels.merged:
            raise InvalidInputError(
                "the prompt's last token becomes part of the answer's first one, and a server is "
                "given the whole prompt",
                hint="End the template without a space",
            )
        if task.n_classes > MAX_LABEL_TOKEN_IDS:
            raise InvalidInputError(
                f"a server takes up to {MAX_LABEL_TOKEN_IDS} token ids of labels; the task has "
                f"{task.n_classes} classes",
                hint="Leave out the tokenizer",
            )
        return check_first_tokens(labels, self.tokenizer.decode)

    def _answer_fields(self) -> dict[str, Any]:
        """Return what a request says of the answer."""
        return {"max_tokens": 1, "temperature": 0}

    def _read(self, answer: Answer, reader: LabelReader) -> tuple[Match, dict[str, Any]]:
        """Return what an answer says of the labels, and what else is known of it."""
        match = reader.weigh(answer, Reading(()))
        if self.top_logprobs > 1:
            match.check_told()
        return match, {}


@dataclass(frozen=True)
class OpenAIReasoningEngine(OpenAIEngine):
    """Scores labels where the model names the last one, after it has reasoned.

    One request per prompt, for a whole answer at temperature 0. The probabilities of a row are
    those that the server reports at the place of the last label in its answer; where the answer
    holds no label, those at its last token, that which ends the answer not counted. An empty answer
    tells nothing: any label may then have any probability.

    Parameters
    ----------
    model, server, endpoint, top_logprobs, tokenizer, extra_body
        As for `OpenAIEngine`; label tokens are those that follow the reasoning.
    max_new_tokens : int, default=256
        Most tokens of an answer.
    stop : str, optional
        Text that ends an answer, beside what the model itself ends it with.
    """

    OPTIONS = (*OpenAIEngine.OPTIONS, "chain_of_thought", "max_new_tokens")
    KIND = "chain of thought"

    max_new_tokens: int = 256
    stop: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("max_new_tokens", self.max_new_tokens, at_least=1)

    def describe(self) -> dict[str, Any]:
        """Return all that the probabilities depend on; never the key."""
        return {**super().describe(), "decoding": "greedy"}

    def _answer_fields(self) -> dict[str, Any]:
        stop = None if self.stop is None else [self.stop]
        return {"max_tokens": self.max_new_tokens, "temperature": 0, "stop": stop}

    def _read(self, answer: Answer, reader: LabelReader) -> tuple[Match, dict[str, Any]]:
        reading = reader.locate(answer.until(self.stop))
        start = reading.place
        details = {FALLBACK: int(start is None), "cut": int(answer.cut), "new_tokens": reading.end}
        if not reading.end and not answer.content:
            return reader.nothing(), details
        return reader.weigh(answer, reading, fallback=reading.end - 1), details


@dataclass(frozen=True)
class VotingEngine(ServerEngine):
    """Scores labels by how many of a prompt's sampled answers end in them.

    One request per sample, since not all servers draw several at once, at temperature 1; each has a
    seed of its own, the same for all prompts. An answer that was cut at `max_new_tokens` is no
    vote: its last label word is a thought. See `LabelNames` for how a text is read. A probability
    is a share of the votes, to which each class gets half a vote more. Two labels with as many
    votes are a tie, and a tie goes to the lowest class, as everywhere.
    ``details["unmatched"]`` is how many of the samples are no vote.

    Parameters
    ----------
    model, server, extra_body
        As for `ServerEngine`.
    endpoint : Endpoint or str, default="chat"
        In ``"completions"``, an answer ends where the task's next example would begin.
    samples : int, default=16
        Answers drawn for each prompt; a share is a multiple of its inverse.
    max_new_tokens : int, default=2048
        The longest answer, thoughts included.
    """

    OPTIONS = (*ServerEngine.OPTIONS, *("endpoint", "votes", "max_new_tokens", "chain_of_thought"))
    KIND = "votes of a server's answers"
    NAME = "openai-votes"
    ENDPOINTS = PATHS

    endpoint: str = Endpoint.CHAT
    samples: int = 16
    max_new_tokens: int = 2048

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("samples", self.samples, at_least=1)
        check_integer("max_new_tokens", self.max_new_tokens, at_least=1)

    def describe(self) -> dict[str, Any]:
        """Return all that the probabilities depend on; never the key."""
        return {**super().describe(), "added_votes": 0.5}

    def score(
        self, prompts: Sequence[Prompt], task: Task, *, done: frozenset[int] = frozenset()
    ) -> Iterator[ScoredRow]:
        """Yield the vote shares of every prompt but those `done`, when all its samples are in.

        Raises
        ------
        InvalidInputError
            Before the first request, for label words that are alike or empty.
        BackendError
            If a request fails for good.
        """
        reader = reader_of(task.label_words)
        continues = not self.chat and task.separator
        common = {
            "max_tokens": self.max_new_tokens,
            "temperature": 1.0,
            "stop": [task.separator] if continues else None,
        }
        bodies = (
            (row, asked(prompt, chat=self.chat) | common | {"seed": sample})
            for row, prompt in enumerate(prompts)
            if row not in done
            for sample in range(self.samples)
        )
        votes: dict[int, list[int | None]] = {}
        for row, vote in self._ask(bodies, lambda content: reader.vote(read_completion(content))):
            cast = votes.setdefault(row, [])
            cast.append(vote)
            if len(cast) == self.samples:
                details = {SAMPLES: self.samples, "unmatched": cast.count(None)}
                yield ScoredRow(row, reader.shares(votes.pop(row)).captured, details=details)


def label_reader(
    task: Task, *, chat: bool = False, token_ids: tuple[int, ...] | None = None
) -> LabelReader:
    """Return the reader of a task's labels, written as the task says.

    Parameters
    ----------
    task : Task
    chat : bool, default=False
        Whether the prompts go through a chat template; then answers with and without their prefix
        count.
    token_ids : tuple of int, optional
        Ids of the labels' first tokens.

    Raises
    ------
    InvalidInputError
        If the answer of one label begins that of another: a first token does not tell them apart.
    """
    words = task.label_words
    answers = [task.answer(label) for label in range(task.n_classes)]
    ways = [
        {answer: 0, word: 0} if chat else {answer: 0}
        for answer, word in zip(answers, words, strict=True)
    ]
    for way, theirs in permutations(ways, 2):
        for answer, other in product(way, theirs):
            if other.startswith(answer):
                raise InvalidInputError(
                    f"the answer {answer!r} of one label begins another label's answer "
                    f"{other!r}: a server's tokens cannot tell them apart",
                    hint="Choose other label words",
                )
    return LabelReader(tuple(map(tuple, ways)), exact=True, token_ids=token_ids)
