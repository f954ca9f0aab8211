"""Servers that speak OpenAI's protocol or answer decisions: how they are asked and read."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import islice, permutations, product
from queue import SimpleQueue
from typing import Any, ClassVar, TypeVar
from urllib.parse import urlsplit

import numpy as np

from dnip.base.errors import BackendError, CorrectedError, InvalidInputError, load_optional, warn
from dnip.base.typing import Floats
from dnip.base.validation import check_choice, check_integer, check_number, check_url
from dnip.llm.answers.answer import Answer, UnclearError, no_logprobs, read_completion
from dnip.llm.answers.reader import LabelReader, Match, Reading, reader_of
from dnip.llm.decisions import asked_question, mark_of, read_decisions
from dnip.llm.prompting.engines import MissingEndpointError, ScoredRow, prompted
from dnip.llm.prompting.engines.hub import HubTokenizer
from dnip.llm.prompting.labels import Scoring, check_first_tokens
from dnip.llm.prompting.prompt import Prompt
from dnip.llm.prompting.task import Task
from dnip.llm.questions import Question, answer_form
from dnip.tables.cells import is_storable
from dnip.tables.columns import FALLBACK, SAMPLES

T = TypeVar("T")

#: What an answer says of the labels: captured, ceiling, details and answer of a `ScoredRow`.
Read = tuple[Floats, Floats | None, Mapping[str, Any], str | None]

# Letters of a message that holds words of a server.
_LONGEST = 400
# Seconds without any answer for which a limit of requests (status 429) is waited out, and seconds
# between two requests where the server does not say how long to wait.
_PATIENCE, _PAUSE = 600.0, 20.0
# What a server calls an account that has nothing left, for which no waiting helps.
_NO_QUOTA = "insufficient_quota"


@dataclass(frozen=True)
class Server:
    """A server that speaks OpenAI's protocol, and how it is talked to.

    The key is read from the environment when a run begins and held nowhere else.

    Parameters
    ----------
    base_url : str
        Up to and with the version, such as ``http://127.0.0.1:8000/v1``.
    key_variable : str, default="OPENAI_API_KEY"
        Environment variable that holds the key; where it is not set, none is sent.
    concurrency : int, default=8
        Requests at a time.
    timeout : float, default=60
        Seconds without a sign of the server after which a request has failed.
    retries : int, default=6
        How often a request that failed for a passing reason is sent again, at most.

    Raises
    ------
    InvalidInputError
        For a URL that is not one, or one with a password or a query: they may hold secrets.

    Examples
    --------
    >>> Server("http://127.0.0.1:8000/v1").concurrency
    8
    """

    base_url: str = "https://api.openai.com/v1"
    key_variable: str = "OPENAI_API_KEY"
    concurrency: int = 8
    timeout: float = 60.0
    retries: int = 6

    def __post_init__(self) -> None:
        check_url("base_url", self.base_url)
        check_integer("concurrency", self.concurrency, at_least=1, at_most=1000)
        check_number("timeout", self.timeout, above=0)
        check_integer("retries", self.retries, at_least=0)

    def ask(
        self, path: str, bodies: Iterable[tuple[int, Mapping[str, Any]]], read: Callable[[Any], T]
    ) -> Generator[tuple[int, T], None, None]:
        """Send requests, and yield what is read from their answers, in the order of arrival.

        The first request is sent alone, for it may show that all others would be in vain. Where the
        server takes no more requests for a while (status 429), the rest waits, and goes on.

        Closing the iterator, or an exception in the caller such as Ctrl-C, ends all requests
        under way before it returns.

        Parameters
        ----------
        path : str
            The endpoint, after the base URL.
        bodies : iterable of (row, mapping)
            The prompt that each request is for, and its JSON object; drawn as they are sent.
        read : callable
            From an answer's JSON to what is wanted of it; may raise a BackendError.

        Yields
        ------
        (row, result)

        Raises
        ------
        BackendError
            If a request fails for good. Answers that came before are yielded first.
        """
        openai = _openai()
        anyio = load_optional("anyio.from_thread", purpose="talk to a server", extra="openai")
        key = _read_key(self.key_variable)
        client = self._open(key)
        options = {
            "follow_redirects": False,
            "security": {"bearer_auth": True},  # not the key of an administrator, if there is one
            "headers": {} if key else {"Authorization": openai.Omit()},
        }
        outbox: SimpleQueue[tuple[int, T] | str | None] = SimpleQueue()
        waiting, limit = iter(bodies), _Limit(outbox.put)

        async def send(row: int, body: Mapping[str, Any]) -> None:
            failure = None
            try:
                content = json.dumps(body).encode()
                post = partial(client.post, path, cast_to=bytes, content=content, options=options)
                result = read(_parse(await limit.keep(post)))
            except (BackendError, openai.OpenAIError, UnicodeError) as error:
                failure = self._failure(f"{self.base_url}/{path}, prompt {row}", error, key)
            if failure is not None:  # raised here, for the error before it may hold the key
                raise failure
            outbox.put((row, result))

        async def send_some() -> None:
            for row, body in waiting:
                await send(row, body)

        async def send_all() -> None:
            async with client:
                for row, body in islice(waiting, 1):
                    await send(row, body)
                async with asyncio.TaskGroup() as group:
                    for _ in range(self.concurrency):
                        group.create_task(send_some())

        # An event loop in a thread of its own, so that it works inside other loops too.
        with anyio.start_blocking_portal(name="dnip-requests") as portal:
            sending = portal.start_task_soon(send_all)
            sending.add_done_callback(lambda _: outbox.put(None))
            while (result := outbox.get()) is not None:
                if isinstance(result, str):
                    warn(f"{self.base_url}: {result}")
                else:
                    yield result
            try:
                sending.result()
            except BaseExceptionGroup as group:
                raise group.exceptions[0] from None

    def _open(self, key: str | None) -> Any:
        """Return the client that sends requests."""
        openai = _openai()
        try:
            return openai.AsyncOpenAI(
                api_key=key or "none",
                base_url=self.base_url,
                timeout=self.timeout,
                max_retries=self.retries,
            )
        except Exception as error:
            reason = type(error).__name__  # its own words may repeat a proxy's password
        raise BackendError(
            f"{self.base_url}: no connection can be set up ({reason})",
            hint="Check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR",
        )

    def _failure(self, where: str, error: Exception, key: str | None) -> BackendError:
        """Say why a request has failed for good."""
        openai = _openai()
        retryable = True
        hint: str | None = "Is the server running at this address, and is there a network?"
        if isinstance(error, BackendError):
            message, hint, retryable = error.message, error.hint, error.retryable
        elif isinstance(error, openai.APIStatusError):
            status = error.status_code
            message, hint = self._refusal(status, _reason(error.body), key)
            retryable = status in (408, 409, 429) or status >= 500
            if status in (404, 405):
                return MissingEndpointError(f"{where}: {_clean(message, key)}", hint=hint)
        elif isinstance(error, openai.APITimeoutError):
            message = f"no answer within {self.timeout:g} s"
            hint = "Raise the timeout, or lower the concurrency"
        else:
            message = f"no connection: {error.__cause__ or error}"
        return BackendError(f"{where}: {_clean(message, key)}", hint=hint, retryable=retryable)

    def _refusal(self, status: int, reason: str, key: str | None) -> tuple[str, str]:
        """Return what a status other than success means, and what to do."""
        if status in (401, 403):  # some servers repeat parts of the key in their own words
            state = "is not set" if key is None else "was sent"
            return (
                f"the server refuses access (status {status}); the key of {self.key_variable} "
                f"{state}",
                f"Set {self.key_variable} to a key that this server and model accept",
            )
        if status < 400:
            trouble, hint = "redirected", "Give the address that it redirects to as the base URL"
        elif status in (404, 405):
            trouble = "unknown model or address"
            hint = "Check the base URL and the model's name; GET /models lists the names"
            if not urlsplit(self.base_url).path.strip("/"):
                hint = f"Most addresses end in /v1: try {self.base_url.rstrip('/')}/v1. {hint}"
        elif status == 429:
            trouble = "too many requests"
            hint = "Lower the concurrency, start again later, or look whether the quota is used up"
        elif status >= 500:
            trouble, hint = "the server fails", "Start again later, or look at the server's log"
        else:
            trouble = "the server refuses the request"
            hint = "Change what it refuses; it may take chats alone (--endpoint chat)"
            if "logprob" in reason.lower():
                hint = "Lower top_logprobs, or count votes of repeated samples"
            elif "context" in reason.lower():
                hint = "Cut the texts, show fewer demonstrations, or serve a longer context"
        return f"{trouble} (status {status}{': ' if reason else ''}{reason})", hint


@dataclass(frozen=True)
class ServerEngine:
    """What all engines that ask a server have in common: one request per prompt.

    Parameters
    ----------
    model : str
        The server's name of the model.
    server : Server
        Address, key, concurrency, timeout and retries.
    endpoint : str
        What is asked, one of `ENDPOINTS`.
    extra_body : mapping, optional
        Further fields of every request; None takes a field out, as in ``{"max_tokens": None,
        "max_completion_tokens": 1}``. No secrets: they are recorded.

    Raises
    ------
    InvalidInputError
        If a setting is out of range.
    """

    #: The options of `dnip.llm.prompting.models.ModelOptions` that such an engine takes.
    OPTIONS: ClassVar[tuple[str, ...]] = (
        *("served_model", "key_variable", "concurrency", "timeout", "retries", "extra_body"),
    )
    #: What such an engine is, for messages.
    KIND: ClassVar[str]
    #: Its name in the metadata of a table.
    NAME: ClassVar[str]
    #: The path of each endpoint, after the base URL.
    ENDPOINTS: ClassVar[Mapping[str, str]]
    scoring: ClassVar[Scoring] = Scoring.FIRST

    model: str
    server: Server = field(default_factory=Server)
    endpoint: str = ""
    extra_body: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if not self.model or not is_storable(self.model):
            raise InvalidInputError(f"model must be a name the server knows; got {self.model!r}")
        check_choice("endpoint", self.endpoint, tuple(self.ENDPOINTS))
        try:
            json.dumps(dict(self.extra_body or {}), ensure_ascii=False, allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInputError(f"extra_body must be a JSON object: {error}") from error

    @property
    def chat(self) -> bool:
        """Whether the server puts prompts into a chat template."""
        return self.endpoint == "chat"

    @property
    def requests_each(self) -> int:
        """How many requests a prompt is."""
        return 1

    def describe(self) -> dict[str, Any]:
        """Return all that the probabilities depend on; never the key."""
        settings = {
            setting.name: getattr(self, setting.name)
            for setting in fields(self)
            if setting.name != "server"
        }
        versions = {}
        for library in ("openai", "jinja2"):
            with suppress(PackageNotFoundError):
                versions[library] = version(library)
        return {
            "engine": self.NAME,
            "base_url": self.server.base_url,
            **settings,
            "endpoint": str(self.endpoint),
            "extra_body": dict(self.extra_body or {}),
            "versions": versions,
        }

    def question(self, prompts: Sequence[Prompt], task: Task) -> Question:
        """Return what is the same for every row."""
        return prompted(self.model, prompts, task, chat=self.chat, more=self.extra_body)

    def too_long(self, prompts: Sequence[Prompt], task: Task) -> list[int]:
        """Return no row: how much the server's model takes is not known here."""
        return []

    def score(self, prompts: Sequence[Prompt], task: Task) -> Iterator[ScoredRow]:
        """Yield the scores of every prompt, in the order in which answers come.

        Raises
        ------
        InvalidInputError
            Before the first request, for labels that answers cannot tell apart.
        BackendError
            If a request fails for good.
        """
        if not prompts:
            return iter(())
        write, read = self._prepare(prompts, task)
        answers = self._ask(((row, write(prompt)) for row, prompt in enumerate(prompts)), read)
        return (ScoredRow(row, *scores) for row, scores in answers)

    def _prepare(
        self, prompts: Sequence[Prompt], task: Task
    ) -> tuple[Callable[[Prompt], dict[str, Any]], Callable[[Any], Read]]:
        """Return what makes a request of a prompt, and what reads the JSON of its answer."""
        raise NotImplementedError

    def _ask(
        self, bodies: Iterable[tuple[int, Mapping[str, Any]]], read: Callable[[Any], T]
    ) -> Iterator[tuple[int, T]]:
        """Yield what is read from the answers, as `Server.ask`; end all requests when closed."""
        more = self.extra_body or {}
        whole = ((row, {"model": self.model, **body, **more}) for row, body in bodies)
        clean = ((row, {k: v for k, v in body.items() if v is not None}) for row, body in whole)
        with closing(self.server.ask(self.ENDPOINTS[self.endpoint], clean, read)) as answers:
            yield from answers


