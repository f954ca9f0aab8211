"""The connection to an OpenAI-compatible server: many requests at a time, asked again on failure.

Knows nothing of labels: it sends bodies and hands answers to a reader.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from dnip.base.errors import BackendError, InvalidInputError
from dnip.base.optional import load_optional
from dnip.base.validation import check_integer, check_number, check_url
from dnip.prompting.engines.openai_failures import (
    RequestFailedError,
    RetryPolicy,
    clean,
    refusal,
    unreachable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
    from types import ModuleType

    import httpx2

T = TypeVar("T")

# Bytes of an answer, unpacked; 20 log-probabilities of 20,000 tokens take about half of it.
_MOST_BYTES = 1 << 26


@dataclass(frozen=True)
class Server:
    """An OpenAI-compatible server, and how it is talked to.

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
        Seconds for one request, connecting included.
    retries : RetryPolicy

    Raises
    ------
    InvalidInputError
        For a URL that is not one, or one with a password or a query: they may hold secrets.

    Examples
    --------
    >>> Server("http://127.0.0.1:8000/v1/").url("completions")
    'http://127.0.0.1:8000/v1/completions'
    """

    base_url: str = "https://api.openai.com/v1"
    key_variable: str = "OPENAI_API_KEY"
    concurrency: int = 8
    timeout: float = 60.0
    retries: RetryPolicy = field(default_factory=RetryPolicy)

    def __post_init__(self) -> None:
        check_url("base_url", self.base_url)
        check_integer("concurrency", self.concurrency, at_least=1, at_most=1000)
        check_number("timeout", self.timeout, above=0)

    def url(self, path: str) -> str:
        """Return the address of an endpoint."""
        return f"{self.base_url.rstrip('/')}/{path}"

    def ask(
        self,
        path: str,
        bodies: Iterable[tuple[str, Mapping[str, Any]]],
        read: Callable[[Any], T],
        *,
        requests: int,
    ) -> Generator[tuple[int, T], None, None]:
        """Send requests, and yield what is read from their answers, in the order of arrival.

        Closing the iterator, or an exception in the caller such as Ctrl-C, ends all requests
        under way before it returns.

        Parameters
        ----------
        path : str
            The endpoint, after the base URL.
        bodies : iterable of (name, mapping)
            What a message calls the request, and its JSON object; drawn as they are sent.
        read : callable
            From an answer's JSON to what is wanted of it; may raise a BackendError.
        requests : int
            How many bodies there are, for the cap on retries.

        Yields
        ------
        (number, result)
            Each request's number, counted from 0, once.

        Raises
        ------
        BackendError
            If a request fails for good. Answers that came before are yielded first.
        """
        http = load_optional("httpx2", purpose="talk to a server", extra="openai")
        anyio = load_optional("anyio.from_thread", purpose="talk to a server", extra="openai")
        run = _Run(self, http, self.url(path), enumerate(bodies), read, requests)
        # An event loop in a thread of its own, so that it works inside other loops too.
        with anyio.start_blocking_portal(name="dnip-requests") as portal:
            sending = portal.start_task_soon(run.send_all)
            sending.add_done_callback(lambda _: run.outbox.put(None))
            while (result := run.outbox.get()) is not None:
                yield result
            try:
                sending.result()
            except BaseExceptionGroup as group:
                raise _first(group) from None


class _Run(Generic[T]):
    """The requests of one call of `Server.ask`."""

    def __init__(
        self,
        server: Server,
        http: ModuleType,
        url: str,
        bodies: Iterator[tuple[int, tuple[str, Mapping[str, Any]]]],
        read: Callable[[Any], T],
        requests: int,
    ) -> None:
        self.outbox: SimpleQueue[tuple[int, T] | None] = SimpleQueue()
        self._server = server
        self._http = http
        self._key = _read_key(server.key_variable)
        self._url = url
        self._bodies = bodies
        self._read = read
        self._retries_left = self._most_retries = server.retries.total_for(requests)
        self._rng = random.Random()

    async def send_all(self) -> None:
        async with self._client() as client, asyncio.TaskGroup() as group:
            for _ in range(self._server.concurrency):
                group.create_task(self._send_some(client))

    def _client(self) -> httpx2.AsyncClient:
        headers = {"Content-Type": "application/json", "Accept-Encoding": "gzip"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        limits = self._http.Limits(
            max_connections=self._server.concurrency,
            max_keepalive_connections=self._server.concurrency,
        )
        try:
            client: httpx2.AsyncClient = self._http.AsyncClient(
                headers=headers, timeout=None, limits=limits
            )
        except (ImportError, OSError, ValueError, self._http.InvalidURL) as error:
            # Its own words may repeat a proxy's password.
            raise BackendError(
                "the environment's settings for proxy or certificates cannot be used "
                f"({type(error).__name__})",
                hint="Check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR",
            ) from None
        return client

    async def _send_some(self, client: httpx2.AsyncClient) -> None:
        for number, (name, body) in self._bodies:
            self.outbox.put((number, await self._send(client, name, body)))

    async def _send(self, client: httpx2.AsyncClient, name: str, body: Mapping[str, Any]) -> T:
        """Ask until there is an answer, or no hope or retry is left."""
        tries = 0
        while True:
            tries += 1
            try:
                return self._read(await self._try(client, body))
            except RequestFailedError as failed:
                error = failed
            except BackendError as unread:  # what cannot be read may repeat the key
                message = clean(unread.message, self._key)
                error = RequestFailedError(message, hint=unread.hint, retryable=unread.retryable)
            self._check_hope(error, name, tries)
            self._retries_left -= 1
            await asyncio.sleep(self._server.retries.delay(tries, error.retry_after, self._rng))

    def _check_hope(self, error: RequestFailedError, name: str, tries: int) -> None:
        """Raise if the request is not to be asked again."""
        policy, wait, hint = self._server.retries, error.retry_after or 0.0, error.hint
        if not error.retryable:
            end = ""
        elif wait > policy.max_wait:
            end = f"; the server asks to wait {wait:.0f} s, and {policy.max_wait:g} s are the most"
            hint = "Start again later, or raise max_wait"
        elif tries > policy.per_request:
            end = " (tried once)" if tries == 1 else f" (tried {tries} times)"
        elif self._retries_left <= 0:
            end = f"; all {self._most_retries} retries of this run are spent"
        else:
            return
        message = f"{self._url}, {name}: {error.message}{end}"
        raise BackendError(message, hint=hint, retryable=error.retryable) from None

    async def _try(self, client: httpx2.AsyncClient, body: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Return the JSON of one answer, or say how the request failed."""
        http = self._http
        try:
            async with asyncio.timeout(self._server.timeout):
                content = json.dumps(body).encode()
                async with client.stream("POST", self._url, content=content) as response:
                    answer = await _read(response)
        except TimeoutError:
            raise RequestFailedError(
                f"no answer within {self._server.timeout:g} s",
                hint="Raise the timeout, or lower the concurrency",
            ) from None
        except http.ConnectError as error:
            raise unreachable(clean(str(error), self._key)) from None
        except (http.InvalidURL, UnicodeError):
            raise RequestFailedError(
                "the host's name is not valid", hint="Check the base URL", retryable=False
            ) from None
        except http.RequestError as error:
            raise RequestFailedError(
                f"the connection was lost: {clean(str(error), self._key) or type(error).__name__}",
                hint="Is the server still running?",
            ) from None
        if response.status_code != 200:
            raise refusal(
                response.status_code,
                answer.decode(errors="replace"),
                retry_after=response.headers.get("Retry-After"),
                key_variable=self._server.key_variable,
                key=self._key,
            )
        try:
            return json.loads(answer)
        except (ValueError, RecursionError):
            raise RequestFailedError(
                f"the answer is no JSON ({len(answer)} bytes)",
                hint="Is this the address of an OpenAI-compatible server?",
            ) from None


async def _read(response: httpx2.Response) -> bytes:
    """Return what a server answers, unpacked, as long as it is no more than an answer can be."""
    parts, size = [], 0
    async for part in response.aiter_bytes():
        parts.append(part)
        size += len(part)
        if size > _MOST_BYTES:
            raise RequestFailedError(
                f"the answer is longer than {_MOST_BYTES:,} bytes",
                hint="Is this the address of an OpenAI-compatible server?",
                retryable=False,
            )
    return b"".join(parts)


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first exception that workers raised; the others were stopped by it."""
    first = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first


def _read_key(variable: str) -> str | None:
    key = os.environ.get(variable, "").strip()
    if not key:
        return None
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise InvalidInputError(
            f"the environment variable {variable} holds characters that no key has",
            hint="Set it to the key alone",
        )
    return key
