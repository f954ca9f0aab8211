"""Servers that speak OpenAI's protocol, asked through the `openai` package."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, fields
from importlib.metadata import PackageNotFoundError, version
from queue import SimpleQueue
from typing import Any, ClassVar, TypeVar

from dnip.base.classes import is_storable
from dnip.base.errors import BackendError, CorrectedError, InvalidInputError, load_optional
from dnip.base.typing import Floats
from dnip.base.validation import check_choice, check_integer, check_number, check_url
from dnip.llm.decisions.correction import mark_of
from dnip.llm.prompting.engines.base import ScoredRow, prompted
from dnip.llm.prompting.labels import Scoring
from dnip.llm.prompting.prompt import Prompt
from dnip.llm.prompting.task import Task
from dnip.tables.provenance import Question

T = TypeVar("T")

#: What an answer says of the labels: captured, ceiling and details of a `ScoredRow`.
Read = tuple[Floats, Floats | None, Mapping[str, Any]]

# Letters of a message that holds words of a server.
_LONGEST = 400


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
        outbox: SimpleQueue[tuple[int, T] | None] = SimpleQueue()
        waiting = iter(bodies)

        async def send_some() -> None:
            for row, body in waiting:
                failure = None
                try:
                    content = json.dumps(body).encode()
                    answer = await client.post(
                        path, cast_to=bytes, content=content, options=options
                    )
                    result = read(_parse(answer))
                except (BackendError, openai.OpenAIError, UnicodeError) as error:
                    failure = self._failure(f"{self.base_url}/{path}, prompt {row}", error, key)
                if failure is not None:  # raised here, for the error before it may hold the key
                    raise failure
                outbox.put((row, result))

        async def send_all() -> None:
            async with client, asyncio.TaskGroup() as group:
                for _ in range(self.concurrency):
                    group.create_task(send_some())

        # An event loop in a thread of its own, so that it works inside other loops too.
        with anyio.start_blocking_portal(name="dnip-requests") as portal:
            sending = portal.start_task_soon(send_all)
            sending.add_done_callback(lambda _: outbox.put(None))
            while (result := outbox.get()) is not None:
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
        elif status == 404:
            trouble = "unknown model or address"
            hint = "Check the base URL and the model's name; GET /models lists the names"
        elif status == 429:
            trouble = "too many requests"
            hint = "Lower the concurrency, start again later, or look whether the quota is used up"
        elif status >= 500:
            trouble, hint = "the server fails", "Start again later, or look at the server's log"
        else:
            trouble, hint = "the server refuses the request", "Change what the server refuses"
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
        return prompted(self.model, prompts, task, chat=self.chat)

    def too_long(self, prompts: Sequence[Prompt], task: Task) -> list[int]:
        """Return no row: how much the server's model takes is not known here."""
        return []

    def score(
        self, prompts: Sequence[Prompt], task: Task, *, done: frozenset[int] = frozenset()
    ) -> Iterator[ScoredRow]:
        """Yield the scores of every prompt but those `done`, in the order in which answers come.

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
        rows = (row for row in range(len(prompts)) if row not in done)
        answers = self._ask(((row, write(prompts[row])) for row in rows), read)
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