def _openai() -> Any:
    return load_optional("openai", purpose="talk to a server", extra="openai")


def _parse(content: bytes) -> Any:
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        raise BackendError(
            f"the answer is not JSON ({len(content)} bytes)",
            hint="Is this the address of an OpenAI-compatible server?",
            retryable=True,
        ) from None
    if (by := mark_of(answer)) is not None:
        error = CorrectedError.at("the server's answer", by)
        raise BackendError(error.message, hint=error.hint)
    return answer


class _Limit:
    """A limit of requests that all senders of a run meet (status 429): it is waited out.

    Parameters
    ----------
    tell : callable
        Receives a sentence when the first request has to wait.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell: Callable[[str], None] | None = tell
        self._answered = time.monotonic()

    async def keep(self, post: Callable[[], Awaitable[bytes]]) -> bytes:
        """Post until there is an answer; raise what else comes, or where no waiting helps."""
        while True:
            try:
                answer = await post()
            except _openai().RateLimitError as error:
                waited = time.monotonic() - self._answered
                if error.code == _NO_QUOTA or waited > _PATIENCE:
                    raise
                if self._tell is not None:
                    self._tell("it takes no more requests for now (status 429): waiting")
                self._tell = None
                await asyncio.sleep(_pause(error))
            else:
                self._answered = time.monotonic()
                return answer


def _pause(error: Any) -> float:
    """Return how many seconds a server asks to wait."""
    try:
        return min(max(float(error.response.headers["retry-after"]), 1.0), _PATIENCE)
    except (KeyError, ValueError):
        return _PAUSE


def _reason(words: object) -> str:
    """Return the server's own words, from the several places where servers put them."""
    for key in ("error", "detail", "message"):
        if isinstance(words, dict) and words.get(key):
            words = words[key]
    return str(words or "")


