"""The sidecar as an ASGI application."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from functools import partial
from typing import Any

import aiohttp
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Router
from starlette.types import Receive, Scope, Send

from dnip.base.errors import InvalidInputError, listed
from dnip.base.validation import check_choice, check_integer
from dnip.llm.decisions import header_of
from dnip.llm.serving.chat import PassedError
from dnip.llm.serving.exchanges import DECISION, Asked, Chats, Decisions, by_api, written
from dnip.llm.serving.recording import ID_HEADER, Answered, Recorder
from dnip.llm.serving.reports import Metrics
from dnip.llm.serving.upstream import FailedError, Upstream, passed_on, read_whole
from dnip.tables.cells import is_storable
from dnip.tables.columns import CORRECTED
from dnip.tables.labels import check_classes

#: How the paths of decisions and of chats end.
DECISIONS = ("/systemone", "/decisions")
CHATS = ("/chat/completions",)

# How servers refuse a request for log-probabilities.
_NO_LOGPROBS = (400, 403, 422, 501)

# Packings that aiohttp undoes; others pass, and are named.
_PACKINGS = (b"gzip", b"deflate", b"br", b"zstd")

#: What to do about another question than that of the coefficients.
ON_MISMATCH = ("refuse", "pass")


def make_app(
    upstream: str,
    coefficients: Mapping[str, str | os.PathLike[str]],
    chats: Mapping[str, str | os.PathLike[str]] | None = None,
    *,
    max_body: int = 16_000_000,
    timeout: float = 60.0,
    on_mismatch: str | None = None,
    recorder: Recorder | None = None,
    collect: tuple[str, Sequence[str]] | None = None,
) -> Sidecar:
    """Return the sidecar, which any ASGI server can run.

    Parameters
    ----------
    upstream : str
        URL of the server behind it.
    coefficients : mapping
        Paths of coefficients files, by question. Those that were fitted on chats correct chats.
    chats : mapping, optional
        Paths of more coefficients files for chat completions, by name.
    max_body : int, default=16_000_000
        Bytes of a request, and of an answer that is corrected.
    timeout : float, default=60
        Seconds until the upstream answers.
    on_mismatch : {"refuse", "pass"}, optional
        What to do about another question, or another model, than that of the coefficients: refuse
        it, or pass the answer on as it is. By default decisions are refused, and chats pass. The
        same holds of requests that cannot be read.
    recorder : Recorder, optional
        It keeps the raw probabilities of questions with coefficients.
    collect : (str, sequence of str), optional
        The name of a chat without coefficients, and its classes: answers are recorded, and stay as
        they are. There can be no other chats then.

    Raises
    ------
    InvalidInputError
        For a bad URL or setting.
    CoefficientsFormatError
        For a file that cannot be read or is damaged.
    """
    of_decisions, of_chats = by_api(coefficients, chats or {})
    names = [*of_decisions, *of_chats, *([] if collect is None else [collect[0]])]
    if collect is not None:
        collect = (collect[0], check_classes(collect[1]))
    if collect is not None and of_chats:
        raise InvalidInputError(
            f"the chats {listed([*of_chats, collect[0]])} cannot be distinguished: one of "
            "them has no coefficients",
            hint="Collect answers for it with a sidecar of its own",
        )
    if odd := [name for name in names if not is_storable(name)]:
        raise InvalidInputError(
            f"the question {odd[0]!r} is not valid Unicode text",
            hint="Name it in UTF-8, as the requests do",
        )
    if on_mismatch is not None:
        check_choice("on_mismatch", on_mismatch, ON_MISMATCH)
    counts = () if recorder is None else (recorder.written, recorder.lost)
    metrics = Metrics(names, *counts)
    return Sidecar(
        Upstream(upstream, timeout),
        Decisions(of_decisions, metrics, passes=on_mismatch == "pass"),
        Chats(of_chats, metrics, passes=on_mismatch != "refuse", collect=collect),
        metrics,
        check_integer("max_body", max_body, at_least=1),
        recorder,
    )


class Sidecar(Router):
    """The sidecar, which any ASGI server can run.

    Attributes
    ----------
    metrics : Metrics
    is_draining : bool
        Whether it is about to stop: then it says that it is not ready, and answers as before.
    """

    def __init__(
        self,
        upstream: Upstream,
        decisions: Decisions,
        chats: Chats,
        metrics: Metrics,
        max_body: int,
        recorder: Recorder | None,
    ) -> None:
        super().__init__(default=self._serve, lifespan=self._lifespan, redirect_slashes=False)
        self.metrics, self.is_draining = metrics, False
        self._upstream, self._recorder = upstream, recorder
        self._decisions, self._chats, self._max_body = decisions, chats, max_body

    @asynccontextmanager
    async def _lifespan(self, _: Router) -> AsyncIterator[None]:
        with self._recorder or nullcontext():
            async with self._upstream.connected():
                yield

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; one that fails by an error, and a line in the log."""
        request = Request(scope, receive)
        try:
            response = await self._handle(request)
        except FailedError as failure:
            response = self._failed(request, failure)
        await response(scope, receive, send)

    async def _own_path(self, path: str) -> Response | None:
        """Answer what is asked of the sidecar itself."""
        match path:
            case "/healthz":
                return JSONResponse({"status": "ok"})
            case "/readyz":
                if self.is_draining:
                    return _error(503, "the sidecar is about to stop")
                if await self._upstream.is_there():
                    return JSONResponse({"status": "ok"})
                return _error(503, "the upstream cannot be reached; is it running?")
            case "/metrics":
                return Response(self.metrics.text(), media_type=CONTENT_TYPE_PLAIN_0_0_4)
        return None

    async def _handle(self, request: Request) -> Response:
        """Pass a request on; correct the answer if it is a decision."""
        reads = request.method in ("GET", "HEAD")
        if reads and (answer := await self._own_path(request.scope["path"])) is not None:
            return answer
        try:
            with self.metrics.whole.time():
                return await self._answer(request)
        except ClientDisconnect:
            raise FailedError(499, "the client left") from None
        except asyncio.CancelledError:  # the server stops, and its time of grace is over
            raise FailedError(503, "the sidecar was stopped before the answer came") from None

    def _failed(self, request: Request, failure: FailedError) -> Response:
        text = f"{request.method} {request.url.path!r:.200}: {failure}"
        self.metrics.failed(failure.status, failure.message, text)
        unread = failure.status in (408, 413)  # more would come
        headers = {"connection": "close"} if unread else {}
        return _error(failure.status, failure.message, headers)

    async def _answer(self, request: Request) -> Response:
        path = request.scope["raw_path"].decode("latin-1")
        url = self._upstream.address(path, request.scope["query_string"].decode("latin-1"))
        body = await self._body(request)
        asked = self._asked(path, body) if request.method == "POST" else None
        headers = [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in passed_on(request.scope["headers"])
            if asked is None or name != b"accept-encoding"
        ]
        send = partial(self._upstream.send, request.method, url, headers)
        with self.metrics.upstream.time():
            if asked is None:
                return _Passed(await send(body))
            response = await send(asked.body, unpack=True)
            if asked.plain is not None and response.status in _NO_LOGPROBS:
                response.release()
                plain = await send(asked.plain)
                if plain.status not in _NO_LOGPROBS:  # else it refuses the request itself
                    refused = "the upstream refuses to give log-probabilities"
                    self._chats.missed(PassedError("logprobs", refused))
                return _Passed(plain)
            if response.content_type == "text/event-stream":
                reason = "an answer passed on as it is: a stream of events is not corrected"
                self.metrics.passed(DECISION, "stream", reason)
                stream = _Passed(response)
                stream.raw_headers = _unpacked(response)
                return stream
            content = await read_whole(response, self._max_body, self._upstream.timeout)
        answer_headers = _unpacked(response)
        if response.status < 300 and content:
            answered = asked.answered(content)
            if answered.changed is not answered.raw:
                content = _written(answered.changed)
            if answered.said:
                marks = self._marks(request, answered, asked.plain or asked.body)
                names = {name for name, _ in marks}
                answer_headers = [pair for pair in answer_headers if pair[0] not in names] + marks
        whole = Response(content, response.status)
        whole.raw_headers += answer_headers
        return whole

    def _asked(self, path: str, body: bytes) -> Asked | None:
        """Return a request whose answer may be corrected, as it is sent on; None for another."""
        for api, ends in ((self._decisions, DECISIONS), (self._chats, CHATS)):
            if path.rstrip("/").endswith(ends):
                return api.ask(body)
        reason = f"only {listed(DECISIONS + CHATS)} are corrected"
        self.metrics.passed("", "path", f"POST {path!r:.200} passed on as it is: {reason}")
        return None

    def _marks(
        self, request: Request, answered: Answered, body: bytes
    ) -> list[tuple[bytes, bytes]]:
        """Return the mark, and the id under which an answer is recorded."""
        headers = []
        if CORRECTED in answered.changed:
            headers.append(header_of(answered.changed[CORRECTED]))
        if self._recorder is not None:
            name = self._recorder.request_id(request.headers.get(ID_HEADER), answered.raw)
            self._recorder.add(name, answered, body)
            headers.append((ID_HEADER.encode(), name.encode()))
        return headers

    async def _body(self, request: Request) -> bytes:
        """Return the body of a request, as long as it is not too long."""
        body, seconds = bytearray(), self._upstream.timeout
        try:
            async with asyncio.timeout(seconds):
                async for piece in request.stream():
                    body += piece
                    if len(body) > self._max_body:
                        raise FailedError(413, f"a request may have {self._max_body:,} bytes")
        except TimeoutError:
            raise FailedError(408, f"the client took more than {seconds:g} s to send") from None
        return bytes(body)


