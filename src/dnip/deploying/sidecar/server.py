"""The server of the sidecar: uvicorn, with deadlines for clients."""

from __future__ import annotations

import asyncio
import json
import logging
import math
from datetime import UTC, datetime

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from dnip.deploying.sidecar.recording import LOG

# What a client is waited for.
_SEND, _READ = "send a request", "read its answer"

# What an event may have beside its message.
_FIELDS = ("question", "reason", "status")


def make_server(app: Starlette, *, timeout: float, grace: float) -> uvicorn.Server:
    """Return a server.

    Parameters
    ----------
    app : Starlette
    timeout : float
        Seconds for a client to send a request, and to go on reading an answer.
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
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=math.ceil(grace),
    )
    return uvicorn.Server(settings)


class _Protocol(HttpToolsProtocol):
    """Ends a connection whose client is too slow; uvicorn itself waits for ever.

    One timer looks at a connection now and then: timers for each request would cost more.
    """

    seconds: float
    _since: float | None = None  # when the client was waited for
    _what = _SEND
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._since = self.loop.time()
        self._look()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._since, self._what = self.loop.time(), _SEND

    def on_message_complete(self) -> None:
        self._since = None
        super().on_message_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._since, self._what = self.loop.time(), _READ

    def resume_writing(self) -> None:
        self._since = None
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        now = self.loop.time()
        end = (now if self._since is None else self._since) + self.seconds
        if end > now:
            self._timer = self.loop.call_at(end, self._look)
            return
        if self._what == _READ or self.cycle is None or self.cycle.response_complete:
            LOG.warning("a client took more than %g s to %s", self.seconds, self._what)
        self.transport.abort()  # where the head has come, the application tells


def log_to_standard_error(*, as_json: bool = False) -> None:
    """Write a line for each warning of the sidecar, and for each error of its libraries."""
    logging.basicConfig(format="%(asctime)s %(levelname)s: %(message)s", level=logging.WARNING)
    if as_json:
        logging.getLogger().handlers[0].setFormatter(_AsJson())


class _AsJson(logging.Formatter):
    """An event as one line: time, level, message, and what else is known of it."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        event = {"time": time, "level": record.levelname.lower(), "message": record.getMessage()}
        event |= {name: getattr(record, name) for name in _FIELDS if hasattr(record, name)}
        if record.exc_info:
            event["exception"] = self.formatException(record.exc_info)
        return json.dumps(event)
