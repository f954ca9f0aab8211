"""The sidecar as an ASGI application."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiohttp
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from dnip.base.errors import InvalidInputError
from dnip.base.validation import check_integer
from dnip.deploying.decisions import correct
from dnip.deploying.sidecar.chat import add_bias, read_bias
from dnip.deploying.sidecar.metrics import Metrics
from dnip.deploying.sidecar.upstream import FailedError, Upstream, passed_on, read_whole
from dnip.deploying.sidecar.watched import WatchedCoefficients

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Mapping

    from starlette.requests import Request
    from starlette.types import Send

#: How the paths of decisions, and of chats, end.
DECISIONS = ("/systemone", "/decisions")
CHAT = "/chat/completions"

_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


def make_app(
    upstream: str,
    coefficients: Mapping[str, str | os.PathLike[str]],
    *,
    max_body: int = 16_000_000,
    timeout: float = 60.0,
    logit_bias: str | os.PathLike[str] | None = None,
) -> Starlette:
    """Return the sidecar, which any ASGI server can run.

    Parameters
    ----------
    upstream : str
        URL of the server behind it.
    coefficients : mapping
        Paths of coefficients files, by question.
    max_body : int, default=16_000_000
        Bytes of a request, and of an answer that is corrected.
    timeout : float, default=60
        Seconds until the upstream answers.
    logit_bias : path-like, optional
        What ``dnip export --to logit-bias`` wrote; added to chat completions that ask for one
        token and have no bias of their own.

    Raises
    ------
    InvalidInputError
        For a bad URL, setting or bias.
    CoefficientsFormatError
        For a file that cannot be read or is damaged.
    """
    sidecar = _Sidecar(
        Upstream(upstream, timeout),
        WatchedCoefficients(coefficients),
        Metrics(coefficients),
        check_integer("max_body", max_body, at_least=1),
        {} if logit_bias is None else read_bias(logit_bias),
    )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with sidecar.upstream.connected():
            yield

    routes = [
        Route("/healthz", sidecar.health),
        Route("/metrics", sidecar.show_metrics),
        Route("/{path:path}", sidecar.handle, methods=_METHODS),
    ]
    return Starlette(routes=routes, lifespan=lifespan)


class _Sidecar:
    def __init__(
        self,
        upstream: Upstream,
        coefficients: WatchedCoefficients,
        metrics: Metrics,
        max_body: int,
        bias: dict[str, float],
    ) -> None:
        self.upstream = upstream
        self._coefficients = coefficients
        self._metrics = metrics
        self._max_body = max_body
        self._bias = bias

    async def health(self, _: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def show_metrics(self, _: Request) -> Response:
        return PlainTextResponse(self._metrics.text(), media_type="text/plain; version=0.0.4")

    async def handle(self, request: Request) -> Response:
        """Pass a request on; correct the answer if it is a decision."""
        try:
            return await self._answer(request)
        except FailedError as error:
            self._metrics.add_failure(error.status)
            content = {"error": {"message": error.message, "type": "sidecar"}}
            return JSONResponse(content, status_code=error.status)

    async def _answer(self, request: Request) -> Response:
        path = request.scope["raw_path"].decode("latin-1")
        decides = request.method == "POST" and path.endswith(DECISIONS)
        url = self.upstream.address(path, request.scope["query_string"].decode("latin-1"))
        headers = [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in passed_on(request.headers.raw)
            if not (decides and name == b"accept-encoding")
        ]
        body = await self._body(request)
        if self._bias and request.method == "POST" and path.endswith(CHAT):
            body = add_bias(body, self._bias)
        response = await self.upstream.send(request.method, url, headers, body, decode=decides)
        answer_headers = passed_on(response.raw_headers)
        if not decides:
            return _Passed(response, answer_headers, response.headers.get("Content-Length"))
        content = await read_whole(response, self._max_body, self.upstream.timeout)
        if response.status == 200:
            content = self._corrected(content)
        whole = Response(content, response.status)
        whole.raw_headers += [pair for pair in answer_headers if pair[0] != b"content-encoding"]
        return whole

    async def _body(self, request: Request) -> bytes:
        """Return the body of a request, as long as it is not too long."""
        told = request.headers.get("content-length", "0")
        parts, size = [], int(told) if told.isdecimal() else 0
        if size <= self._max_body:
            size = 0
            async for part in request.stream():
                parts.append(part)
                size += len(part)
                if size > self._max_body:
                    break
        if size > self._max_body:
            raise FailedError(413, f"a request may have {self._max_body:,} bytes")
        return b"".join(parts)

    def _corrected(self, content: bytes) -> bytes:
        """Return the content of a decision, corrected."""
        try:
            body, corrections = correct(json.loads(content), self._coefficients.current())
            corrected = json.dumps(body, separators=(",", ":")).encode()
        except InvalidInputError as error:
            raise FailedError(502, f"the answer cannot be corrected: {error.message}") from None
        except (ValueError, RecursionError):
            raise FailedError(
                502, f"the upstream's answer is no JSON ({len(content):,} bytes)"
            ) from None
        self._metrics.add(corrections, len(body["answers"]) - len(corrections))
        return corrected if corrections else content


class _Passed(StreamingResponse):
    """An answer that is passed on as it comes."""

    def __init__(
        self,
        response: aiohttp.ClientResponse,
        headers: list[tuple[bytes, bytes]],
        length: str | None = None,
    ) -> None:
        super().__init__(response.content.iter_any(), status_code=response.status)
        self._response = response
        self.raw_headers = headers
        if length is not None:
            self.raw_headers.append((b"content-length", length.encode()))

    async def stream_response(self, send: Send) -> None:
        """Send the parts; if the upstream breaks off, so does the answer."""
        start: dict[str, Any] = {"type": "http.response.start", "status": self.status_code}
        async with self._response:
            await send({**start, "headers": self.raw_headers})
            try:
                async for part in self.body_iterator:
                    await send({"type": "http.response.body", "body": part, "more_body": True})
            except (aiohttp.ClientError, TimeoutError, ConnectionError):
                return  # an answer without an end: the server closes the connection
            await send({"type": "http.response.body", "body": b"", "more_body": False})
