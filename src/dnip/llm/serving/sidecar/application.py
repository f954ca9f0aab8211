"""The sidecar as an ASGI application."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any
from urllib.parse import unquote

import aiohttp
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Router
from starlette.types import Receive, Scope, Send

from dnip.base.errors import InvalidInputError, listed
from dnip.base.validation import check_choice, check_integer
from dnip.llm.decisions.correction import header_of
from dnip.llm.serving.chat import PassedError
from dnip.llm.serving.sidecar.exchanges import (
    DECISION,
    Asked,
    Chats,
    Decisions,
    by_api,
    passed,
    written,
)
from dnip.llm.serving.sidecar.log import Repeats
from dnip.llm.serving.sidecar.metrics import Metrics
from dnip.llm.serving.sidecar.recording import ID_HEADER, Answered, Recorder
from dnip.llm.serving.sidecar.upstream import FailedError, Upstream, passed_on, read_whole
from dnip.tables.cells import is_storable
from dnip.tables.columns import CORRECTED

#: How the paths of decisions and of chats end.
DECISIONS = ("/systemone", "/decisions")
CHATS = ("/chat/completions",)

# How servers refuse a request for log-probabilities.
_NO_LOGPROBS = (400, 403, 422, 501)

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
) -> Router:
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
        it, or pass the answer on as it is. By default decisions are refused, and chats pass.
    recorder : Recorder, optional
        It keeps the raw probabilities of questions with coefficients.

    Raises
    ------
    InvalidInputError
        For a bad URL or setting.
    CoefficientsFormatError
        For a file that cannot be read or is damaged.
    """
    of_decisions, of_chats = by_api(coefficients, chats or {})
    names = {**of_decisions, **of_chats}
    if odd := [name for name in names if not is_storable(name)]:
        raise InvalidInputError(
            f"the question {odd[0]!r} is not valid Unicode text",
            hint="Name it in UTF-8, as the requests do",
        )
    metrics = Metrics(names, recorder)
    if on_mismatch is not None:
        check_choice("on_mismatch", on_mismatch, ON_MISMATCH)
    sidecar = _Sidecar(
        Upstream(upstream, timeout),
        Decisions(of_decisions, metrics, passes=on_mismatch == "pass"),
        Chats(of_chats, metrics, passes=on_mismatch != "refuse"),
        metrics,
        check_integer("max_body", max_body, at_least=1),
        recorder,
        Repeats(),
    )

    @asynccontextmanager
    async def lifespan(_: Router) -> AsyncIterator[None]:
        with recorder or nullcontext():
            async with sidecar.upstream.connected():
                yield
        sidecar.failures.end()

    return Router(default=sidecar, lifespan=lifespan, redirect_slashes=False)


