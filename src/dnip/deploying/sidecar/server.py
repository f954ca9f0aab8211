"""The server of the sidecar: uvicorn, with deadlines for clients."""

from __future__ import annotations

import asyncio
import logging
import math

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_LOG = logging.getLogger("dnip.sidecar")


def make_server(app: Starlette, *, timeout: float, grace: float) -> uvicorn.Server:
    """Return a server.

    Parameters
    ----------
    app : Starlette
    timeout : float
        Seconds for a client to send the head of a request, and to go on reading an answer.
    grace : float
        Seconds for what is under way when the server is told to stop.
    """

    class Protocol(_Protocol):
        seconds = timeout

    settings = uvicorn.Config(
        app,
        http=Protocol,
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=math.ceil(grace),
    )
    return uvicorn.Server(settings)


class _Protocol(HttpToolsProtocol):
    """Ends a connection whose client is too slow; uvicorn itself waits for ever."""

    seconds: float
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect("send a request")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._expect("send a request")

    def on_headers_complete(self) -> None:
        self._done()
        super().on_headers_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._expect("read its answer")

    def resume_writing(self) -> None:
        self._done()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._done()
        super().connection_lost(exc)

    def _expect(self, what: str) -> None:
        self._done()
        self._deadline = self.loop.call_later(self.seconds, self._end, what)

    def _done(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _end(self, what: str) -> None:
        _LOG.warning("a client took more than %g s to %s", self.seconds, what)
        self.transport.abort()


def log_to_standard_error() -> None:
    """Write a line for each warning of the sidecar, and for each error of its libraries."""
    logging.basicConfig(format="%(asctime)s %(levelname)s: %(message)s", level=logging.WARNING)
