"""The sidecar as an ASGI application."""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import aiohttp
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Send

from dnip.base.errors import CoefficientsFormatError, DNIPWarning, InvalidInputError
from dnip.base.files import read_text
from dnip.base.validation import check_integer
from dnip.deploying.decisions import correct
from dnip.deploying.sidecar.metrics import Metrics
from dnip.deploying.sidecar.upstream import FailedError, Upstream, passed_on, read_whole
from dnip.method.coefficients import Coefficients

#: How the paths of decisions, and of chats, end.
DECISIONS = ("/systemone", "/decisions")
CHAT = "/chat/completions"

#: The largest bias that servers take, and the smallest below 0.
_MOST = 100

# What tells that a file has changed; None where there is no file.
_Stamp: TypeAlias = tuple[int, int, int] | None

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


@dataclass(frozen=True)
class _Sidecar:
    upstream: Upstream
    coefficients: WatchedCoefficients
    metrics: Metrics
    max_body: int
    bias: dict[str, float]

    async def health(self, _: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def show_metrics(self, _: Request) -> Response:
        return PlainTextResponse(self.metrics.text(), media_type="text/plain; version=0.0.4")

    async def handle(self, request: Request) -> Response:
        """Pass a request on; correct the answer if it is a decision."""
        try:
            return await self._answer(request)
        except FailedError as error:
            self.metrics.add_failure(error.status)
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
        if self.bias and request.method == "POST" and path.endswith(CHAT):
            body = add_bias(body, self.bias)
        response = await self.upstream.send(request.method, url, headers, body, decode=decides)
        if not decides:
            return _Passed(response)
        content = await read_whole(response, self.max_body, self.upstream.timeout)
        if response.status == 200:
            content = self._corrected(content)
        whole = Response(content, response.status)
        answer_headers = passed_on(response.raw_headers)
        whole.raw_headers += [pair for pair in answer_headers if pair[0] != b"content-encoding"]
        return whole

    async def _body(self, request: Request) -> bytes:
        """Return the body of a request, as long as it is not too long."""
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > self.max_body:
                raise FailedError(413, f"a request may have {self.max_body:,} bytes")
        return bytes(body)

    def _corrected(self, content: bytes) -> bytes:
        """Return the content of a decision, corrected."""
        try:
            body, corrections = correct(json.loads(content), self.coefficients.current())
            corrected = json.dumps(body, separators=(",", ":")).encode()
        except InvalidInputError as error:
            raise FailedError(502, f"the answer cannot be corrected: {error.message}") from None
        except (ValueError, RecursionError):
            raise FailedError(
                502, f"the upstream's answer is no JSON ({len(content):,} bytes)"
            ) from None
        self.metrics.add(corrections, len(body["answers"]) - len(corrections))
        return corrected if corrections else content


class _Passed(StreamingResponse):
    """An answer that is passed on as it comes."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        super().__init__(response.content.iter_any(), status_code=response.status)
        self._response = response
        self.raw_headers = passed_on(response.raw_headers)
        if (length := response.headers.get("Content-Length")) is not None:
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


class WatchedCoefficients:
    """The coefficients of each question, read again when a file changes.

    Parameters
    ----------
    files : mapping
        Paths of coefficients files, by question.

    Raises
    ------
    CoefficientsFormatError
        If a file cannot be read or is damaged.
    """

    def __init__(self, files: Mapping[str, str | os.PathLike[str]]) -> None:
        self._files = dict(files)
        self._stamps = {question: _stamp(path) for question, path in files.items()}
        self._loaded = {question: Coefficients.load(path) for question, path in files.items()}

    def current(self) -> Mapping[str, Coefficients]:
        """Return the coefficients by question.

        A new file that is missing, damaged or half-written changes nothing: the coefficients before
        it stay, and a warning says so once.
        """
        for question, path in self._files.items():
            stamp = _stamp(path)
            if stamp == self._stamps[question]:
                continue
            self._stamps[question] = stamp
            try:
                self._loaded[question] = Coefficients.load(path)
            except CoefficientsFormatError as error:
                warnings.warn(
                    f"{error.message}; question {question!r} keeps the coefficients that it had",
                    DNIPWarning,
                    stacklevel=2,
                )
        return self._loaded


def _stamp(path: str | os.PathLike[str]) -> _Stamp:
    try:
        found = os.stat(path)  # noqa: PTH116  # asked for with every answer: a Path costs more
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def read_bias(path: str | os.PathLike[str]) -> dict[str, float]:
    """Return the bias of each token id, from a file of ``dnip export --to logit-bias``.

    Raises
    ------
    InvalidInputError
        If the file cannot be read or is none of these.
    """
    try:
        content: Any = json.loads(read_text(path))
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError):
        content = None
    bias = content.get("logit_bias") if isinstance(content, dict) else None
    if not isinstance(bias, dict) or not all(map(_is_bias, bias, bias.values())):
        raise InvalidInputError(
            f"{path} holds no bias of token ids, from -{_MOST} to {_MOST}",
            hint="Give a file that `dnip export --to logit-bias` wrote",
        )
    return bias


def _is_bias(token: str, value: object) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return token.isdecimal() and number and math.fabs(value) <= _MOST  # type: ignore[arg-type]


def add_bias(body: bytes, bias: dict[str, float]) -> bytes:
    """Return a request with the bias, if it asks for one token and has no bias of its own.

    Examples
    --------
    >>> add_bias(b'{"max_tokens": 1}', {"7": -1.5})
    b'{"max_tokens": 1, "logit_bias": {"7": -1.5}}'
    >>> add_bias(b'{"max_tokens": 50}', {"7": -1.5})
    b'{"max_tokens": 50}'
    """
    try:
        request: Any = json.loads(body)
    except (ValueError, RecursionError):
        return body  # the upstream says what is wrong with it
    if not isinstance(request, dict) or request.get("logit_bias"):
        return body
    if 1 not in (request.get("max_tokens"), request.get("max_completion_tokens")):
        return body
    return json.dumps({**request, "logit_bias": bias}).encode()
