"""The server of the sidecar: uvicorn, how it listens, and how many clients it waits for."""

from __future__ import annotations

import asyncio
import math
import socket
from functools import partial
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from dnip.base.errors import InvalidInputError
from dnip.llm.serving.sidecar.log import Repeats

try:
    import resource
except ImportError:  # Windows, which has no such limit
    resource = None  # type: ignore[assignment]

# Connections that are enough, and sockets that are for other things.
_ENOUGH, _OTHERS = 4096, 64


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
    app: ASGIApp, *, grace: float, timeout: float, most: int | None = None
) -> uvicorn.Server:
    """Return a server that bounds its clients.

    Parameters
    ----------
    app : ASGI application
    grace : float
        Seconds for what is under way when it is stopped.
    timeout : float
        Seconds for a client to send the head of a request.
    most : int, optional
        Connections at once; by default as many as the sockets of the process allow. Where there are
        more, the one goes that has waited longest without a request.
    """
    most = _most_connections() if most is None else most
    settings = uvicorn.Config(
        app,
        http=partial(_Bounded, _Bounds(timeout, most)),  # type: ignore[arg-type]
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
    return uvicorn.Server(settings)


def _most_connections() -> int:
    """Return how many clients there are sockets for: one for each, one upstream, one on its way."""
    if resource is None:
        return _ENOUGH
    sockets, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if sockets == resource.RLIM_INFINITY:
        return _ENOUGH
    return max(1, min(_ENOUGH, (sockets - _OTHERS) // 3))


class _Bounds:
    """What connections share: those without a request under way, the oldest first."""

    def __init__(self, seconds: float, most: int) -> None:
        self.seconds, self.most = seconds, most
        self.waiting: dict[_Bounded, asyncio.TimerHandle] = {}
        self.repeats = Repeats()


class _Bounded(HttpToolsProtocol):
    """A connection that must send the head of a request in time, and give way where many wait."""

    def __init__(self, bounds: _Bounds, **settings: Any) -> None:  # noqa: ANN401
        super().__init__(**settings)
        self._bounds = bounds

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        bounds = self._bounds
        self._wait()
        if len(self.connections) > bounds.most:
            next(iter(bounds.waiting))._give_up()
            bounds.repeats.warn(
                "connections closed for want of sockets",
                f"{bounds.most:,} connections are open, as many as there are sockets for; the one "
                "that waited longest without a request was closed",
            )

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete and not self.transport.is_closing():
            self._wait()  # else a request that came early is under way

    def _wait(self) -> None:
        bounds = self._bounds
        self._stop_waiting()
        bounds.waiting[self] = self.loop.call_later(bounds.seconds, self._late)

    def _stop_waiting(self) -> None:
        if timer := self._bounds.waiting.pop(self, None):
            timer.cancel()

    def _late(self) -> None:
        event = f"a client took more than {self._bounds.seconds:g} s to send a request"
        self._bounds.repeats.warn(event, event)
        self._give_up()

    def _give_up(self) -> None:
        self._stop_waiting()
        self.connections.discard(self)
        self.transport.close()