def _unpacked(response: aiohttp.ClientResponse) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer that was unpacked on its way, if it was packed."""
    return [
        (name, value)
        for name, value in passed_on(response.raw_headers)
        if name != b"content-encoding" or value.lower() not in _PACKINGS
    ]


def _written(answer: object) -> bytes:
    try:
        return written(answer)
    except ValueError:
        raise FailedError(502, "the upstream's answer holds a number that JSON cannot") from None


def _error(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"error": {"message": message, "type": "sidecar"}}, status, headers)


class _Passed(StreamingResponse):
    """An answer that is passed on as it comes."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        super().__init__(response.content.iter_any(), status_code=response.status)
        self._response = response
        self.raw_headers = passed_on(response.raw_headers)
        length = response.headers.get("Content-Length")
        if length is not None and response.status not in (204, 304):  # which have no body
            self.raw_headers.append((b"content-length", length.encode()))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer; an answer that is cut off when the server stops has no end."""
        with suppress(asyncio.CancelledError):
            await super().__call__(scope, receive, send)

    async def stream_response(self, send: Send) -> None:
        """Send the parts; if the upstream breaks off, so does the answer."""
        start: dict[str, Any] = {"type": "http.response.start", "status": self.status_code}
        async with self._response:
            await send({**start, "headers": self.raw_headers})
            try:
                async for piece in self.body_iterator:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            except (aiohttp.ClientError, TimeoutError, ConnectionError):
                return  # an answer without an end: the server closes the connection
            await send({"type": "http.response.body", "body": b"", "more_body": False})
