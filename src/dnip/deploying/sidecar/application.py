"""The sidecar as an ASGI application."""

from __future__ import annotations

import asyncio
import json
import os
import posixpath
import warnings
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeAlias
from urllib.parse import unquote

import aiohttp
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from dnip.base.errors import CoefficientsFormatError, CorrectedError, DNIPWarning, InvalidInputError
from dnip.base.validation import check_choice, check_integer, is_storable
from dnip.deploying.decisions import Correction, correct
from dnip.deploying.decisions.marks import header_of
from dnip.deploying.decisions.requests import check_asked
from dnip.deploying.sidecar.metrics import Metrics
from dnip.deploying.sidecar.recording import ID_HEADER, LOG, Recorder, request_id
from dnip.deploying.sidecar.upstream import FailedError, Upstream, passed_on, read_whole
from dnip.method.coefficients import Coefficients

#: How the paths of decisions end.
DECISIONS = ("/systemone", "/decisions")

# What tells that a file has changed; None where there is no file.
_Stamp: TypeAlias = tuple[int, int, int] | None

#: What to do about a question that does not fit its coefficients: the first by default.
ON_MISMATCH = ("refuse", "pass")

# Why a question was not corrected, by the error that it ends in.
_REASONS = ((CorrectedError, "corrected"), (CoefficientsFormatError, "options"))

_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