def _clean(text: str, key: str | None) -> str:
    """Return words of others fit to be shown: one line, not too long, without the key.

    Examples
    --------
    >>> _clean("bad   key sk-1", "sk-1")
    'bad key ***'
    """
    if key is not None:
        text = text.replace(key, "***")
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def _read_key(variable: str) -> str | None:
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise InvalidInputError(
            f"the environment variable {variable} holds characters that no key has",
            hint="Set it to the key alone",
        )
    return key or None


#: The most tokens that OpenAI's own service reports per position; vLLM's default limit as well.
MAX_TOP_LOGPROBS = 20
#: Tokens of a whole answer, at most, unless it is said.
WHOLE = 256
#: In the details of a row, why its answer tells nothing of the labels.
UNREAD = "unread"
# Letters of such an answer that are kept.
_SAID = 200
# The fields of a request that say the same, of which the first counts.
_LONGEST_ANSWER = ("max_completion_tokens", "max_tokens")
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

    One request per prompt, for one token; or for a whole answer, such as JSON or a label with a
    reason, which is read where it states its label (see `Rule`). Labels outside the reported ones
    are bounded: captured 0, and in `ScoredRow.ceiling` the most that they can be.
    ``details["ambiguous"]`` is the probability on tokens that begin several labels' answers, where
    there is any; ``details["unread"]`` says why an answer tells nothing of the labels.

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
    max_new_tokens : int, optional
        Tokens of an answer, at most; by default 1, or 256 where `extra_body` asks for JSON.
    stop : str, optional
        Text that ends a whole answer, beside what the model itself ends it with.

    Examples
    --------
    >>> from dnip.llm.prompting.engines.servers import Server
    >>> engine = OpenAIEngine("small", Server("http://127.0.0.1:8000/v1"), top_logprobs=5)
    >>> [engine.describe()[key] for key in ("model", "endpoint", "top_logprobs")]
    ['small', 'completions', 5]
    """

    OPTIONS = (
        *ServerEngine.OPTIONS,
        *("endpoint", "top_logprobs", "tokenizer", "fill", "max_new_tokens"),
    )
    KIND = "a server's log-probabilities"
    NAME = "openai"
    ENDPOINTS = PATHS

    endpoint: str = Endpoint.COMPLETIONS
    top_logprobs: int = MAX_TOP_LOGPROBS
    tokenizer: HubTokenizer | None = None
    max_new_tokens: int | None = None
    stop: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("top_logprobs", self.top_logprobs, at_least=1, at_most=MAX_TOP_LOGPROBS)
        check_integer("max_new_tokens", self.longest, at_least=1)

    @property
    def longest(self) -> int:
        """Tokens of an answer, at most."""
        more = self.extra_body or {}
        for name in _LONGEST_ANSWER:
            if isinstance(own := more.get(name), int):
                return own
        forms = {part.partition(" ")[0] for part in answer_form(more).split(", ")}
        return self.max_new_tokens or (WHOLE if forms & {"json", "schema"} else 1)

    @property
    def _scores_first(self) -> bool:
        """Whether the first token of a label is read, in the exact form that the task gives it."""
        return self.longest == 1

    def describe(self) -> dict[str, Any]:
        """Return all that the probabilities depend on; never the key."""
        name = None if self.tokenizer is None else self.tokenizer.name
        return {**super().describe(), "tokenizer": name, "max_new_tokens": self.longest}

    def _prepare(
        self, prompts: Sequence[Prompt], task: Task
    ) -> tuple[Callable[[Prompt], dict[str, Any]], Callable[[Any], Read]]:
        fields: dict[str, Any] = {"logprobs": self.top_logprobs}
        if self.chat:
            fields = {"logprobs": True, "top_logprobs": self.top_logprobs}
        ids = self._label_token_ids(prompts, task)
        if ids is not None:
            fields |= {"logprob_token_ids": ids, "return_tokens_as_token_ids": True}
        fields |= {"max_tokens": self.longest, "temperature": 0}
        fields |= {"stop": None if self.stop is None or self.longest == 1 else [self.stop]}
        reader = self._reader(task, ids)

        def read(content: Any) -> Read:
            answer = read_completion(content)
            try:
                match, details = self._read(answer, reader)
            except UnclearError as error:
                said = (answer.content or "")[:_SAID]
                details = {UNREAD: error.message, "said": said}
                return np.zeros(task.n_classes), None, details, answer.content
            if match.ambiguous > 0:
                details["ambiguous"] = match.ambiguous
            return match.captured, match.ceiling, details, answer.content

        return lambda prompt: asked(prompt, chat=self.chat) | fields, read

    def _reader(self, task: Task, ids: tuple[int, ...] | None) -> LabelReader:
        """Return what reads the answers: the first token of a label, or a whole answer."""
        if self._scores_first:
            return label_reader(task, chat=self.chat, token_ids=ids)
        return reader_of(task.label_words, task.classes)

    def _label_token_ids(self, prompts: Sequence[Prompt], task: Task) -> tuple[int, ...] | None:
        """Return the ids of the labels' first tokens, as they follow the prompts on the server."""
        if self.tokenizer is None or not self._scores_first:
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

    def _read(self, answer: Answer, reader: LabelReader) -> tuple[Match, dict[str, Any]]:
        """Return what an answer says of the labels, and what else is known of it.

        Raises
        ------
        UnclearError
            If it tells nothing of them.
        BackendError
            If the server reports no probabilities, or the answer is damaged.
        """
        if answer.refused or not (answer.content or answer.positions):
            raise UnclearError("refusal" if answer.refused else "empty answer")
        if self._scores_first:
            match = reader.weigh(answer, Reading())
            if self.top_logprobs > 1:
                match.check_told()
            return match, {}
        if not answer.positions:
            raise no_logprobs()
        reading = reader.locate(answer.until(self.stop))
        if not reading.tells:
            raise UnclearError(f"{reading.reason}, cut" if answer.cut else reading.reason)
        return reader.weigh_label(answer, reading), {}


