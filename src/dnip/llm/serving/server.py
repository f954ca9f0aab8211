"""The server of the sidecar: uvicorn, how it listens, and how many clients it waits for."""

from __future__ import annotations

import math
import signal
import socket
import time
from functools import partial
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from dnip.base.errors import InvalidInputError
from dnip.llm.serving.application import Sidecar
from dnip.llm.serving.reports import Metrics

try:
    import resource
except ImportError:  # Windows, which has no such limit
    resource = None  # type: ignore[assignment]

# Connections that are enough, and sockets that are for other things.
_ENOUGH, _OTHERS = 4096, 64

# Bytes of a head. The parser keeps what it has of a line that goes on, and copies it each time.
_MOST_HEAD = 65_536

# What a head that is too long is answered.
_TOO_LONG = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)


def listen(host: str, port: int, *, timeout: float) -> socket.socket:
    """Return a socket that listens.

    Parameters
    ----------
    host : str
        An address of this machine.
    port : int
        0 takes a free one.
    timeout : float
        Seconds after which a client that reads nothing of its answer is cut off, where the system
        can do that (Linux).

    Raises
    ------
    InvalidInputError
        If the address or the port cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=_ENOUGH)
    except (OSError, OverflowError) as error:
        raise InvalidInputError(
            f"cannot listen at {host}, port {port}: {error}", hint="Give another --port or --host"
        ) from error
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        milliseconds = min(math.ceil(timeout * 1000), 2**31 - 1)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
    return listening


def make_server(
    app: Sidecar, *, grace: float, timeout: float, drain: float = 0.0, most: int | None = None
) -> uvicorn.Server:
    """Return a server that bounds its clients.

    Parameters
    ----------
    app : Sidecar
    grace : float
        Seconds for what is under way when it is stopped.
    drain : float
        Seconds for which it still takes requests after SIGTERM, and says that it is not ready.
    timeout : float
        Seconds for a client to send the head of a request.
    most : int, optional
        Connections at once; by default as many as the sockets of the process allow. Where there are
        more, the one goes that has waited longest without a request.
    """
    most = _most_connections() if most is None else most
    settings = uvicorn.Config(
        app,
        http=partial(_Bounded, app.metrics),  # type: ignore[arg-type]
        ws="none",
        log_config=None,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=math.ceil(grace),
        backlog=most,
    )
    return _Server(settings, app, drain, timeout, most)


def _most_connections() -> int:
    """Return how many clients there are sockets for: one for each, one upstream, one on its way."""
    if resource is None:
        return _ENOUGH
    sockets, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if sockets == resource.RLIM_INFINITY:
        return _ENOUGH
    return max(1, min(_ENOUGH, (sockets - _OTHERS) // 3))


class _Server(uvicorn.Server):
    """A server that looks at its connections ten times a second, and says that it will stop.

    Who waits too long without a request is given up, and who waits longest where there are too
    many. Before the port is closed, a load balancer has noticed, and no client is refused; a second
    signal, or Ctrl-C, does not wait.
    """

    def __init__(
        self, config: uvicorn.Config, app: Sidecar, drain: float, timeout: float, most: int
    ) -> None:
        super().__init__(config)
        self._app, self._drain, self._until = app, drain, math.inf
        self._timeout, self._most = timeout, most

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if sig == signal.SIGTERM and self._drain > 0 and not self._app.is_draining:
            self._app.is_draining = True
            self._until = time.monotonic() + self._drain
        else:
            super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        now = time.monotonic()
        if now >= self._until:
            self.handle_exit(signal.SIGTERM, None)
        self._give_up_some(now)
        return await super().on_tick(counter)

    def _give_up_some(self, now: float) -> None:
        metrics = self._app.metrics
        connections: set[Any] = self.server_state.connections
        waiting = [each for each in connections if each.is_waiting]
        for each in sorted(waiting, key=lambda each: each.since):
            if now - each.since > self._timeout:
                event = f"a client took more than {self._timeout:g} s to send a request"
                metrics.failed(408, event, event)
            elif len(connections) > self._most:
                event = (
                    f"{self._most:,} connections are open, as many as there are sockets for; the "
                    "one that waited longest without a request was closed"
                )
                metrics.failed(503, event, event)
            else:
                break
            connections.discard(each)
            each.transport.close()


class _Bounded(HttpToolsProtocol):
    """A connection that knows since when it waits for a request, whose head is not too long."""

    def __init__(self, metrics: Metrics, **settings: Any) -> None:  # noqa: ANN401
        super().__init__(**settings)
        self._metrics, self.since = metrics, time.monotonic()
        self._kept = 0  # bytes that the parser has of a head, or of another line

    @property
    def is_waiting(self) -> bool:
        """Whether no request is under way."""
        return self.cycle is None or self.cycle.response_complete

    def on_response_complete(self) -> None:
        self.since = time.monotonic()
        super().on_response_complete()

    def data_received(self, data: bytes) -> None:
        room = _MOST_HEAD - self._kept
        self._kept += len(data[:room])
        super().data_received(data[:room])
        if len(data) <= room or self.transport.is_closing():
            return
        if self._kept == _MOST_HEAD:  # nothing was complete
            self._refuse()
        else:
            self.data_received(data[room:])

    def on_body(self, body: bytes) -> None:
        self._kept = 0
        super().on_body(body)

    def on_headers_complete(self) -> None:
        self._kept = 0
        super().on_headers_complete()

    def _refuse(self) -> None:
        event = f"the head of a request has more than {_MOST_HEAD:,} bytes"
        self._metrics.failed(431, event, event)
        if self.is_waiting:  # else it follows a body, and its answer is under way
            self.transport.write(_TOO_LONG)
        self.transport.close()