@dataclass(frozen=True)
class _Sidecar:
    upstream: Upstream
    decisions: Decisions
    chats: Chats
    metrics: Metrics
    max_body: int
    recorder: Recorder | None
    failures: Repeats

    async def _own_path(self, path: str) -> Response | None:
        """Answer what is asked of the sidecar itself."""
        match path:
            case "/healthz":
                return JSONResponse({"status": "ok"})
            case "/readyz":
                if await self.upstream.is_there():
                    return JSONResponse({"status": "ok"})
                return _error(503, "the upstream cannot be reached; is it running?")
            case "/metrics":
                return Response(self.metrics.text(), media_type=CONTENT_TYPE_PLAIN_0_0_4)
        return None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; one that fails by an error, and a line in the log."""
        request = Request(scope, receive)
        try:
            response = await self._handle(request)
        except FailedError as failure:
            response = self._failed(request, failure)
        await response(scope, receive, send)

    async def _handle(self, request: Request) -> Response:
        """Pass a request on; correct the answer if it is a decision."""
        reads = request.method in ("GET", "HEAD")
        if reads and (answer := await self._own_path(request.scope["path"])) is not None:
            return answer
        began = perf_counter()
        try:
            return await self._answer(request)
        except ClientDisconnect:
            raise FailedError(499, "the client left") from None
        except asyncio.CancelledError:  # the server stops, and its time of grace is over
            raise FailedError(503, "the sidecar was stopped before the answer came") from None
        finally:
            self.metrics.whole.observe(perf_counter() - began)

    def _failed(self, request: Request, failure: FailedError) -> Response:
        self.metrics.add_failure(failure.status)
        text = f"{request.method} {request.url.path!r:.200}: {failure}"
        self.failures.warn(failure.message, text, status=failure.status)
        unread = failure.status in (408, 413)  # more would come
        headers = {"connection": "close"} if unread else {}
        return _error(failure.status, failure.message, headers)

    async def _answer(self, request: Request) -> Response:
        path = request.scope["raw_path"].decode("latin-1")
        url = self.upstream.address(path, request.scope["query_string"].decode("latin-1"))
        body = await self._body(request)
        asked = await self._asked(path, body) if request.method == "POST" else None
        headers = [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in passed_on(request.scope["headers"])
            if asked is None or name != b"accept-encoding"
        ]
        send = partial(self.upstream.send, request.method, url, headers)
        began = perf_counter()
        try:
            if asked is None:
                return _Passed(await send(body))
            response = await send(asked.body)
            if asked.plain is not None and response.status in _NO_LOGPROBS:
                response.release()
                refused = "the upstream refuses to give log-probabilities"
                self.chats.missed(PassedError("logprobs", refused))
                return _Passed(await send(asked.plain))
            if response.content_type == "text/event-stream":
                reason = "an answer passed on as it is: a stream of events is not corrected"
                passed(self.metrics, DECISION, "stream", reason)
                return _Passed(response)
            content = await read_whole(response, self.max_body, self.upstream.timeout)
        finally:
            self.metrics.upstream.observe(perf_counter() - began)
        answer_headers = [
            pair for pair in passed_on(response.raw_headers) if pair[0] != b"content-encoding"
        ]
        if response.status < 300 and content:
            answered = asked.answered(content)
            if answered.changed is not answered.raw:
                content = written(answered.changed)
            if answered.corrections:
                marks = self._marks(request, response, answered, body)
                names = {name for name, _ in marks}
                answer_headers = [pair for pair in answer_headers if pair[0] not in names] + marks
        whole = Response(content, response.status)
        whole.raw_headers += answer_headers
        return whole

    async def _asked(self, path: str, body: bytes) -> Asked | None:
        """Return a request whose answer may be corrected, as it is sent on; None for another."""
        segments = [segment.partition(";")[0] for segment in unquote(path).lower().split("/")]
        end = "/" + "/".join(filter(None, segments))  # as servers may read it
        for api, ends in ((self.decisions, DECISIONS), (self.chats, CHATS)):
            if end.endswith(ends):
                await api.watched.refresh()
                return api.ask(body)
        reason = f"only {listed(DECISIONS + CHATS)} are corrected"
        passed(self.metrics, "", "path", f"POST {path!r:.200} passed on as it is: {reason}")
        return None

    def _marks(
        self, request: Request, response: aiohttp.ClientResponse, answered: Answered, body: bytes
    ) -> list[tuple[bytes, bytes]]:
        """Return the mark, and the id under which an answer is recorded."""
        headers = [header_of(answered.changed[CORRECTED])]
        if self.recorder is not None:
            name = self.recorder.request_id(
                request.headers.get(ID_HEADER), answered.raw, response.headers.get(ID_HEADER)
            )
            self.recorder.add(name, answered, body)
            headers.append((ID_HEADER.encode(), name.encode()))
        return headers

    async def _body(self, request: Request) -> bytes:
        """Return the body of a request, as long as it is not too long."""
        body, seconds = bytearray(), self.upstream.timeout
        try:
            async with asyncio.timeout(seconds):
                async for piece in request.stream():
                    body += piece
                    if len(body) > self.max_body:
                        raise FailedError(413, f"a request may have {self.max_body:,} bytes")
        except TimeoutError:
            raise FailedError(408, f"the client took more than {seconds:g} s to send") from None
        return bytes(body)


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