@dataclass(frozen=True)
class OpenAIReasoningEngine(OpenAIEngine):
    """Scores labels where the model states one, after it has reasoned.

    One request per prompt, for a whole answer at temperature 0. The probabilities of a row are
    those that the server reports at the place of the label that its answer states, or else of the
    only one in its last sentence; where the answer states no label, those at its last token, that
    which ends the answer not counted. An empty answer tells nothing: any label may then have any
    probability.

    Parameters
    ----------
    model, server, endpoint, top_logprobs, tokenizer, extra_body, stop
        As for `OpenAIEngine`; label tokens are those that follow the reasoning.
    max_new_tokens : int, default=256
        Most tokens of an answer.
    """

    OPTIONS = (*OpenAIEngine.OPTIONS, "chain_of_thought")
    KIND = "chain of thought"

    max_new_tokens: int | None = WHOLE
    _scores_first = True

    def describe(self) -> dict[str, Any]:
        """Return all that the probabilities depend on; never the key."""
        return {**super().describe(), "decoding": "greedy"}

    def _reader(self, task: Task, ids: tuple[int, ...] | None) -> LabelReader:
        return replace(super()._reader(task, ids), last=True)

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
    vote: its end is missing. See `Rule` for how a text is read. A probability
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

    @property
    def requests_each(self) -> int:
        """How many requests a prompt is."""
        return self.samples

    def score(self, prompts: Sequence[Prompt], task: Task) -> Iterator[ScoredRow]:
        """Yield the vote shares of every prompt, when all its samples are in.

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
            for sample in range(self.samples)
        )
        votes: dict[int, list[int | None]] = {}
        for row, vote in self._ask(bodies, lambda content: reader.vote(read_completion(content))):
            cast = votes.setdefault(row, [])
            cast.append(vote)
            if len(cast) == self.samples:
                details: dict[str, Any] = {SAMPLES: self.samples, "unmatched": cast.count(None)}
                if cast.count(None) == self.samples:
                    details[UNREAD] = "no sample states a label"
                yield ScoredRow(row, reader.shares(votes.pop(row)), details=details)


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
                    f"{other!r}: a server's tokens cannot separate them",
                    hint="Choose other label words",
                )
    return LabelReader(tuple(map(tuple, ways)), exact=True, token_ids=token_ids)


@dataclass(frozen=True)
class DecisionEngine(ServerEngine):
    """Scores classes by the probabilities that a decision server gives to the options.

    One request per prompt: the task's own question, as an application asks it; or else a choice
    among the classes, named after the task, where label words that differ from their classes
    describe them. The server, not the engine, decides how the question
    is put to the model. The captured mass of a row is the label mass of the server, 1 where the
    server reports none; a refusal has mass 0 and ``details["refused"]``.

    Parameters
    ----------
    model, server, extra_body
        As for `ServerEngine`.
    endpoint : {"systemone", "decisions"}
        System One, as transformers, vLLM, SGLang and Ollama serve it, or OpenAI's decisions.

    Examples
    --------
    >>> from dnip.llm.prompting.engines.servers import Server
    >>> engine = DecisionEngine("small", Server("http://127.0.0.1:8000/v1"))
    >>> [engine.describe()[key] for key in ("engine", "endpoint", "model")]
    ['decisions', 'systemone', 'small']
    """

    OPTIONS = (*ServerEngine.OPTIONS, "endpoint")
    KIND = "a decision server"
    NAME = "decisions"
    ENDPOINTS: ClassVar[Mapping[str, str]] = {"systemone": "systemone", "decisions": "decisions"}

    endpoint: str = "systemone"

    def _prepare(
        self, prompts: Sequence[Prompt], task: Task
    ) -> tuple[Callable[[Prompt], dict[str, Any]], Callable[[Any], Read]]:
        name, content = self._content(task)

        def write(prompt: Prompt) -> dict[str, Any]:
            state = prompt.state or prompt.text
            if self.endpoint == "systemone":
                return {"state": state, "questions": {name: content}}
            return {"input": state, "questions": [{"name": name, **content}]}

        return write, lambda answer: _read(answer, name, task)

    def question(self, prompts: Sequence[Prompt], task: Task) -> Question:
        """Return what is the same for every row: the question, as a sidecar sees it."""
        asked = asked_question(self.model, self._content(task)[1])
        assert asked is not None  # it has options
        return asked

    def _content(self, task: Task) -> tuple[str, dict[str, Any]]:
        """Return the name of the question, and what is asked."""
        wording = task.decision
        content: dict[str, Any] = {"type": "choice", "instructions": wording.instructions}
        name = wording.name or task.name
        if self.endpoint == "systemone":
            return name, {**content, "criteria": dict(wording.criteria)}
        choices = [
            {"value": option} if text is None else {"value": option, "description": text}
            for option, text in wording.criteria.items()
        ]
        return name, {**content, "choices": choices}


def _read(answer: Mapping[str, Any], name: str, task: Task) -> Read:
    """Return the probability of each class; zeros for a refusal."""
    try:
        decisions = read_decisions(answer, {name})
        if len(decisions) != 1:
            raise InvalidInputError(f"it has {len(decisions)} answers to {name!r}")
        [decision] = decisions
        if decision.refused:
            return np.zeros(task.n_classes), None, {"refused": True}, None
        captured = decision.probabilities[decision.ordered(task.classes)]
    except InvalidInputError as error:
        raise BackendError(
            f"the server's answer is not understood: {error.message}",
            hint="Does this server offer this API?",
            retryable=True,
        ) from error
    mass = 1.0 if decision.mass is None else min(decision.mass, 1.0)
    return captured * mass, None, {} if mass else {"refused": True}, decision.choice