def make_app(
    upstream: str,
    coefficients: Mapping[str, str | os.PathLike[str]],
    *,
    max_body: int = 16_000_000,
    timeout: float = 60.0,
    on_mismatch: str = ON_MISMATCH[0],
    recorder: Recorder | None = None,
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
    on_mismatch : {"refuse", "pass"}, default="refuse"
        What to do about a question that does not fit its coefficients: refuse the request before
        it is sent on, or pass its answer on as it is.
    recorder : Recorder, optional
        It keeps the raw probabilities of questions with coefficients.

    Raises
    ------
    InvalidInputError
        For a bad URL or setting.
    CoefficientsFormatError
        For a file that cannot be read or is damaged.
    """
    if odd := [question for question in coefficients if not is_storable(question)]:
        raise InvalidInputError(
            f"the question {odd[0]!r} is no valid Unicode text",
            hint="Name it in UTF-8, as the requests do",
        )
    sidecar = _Sidecar(
        Upstream(upstream, timeout),
        WatchedCoefficients(coefficients),
        Metrics(coefficients, recorder),
        check_integer("max_body", max_body, at_least=1),
        check_choice("on_mismatch", on_mismatch, ON_MISMATCH) == "pass",
        recorder,
    )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        with recorder or nullcontext():
            async with sidecar.upstream.connected():
                yield

    routes = [Route("/{path:path}", sidecar.handle, methods=_METHODS)]
    failures = {FailedError: sidecar.failed}
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers=failures)


@dataclass(frozen=True)
class _Sidecar:
    upstream: Upstream
    coefficients: WatchedCoefficients
    metrics: Metrics
    max_body: int
    passes: bool
    recorder: Recorder | None

    async def _own(self, path: str) -> Response | None:
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

    async def handle(self, request: Request) -> Response:
        """Pass a request on; correct the answer if it is a decision."""
        reads = request.method in ("GET", "HEAD")
        if reads and (own := await self._own(request.scope["path"])) is not None:
            return own
        began = perf_counter()
        try:
            return await self._answer(request)
        except ClientDisconnect:
            raise FailedError(499, "the client left") from None
        except asyncio.CancelledError:  # the server stops, and its time of grace is over
            raise FailedError(503, "the sidecar was stopped before the answer came") from None
        finally:
            self.metrics.whole.observe(perf_counter() - began)

    async def failed(self, request: Request, failure: Exception) -> Response:
        """Answer a request that failed, and write a line to the log."""
        assert isinstance(failure, FailedError)
        self.metrics.add_failure(failure.status)
        what = "%s %.200r: %s", request.method, request.url.path, failure
        LOG.warning(*what, extra={"status": failure.status})
        unread = failure.status in (408, 413)  # more would come
        headers = {"connection": "close"} if unread else {}
        return _error(failure.status, failure.message, headers)

    async def _answer(self, request: Request) -> Response:
        path = request.scope["raw_path"].decode("latin-1")
        end = posixpath.normpath(unquote(path)).lower()  # as servers may read it
        decides = request.method == "POST" and end.endswith(DECISIONS)
        url = self.upstream.address(path, request.scope["query_string"].decode("latin-1"))
        body = await self._body(request)
        coefficients = self.coefficients.current()
        if decides:
            coefficients = self._fitting(body, coefficients)
        headers = [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in passed_on(request.headers.raw)
            if not (decides and name == b"accept-encoding")
        ]
        began = perf_counter()
        try:
            response = await self.upstream.send(request.method, url, headers, body, decode=decides)
            if not decides:
                return _Passed(response)
            content = await read_whole(response, self.max_body, self.upstream.timeout)
        finally:
            self.metrics.upstream.observe(perf_counter() - began)
        answer_headers = passed_on(response.raw_headers)
        if response.status < 300 and content:
            answer, changed, corrections = self._corrected(content, coefficients)
            if corrections:
                content = _written(changed)
                names = [one.before.question for one in corrections]
                answer_headers.append(header_of({n: coefficients[n].digest for n in names}))
            if corrections and self.recorder is not None:
                name = request_id(
                    request.headers.get(ID_HEADER), answer, response.headers.get(ID_HEADER)
                )
                self.recorder.add(name, answer, corrections, coefficients, body)
                answer_headers = [pair for pair in answer_headers if pair[0] != ID_HEADER.encode()]
                answer_headers.append((ID_HEADER.encode(), name.encode()))
        whole = Response(content, response.status)
        whole.raw_headers += [pair for pair in answer_headers if pair[0] != b"content-encoding"]
        return whole

    async def _body(self, request: Request) -> bytes:
        """Return the body of a request, as long as it is not too long."""
        body, seconds = bytearray(), self.upstream.timeout
        try:
            async with asyncio.timeout(seconds):
                async for part in request.stream():
                    body += part
                    if len(body) > self.max_body:
                        raise FailedError(413, f"a request may have {self.max_body:,} bytes")
        except TimeoutError:
            raise FailedError(408, f"the client took more than {seconds:g} s to send") from None
        return bytes(body)

    def _fitting(
        self, body: bytes, coefficients: Mapping[str, Coefficients]
    ) -> Mapping[str, Coefficients]:
        """Return the coefficients of the questions that have the options of their classes."""
        try:
            asked: Any = json.loads(body)
        except (ValueError, RecursionError):
            return coefficients  # the upstream says what is wrong with it
        fitting = {}
        for question, fitted in coefficients.items():
            try:
                check_asked(asked, question, fitted.classes)
                fitting[question] = fitted
            except InvalidInputError as error:
                self._missed(question, error)
        return fitting

    def _missed(self, question: str, error: InvalidInputError) -> None:
        """Count a question that cannot be corrected, and refuse it unless it may pass."""
        reason = next((name for kind, name in _REASONS if isinstance(error, kind)), "damaged")
        is_first = self.metrics.add_missed(question, reason) == 1
        extra = {"question": question, "reason": reason}
        if not (self.passes or reason == "corrected"):
            # a status after which clients do not ask again
            raise FailedError(422, f"the answer cannot be corrected: {error.message}") from None
        if is_first:  # all others are counted
            LOG.warning("passed on as it is: %s", error.message, extra=extra)

    def _corrected(
        self, content: bytes, coefficients: Mapping[str, Coefficients]
    ) -> tuple[dict[str, Any], dict[str, Any], list[Correction]]:
        """Return a decision as it was and as it is corrected, and what was."""
        body = _read_json(content)
        try:
            changed, corrections = correct(body, coefficients, self._missed)
        except InvalidInputError as error:
            raise FailedError(422, f"the answer cannot be corrected: {error.message}") from None
        self.metrics.add(corrections, len(body["answers"]) - len(corrections))
        for one in corrections:
            name = one.before.question
            if not one.explained and self.metrics.add_missed(name, "confidence") == 1:
                extra = {"question": name, "reason": "confidence"}
                text = "question %r: no known definition gives the confidence"
                LOG.warning(text, name, extra=extra)
        return body, changed, corrections


def _error(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"error": {"message": message, "type": "sidecar"}}, status, headers)


def _read_json(content: bytes) -> Any:  # noqa: ANN401 - JSON
    """Return the value of an answer; one that readers may understand in two ways is refused."""
    try:
        return _DECODER.decode(content.decode("utf-8-sig", "surrogatepass"))
    except (ValueError, RecursionError):
        raise FailedError(
            502, f"the upstream's answer is no JSON, or has a key twice ({len(content):,} bytes)"
        ) from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_once)
_ENCODER = json.JSONEncoder(separators=(",", ":"))


def _written(body: object) -> bytes:
    return _ENCODER.encode(body).encode()


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
